"""Forces that are not unique: of all that give the same velocities, those with the least norm."""

import numpy as np

from ...lie.scalars import like
from ...spatial.lu import solve
from ..cone import times
from ..problem import Problem

SMALL = 1e-10  # of the diagonal of the compliance
SAME = 1e-9  # a residual below that is as good as a smaller one


def least_norm(p: Problem, force):
    """λ with the same velocities and the least norm, contacts that slide keeping their direction; λ itself where that leaves a cone.

        S = P G P,    λ ← λ − (ε (S + ε)⁻¹)² λ,    ε → 0

    takes off what lies in the kernel of S. P keeps all of a contact that sticks, the direction of λ of one that slides, nothing of an
    open one. Contacts that touch without force, and do not move, take their share if that leaves all forces in their cones.
    """
    u = p.velocities(force)
    allowed, best = np.maximum(SAME, 1.1 * p.left(u, force)), force
    pressed = p.by_kind("free", p.aims(u, force), force)
    slow = [np.abs(kind.items(u[..., rows])).max(-1) <= SAME * p.size[..., None] for kind, rows in zip(p.kinds, p.slices)]
    idle = [(np.abs(P).sum((-1, -2)) == 0) & rest for P, rest in zip(pressed, slow)]
    ways = [pressed]
    if not all(isinstance(x, np.ndarray) and not x.any() for x in idle):
        ways += [[np.where(x[..., None, None], like(np.eye(P.shape[-1]), P), P) for x, P in zip(idle, pressed)]]
    for way in ways:
        new = _without_kernel(p.matrix, p.diagonal(way), force)
        best = np.where((p.residual(new) <= allowed)[..., None], new, best)
    return best


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
