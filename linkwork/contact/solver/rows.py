"""Contacts together with scalar rows, each a force along one row between bounds: joint limits, and dry friction of joints.

    u = G λ + b,    contacts: Signorini's condition and Coulomb's law,    rows: low ≤ λ ≤ high,
    u ≥ 0 where λ = low,  u ≤ 0 where λ = high,  u = 0 in between                                        Jain (11.51)

u are accelerations and λ forces, or velocities and impulses. Three rows of each contact come first, then the others. Without contacts
this is `lcp`. With them each row is a block of Coulomb's problem (`cone.py`): [low, ∞) a normal without friction, [c − w, c + w] a tangent
that a constant normal force presses; rows without bounds are eliminated.
"""

from typing import NamedTuple

import numpy as np

from .accelerations import accelerations
from .complementarity import ZERO, lcp
from .cone import blocks, flat, norm

AT_BOUND = 1e-8  # of the forces of a row: one nearer to its bound than that is there


class RowSolution(NamedTuple):
    """Forces of contacts and of scalar rows, and what they make of u."""

    contact: np.ndarray  # (n, 3)
    rate: np.ndarray  # (n, 3) u of the contacts
    z: np.ndarray  # (m,) the forces of the rows
    w: np.ndarray  # (m,) and their u
    between: np.ndarray  # (m,) rows whose force is between its bounds and makes u zero
    solved: bool
    residual: float


def solve_rows(G, b, mu, low, high, slip=None) -> RowSolution:
    """Solve a problem of n contacts and m rows: G (3n + m, 3n + m), b (3n + m,), mu (n,), low and high (m,).

    `slip` (n, 2) are the velocities of contacts that slide, zero for those that do not: for accelerations, in which the friction of what
    slides is known.
    """
    n = len(mu)
    if not n:
        found = lcp(G, b, low, high)
        none = np.zeros((0, 3))
        return RowSolution(none, none, found.z, found.w, found.between, bool(found.solved), 0.0 if found.solved else np.inf)
    slip = np.zeros((n, 2)) if slip is None else slip
    best, least, solved = np.zeros_like(b), np.inf, False
    for gentle in (True, False) if len(low) else (True,):
        force, found = _by_blocks(G, b, mu, low, high, slip, gentle)
        left = float(found.residuals.max())
        if left < least and np.isfinite(force).all():
            best, least, solved = force, left, bool(found.converged)
        if solved:
            break
    return _classified(G, b, n, low, high, best, least, solved)


def _by_blocks(G, b, mu, low, high, slip, gentle):
    """The forces (3n + m,) by Coulomb's problem, and its solution. Dry friction [c − w, c + w] has a normal force of w and μ = 1, or, if
    `gentle`, one whose u is no larger than those of the problem, and so much more μ: the residual is relative to the largest."""
    n = len(mu)
    fixed, free, two = low == high, np.isneginf(low) & np.isposinf(high), np.isfinite(low) & np.isfinite(high)
    start = np.where(two, (np.where(two, low, 0.0) + np.where(two, high, 0.0)) / 2, np.where(np.isfinite(low), low, high))
    start = np.concatenate([np.zeros(3 * n), np.where(free, 0.0, start)])
    there, f = b + G @ start, 3 * n + np.flatnonzero(free)
    inverse = np.linalg.pinv(G[np.ix_(f, f)], rcond=ZERO)
    reduced, rest = G - G[:, f] @ inverse @ G[f], there - G[:, f] @ inverse @ there[f]
    plays = np.flatnonzero(~(free | fixed))
    both, side = two[plays], np.where(np.isfinite(low[plays]), 1.0, -1.0)
    E = np.zeros((len(b), 3 * (n + len(plays))))
    E[: 3 * n, : 3 * n] = np.eye(3 * n)
    columns = 3 * (n + np.arange(len(plays)))
    E[3 * n + plays, columns + both] = side
    H, c = E.T @ reduced @ E, E.T @ rest
    own = np.diag(reduced)[3 * n + plays]
    own = np.where(own > 0, own, np.abs(np.diag(G)).max(initial=0.0) or 1.0)
    width = np.where(both, (high - low)[plays] / 2, 0.0)
    size = np.abs(c).max(initial=0.0) / own
    press = np.minimum(width, size) if gentle else width
    press = np.where(press > 0, press, width)
    for k in range(3):  # rows of a block that are not used have the diagonal of the one that is
        unused = k != both
        H[columns[unused] + k, columns[unused] + k] = own[unused]
    c[columns] -= own * press
    rough = np.where(both, width / np.where(press > 0, press, 1.0), 0.0)
    none = np.zeros((len(plays), 2))
    all_slip = np.concatenate([slip, none])
    slipping = norm(all_slip) > 0
    y, found = accelerations(H, c, np.concatenate([mu, rough]), all_slip, np.ones(len(all_slip), bool), slipping)
    force = start + E @ flat(y)
    force[f] = -inverse @ (b + G @ np.where(np.isin(np.arange(len(b)), f), 0.0, force))[f]
    return force, found


def _classified(G, b, n, low, high, force, left, solved) -> RowSolution:
    """Forces as near to a bound as the solution is exact are there."""
    z = force[3 * n :]
    own = np.diag(G)[3 * n :]
    size = np.abs(z) + np.abs(b).max(initial=0.0) / np.where(own > 0, own, np.inf)
    below, above = z - low <= AT_BOUND * size, high - z <= AT_BOUND * size
    between = ~(below | above) & (low < high)
    force = np.concatenate([force[: 3 * n], np.where(below, low, np.where(above, high, z))])
    u = G @ force + b
    w = np.where(between, 0.0, u[3 * n :])
    return RowSolution(blocks(force[: 3 * n]), blocks(u[: 3 * n]), force[3 * n :], w, between, solved, left)
