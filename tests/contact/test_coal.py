"""Gaps beside the distances of coal, on random poses."""

import numpy as np
import pytest
from test_contact_points import ITERATED, KINDS, SECOND, SIZES, near, two_bodies

import linkwork as lw

coal = pytest.importorskip("coal")
GEOMETRY = {
    "sphere": coal.Sphere, "capsule": coal.Capsule, "ellipsoid": coal.Ellipsoid, "cylinder": coal.Cylinder, "box": coal.Box,
    "plane": lambda: coal.Halfspace(0.0, 0.0, 1.0, 0.0),
}  # fmt: skip


def distances(model, T, kinds, tolerance=1e-6):
    """Signed distances of the two shapes at these poses of the bodies."""
    one, other = GEOMETRY[kinds[0]](*SIZES[kinds[0]]), GEOMETRY[kinds[1]](*SECOND.get(kinds[1], SIZES[kinds[1]]))
    places = [T[:, i] @ model.bodies[i].collisions[0].pose.matrix for i in (0, 1)]
    request, found = coal.DistanceRequest(), []
    request.enable_signed_distance, request.gjk_tolerance = True, tolerance
    for A, B in zip(*places):
        a, b = (coal.Transform3s(X[:3, :3], X[:3, 3]) for X in (A, B))
        found.append(coal.distance(one, a, other, b, request, coal.DistanceResult()))
    return np.array(found)


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_the_least_gap_is_the_distance(kinds, count=600):
    """min over the points of a pair = distance; where shapes overlap a little, the depth, or up to a tenth more along another normal"""
    model = two_bodies(kinds)
    robot = lw.Dynamics(model, compiled=False)
    q, _ = near(robot, count, seed=5, spread=0.25)
    expected = distances(model, robot.poses(q), kinds)
    found = robot.contact_gaps(q).min(-1)
    apart, shallow = expected > 0, (expected < 0) & (expected > -0.02)
    assert 0.05 < apart.mean() < 0.9 and shallow.sum() > 5
    np.testing.assert_allclose(found[apart], expected[apart], atol=1e-6)  # to which coal iterates
    assert np.median(np.abs(found - expected)[apart]) < 1e-12
    assert (found[shallow] < expected[shallow] + 2e-9).all() and (found[shallow] > 1.1 * expected[shallow] - 2e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
def test_on_ten_thousand_poses(kinds):
    test_the_least_gap_is_the_distance(kinds, 10_000)


@pytest.mark.parametrize("kinds", ITERATED, ids="-".join)
@pytest.mark.parametrize("compiled", [False, True])
def test_gaps_that_are_iterated_are_distances_and_never_larger(kinds, compiled):
    """to 1e-6 of the size, plain and in kernels"""
    model = two_bodies(kinds)
    robot = lw.Dynamics(model, compiled=compiled)
    q, _ = near(robot, 300, seed=5, spread=0.4)
    expected = distances(model, robot.poses(q), kinds, tolerance=1e-9)
    apart = expected > 1e-3
    error = robot.contact_gaps(q)[apart].min(-1) - expected[apart]
    assert apart.sum() > 50 and error.min() > -3e-7 and error.max() < 3e-8


@pytest.mark.parametrize("kinds", ITERATED, ids="-".join)
def test_gaps_that_are_iterated_go_on_through_touch(kinds):
    """On the way of one centre to the other the first gap below zero is near to it, none where shapes are apart is."""
    robot = lw.Dynamics(two_bodies(kinds), compiled=True)
    q, _ = near(robot, 25, seed=7, spread=0.4)
    way = q[:, 4:7] - q[:, -3:]
    low, high, state = np.zeros(25), np.full(25, 3.0), q.copy()
    for _ in range(30):
        middle = (low + high) / 2
        state[:, 4:7] = q[:, -3:] + middle[:, None] * way
        closed = robot.contact_gaps(state).min(-1) < 0
        low, high = np.where(closed, middle, low), np.where(closed, high, middle)
    state[:, 4:7] = q[:, -3:] + low[:, None] * way
    assert low.max() > 0.1 and robot.contact_gaps(state).min() > -2e-4
