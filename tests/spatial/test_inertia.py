"""Spatial inertia: there and back, and what a body may be."""

import numpy as np
import pytest

from linkwork.errors import ShapeError
from linkwork.lie import so3
from linkwork.spatial import (
    homogeneous,
    inertia,
    inertia_parameters,
    is_physical,
    kinetic_energy,
    momentum,
    parallel_axis,
    phi,
    point_masses,
)


@pytest.fixture(params=[(), (4,), (2, 3)], ids=str)
def body(request, rng):
    """Mass, centre and tensor."""
    A = rng.standard_normal((*request.param, 3, 3))
    return rng.uniform(1, 2, request.param) * np.ones(()), rng.standard_normal((*request.param, 3)), A @ A.mT


def test_parameters_come_back_from_the_matrix(body):
    for there, back in zip(body, inertia_parameters(inertia(*body))):
        assert np.allclose(there, back)


def test_a_massless_tensor_comes_back_too():
    J = np.diag([1.0, 2.0, 3.0])
    mass, center, tensor = inertia_parameters(inertia(np.array(0.0), np.zeros(3), J))
    assert mass == 0.0
    assert not center.any()
    assert np.array_equal(tensor, J)


def test_three_principal_moments_are_a_diagonal_tensor():
    """Lists and plain numbers are arrays; anything else but (3,) and (..., 3, 3) is refused."""
    assert np.array_equal(inertia(2.0, [0, 0, 1], [1, 2, 3]), inertia(np.array(2.0), np.array([0.0, 0, 1]), np.diag([1.0, 2, 3])))
    assert np.array_equal(parallel_axis([1, 2, 3], 2, [0, 0, 1]), np.diag([3.0, 4, 3]))
    with pytest.raises(ShapeError, match=r"tensor has shape \(4, 3\)"):
        inertia(np.ones(4), np.zeros((4, 3)), np.ones((4, 3)))


def test_the_matrix_is_symmetric_and_positive(body):
    M = inertia(*body)
    assert np.allclose(M, M.mT)
    assert (np.linalg.eigvalsh(M) > 0).all()


def test_a_shifted_inertia_is_that_of_the_body_moved(body, rng):
    """φ M φ* has the centre R c + p and the tensor R J R*."""
    mass, center, tensor = body
    R, p = so3.rotation_matrix(rng.standard_normal(4)), rng.standard_normal(3)
    shift = phi(homogeneous(R, p))
    moved = inertia_parameters(shift @ inertia(*body) @ shift.mT)
    assert np.allclose(moved[0], mass)
    assert np.allclose(moved[1], center @ R.T + p)
    assert np.allclose(moved[2], R @ tensor @ R.T)


def test_the_parallel_axis_theorem_is_the_upper_left_block(rng):
    A, p = rng.standard_normal((3, 3)), rng.standard_normal(3)
    M = inertia(np.array(1.3), p, A @ A.T)
    assert np.allclose(M[:3, :3], parallel_axis(A @ A.T, 1.3, p))


def test_bodies_put_together_add(rng):
    """The sum of inertias is that of all particles together."""
    m, p = rng.uniform(1, 2, 9), rng.standard_normal((9, 3))
    assert np.allclose(point_masses(m[:4], p[:4]) + point_masses(m[4:], p[4:]), point_masses(m, p))


def test_energy_and_momentum_of_particles_are_theirs(rng):
    """½ V* M V = Σ ½ mᵢ |vᵢ|² and h = [Σ pᵢ × mᵢ vᵢ; Σ mᵢ vᵢ]."""
    m, p, V = rng.uniform(1, 2, 9), rng.standard_normal((9, 3)), rng.standard_normal(6)
    v = V[3:] + np.cross(V[:3], p)
    M = point_masses(m, p)
    assert np.isclose(kinetic_energy(M, V[:, None]), 0.5 * m @ (v * v).sum(-1))
    assert np.allclose(momentum(M, V[:, None])[:, 0], [*(m @ np.cross(p, v)), *(m @ v)])


@pytest.mark.parametrize(
    ("moments", "real"),
    [
        ((1, 1, 1), True),
        ((1, 1, 2), True),
        ((1, 1, 2.1), False),
        ((0, 1, 1), True),
        ((0, 0, 0), True),
        ((-0.1, 1, 1), False),
    ],
)
def test_the_largest_moment_may_not_exceed_the_sum_of_the_others(moments, real, rng):
    R = so3.rotation_matrix(rng.standard_normal(4))
    assert is_physical(1.0, R @ np.diag(moments) @ R.T) is real
    assert is_physical(1.0, 1e-24 * R @ np.diag(moments) @ R.T) is real


def test_a_negative_mass_is_not_physical():
    assert not is_physical(-1.0, np.eye(3))
