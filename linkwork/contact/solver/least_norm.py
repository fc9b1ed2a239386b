"""Forces that are not unique: of all that give the same velocities, those with the least norm."""

import numpy as np

from ...lie.scalars import like
from ...spatial.lu import solve
from .cone import blocks, nonzero, residual, scaled, speed, spread, times
from .newton import alart_curnier

SMALL = 1e-10  # of the diagonal of the compliance
SAME = 1e-9  # a residual below that is as good as a smaller one


def least_norm(G, b, mu, force):
    """λ with the same velocities and the least norm, contacts that slide keeping their direction; λ itself where that leaves a cone.

        S = P G P,    λ ← λ − (ε (S + ε)⁻¹)² λ,    ε → 0

    takes off what lies in the kernel of S. P keeps all of a contact that sticks, the direction of λ of one that slides, nothing of an
    open one. Contacts that touch without force, and do not move, take their share if that leaves all forces in their cones.
    """
    Gs, bs, d = scaled(G, b)
    D = alart_curnier(Gs, bs, mu, force * d)[1]
    L, u = blocks(force), blocks(times(G, force) + b)
    along = L[..., :, None] * L[..., None, :] / nonzero((L * L).sum(-1))[..., None, None]
    sticks = ((D - like(np.eye(3), G)) == 0).all((-1, -2))[..., None, None]
    pressed = np.where(D[..., :1, :1] > 0, np.where(sticks, like(np.eye(3), G), along), 0.0)
    idle = (L[..., 0] == 0) & (np.abs(u).max(-1) <= SAME * speed(b)[..., None])
    allowed = np.maximum(SAME, 1.1 * residual(G, b, mu, force))
    found = force
    shared = np.where(idle[..., None, None], like(np.eye(3), G), pressed)
    for P in (pressed,) if isinstance(idle, np.ndarray) and not idle.any() else (pressed, shared):
        new = _without_kernel(G, spread(P), force)
        found = np.where((residual(G, b, mu, new) <= allowed)[..., None], new, found)
    return found


def _without_kernel(G, P, force):
    size = np.diagonal(G, axis1=-2, axis2=-1).max(-1)[..., None, None]
    S = P @ G @ P / np.where(size > 0, size, 1.0)
    A = S + SMALL * like(np.eye(G.shape[-1]), G)
    for _ in range(2):  # the second time takes off what rounding left
        part = force
        for _ in range(2):  # what is not in the kernel shrinks by ε each time
            part = SMALL * times(P, solve(A, times(P, part)[..., None])[..., 0])
        force = force - part
    return force
