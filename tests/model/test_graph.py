"""Müller and Terze, 2.1: the graph of a mechanism, its spanning tree and cotree, fundamental loops, orientation."""

import numpy as np
import pytest
from zoo import MECHANISMS, close, plain, spread
from zoo.mechanisms import solid

import linkwork as lw
from linkwork.model import Graph
from linkwork.model.graph import reversed_coordinates, reversed_joint

PIN = lw.Revolute(axis=(0, 1, 0))


def drawn(*edges, joint=PIN):
    """A graph of (name, parent, child), frames and inertias at random."""
    rng = np.random.default_rng(0)
    names = dict.fromkeys(end for _, *ends in edges for end in ends if end is not None)
    bodies = tuple(lw.Body(name, **solid(rng)) for name in names)
    return Graph("drawn", bodies, tuple(lw.PlacedJoint(n, p, c, joint, spread(rng), spread(rng)) for n, p, c in edges))


FOUR_BAR = ("a", None, "crank"), ("b", "crank", "coupler"), ("c", "rocker", "coupler"), ("d", None, "rocker")
TWO_LOOPS = (*FOUR_BAR, ("e", "coupler", "tail"), ("f", "tail", None), ("g", "crank", "flag"))


@pytest.mark.parametrize(("edges", "loops"), [(FOUR_BAR, 1), (TWO_LOOPS, 2), (TWO_LOOPS[:4] + TWO_LOOPS[6:], 1)])
def test_there_are_as_many_loops_as_joints_more_than_bodies(edges, loops):
    """γ = m - N, the nullity of the incidence matrix."""
    graph = drawn(*edges)
    assert len(graph.cotree()) == loops == len(graph.joints) - len(graph.bodies)
    assert np.linalg.matrix_rank(graph.incidence) == len(graph.bodies)


def test_a_fundamental_loop_is_in_the_kernel_of_the_incidence_matrix():
    """Signed sums of its joints begin where they end."""
    graph = drawn(*TWO_LOOPS)
    index = {joint.name: i for i, joint in enumerate(graph.joints)}
    loops = np.zeros((len(graph.joints), 2), int)
    for column, loop in enumerate(graph.fundamental_loops().values()):
        for name, sign in loop:
            loops[index[name], column] = sign
    assert not (graph.incidence @ loops).any()
    assert np.linalg.matrix_rank(loops) == 2
    for name, loop in graph.fundamental_loops().items():
        assert loop[0] == (name, 1)
        assert sum(joint.name in dict(loop) for joint in graph.cotree()) == 1  # each has one cut joint


def test_the_tree_has_a_joint_for_each_body_and_the_cut_can_be_chosen():
    graph = drawn(*FOUR_BAR)
    assert {body: joint.name for body, joint in graph.spanning_tree().items()} == {"crank": "a", "rocker": "d", "coupler": "b"}
    assert [joint.name for joint in graph.cotree(cut=["a"])] == ["a"]
    assert graph.orientation(cut=["a"]) == {"d": 1, "c": 1, "b": -1}
    assert graph.fundamental_loops(cut=["b"]) == {"b": (("b", 1), ("c", -1), ("d", -1), ("a", 1))}


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name not in ("fixed", "planar 2R", "geared")])
def test_a_joint_drawn_against_the_tree_gives_the_same_motion(name):
    """Every joint turned round: the same poses, mass matrix and forces at the coordinates as they are drawn."""
    model = MECHANISMS[name]
    graph = Graph("turned", model.bodies, tuple(map(reversed_joint, model.joints)), model.gravity)
    assert set(graph.orientation().values()) == {-1}
    one, other = plain(model), plain(graph.model())
    q, _ = one.random_state(seed=3)
    parts, start = {}, 0
    for placed in model.joints:  # the turned joint stands at the inverse of q
        parts[placed.name] = reversed_coordinates(placed.joint, q[start : start + placed.joint.nq])
        start += placed.joint.nq
    again = graph.coordinates(parts)
    order = [other.bodies.index(body) for body in one.bodies]
    close(other.poses(again)[order], one.poses(q), 1e-12)
    close(other.potential_energy(again), one.potential_energy(q), 1e-12)


def test_about_one_axis_the_coordinate_is_the_same_one():
    graph = drawn(("a", "arm", None), ("b", "arm", "hand"))
    model = graph.model()
    assert [(placed.parent, placed.child) for placed in model.joints] == [(None, "arm"), ("arm", "hand")]
    assert model.joint("a").joint.axis == (0, -1, 0)
    robot = plain(model)
    arm = graph.joints[0].on.matrix @ np.linalg.inv(turn(0.3)) @ np.linalg.inv(graph.joints[0].at.matrix)
    close(robot.pose(np.array([0.3, 0.7]), "arm"), arm)


def turn(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0, s, 0], [0, 1, 0, 0], [-s, 0, c, 0], [0, 0, 0, 1]])


def test_the_model_of_a_graph_closes_its_loops():
    model = drawn(*FOUR_BAR).model()
    assert [(loop.name, loop.parent, loop.child) for loop in model.loops] == [("c", "rocker", "coupler")]
    assert [joint.name for joint in Graph.of(model).cotree(cut=["c"])] == ["c"]
    graph = drawn(*TWO_LOOPS)
    assert {loop.name for loop in graph.model(cut=["f", "c"]).loops} == {"f", "c"}


def test_graphs_that_are_none():
    with pytest.raises(lw.ModelError, match='joint "x" begins and ends at "a"'):
        drawn(("x", "a", "a"))
    with pytest.raises(lw.ModelError, match="no joint connects b, c to the world"):
        drawn(("x", None, "a"), ("y", "b", "c")).model()
    with pytest.raises(lw.ModelError, match='no joint "z" to cut'):
        drawn(*FOUR_BAR).cotree(cut=["z"])
    with pytest.raises(lw.ModelError, match=r'joint "x" ends at "b", which is no body'):
        Graph("odd", (lw.Body("a"),), (lw.PlacedJoint("x", None, "b", PIN),))
