"""Coulomb's problem of several contacts, and how far numbers are from a solution of it.

Blocks of three rows (n, t1, t2) for each contact, the normal first. u are velocities, λ impulses (or accelerations and forces):

    u = G λ + b,    0 ≤ u_n ⟂ λ_n ≥ 0,    |λ_t| ≤ μ λ_n,    λ_t = −μ λ_n u_t/|u_t| where u_t ≠ 0

G = J 𝓜⁻¹ J* is their compliance. With μ = 0 a block is a limit: its tangents are not used, their rows of G those of the identity. With a
normal that nothing else moves, u_n = g (λ_n − c), it is dry friction: |λ_t| ≤ μ c. Nothing here knows of mechanics; all functions
take leading batch axes, and traced arrays.
"""

import numpy as np

from ..lie.scalars import like

TINY = 1e-30


def blocks(x):
    """(..., 3n) as (..., n, 3)."""
    return x.reshape(*x.shape[:-1], x.shape[-1] // 3, 3)


def flat(x):
    """(..., n, 3) as (..., 3n)."""
    return x.reshape(*x.shape[:-2], 3 * x.shape[-2])


def times(A, x):
    return (A @ x[..., None])[..., 0]


def norm(x):
    """Length over the last axis; its derivative is zero where it is zero."""
    square = (x * x).sum(-1)
    some = square > 0
    return np.where(some, np.sqrt(np.where(some, square, 1.0)), 0.0)


def nonzero(x):
    """x, or 1 where it is zero: to divide by."""
    return np.where(x == 0, 1.0, x)


def mean_compliance(G):
    """g(i) = tr G(i,i) / 3: turns an impulse at a contact into a velocity there."""
    return blocks(np.diagonal(G, axis1=-2, axis2=-1)).sum(-1) / 3


def in_disc(x, radius):
    """x, shortened to a radius if it is longer."""
    size = norm(x)
    return x * np.where(size > radius, radius / nonzero(size), 1.0)[..., None]


def speed(b):
    """The velocity that a problem has by itself: tangential, or approaching. Contacts that open are none."""
    return np.maximum(norm(blocks(b)[..., 1:]), -blocks(b)[..., 0]).max(-1)


def residuals(G, b, mu, force):
    """How far from a solution, (..., 3): Signorini's condition, Coulomb's cone, maximal dissipation, as velocities over `speed`."""
    size = speed(b)[..., None]
    return residuals_of(mean_compliance(G), times(G, force) + b, mu, force) / np.where(size > 0, size, 1.0)


def residuals_of(g, u, mu, force):
    """Returns the residuals of velocities u that are known, as velocities:

        min(u_n, g λ_n),    g (|λ_t| − μ λ_n)⁺,    g |λ_t − Π(λ_t − u_t/g)|,  Π on the disc of radius μ λ_n

    Natural maps, the worst of all contacts; each is zero in a solution and only there (Le Lidec et al., 2023).
    """
    F, u = blocks(force), blocks(u)
    signorini = np.abs(np.minimum(u[..., 0], g * F[..., 0])).max(-1)
    outside = (g * np.maximum(norm(F[..., 1:]) - mu * F[..., 0], -F[..., 0])).max(-1)
    slip = F[..., 1:] - in_disc(F[..., 1:] - u[..., 1:] / nonzero(g)[..., None], mu * np.maximum(F[..., 0], 0.0))
    return np.stack([signorini, np.maximum(outside, 0.0), (g * norm(slip)).max(-1)], -1)


def residual(G, b, mu, force):
    """The largest of the residuals; infinite where they are not numbers."""
    largest = residuals(G, b, mu, force).max(-1)
    return np.where(largest >= 0, largest, np.inf)


def spread(D):
    """Blocks (..., n, k, k) on the diagonal of a matrix (..., k n, k n)."""
    n, k = D.shape[-3], D.shape[-1]
    identity = like(np.eye(n), D)[:, None, :, None]
    return (D[..., :, :, None, :] * identity).reshape(*D.shape[:-3], k * n, k * n)
