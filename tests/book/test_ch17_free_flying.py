"""Free mechanisms and their momentum: Jain, section 16.6 and Exercises 4.1, 16.3; figures that are known in closed form."""

import numpy as np
import pytest
from test_ch17_another_base import CRAFT, every_craft, two_arms
from test_ch17_dual_model import slider
from zoo import MECHANISMS, close, every_mechanism, plain, rate, state

import linkwork as lw
from linkwork.model import solids
from linkwork.spatial import phi_inverse


def spinner(I1=2.0, I2=0.5):
    """Two bodies on a common axis through their centres."""
    craft = lw.Builder("spinner", gravity=(0, 0, 0))
    craft.body("hull", joint=lw.Free(), mass=3.0, tensor=(2.0, 2.0, I1))
    craft.body("wheel", "hull", joint=lw.Revolute(), mass=1.0, tensor=(0.3, 0.3, I2))
    return craft.model()


def cat():
    """Three rods in the plane x y, joined at their ends."""
    craft = lw.Builder("cat", gravity=(0, 0, 0))
    craft.body("middle", joint=lw.Free(), **solids.rod(2.0, (1.0, 0.0, 0.0)))
    craft.body("head", "middle", (1.0, 0, 0), lw.Revolute(), **solids.rod(1.0, (0.7, 0.0, 0.0)))
    craft.body("tail", "middle", None, lw.Revolute(), **solids.rod(1.5, (-0.8, 0.0, 0.0)))
    return craft.model()


# --- momentum (exercise 4.1)


@every_mechanism
def test_momentum_is_that_of_the_bodies(robot):
    """h = Σ φ(0,k) M(k) V(k), the centroidal one about the centre of mass."""
    s = state(robot, (2,))
    T, V = robot.poses(s.q), robot.ask("body_velocities", s.q, s.v)
    h = np.zeros((2, 6))
    for i, body in enumerate(robot.model.bodies):
        M = lw.spatial.inertia(*map(np.asarray, (body.mass, body.center, body.tensor)))
        h += np.matvec(lw.spatial.phi(T[:, i]) @ M, V[:, i])
    close(robot.momentum(s.q, s.v), h, 1e-11)
    c = robot.center_of_mass(s.q)
    close(robot.centroidal_momentum(s.q, s.v), np.concatenate([h[:, :3] - np.cross(c, h[:, 3:]), h[:, 3:]], -1), 1e-11)


@every_mechanism
def test_the_momentum_matrix_and_its_rate(robot):
    """h = A v and ḣ = A v̇ + Å v, Å by a step in the imaginary direction."""
    s = state(robot)
    A = robot.centroidal_momentum_matrix(s.q)
    close(A @ s.v, robot.centroidal_momentum(s.q, s.v), 1e-11)
    turning = rate(robot, lambda sweeps: sweeps.centroidal_momentum_matrix, s.q, s.v)
    close(robot.centroidal_momentum_rate(s.q, s.v, s.vdot), A @ s.vdot + turning @ s.v, 1e-10)


@every_craft
def test_the_mechanism_as_one_body(model):
    """Its inertia is block diagonal at the centre of mass; the average velocity has its momentum, and of all velocities of the
    mechanism with this momentum none has less energy."""
    robot = plain(model)
    s = state(robot, (2,))
    inertia, V, h = robot.centroidal_inertia(s.q), robot.average_velocity(s.q, s.v), robot.centroidal_momentum(s.q, s.v)
    close(inertia[:, :3, 3:], 0.0, 1e-11)
    close(inertia[:, 3:, 3:], np.broadcast_to(model.mass * np.eye(3), (2, 3, 3)), 1e-11)
    close(np.matvec(inertia, V), h, 1e-11)
    assert (0.5 * np.vecdot(V, h) <= robot.kinetic_energy(s.q, s.v) + 1e-12).all()


@every_craft
def test_locked_joints_move_the_base_with_the_average_velocity(model):
    """v_base = 𝓜_bb⁻¹ (𝓜 v)_base: the whole with that velocity and u = 0 has the same momentum."""
    robot = plain(model)
    s = state(robot, (2,))
    locked = np.zeros_like(s.v)
    locked[:, :6] = robot.free_flying().locked_velocity(s.q, s.v)
    close(robot.momentum(s.q, locked), robot.momentum(s.q, s.v), 1e-10)
    close(robot.average_velocity(s.q, locked), robot.average_velocity(s.q, s.v), 1e-10)


def test_gravity_is_all_that_changes_the_momentum_of_a_free_mechanism():
    """ḣ = [0; m g] under joint forces of any size (exercise 16.3)."""
    robot = plain(MECHANISMS["floating"])
    s = state(robot, (3,))
    s.tau[:, :6] = 0.0
    found = robot.centroidal_momentum_rate(s.q, s.v, robot.forward_dynamics(s.q, s.v, s.tau))
    close(found, np.broadcast_to([0, 0, 0, *(robot.model.mass * np.array(robot.model.gravity))], (3, 6)), 1e-9)


# --- the base from the joints


@every_craft
def test_the_base_follows_from_momentum(model):
    """v_base = B u + 𝓜_bb⁻¹ φ⁻¹ h (16.27), by sweeps and by dense matrices."""
    robot = plain(model)
    flight, s = robot.free_flying(), state(robot, (2,))
    h = robot.momentum(s.q, s.v)
    close(flight.velocity(s.q, s.v[:, 6:], h), s.v, 1e-10)
    M = robot.mass_matrix(s.q)
    at_base = np.matvec(phi_inverse(robot.pose(s.q, robot.bodies[0]) @ model.joints[0].on.matrix), h)
    dense = np.linalg.solve(M[:, :6, :6], at_base[..., None])[..., 0] + np.matvec(flight.base_map(s.q), s.v[:, 6:])
    close(flight.base_velocity(s.q, s.v[:, 6:], h), dense, 1e-10)


@every_craft
def test_reduced_matrices(model):
    """Energy, velocities of bodies and accelerations at momentum zero, in u alone."""
    robot = plain(model)
    flight, s = robot.free_flying(), state(robot, (2,))
    u = s.v[:, 6:]
    v = flight.velocity(s.q, u)
    close(robot.momentum(s.q, v), 0.0, 1e-11)
    close(0.5 * np.vecdot(u, np.matvec(flight.mass_matrix(s.q), u)), robot.kinetic_energy(s.q, v), 1e-10)
    for axes in ("body", "world"):
        body = robot.bodies[-1]
        close(np.matvec(flight.jacobian(s.q, body, axes), u), np.matvec(robot.jacobian(s.q, body, axes), v), 1e-10)
    tau = s.tau.copy()
    tau[:, :6] = 0.0
    close(flight.forward_dynamics(s.q, u, tau[:, 6:]), robot.forward_dynamics(s.q, v, tau)[:, 6:], 1e-9)
    if not any(model.gravity):
        rest = np.zeros_like(u)
        expected = np.linalg.solve(flight.mass_matrix(s.q), tau[:, 6:, None])[..., 0]
        close(flight.forward_dynamics(s.q, rest, tau[:, 6:]), expected, 1e-9)


def test_a_slider_moves_its_base_two_thirds_back():
    robot = plain(slider())
    close(robot.free_flying().base_velocity(robot.neutral(), [1.0]), [0, 0, 0, -2 / 3, 0, 0])


def test_two_bodies_on_a_common_axis():
    """The base turns by −I₂ ψ / (I₁ + I₂)."""
    robot, psi = plain(spinner()), 1.3
    run = robot.free_flying().path(robot.neutral(), lambda t: ([psi * t], [psi]), until=1.0, steps=3)
    close(run.q[-1][:4], [0, 0, np.sin(-0.1 * psi), np.cos(0.1 * psi)])


# --- what a cycle of the joints leaves behind


CENTER = np.array([0.9, -0.7])


def circle(t, size=0.8):
    a = 2 * np.pi * t
    return CENTER + size * np.array([np.cos(a), np.sin(a)]), 2 * np.pi * size * np.array([-np.sin(a), np.cos(a)])


def test_a_cycle_of_joint_angles_turns_the_base_by_the_holonomy_integral():
    """∮ B dθ = ∬ (∂B₂/∂θ₁ − ∂B₁/∂θ₂) dθ₁ dθ₂, the row of ω_z, over the disk that the cycle goes round."""
    robot, size = lw.Dynamics(cat()), 0.8
    flight = robot.free_flying()
    radius, weight = np.polynomial.legendre.leggauss(12)
    radius, weight = size * (radius + 1) / 2, weight * size / 2
    angle = 2 * np.pi * np.arange(48) / 48
    theta = CENTER + radius[:, None, None] * np.stack([np.cos(angle), np.sin(angle)], -1)

    def row(theta):
        base = np.broadcast_to(robot.neutral()[:7], (*theta.shape[:-1], 7))
        return flight.base_map(np.concatenate([base, theta], -1))[..., 2, :]

    d = 1e-3 * np.eye(2)
    slope = [(8 * (row(theta + x) - row(theta - x)) - (row(theta + 2 * x) - row(theta - 2 * x))) / 12e-3 for x in d]
    curl = slope[0][..., 1] - slope[1][..., 0]
    expected = (curl * (weight * radius)[:, None]).sum() * 2 * np.pi / 48
    T = flight.turned(circle, cycle=1.0, steps=400)
    found = np.arctan2(T[1, 0], T[0, 0])
    assert abs(expected) > 0.05
    assert abs(found - expected) < 1e-8
    assert abs(T[2, 2] - 1) < 1e-12


def test_the_way_back_undoes_it_and_a_line_to_and_fro_does_nothing():
    flight = lw.Dynamics(cat()).free_flying()
    T, back = flight.turned(circle, cycle=1.0), flight.turned(lambda t: (circle(-t)[0], -circle(-t)[1]), cycle=1.0)
    close(T @ back, np.eye(4), 1e-8)
    line = flight.turned(lambda t: ([np.sin(2 * np.pi * t), 0.3], [2 * np.pi * np.cos(2 * np.pi * t), 0.0]), cycle=1.0)
    close(line, np.eye(4), 1e-8)
    with pytest.raises(lw.OptionError, match="a cycle ends where it began"):
        flight.turned(circle, cycle=0.5)


# --- wheels


@pytest.mark.parametrize("axis", range(3))
def test_a_reaction_wheel_turns_its_craft_the_other_way(axis):
    """J ω = −I ψ̇ e, J the inertia of the whole about its centre, I that of the wheel."""
    robot = plain(lw.load("reaction_wheels"))
    q, e = robot.neutral(), np.eye(3)[axis]
    spin = 0.5 * 2.0 * 0.12**2
    omega = robot.free_flying().base_velocity(q, 100.0 * e)[:3]
    close(robot.centroidal_inertia(q)[:3, :3] @ omega, -100.0 * spin * e, 1e-12)


@pytest.mark.parametrize("gyro", range(1, 5))
def test_a_control_moment_gyro_pushes_by_the_rate_of_its_gimbal(gyro):
    """torque = δ̇ g × h, h the momentum of the wheel, g the axis of the gimbal."""
    robot = plain(lw.load("moment_gyros"))
    v, h, rate = np.zeros(robot.nv), 0.5 * 5.0 * 0.15**2 * 400.0, 0.3
    v[robot.v_index(f"gimbal_{gyro}")], v[robot.v_index(f"spin_{gyro}")] = rate, 400.0
    axes = [np.array(robot.model.joint(f"{name}_{gyro}").joint.axis) for name in ("gimbal", "spin")]
    torque = robot.inverse_dynamics(robot.neutral(), v, np.zeros(robot.nv))[:6]
    close(torque, [*(rate * h * np.cross(*axes)), 0, 0, 0], 1e-11)


# --- motion in the momentum-reduced form


def test_the_reduced_form_moves_as_the_whole_does():
    robot = lw.Dynamics(two_arms())
    q, v = robot.random_state(seed=1)
    h = robot.momentum(q, v)
    run = robot.free_flying().simulate(q, v[6:], until=1.0, dt=0.002, momentum=h, every=500)
    whole = lw.simulate(robot, (q, v), until=1.0, method="dop853", rtol=1e-11, atol=1e-12)
    close(robot.difference(run.q[-1], whole.q[-1]), 0.0, 1e-6)
    close(run.v[-1], whole.v[-1], 1e-5)


def test_momentum_is_kept_for_ten_thousand_seconds():
    """To 1e-12 of itself, and energy with it."""
    robot = lw.Dynamics(spinner())
    q, v = robot.random_state(seed=2)
    h = 0.1 * robot.momentum(q, v)
    run = robot.free_flying().simulate(q, 0.1 * v[6:], until=1e4, dt=0.1, momentum=h, every=1000)
    assert np.abs(robot.momentum(run.q, run.v) - h).max() < 1e-12 * np.abs(h).max()
    energy = robot.kinetic_energy(run.q, run.v)
    assert np.ptp(energy) < 1e-4 * energy[0]


def test_many_runs_at_once_and_with_forces():
    """A batch is the runs one by one; forces in the joints leave the momentum as it is."""
    robot = lw.Dynamics(cat())
    flight = robot.free_flying()
    q, v = robot.random_state((3,), seed=5)
    h = robot.momentum(q, v)
    run = flight.simulate(q, v[:, 6:], until=0.1, dt=0.01, momentum=h, control=lambda t, q, v: -v[..., 6:])
    for i in range(3):
        one = flight.simulate(q[i], v[i, 6:], until=0.1, dt=0.01, momentum=h[i], control=lambda t, q, v: -v[6:])
        close(run.q[:, i], one.q)
    close(robot.momentum(run.q, run.v), np.broadcast_to(h, (11, 3, 6)), 1e-12)
    assert (robot.kinetic_energy(run.q, run.v)[-1] < robot.kinetic_energy(q, v)).all()


def test_single_precision_and_what_cannot_be():
    robot = lw.Dynamics(lw.load("space_robot"))
    flight, (q, v) = robot.free_flying(), robot.random_state((2,), seed=0)
    single = q.astype(np.float32), v[:, 6:].astype(np.float32)
    assert flight.velocity(*single).dtype == np.float32
    assert flight.forward_dynamics(*single, np.zeros(6, np.float32)).dtype == np.float32
    u, still = v[0, 6:], lambda t: (np.zeros(6), np.zeros(6))
    for wrong in ({"dt": 0.0}, {"dt": -0.1}, {"dt": 0.3}, {"dt": 0.1, "every": 0}):
        with pytest.raises(lw.OptionError, match="dt"):
            flight.simulate(q[0], u, **{"until": 1.0, **wrong})
    with pytest.raises(lw.OptionError, match="steps"):
        flight.path(q[0], still, until=1.0, steps=0)
    with pytest.raises(lw.ShapeError, match="one configuration"):
        flight.path(q, still, until=1.0)
    with pytest.raises(lw.ShapeError, match="two arrays"):
        flight.path(q[0], lambda t: np.zeros(6), until=1.0)
    with pytest.raises(lw.ShapeError, match="of all joints"):
        flight.turned(lambda t: (np.zeros(5), np.zeros(6)), cycle=1.0)


def test_a_mechanism_that_does_not_fly_is_refused():
    with pytest.raises(lw.ModelError, match=r"chain does not fly freely.*model\.floating\(\)"):
        plain(MECHANISMS["chain"]).free_flying()
    with pytest.raises(lw.ModelError, match="has loops, couplings or constraints"):
        plain(lw.load("intelsat")).free_flying()
    with pytest.raises(lw.ModelError, match="has gravity, which changes its momentum"):
        flight = plain(CRAFT["floating"]).free_flying()
        flight.simulate(flight.robot.neutral(), np.zeros(flight.nu), until=1.0, dt=0.1)
    with pytest.raises(lw.ShapeError, match="u has shape"):
        plain(cat()).free_flying().velocity(np.zeros(9), [1.0])


OUTSIDE = {
    "spring to the world": lw.Spring("s", None, "hull", (0, 2, 0), stiffness=30.0),
    "damper to a wall": lw.Spring("s", "hull", "wall", damping=1.0),
    "thrust": lw.Push("p", "hull", (0, 0, 1.0), axes="body"),
}


@pytest.mark.parametrize("force", OUTSIDE.values(), ids=OUTSIDE)
def test_forces_that_change_the_momentum_are_refused(force):
    """A spring between two bodies of the craft is kept; springs, dampers and pushes from outside are named."""
    builder = lw.Builder("craft", gravity=(0, 0, 0))
    builder.body("wall", mass=1.0)
    builder.body("hull", joint=lw.Free(), **solids.box(5.0, (1, 0.8, 0.6)))
    builder.body("wheel", "hull", (0.5, 0, 0), lw.Revolute(axis=(0, 1, 0)), **solids.rod(1.0, (1, 0, 0)))
    inner = lw.Spring("inner", "hull", "wheel", (0, 0, 1), (1, 0, 0), stiffness=3.0, length=0.1)
    flight = plain(builder.model().with_forces(inner)).free_flying()
    flight.simulate(flight.robot.neutral(), [0.5], until=0.01, dt=0.01)
    with pytest.raises(lw.ModelError, match=f'"{force.name}", which changes its momentum'):
        plain(builder.model().with_forces(inner, force)).free_flying().simulate(flight.robot.neutral(), [0.5], until=0.01, dt=0.01)
    with pytest.raises(lw.ModelError, match="which changes its momentum"):
        plain(builder.model().with_forces(force)).free_flying().turned(lambda t: ([0.0], [0.0]), cycle=1.0)
