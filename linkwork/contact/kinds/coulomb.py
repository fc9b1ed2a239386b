"""Contacts: three rows each, the normal and two tangents, with Coulomb's cone."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...lie.scalars import like
from ..cone import TINY, blocks, flat, in_disc, nonzero, norm, residuals_of, speed
from .kind import Kind, Piece

SINGULAR, PROXIMAL = 1e-6, 1e-4  # of the compliance of tangents: what along an axis is zero, and what is then added to it
STEPS = 8  # of Newton's method in a contact that slides


class Slope(NamedTuple):
    """dΠ in axes (n, e, f) of each contact, e the direction of z_t and f across it:  D = [c; m, a; p]

    open: 0;    stuck: c = a = p = 1, m = 0;    sliding: c = 1, a = 0, m = μ, p = μ z_n/|z_t|
    """

    e: Any  # (..., n, 2)
    c: Any
    m: Any
    a: Any
    p: Any

    def times(self, x):
        e, (c, m, a, p) = self.e[..., None, :, :], (y[..., None, :] for y in self[1:])
        x = turned(e, blocks(x))
        return flat(back(e, np.stack([c * x[..., 0], m * x[..., 0] + a * x[..., 1], p * x[..., 2]], -1)))


@dataclass(frozen=True, eq=False)
class Contact(Kind):
    """Signorini's condition and Coulomb's law:  0 ≤ u_n ⟂ λ_n ≥ 0,  |λ_t| ≤ μ λ_n,  λ_t = −μ λ_n u_t/|u_t| where u_t ≠ 0.

    r is the compliance of the contacts themselves, u_n = ... + r λ_n.
    """

    each: ClassVar[int] = 3
    used: ClassVar[tuple[int, ...]] = (0, 1, 2)
    r: Any  # (..., n)
    mu: Any

    def acts(self, u):
        return self.items(u)[..., 0] < 0

    @property
    def size(self):
        return speed(self.b)

    @property
    def own(self):
        return flat(np.stack([self.r, np.zeros_like(self.r), np.zeros_like(self.r)], -1))

    def velocity(self, change, force):
        return change + self.b + self.own * force

    def pressed(self, most):
        return np.zeros_like(self.g), self.mu

    def project(self, z):
        """λ_n not negative, λ_t in the disc of radius μ λ_n."""
        z = blocks(z)
        n = np.maximum(z[..., 0], 0.0)
        return flat(np.concatenate([n[..., None], in_disc(z[..., 1:], self.mu * n)], -1))

    def left(self, u, force):
        return residuals_of(self.g, u, self.mu, force).max(-1)

    def derivative(self, z) -> Slope:
        z = blocks(z)
        t, radius, one = norm(z[..., 1:]), self.mu * np.maximum(z[..., 0], 0.0), like(1.0, z)
        e = np.where((t > 0)[..., None], z[..., 1:] / nonzero(t)[..., None], like([1.0, 0.0], z))
        closed, slides = z[..., 0] > 0, t > radius
        c = np.where(closed, one, 0.0)
        a = np.where(closed & ~slides, one, 0.0)
        p = np.where(closed, np.where(slides, radius / nonzero(t), one), 0.0)
        return Slope(e, c, np.where(closed & slides, self.mu, 0.0), a, p)

    def piece(self, z, eps) -> Piece:
        """In the axes (n, e, f) of `derivative` E is triangular."""
        e, c, m, a, p = self.derivative(z)
        rho = 1 / nonzero(self.g)
        own = 1 - rho * self.r
        En, Ee, Ef = (1 / (1 + eps - x) for x in (c * own, a, p))
        Cn, Ce, Cf = rho * c * En, rho * a * Ee, rho * p * Ef
        skew = rho * m * Ee * (1 + own * c * En)

        def inverse(F):
            F = turned(e, blocks(F))
            return flat(back(e, np.stack([En * F[..., 0], Ee * (F[..., 1] + m * own * En * F[..., 0]), Ef * F[..., 2]], -1)))

        def answer(x):
            x = turned(e, blocks(x))
            return flat(back(e, np.stack([Cn * x[..., 0], Ce * x[..., 1] + skew * x[..., 0], Cf * x[..., 2]], -1)))

        def products(J):
            J = J.reshape(*J.shape[:-2], -1, 3, J.shape[-1])
            Jn, Je, Jf = np.moveaxis(turned(e[..., None, :], np.moveaxis(J, -2, -1)), -1, 0)
            return [(x, C[..., None] * y) for C, x, y in ((Cn, Jn, Jn), (Ce, Je, Je), (Cf, Jf, Jf), (skew, Je, Jn))]

        return Piece(inverse, answer, products)

    def free(self, z, force):
        """All directions of a contact that sticks, that of λ for one that slides, none of an open one."""
        slope, L = self.derivative(z), blocks(force)
        along = L[..., :, None] * L[..., None, :] / nonzero((L * L).sum(-1))[..., None, None]
        closed, sticks = (x[..., None, None] > 0 for x in (slope.c, slope.a))
        return np.where(closed, np.where(sticks, like(np.eye(3), L), along), 0.0)

    def alone(self, A, u, mine, force, steps):
        return local(A, u, self.mu[..., mine], force, steps)


def local(A, c, mu, force, steps: int = STEPS):
    """λ of one contact, u = A λ + c: open, stuck, or sliding with u_n = 0, u_t = −s λ_t, |λ_t| = μ λ_n. It starts from the s of another λ.

    With the normal closed, λ_n = −c_n/a − w λ_t, the tangents have S λ_t + c_S = −s λ_t, which along the axes of S is two divisions.
    ψ(s) = μ λ_n/|λ_t| − 1 is nearly linear: Newton's method for its root, kept in a bracket. Along an axis of no compliance, because a
    mechanism moves in a plane or along a line, λ_t stays near its old value, ε λ_t = −c_S + ε λ_t: rounds still end in a solution.
    """
    a, size = nonzero(A[..., 0, 0]), A[..., 1, 1] + A[..., 2, 2]
    w = A[..., 1:, 0] / a[..., None]
    S, axis = axes_of(A[..., 1:, 1:] - w[..., :, None] * A[..., :1, 1:])
    eps = np.where((SINGULAR * size)[..., None] >= S, (PROXIMAL * size)[..., None], 0.0)
    S, old = np.maximum(S + eps, TINY), across(axis, force[..., 1:])
    e, w = across(axis, w * c[..., :1] - c[..., 1:]) + eps * old, across(axis, w)
    n0 = -c[..., 0] / a

    def normal(t):
        return n0 - (w * t).sum(-1)

    stuck = e / S
    low, high = np.zeros_like(a), norm(e) * (1 + mu * norm(w)) / np.maximum(mu * n0, 1e-20)
    s = ((e - S * old) * old).sum(-1) / nonzero((old * old).sum(-1))
    s = np.where((s > 0) & (s < high), s, 0.0)
    for _ in range(steps):
        p = 1 / (S + s[..., None])
        t = e * p
        n, q = normal(t), nonzero((t * t).sum(-1))
        psi = mu * n - np.sqrt(q)
        slope = mu * ((w * t * p).sum(-1) + n * (t * t * p).sum(-1) / q)
        low, high = np.where(psi < 0, s, low), np.where(psi < 0, high, s)
        s = s - psi / np.where(slope > 0, slope, TINY)
        s = np.where((s >= low) & (s <= high), s, 0.5 * (low + high))
    sticks = (norm(stuck) <= mu * normal(stuck))[..., None]
    t = np.where(sticks, stuck, e / (S + s[..., None]))
    n = np.maximum(normal(t), 0.0)
    t = across(axis * like([1.0, -1.0], A), in_disc(t, mu * n))
    return np.where((c[..., 0] >= 0)[..., None], 0.0, np.concatenate([n[..., None], t], -1))


def axes_of(S):
    """Eigenvalues (..., 2) of symmetric 2 x 2 matrices, and the axis (..., 2) of the first: the cosine and the sine of its angle."""
    mean, d, o = (S[..., 0, 0] + S[..., 1, 1]) / 2, (S[..., 0, 0] - S[..., 1, 1]) / 2, S[..., 0, 1]
    r = norm(np.stack([d, o], -1))
    some = nonzero(r)
    long = np.sqrt((1 + np.where(r > 0, np.abs(d) / some, 1.0)) / 2)
    short = o / (2 * some * long)
    axis = np.where((d >= 0)[..., None], np.stack([long, short], -1), np.stack([short, long], -1))
    return np.stack([mean + r, mean - r], -1), axis


def across(e, t):
    """(t1, t2) along an axis and across it."""
    return np.stack([e[..., 0] * t[..., 0] + e[..., 1] * t[..., 1], e[..., 0] * t[..., 1] - e[..., 1] * t[..., 0]], -1)


def turned(e, x):
    """(n, t1, t2) in axes (n, e, f), f across e."""
    return np.concatenate([x[..., :1], across(e, x[..., 1:])], -1)


def back(e, x):
    """(n, e, f) in axes (n, t1, t2)."""
    return turned(e * like([1.0, -1.0], e), x)
