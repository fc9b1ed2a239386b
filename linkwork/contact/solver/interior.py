"""An interior point method on Coulomb's problem itself, not on a convex neighbour of it.

In the variables x = (λ_n, λ_t/μ) and y = (u_n + μ|u_t|, μ u_t), both in the Lorentz cone, with x∘y = 0 (De Saxcé), a round is

    (G + N W²) Δx = N W d − r,    r = G x + b + |y_t| e_n − y,    N = 1 − θ e_n y_t*/|y_t|

with the scaling W of Nesterov and Todd, W x = W⁻¹ y, Mehrotra's corrector in d, and the derivative of De Saxcé's term in N. G, b, x, y are
in these variables and scaled by contact. A step below 0.03 is a jam: x and y then move towards the axes of their cones, and θ takes
another value. Without the term |y_t| e_n it is the convex problem of friction that is associated: ½ λ* G λ + b* λ least in the cones.
"""

import numpy as np

from ...lie.iteration import iterate
from ...lie.scalars import like
from ...spatial.lu import solve
from .cone import blocks, flat, nonzero, norm, residual, scaled, speed, spread, times

THETA, LEAST_THETA, LESS = 0.98, 0.6, 0.15
PROXIMAL = 1e-12  # of the diagonal of G
FLOOR = 1e-24  # of the squared velocity of a problem: complementarity smaller than that is zero
BACK = 0.9  # of the way to the boundary of the cones; less takes more rounds and solves more
SHIFT = 0.1  # of the velocity of a problem: how far a warm start is moved into the cones
LEAST_FRICTION = 1e-12


def lorentz(x):
    """x_n² − |x_t|², in the form that does not cancel."""
    t = norm(x[..., 1:])
    return (x[..., 0] - t) * (x[..., 0] + t)


def product(a, c):
    """Jordan's product a∘c."""
    return np.concatenate([(a * c).sum(-1)[..., None], a[..., :1] * c[..., 1:] + c[..., :1] * a[..., 1:]], -1)


def quotient(v, r):
    """x with v∘x = r."""
    n = (v[..., 0] * r[..., 0] - (v[..., 1:] * r[..., 1:]).sum(-1)) / nonzero(lorentz(v))
    return np.concatenate([n[..., None], (r[..., 1:] - n[..., None] * v[..., 1:]) / nonzero(v[..., :1])], -1)


def reach(x, dx):
    """How far along dx all contacts stay in their cones: up to the first root of lorentz(x + s dx), or to the tip, where it has a double
    root, which rounding may hide, if dx is along x."""
    a, c = dx[..., 0] ** 2 - (dx[..., 1:] ** 2).sum(-1), lorentz(x)
    h = x[..., 0] * dx[..., 0] - (x[..., 1:] * dx[..., 1:]).sum(-1)
    root = np.sqrt(np.maximum(h * h - a * c, 0.0)) - h
    ends = (h * h >= a * c) & (root > 0)
    falls = dx[..., 0] < 0
    tip = np.where(falls, -x[..., 0] / np.where(falls, dx[..., 0], 1.0), 1e10)
    return np.minimum(np.where(ends, c / np.where(ends, root, 1.0), 1e10), tip).min(-1)


class Scaling:
    """The scaling W of Nesterov and Todd at x and y in the cones, W x = W⁻¹ y, which is `mid`; and Newton's directions in it."""

    def __init__(self, x, y, size):
        en, mirror = like([1.0, 0.0, 0.0], x), like(np.diag([-1.0, 1.0, 1.0]), x)
        dx, dy = (np.maximum(lorentz(z), 1e-30 * size[..., 0] ** 2) for z in (x, y))
        xb, yb = x / np.sqrt(dx)[..., None], y / np.sqrt(dy)[..., None]
        w = (yb - xb @ mirror) / np.sqrt(2 + 2 * (xb * yb).sum(-1))[..., None]
        v = (w + en) / np.sqrt(2 * (w[..., 0] + 1))[..., None]
        beta, vj = np.sqrt(np.sqrt(dy / dx))[..., None, None], v @ mirror
        self.W = beta * (2 * v[..., :, None] * v[..., None, :] + mirror)
        self.inverse = (2 * vj[..., :, None] * vj[..., None, :] + mirror) / beta
        self.W2 = beta**2 * (2 * w[..., :, None] * w[..., None, :] + mirror)
        self.mid = times(self.W, x)

    def directions(self, G, N, r):
        """(Δx, Δy) as a function of the correction d:  (G + N W²) Δx = N W e − r,   Δy = W (e − W Δx),   mid ∘ e = d."""
        K = G + spread(N @ self.W2)
        scale = 1 / np.sqrt(np.abs(np.diagonal(K, axis1=-2, axis2=-1)) + 1e-30)
        K = K * scale[..., :, None] * scale[..., None, :]

        def direction(correction):
            e = quotient(self.mid, correction)
            right = scale * flat(times(N, times(self.W, e)) - r)
            dx = blocks(scale * solve(K, right[..., None])[..., 0])
            return dx, times(self.W, e - times(self.W, dx))

        return direction

    def second_order(self, dx, dy):
        """W Δx ∘ W⁻¹ Δy, for Mehrotra's corrector."""
        return product(times(self.W, dx), times(self.inverse, dy))


class _Problem:
    """G and b in the variables of the cones, and back."""

    def __init__(self, G, b, mu, convex, back):
        self.saxce, self.back = 0.0 if convex else 1.0, back
        G, b, self.d = scaled(G, b)
        mu = np.maximum(mu, LEAST_FRICTION)
        self.m = flat(np.stack([np.ones_like(mu), mu, mu], -1))
        self.n = mu.shape[-1]
        self.G, self.b = G * self.m[..., :, None] * self.m[..., None, :], b * self.m
        self.en = like([1.0, 0.0, 0.0], b)
        size = speed(self.b)
        self.size = np.where(size > 0, size, 1.0)[..., None, None]

    def start(self, force):
        """x and y: on the axes of the cones, or near a warm λ."""
        x = blocks(force * self.d / self.m)
        y = blocks(times(self.G, flat(x)) + self.b)
        return self.inside(x), self.inside(y + self.saxce * norm(y[..., 1:])[..., None] * self.en)

    def cold(self):
        x = self.en * self.size + np.zeros_like(blocks(self.b))
        return x, x

    def inside(self, x):
        return x + (np.maximum(norm(x[..., 1:]) - x[..., 0], 0.0)[..., None] + SHIFT * self.size) * self.en

    def force(self, x):
        return flat(x) * self.m / self.d


def interior(G, b, mu, most: int, force=None, tolerance: float = 0.0, *, theta: float = THETA, back: float = BACK, convex: bool = False):
    """The best λ of at most so many rounds, its residual, and the rounds: until the residual is below the tolerance.

    `force` is a λ to start near. In a kernel the rounds are one loop. `convex` leaves De Saxcé's term out: a solution of that problem
    with u = 0 is one of Coulomb's.
    """
    p = _Problem(G, b, mu, convex, back)
    x, y = p.cold() if force is None else p.start(force)
    first = p.force(x) * 0.0 if force is None else force
    left = residual(G, b, mu, first)

    def step(x, y, theta, best, least):
        x, y, theta = _round(p, x, y, theta[..., None, None])
        found = p.force(x)
        left = residual(G, b, mu, found)
        better = left < least
        best, least = np.where(better[..., None], found, best), np.where(better, left, least)
        return x, y, theta[..., 0, 0], best, least, least <= tolerance

    (*_, best, least), rounds = iterate(step, (x, y, theta + 0.0 * left, first, left), most)
    return best, least, rounds


def _round(p: _Problem, x, y, theta):
    n, en, size = p.n, p.en, p.size
    scaling, one = Scaling(x, y, size), like(np.eye(3), p.b)
    mid = scaling.mid
    yt = norm(y[..., 1:])[..., None]
    N = one - p.saxce * theta[..., None] * en[:, None] * (y * like([0.0, 1.0, 1.0], y) / nonzero(yt))[..., None, :]
    r = blocks(times(p.G, flat(x)) + p.b) + p.saxce * yt * en - y
    gap, unit = (x * y).sum((-1, -2)) / n, size[..., 0, 0] ** 2
    live = gap > FLOOR * unit
    direction = scaling.directions(p.G + PROXIMAL * like(np.eye(3 * n), p.b), N, r)
    dx, dy = direction(-product(mid, mid))
    a = np.minimum(np.minimum(reach(x, dx), reach(y, dy)), 1.0)[..., None, None]
    ratio = ((x + a * dx) * (y + a * dy)).sum((-1, -2)) / n / nonzero(gap)
    sigma = np.minimum(np.maximum(ratio * ratio * ratio, 0.05), 1.0)
    foul = np.maximum(np.abs(r * x).sum((-1, -2)) / n - 1e-11 * unit, 0.0)  # complementarity waits for the equations
    tau = np.maximum(sigma * gap, np.minimum(0.1 * foul, gap))[..., None, None]
    dx, dy = direction(tau * en - product(mid, mid) - a * scaling.second_order(dx, dy))
    a = np.minimum(p.back * np.minimum(reach(x, dx), reach(y, dy)), 1.0)[..., None, None]
    good = live & (np.minimum(lorentz(x + a * dx), lorentz(y + a * dy)) > 0).all(-1)  # not where a number is none
    x, y = (np.where(good[..., None, None], z + a * dz, z) for z, dz in ((x, dx), (y, dy)))
    jam = (a < 0.03) & (gap > FLOOR**0.5 * unit)[..., None, None]
    theta = np.where(jam, np.where(theta < LEAST_THETA, THETA, theta - LESS), theta)
    x, y = (np.where(jam, z + 0.01 * np.abs(z).max((-1, -2), keepdims=True) * en, z) for z in (x, y))
    return x, y, theta
