"""The derivative of a solution, by the implicit function theorem: one whole Newton step from a λ that is constant."""

import numpy as np

from ...lie.scalars import like, rounding, still
from ..cone import blocks, flat, spread
from ..problem import AsContacts, Problem
from .interior import Cones, balanced, inside, lorentz
from .newton import EPS


def implicit(p: Problem, force, smoothing: float = 0.0):
    """The solution near a λ, with its derivative by all that the problem is made of; the λ itself where no better one is near."""
    if smoothing:
        q = AsContacts(p)
        finer, better = _smoothed(Cones(q.G, q.b, q.mu, smoothing), q.force(force))
        return _nearer(q.own(finer), better, force)
    finer = newton_step(p, force)
    return _nearer(finer, p.residual(finer) <= p.residual(force), force)


def _nearer(finer, better, force):
    return still(np.where(better[..., None], finer, force)) + (finer - still(finer))


def newton_step(p: Problem, force):
    """λ after one whole Newton step, which hardly changes a solution but gives it the derivative of the implicit function theorem:

        dλ = −(1 − D + D ρ G)⁻¹ ∂F,    whatever derivative the λ has that it starts from
    """
    force = still(force)
    u = p.velocities(force)
    known, eps = p.still, np.maximum(EPS, np.sqrt(rounding(force)))
    return force + known.compliance.step(known, still(u), force, p.natural(u, force), eps)


def _smoothed(p: Cones, force):
    """λ after one whole Newton step on the equation of x alone, and whether it is better:

        y = κ x⁻¹,    (G + N P(y)/κ) δx = −∂(G x + b + σ(y_t) e_n − y),    P(y) = 2 y y* − (y_n² − |y_t|²) diag(1, −1, −1)
    """
    x = still(p.of_force(force))
    y = p.inverse(x)
    P = 2 * y[..., :, None] * y[..., None, :] - lorentz(y)[..., None, None] * like(np.diag([1.0, -1.0, -1.0]), y)
    K = still(p.G + spread(p.slope(y, np.ones_like(p.kappa[..., 0])) @ (P / p.kappa[..., None, None])))
    finer = p.force(x - blocks(balanced(K)(flat(p.equation(x, y)))))
    return finer, _left(p, finer) <= _left(p, force)


def _left(p: Cones, force):
    """How far λ is from a solution of the smoothed problem; infinite outside of the cones."""
    x = p.of_force(force)
    return np.where(inside(x), p.left(x, p.inverse(x)), np.inf)
