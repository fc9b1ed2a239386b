"""Bodies in a fluid: added mass and Kirchhoff's equations, buoyancy, drag, current."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from zoo import close

import linkwork as lw
from linkwork.lie.embedding import tilde
from linkwork.model import solids
from linkwork.model.world_frame import in_world_frame

ADDED = np.diag([0.2, 0.9, 0.8, 5.0, 60.0, 55.0])
ADDED[1, 5] = ADDED[5, 1] = 2.0


def vehicle(**fluid) -> lw.Model:
    """A hull with an arm of two links, all under water."""
    builder = lw.Builder("vehicle")
    builder.body("hull", joint=lw.Free(), **solids.box(50.0, (1.0, 0.4, 0.3), (0.05, 0, -0.02)))
    builder.body("upper", "hull", (0.5, 0, -0.1), lw.Revolute(axis=(0, 1, 0)), **solids.rod(3.0, (0.4, 0, 0)))
    builder.body("fore", "upper", (0.4, 0, 0), lw.Revolute(axis=(0, 0, 1)), **solids.rod(2.0, (0.3, 0, 0)))
    hull = lw.Immersed("hull", 0.051, (0.05, 0, 0.05), ADDED, (1, 2, 3, 4, 5, 6), (3, 2, 1, 30, 60, 50))
    fore = lw.Immersed("fore", 0.001, (0.15, 0, 0), (0, 0.02, 0.02, 0.1, 1.5, 1.5), quadratic_drag=(0, 0, 0, 1, 9, 9), at=(0.15, 0, 0))
    return builder.model().in_fluid(hull, fore, **fluid)


def states(robot, shape=(3,), seed=0):
    q, v = robot.random_state(shape, seed=seed)
    return q, v, np.random.default_rng(seed).standard_normal(v.shape)


def test_a_body_alone_moves_by_kirchhoffs_equations():
    """d/dt of (M + M_a) V is that of impulse in body axes: angular p × u besides, linear ω × p (Lamb, 124)."""
    builder = lw.Builder("body", gravity=(0, 0, 0))
    builder.body("hull", joint=lw.Free(), **solids.box(50.0, (1.0, 0.4, 0.3)))
    robot = lw.Dynamics(builder.model().in_fluid(lw.Immersed("hull", added_mass=ADDED)), compiled=False)
    q, v, _ = states(robot)
    M = robot.mass_matrix(q)
    dry = lw.Dynamics(replace(robot.model, fluid=None), compiled=False)
    close(M, dry.mass_matrix(q) + ADDED, 1e-12)
    p = np.matvec(M, v)
    angular = np.cross(p[:, :3], v[:, :3]) + np.cross(p[:, 3:], v[:, 3:])
    pdot = np.concatenate([angular, np.cross(p[:, 3:], v[:, :3])], -1)
    close(robot.forward_dynamics(q, v, np.zeros_like(v)), np.linalg.solve(M, pdot[..., None])[..., 0], 1e-10)


def test_munks_moment_turns_a_hull_across_the_flow():
    """M = (A_y − A_x) u v about z of a body that drifts with u, v: it turns broadside on."""
    builder = lw.Builder("body", gravity=(0, 0, 0))
    builder.body("hull", joint=lw.Free(), **solids.sphere(10.0, 0.2))
    robot = lw.Dynamics(builder.model().in_fluid(lw.Immersed("hull", added_mass=(0, 0, 0, 1, 9, 9))), compiled=False)
    tau = robot.inverse_dynamics(robot.neutral(), np.array([0, 0, 0, 2.0, 0.5, 0]), np.zeros(6))
    close(tau[:3], [0, 0, (9 - 1) * 2.0 * 0.5], 1e-12)


def test_inertia_is_that_of_the_bodies_and_of_the_water():
    """𝓜 + Σ J* M_a J, as the operators have it."""
    robot = lw.Dynamics(vehicle(), compiled=False)
    dry = lw.Dynamics(replace(robot.model, fluid=None), compiled=False)
    q, _, _ = states(robot)
    J, L = dry.jacobian(q, "hull"), dry.task_jacobian(q, ("fore", lw.Pose.of((0.15, 0, 0))))
    more = J.mT @ ADDED @ J + L.mT @ np.diag([0, 0.02, 0.02, 0.1, 1.5, 1.5]) @ L
    close(robot.mass_matrix(q), dry.mass_matrix(q) + more, 1e-11)
    close(robot.operators(q[0])("H φ M φ* H* + armature").dense(), robot.mass_matrix(q[0]), 1e-11)


def test_buoyancy_is_the_weight_of_what_is_displaced():
    """At rest: gravity_force is the gradient of potential_energy, by differences; water that moves along has no weight."""
    robot = lw.Dynamics(vehicle(density=1025.0), compiled=False)
    q, v, _ = states(robot, ())
    h = 1e-6
    slope = [
        (robot.potential_energy(robot.integrate(q, h * e)) - robot.potential_energy(robot.integrate(q, -h * e))) / (2 * h)
        for e in np.eye(8)
    ]
    close(robot.gravity_force(q), np.array(slope), 1e-6)
    close(robot.inverse_dynamics(q, 0 * v, 0 * v), robot.gravity_force(q), 1e-12)
    up = robot.pose(q, "hull")[:3, :3] @ robot.gravity_force(q)[3:6]
    close(up, [0, 0, (50 + 3 + 2 - 1025 * 0.052) * 9.81], 1e-9)


def test_drag_takes_power():
    """τ · v of drag: V* D V + Σ D₂ |V|³, at the place it is given for."""
    robot = lw.Dynamics(vehicle(), compiled=False)
    still = lw.Dynamics(replace(robot.model, fluid=replace(robot.model.fluid, immersed=tuple(
        replace(x, drag=np.zeros(6), quadratic_drag=np.zeros(6)) for x in robot.model.fluid.immersed))), compiled=False)  # fmt: skip
    q, v, vdot = states(robot)
    lost = np.sum((robot.inverse_dynamics(q, v, vdot) - still.inverse_dynamics(q, v, vdot)) * v, -1)
    V, L = robot.body_velocity(q, v, "hull"), np.matvec(robot.task_jacobian(q, ("fore", lw.Pose.of((0.15, 0, 0)))), v)
    hull = (V * V) @ [1, 2, 3, 4, 5, 6] + np.abs(V) ** 3 @ [3, 2, 1, 30, 60, 50]
    close(lost, hull + np.abs(L) ** 3 @ [0, 0, 0, 1, 9, 9], 1e-10)


def test_energy_is_kept_without_drag():
    robot = lw.Dynamics(vehicle(), compiled=False)
    free = replace(robot.model, fluid=replace(robot.model.fluid, immersed=tuple(
        replace(x, drag=np.zeros(6), quadratic_drag=np.zeros(6)) for x in robot.model.fluid.immersed)))  # fmt: skip
    robot = lw.Dynamics(free)
    q, v, _ = states(robot, ())
    run = lw.simulate(robot, (q, 0.5 * v), until=1.0, rtol=1e-9, atol=1e-9, progress=False)
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    assert np.ptp(energy) < 1e-6 * np.abs(energy).max()


def test_a_current_is_a_moving_frame():
    """In a current everything moves as in still water seen from a frame that goes with it (Galilei)."""
    c = np.array([0.3, -0.2, 0.1])
    flows, still = lw.Dynamics(vehicle(current=c), compiled=False), lw.Dynamics(vehicle(), compiled=False)
    q, v, tau = states(flows)
    R = flows.pose(q, "hull")[..., :3, :3]
    seen = v.copy()
    seen[:, 3:6] -= np.matvec(R.mT, c)
    vdot = flows.forward_dynamics(q, v, tau)
    other = still.forward_dynamics(q, seen, tau)
    other[:, 3:6] -= np.matvec(tilde(v[:, :3]), np.matvec(R.mT, c))  # the rate of R* c
    close(vdot, other, 1e-9)


def test_a_craft_without_motors_comes_to_the_speed_of_the_current():
    builder = lw.Builder("buoy", gravity=(0, 0, 0))
    builder.body("ball", joint=lw.Free(), **solids.sphere(10.0, 0.2))
    wet = lw.Immersed("ball", 0.01, added_mass=(0.1,) * 3 + (5.0,) * 3, drag=(1.0,) * 3 + (20.0,) * 3)
    robot = lw.Dynamics(builder.model().in_fluid(wet, current=(0.5, 0, 0.2)))
    run = lw.simulate(robot, (robot.neutral(), np.zeros(6)), until=20.0, progress=False)
    close(run.v[-1], [0, 0, 0, 0.5, 0, 0.2], 1e-5)


def test_frames_names_and_roots_do_not_change_it():
    model = vehicle(current=(0.1, 0.2, 0.3))
    robot = lw.Dynamics(model, compiled=False)
    q, v, tau = states(robot)
    vdot = robot.forward_dynamics(q, v, tau)
    renamed = lw.Builder("ocean").model().with_model(None, model, prefix="a_")
    close(lw.Dynamics(renamed, compiled=False).forward_dynamics(q, v, tau), vdot, 1e-12)
    moved = in_world_frame(model)
    assert moved.fluid != model.fluid
    close(lw.Dynamics(moved, compiled=False).forward_dynamics(q, v, tau)[:, 6:], vdot[:, 6:], 1e-9)
    other = lw.Dynamics(model.rebased("fore"), compiled=False)
    q2, v2 = robot.rebase(q, v, "fore")
    tau2 = robot.rebase_force(q, tau, "fore")
    close(other.forward_dynamics(q2, v2, tau2)[:, :5:-1], vdot[:, 6:], 1e-8)  # the joints in the opposite order


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics", "bias", "kinetic_energy", "potential_energy"])
def test_kernels_agree_with_the_sweep(name):
    model = vehicle(current=(0.1, 0.2, 0.3))
    plain, robot = lw.Dynamics(model, compiled=False), lw.Dynamics(model)
    q, v, tau = states(robot)
    arrays = {"forward_dynamics": (q, v, tau), "inverse_dynamics": (q, v, tau), "bias": (q, v), "kinetic_energy": (q, v)}.get(name, (q,))
    close(robot.ask(name, *arrays), plain.ask(name, *arrays), 1e-10)
    single = [x.astype(np.float32) for x in arrays]
    assert robot.ask(name, *single).dtype == np.float32


@pytest.mark.parametrize("road", [{"compiled": False}, {}], ids=str)
def test_derivatives_of_motion_in_a_fluid_agree_with_differences(road):
    """∂v̇/∂q, ∂v̇/∂v of forward_dynamics_derivatives, of derivative and of linearize."""
    robot = lw.Dynamics(vehicle(current=(0.1, 0.2, 0.3)), **road)
    q, v, tau = states(robot, ())
    h, f = 1e-6, robot.forward_dynamics
    by_q = np.stack([(f(robot.integrate(q, h * e), v, tau) - f(robot.integrate(q, -h * e), v, tau)) / (2 * h) for e in np.eye(8)], -1)
    by_v = np.stack([(f(q, v + h * e, tau) - f(q, v - h * e, tau)) / (2 * h) for e in np.eye(8)], -1)
    slopes = robot.forward_dynamics_derivatives(q, v, tau)
    close(slopes[0], by_q, 1e-6)
    close(slopes[1], by_v, 1e-6)
    close(robot.derivative("forward_dynamics", q, v, tau, by="v"), by_v, 1e-6)
    close(robot.linearize(q, v, tau).A[8:], np.concatenate([by_q, by_v], -1), 1e-6)


def test_what_leaves_a_fluid_out_is_refused_by_its_name():
    robot = lw.Dynamics(vehicle(), compiled=False)
    q, v, tau = states(robot, ())
    with pytest.raises(lw.ModelError, match=r"the fluid .* hamiltonian_dynamics does not know"):
        robot.hamiltonian_dynamics(q, v, tau)
    with pytest.raises(lw.ModelError, match="leaves out the fluid of vehicle"):
        lw.Equations(robot)
    with pytest.raises(lw.SimulationError, match='method "midpoint" takes no blocks of the fluid'):
        lw.simulate(robot, (q, v), until=0.1, method="midpoint", dt=0.01)


def test_loops_hold_under_water():
    """v̇ by kernels, in NumPy, and by 𝓜 v̇ + C = Jc* λ, Jc v̇ = −γ."""
    model = lw.load("four_bar")
    model = model.in_fluid(*(lw.Immersed(body.name, 1e-4, added_mass=np.full(6, 0.3), drag=np.full(6, 0.2)) for body in model.bodies))
    robot, plain = lw.Dynamics(model), lw.Dynamics(model, compiled=False)
    q, v = robot.constraints.project(robot.assemble(robot.neutral()), np.ones(robot.nv))
    tau = np.ones(robot.nv)
    vdot = robot.forward_dynamics(q, v, tau)
    close(vdot, plain.forward_dynamics(q, v, tau), 1e-9)
    free = tau - plain.inverse_dynamics(q, v, vdot)
    J = robot.constraints.jacobian(q)
    close(J.T @ np.linalg.lstsq(J.T, free, rcond=None)[0], free, 1e-8)
    dry = lw.Dynamics(replace(model, fluid=None)).forward_dynamics(q, v, tau)
    assert np.abs(vdot - dry).max() > 0.1


def test_a_model_says_that_it_is_in_a_fluid():
    assert "2 bodies in a fluid of 1025 kg/m³" in repr(vehicle(density=1025.0))


def test_a_copy_of_a_robot_is_in_the_fluid_once():
    robot = lw.Dynamics(vehicle(), compiled=False)
    again, (q, v) = pickle.loads(pickle.dumps(robot)), states(robot)[:2]
    np.testing.assert_array_equal(again.bias(q, v), robot.bias(q, v))


def test_what_cannot_be_is_told():
    model = vehicle()
    with pytest.raises(lw.ModelError, match="not symmetric"):
        lw.Immersed("hull", added_mass=np.triu(np.ones((6, 6))) + 6 * np.eye(6))
    with pytest.raises(lw.ModelError, match="not positive"):
        lw.Immersed("hull", drag=(-1, 0, 0, 0, 0, 0))
    with pytest.raises(lw.ModelError, match="shape"):
        lw.Immersed("hull", drag=(1, 2, 3))
    with pytest.raises(lw.ModelError, match="hul"):
        model.in_fluid(lw.Immersed("hul"))
    with pytest.raises(lw.ModelError, match="fluid"):
        lw.save(model, "/nowhere/model.json", world_frame=True)
    with pytest.raises(lw.ModelError, match="free_flying"):
        lw.Dynamics(model).free_flying()
    with pytest.raises(lw.ModelError, match="densities"):
        model.with_model(None, vehicle(density=1.2), prefix="b_")
