"""Tasks of constrained robots: J Y_C J*, in the axes of each place or in the world's."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.constraints import ConstraintError
from linkwork.operators import operators

from .test_forces import BUILT_IN, OWN, close, moving

every = pytest.mark.parametrize("name", [x for x in (*BUILT_IN, *OWN) if x != "drive"])
both = pytest.mark.parametrize("axes", ["body", "world"])


def compliance(robot, q, v, t):
    """Y_C = ∂v̇/∂τ, by differences of what is linear in τ."""
    zero = np.zeros(robot.nv)
    base = robot.forward_dynamics(q, v, zero, t=t)
    return np.stack([robot.forward_dynamics(q, v, e, t=t) - base for e in np.eye(robot.nv)], -1)


@both
@every
def test_a_task_is_that_of_the_constrained_motion(name, axes):
    """Λ̲ = J Y_C J*, and α = d/dt (J v) along the motion that τ makes, by differences."""
    robot, q, v, tau, t = moving(name)
    places = robot.bodies[-1], (robot.bodies[0], (0.1, 0.2, 0.3))
    task = robot.operators(q, v, t=t).task(*places, axes=axes)
    J, vdot, h = robot.task_jacobian(q, *places, axes=axes), robot.forward_dynamics(q, v, tau, t=t), 1e-5
    close(task.J, J)
    Y = J @ compliance(robot, q, v, t) @ J.T
    close(task.compliance, Y, Y, 1e-8)
    close(robot.task_compliance(q, *places, axes=axes, t=t), Y, Y, 1e-8)
    what = [(place, None, axes) if isinstance(place, str) else (*place, axes) for place in places]
    close(robot.ask(("joint_response", *what), q, t=t), task.response, Y, 1e-8)
    close(robot.ask(("task_acceleration", *what), q, v, tau, t=t), task.acceleration(tau), np.abs(vdot).max() + np.abs(v).max() ** 2, 1e-7)
    at = [robot.task_jacobian(robot.integrate(q, s * v + s * s / 2 * vdot), *places, axes=axes) @ (v + s * vdot) for s in (h, -h)]
    size = np.abs(vdot).max() + np.abs(v).max() ** 2 + np.abs(tau).max()
    close(task.acceleration(tau), (at[0] - at[1]) / (2 * h), size, 1e-5)


@both
def test_a_task_gets_the_acceleration_that_it_asks_for(axes):
    """The bob of a crank's coupler has one direction that is free: along it the acceleration is as wanted, and motors squeeze nothing."""
    robot, q, v, _, _ = moving("four_bar")
    place = robot.bodies[1], (0.3, 0.1, 0.0)
    task = robot.operators(q, v).task(place, deficient="ignore", axes=axes)
    assert task.rank == 1
    wanted = task.acceleration(np.array([2.0, 0.0, 0.0]))  # one that the loop allows
    vdot = robot.forward_dynamics(q, v, task.control(wanted))
    close(vdot, robot.forward_dynamics(q, v, np.array([2.0, 0.0, 0.0])), vdot, 1e-8)
    moves = task.control(wanted, posture=np.array([3.0, -1.0, 2.0]))  # a posture of one degree of freedom is the task's own
    close(robot.forward_dynamics(q, v, moves), vdot, vdot, 1e-7)


@both
def test_tasks_in_batches_and_single_precision(axes):
    robot, q, v, _, _ = moving("four_bar")
    Q, V = np.stack([q, q]), np.stack([v, -v])
    many, one = (robot.operators(*x).task(robot.bodies[1], axes=axes) for x in ((Q, V), (q, v)))
    for part in ("J", "compliance", "response", "drift", "bias"):
        close(getattr(many, part)[0], getattr(one, part))
    single = robot.operators(q.astype(np.float32), v.astype(np.float32)).task(robot.bodies[1], axes=axes)
    assert single.compliance.dtype == single.drift.dtype == np.float32
    close(single.compliance, one.compliance, one.compliance, 1e-4)


def test_the_task_of_a_drive_needs_its_time():
    robot, q, v, _, t = moving("slider driven")
    with pytest.raises(ConstraintError, match="say when"):
        robot.operators(q, v).task("link2")
    robot.operators(q, v, t=t).task("link2")


def test_operators_of_a_model_with_loops_make_no_task_and_say_what_does():
    robot, q, v, _, _ = moving("four_bar")
    with pytest.raises(lw.ModelError, match=r"lw.Dynamics\(model\).operators"):
        operators(robot.model, q, v).task(robot.bodies[1])


def test_a_task_of_a_robot_with_loops_is_the_same_inside_a_kernel():
    robot, q, v, _, _ = moving("four_bar")
    robot = lw.Dynamics(robot.model)
    compliance = lambda q, v: robot.operators(q, v).task(robot.bodies[1]).compliance
    assert np.abs(robot.kernel(compliance)(q, v) - compliance(q, v)).max() < 1e-13


def test_world_axes_of_kernels_and_of_single_places():
    """The compiled task of a tree and of a loop is the plain one; axes said for one place count before those of the call."""
    for robot, q in ((lw.Dynamics(lw.load("planar_2r"), compiled=False), np.array([0.3, 0.8])), moving("four_bar")[:2]):
        body, fast = robot.bodies[1], lw.Dynamics(robot.model)
        places = body, (body, (0.1, 0.2, 0.0), "world"), (body, None, "body")
        J = np.concatenate([robot.jacobian(q, body, "world"), robot.task_jacobian(q, places[1]), robot.jacobian(q, body)])
        close(robot.task_jacobian(q, *places, axes="world"), J)
        close(fast.task_compliance(q, *places, axes="world"), robot.task_compliance(q, *places, axes="world"))
        close(fast.ask(("task_compliance", *places[1:]), q), fast.task_compliance(q, *places[1:]))
        for what, n in (("joint_response", 1), ("task_acceleration", 3)):
            state = [q, np.zeros(robot.nv), np.ones(robot.nv)][:n]
            close(fast.ask((what, *places), *state), robot.ask((what, *places), *state))
    arm = lw.Dynamics(lw.load("planar_2r"), compiled=False)
    close(arm.varying("mass").task_jacobian(np.ones(2), "link2", axes="world"), arm.jacobian(np.ones(2), "link2", "world"))
    with pytest.raises(ValueError, match='axes is "wrold"'):
        robot.task_jacobian(q, body, axes="wrold")


def test_accelerations_of_a_tree_s_task_in_world_axes():
    """d/dt (J v) of a point in the world."""
    robot = lw.Dynamics(lw.load("arm_6r"), compiled=False)
    q, v = robot.random_state(seed=0)
    tau, h, place = np.ones(6), 1e-5, ((robot.bodies[-1], (0.1, 0.0, 0.2), "world"), (robot.bodies[2], None, "world"))
    vdot = robot.forward_dynamics(q, v, tau)
    at = [robot.task_jacobian(robot.integrate(q, s * v), *place) @ (v + s * vdot) for s in (h, -h)]
    found = robot.ask(("task_acceleration", *place), q, v, tau)
    close(found, (at[0] - at[1]) / (2 * h), found, 1e-6)
    names = [(body, where) if where else body for body, where, _ in place]
    close(robot.operators(q, v).task(*names, axes="world").acceleration(tau), found, found)


@pytest.mark.parametrize("name", ["pendulum", "four_bar", "planar_2r"])
def test_what_of_a_task_can_be_reached_is_met_whatever_the_axes(name):
    """Λ = Λ̲⁺: of w the nearest acceleration in the range of Λ̲ is met, in body axes and in the world's."""
    robot, q, v = lw.Dynamics(lw.load(name), compiled=False), np.array([0.4, 0.7, 0.2]), np.array([1.0, -0.5, 0.3])
    q, v = q[: robot.nv], v[: robot.nv]
    if robot.constraints is not None:
        q, v = robot.constraints.project(robot.assemble(q), v)
    body, wanted, got = robot.bodies[-1], np.array([0.3, -1.0, 2.0]), {}
    R = robot.pose(q, body)[:3, :3]
    for axes, turn in (("body", R.T), ("world", np.eye(3))):
        task = robot.operators(q, v).task((body, (0.3, 0.1, -1.0)), deficient="ignore", axes=axes)
        close(task.inertia, np.linalg.pinv(task.compliance, rcond=1e-9), task.inertia, 1e-7)
        w = turn @ wanted + task.acceleration(np.zeros(robot.nv))
        vdot = robot.forward_dynamics(q, v, task.control(w))
        found = task.J @ vdot + task.drift - task.acceleration(np.zeros(robot.nv))
        U = np.linalg.svd(task.compliance)[0][:, : int(task.rank)]
        close(found, U @ (U.T @ (turn @ wanted)), wanted, 1e-7)
        got[axes] = vdot
    close(got["body"], got["world"], got["body"], 1e-7)


def test_a_whole_body_that_can_hardly_move_is_moved_alike_in_all_axes():
    """Six directions of a planar arm's hand, three of which it can move."""
    robot, q, v = lw.Dynamics(lw.load("planar_2r"), compiled=False), np.array([0.3, 0.8]), np.array([0.2, -0.1])
    R = robot.pose(q, "link2")[:3, :3]
    wanted, got = np.arange(1.0, 7.0), []
    for axes, turn in (("body", R.T), ("world", np.eye(3))):
        task = robot.operators(q, v).task("link2", deficient="ignore", axes=axes)
        w = np.concatenate([turn @ wanted[:3], turn @ wanted[3:]])
        got.append(robot.forward_dynamics(q, v, task.control(w + task.acceleration(np.zeros(2)))))
    close(got[0], got[1], got[0], 1e-9)


@both
@every
def test_the_drift_of_a_task_is_what_its_jacobian_turns(name, axes):
    """α = J v̇ + J̇ v, drift = J̇ v by differences."""
    robot, q, v, tau, t = moving(name)
    place, h = robot.bodies[-1], 1e-5
    task = robot.operators(q, v, t=t).task(place, axes=axes)
    J = [robot.task_jacobian(robot.integrate(q, s * v), place, axes=axes) for s in (h, -h)]
    close(task.drift, (J[0] - J[1]) @ v / (2 * h), np.abs(v).max() ** 2 + 1, 1e-5)
    vdot = robot.forward_dynamics(q, v, tau, t=t)
    close(task.J @ vdot + task.drift, task.acceleration(tau), np.abs(vdot).max() + np.abs(v).max() ** 2 + np.abs(tau).max(), 1e-6)
