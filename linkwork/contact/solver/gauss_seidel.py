"""Gauss-Seidel: each contact, limit and joint with dry friction is solved exactly while the others stay, one after another."""

import numpy as np

from ...lie.iteration import iterate
from ..cone import times
from ..problem import Problem

STEPS = 8  # of Newton's method in a contact that slides


def one_round(p: Problem, force, steps: int = STEPS):
    """λ(i) ← the solution of u(i) = G(i,i) λ(i) + b(i) + Σ_{j≠i} G(i,j) λ(j), i after i."""
    G, b, items = p.matrix, p.b, []
    for kind, rows in zip(p.kinds, p.slices):
        items += [(kind, i, slice(first, first + kind.each)) for i, first in enumerate(range(rows.start, rows.stop, kind.each))]
    each = [force[..., rows] for *_, rows in items]
    for i, (kind, mine, rows) in enumerate(items):
        others = (times(G[..., rows, there], x) for j, ((*_, there), x) in enumerate(zip(items, each)) if j != i)
        each[i] = kind.alone(G[..., rows, rows], b[..., rows] + sum(others), mine, each[i], steps)
    return np.concatenate(each, -1)


def gauss_seidel(p: Problem, force, most: int, tolerance: float, steps: int = 2):
    """λ after rounds until the largest change of a velocity is below the tolerance, relative to that of the problem; and the rounds.

    In a kernel the rounds are one loop. A round changes λ(i); what that changes at the contact itself, G(i,i) Δλ(i), is the
    measure.
    """
    size, g = p.size, np.diagonal(p.matrix, axis1=-2, axis2=-1)

    def step(force):
        new = one_round(p, force, steps)
        return new, (g * np.abs(new - force)).max(-1) <= tolerance * size

    return iterate(step, force, most)
