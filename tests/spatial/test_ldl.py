"""LDL* of small symmetric blocks."""

import numpy as np
import pytest

from linkwork.spatial import logdet, solve
from linkwork.spatial.ldl import factor

sizes = pytest.mark.parametrize("n", range(8))
batches = pytest.mark.parametrize("batch", [(), (5,), (2, 3)], ids=str)


def positive(rng, batch, n):
    A = rng.standard_normal((*batch, n, n))
    return A @ A.mT + np.eye(n)


@sizes
@batches
@pytest.mark.parametrize("m", [1, 4])
def test_solve_solves(rng, n, batch, m):
    """A⁻¹ B."""
    A, B = positive(rng, batch, n), rng.standard_normal((*batch, n, m))
    X = solve(A, B)
    assert X.shape == B.shape
    assert np.allclose(X, np.linalg.solve(A, B))


@sizes
def test_solve_broadcasts_batch_axes(rng, n):
    A, B = positive(rng, (3, 1), n), rng.standard_normal((4, n, 2))
    assert np.allclose(solve(A, B), np.linalg.solve(A, B[None]))


@sizes
@batches
def test_the_factors_multiply_to_the_matrix(rng, n, batch):
    """A = L diag(d) L* with a unit lower L and positive d."""
    A = positive(rng, batch, n)
    rows, d = factor(A)
    L = np.broadcast_to(np.eye(n), A.shape).copy()
    for i, row in enumerate(rows):
        for j, x in enumerate(row):
            L[..., i, j] = x[..., 0]
    D = np.stack([x[..., 0] for x in d], -1) if d else np.zeros((*batch, 0))
    assert (D > 0).all()
    assert np.allclose(L @ (D[..., None] * L.mT), A)


@sizes
@batches
def test_the_logarithm_of_the_determinant(rng, n, batch):
    """log det A = Σ log d."""
    A = positive(rng, batch, n)
    assert np.allclose(logdet(A), np.linalg.slogdet(A)[1])


def test_a_symmetric_matrix_that_is_not_positive_is_solved_too(rng):
    A = np.array([[1.0, 2.0], [2.0, -3.0]])
    assert np.allclose(solve(A, np.eye(2)), np.linalg.inv(A))


def test_float32_stays_float32(rng):
    A, B = positive(rng, (3,), 4).astype(np.float32), rng.standard_normal((3, 4, 1)).astype(np.float32)
    assert solve(A, B).dtype == np.float32
