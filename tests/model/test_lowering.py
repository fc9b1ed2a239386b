"""From bodies and joints to nodes."""

from functools import partial

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import mechanism
from linkwork.model.mechanisms import NAMES
from linkwork.spatial import inertia, phi
from linkwork.systems import lower

plain = partial(lw.Dynamics, compiled=False)  # what is tested here is the model


def welded():
    rig = lw.Builder("rig")
    rig.body("base", mass=5.0)
    solid = {"mass": 1.0, "center": (0.1, 0, 0), "tensor": (0.1, 0.2, 0.15)}
    rig.body("arm", "base", (0, 0, 1), lw.Revolute(axis=(1, 2, 3)), **solid)
    rig.body("hand", "arm", lw.Pose.rpy((1, 0, 0), (0.1, 0.2, 0.3)), mass=0.5, center=(0, 0.1, 0))
    rig.body("finger", "hand", (0.2, 0, 0), mass=0.1)
    rig.body("wheel", "hand", (0, 1, 0), lw.Revolute(), mass=2.0)
    return rig.model()


def test_bodies_welded_together_are_one_node():
    nodes = lower(welded())
    assert nodes.on == (-1, 0, 0, 0, 1)
    assert nodes.tree.parent == (-1, 0)
    assert nodes.labels == ("arm_joint", "wheel_joint")


def test_a_node_has_the_inertia_of_all_its_bodies():
    """M(node) = Σ φ M(body) φ*, the shifts from the placements."""
    model, nodes = welded(), lower(welded())
    total = sum(
        phi(nodes.placements[i].matrix)
        @ inertia(np.array(body.mass), np.array(body.center), np.array(body.tensor))
        @ phi(nodes.placements[i].matrix).T
        for i, body in enumerate(model.bodies)
        if nodes.on[i] == 0
    )
    assert np.allclose(nodes.M[0], total)
    assert np.isclose(nodes.M[0][5, 5], 1.6)


def test_a_compound_joint_is_several_nodes_all_but_the_last_without_mass():
    nodes = lower(mechanism("cable:2"))
    assert nodes.tree.parent == (-1, 0, 1, 2)
    assert nodes.on == (1, 3)
    assert [bool(M.any()) for M in nodes.M] == [False, True, False, True]


def test_a_joint_map_is_rows_of_the_identity_or_a_screw():
    """H is constant: the node's z is the joint's axis."""
    for group, H in zip(lower(mechanism("joint_zoo")).groups, lower(mechanism("joint_zoo")).H):
        assert np.array_equal(H, group.basis)


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_q_and_v_fill_the_vectors(name):
    model = mechanism(name)
    nodes = lower(model)
    assert nodes.nq == sum(placed.joint.nq for placed in model.joints)
    assert nodes.tree.nv == sum(placed.joint.nv for placed in model.joints)
    assert [rows.start for rows in nodes.q_rows[1:]] == [rows.stop for rows in nodes.q_rows[:-1]]


@pytest.mark.parametrize("name", NAMES)
def test_splitting_gives_the_same_parents_modulo_virtual_nodes(name):
    plain, split = lower(mechanism(name)), lower(mechanism(name), split=True)
    real = [k for k, group in enumerate(split.groups) if group.nv]
    number = {k: i for i, k in enumerate(real)} | {-1: -1}

    def above(k):
        k = split.tree.parent[k]
        while k >= 0 and k not in number:
            k = split.tree.parent[k]
        return number[k]

    assert tuple(map(above, real)) == plain.tree.parent
    assert tuple(number[k] for k in split.on) == plain.on
    assert [split.groups[k] for k in real] == list(plain.groups)
    assert all(not M.any() for k, M in enumerate(split.M) if k not in number)


@pytest.mark.parametrize("name", NAMES)
def test_the_fixed_poses_of_split_nodes_multiply_to_those_of_the_plain_ones(name):
    """Where lengths may vary, frames stay as they are."""
    plain, split = lower(mechanism(name)), lower(mechanism(name), split=True, lengths=True)
    T, products = np.eye(4), []
    for fixed, group in zip(split.fixed, split.groups):
        T = T @ fixed
        if group.nv:
            products.append(T)
            T = np.eye(4)
    assert np.allclose(products, plain.fixed)


def test_a_body_on_its_node_and_the_node_at_rest_give_the_pose_of_the_body():
    """pose(body) at neutral is the product of fixed poses down to its node, times its placement there."""
    model = mechanism("joint_zoo")
    robot, nodes = plain(model), lower(model)
    world = {-1: np.eye(4)}
    for k, p in enumerate(nodes.tree.parent):
        world[k] = world[p] @ nodes.fixed[k]
    placed = [world[k] @ place.matrix for k, place in zip(nodes.on, nodes.placements)]
    assert np.allclose(robot.poses(robot.neutral()), placed)


def test_constants_can_be_replaced_one_by_one():
    nodes = lower(mechanism("double_pendulum"))
    heavier = nodes.mapped(lambda name, i, x: 2 * x if name == "mass" and i == 1 else x)
    assert [float(m) for m in heavier.mass] == [1.0, 2.0]
    assert heavier.M[1][5, 5] == 2.0
    assert nodes.M[1][5, 5] == 1.0
