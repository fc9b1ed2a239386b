"""The lecture: generalized forces by virtual work."""

import numpy as np
import pytest
from zoo import MECHANISMS, close, differences, every_mechanism, plain, robots, spread, state

import linkwork as lw
from linkwork.equations import Equations, VirtualWork
from linkwork.model.world_frame import with_body_frames

AT = (0.2, -0.1, 0.3)
FORCES = (
    lw.Spring("line", None, "body1", (0.1, 0.2, 0.3), AT, stiffness=7.0, length=0.4, damping=0.3),
    lw.Spring("rubber", "body0", "body3", (0, 0, 0.1), AT, stiffness=5.0, damping=0.2),
    lw.Push("wind", "body2", force=(1.0, 2.0, -3.0), at=AT),
    lw.Push("thruster", "body4", force=(0.0, 0.5, 1.0), torque=(0.1, 0.0, 0.2), at=(0.1, 0, 0), axes="body"),
)


def loaded(name="floating"):
    return plain(MECHANISMS[name].with_forces(*FORCES))


@every_mechanism
def test_the_power_of_a_generalized_force_is_that_of_the_force(robot):
    """Q · v = f · ẋ for a force at a point; Q · v = n · ω for a torque; Q · v = w · V for a wrench."""
    s, rng = state(robot, (3,)), np.random.default_rng(2)
    f, n, w = rng.standard_normal((3, 3)), rng.standard_normal((3, 3)), rng.standard_normal((3, 6))
    work, body = VirtualWork(robot), robot.bodies[-1]
    xdot = Equations(robot).point_motion(s.q, s.v, s.vdot, body, AT)[..., 1, :]
    V, world = (robot.jacobian(s.q, body, axes) @ s.v[..., None] for axes in ("body", "world"))
    close((work.of_force(s.q, body, f, AT) * s.v).sum(-1), (f * xdot).sum(-1))
    close((work.of_torque(s.q, body, n) * s.v).sum(-1), (n * world[..., :3, 0]).sum(-1))
    close((work.of_wrench(s.q, body, w) * s.v).sum(-1), (w * V[..., 0]).sum(-1))
    close((work.of_wrench(s.q, body, w, "world") * s.v).sum(-1), (w * world[..., 0]).sum(-1))


@robots("tree", "floating", "chain")
def test_the_generalized_force_is_the_work_along_each_displacement(robot):
    """Q_j = f · ∂x/∂q_j, by differences."""
    q, f = state(robot).q, np.array([1.0, -2.0, 0.5])
    work, body = VirtualWork(robot), robot.bodies[-1]
    close(work.of_force(q, body, f, AT), f @ differences(robot, lambda q: work.point(q, body, AT), q), 1e-8)


def test_springs_pull_down_their_potential():
    """Q = -∂E/∂φ for springs, and for a push that is constant in the world."""
    robot = plain(MECHANISMS["floating"].with_forces(*FORCES[:3]))
    work, q = VirtualWork(robot), state(robot).q
    close(work.force(q, np.zeros(robot.nv)), -differences(robot, work.energy, q), 1e-8)


def test_the_rate_of_the_energy_is_the_power_of_dampers_and_thrusters():
    """d/dt (T + U + E) = power of the dampers (never positive) + power of the thruster, along v̇ from those forces."""
    robot = loaded()
    work, s = VirtualWork(robot), state(robot, seed=3)
    vdot = robot.forward_dynamics(s.q, s.v, work.force(s.q, s.v))
    h = 1e-6

    def energy(t):
        q = robot.integrate(s.q, t * s.v + t * t / 2 * vdot)
        return robot.kinetic_energy(q, s.v + t * vdot) + robot.potential_energy(q)

    still = [lw.Spring(f.name, f.one, f.other, f.at, f.on, f.stiffness, f.length) for f in FORCES[:2]]
    damped = sum(work.of_spring(s.q, s.v, f) - work.of_spring(s.q, s.v, g) for f, g in zip(FORCES[:2], still))
    assert damped @ s.v < 0
    rate = (energy(h) - energy(-h)) / (2 * h)
    close(rate, damped @ s.v + work.of_push(s.q, FORCES[3]) @ s.v, 1e-6)


def test_the_same_forces_come_from_wrenches_on_the_bodies():
    """forward_dynamics(external=) and τ = Q give the same motion."""
    robot = loaded("tree")
    work, s = VirtualWork(robot), state(robot, (2,))
    outside = robot.forward_dynamics(s.q, s.v, s.tau, work.external(s.q, s.v))
    close(outside, robot.forward_dynamics(s.q, s.v, s.tau + work.force(s.q, s.v)), 1e-10)


def test_forces_go_with_the_body_when_its_frame_is_changed():
    model = MECHANISMS["floating"].with_forces(*FORCES)
    rng = np.random.default_rng(5)
    moved = with_body_frames(model, {body.name: spread(rng) for body in model.bodies})
    one, other = VirtualWork(plain(model)), VirtualWork(plain(moved))
    s = state(one.robot, (2,))
    close(other.force(s.q, s.v), one.force(s.q, s.v))


def test_forces_keep_their_names_when_models_are_put_together():
    model = lw.load("double_pendulum").with_model(None, MECHANISMS["floating"].with_forces(*FORCES), prefix="b_")
    assert [force.name for force in model.forces] == ["b_line", "b_rubber", "b_wind", "b_thruster"]
    assert model.forces[1].bodies == ("b_body0", "b_body3") and model.forces[0].one is None


def test_they_are_kernels():
    model = MECHANISMS["universal"].with_forces(lw.Spring("line", None, "body0", (0, 0, 2), AT, stiffness=3.0, damping=0.1))
    compiled, s = VirtualWork(lw.Dynamics(model)), state(plain(model), (5,))
    close(compiled.force(s.q, s.v), VirtualWork(plain(model)).force(s.q, s.v))
    close(compiled.energy(s.q), VirtualWork(plain(model)).energy(s.q))


def test_a_spring_at_its_own_end_does_not_divide_by_zero():
    robot = plain(lw.Builder("one").body("body", joint=lw.Free(), mass=1.0, tensor=(1, 1, 1)).model())
    spring, zero = lw.Spring("s", None, "body", stiffness=2.0, damping=1.0), np.zeros(6)
    assert np.array_equal(VirtualWork(robot).of_spring(robot.neutral(), zero, spring), zero)


def test_wrong_forces_are_named():
    model = MECHANISMS["floating"]
    with pytest.raises(lw.ModelError, match=r'force "s" refers to body or frame "bodi1".*Did you mean "body1"'):
        model.with_forces(lw.Spring("s", None, "bodi1"))
    with pytest.raises(lw.ModelError, match=r'two of the name "line"'):
        model.with_forces(FORCES[0], FORCES[0])
    with pytest.raises(lw.ModelError, match=r'spring "s" has stiffness -1'):
        lw.Spring("s", None, "body1", stiffness=-1.0)
    with pytest.raises(lw.ModelError, match=r'push "p" has axes "hand"'):
        lw.Push("p", "body1", axes="hand")
    with pytest.raises(lw.ShapeError, match=r"force has shape \(2,\), but one takes 3"):
        VirtualWork(plain(model)).of_force(plain(model).neutral(), "body1", np.zeros(2))
