"""The accurate solution of Coulomb's problem, for numbers: what a simulation takes.

    warm        a few Newton steps from the λ of a similar problem
    first       the interior point, then Newton steps and rounds of Gauss-Seidel in turn
    infeasible  what is not solved by then may have no solution: `least_violation` proves it, and the nearest problem that has one is solved
    scattered   Newton's method from many λ around the best so far, all at once
    again       the interior point with shorter steps and more rounds, for the few that are left
    sticking    of a solution that slides, found from nothing: if one exists in which nothing slides, it is taken

Problems of many points are solved for those that matter: the fastest to close, then others that close with their forces.
"""

from typing import NamedTuple

import numpy as np

from ...errors import ShapeError
from ...lie.scalars import working_dtype
from ..cone import blocks, flat, in_disc, mean_compliance, nonzero, norm, residual, residuals, speed, times
from ..problem import contacts
from .feasible import least_violation
from .gauss_seidel import one_round
from .interior import interior
from .least_norm import least_norm
from .newton import descent

ATTEMPTS = (0.98, 0.9, 35), (1.0, 0.6, 150), (0.98, 0.9, 150)  # θ, part of the way to the cones, rounds
POLISH, LONGER = 5, 15  # rounds of one Newton step and one of Gauss-Seidel, after the first attempt and after others
FINISH = 2  # Newton steps at the end
WARM = 10  # Newton steps, at most, from a solution of a similar problem, before anything else
GOOD = 1e-6  # the residual of what is called converged
STARTS, STEPS = 512, 30  # of Newton's method from many λ: how many of them, times contacts, and steps of each
AGAIN = 1e-8  # what is above that is tried again
SAME = 1e-9  # of the velocity of a problem: less than that is none
ENOUGH = 1e-10  # and where a search ends
FINE = 1e-14  # Newton steps from a good solution go on until there
STICKING = 20  # rounds of the interior point for forces without sliding
SINGULAR = 1e-11
GIVING = 1e-8  # of the mean compliance of a contact: what normals that cannot be kept give way
FEW, MORE = 60, 20  # contacts that a problem of many begins with, and that it takes on at a time


class ConeSolution(NamedTuple):
    """Forces of a contact problem, and how good they are."""

    force: np.ndarray  # (..., 3n) n, t1, t2 of each contact
    velocity: np.ndarray  # (..., 3n) G λ + b
    residuals: np.ndarray  # (..., 3) Signorini, cone, dissipation, relative to the velocity of the problem
    rounds: np.ndarray  # (...)
    converged: np.ndarray  # (...)
    violation: np.ndarray  # (..., n) how fast normals approach, at least, where no velocities keep them all; else zero

    @property
    def infeasible(self) -> np.ndarray:
        """Where it is proved that there is no solution: no velocities have u_n ≥ 0 at all contacts."""
        return np.asarray((self.violation > 0).any(-1))


def solve_contacts(G, b, mu, force=None, *, tolerance: float = GOOD) -> ConeSolution:
    """Solve u = G λ + b with Signorini's condition and Coulomb's law at each contact; rows (n, t1, t2) of each contact.

    G (..., 3n, 3n), b (..., 3n), mu (..., n) or a number; leading axes are a batch. `force` is the λ of a similar problem, to start from.
    Where forces are not unique, as under a table with four legs, they are those with the least norm, unless these leave the
    cones. Where velocities are not unique, one without sliding is taken, if there is one and `force` does not lead to another.
    A sample that is not `converged` has the best λ found and says by its residuals how good it is. If it is `infeasible`, no velocities
    keep all contacts apart, as of a body jammed between two that do not move: its λ are those of contacts that may approach with the
    least `violation`. With friction a problem may have no solution for other reasons (Painlevé).
    """
    G, b, mu, force = _checked(G, b, mu, force)
    batch, m = b.shape[:-1], b.shape[-1]
    if not m:
        return ConeSolution(b, b, np.zeros((*batch, 3)), np.zeros(batch, int), np.ones(batch, bool), b)
    G, b, mu = G.reshape(-1, m, m), b.reshape(-1, m), mu.reshape(-1, m // 3)
    force = None if force is None else force.reshape(-1, m)
    with np.errstate(all="ignore"):
        if m <= 3 * FEW:
            found, rounds, lack = _solved(G, b, mu, force)
            found = least_norm(contacts(G, b + flat(lack[..., None] * [1.0, 0.0, 0.0]), mu), found)
        else:
            found, rounds, lack = _one_by_one(G, b, mu, force)
        left = residuals(G, b, mu, found)
    return ConeSolution(
        found.reshape(*batch, m), (times(G, found) + b).reshape(*batch, m), left.reshape(*batch, 3), rounds.reshape(batch),
        (left.max(-1) <= tolerance).reshape(batch), lack.reshape(*batch, m // 3),
    )  # fmt: skip


def _checked(G, b, mu, force):
    G, b, mu = (np.asarray(x) for x in (G, b, mu))
    m, kind = b.shape[-1] if b.ndim else -1, working_dtype(G, b)
    if m % 3 or G.shape[-2:] != (m, m) or (mu.ndim and mu.shape[-1] != m // 3):
        raise ShapeError(
            "solve_contacts takes G (..., 3n, 3n), b (..., 3n), and mu (..., n) or a number, for n contacts; "
            f"they have shapes {G.shape}, {b.shape}, {mu.shape}."
        )
    if (mu < 0).any():
        raise ShapeError(f"mu is {mu.min()}; a coefficient of friction is not negative.")
    batch = np.broadcast_shapes(G.shape[:-2], b.shape[:-1], mu.shape[:-1])
    if force is not None:
        force = np.broadcast_to(np.asarray(force, kind), (*batch, m))
    G, b = np.broadcast_to(G, (*batch, m, m)).astype(kind), np.broadcast_to(b, (*batch, m)).astype(kind)
    return G, b, np.broadcast_to(mu, (*batch, m // 3)).astype(kind), force


class _Search:
    """The best λ of each sample so far, and the rounds it took."""

    def __init__(self, G, b, mu, force):
        self.G, self.b, self.mu = G, b, mu
        self.first = np.zeros_like(b) if force is None else force
        self.best = self.first.copy()
        self.left, self.rounds = residual(G, b, mu, self.best), np.zeros(len(b), int)
        self.enough = max(ENOUGH, 100 * float(np.finfo(b.dtype).eps))

    def wanting(self, bound=0.0):
        return np.flatnonzero(~(self.left <= max(bound, self.enough)))

    def give_way(self, row, b, G):
        """Take another problem in place of one that has no solution."""
        self.G, self.b = self.G.copy(), self.b.copy()
        self.G[row], self.b[row], self.left[row] = G, b, np.inf

    def keep(self, rows, new):
        size = residual(self.G[rows], self.b[rows], self.mu[rows], new)
        better = size < self.left[rows]
        self.best[rows[better]], self.left[rows[better]] = new[better], size[better]

    def step(self, method, rows):
        if len(rows):
            self.keep(rows, method(self.problem(rows), self.best[rows]))

    def problem(self, rows):
        return contacts(self.G[rows], self.b[rows], self.mu[rows])

    def newton(self, rows):
        self.step(newton_step, rows)
        self.rounds[rows] += 1

    def attempt(self, rows, theta, back, most, polish=POLISH):
        """The interior point from nothing, and the polish of what it found."""
        new, _, count = interior(self.problem(rows), most, None, self.enough, theta=theta, back=back)
        self.polish(rows, new, count, polish)

    def scatter(self, row, seed):
        """Newton's method from many λ in the cones around the best and the first. Of those that it solves, the one nearest to the best."""
        G, b, mu, best = self.G[row], self.b[row], self.mu[row], self.best[row]
        rng, many = np.random.default_rng(seed), max(8, STARTS // len(mu))
        L = blocks(np.stack([best, self.first[row]])[np.arange(many) % 2])
        far = 10.0 ** rng.uniform(-2.0, 0.3, (many, 1, 1))
        size = np.maximum(np.abs(L[..., :1]).mean(-2, keepdims=True), 1e-3 * speed(b) / nonzero(mean_compliance(G).mean()))
        L = L * (1 + far * rng.normal(size=(*L.shape[:-1], 1))) + far * size * rng.normal(size=L.shape) * [0.15, 0.5, 0.5]
        normal = np.abs(L[..., 0])
        L = flat(np.concatenate([normal[..., None], in_disc(L[..., 1:], mu * normal)], -1))
        Gs, bs, mus = (np.broadcast_to(x, (many, *x.shape)) for x in (G, b, mu))
        found, count = descent(contacts(Gs, bs, mus), L, STEPS, FINE)
        left = residual(G, b, mu, found)
        nearest = np.lexsort((np.abs(found - best).max(-1), left > self.enough))[0]
        self.keep(np.array([row]), found[[nearest if left[nearest] <= self.enough else np.argmin(left)]])
        self.rounds[row] += int(np.minimum(count, STEPS).max())

    def polish(self, rows, new, count, most):
        found = _Search(self.G[rows], self.b[rows], self.mu[rows], new)
        for _ in range(most):
            wanting = found.wanting()
            found.newton(wanting)
            found.step(one_round, wanting)
        self.keep(rows, found.best)
        self.rounds[rows] += count + found.rounds


def newton_step(p, force):
    return descent(p, force)[0]


def _solved(G, b, mu, force):
    """λ, rounds and violations: what is good after a few steps from a warm start is done, the rest goes the long way."""
    search, lack = _Search(G, b, mu, force), np.zeros_like(mu)
    warm = np.flatnonzero(search.best.any(-1))  # from nothing, Newton's method may find any of several solutions
    if len(warm):
        new, count = descent(search.problem(warm), search.best[warm], WARM, FINE)
        search.keep(warm, new)
        search.rounds[warm] += np.minimum(count, WARM)
    cold = search.wanting(0.0 if force is None else SAME)
    if len(cold):
        search.attempt(cold, *ATTEMPTS[0])
    for row in search.wanting(GOOD):
        lack[row] = least_violation(G[row], b[row])
        if lack[row].any():
            search.give_way(row, *_nearest(G[row], b[row], lack[row]))
            search.attempt(np.array([row]), *ATTEMPTS[0])
    for number, how in enumerate(ATTEMPTS):
        again = search.wanting(AGAIN)
        again = again[~lack[again].any(-1)]
        if len(again) and number:
            search.attempt(again, *how, LONGER)
        for row in np.intersect1d(again, search.wanting(AGAIN)):
            search.scatter(row, number)
    if len(cold):
        _without_sliding(search, cold)
    for _ in range(FINISH):
        search.step(newton_step, np.flatnonzero((search.left > FINE) & (search.left <= search.enough)) if force is None else cold[:0])
    return search.best, search.rounds, lack


def _nearest(G, b, lack):
    """b and G of contacts that may approach with their violation, and give way a little: forces that hold each other have an end."""
    normal = flat(np.stack([GIVING * mean_compliance(G), 0 * lack, 0 * lack], -1))
    return b + flat(lack[:, None] * [1.0, 0.0, 0.0]), G + np.diag(normal)


def _without_sliding(search: _Search, rows):
    """Where a contact slides in the λ found: λ with u = 0 at all contacts that close, if there are such λ in the cones.

    They make ½ λ* G λ + b* λ least in the cones: a convex problem, which is only solved where G λ = −b has more than one solution.
    """
    G, b, mu = search.G, search.b, search.mu
    slip = norm(blocks(times(G, search.best) + b)[..., 1:]) * (blocks(search.best)[..., 0] > 0)
    rows = rows[(slip[rows] > SAME * speed(b)[rows, None]).any(-1)]
    closing = b[:, ::3] < 0
    for pattern in np.unique(closing[rows], axis=0):
        some, on = rows[(closing[rows] == pattern).all(-1)], np.flatnonzero(np.repeat(pattern, 3))
        if not len(on):
            continue
        g, c, friction = G[some][:, on[:, None], on], b[some][:, on], mu[some][:, pattern]
        held = -times(np.linalg.pinv(g, rcond=SINGULAR), c)
        possible = np.abs(times(g, held) + c).max(-1) <= SAME * speed(c)
        some, g, c, friction, held = (x[possible] for x in (some, g, c, friction, held))
        if not len(some):
            continue
        outside = residual(g, c, friction, held) > SAME
        unsure = outside & (np.linalg.matrix_rank(g, rtol=SINGULAR) < len(on))
        if unsure.any():
            held[unsure] = interior(contacts(g[unsure], c[unsure], friction[unsure]), STICKING, None, SAME, convex=True)[0]
        held = descent(contacts(g, c, friction), held, WARM, FINE)[0]
        new = np.zeros_like(b[some])
        new[:, on] = held
        left = residual(G[some], b[some], mu[some], new)
        good = (left <= SAME) & (norm(blocks(times(g, held) + c)[..., 1:]).max(-1) <= SAME * speed(c))
        search.best[some[good]], search.left[some[good]] = new[good], left[good]


def _one_by_one(G, b, mu, force):
    """Problems of many contacts: of each the contacts that close fastest, and those that then close too."""
    found, rounds, lack = np.zeros_like(b), np.zeros(len(b), int), np.zeros_like(mu)
    for row in range(len(b)):
        found[row], rounds[row], lack[row] = _selected(G[row], b[row], mu[row], None if force is None else force[row])
    return found, rounds, lack


def _selected(G, b, mu, force):
    lack = least_violation(G, b)
    if lack.any():
        b, G = _nearest(G, b, lack)
    found, rounds = np.zeros_like(b) if force is None else force.copy(), 0
    chosen, normal = found[::3] > 0, b[::3] / np.sqrt(np.maximum(mean_compliance(G), 1e-300))
    chosen[np.argsort(normal)[:FEW]] = True
    while True:
        rows = np.flatnonzero(np.repeat(chosen, 3))
        part, count, _ = _solved(G[None, rows[:, None], rows], b[None, rows], mu[None, chosen], found[None, rows])
        found, rounds = np.zeros_like(b), rounds + int(count[0])
        found[rows] = part[0]
        u = G @ found + b
        left = np.where(chosen, 0.0, u[::3])
        more = np.argsort(left)[:MORE]
        more = more[left[more] < -ENOUGH * speed(b)]
        if not len(more):
            break
        chosen[more] = True
    rows = np.flatnonzero(np.repeat(u[::3] <= SAME * speed(b), 3))  # all that touch share the load
    if len(rows):
        found[rows] = least_norm(contacts(G[rows[:, None], rows], b[rows], mu[rows[::3] // 3]), found[rows])
    return found, rounds, lack
