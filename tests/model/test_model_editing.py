"""Other models from a model: with a tool, a payload, another model; locked, floating, renumbered."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import mechanism, solids

plain = partial(lw.Dynamics, compiled=False)  # what is tested here is the model

ROBOT = plain(mechanism("joint_zoo"))


def test_a_frame_stands_on_a_body_or_on_another_frame(rng):
    model = mechanism("arm_6r").with_frame("tip", "tool", (0, 0, 0.2)).with_frame("side", "link6", (0.1, 0, 0))
    robot = plain(model)
    q, _ = robot.random_state(seed=0)
    assert np.allclose(robot.pose(q, "tip"), robot.pose(q, "tool") @ lw.Pose.of((0, 0, 0.2)).matrix)
    assert np.allclose(robot.pose(q, "side"), robot.pose(q, "link6") @ lw.Pose.of((0.1, 0, 0)).matrix)


def test_a_payload_adds_its_inertia_seen_through_the_jacobian():
    """𝓜' = 𝓜 + J* M J, J the Jacobian of the frame the payload is welded to."""
    arm = mechanism("arm_6r")
    payload = lw.Body("crate", 4.0, (0.1, 0, 0.2), (0.1, 0.2, 0.15))
    bare, laden = plain(arm), plain(arm.with_payload("tool", payload))
    q, _ = bare.random_state(seed=1)
    J = bare.jacobian(q, "tool")
    M = lw.spatial.inertia(np.array(4.0), np.array(payload.center), np.array(payload.tensor))
    assert np.allclose(laden.mass_matrix(q), bare.mass_matrix(q) + J.T @ M @ J)
    assert np.allclose(laden.pose(q, "crate"), bare.pose(q, "tool"))


def test_a_model_on_a_model_moves_with_what_carries_it():
    both = mechanism("cartpole").with_model("cart", mechanism("arm_6r"), (0, 0, 0.1), prefix="arm_")
    robot, cart, arm = map(plain, (both, mechanism("cartpole"), mechanism("arm_6r")))
    q, _ = robot.random_state(seed=2)
    own = [q[..., robot.q_index(f"arm_joint{i}")][0] for i in range(1, 7)]
    carried = cart.pose(q[:2], "cart") @ lw.Pose.of((0, 0, 0.1)).matrix
    assert np.allclose(robot.pose(q, "arm_tool"), carried @ arm.pose(np.array(own), "tool"))


def test_two_models_stand_side_by_side_on_the_world():
    arm = mechanism("planar_2r")
    pair = arm.with_model(None, arm, (0, 0, 1), prefix="other_")
    robot, one = plain(pair), plain(arm)
    q = np.array([0.1, 0.2, 0.3, 0.4])
    M = robot.mass_matrix(q)
    assert pair.children(None) == ("link1", "other_link1")
    assert np.allclose(M[:2, :2], one.mass_matrix(q[:2]))
    assert np.allclose(M[2:, 2:], one.mass_matrix(q[2:]))
    assert not M[:2, 2:].any()


def test_loops_and_couplings_come_along_with_a_model():
    part = lw.Builder("p").body("a", joint=lw.Revolute(), mass=1.0).body("b", "a", joint=lw.Revolute(), mass=1.0)
    part.loop("ring", None, "b", lw.Spherical(), at=(1, 0, 0)).couple("b_joint", "a_joint")
    both = mechanism("pendulum").with_model("link1", part.model(), (0, 2, 0), prefix="x_")
    assert (both.loops[0].name, both.loops[0].parent, both.loops[0].child) == ("x_ring", "link1", "x_b")
    assert both.loops[0].at.translation == (1.0, 2.0, 0.0)
    assert (both.couplings[0].joint, both.couplings[0].of) == ("x_b_joint", "x_a_joint")


def test_what_is_on_a_part_of_a_joint_comes_along_with_a_model():
    """Parts of two equal joints answer to the joint's name and their own."""
    part = lw.Builder("p").body("a", joint=lw.Universal(names=("x", "y")), mass=1.0, tensor=(1, 1, 1))
    model = part.body("b", joint=lw.Revolute(), mass=1.0, tensor=(1, 1, 1)).couple("b_joint", "x", (0.0, 2.0)).model()
    both = model.with_model(None, model, (0, 0, 1), prefix="other_")
    assert (both.couplings[1].joint, both.couplings[1].of) == ("other_b_joint", "other_a_joint.x")
    rows = plain(both).constraints.jacobian(np.zeros(6))
    assert np.array_equal(rows[1, 3:], plain(model).constraints.jacobian(np.zeros(3))[0]) and not rows[1, :3].any()


@pytest.mark.parametrize("joint", [placed.name for placed in ROBOT.model.joints if placed.joint.nv])
def test_locking_a_joint_keeps_every_pose(joint):
    q, _ = ROBOT.random_state(seed=3)
    rows = ROBOT.q_index(joint)
    locked = plain(ROBOT.model.locked({joint: q[rows]}))
    assert np.allclose(locked.poses(np.delete(q, rows)), ROBOT.poses(q))


@pytest.mark.parametrize("joint", [placed.name for placed in ROBOT.model.joints if placed.joint.nv])
def test_locking_a_joint_leaves_the_other_rows_and_columns_of_the_mass_matrix(joint):
    q, _ = ROBOT.random_state(seed=4)
    rows, gone = ROBOT.q_index(joint), ROBOT.v_index(joint)
    locked = plain(ROBOT.model.locked({joint: q[rows]}))
    left = np.delete(np.delete(ROBOT.mass_matrix(q), gone, 0), gone, 1)
    assert np.allclose(locked.mass_matrix(np.delete(q, rows)), left)


def test_one_number_locks_a_joint_of_one_coordinate_or_sets_all():
    arm = mechanism("planar_3r").locked({"joint2": np.pi / 2})
    assert [placed.joint.nv for placed in arm.joints] == [1, 0, 1]
    tool = plain(arm).pose(np.zeros(2), "tool")
    assert np.allclose(tool[:3, 3], (1.0, 2.0, 0.0))
    assert plain(ROBOT.model.locked({"puck_planar": 0.0})).nv == ROBOT.nv - 3


def test_locking_drops_couplings_that_were_not_active():
    model = mechanism("planar_2r")
    coupled = lw.Model(
        "x", model.bodies, model.joints, couplings=(lw.Coupling("c", "joint1", "joint2", active=False),)
    )
    assert coupled.locked({"joint1": 0.0}).couplings == ()


def test_a_welded_root_can_be_set_floating():
    """The free joint's coordinates are the pose of the root in the world."""
    robot = plain(lw.Builder("x").body("base", at=(1, 0, 0), **solids.sphere(1.0, 0.1)).model().floating())
    assert robot.joints == ["floating_base"]
    q = np.array([0.5, 0.5, 0.5, 0.5, 1.0, 2.0, 3.0])
    assert np.allclose(robot.pose(q, "base"), lw.Pose((1, 1, 1, 1), (1, 2, 3)).matrix)


def test_renumbering_permutes_the_mass_matrix():
    model = mechanism("satellite")
    other = model.renumbered([body.name for body in reversed(model.bodies)])
    one, two = plain(model), plain(other)
    assert other.children("bus") == ("right_yoke", "left_yoke")
    q, _ = one.random_state(seed=5)
    p = np.concatenate([q[one.q_index(joint)] for joint in two.joints])
    order = np.concatenate([np.arange(one.nv)[one.v_index(joint)] for joint in two.joints])
    assert np.allclose(two.mass_matrix(p), one.mass_matrix(q)[np.ix_(order, order)])


def test_gravity_can_be_changed():
    moon = mechanism("pendulum").with_gravity((0, 0, -1.62))
    q = np.array([0.3])
    earth = plain(mechanism("pendulum")).gravity_force(q)
    assert np.allclose(plain(moon).gravity_force(q), earth * 1.62 / 9.81)


def test_a_note_of_two_models_that_are_joined_is_told_once():
    model = replace(lw.load("pendulum"), notes=("its meshes are missing",))
    for k in range(3):
        model = model.with_model(None, replace(lw.load("pendulum"), notes=("its meshes are missing",)), prefix=f"p{k}_")
    assert model.notes == ("its meshes are missing",)
