"""Gauss-Seidel on Coulomb's problem: contact after contact, each solved exactly while the others stay."""

import numpy as np

from ..lie.iteration import iterate
from ..lie.scalars import like
from .cone import TINY, in_disc, nonzero, norm, speed, times

SINGULAR, PROXIMAL = 1e-8, 1e-4  # a determinant over the square of the trace that is zero, and what is then added of the trace
STEPS = 8  # of Newton's method in a contact that slides


def local(A, c, mu, force, steps: int = STEPS):
    """λ of one contact, u = A λ + c: open, stuck, or sliding with u_n = 0, u_t = −s λ_t, |λ_t| = μ λ_n. It starts from the s of another λ.

    With the normal closed, λ_n = −c_n/a − w λ_t, the tangents have S λ_t + c_S = −s λ_t. ψ(s) = μ λ_n/|λ_t| − 1 is nearly linear:
    Newton's method for its root, kept in a bracket. Where S is singular, because a mechanism moves in a plane or along a line, λ_t stays
    near its old value, (S + ε) λ_t = −c_S + ε λ_t: rounds still end in a solution.
    """
    a = nonzero(A[..., 0, 0])
    w = A[..., 1:, 0] / a[..., None]
    S = A[..., 1:, 1:] - w[..., :, None] * A[..., :1, 1:]
    e = w * c[..., :1] - c[..., 1:]
    size = A[..., 1, 1] + A[..., 2, 2]
    eps = np.where(S[..., 0, 0] * S[..., 1, 1] - S[..., 0, 1] * S[..., 1, 0] <= SINGULAR * size * size, PROXIMAL * size, 0.0)
    S, e = S + eps[..., None, None] * like(np.eye(2), S), e + eps[..., None] * force[..., 1:]

    def tangential(s, r):
        p, q, o = S[..., 0, 0] + s, S[..., 1, 1] + s, S[..., 0, 1]
        det = np.maximum(p * q - o * o, TINY)
        return np.stack([q * r[..., 0] - o * r[..., 1], p * r[..., 1] - o * r[..., 0]], -1) / det[..., None]

    def normal(t):
        return -(c[..., 0] / a + (w * t).sum(-1))

    low = np.zeros_like(a)
    high = norm(e) * (1 + mu * norm(w)) / np.maximum(-mu * c[..., 0] / a, 1e-20)
    stuck, old = tangential(low, e), force[..., 1:]
    s = -((times(A, force) + c)[..., 1:] * old).sum(-1) / nonzero((old * old).sum(-1))
    s = np.where((s > 0) & (s < high), s, 0.0)
    t = tangential(s, e)
    for _ in range(steps):
        n, size, dt = normal(t), nonzero(norm(t)), -tangential(s, t)
        psi = mu * n / size - 1
        slope = -mu / size * ((w * dt).sum(-1) + n * (t * dt).sum(-1) / size**2)
        low, high = np.where(psi < 0, s, low), np.where(psi < 0, high, s)
        s = s - psi / np.where(slope > 0, slope, TINY)
        s = np.where((s >= low) & (s <= high), s, 0.5 * (low + high))
        t = tangential(s, e)
    t = np.where((norm(stuck) <= mu * normal(stuck))[..., None], stuck, t)
    n = np.maximum(normal(t), 0.0)
    return np.where((c[..., 0] >= 0)[..., None], 0.0, np.concatenate([n[..., None], in_disc(t, mu * n)], -1))


def one_round(G, b, mu, force, steps: int = STEPS):
    """λ(i) ← local(G(i,i), b(i) + Σ_{j≠i} G(i,j) λ(j)), contact after contact."""
    each = [force[..., 3 * i : 3 * i + 3] for i in range(mu.shape[-1])]
    for i in range(len(each)):
        rows = slice(3 * i, 3 * i + 3)
        c = b[..., rows] + sum(times(G[..., rows, 3 * j : 3 * j + 3], x) for j, x in enumerate(each) if j != i)
        each[i] = local(G[..., rows, rows], c, mu[..., i], each[i], steps)
    return np.concatenate(each, -1)


def gauss_seidel(G, b, mu, force, most: int, tolerance: float, steps: int = 3):
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
