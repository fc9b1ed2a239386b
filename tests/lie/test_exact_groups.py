"""The closed forms against fifty digits, from angles of 1e-12 to the edge of π."""

from math import factorial

import mpmath
import numpy as np
import pytest

from linkwork.lie import CYLINDRICAL, SE2, SE3, SO3, Helical, X
from linkwork.lie.stumpff import stumpff

GROUPS = [SO3, SE2, SE3, X, CYLINDRICAL, Helical(0.3)]
ANGLES = [0.0, 1e-12, 1e-8, 1e-4, 1e-2, 1.0, 2.0, 3.0, np.pi - 1e-8]

exact = np.vectorize(mpmath.mpf, otypes=[object])


@pytest.fixture(autouse=True)
def fifty_digits():
    with mpmath.workdps(50):
        yield


def error(computed, truth):
    """Largest deviation, relative to the largest entry of the truth."""
    return float(np.abs(exact(computed) - truth).max() / max(1, np.abs(truth).max()))


def series(a, coefficient, terms=50):
    """Σ coefficient(k) aᵏ, by Horner's rule in many digits."""
    eye = exact(np.eye(len(a)))
    total = coefficient(terms) * eye
    for k in reversed(range(terms)):
        total = coefficient(k) * eye + a @ total
    return total


def at_angle(G, angle, rng):
    """A random ξ of the given angle, with a translation of a few metres."""
    xi = rng.normal(size=G.nv)
    turning = G.basis[:, :3].any(axis=1)
    xi[turning] *= angle / np.linalg.norm(xi[turning])
    return xi


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("G", GROUPS, ids=str)
def test_dexp_is_the_series_of_ad(G, angle, rng):
    """dexp = Σ (± ad)ᵏ / (k+1)!, + on the left and - on the right, and dexp⁻¹ is its inverse."""
    xi = at_angle(G, angle, rng)
    for side, sign in (("left", 1), ("right", -1)):
        truth = series(sign * exact(G.ad(xi)), lambda k: mpmath.mpf(1) / factorial(k + 1))
        assert error(G.dexp(xi, side=side), truth) < 3e-15
        assert error(truth @ exact(G.dexp_inverse(xi, side=side)), exact(np.eye(G.nv))) < 1e-14


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("G", [SO3, SE2, SE3, X], ids=str)
def test_exp_is_the_series_of_hat(G, angle, rng):
    xi = at_angle(G, angle, rng)
    truth = series(exact(G.hat(xi)), lambda k: mpmath.mpf(1) / factorial(k))
    assert error(G.matrix(G.exp(xi)), truth) < 3e-15


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("G", [SO3, SE2, SE3, X], ids=str)
def test_log_undoes_exp_up_to_the_edge_of_pi(G, angle, rng):
    xi = at_angle(G, angle, rng)
    np.testing.assert_allclose(G.log(G.exp(xi)), xi, rtol=0, atol=4e-15 * np.linalg.norm(xi))


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-162, 1e-160, 1e-20, 1e-12, 1e-8, 1e-4])
def test_log_of_a_small_rotation_keeps_all_digits(size):
    q = np.array([size, -2 * size, 0.5 * size, 1.0])
    np.testing.assert_allclose(SO3.log(q), true_log(q), rtol=1e-15)
    np.testing.assert_allclose(SO3.log(-q), true_log(q), rtol=1e-15)


@pytest.mark.parametrize("miss", [0.0, 1e-16, 1e-12, 1e-8, 1e-4, -1e-8, -1e-4])
def test_log_near_pi_keeps_all_digits(miss, rng):
    q = SO3.exp((np.pi - miss) * np.array([2.0, -3.0, 6.0]) / 7)
    np.testing.assert_allclose(SO3.log(q), true_log(q), rtol=1e-15)
    np.testing.assert_allclose(SO3.log(1.0000001 * q), true_log(q), rtol=1e-15)


def true_log(q):
    e, w = exact(q[:3]), mpmath.mpf(q[3])
    s = mpmath.sqrt(e @ e)
    return (e * (2 * mpmath.atan(s / w) / s if w else mpmath.pi / s)).astype(float)


@pytest.mark.parametrize("x", [0.0, 1e-300, 1e-16, 1e-4, 1.0, 4.0, 9.9, 9.9999, 10.0, 15.0, 39.0, 1e4])
def test_stumpff_functions_are_their_series(x):
    """cₙ(x) = Σ (-x)ᵏ/(2k+n)!, relative to the larger of cₙ and the first term over 1 + x (c₀ ... c₂ touch zero)."""
    with mpmath.workdps(150):
        for n, c in enumerate(stumpff(np.float64(x))):
            truth = sum((-mpmath.mpf(x)) ** k / mpmath.factorial(2 * k + n) for k in range(250))
            assert abs(c - truth) <= 3e-15 * max(abs(truth), 1 / factorial(n) / (1 + x))
