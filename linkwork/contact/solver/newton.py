"""Newton's method on Coulomb's problem, from near its solution, and the derivative of a solution."""

import numpy as np

from ...lie.iteration import iterate
from ...lie.scalars import like
from ...spatial.lu import solve
from .cone import blocks, flat, in_disc, nonzero, norm, scaled, spread, times

EPS = 1e-10  # of the diagonal: forces that a redundant problem leaves open stay where they are


def alart_curnier(G, b, mu, force):
    """F(λ) = λ − Π(λ − u), Π on [0, ∞) and on the disc of radius μ Π_n, zero in a solution; and D = dΠ, (..., n, 3, 3).

    For G with a diagonal of about 1. D is 0 where a contact is open, 1 where it sticks.
    """
    L = blocks(force)
    z = L - blocks(times(G, force) + b)
    tangent, normal = z[..., 1:], np.maximum(z[..., 0], 0.0)
    t, r = norm(tangent), mu * normal
    e = tangent / nonzero(t)[..., None]
    F = L - np.concatenate([normal[..., None], in_disc(tangent, r)], -1)
    closed, slides = (z[..., 0] > 0)[..., None, None], (t > r)[..., None, None]
    two, one = like(np.eye(2), G), like(np.eye(3), G)
    turning = (r / nonzero(t))[..., None, None] * (two - e[..., :, None] * e[..., None, :])
    lower = np.concatenate([(mu[..., None] * e)[..., None], turning], -1)
    upper = np.broadcast_to(like([[1.0, 0.0, 0.0]], G), (*lower.shape[:-2], 1, 3))
    return flat(F), np.where(closed, np.where(slides, np.concatenate([upper, lower], -2), one), 0.0)


def newton_step(G, b, mu, force, halvings: int = 6):
    """One step (1 − D + D G) Δλ = −F, shortened until |F| falls; the old λ where no length of it is better."""
    return newton(G, b, mu, force, 1, halvings=halvings)[0]


def newton(G, b, mu, force, most: int, tolerance: float = 0.0, halvings: int = 6):
    """λ after Newton steps, at most so many, and the steps: until |F| is below a tolerance, relative to b, or falls no more."""
    G, b, d = scaled(G, b)
    one, small = like(np.eye(G.shape[-1]), G), tolerance * norm(b)
    x = force * d

    def step(x):
        F, D = alart_curnier(G, b, mu, x)
        D, least = spread(D), norm(F)
        change = -times_solve((1 + EPS) * one - D + D @ G, F)

        def shorter(length, trial):
            trial = x + length[..., None] * change
            better = norm(alart_curnier(G, b, mu, trial)[0]) < least
            return length / 2, np.where(better[..., None], trial, x), better

        (_, new), tried = iterate(shorter, (np.ones_like(least), x), halvings)
        return new, (least <= small) | (tried > halvings)

    x, rounds = iterate(step, x, most)
    return x / d, rounds


def times_solve(A, x):
    return solve(A, x[..., None])[..., 0]


def sensitivity(G, b, mu, force):
    """∂λ/∂b of a solved problem where its contacts are strictly open, stuck or sliding (implicit function theorem):

        ∂λ/∂b = −(1 − D + D G)⁻¹ D,    ∂u/∂b = 1 + G ∂λ/∂b

    Where G is singular it is meant for changes of b in the range of G.
    """
    G, b, d = scaled(G, b)
    D = spread(alart_curnier(G, b, mu, force * d)[1])
    return -solve((1 + EPS) * like(np.eye(G.shape[-1]), G) - D + D @ G, D) / (d[..., :, None] * d[..., None, :])
