"""Tensors of uniform solids, against sums over many particles."""

import numpy as np
import pytest

from linkwork.model import Body, solids
from linkwork.spatial import inertia_parameters, is_physical, point_masses

AXIS = np.array([0.36, 0.48, -0.8])
CENTER = (0.1, -0.2, 0.3)


def inside(shape, points):
    """Which points, in the shape's own frame, are in it."""
    x, y, z = points.T
    match shape.kind, shape.size:
        case "box", (a, b, c):
            return (abs(x) < a / 2) & (abs(y) < b / 2) & (abs(z) < c / 2)
        case "sphere", (r,):
            return x * x + y * y + z * z < r * r
        case "ellipsoid", (a, b, c):
            return (x / a) ** 2 + (y / b) ** 2 + (z / c) ** 2 < 1
        case "cylinder", (r, l):
            return (x * x + y * y < r * r) & (abs(z) < l / 2)
        case "capsule", (r, l):
            return x * x + y * y + np.maximum(abs(z) - l / 2, 0) ** 2 < r * r


SOLIDS = {
    "box": solids.box(2.0, (0.3, 0.5, 0.8), CENTER),
    "sphere": solids.sphere(2.0, 0.4, CENTER),
    "ellipsoid": solids.ellipsoid(2.0, (0.3, 0.5, 0.4), CENTER),
    "cylinder": solids.cylinder(2.0, 0.3, 0.7, CENTER, AXIS),
    "capsule": solids.capsule(2.0, 0.25, tuple(CENTER + 0.3 * AXIS), tuple(CENTER - 0.3 * AXIS)),
}


@pytest.mark.parametrize("kind", SOLIDS)
def test_a_solid_is_the_limit_of_many_particles_inside_its_shape(kind):
    solid = SOLIDS[kind]
    (shape,) = solid["visuals"]
    ticks = (np.arange(80) + 0.5) / 80 * 2 - 1
    grid = np.stack(np.meshgrid(ticks, ticks, ticks), -1).reshape(-1, 3)
    points = grid[inside(shape, grid)] @ shape.pose.rotation.T + shape.pose.translation
    mass, center, tensor = inertia_parameters(point_masses(np.full(len(points), 2.0 / len(points)), points))
    assert np.allclose(solid["mass"], mass)
    assert np.allclose(solid["center"], center, atol=1e-3)
    assert np.allclose(solid["tensor"], tensor, rtol=5e-3, atol=5e-4)


def test_a_rod_is_a_thin_cylinder():
    rod, cylinder = solids.rod(3.0, tuple(0.8 * AXIS)), solids.cylinder(3.0, 1e-9, 0.8, 0.4 * AXIS, AXIS)
    assert np.allclose(rod["tensor"], cylinder["tensor"])
    assert np.allclose(rod["center"], cylinder["center"])


def test_two_halves_make_a_whole():
    left, right = solids.box(1.0, (1, 1, 1), (-0.5, 0, 0)), solids.box(1.0, (1, 1, 1), (0.5, 0, 0))
    whole, half = solids.box(2.0, (2, 1, 1)), solids.together(left, right)
    assert np.allclose(half["tensor"], whole["tensor"])
    assert half["center"] == whole["center"]
    assert len(half["visuals"]) == 2


def test_a_ball_is_an_ellipsoid_and_a_capsule_without_length_almost_a_ball():
    assert np.allclose(solids.ellipsoid(1.0, (0.3, 0.3, 0.3))["tensor"], solids.sphere(1.0, 0.3)["tensor"])
    assert np.allclose(solids.capsule(1.0, 0.3, (0, 0, 1e-9))["tensor"], solids.sphere(1.0, 0.3)["tensor"])


def test_particles_of_a_solid_have_no_tensor_of_their_own():
    dumbbell = solids.together(solids.point(1.0, (0, 0, 1)), solids.point(1.0, (0, 0, -1)))
    assert np.array_equal(dumbbell["tensor"], np.diag([2.0, 2.0, 0.0]))


@pytest.mark.parametrize("kind", SOLIDS)
def test_a_solid_is_what_a_body_takes_and_a_possible_one(kind):
    body = Body("x", **SOLIDS[kind])
    assert is_physical(body.mass, np.array(body.tensor))
