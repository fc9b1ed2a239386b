"""What is at rest, held by forces, and what happens at an event: one problem for joint limits, dry friction of joints and contacts.

    a = 𝓒 (f + J* λ) + a free,    low ≤ f ≤ high: of dry friction [−c, c], of a limit one side only;    λ in Coulomb's cone    (11.51)

The forces along joints are scalar rows beside the contacts (`contact/solver/accurate.py`). The impulses of all that strikes at one time are
one problem (`contact/solver/impacts.py`). Loops and drives are in the compliance 𝓒.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...contact.cone import blocks
from ...contact.solver.accurate import RowSolution, solve_rows
from ...contact.solver.impacts import impact
from ...errors import ConstraintError, SimulationError
from ..rates.compliance import BOUND, compliance, mobile
from .contact_events import ROUNDED, Touching
from .failure import Failure
from .sharing import shared, without_effect

if TYPE_CHECKING:
    from .stops import Stops

REST = 1e-4  # of the fastest impact at a limit: a rebound slower than that is none
LOOSE = 1e-6  # of a bound: how near to it forces are that let go together
RANK = 1e-10  # of the largest singular value of a compliance: directions below it are held twice
MOVED_ON = "other constraints or a drive move it on"


# --- between events


def hold(stops: "Stops", t: float, q, v, vdot, free) -> None:
    """Make accelerations zero of joints at rest and of closed points, by forces: v̇ + 𝓒 F z; `free` has v̇ before, of what is held."""
    rows = stops.rows
    free[rows] = vdot[rows]
    try:
        stops.inverse = compliance(stops.robot, q, t)
    except ConstraintError:  # no state of the mechanism: the step is too long
        vdot[:] = np.nan
        return
    if stops.presses:
        free[:] = vdot
        _press(stops, q, v, vdot)
    else:
        stops.force = np.linalg.solve(stops.inverse[np.ix_(rows, rows)], -vdot[rows])
        vdot += stops.inverse[:, rows] @ stops.force
    vdot[stops.rest] = 0.0


def _press(stops: "Stops", q, v, vdot) -> None:
    """The same with closed points. Of forces that are not unique, those are taken that differ least from the chosen ones."""
    N, bias, F, E, z = _held(stops, q, v)
    k = E.shape[1]
    left = N @ (vdot + stops.inverse @ (F @ z))
    left[:k] += bias
    if not np.isfinite(left).all():
        vdot[:] = np.nan
        return
    z = z - np.linalg.lstsq(N @ stops.inverse @ F, left, rcond=RANK)[0]
    assert stops.points is not None
    vdot += stops.inverse @ (F @ z)
    stops.points.force, stops.force = blocks(E @ z[:k]), z[k:]


def _held(stops: "Stops", q, v):
    """Of all that is held: rows N of zero acceleration and joint forces F, closed points first; J̇ v and places E of the forces of these;
    and all forces where it was chosen what rests."""
    assert stops.points is not None
    N, bias, F, E, z = stops.points.unknowns(q, v)
    unit = np.eye(stops.robot.nv)[stops.rows]
    return np.concatenate([N, unit]), bias, np.concatenate([F, unit.T], 1), E, np.concatenate([z, stops.points.rows[stops.rows]])


def share(stops: "Stops", q, v) -> None:
    """Where a force that has just been found is beyond its bounds or its cone, find those with the most room that do the same: a body is
    held as long as there are some."""
    points = stops.points
    assert points is not None
    _, _, F, E, _ = _held(stops, q, v)
    k = E.shape[1]
    cones, bounds = points.bounds(E)
    low, high = stops.bounds[:, stops.rows]
    bounds += [(k + i, sign, sign * x) for i in range(len(low)) for sign, x in ((1.0, low[i]), (-1.0, high[i])) if np.isfinite(x)]
    z = np.concatenate([(E.T @ points.force.ravel()) / (E * E).sum(0), stops.force])
    rooms = [sign * z[i] - x for i, sign, x in bounds] + [mu * z[i] - np.hypot(*z[i + 1 : i + 3]) for i, mu in cones]
    points.critical, points.room = np.zeros(points.n, bool), None
    if not min(rooms) <= 0:
        return
    Z = without_effect(stops.inverse, F)
    if not Z.shape[1]:
        return
    best = shared(Z, z, bounds, cones)
    points.force, stops.force = blocks(E @ best.force[:k]), best.force[k:]
    points.critical[points.sticking], points.room = best.critical, best.room


# --- impacts


def strike(stops: "Stops", i: int | None, t: float, q, v) -> tuple[np.ndarray, np.ndarray]:
    """q and v after joint i has struck its limit, or a point something, with all joints and points that are there by then.

        side v' ≥ −e side v,   impulse ≥ 0,   the one or the other zero;   Coulomb's law at contacts

    Without friction energy is never gained: 2 ΔT = Σ (v' + v) · impulse, and (v' + v) = (1 − e) v where the impulse is not zero.
    """
    robot, points = stops.robot, stops.points
    rows, side = stops.struck(i, q, v)
    before = side * v[rows]
    near, approach = (np.zeros(0, bool),) * 2 if points is None else points.striking(q, v)
    if not (before < 0).any() and not approach.any():
        return q, v
    fast = before < -REST * stops.fastest[rows]
    stops.tell(rows[fast], side[fast], approach)
    stops.fastest[rows] = np.maximum(stops.fastest[rows], -before)
    e, slow, mu, law = np.full(len(rows), stops.restitution or 0.0), REST * stops.fastest[rows], np.zeros(0), "together"
    J = side[:, None] * np.eye(len(v))[rows]
    if points is not None:
        law, mu, own = points.law, points.mu[near], points.strike(near, approach, q, v)
        e, slow, J = (np.concatenate(both) for both in zip(own, (e, slow, J)))
    inverse = mobile(robot, compliance(robot, q, t), q)
    response = inverse @ J.T
    found = impact(law, J @ response, J @ v, mu, e, slow)
    if not found.solved:
        raise _unsolved(stops, t, near, rows, "impact", f"{stops.names(rows)} cannot stop at a limit", found.residual)
    v += response @ found.impulse
    v[rows[found.known]] = (side * found.after)[found.known]
    if robot.constraints is not None:
        q, v = robot.constraints.put_back(q, v, t, rows[found.known].tolist())
    if near.any():
        stops.settle(v)
    return q, v


def _unsolved(stops: "Stops", t: float, points, rows, what: str, joints: str, left: float) -> Exception:
    """What to raise where a problem has no solution."""
    if stops.points is None or not points.any():
        return Failure(f"{joints}: {MOVED_ON}", complete=True)
    also = f" with {stops.names(rows)} at rest" if len(rows) else ""
    return SimulationError(
        f"t = {t:.9g} s: contacts {stops.points.named(points)}{also} have no {what} (Painlevé, or {MOVED_ON}): residual {left:.2g}. "
        'Steps with method="contact" go on, by an impulse.'
    )


# --- which of those at rest are held


def without_drift(stops: "Stops | None", t: float, q, v) -> np.ndarray:
    """v where a smooth motion ends, without the velocities that errors of its steps have left in closed points: taken for real, they
    would open such a point, or make it strike."""
    if stops is None or not stops.presses:
        return v
    return _at_rest(stops, q, v, mobile(stops.robot, compliance(stops.robot, q, t), q))


def choose(stops: "Stops", t: float, q, v, flow) -> tuple[np.ndarray, np.ndarray]:
    """Find which of the joints and points that are not moving are held, and by what forces; the others start to slide or leave.

    Returns q and v, which change only if a point strikes here, or is put to rest.
    """
    robot, points = stops.robot, stops.points
    stops.go_to(t)
    if points is not None and points.striking(q, v)[1].any():
        q, v = strike(stops, None, t, q.copy(), v.copy())
    low, high = stops.bounds_at(q, v)
    rows = np.flatnonzero((v == 0) & (low < high))
    stops.sliding = np.where(stops.dry > 0, np.sign(v), 0.0)
    stops.sliding[rows] = 0.0
    was, touch = np.zeros(0, bool), None
    if points is not None:
        was, touch = points.closed, points.touching(q, v, points.closed)
    stops.hold_none()
    flow.refresh()
    if not len(rows) and (touch is None or not touch.touches.any()):
        return q, v
    free, _ = flow.at(t, q, v)
    if not np.isfinite(free).all():
        return q, v
    stops.push = np.maximum(stops.push, np.abs(free).max())
    inverse = mobile(robot, compliance(robot, q, t), q)
    moved = np.diag(inverse)[rows] > 0
    free = np.where(np.abs(free) <= BOUND * np.abs(free).max(), 0.0, free) if not moved.all() else free
    low, high = low[rows], high[rows]
    low, high = (np.where(moved | np.isinf(x), x, 0.0) for x in (low, high))  # friction of a driven joint moves nothing
    found = _solve(stops, _problem(inverse, free, rows, touch), low, high, rows, touch)
    while points is not None and touch is not None and points.takes_back(touch, free + inverse @ _joint_forces(found, rows, touch), free):
        touch = points.touching(q, v, was)
        found = _solve(stops, _problem(inverse, free, rows, touch), low, high, rows, touch)
    ways = np.where(moved, np.where(found.z == low, 1.0, -1.0), np.sign(found.w))
    stops.sliding[rows] = np.where(found.between, 0.0, ways) * (stops.dry[rows] > 0)
    stops.off[:] = False
    stops.off[rows[~found.between]] = True
    if points is not None and touch is not None:
        points.take(touch, found.contact, found.rate, free)
        points.rows[rows] = found.z
    _hold_rows(stops, rows, found, low, high, inverse, q, v)
    flow.refresh()
    return q, _at_rest(stops, q, v, inverse)


def _problem(inverse, free, rows, touch: Touching | None) -> Callable[..., RowSolution]:
    """The problem of closed points and of joints at rest, a function of the bounds (low, high) of the latter."""
    if touch is None:
        return partial(solve_rows, inverse[np.ix_(rows, rows)], free[rows], np.zeros(0))
    J, bias, closed = touch.J, touch.bias, np.repeat(touch.closed, 3)
    R = np.concatenate([J[closed], np.eye(len(free))[rows]])
    b = np.concatenate([J[closed] @ free + bias[closed], free[rows]])
    return partial(solve_rows, R @ inverse @ R.T, b, touch.mu[touch.closed], slip=touch.slip[touch.closed])


def _joint_forces(found: RowSolution, rows, touch: Touching) -> np.ndarray:
    """τ of a solution."""
    tau = touch.J[np.repeat(touch.closed, 3)].T @ found.contact.ravel()
    tau[rows] += found.z
    return tau


def _solve(stops: "Stops", problem, low, high, rows, touch: Touching | None) -> RowSolution:
    """The solution in which rows that have just been let go stay so, unless they would move the wrong way, and those that have
    just been caught are held, unless that takes more than they can.

    Where forces have just come to their bounds there are several solutions, of which not all remain ones.
    """
    pinned = _pinned(stops, problem, low, high, rows)
    caught = stops.caught[rows]
    least, most = np.where(caught, low - BOUND * np.abs(low), low), np.where(caught, high + BOUND * np.abs(high), high)
    while True:
        kept = ~np.isnan(pinned)
        found = problem(np.where(kept, pinned, least), np.where(kept, pinned, most))
        if found.solved:
            wrong = kept & (np.where(pinned == low, -found.w, found.w) > BOUND * stops.push)
            if not wrong.any():
                return found._replace(z=np.clip(found.z, low, high))
            pinned[wrong] = np.nan
        elif kept.any():
            pinned[:] = np.nan
        else:
            closed = np.zeros(0, bool) if touch is None else touch.closed
            said = f"no force holds {stops.names(rows)} at its limit"
            raise _unsolved(stops, stops.time, closed, rows, "accelerations", said, found.residual)


def _pinned(stops: "Stops", problem, low, high, rows) -> np.ndarray:
    """The forces of rows that are let go at this time, which are at a bound; not a number for other rows.

    Of joints that share the work of holding, those move off that do so if all bounds are a little narrower.
    """
    if stops.loosens:
        inner = [np.where(np.isfinite(x), x + sign * LOOSE * np.abs(x), x) for x, sign in ((low, 1), (high, -1))]
        found = problem(*inner)
        moves = found.solved & (np.abs(found.w) > BOUND * LOOSE * stops.push)
        stops.let_go[rows[moves]] = np.where(found.w > 0, low, high)[moves]
    return stops.let_go[rows]


def _hold_rows(stops: "Stops", rows, found, low, high, inverse, q, v) -> None:
    """Hold the rows whose forces are between bounds; other rows at rest that depend on them rest too."""
    stops.rows, stops.force = rows[found.between], found.z[found.between]
    stops.bounds[:, rows] = low, high
    others = rows[~found.between & (np.diag(inverse)[rows] > 0)]
    left = np.diag(inverse)[others] - _taken(stops, inverse, others, q, v)
    stops.rest = np.sort(np.concatenate([stops.rows, others[left <= BOUND * np.diag(inverse)[others]]]))
    unbounded = dict(zip(rows.tolist(), zip(np.isinf(high), np.isinf(low))))
    resting = set(stops.rest.tolist())
    stops.stopped = np.array([x.rate in resting and bool(unbounded[x.rate][x.side < 0]) for x in stops.limits], bool)


def _taken(stops: "Stops", inverse, others, q, v) -> np.ndarray:
    """What the rows and points that are held take of the compliance of other rows."""
    if not stops.presses:
        along = inverse[np.ix_(others, stops.rows)]
        return np.einsum("ij,ij->i", along, np.linalg.solve(inverse[np.ix_(stops.rows, stops.rows)], along.T).T)
    N, _, F, *_ = _held(stops, q, v)
    part = np.linalg.lstsq(N @ inverse @ F, N @ inverse[:, others], rcond=RANK)[0]
    return np.einsum("ij,ji->i", inverse[others] @ F, part)


def _at_rest(stops: "Stops", q, v, inverse) -> np.ndarray:
    """v without what rounding, or a slip that has ended, leaves in closed points."""
    if not stops.presses:
        return v
    N = _held(stops, q, v)[0]
    left = N @ v
    if np.abs(left).max() <= ROUNDED * np.abs(v).max() + np.spacing(1.0):
        return v
    v = v - inverse @ N.T @ np.linalg.lstsq(N @ inverse @ N.T, left, rcond=RANK)[0]
    v[stops.rest] = 0.0
    stops.settle(v)
    return v
