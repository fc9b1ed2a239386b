"""Impulses at an impact, of contacts and joint limits together: three rows for each contact, then one for each limit.

    u' = u + G p,    together:  0 ≤ u'_n + e u_n ⟂ p_n ≥ 0,    Coulomb's law on p_t and u'_t

Poisson's law has impulses that stop what approaches, and e times their normal parts once more; one by one, the fastest of the blocks that
approach strikes alone, as often as it takes. Dry friction of joints is a force and has no impulse.
"""

from typing import NamedTuple

import numpy as np

from ..cone import flat
from ..kinds.coulomb import local
from .accurate import RowSolution, solve_rows

IMPACTS = 1000  # one by one, at most
LOCAL = 4  # times that a contact is solved from its own last impulse


class Impact(NamedTuple):
    """Impulses (3n + m,), and the velocities of the m limits after them: exact where `known`."""

    impulse: np.ndarray
    after: np.ndarray
    known: np.ndarray
    solved: bool
    residual: float


def impact(law: str, G, u, mu, e, slow) -> Impact:
    """The impulses of n contacts and m limits with velocities u (3n + m,), restitution e (n + m,).

    `slow` (n + m,) are speeds that are none: a rebound below it does not happen, and limits that would be left so slowly stay closed:
    otherwise impacts of two joints that move each other would follow each other ever faster.
    """
    n = len(mu)
    normal = np.concatenate([3 * np.arange(n), np.arange(3 * n, len(u))])
    if law == "one_by_one":
        return _one_by_one(G, u, mu, e, slow, normal)
    e = _rebounds(u[normal], e, slow)
    start = np.zeros_like(u)
    if law == "poisson":
        first = _stopped(G, u, mu)
        given = np.zeros_like(u)
        given[normal] = e * _all(first)[normal]
        start, e = _all(first) + given, np.zeros_like(e)
    there = u + G @ start
    back = np.zeros_like(u)
    back[normal] = e * there[normal]
    found = _stopped(G, there + back, mu)
    after, own = found.w - back[3 * n :], np.diag(G)[3 * n :]
    stays = ~found.between & (after < slow[n:]) & (own > 0)
    if found.solved and stays.any():
        slower = there + back
        slower[3 * n :][stays] = there[3 * n :][stays]
        held = _stopped(G, slower, mu, np.where(stays, -np.inf, 0.0))
        if held.solved:  # or a contact drives them off
            found, after = held, np.where(stays, 0.0, held.w - back[3 * n :])
        stays &= held.solved
    return Impact(start + _all(found), after, found.between | stays, bool(found.solved), found.residual)


def _stopped(G, u, mu, low=None) -> RowSolution:
    m = len(u) - 3 * len(mu)
    return solve_rows(G, u, mu, np.zeros(m) if low is None else low, np.full(m, np.inf))


def _all(found: RowSolution) -> np.ndarray:
    return np.concatenate([flat(found.contact), found.z])


def _rebounds(u, e, slow):
    """Restitution of what approaches, and does not rebound too slowly."""
    e = np.where(u < 0, e, 0.0)
    return np.where((e < 1) & (-e * u < slow), 0.0, e)


def _one_by_one(G, u, mu, e, slow, normal) -> Impact:
    """Blocks strike until none approaches; what is left of that by then is slow, and stops."""
    n, impulse = len(mu), np.zeros_like(u)
    for _ in range(IMPACTS):
        now = u + G @ impulse
        approach = np.where(now[normal] < -slow, now[normal], 0.0)
        if not approach.any():
            break
        i = int(np.argmin(approach))
        row, back = normal[i], _rebounds(now[normal], e, slow)[i] * approach[i]
        if i >= n:
            impulse[row] -= (now[row] + back) / G[row, row]
            continue
        rows, force = slice(row, row + 3), np.zeros(3)
        for _ in range(LOCAL):
            force = local(G[rows, rows], now[rows] + [back, 0.0, 0.0], mu[i], force)
        impulse[rows] += force
    left = impact("together", G, now, mu, np.zeros_like(e), slow)
    return left._replace(impulse=impulse + left.impulse, solved=left.solved and not approach.any())
