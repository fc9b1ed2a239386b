"""Forces of motors that make a motion, and joints whose motion is prescribed, under constraints."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.constraints import ConstraintError

from .test_forces import BUILT_IN, OWN, PIN, chain, close, moving

every = pytest.mark.parametrize("name", [*BUILT_IN, *OWN])


@every
def test_motor_forces_make_the_motion_and_are_the_least_that_do(name):
    robot, q, v, tau, t = moving(name)
    vdot = robot.forward_dynamics(q, v, tau, t=t)
    found = robot.motor_forces(q, v, vdot, t=t)
    close(robot.forward_dynamics(q, v, found, t=t), vdot, np.abs(vdot).max() + np.abs(v).max() ** 2, 1e-7)
    reach = robot.constraints.set.reach
    assert np.linalg.norm(reach * found) <= np.linalg.norm(reach * tau) * (1 + 1e-9)


def test_one_motor_that_is_enough_has_one_force():
    robot, q, v, _, _ = moving("four_bar")
    tau = np.array([1.3, 0.0, 0.0])
    crank = robot.joints[0]
    close(robot.motor_forces(q, v, robot.forward_dynamics(q, v, tau), motors=[crank]), tau)
    close(robot.motor_forces(q, v, robot.forward_dynamics(q, v, tau), motors=crank), tau)
    alone, all_ = robot.constraints.actuation(q, [crank]), robot.constraints.actuation(q)
    assert (alone.mobility, alone.complete, alone.redundancy) == (1, True, 0) and "unique" in str(alone)
    assert (all_.motors, all_.redundancy) == (3, 2) and "redundantly actuated by 2" in str(all_)


def test_motor_forces_carry_external_wrenches(rng):
    robot, q, v, tau, _ = moving("four_bar")
    push, crank = rng.standard_normal((3, 6)), [robot.joints[0]]
    vdot = robot.forward_dynamics(q, v, tau)
    found = robot.motor_forces(q, v, vdot, crank, push)
    close(robot.forward_dynamics(q, v, found, push), vdot, vdot)
    wrenches = robot.joint_wrenches(q, v, vdot, *robot.bodies, tau=found, external=push)
    forces = robot.constraint_forces(q, v, found, push)
    close(wrenches, [forces.joints[x] for x in robot.bodies], wrenches)


def test_an_impossible_acceleration_is_refused_and_says_by_how_much():
    robot, q, v, tau, _ = moving("four_bar")
    wrong = robot.forward_dynamics(q, v, tau) + 0.1 * np.eye(3)[0]
    for call in (robot.motor_forces, robot.joint_wrenches):
        with pytest.raises(ConstraintError, match=r'vdot is no acceleration of four_bar .* breaks "\w+" by 0\.0\d+'):
            call(q, v, wrong)
    with pytest.raises(ConstraintError, match="in 1 of 2 samples"):
        robot.motor_forces(np.stack([q, q]), v, np.stack([wrong, wrong - 0.1 * np.eye(3)[0]]))
    near = robot.constraints.possible(q, v, wrong)
    assert np.abs(near - wrong).max() <= 0.1
    robot.motor_forces(q, v, near)


def test_motors_that_are_too_few_are_refused():
    robot, q, v, tau, _ = moving("relation")
    with pytest.raises(ConstraintError, match=r"the motors link0_joint of chain cannot make this motion: .* off by"):
        robot.motor_forces(q, v, robot.forward_dynamics(q, v, tau), motors=["link0_joint"])
    with pytest.raises(lw.LinkworkError, match='no joint "link9_joint"'):
        robot.motor_forces(q, v, robot.forward_dynamics(q, v, tau), motors=["link9_joint"])
    assert "of which they can move 1" in str(robot.constraints.actuation(q, ["link0_joint"]))


def test_forces_that_do_not_make_the_motion_are_refused():
    robot, q, v, tau, _ = moving("four_bar")
    with pytest.raises(ConstraintError, match="tau does not make this vdot"):
        robot.joint_wrenches(q, v, robot.forward_dynamics(q, v, tau), tau=tau + np.eye(3)[0])


def test_without_constraints_motor_forces_are_inverse_dynamics(rng):
    robot = lw.Dynamics(chain().model(), compiled=False)
    q, v, vdot = rng.standard_normal((3, 4, 3))
    push = rng.standard_normal((3, 6))
    close(robot.motor_forces(q, v, vdot, external=push), robot.inverse_dynamics(q, v, vdot, push))
    told = np.array([1.0, 0.0, 1.0])
    forces = robot.inverse_dynamics(q, v, vdot, push)
    found = robot.hybrid_dynamics(q, v, np.where(told, vdot, forces), told, push)
    close(found, np.where(told, forces, vdot), forces)
    close(robot.joint_wrenches(q, v, vdot, tau=forces, external=push), robot.joint_wrenches(q, v, vdot, external=push))


@every
def test_hybrid_dynamics_without_prescribed_joints_is_forward_dynamics(name):
    robot, q, v, tau, t = moving(name)
    vdot = robot.forward_dynamics(q, v, tau, t=t)
    close(robot.hybrid_dynamics(q, v, tau, np.zeros(robot.nv), t=t), vdot, np.abs(vdot).max() + np.abs(v).max() ** 2, 1e-7)


@pytest.mark.parametrize("compiled", [False, True])
def test_hybrid_dynamics_gives_the_force_that_makes_a_prescribed_acceleration(compiled, rng):
    """Prescribed and given back: forward dynamics of what it returns has the prescribed acceleration."""
    robot, q, v, _, _ = moving("four_bar")
    robot, push = lw.Dynamics(robot.model, compiled=compiled), rng.standard_normal((3, 6))
    given = np.array([2.0, 0.3, -0.2])
    for told in np.eye(3):
        found = robot.hybrid_dynamics(q, v, given, told, push)
        vdot = robot.forward_dynamics(q, v, np.where(told, found, given), push)
        close(vdot, np.where(told, given, found), vdot)
    both = robot.hybrid_dynamics(q, v, given, np.eye(3), push)  # another joint in each sample
    close(both[2], found, found)


def test_more_prescribed_than_can_move_takes_the_least_forces():
    robot, q, v, tau, _ = moving("four_bar")
    vdot = robot.forward_dynamics(q, v, tau)
    close(robot.hybrid_dynamics(q, v, vdot, np.ones(3)), robot.motor_forces(q, v, vdot), tau)
    with pytest.raises(ConstraintError, match=r"prescribed for .* of four_bar cannot all be"):
        robot.hybrid_dynamics(q, v, vdot + np.eye(3)[0], np.ones(3))


def test_a_drive_moves_with_hybrid_dynamics_and_needs_its_time():
    robot, q, v, tau, t = moving("drive")
    with pytest.raises(ConstraintError, match="say when"):
        robot.hybrid_dynamics(q, v, tau, np.zeros(3))
    found = robot.hybrid_dynamics(q, v, tau, np.eye(3)[0], t=t)
    vdot = robot.forward_dynamics(q, v, [found[0], *tau[1:]], t=t)
    close(vdot[0], tau[0])
    close(vdot[1], -np.sin(t), 1.0, 1e-6)
    close(robot.ask("hybrid_dynamics", q, v, tau, np.eye(3)[0], t=t), found)


def test_joints_without_inertia_are_served_by_their_loop():
    """A massless coupler between two uniform cranks: the tree alone has no mass matrix that can be inverted."""
    b = lw.Builder("rods", (0, -9.81, 0))
    rod = {"mass": 1.0, "center": (0.5, 0, 0), "tensor": (1e-4, 1 / 12, 1 / 12)}
    b.body("crank", joint=lw.Revolute(), **rod).body("coupler", "crank", (1, 0, 0), lw.Revolute())
    b.body("rocker", None, (2, 0, 0), lw.Revolute(), **rod)
    b.loop("pin", "coupler", "rocker", lw.Revolute(), at=(2, 0, 0), on=(1, 0, 0))
    robot, z = lw.Dynamics(b.model(), compiled=False), np.zeros(3)
    q = robot.assemble([1.0, -1.0, 1.0], hold=["crank_joint"])
    vdot = robot.forward_dynamics(q, z, z)
    close(robot.hybrid_dynamics(q, z, z, z), vdot)
    close(robot.motor_forces(q, z, vdot), z, 10.0)
    forces = robot.constraint_forces(q, z, z)
    close(forces.wrenches["pin"]["coupler"][[0, 1, 2, 5]], np.zeros(4))  # a force along a rod that carries nothing else
    close(robot.joint_wrenches(q, z, vdot, "crank")[0], forces.joints["crank"])


def test_a_kernel_cannot_hold_them_and_says_what_to_do():
    robot, q, v, tau, _ = moving("four_bar")
    robot = lw.Dynamics(robot.model)
    for inside in (
        lambda q, v, tau: robot.motor_forces(q, v, tau),
        lambda q, v, tau: robot.hybrid_dynamics(q, v, tau, 0 * tau),
        lambda q, v, tau: robot.joint_wrenches(q, v, tau, "rocker"),
    ):
        with pytest.raises(lw.LinkworkError, match="cannot be part of another kernel"):
            robot.kernel(inside)(q, v, tau)
    for way in (robot.program, robot.symbolic):
        with pytest.raises(lw.LinkworkError, match="is no one formula"):
            way("hybrid_dynamics")


def test_a_body_that_is_fixed_is_carried_too():
    """What holds a base to the world is what holds the arm on it, and its own weight."""
    b = lw.Builder("stand").body("base", mass=1.0).body("arm", "base", (1, 0, 0), lw.Revolute(axis=(0, 1, 0)), **PIN)
    for robot in (lw.Dynamics(x.model(), compiled=False) for x in (b, b.drive("arm_joint", np.sin))):
        base, arm = robot.joint_wrenches([0.0], [1.0], [0.0], t=0.0)
        close(base[3:], arm[3:] + np.array([0.0, 0.0, 9.81]))
        close(robot.joint_wrenches([0.0], [1.0], [0.0], "base", t=0.0), [base])
    with pytest.raises(lw.ShapeError, match="out has shape"):
        robot.motor_forces([0.0], [1.0], [0.0], t=0.0, out=np.zeros(2))
