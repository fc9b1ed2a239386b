"""The derivative of a solution, by the implicit function theorem: one whole Newton step from a λ that is constant."""

import numpy as np

from ...lie.scalars import like, rounding, still
from .cone import blocks, flat, residual, scaled, spread
from .interior import Cones, balanced, inside, lorentz
from .newton import EPS, alart_curnier, times_solve


def implicit(G, b, mu, force, smoothing: float = 0.0):
    """The solution near a λ, with its derivative by G, b and μ; the λ itself where no better one is near."""
    step, left = (smooth_step, smooth_residual) if smoothing else (step_of_newton, residual_of)
    finer = step(G, b, mu, force, smoothing)
    better = left(G, b, mu, finer, smoothing) <= left(G, b, mu, force, smoothing)
    return still(np.where(better[..., None], finer, force)) + (finer - still(finer))


def residual_of(G, b, mu, force, _):
    return residual(G, b, mu, force)


def step_of_newton(G, b, mu, force, _):
    """λ after one whole Newton step, which hardly changes a solution but gives it the derivative of the implicit function theorem:

        dλ = −(1 − D + D G)⁻¹ ∂F,    whatever derivative the λ has that it starts from
    """
    d = still(scaled(G, b)[2])
    G, b, x = G / (d[..., :, None] * d[..., None, :]), b / d, still(force * d)
    F, D = alart_curnier(G, b, mu, x)
    D = spread(D)
    loose = np.maximum(EPS, np.sqrt(rounding(x)))[..., None, None]
    return (x - times_solve(still((1 + loose) * like(np.eye(G.shape[-1]), G) - D + D @ G), F)) / d


def smooth_step(G, b, mu, force, smoothing: float):
    """λ after one whole Newton step on the equation of x alone:

        y = κ x⁻¹,    (G + N P(y)/κ) δx = −∂(G x + b + σ(y_t) e_n − y),    P(y) = 2 y y* − (y_n² − |y_t|²) diag(1, −1, −1)
    """
    p = Cones(G, b, mu, smoothing)
    x = still(p.of_force(force))
    y = p.inverse(x)
    P = 2 * y[..., :, None] * y[..., None, :] - lorentz(y)[..., None, None] * like(np.diag([1.0, -1.0, -1.0]), y)
    K = still(p.G + spread(p.slope(y, np.ones_like(p.kappa[..., 0])) @ (P / p.kappa[..., None, None])))
    return p.force(x - blocks(balanced(K)(flat(p.equation(x, y)))))


def smooth_residual(G, b, mu, force, smoothing: float):
    """How far λ is from a solution of the smoothed problem; infinite outside of the cones."""
    p = Cones(G, b, mu, smoothing)
    x = p.of_force(force)
    return np.where(inside(x), p.left(x, p.inverse(x)), np.inf)
