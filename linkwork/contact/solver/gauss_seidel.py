"""Gauss-Seidel on Coulomb's problem: contact after contact, each solved exactly while the others stay."""

import numpy as np

from ...lie.iteration import iterate
from ...lie.scalars import like
from .cone import TINY, in_disc, nonzero, norm, speed, times

SINGULAR, PROXIMAL = 1e-6, 1e-4  # of the compliance of tangents: what along an axis is zero, and what is then added to it
STEPS = 8  # of Newton's method in a contact that slides


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
    S, old = np.maximum(S + eps, TINY), turned(axis, force[..., 1:])
    e, w = turned(axis, w * c[..., :1] - c[..., 1:]) + eps * old, turned(axis, w)
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
    t = turned(axis * like([1.0, -1.0], A), in_disc(t, mu * n))
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


def turned(axis, x):
    """x along an axis and across it."""
    return np.stack([axis[..., 0] * x[..., 0] + axis[..., 1] * x[..., 1], axis[..., 0] * x[..., 1] - axis[..., 1] * x[..., 0]], -1)


def one_round(G, b, mu, force, steps: int = STEPS):
    """λ(i) ← local(G(i,i), b(i) + Σ_{j≠i} G(i,j) λ(j)), contact after contact."""
    each = [force[..., 3 * i : 3 * i + 3] for i in range(mu.shape[-1])]
    for i in range(len(each)):
        rows = slice(3 * i, 3 * i + 3)
        c = b[..., rows] + sum(times(G[..., rows, 3 * j : 3 * j + 3], x) for j, x in enumerate(each) if j != i)
        each[i] = local(G[..., rows, rows], c, mu[..., i], each[i], steps)
    return np.concatenate(each, -1)


def gauss_seidel(G, b, mu, force, most: int, tolerance: float, steps: int = 2):
    """λ after rounds until the largest change of a velocity is below the tolerance, relative to that of the problem; and the rounds.

    In a kernel the rounds are one loop. A round changes λ(i); what that changes at the contact itself, G(i,i) Δλ(i), is the
    measure.
    """
    size = speed(b)
    g = np.diagonal(G, axis1=-2, axis2=-1)

    def step(force):
        new = one_round(G, b, mu, force, steps)
        return new, (g * np.abs(new - force)).max(-1) <= tolerance * size

    return iterate(step, force, most)
