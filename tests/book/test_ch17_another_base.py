"""Jain, section 17.4: any body of a free mechanism may be its root.

S is the model as it is, R the same one with another root; v_R = J_RG v_S, and J_GR is the way back.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from zoo import MECHANISMS, close, grown, plain, spread, state
from zoo.mechanisms import JOINTS, named

import linkwork as lw
from linkwork.model import solids

MODELS = Path(__file__).parents[1] / "models"
FREE = "free", "floating", "massless"


def two_arms() -> lw.Model:
    """A satellite with two arms of three joints each."""
    craft = lw.Builder("two_arms", gravity=(0.0, 0.0, 0.0))
    craft.body("bus", joint=lw.Free(), **solids.box(50.0, (1.0, 0.8, 0.6)))
    for side, y in (("left", 0.4), ("right", -0.4)):
        parent, at = "bus", (0.3, y, 0.1)
        for i, axis in enumerate(((0, 0, 1), (0, 1, 0), (0.3, 1, 0))):
            craft.body(f"{side}{i}", parent, at, lw.Revolute(axis=axis, armature=0.1 * i), **solids.rod(3.0 - i, (0.6, 0, 0.1 * i)))
            parent, at = f"{side}{i}", (0.6, 0, 0.1 * i)
    return craft.model()


def all_joints(joint: lw.Joint) -> lw.Model:
    """A free body that carries two of a kind, one on the other, frames and inertias at random."""
    return grown(joint.kind, [(None, lw.Free()), (0, joint), (1, joint), (0, lw.Revolute())], seed=11)


CRAFT = {name: MECHANISMS[name] for name in FREE} | {"two arms": two_arms()}
CRAFT |= {f"with {name} joints": all_joints(joint) for name, joint in JOINTS.items()}
every_craft = pytest.mark.parametrize("model", CRAFT.values(), ids=CRAFT)


def pairs(model):
    """The robot, and for each body the robot whose root it is."""
    robot = plain(model)
    return robot, {body.name: plain(model.rebased(body.name)) for body in model.bodies}


def J_RG(robot, q, body):
    """v_R for each unit of v_S."""
    return robot.rebase(q[..., None, :], np.eye(robot.nv), body)[1].mT


@every_craft
def test_bodies_are_where_they_were_and_move_as_they_did(model):
    """V_S = φ_R* H_R* v_R (lemma 17.2)."""
    robot, others = pairs(model)
    s = state(robot, (2,))
    for body, other in others.items():
        q, v = robot.rebase(s.q, s.v, body)
        order = [other.bodies.index(name) for name in robot.bodies]
        assert other.model.joints[0].child == body
        close(other.poses(q)[..., order, :, :], robot.poses(s.q), 1e-12)
        close(other.ask("body_velocities", q, v)[..., order, :], robot.ask("body_velocities", s.q, s.v), 1e-12)


@every_craft
def test_mass_matrices_are_those_of_the_same_mechanism(model):
    """𝓜 = J_RG* 𝓜_new J_RG, and the kinetic energy is the same (exercise 17.5)."""
    robot, others = pairs(model)
    s = state(robot, (2,))
    for body, other in others.items():
        (q, v), J = robot.rebase(s.q, s.v, body), J_RG(robot, s.q, body)
        close(J.mT @ other.mass_matrix(q) @ J, robot.mass_matrix(s.q), 1e-11)
        close(other.kinetic_energy(q, v), robot.kinetic_energy(s.q, s.v), 1e-11)
        close(other.potential_energy(q), robot.potential_energy(s.q), 1e-11)


@every_craft
def test_the_way_back_is_the_inverse(model):
    """J_GR J_RG = I (exercise 17.4), and states come back."""
    robot, others = pairs(model)
    s = state(robot, (2,))
    root = model.bodies[0].name
    for body, other in others.items():
        q, v = robot.rebase(s.q, s.v, body)
        again, rates = other.rebase(q, v, root)
        close(robot.poses(again), robot.poses(s.q), 1e-12)
        close(rates, s.v, 1e-12)
        close(J_RG(other, q, root) @ J_RG(robot, s.q, body), np.eye(robot.nv), 1e-12)


@every_craft
def test_the_map_of_velocities(model):
    """J_RG = S_RG + e_R e_k* φ_S* H_S*: the new base has the velocity of its body, joints keep theirs or change place (lemma 17.2)."""
    robot = plain(model)
    s = state(robot)
    for body in robot.bodies:
        J, other = J_RG(robot, s.q, body), plain(model.rebased(body))
        on = lw.spatial.phi(model.joints[0].on.matrix).T
        close(J[:6], on @ robot.jacobian(s.q, body), 1e-12)
        for joint in (x for x in model.joints[1:] if x.joint.nv == 1):
            close(J[other.v_index(joint.name)], np.eye(robot.nv)[robot.v_index(joint.name)])


@every_craft
def test_rebased_twice_is_the_identity(model):
    root = model.bodies[0].name
    for body in model.bodies:
        again = model.rebased(body.name).rebased(root)
        assert [x.name for x in again.joints] == [x.name for x in model.joints]
        if not any(isinstance(x.joint, lw.Compound) for x in model.joints):
            assert again == model
        q, _ = plain(model).random_state(seed=4)
        close(plain(again).poses(q), plain(model).poses(q), 1e-12)


@every_craft
def test_forces_make_the_same_motion(model):
    """v̇_R = J_RG v̇_S + J̊_RG v_S under τ_S = J_RG* τ_R: bodies accelerate alike, whichever is the root."""
    robot, others = pairs(model)
    s = state(robot, (2,))
    vdot = robot.forward_dynamics(s.q, s.v, s.tau, s.external)
    expected = robot.ask("body_accelerations", s.q, s.v, vdot)
    for body, other in others.items():
        (q, v), J = robot.rebase(s.q, s.v, body), J_RG(robot, s.q, body)
        order = [other.bodies.index(name) for name in robot.bodies]
        tau = robot.rebase_force(s.q, s.tau, body)
        close(np.vecmat(tau, J), s.tau, 1e-11)
        external = np.empty_like(s.external)
        external[..., order, :] = s.external
        found = other.ask("body_accelerations", q, v, other.forward_dynamics(q, v, tau, external))
        close(found[..., order, :], expected, 1e-9)


ROBOTS = {
    "two arms": two_arms,
    "anymal_c": lambda: lw.load(MODELS / "anymal_c" / "anymal_c.urdf", floating=True),
    "talos_reduced": lambda: lw.load(next((MODELS / "talos_reduced").glob("*.urdf")), floating=True),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::linkwork.errors.ModelWarning")
@pytest.mark.parametrize("name", ROBOTS)
def test_joint_accelerations_of_real_robots_do_not_depend_on_the_base(name):
    """Forward dynamics from every possible base, to 1e-9 of the largest."""
    model = ROBOTS[name]()
    robot = plain(model)
    s = state(robot)
    s.tau[:6] = 0.0
    joints = [x.name for x in model.joints if x.joint.nv == 1]
    expected = robot.forward_dynamics(s.q, s.v, s.tau)
    for body in robot.bodies:
        other = plain(model.rebased(body))
        q, v = robot.rebase(s.q, s.v, body)
        tau = np.zeros(robot.nv)
        for joint in joints:
            tau[other.v_index(joint)] = s.tau[robot.v_index(joint)]
        found = other.forward_dynamics(q, v, tau)
        for joint in joints:
            assert abs(found[other.v_index(joint)] - expected[robot.v_index(joint)]) < 1e-9 * np.abs(expected).max()


# --- files


def test_a_rebased_model_in_the_world_frame(tmp_path):
    """lw.save to .json, which keeps the order of joints and their armature."""
    model = two_arms().rebased("right1")
    lw.save(model, tmp_path / "other.json")
    robot, again = plain(model), plain(lw.load(tmp_path / "other.json"))
    q, _ = robot.random_state(seed=3)
    close(again.mass_matrix(q), robot.mass_matrix(q), 1e-11)


@pytest.mark.filterwarnings("ignore:two_arms has bodies in an order")
@pytest.mark.parametrize("body", ["left2", "right0", "bus"])
def test_rebased_twice_through_urdf_is_the_same_mechanism(body, tmp_path):
    model = two_arms()
    model = replace(model, joints=tuple(replace(x, joint=replace(x.joint, armature=0.0)) for x in model.joints))
    lw.save(model.rebased(body), tmp_path / "other.urdf")
    other = lw.load(tmp_path / "other.urdf", gravity=(0, 0, 0))
    lw.save(other.rebased("bus"), tmp_path / "again.urdf")
    again = plain(lw.load(tmp_path / "again.urdf", gravity=(0, 0, 0)))
    robot = plain(model)
    q, v = robot.random_state(seed=1)
    there, rates, columns = again.neutral(), np.zeros(again.nv), []
    for joint in [x.name for x in model.joints]:
        there[again.q_index(joint)], rates[again.v_index(joint)] = q[robot.q_index(joint)], v[robot.v_index(joint)]
        columns += list(range(*again.v_index(joint).indices(again.nv)))
    close(again.mass_matrix(there)[np.ix_(columns, columns)], robot.mass_matrix(q), 1e-12)
    for name in robot.bodies:
        close(again.pose(there, name), robot.pose(q, name), 1e-12)


def test_what_is_on_the_bodies_is_kept():
    """Visuals, frames, loops, couplings, springs and limits are as they were."""
    tool = lw.Spring("line", "left0", "right0", stiffness=3.0)
    model = two_arms().with_frame("tool", "left2", (0.1, 0, 0)).with_forces(tool)
    model = replace(
        model,
        loops=(lw.Loop("grasp", "left2", "right2", lw.Spherical()),),
        couplings=(lw.Coupling("gear", "left1_joint", "left0_joint", (0.1, 2.0)),),
    )
    other = model.rebased("left2")
    for what in ("frames", "loops", "couplings", "forces", "gravity"):
        assert getattr(other, what) == getattr(model, what)
    assert {x.name: x for x in other.bodies} == {x.name: x for x in model.bodies}
    assert model.joint("left1_joint").joint.axis == (0, 1, 0)
    assert other.joint("left1_joint").joint == replace(model.joint("left1_joint").joint, axis=(0, -1, 0))


def test_loops_and_couplings_hold_from_every_base():
    model = lw.load("intelsat")
    robot, other = plain(model), plain(model.rebased("north_panel2"))
    q, v = robot.random_state(seed=2)
    q = robot.assemble(q)
    q, v = robot.constraints.project(q, v)
    there, rates = robot.rebase(q, v, "north_panel2")
    assert other.constraint_report(there).mobility == robot.constraint_report(q).mobility
    tau = np.zeros(robot.nv)
    a = robot.ask("body_accelerations", q, v, robot.forward_dynamics(q, v, tau))
    b = other.ask("body_accelerations", there, rates, other.forward_dynamics(there, rates, tau))
    close(b[[other.bodies.index(x) for x in robot.bodies]], a, 1e-9)


# --- welded to the world


def test_a_mechanism_that_is_welded_is_held_by_its_new_root():
    """Its bodies stand to each other as they did; `at` says where the new root is."""
    model = MECHANISMS["welded"]
    robot, at = plain(model), spread(np.random.default_rng(1))
    s = state(robot, (2,))
    for body in robot.bodies:
        other = plain(model.rebased(body, at=at))
        q, v = robot.rebase(s.q, s.v, body)
        root, T = robot.pose(s.q, body), other.pose(q, body)
        for name in robot.bodies:
            close(np.linalg.solve(T, other.pose(q, name)), np.linalg.solve(root, robot.pose(s.q, name)), 1e-12)
        close(other.rebase(q, v, robot.bodies[0])[1], s.v, 1e-12)
        assert model.rebased(body).rebased(robot.bodies[0]) == model


# --- what is refused


def test_a_root_on_a_joint_of_the_world_is_refused():
    with pytest.raises(lw.ModelError, match="takes a root that is free or welded"):
        MECHANISMS["chain"].rebased("body3")


def test_numbers_of_single_directions_that_turn_with_a_joint_are_refused():
    def model(joint):
        return grown("odd", [(None, lw.Free()), (0, joint)], seed=1)

    for joint, what in (
        (lw.Spherical(damping=(1.0, 2.0, 3.0)), "damping"),
        (lw.Spherical(friction=0.1), "friction"),
        (lw.Planar(armature=0.2), "armature"),
        (lw.Spherical(stiffness=(1.0, 2.0, 3.0), rest=(0.5, 0.5, 0.5, 0.5)), "stiffness"),
        (lw.Planar(lower=(-1.0, -1.0, -1.0)), "lower"),
        (lw.Spherical(effort=3.0), "effort"),
    ):
        with pytest.raises(lw.ModelError, match=f'joint "joint1" cannot be drawn from "body1" to "body0": .* has {what}'):
            model(joint).rebased("body1")
    for joint in (lw.Spherical(damping=0.3, armature=0.2, stiffness=2.0, rest=(0.5, 0.5, 0.5, 0.5)), lw.Planar(damping=(0.2, 0.0, 0.0))):
        robot = plain(model(joint))
        s, other = state(robot), plain(robot.model.rebased("body1"))
        (q, v), J = robot.rebase(s.q, s.v, "body1"), J_RG(robot, s.q, "body1")
        close(J.T @ other.passive_force(q, v), robot.passive_force(s.q, s.v), 1e-12)
        close(J.T @ other.mass_matrix(q) @ J, robot.mass_matrix(s.q), 1e-12)


def test_limits_are_those_of_the_reversed_coordinate():
    model = grown("slides", [(None, lw.Free()), (0, lw.Translation(lower=(-1, -2, -3), upper=(4, 5, 6)))])
    joint = model.rebased("body1").joint("joint1").joint
    assert joint.lower == (-4, -5, -6)
    assert joint.upper == (1, 2, 3)


def test_couplings_of_coordinates_that_become_others_are_refused():
    model = grown("tied", named((None, "free"), (0, "translation"), (1, "revolute")))
    model = replace(model, constraints=(lw.constraints.Driven("drive", "joint1", lambda t: 0.0),))
    assert model.rebased("body0") == model
    with pytest.raises(lw.ModelError, match='constraint "drive" is about coordinates of joint "joint1"'):
        model.rebased("body1")


def test_springs_of_the_base_and_ties_to_the_world_are_refused():
    sprung = grown("sprung", [(None, lw.Free(damping=0.1)), (0, lw.Revolute())])
    with pytest.raises(lw.ModelError, match=r"Make it a plain lw.Free\(\)"):
        sprung.rebased("body1")
    tied = MECHANISMS["welded"].with_forces(lw.Spring("line", None, "body2", stiffness=1.0))
    with pytest.raises(lw.ModelError, match='tied to it by spring "line" too'):
        tied.rebased("body2")
