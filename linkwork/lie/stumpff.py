"""Stumpff functions: the coefficients in exp, log and dexp of rigid motions, without a special case at zero."""

from math import factorial

import numpy as np

NEAR  = 10.0  # above π²: the series serves every angle that log returns
TERMS = 13    # of the series; for x < NEAR the first term left out is below 1e-17 of the sum


def stumpff(x):
    """c₀(x) ... c₆(x) for x = θ² ≥ 0.

        cₙ(x) = Σ (-x)ᵏ / (2k + n)!          c₀ = cos θ,  c₁ = sin θ / θ
        cₙ(x) = 1/n! - x cₙ₊₂(x)             Stiefel and Scheifele, Linear and Regular Celestial Mechanics

    Below NEAR: the series of c₅, c₆ and the recurrence downwards; above: sine, cosine and the recurrence upwards.
    """
    near  = x < NEAR
    small = np.where(near, x, 0.0)
    large = np.where(near, NEAR, x)
    return tuple(np.where(near, a, b) for a, b in zip(_downwards(small), _upwards(large)))


def _downwards(x):
    c5, c6 = _series(5, x), _series(6, x)
    c4, c3 = 1 / 24 - x * c6, 1 / 6 - x * c5
    c2, c1 = 1 / 2 - x * c4, 1 - x * c3
    return 1 - x * c2, c1, c2, c3, c4, c5, c6


def _upwards(x):
    angle  = np.sqrt(x)
    c0, c1 = np.cos(angle), np.sin(angle) / angle
    c2, c3 = (1 - c0) / x, (1 - c1) / x
    c4, c5 = (1 / 2 - c2) / x, (1 / 6 - c3) / x
    return c0, c1, c2, c3, c4, c5, (1 / 24 - c4) / x


def _series(n, x):
    """Σ (-x)ᵏ / (2k + n)!, by Horner's rule."""
    total = 1 / factorial(2 * TERMS - 2 + n)
    for k in reversed(range(TERMS - 1)):
        total = 1 / factorial(2 * k + n) - x * total
    return total
