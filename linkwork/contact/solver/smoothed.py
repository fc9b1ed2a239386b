"""Coulomb's problem with complementarity relaxed: a smooth neighbour, whose forces begin before bodies touch.

On the central path of the interior point, in its variables x = (λ_n, λ_t/μ) and y = (u_n + μ|u_t|, μ u_t),

    y = G x + b + σ(y_t) e_n,    x∘y = κ e,    κ = s²/G_nn,    σ(y) = |y|²/√(|y|² + κ)

s is a velocity. A contact without friction has λ_n u_n = s²/G_nn: in a step that ends at a gap d, the force of an acceleration s²/d, as
from the potential −s² log d. As s tends to zero the solution tends to that of the problem itself: by O(s²) where each contact is
strictly open, stuck or sliding, by O(s) where one is not.
"""

import numpy as np

from ...lie.iteration import iterate
from ...lie.scalars import like, still
from ...spatial.lu import solve
from .cone import blocks, flat, mean_compliance, nonzero, norm, speed, spread, times
from .interior import LEAST_THETA, LESS, THETA, Scaling, lorentz, product, reach

BACK = 0.9  # of the way to the boundary of the cones
WARM = 0.1  # of what is typical of a problem: how far a warm start is moved into the cones
SHORT = 0.03  # a step below that is a jam
LEAST_FRICTION = 1e-6


class SmoothedProblem:
    """G, b and κ in the variables of the cones."""

    def __init__(self, G, b, mu, smoothing: float):
        root = still(np.sqrt(nonzero(mean_compliance(G))))
        mu = np.maximum(mu, LEAST_FRICTION)
        self.d, self.m = flat(np.stack([root, root, root], -1)), flat(np.stack([np.ones_like(mu), mu, mu], -1))
        per = self.m / self.d
        self.G, self.b = G * per[..., :, None] * per[..., None, :], b * per
        self.en = like([1.0, 0.0, 0.0], b)
        self.kappa = smoothing * smoothing / nonzero(blocks(np.diagonal(G, axis1=-2, axis2=-1))[..., 0])
        self.size = (speed(still(self.b)) + still(np.sqrt(self.kappa)).max(-1))[..., None, None]

    def inverse(self, x):
        """y with x∘y = κ e."""
        return self.kappa[..., None] * (x * like([1.0, -1.0, -1.0], x)) / lorentz(x)[..., None]

    def equation(self, x, y):
        """G x + b + σ(y_t) e_n − y, zero in a solution."""
        square = (y[..., 1:] * y[..., 1:]).sum(-1)
        return blocks(times(self.G, flat(x)) + self.b) + (square / np.sqrt(square + self.kappa))[..., None] * self.en - y

    def slope(self, y, theta):
        """N = 1 − θ e_n ∂σ/∂y."""
        square = (y[..., 1:] * y[..., 1:]).sum(-1)
        more = square + self.kappa
        factor = theta[..., None] * (more + self.kappa) / (more * np.sqrt(more))
        return like(np.eye(3), y) - self.en[:, None] * (factor[..., None] * y * like([0.0, 1.0, 1.0], y))[..., None, :]

    def left(self, x, y):
        """How far from a solution, relative to the velocities of the problem."""
        r, c = np.abs(self.equation(x, y)).max((-1, -2)), np.abs(product(x, y) - self.kappa[..., None] * self.en)
        size = self.size[..., 0, 0]
        worst = np.maximum(r / size, (c.max(-1) / self.kappa * np.minimum(1.0, np.sqrt(self.kappa) / size[..., None])).max(-1))
        return np.where(worst >= 0, worst, np.inf)

    def force(self, x):
        return flat(x) * self.m / self.d

    def of_force(self, force):
        return blocks(force * self.d / self.m)


def smoothed(G, b, mu, force, smoothing: float, most: int, tolerance: float):
    """λ of the relaxed problem, how far it is from a solution, and the rounds, one loop; from near the λ of a similar problem."""
    p = SmoothedProblem(G, b, mu, smoothing)
    x = p.of_force(force)
    x = x + (np.maximum(norm(x[..., 1:]) - x[..., 0], 0.0)[..., None] + WARM * p.size) * p.en
    y = blocks(times(p.G, flat(x)) + p.b)
    y = y + (np.maximum(2 * norm(y[..., 1:]) - y[..., 0], 0.0)[..., None] + WARM * p.size) * p.en

    def step(x, y, theta):
        x, y, theta = one_round(p, x, y, theta)
        return x, y, theta, p.left(x, y) <= tolerance

    (x, y, _), rounds = iterate(step, (x, y, THETA + 0.0 * p.kappa[..., 0]), most)
    return p.force(x), p.left(x, y), rounds


def one_round(p: SmoothedProblem, x, y, theta):
    """A step of Newton's method in the scaling of Nesterov and Todd, towards the path, and along it to κ. θ is how much of ∂σ/∂y it
    takes: less after a jam, as in `interior`."""
    en, size = p.en, p.size
    scaling = Scaling(x, y, size)
    mid, direction = scaling.mid, scaling.directions(p.G, p.slope(y, theta), p.equation(x, y))
    far = (x * y).sum((-1, -2)) / p.kappa.sum(-1)
    dx, dy = direction(-product(mid, mid))
    a = np.minimum(np.minimum(reach(x, dx), reach(y, dy)), 1.0)[..., None, None]
    ratio = ((x + a * dx) * (y + a * dy)).sum((-1, -2)) / nonzero((x * y).sum((-1, -2)))
    further = np.minimum(np.maximum(ratio * ratio * ratio, 0.05), 1.0) * far
    target = p.kappa * np.maximum(further, 1.0)[..., None]
    near = (further <= 1.0)[..., None, None]  # the corrector is for long steps
    more = np.where(near, 0.0, a) * scaling.second_order(dx, dy)
    dx, dy = direction(target[..., None] * en - product(mid, mid) - more)
    a = np.minimum(BACK * np.minimum(reach(x, dx), reach(y, dy)), 1.0)[..., None, None]
    good = inside(x + a * dx) & inside(y + a * dy)  # not where a number is none
    x, y = (np.where(good[..., None, None], z + a * dz, z) for z, dz in ((x, dx), (y, dy)))
    jam = (a < SHORT) | ~good[..., None, None]
    x, y = (np.where(jam, z + 0.01 * np.abs(z).max((-1, -2), keepdims=True) * en, z) for z in (x, y))
    return x, y, np.where(jam[..., 0, 0], np.where(theta < LEAST_THETA, THETA, theta - LESS), theta)


def inside(x):
    """Are all contacts in the interior of their cones?"""
    return ((x[..., 0] > 0) & (lorentz(x) > 0)).all(-1)


def implicit_smoothed(G, b, mu, force, smoothing: float):
    """λ after one whole Newton step on the equation of x alone, with the derivative of the implicit function theorem:

        y = κ x⁻¹,    (G + N P(y)/κ) δx = −∂(G x + b + σ(y_t) e_n − y),    P(y) = 2 y y* − (y_n² − |y_t|²) diag(1, −1, −1)
    """
    p = SmoothedProblem(G, b, mu, smoothing)
    x = still(p.of_force(force))
    y = p.inverse(x)
    P = 2 * y[..., :, None] * y[..., None, :] - lorentz(y)[..., None, None] * like(np.diag([1.0, -1.0, -1.0]), y)
    K = still(p.G + spread(p.slope(y, np.ones_like(p.kappa[..., 0])) @ (P / p.kappa[..., None, None])))
    scale = still(1 / np.sqrt(np.abs(np.diagonal(K, axis1=-2, axis2=-1)) + 1e-30))
    K = K * scale[..., :, None] * scale[..., None, :]
    change = scale * solve(K, (scale * flat(p.equation(x, y)))[..., None])[..., 0]
    return p.force(x - blocks(change))


def residual_smoothed(G, b, mu, force, smoothing: float):
    """How far λ is from a solution of the relaxed problem; infinite outside of the cones."""
    p = SmoothedProblem(G, b, mu, smoothing)
    x = p.of_force(force)
    return np.where(inside(x), p.left(x, p.inverse(x)), np.inf)
