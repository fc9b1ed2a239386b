"""Back onto the constraints after a step: positions, then velocities (Müller and Terze, 5.3)."""

import numpy as np

from ...errors import ConstraintError
from ...operators.rigid import rigid
from ..rows.rank import RANK, Factored
from ..rows.set import ConstraintSet
from ..solution import return_to
from ..solution.arguments import sample_by_sample
from ..solution.at_state import INCONSISTENT, AtState, rank_tolerance
from ..solution.augmented import square_root
from ..solution.reduced import independent
from .assembly import CLOSED, closing

STEPS = 20


def project(set_: ConstraintSet, q, v, t=0.0, hold=(), tolerance=100 * CLOSED, nearest: bool = True):
    """(q, v) moved to the nearest state that keeps the constraints, in the metric of the mass matrix.

        q ← q ∘ exp(−𝓜⁻¹ Jc* (Jc 𝓜⁻¹ Jc*)⁻¹ c)         until c is rounding, then `return_to.nearest` until q is nearest
        v ← v − 𝓜⁻¹ Jc* (Jc 𝓜⁻¹ Jc*)⁻¹ (Jc v − U)

    Joints, or velocities, in `hold` stay as they are: the others alone take the correction. Constraints that contradict each
    other by no more than the tolerance are met in the least-squares sense: what no motion changes is left of c. Without `nearest` the
    first steps are all: what a run needs, whose states are so near to the constraints that the rest is rounding.
    """
    q, v = np.asarray(q, float), np.asarray(v, float)
    if q.ndim > 1 or v.ndim > 1:
        return tuple(sample_by_sample(lambda q, v: project(set_, q, v, t, hold, tolerance, nearest), (q, v), (1, 1), (0, 1)))
    free, start = set_.not_held(hold), q
    if not np.isfinite(q).all():
        return np.full_like(q, np.nan), np.full_like(v, np.nan)
    q = project_position(set_, q, t, free, tolerance)
    if nearest:
        closed = set_.rows(q, t=t)
        least = max(RANK, 10 * float(set_.misfit(closed.c)))  # as on the constraints: the way leads beside them, where few rows would count
        move = lambda q, w: shortest(set_, q, set_.rows(q, t=t), free, least, w)
        q, _ = return_to.nearest(move, set_.robot.integrate, set_.robot.difference, set_.yielding, start, q)
        q = project_position(set_, q, t, free, tolerance)  # the last step may have been a long one
    rows = set_.rows(q, t=t)
    change = correction(set_, q, rows.Jc, rows.Jc @ v - rows.U, free, rank_tolerance(set_, rows))
    check_velocity(set_, rows, v, change)
    return q, v - change


def tangent(set_: ConstraintSet, q, w, t=0.0):
    """Of velocities w (m, nv) at one q the part that constraints at rest allow, in the metric of the mass matrix."""
    rows = set_.rows(q, t=t)
    Jc, least = rows.Jc, rank_tolerance(set_, rows)
    return np.stack([x - correction(set_, q, Jc, Jc @ x, np.ones(len(x), bool), least) for x in w])


def check_velocity(set_: ConstraintSet, rows, v, change) -> None:
    """Velocities that were put on the constraints are there, or there are none."""
    left = np.abs(rows.Jc @ (v - change) - rows.U) / set_.scale
    size = ((np.abs(rows.Jc) @ (np.abs(v) + np.abs(change)) + np.abs(rows.U)) / set_.scale).max(initial=0.0)
    wrong = left > max(INCONSISTENT, 100 * float(set_.misfit(rows.c))) * size
    if wrong.any():
        raise ConstraintError(
            f"{set_.robot.model.name}: no velocity keeps {set_.names_of(wrong)} here (off by {(left * set_.scale).max():.3g}): they "
            "contradict each other, or the velocities that were to stay as they are forbid it."
        )


def lift(set_: ConstraintSet, q, v, t=0.0, tolerance=100 * CLOSED):
    """(q, v) moved onto the constraints by the dependent velocities alone, which are chosen there."""

    def one(q, v):
        hold = independent(AtState(set_, q, None, set_.rows(q, t=t)), t) if np.isfinite(q).all() else ()
        return project(set_, q, v, t, hold, tolerance, nearest=False)

    return tuple(sample_by_sample(one, (q, v), (1, 1), (0, 1)))


def project_position(set_: ConstraintSet, q, t, free, tolerance):
    rows = set_.rows(q, t=t)
    size = set_.misfit(rows.c)
    for _ in range(STEPS):
        if size <= 1e-15:
            break
        there = set_.robot.integrate(q, shortest(set_, q, rows, free))
        after = set_.rows_on_trial(there, t=t)
        if not set_.misfit(after.c) < 0.5 * size:
            break
        set_.check_numbers(after, there)
        q, rows, size = there, after, set_.misfit(after.c)
    if not size <= tolerance:  # so far away that rows which differ by as much were taken for one
        q, _ = closing(set_, q, t, lambda q, rows, least: shortest(set_, q, rows, free, least), tolerance)
        rows = set_.rows(q, t=t)
    if not set_.misfit(rows.c) <= tolerance:
        raise ConstraintError(
            f"{set_.robot.model.name} cannot be put back on its constraints: open are {', '.join(set_.bad(rows.c, CLOSED))}. "
            "The step was too long, the configuration is singular, or the constraints contradict each other by that much: then give "
            "a tolerance, simulate(..., loops=lw.Project(tolerance=1e-6)) or constraints.tolerating(1e-6), "
            "to meet them in the least-squares sense."
        )
    return q


def shortest(set_: ConstraintSet, q, rows, free, least=None, w=0.0):
    """The way dq nearest to w, in the metric of the mass matrix, that closes the constraints on positions to first order:
    dq = w − 𝓜⁻¹ Jc* (Jc 𝓜⁻¹ Jc*)⁻¹ (Jc w + c)."""
    keep, least = set_.holonomic, max(RANK, 10 * float(set_.misfit(rows.c))) if least is None else least
    return w - correction(set_, q, rows.Jc[keep], rows.c[keep] + (rows.Jc[keep] * w).sum(-1), free, least)


def correction(set_: ConstraintSet, q, Jc, d, free, least=RANK):
    """δ = 𝓜⁻¹ Jc* (Jc 𝓜⁻¹ Jc*)⁻¹ d, in the free velocities only; where a joint moves nothing with inertia, with radians and sizes of the
    mechanism in place of masses."""
    if not len(d):
        return np.zeros(len(free))
    out = np.zeros(len(free))
    if free.all() and not set_.massless:
        sko = rigid(set_.system, q)
        lam, _ = Factored(square_root(sko, Jc), least).solve(d)
        return sko.solve((Jc.T @ lam)[:, None])[:, 0]
    L = np.diag(1 / set_.yielding[free]) if set_.massless else np.linalg.cholesky(set_.robot.mass_matrix(q)[np.ix_(free, free)])
    W = np.linalg.solve(L, Jc[:, free].T).T
    lam, _ = Factored(W, least).solve(d)
    out[free] = np.linalg.solve(L.T, W.T @ lam)
    return out
