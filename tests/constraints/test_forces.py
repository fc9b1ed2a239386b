"""What constraints exert: wrenches on stated bodies, which do the work of the multipliers and balance every body."""

from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork.constraints import Pfaffian
from linkwork.model import solids

from .gallery import mixed, rod

PIN = {"mass": 1.0, "center": (0.3, 0.1, 0.05), "tensor": (0.1, 0.2, 0.25)}
BUILT_IN = ["four_bar", "slider_crank", "peaucellier", "strandbeest", "squeezer", "bricard", "governor", "differential", "intelsat",
            "rolling_disk", "snakeboard"]  # fmt: skip


def chain(name="chain", n=3):
    b = lw.Builder(name, gravity=(0.3, -0.2, -9.81))
    axes = (0, 1, 0), (0.6, 0, 0.8), (1, 0, 0)
    for i in range(n):
        b.body(f"link{i}", f"link{i - 1}" if i else None, (0.7, 0.1, 0) if i else None, lw.Revolute(axis=axes[i]), **PIN)
    return b


def sliding():
    return chain().body("slider", "link2", (0.3, 0, 0), lw.Prismatic(axis=(0, 0.6, 0.8)), **PIN)


def craft(name):
    b = lw.Builder(name, gravity=(0.2, 0.1, -9.81))
    b.body("wheel", None, (0, 0, 0.5), lw.Free(), **PIN)
    b.body("arm", "wheel", (0.2, 0, 0.1), lw.Revolute(axis=(1, 0, 0)), **PIN)
    return b


OWN = {
    "coupling": lambda: chain().couple("link2_joint", "link0_joint", (0.1, 0.5, 0.3), "gear"),
    "relation": lambda: chain().relate("relation", {"link0_joint": 1.0, "link1_joint": -2.0, "link2_joint": 0.5}),
    "drive": lambda: chain().drive("link1_joint", np.sin),
    "slider driven": lambda: sliding().drive("slider_joint", np.sin),
    "distance": lambda: chain().distance("rod", "link0", "link2", 0.9, at=(0.2, 0, 0), on=(0.1, 0.2, 0)),
    "distance to the world": lambda: chain().distance("rod", None, "link2", 1.4, at=(0.2, 0.4, 0), on=(0.1, 0.2, 0)),
    "roll": lambda: craft("disk").roll("roll", "wheel", 0.5, axis=(0, 1, 0.2)),
    "roll of a ball": lambda: craft("ball").roll("roll", "wheel", 0.5, axis=None),
    "knife edge": lambda: craft("skate").skate("edge", "wheel", (0.3, 1, 0), at=(0.1, 0, -0.2)),
}  # fmt: skip
TIES = {"universal tie": lw.Universal(), "screw": lw.Helical(axis=(0, 1, 0), pitch=0.1)}


@cache
def moving(name, compiled=False):
    """(robot, q, v, tau, t) of a mechanism in motion."""
    if name in TIES:
        model, guess = mixed(TIES[name])
        robot = lw.Dynamics(model, compiled=compiled)
    else:
        robot = lw.Dynamics(lw.load(name) if name in BUILT_IN else OWN[name]().model(), compiled=compiled)
        guess = robot.neutral() if robot.nq > robot.nv else robot.neutral() + 0.1
    rng = np.random.default_rng(1)
    q = robot.assemble(guess, t=0.4)
    q, v = robot.constraints.project(q, rng.standard_normal(robot.nv), t=0.4)
    return robot, q, v, rng.standard_normal(robot.nv), 0.4


every = pytest.mark.parametrize("name", [*BUILT_IN, *OWN, *TIES])


def close(a, b, size=1.0, tolerance=1e-9):
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1.0, np.abs(size).max(initial=0.0)))


def in_world(robot, q, body, wrench):
    """A wrench in the body's axes at its origin, about the world's origin in world axes."""
    if body is None:
        return wrench
    T = robot.pose(q, body)
    n, f = T[:3, :3] @ wrench[:3], T[:3, :3] @ wrench[3:]
    return np.concatenate([n + np.cross(T[:3, 3], f), f])


@every
def test_wrenches_do_the_work_of_the_multipliers(name):
    """Σ J*(body) w = Jc* λ of each constraint, and what is on one body is against another: Σ w = 0 about one point."""
    robot, q, v, tau, t = moving(name)
    forces = robot.constraint_forces(q, v, tau, t=t)
    assert set(forces.wrenches) == set(forces.slices)
    for x, found in forces.wrenches.items():
        work = sum(robot.jacobian(q, body).T @ w for body, w in found.items() if body is not None)
        close(work, forces.generalized[x], forces.lam)
        close(sum(in_world(robot, q, body, w) for body, w in found.items()), np.zeros(6), forces.lam)
    close(sum(forces.generalized.values()), forces.tau, forces.lam)


def momentum(robot, q, v, bodies):
    """Of bodies, about the world's origin in world axes (6,)."""
    total = np.zeros(6)
    for name in bodies:
        body, T = robot.model.body(name), robot.pose(q, name)
        w, u = np.split(robot.jacobian(q, name, "world") @ v, 2)
        R, c = T[:3, :3], T[:3, :3] @ np.asarray(body.center, float)
        p = body.mass * (u + np.cross(w, c))
        total += [*(R @ np.asarray(body.tensor, float).reshape(3, 3) @ R.T @ w + np.cross(T[:3, 3] + c, p)), *p]
    return total


@every
def test_wrenches_balance_every_body(name):
    """Joint wrench − those of the joints it carries + wrenches of constraints + weight = rate of momentum of welded bodies."""
    robot, q, v, tau, t = moving(name)
    forces, model, h = robot.constraint_forces(q, v, tau, t=t), robot.model, 1e-5
    a = forces.vdot
    group = {}
    for placed in model.joints:
        group[placed.child] = placed.child if placed.joint.nv else group.get(placed.parent)
    for root in {x for x in group.values() if x is not None}:
        bodies = [x for x in group if group[x] == root]
        at = [momentum(robot, robot.integrate(q, s * v + s * s / 2 * a), v + s * a, bodies) for s in (h, -h, 2 * h, -2 * h)]
        rate = (8 * (at[0] - at[1]) - (at[2] - at[3])) / (12 * h)
        total = np.zeros(6)
        for x in bodies:
            T, body = robot.pose(q, x), model.body(x)
            weight = body.mass * np.array(model.gravity)
            total += [*np.cross(T[:3, 3] + T[:3, :3] @ body.center, weight), *weight]
            total += sum((in_world(robot, q, x, found[x]) for found in forces.wrenches.values() if x in found), np.zeros(6))
        for placed in model.joints:
            if placed.joint.nv and (placed.child == root or group.get(placed.parent) == root):
                total += (1 if placed.child == root else -1) * in_world(robot, q, placed.child, forces.joints[placed.child])
        close(total, rate, [*np.abs(forces.lam), *(np.abs(x).max() for x in forces.joints.values())], 1e-6)


@every
def test_joint_wrenches_are_those_of_constraint_forces(name):
    robot, q, v, tau, t = moving(name)
    forces = robot.constraint_forces(q, v, tau, t=t)
    found = robot.joint_wrenches(q, v, forces.vdot, *forces.joints, tau=tau, t=t)
    close(found, np.array([*forces.joints.values()]), found)
    free = robot.constraint_forces(q, v, 0 * tau, t=t)  # no motor: the least forces are none
    close(robot.joint_wrenches(q, v, free.vdot, *free.joints, t=t), np.array([*free.joints.values()]), found)


@pytest.mark.parametrize("name", ["four_bar", "coupling", "drive", "distance", "roll"])
def test_motor_torque_and_nothing_else_acts_along_a_joint(name):
    """H f = τ − armature v̇ in each joint with one axis."""
    robot, q, v, tau, t = moving(name)
    forces = robot.constraint_forces(q, v, tau, t=t)
    for placed in robot.model.joints:
        if placed.joint.nv == 1:
            j = robot.v_index(placed.name).start
            close(robot.jacobian(q, placed.child)[:, j] @ forces.joints[placed.child], tau[j], forces.lam)


def test_a_user_s_rows_have_generalized_forces_alone_and_say_so():
    robot = lw.Dynamics(chain().constrain(Pfaffian("mine", lambda q: [[1.0, 2.0, 0.0]])).model(), compiled=False)
    v = np.array([2.0, -1.0, 0.5])
    forces = robot.constraint_forces(np.zeros(3), v, np.ones(3))
    assert "mine" not in forces.wrenches and "mine: no wrenches are known; generalized force" in str(forces)
    close(forces.generalized["mine"], forces.tau)
    along = [robot.jacobian(np.zeros(3), f"link{i}")[:, i] @ forces.joints[f"link{i}"] for i in range(3)]
    close(along, 1.0 + forces.tau)  # they act as forces of the joints


def test_forces_print_the_body_and_the_constraint():
    robot, q, v, tau, t = moving("distance to the world")
    said = str(robot.constraint_forces(q, v, tau, t=t))
    assert "rod on link2: (" in said and "rod on the world: (" in said and "joint of link0: (" in said


def test_a_weight_on_a_rod_pulls_with_its_weight():
    b = lw.Builder("hanging", gravity=(0, 0, -10.0))
    b.body("load", None, (0, 0, -2), lw.Free(), **solids.sphere(2.0, 0.1))
    b.distance("rod", None, "load", 2.0)
    robot = lw.Dynamics(b.model(), compiled=False)
    forces = robot.constraint_forces(robot.neutral(), np.zeros(6), np.zeros(6))
    close(forces.wrenches["rod"]["load"], [0, 0, 0, 0, 0, 20.0])
    close(forces.wrenches["rod"][None], [0, 0, 0, 0, 0, -20.0])


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", ["four_bar", "drive", "coupling"])
def test_each_sample_of_a_batch_is_that_of_a_call(name, compiled):
    """Batches, a sample that is NaN, float32, out= and t, of all that was made for loops."""
    robot, q, v, tau, t = moving(name)
    robot = lw.Dynamics(robot.model, compiled=compiled)
    vdot = robot.forward_dynamics(q, v, tau, t=t)
    Q, V, A, T = (np.stack([x, x, x]) for x in (q, v, vdot, tau))
    Q[1] = np.nan
    flags = np.eye(robot.nv, dtype=bool)[0]
    calls = {
        "joint_wrenches": (lambda q, v, a, f, **k: robot.joint_wrenches(q, v, a, *robot.bodies, t=t, **k)),
        "motor_forces": (lambda q, v, a, f, **k: robot.motor_forces(q, v, a, t=t, **k)),
        "hybrid_dynamics": (lambda q, v, a, f, **k: robot.hybrid_dynamics(q, v, np.where(flags, a, f), flags, t=t, **k)),
    }
    for call in calls.values():
        one, many = call(q, v, vdot, tau), call(Q, V, A, T)
        close(many[0], one, one, 1e-12)
        close(many[2], one, one, 1e-12)
        assert np.isnan(many[1]).all()
        out = np.zeros_like(many)
        assert call(Q, V, A, T, out=out) is out
        np.testing.assert_array_equal(out, many)
        single = call(*(x.astype(np.float32) for x in (q, v, vdot, tau)))
        assert single.dtype == np.float32
        close(single, one, one, 2e-3)


def test_a_coupled_part_of_a_joint_moves_no_body_of_its_own():
    """The first axis of a universal joint: a generalized force, and no wrench on a body."""
    b = lw.Builder("wrist").body("hand", joint=lw.Universal(), **PIN).body("finger", "hand", (0.2, 0, 0), lw.Revolute(), **PIN)
    robot = lw.Dynamics(b.couple("finger_joint", "hand_joint.1", (0.0, 2.0), "tendon").model(), compiled=False)
    forces = robot.constraint_forces(np.zeros(3), np.zeros(3), np.array([1.0, 0.0, 0.0]))
    assert not forces.wrenches
    close(forces.generalized["tendon"] * [1, 0, 2], [-2 * forces.lam[0], 0, 2 * forces.lam[0]], forces.lam)


def test_wheels_and_edges_say_in_whose_axes_they_slip():
    roll, edge = moving("roll")[0], moving("knife edge")[0]
    assert set(roll.constraints.set.constraints[0].labels) == {"wheel slips along x of the world", "wheel slips along y of the world"}
    assert edge.constraints.set.constraints[0].labels == ("wheel slips along (0.287, 0.958, 0) of wheel",)


def test_every_body_has_the_wrench_that_carries_it():
    """A body that is welded on a loop, or to the world, is carried by what it is fixed to: as `joint_wrenches` has it."""
    b = lw.Builder("four bar", gravity=(0, -9.81, 0))
    b.body("plinth", mass=3.0, tensor=(1, 1, 1))
    b.body("crank", "plinth", None, lw.Revolute(), **rod(1.0)).body("coupler", "crank", (1, 0, 0), lw.Revolute(), **rod(2.0))
    b.body("camera", "coupler", (0.5, 0.1, 0), lw.Fixed(), mass=0.4, tensor=(0.01, 0.01, 0.01))
    b.body("rocker", None, (2.2, 0, 0), lw.Revolute(), **rod(1.5))
    b.loop("pin", "coupler", "rocker", lw.Revolute(), at=(2, 0, 0), on=(1.5, 0, 0))
    robot = lw.Dynamics(b.model(), compiled=False)
    q, v = robot.constraints.project(robot.assemble([1.0, -0.7, 1.4]), np.array([0.5, 0.1, 0.2]))
    tau = np.array([3.0, 0.0, 0.0])
    forces = robot.constraint_forces(q, v, tau)
    assert [*forces.joints] == robot.bodies
    close(np.array([*forces.joints.values()]), robot.joint_wrenches(q, v, forces.vdot, tau=tau), forces.lam)
    close(forces.joints["plinth"][3:], robot.pose(q, "crank")[:3, :3] @ forces.joints["crank"][3:] + [0, 3.0 * 9.81, 0], forces.lam)
