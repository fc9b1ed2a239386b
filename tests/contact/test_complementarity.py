"""lw.lcp against enumeration of all cases: every row at its lower bound, at its upper bound, or in between."""

from itertools import product

import numpy as np
import pytest

import linkwork as lw


def enumerated(M, q, lo, hi, tolerance=1e-9):
    """All w of solutions of one problem (M positive semidefinite: w is unique), or None if there is none."""
    n = len(q)
    for case in product((0, 1, 2), repeat=n):
        case = np.array(case)
        if (np.isinf(lo) & (case == 0)).any() or (np.isinf(hi) & (case == 1)).any():
            continue
        z = np.where(case == 0, lo, np.where(case == 1, hi, 0.0))
        rows = case == 2
        block = M[np.ix_(rows, rows)]
        if rows.any():
            z[rows] = np.linalg.lstsq(block, -(q + M @ z)[rows], rcond=1e-10)[0]
        w = M @ z + q
        scale = tolerance * (1 + np.abs(q).max() + np.abs(w).max())
        inside = (z >= lo - tolerance).all() and (z <= hi + tolerance).all()
        if inside and (w[case == 0] >= -scale).all() and (w[case == 1] <= scale).all() and (np.abs(w[rows]) <= scale).all():
            return w
    return None


def complementary(M, q, lo, hi, found, tolerance=1e-8):
    """Do the conditions hold, in every sample?"""
    z, w = found.z, found.w
    scale = tolerance * (1 + np.abs(q).max(-1, keepdims=True))
    sides = (w >= -scale) | (z == hi)
    sides &= (w <= scale) | (z == lo)
    return ((z >= lo) & (z <= hi) & sides).all(-1) & (np.abs((M @ z[..., None])[..., 0] + q - w) <= scale).all(-1)


def matrices(rng, kind, count, n):
    rank = n if kind == "definite" else max(1, n - 2)
    A = rng.standard_normal((count, n, rank))
    if kind == "degenerate":  # repeated rows, zero rows, whole numbers: ties everywhere
        A = rng.integers(-1, 2, (count, n, rank)).astype(float)
    M = A @ A.mT
    return M + (0.1 * np.eye(n) if kind == "definite" else 0.0)


def bounds(rng, kind, shape):
    lo, hi = np.zeros(shape), np.full(shape, np.inf)
    if kind == "boxes":
        lo, hi = -rng.integers(0, 3, shape).astype(float), rng.integers(0, 3, shape).astype(float)
    if kind == "mixed":
        pick = rng.integers(0, 4, shape)
        lo = np.where(pick == 0, 0.0, np.where(pick == 1, -np.inf, -1.0))
        hi = np.where(pick == 0, np.inf, np.where(pick == 1, 0.5, np.where(pick == 2, 1.0, np.inf)))
    return lo, hi


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("bounded", ["one-sided", "boxes", "mixed"])
@pytest.mark.parametrize("kind", ["definite", "semidefinite", "degenerate"])
def test_a_solution_is_found_wherever_there_is_one(kind, bounded, n):
    """w of enumeration, which is unique for M = M* ≥ 0; no solution where enumeration has none."""
    rng, count = np.random.default_rng(n), 40 if n < 6 else 8
    M, q = matrices(rng, kind, count, n), rng.standard_normal((count, n))
    if kind == "degenerate":
        q = rng.integers(-2, 3, (count, n)).astype(float)
    lo, hi = bounds(rng, bounded, (count, n))
    found = lw.lcp(M, q, lo, hi)
    expected = [enumerated(*problem) for problem in zip(M, q, lo, hi)]
    assert found.solved.tolist() == [w is not None for w in expected]
    np.testing.assert_allclose(found.w[found.solved], np.array([w for w in expected if w is not None]).reshape(-1, n), atol=1e-7)
    assert complementary(M, q, lo, hi, found)[found.solved].all() and np.isnan(found.z[~found.solved]).all()


@pytest.mark.parametrize("kind", ["definite", "semidefinite", "degenerate"])
def test_many_at_once_are_the_same_as_one_by_one(kind):
    """To the bit, and for n = 20 too, where z₀ ≥ 0 with M z₀ + q ≥ 0 says that there is a solution."""
    rng = np.random.default_rng(1)
    M = matrices(rng, kind, 200, 20)
    z = np.maximum(rng.standard_normal((200, 20)), 0)
    q = np.maximum(rng.standard_normal((200, 20)), 0) - (M @ z[..., None])[..., 0]
    found = lw.lcp(M, q)
    assert found.solved.all() and complementary(M, q, 0.0, np.inf, found).all()
    for k in range(0, 200, 20):
        for one, all_ in zip(lw.lcp(M[k], q[k]), found):
            np.testing.assert_array_equal(one, all_[k])


def test_a_problem_without_solution_says_so():
    """w = −1 whatever z is, and w₁ = −w₂ − 1."""
    for M, q in (([[0.0]], [-1.0]), ([[1.0, -1.0], [-1.0, 1.0]], [-1.0, 0.0])):
        found = lw.lcp(M, q)
        assert not found.solved and np.isnan(found.z).all() and np.isnan(found.w).all()


def test_a_matrix_need_not_be_symmetric():
    """Polyhedral friction: Lemke's method solves copositive problems, here one with 1000 random loads."""
    rng = np.random.default_rng(2)
    A = rng.standard_normal((3, 3))
    A = A @ A.T + np.eye(3)
    J = np.array([[1, 0, 0], [0, 1, 0], [0, -1, 0]])  # the normal, and both directions of a tangent
    M = np.zeros((4, 4))
    M[:3, :3], M[1:3, 3], M[3, :3] = J @ A @ J.T, 1.0, [0.5, -1, -1]
    q = np.concatenate([rng.standard_normal((1000, 3)), np.zeros((1000, 1))], -1)
    q[:, 2] = -q[:, 1]
    found = lw.lcp(M, q)
    assert found.solved.all() and complementary(M, q, 0.0, np.inf, found).all()


def test_rows_without_bounds_are_equations_and_rows_with_one_value_are_known():
    rng = np.random.default_rng(3)
    M, q = matrices(rng, "definite", 1, 4)[0], rng.standard_normal(4)
    found = lw.lcp(M, q, [-np.inf, 0.3, 0.0, -np.inf], [np.inf, 0.3, np.inf, np.inf])
    assert found.solved and found.z[1] == 0.3
    np.testing.assert_allclose((M @ found.z + q)[[0, 3]], 0, atol=1e-12)
    np.testing.assert_allclose(lw.lcp(M, q, -np.inf).z, np.linalg.solve(M, -q), rtol=1e-10)


def test_scales_do_not_matter():
    """z → D z, w → D⁻¹ w with D from 1e-8 to 1e8."""
    rng = np.random.default_rng(4)
    M, q, d = matrices(rng, "definite", 50, 5), rng.standard_normal((50, 5)), 10.0 ** rng.uniform(-8, 8, (50, 5))
    plain, scaled = lw.lcp(M, q), lw.lcp(M / d[:, :, None] / d[:, None, :], q / d)
    np.testing.assert_array_equal(plain.between, scaled.between)
    np.testing.assert_allclose(scaled.z / d, plain.z, rtol=1e-6, atol=1e-12)


def test_what_is_no_problem_is_refused():
    with pytest.raises(lw.ShapeError, match="lcp takes M"):
        lw.lcp(np.eye(3), np.zeros(2))
    with pytest.raises(lw.ShapeError, match="lo must be at most hi"):
        lw.lcp(np.eye(2), np.zeros(2), 1.0, 0.0)
    found = lw.lcp(np.stack([np.eye(2)] * 2), np.array([[np.nan, 0.0], [-1.0, 1.0]], np.float32))
    assert found.solved.tolist() == [False, True] and found.z.tolist()[1] == [1.0, 0.0]
    assert lw.lcp(np.zeros((0, 0)), np.zeros(0)).solved
    assert lw.lcp(np.eye(2, dtype=np.float32), np.ones(2, np.float32)).z.dtype == np.float32
