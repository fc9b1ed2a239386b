"""An interior point method on Coulomb's problem itself, not on a convex neighbour of it; exact, or smoothed.

In the variables x = (λ_n, λ_t/μ) and y = (u_n + μ|u_t|, μ u_t), both in the Lorentz cone, the problem is (De Saxcé)

    y = G x + b + σ(y_t) e_n,    x∘y = κ e,    κ = s²/G_nn,    σ(y_t) = |y_t|²/√(|y_t|² + κ)

with s = 0, where σ(y_t) = |y_t|. A round is a step of Newton's method in the scaling W of Nesterov and Todd, W x = W⁻¹ y:

    (G + N W²) Δx = N W d − r,    r = G x + b + σ(y_t) e_n − y,    N = 1 − θ e_n ∂σ/∂y

with Mehrotra's corrector in d. G, b, x, y are in these variables and scaled by contact. A step below 0.03 is a jam: x and y then move
towards the axes of their cones, and θ takes another value. Without the term σ(y_t) e_n it is the convex problem of friction that is
associated: ½ λ* G λ + b* λ least in the cones.

s > 0 is a velocity, and the problem a smooth neighbour, whose forces begin before bodies touch. A contact without friction has
λ_n u_n = s²/G_nn: in a step that ends at a gap d, the force of an acceleration s²/d, as from the potential −s² log d. As s tends to zero
the solution tends to that of the problem itself: by O(s²) where each contact is strictly open, stuck or sliding, by O(s) where one is not.
"""

import numpy as np

from ...lie.iteration import iterate
from ...lie.scalars import like, still
from ...spatial.lu import solve
from ..cone import blocks, flat, mean_compliance, nonzero, norm, residual, speed, spread, times
from ..problem import AsContacts, Problem

THETA, LEAST_THETA, LESS = 0.98, 0.6, 0.15
PROXIMAL = 1e-12  # of the diagonal of G, of the exact problem
FLOOR = 1e-24  # of the squared velocity of a problem: complementarity smaller than that is zero
BACK = 0.9  # of the way to the boundary of the cones; less takes more rounds and solves more
SHIFT = 0.1  # of the velocity of a problem: how far a warm start is moved into the cones
SHORT = 0.03  # a step below that is a jam
LEAST_FRICTION, LEAST_SMOOTHED_FRICTION = 1e-12, 1e-6


def lorentz(x):
    """x_n² − |x_t|², in the form that does not cancel."""
    t = norm(x[..., 1:])
    return (x[..., 0] - t) * (x[..., 0] + t)


def inside(x):
    """Are all contacts in the interior of their cones?"""
    return ((x[..., 0] > 0) & (lorentz(x) > 0)).all(-1)


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
        solved = balanced(G + spread(N @ self.W2))

        def direction(correction):
            e = quotient(self.mid, correction)
            dx = blocks(solved(flat(times(N, times(self.W, e)) - r)))
            return dx, times(self.W, e - times(self.W, dx))

        return direction

    def second_order(self, dx, dy):
        """W Δx ∘ W⁻¹ Δy, for Mehrotra's corrector."""
        return product(times(self.W, dx), times(self.inverse, dy))


def balanced(K):
    """x -> K⁻¹ x, of a matrix whose rows and columns are first scaled by its diagonal."""
    scale = 1 / np.sqrt(np.abs(np.diagonal(K, axis1=-2, axis2=-1)) + 1e-30)
    K = K * scale[..., :, None] * scale[..., None, :]
    return lambda x: scale * solve(K, (scale * x)[..., None])[..., 0]


class Cones:
    """G, b and κ in the variables of the cones, and the way back."""

    def __init__(self, G, b, mu, smoothing: float = 0.0, *, convex: bool = False):
        self.problem, self.smooth, self.saxce = (G, b, mu), smoothing > 0, 0.0 if convex else 1.0
        root = still(np.sqrt(nonzero(mean_compliance(G))))
        mu = np.maximum(mu, LEAST_SMOOTHED_FRICTION if self.smooth else LEAST_FRICTION)
        self.d, self.m = flat(np.stack([root, root, root], -1)), flat(np.stack([np.ones_like(mu), mu, mu], -1))
        per = self.m / self.d
        self.G, self.b, self.n = G * per[..., :, None] * per[..., None, :], b * per, mu.shape[-1]
        self.regular = self.G if self.smooth else self.G + PROXIMAL * like(np.eye(3 * self.n), b)
        self.en, self.kappa, size = like([1.0, 0.0, 0.0], b), np.zeros_like(mu), speed(still(self.b))
        self.share = 1.0  # of the path at each contact, over the mean
        if self.smooth:
            self.kappa = smoothing * smoothing / nonzero(blocks(np.diagonal(G, axis1=-2, axis2=-1))[..., 0])
            self.share = self.kappa * self.n / self.kappa.sum(-1)[..., None]
            size = size + still(np.sqrt(self.kappa)).max(-1)
        self.size = np.where(size > 0, size, 1.0)[..., None, None]

    def start(self, force):
        """x and y: on the axes of the cones, or near a warm λ."""
        if force is None:
            x = self.en * self.size + np.zeros_like(blocks(self.b))
            return x, x
        x = self.of_force(force)
        y = blocks(times(self.G, flat(x)) + self.b)
        return self.moved_in(x), self.moved_in(y + self.saxce * norm(y[..., 1:])[..., None] * self.en)

    def moved_in(self, x):
        return x + (np.maximum(norm(x[..., 1:]) - x[..., 0], 0.0)[..., None] + SHIFT * self.size) * self.en

    def inverse(self, x):
        """y with x∘y = κ e."""
        return self.kappa[..., None] * (x * like([1.0, -1.0, -1.0], x)) / lorentz(x)[..., None]

    def equation(self, x, y):
        """G x + b + σ(y_t) e_n − y, zero in a solution."""
        square = (y[..., 1:] * y[..., 1:]).sum(-1)
        sigma = self.saxce * (square / np.sqrt(nonzero(square + self.kappa)))
        return blocks(times(self.G, flat(x)) + self.b) + sigma[..., None] * self.en - y

    def slope(self, y, theta):
        """N = 1 − θ e_n ∂σ/∂y."""
        more = (y[..., 1:] * y[..., 1:]).sum(-1) + self.kappa
        root = np.sqrt(nonzero(more))
        factor = self.saxce * theta[..., None] * (1 + self.kappa / nonzero(more)) / root
        return like(np.eye(3), y) - self.en[:, None] * (factor[..., None] * y * like([0.0, 1.0, 1.0], y))[..., None, :]

    def left(self, x, y):
        """How far from a solution, relative to the velocities of the problem."""
        if not self.smooth:
            return residual(*self.problem, self.force(x))
        r, c = np.abs(self.equation(x, y)).max((-1, -2)), np.abs(product(x, y) - self.kappa[..., None] * self.en)
        size = self.size[..., 0, 0]
        worst = np.maximum(r / size, (c.max(-1) / self.kappa * np.minimum(1.0, np.sqrt(self.kappa) / size[..., None])).max(-1))
        return np.where(worst >= 0, worst, np.inf)

    def force(self, x):
        return flat(x) * self.m / self.d

    def of_force(self, force):
        return blocks(force * self.d / self.m)


def interior(
    p: Problem, most: int, force=None, tolerance: float = 0.0, *, smoothing: float = 0.0, theta: float = THETA, back: float = BACK,
    convex: bool = False,
):  # fmt: skip
    """The best λ of at most so many rounds, its residual, and the rounds: until the residual is below the tolerance.

    `force` is a λ to start near. In a kernel the rounds are one loop. `convex` leaves De Saxcé's term out: a solution of that problem
    with u = 0 is one of Coulomb's.
    """
    contacts = AsContacts(p)
    q = Cones(contacts.G, contacts.b, contacts.mu, smoothing, convex=convex)
    first = None if force is None else contacts.force(force)
    x, y = q.start(first)
    first = q.force(x) if q.smooth else q.force(x) * 0.0 if first is None else first
    left = q.left(x, y) if q.smooth else residual(*q.problem, first)

    def step(x, y, theta, best, least):
        x, y, theta = _round(q, x, y, theta, back)
        new, left = q.force(x), q.left(x, y)
        better = left < least
        best, least = np.where(better[..., None], new, best), np.where(better, left, least)
        return x, y, theta, best, least, least <= tolerance

    (*_, best, least), rounds = iterate(step, (x, y, theta + 0.0 * left, first, left), most)
    return contacts.own(best), least, rounds


def _round(p: Cones, x, y, theta, back: float):
    en, size = p.en, p.size
    unit, r = size[..., 0, 0] ** 2, p.equation(x, y)
    scaling = Scaling(x, y, size)
    mid, direction = scaling.mid, scaling.directions(p.regular, p.slope(y, theta), r)
    gap = (x * y).sum((-1, -2)) / p.n
    dx, dy = direction(-product(mid, mid))
    a = np.minimum(np.minimum(reach(x, dx), reach(y, dy)), 1.0)[..., None, None]
    ratio = ((x + a * dx) * (y + a * dy)).sum((-1, -2)) / p.n / nonzero(gap)
    sigma = np.minimum(np.maximum(ratio * ratio * ratio, 0.05), 1.0)
    foul = np.maximum(np.abs(r * x).sum((-1, -2)) / p.n - 1e-11 * unit, 0.0)  # complementarity waits for the equations
    far = np.maximum(sigma * gap, np.minimum(0.1 * foul, gap))[..., None] * p.share
    second = np.where((far > p.kappa)[..., None], a, 0.0) * scaling.second_order(dx, dy)  # the corrector is for long steps
    dx, dy = direction(np.maximum(far, p.kappa)[..., None] * en - product(mid, mid) - second)
    a = np.minimum(back * np.minimum(reach(x, dx), reach(y, dy)), 1.0)[..., None, None]
    good = (gap > FLOOR * unit) & inside(x + a * dx) & inside(y + a * dy)  # not where a number is none
    x, y = (np.where(good[..., None, None], z + a * dz, z) for z, dz in ((x, dx), (y, dy)))
    jam = ((a[..., 0, 0] < SHORT) | ~good) & (gap > FLOOR**0.5 * unit)
    x, y = (np.where(jam[..., None, None], z + 0.01 * np.abs(z).max((-1, -2), keepdims=True) * en, z) for z in (x, y))
    return x, y, np.where(jam, np.where(theta < LEAST_THETA, THETA, theta - LESS), theta)
