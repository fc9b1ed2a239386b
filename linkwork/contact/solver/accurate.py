"""The accurate solution of a problem of contacts and single rows, for numbers: joint limits, dry friction, what is at rest.

    u = b + G z,    contacts: Signorini's condition and Coulomb's law,    rows: low ≤ z ≤ high,
    u ≥ 0 where z = low,  u ≤ 0 where z = high,  u = 0 in between                                        Jain (11.51)

Three rows of each contact come first, then the others. Without contacts this is `lcp`.
"""

from typing import NamedTuple

import numpy as np

from ..cone import blocks, norm, times
from ..kinds import Bounded, Contact, Equality, Sliding, Unilateral
from ..problem import AsContacts, Matrix, Problem
from .complementarity import ZERO, lcp
from .least_norm import least_norm
from .newton import descent, newton
from .solve import FINE, FINISH, SAME, WARM, ConeSolution, solve_contacts

AT_BOUND = 1e-8  # of the forces of a row: one nearer to its bound than that is there


class RowSolution(NamedTuple):
    """Forces of contacts and of scalar rows, and what they make of u."""

    contact: np.ndarray  # (..., n, 3)
    rate: np.ndarray  # (..., n, 3) u of the contacts
    z: np.ndarray  # (..., m) the forces of the rows
    w: np.ndarray  # (..., m) and their u
    between: np.ndarray  # (..., m) rows whose force is between its bounds and makes u zero
    solved: np.ndarray  # (...)
    residuals: np.ndarray  # (..., 3)
    rounds: np.ndarray  # (...)

    @property
    def residual(self) -> float:
        return float(self.residuals.max())


def solve_rows(G, b, mu, low=(), high=(), slip=None) -> RowSolution:
    """Solve problems of n contacts and m rows: G (..., 3n + m, 3n + m), b (..., 3n + m), mu (n,), low and high (m,).

    `slip` (..., n, 2) are the velocities of contacts that slide, zero for those that do not: for accelerations, in which the friction of
    what slides is known. The same contacts slide in all samples.
    """
    n, low, high = len(mu), np.asarray(low, float), np.asarray(high, float)
    if not n:
        rows, none = lcp(G, b, low, high), np.zeros((*b.shape[:-1], 0, 3))
        left = np.where(rows.solved, 0.0, np.inf)[..., None]
        return RowSolution(none, none, rows.z, rows.w, rows.between, rows.solved, left, 0 * rows.solved)
    start, forces, p = _problem(G, b, mu, low, high, np.zeros((n, 2)) if slip is None else slip)
    solution = accurate(p)
    return _classified(G, b, n, low, high, start + times(forces, solution.force), solution)


def accurate(p: Problem, force=None) -> ConeSolution:
    """The forces of a problem: by Newton's method from `force`, the solution of a similar problem, if there is one and that leads to one;
    else by `solve_contacts`, each row as a contact. Equalities, which come last, are eliminated."""
    if isinstance(p.kinds[-1], Equality):
        return _with_equalities(p)
    if force is not None and force.any():
        with np.errstate(all="ignore"):
            near, rounds = descent(p, force, WARM, FINE)
            if not p.residual(near) <= SAME:
                near, rounds = newton(p, force, 2 * WARM, SAME)
                near, _ = descent(p, near, FINISH, FINE)
            near = least_norm(p, near) if p.residual(near) <= SAME else near
            u = p.velocities(near)
        if (left := p.left(u, near)) <= SAME:
            none = np.zeros_like(near, shape=sum(len(kind.g) for kind in p.kinds))
            return ConeSolution(near, u, left * np.array([1.0, 0.0, 0.0]), rounds, np.array(True), none)
    best: ConeSolution | None = None
    for gentle in (True, False) if any(isinstance(kind, Bounded) for kind in p.kinds) else (True,):
        q = AsContacts(p, gentle=gentle)
        solution = solve_contacts(q.G, q.b, q.mu, None if force is None else q.force(force))
        if best is None or (solution.residuals.max() < best.residuals.max() and np.isfinite(solution.force).all()):
            best = solution._replace(force=q.own(solution.force))
        if best.converged.all():
            break
    assert best is not None
    return best


def closing(p: Problem, force) -> ConeSolution:
    """`accurate` of the rows that can matter: those that would close by themselves, those that were pressed before, others that then turn
    out to close, and all that have no gap. A robot may have hundreds of points, of which a few touch."""
    whole, rounds, u = np.zeros_like(force), np.zeros((), int), p.b
    pressed = p.by_kind("acts", np.where(force > 0, -1.0, 0.0))
    closes = [x | y for x, y in zip(p.by_kind("acts", u), pressed)]
    while any(x.any() for x in closes):
        rows = np.concatenate([np.repeat(x, kind.each) for kind, x in zip(p.kinds, closes)])
        solution = accurate(p.selected(closes), force[rows])
        rounds = rounds + solution.rounds
        whole[rows] = solution.force
        more = [x | y for x, y in zip(closes, p.by_kind("acts", p.velocities(whole)))]
        if all((x == y).all() for x, y in zip(more, closes)):
            return solution._replace(force=whole, rounds=rounds)
        closes, whole = more, np.zeros_like(force)
    return ConeSolution(whole, u, np.zeros(3), np.zeros((), int), np.array(True), np.zeros(0))


def _with_equalities(p: Problem) -> ConeSolution:
    G, b, last = p.matrix, p.b, p.slices[-1]
    rest, inverse = slice(0, last.start), np.linalg.pinv(G[..., last, last], rcond=ZERO)
    ratio = G[..., rest, last] @ inverse
    reduced = Problem(p.kinds[:-1], Matrix(G[..., rest, rest] - ratio @ G[..., last, rest]))
    solution = accurate(reduced.plus(-times(ratio, b[..., last])))
    equal = -times(inverse, b[..., last] + times(G[..., last, rest], solution.force))
    return solution._replace(force=np.concatenate([solution.force, equal], -1))


def _problem(G, b, mu, low, high, slip):
    """Start, F and the problem of what is not known: z, with forces start + F z and velocities N* u. Rows of one bound begin there."""
    n, m, slides = len(mu), len(low), norm(slip).reshape(-1, len(mu))[0] > 0
    fixed, two, free = low == high, np.isfinite(low) & np.isfinite(high), np.isinf(low) & np.isinf(high)
    end = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0))
    start = np.concatenate([np.zeros(3 * n), np.where(two & ~fixed, 0.0, end)])
    unit, e = np.eye(3 * n + m), slip / np.where(slides, norm(slip), 1.0)[..., None]
    along = unit[:, : 3 * n].reshape(-1, n, 3) * Sliding.along(mu + 0.0 * e[..., 0], e)[..., None, :, :]
    side, rows = np.where(np.isfinite(low), 1.0, -1.0), unit[:, 3 * n :]
    stick, push, both = unit[:, : 3 * n][:, np.repeat(~slides, 3)], (side * rows)[:, ~(two | free)], two & ~fixed
    groups = [
        (stick, stick, lambda b, own: Contact(b, own, 0.0 * own, mu[~slides] + 0.0 * own)),
        (unit[:, 0 : 3 * n : 3][:, slides], along.sum(-1)[..., slides], Sliding),
        (push, push, Unilateral),
        (rows[:, both], rows[:, both], lambda b, own: Bounded(b, own, low[both], high[both])),
        (rows[:, free], rows[:, free], Equality),
    ]
    groups = [x for x in groups if x[0].shape[-1]]
    N, shape = np.concatenate([x[0] for x in groups], -1), slip.shape[:-2]
    F = np.concatenate([np.broadcast_to(x[1], (*shape, *x[1].shape[-2:])) for x in groups], -1)
    A, c, kinds, last = N.T @ G @ F, times(N.T, b + times(G, start)), [], 0
    own = np.diagonal(A, axis1=-2, axis2=-1)
    own = np.where(own > 0, own, np.abs(own).max(initial=0.0) or 1.0)
    for columns, _, kind in groups:
        here, last = slice(last, last + columns.shape[-1]), last + columns.shape[-1]
        g = own[..., here] if columns is not stick else blocks(own[..., here]).mean(-1)
        kinds.append(kind(c[..., here], g))
    return start, F, Problem(tuple(kinds), Matrix(A))


def _classified(G, b, n, low, high, force, solution: ConeSolution) -> RowSolution:
    """Forces as near to a bound as the solution is exact are there."""
    z, own = force[..., 3 * n :], np.diagonal(G, axis1=-2, axis2=-1)[..., 3 * n :]
    size = np.abs(z) + np.abs(b).max(-1, initial=0.0)[..., None] / np.where(own > 0, own, np.inf)
    below, above = z - low <= AT_BOUND * size, high - z <= AT_BOUND * size
    between = ~(below | above) & (low < high)
    force = np.concatenate([force[..., : 3 * n], np.where(below, low, np.where(above, high, z))], -1)
    u = times(G, force) + b
    w = np.where(between, 0.0, u[..., 3 * n :])
    contact, rate = blocks(force[..., : 3 * n]), blocks(u[..., : 3 * n])
    return RowSolution(contact, rate, force[..., 3 * n :], w, between, solution.converged, solution.residuals, solution.rounds)
