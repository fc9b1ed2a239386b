"""The accurate solution of Coulomb's problem, for numbers: what a simulation takes."""

from typing import NamedTuple

import numpy as np

from ..errors import ShapeError
from ..lie.scalars import working_dtype
from .cone import residual, residuals, times
from .gauss_seidel import gauss_seidel, one_round
from .interior import interior
from .least_norm import least_norm
from .newton import newton, newton_step

ROUNDS = 35  # of the interior point
THETAS = 0.98, 0.83, 0.98, 0.68  # of the interior point: the first alone, the others for problems that it did not solve
SEIDEL = 10  # rounds of Gauss-Seidel before those
POLISH = 5  # rounds of one Newton step and one of Gauss-Seidel
FINISH = 2  # Newton steps at the end
WARM = 10  # Newton steps, at most, from a solution of a similar problem, before anything else
GOOD = 1e-6  # the residual of what is called converged
ENOUGH = 1e-10  # and where a search ends
FINE = 1e-14  # Newton steps from a good solution go on until there


class ConeSolution(NamedTuple):
    """Forces of a contact problem, and how good they are."""

    force: np.ndarray  # (..., 3n) n, t1, t2 of each contact
    velocity: np.ndarray  # (..., 3n) G λ + b
    residuals: np.ndarray  # (..., 3) Signorini, cone, dissipation, relative to the velocity of the problem
    rounds: np.ndarray  # (...)
    converged: np.ndarray  # (...)


def solve_contacts(G, b, mu, force=None, *, tolerance: float = GOOD) -> ConeSolution:
    """Solve u = G λ + b with Signorini's condition and Coulomb's law at each contact; rows (n, t1, t2) of each contact.

    G (..., 3n, 3n), b (..., 3n), mu (..., n) or a number; leading axes are a batch. `force` is the λ of a similar problem, to start from.
    Where forces are not unique, as under a table with four legs, they are those with the least norm, unless these leave the
    cones. A sample that is not `converged` has the best λ found and says by its residuals how good it is: with friction a
    problem may have no solution (Painlevé) or several.
    """
    G, b, mu, force = _checked(G, b, mu, force)
    batch, m = b.shape[:-1], b.shape[-1]
    if not m:
        return ConeSolution(b, b, np.zeros((*batch, 3)), np.zeros(batch, int), np.ones(batch, bool))
    G, b, mu = G.reshape(-1, m, m), b.reshape(-1, m), mu.reshape(-1, m // 3)
    with np.errstate(all="ignore"):
        found, rounds = _found(G, b, mu, None if force is None else force.reshape(-1, m))
        found = least_norm(G, b, mu, found)
        left = residuals(G, b, mu, found)
    return ConeSolution(
        found.reshape(*batch, m), (times(G, found) + b).reshape(*batch, m), left.reshape(*batch, 3), rounds.reshape(batch),
        (left.max(-1) <= tolerance).reshape(batch),
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


def _found(G, b, mu, force):
    """λ and rounds: what is good after a few steps from a warm start is done, the rest goes the long way."""
    best = np.zeros_like(b) if force is None else force.copy()
    left, rounds = residual(G, b, mu, best), np.zeros(len(b), int)
    enough = max(ENOUGH, 100 * float(np.finfo(b.dtype).eps))

    def keep(rows, new):
        size = residual(G[rows], b[rows], mu[rows], new)
        better = size < left[rows]
        best[rows[better]], left[rows[better]] = new[better], size[better]

    def wanting(enough=enough):
        return np.flatnonzero(left > enough)

    def polish(count):
        for _ in range(count):
            if len(rows := wanting()):
                keep(rows, newton_step(G[rows], b[rows], mu[rows], best[rows]))
                keep(rows, one_round(G[rows], b[rows], mu[rows], best[rows]))
                rounds[rows] += 1

    if force is not None:
        new, count = newton(G, b, mu, best, WARM, FINE)
        keep(np.arange(len(b)), new)
        rounds += np.minimum(count, WARM)
    for theta in THETAS:
        if len(rows := wanting()):
            start = None
            if theta != THETAS[0]:
                start = gauss_seidel(G[rows], b[rows], mu[rows], best[rows], SEIDEL, 0.0)[0]
                keep(rows, start)
            new, _, count = interior(G[rows], b[rows], mu[rows], ROUNDS, start, tolerance=enough, theta=theta)
            keep(rows, new)
            rounds[rows] += np.minimum(count, ROUNDS)
            polish(POLISH)
    for _ in range(FINISH):
        if force is None and len(rows := np.flatnonzero((left > FINE) & (left <= enough))):
            keep(rows, newton_step(G[rows], b[rows], mu[rows], best[rows]))
    return best, rounds
