"""Joints that come to rest: against a limit, with a bounce, or by dry friction.

A joint at rest is held by whatever force keeps it so. The force has bounds, [−c, c] of friction, and a limit pushes one way only.
Which joints rest, and which move off, is one complementarity problem for all of them, solved wherever that may change:

    a = 𝓒 f + a free,    lo ≤ f ≤ hi,    a ≥ 0 where f = lo,  a ≤ 0 where f = hi,  a = 0 in between        Jain (11.51)

In between, the equations of motion are smooth: friction of a joint that slides is a constant force against it.
"""

from copy import copy
from math import inf

import numpy as np

from ..complementarity import ZERO, lcp
from ..dynamics import Dynamics
from ..errors import ConstraintError, SimulationError
from ..motion.joint_limits import each_velocity, limits_of
from .compliance import BOUND, compliance, mobile
from .failure import Failure
from .memory import remembered
from .sharing import room_of_forces

NEEDED = "fastest", "speed", "reach", "push"  # in the memory of every run
REST = 1e-4  # of the fastest impact at a limit: a rebound slower than that is none
NEAR = 1e-10  # of the largest gap, or the largest speed, of a joint: as near to a limit, or to rest, as that is there
SAME = 16  # units in the last place: times as near as that are one
LOOSE = 1e-6  # of a bound: how near to it forces are that let go together


class Stops:
    """Which joints rest and which slide, and what happens when that changes."""

    def __init__(self, robot: Dynamics, restitution: float | None, memory=None):
        """`memory` is what an earlier part of the run left."""
        self.robot = robot
        self.restitution = restitution
        self.limits = [] if restitution is None else limits_of(robot)
        self.dry = each_velocity(robot, "friction")
        self.sliding = np.zeros(robot.nv)  # the direction of each joint with friction; zero for those at rest
        self.rows = np.zeros(0, int)  # rows of v that forces hold at rest
        self.rest = np.zeros(0, int)  # these, and rows that cannot move while these rest
        self.stopped = np.zeros(len(self.limits), bool)  # limits that hold a joint
        self.force = np.zeros(0)
        self.fastest, self.speed, self.reach = np.zeros(robot.nv), np.zeros(robot.nv), np.zeros(len(self.limits))
        self.push = np.zeros(())  # the largest acceleration that forces at rest have had to prevent
        earlier = remembered(memory, self._shapes, optional=set(self._shapes) - set(NEEDED))
        if earlier is not None:
            self.fastest, self.speed, self.reach, self.push = (earlier[name] for name in NEEDED)
        self.inverse = np.zeros((robot.nv, robot.nv))  # the compliance where joints were last held
        self.bounds = np.zeros((2, robot.nv))  # of the forces that hold the rows of `rest`
        self.loosens = False  # do joints that share the work of holding have to let go at this time?
        self.let_go: dict[int, float] = {}  # rows let go at this time, and the force of each, which is one of its bounds
        self.caught: set[int] = set()  # rows that would have moved against their friction at this time: they are held
        self.off: set[int] = set()  # rows that were at rest at this time and are not held
        self.time = -inf
        self.chosen = False  # does it come from an earlier part of the run which joints rest?
        if earlier is not None and len(earlier) == len(self._shapes):
            self._remember(earlier)
        self._row = np.array([x.row for x in self.limits], int)
        self._side = np.array([x.side for x in self.limits])
        self._bound = np.array([x.bound for x in self.limits])
        self._rate = np.array([x.rate for x in self.limits], int)
        self._rough = np.flatnonzero(self.dry)

    @property
    def any(self) -> bool:
        return bool(self.limits) or bool(self.dry.any())

    @property
    def held(self) -> bool:
        """Is a joint held at rest?"""
        return len(self.rows) > 0

    @property
    def memory(self) -> dict:
        """What a later part of the run needs: how fast impacts and joints have been, how large gaps, what rests and what has just
        been let go or caught."""
        scales = {"fastest": self.fastest, "speed": self.speed, "reach": self.reach, "push": self.push}
        rests = {"sliding": self.sliding, "rows": self._mask(self.rows), "rest": self._mask(self.rest), "bounds": self.bounds}
        pinned = np.array([self.let_go.get(row, np.nan) for row in range(self.robot.nv)])
        here = {"stopped": self.stopped, "time": self.time, "loosens": self.loosens, "let_go": pinned}
        here |= {"caught": self._mask(list(self.caught)), "off": self._mask(list(self.off))}
        return {name: np.asarray(x, float).tolist() for name, x in (scales | rests | here).items()}

    @property
    def _shapes(self) -> dict[str, tuple]:
        """Those of the arrays in `memory`."""
        nv, limits = (self.robot.nv,), (len(self.limits),)
        shapes: dict = dict.fromkeys(("fastest", "speed", "sliding", "rows", "rest", "let_go", "caught", "off"), nv)
        return shapes | {"reach": limits, "stopped": limits, "push": (), "time": (), "loosens": (), "bounds": (2, *nv)}

    def _mask(self, rows) -> np.ndarray:
        mask = np.zeros(self.robot.nv)
        mask[np.asarray(rows, int)] = 1.0
        return mask

    def _remember(self, earlier: dict) -> None:
        """Go on with what rests and slides at the end of an earlier part of the run."""
        self.chosen = True
        self.sliding, self.bounds, self.stopped = earlier["sliding"], earlier["bounds"], earlier["stopped"] > 0
        self.rows, self.rest = (np.flatnonzero(earlier[name]) for name in ("rows", "rest"))
        self.force = np.zeros(len(self.rows))
        self.time, self.loosens = float(earlier["time"]), bool(earlier["loosens"])
        self.let_go = {int(i): float(earlier["let_go"][i]) for i in np.flatnonzero(~np.isnan(earlier["let_go"]))}
        self.caught, self.off = (set(np.flatnonzero(earlier[name]).tolist()) for name in ("caught", "off"))

    def snapshot(self) -> "Stops":
        """A copy that later changes do not reach."""
        made = copy(self)
        made.let_go, made.caught, made.off = dict(self.let_go), set(self.caught), set(self.off)
        made.fastest, made.bounds = self.fastest.copy(), self.bounds.copy()
        return made

    @property
    def friction(self) -> np.ndarray:
        return -self.dry * self.sliding

    def hold(self, t: float, q, vdot, free) -> None:
        """Make v̇ zero for the joints at rest, by forces: v̇ + 𝓒 f, f along those joints only; `free` is theirs before."""
        rows = self.rows
        free[rows] = vdot[rows]
        try:
            self.inverse = compliance(self.robot, q, t)
        except ConstraintError:  # no state of the mechanism: the step is too long
            vdot[:] = np.nan
            return
        self.force = np.linalg.solve(self.inverse[np.ix_(rows, rows)], -vdot[rows])
        vdot += self.inverse[:, rows] @ self.force
        vdot[self.rest] = 0.0

    # --- what to watch: each number is positive as long as nothing changes

    def values(self, t: float, q, v, flow) -> np.ndarray:
        gap = self._gaps(q)
        self.reach, self.speed = np.maximum(self.reach, gap), np.maximum(self.speed, np.abs(v))
        slips = self.sliding != 0
        slips[self.rest] = False
        room = np.full(self.robot.nv, inf)
        if self.held:
            flow.at(t, q, v)
            low, high = self.bounds
            room[self.rows] = np.minimum(self.force - low[self.rows], high[self.rows] - self.force)
            if self.shares and room.min() <= 0:  # with these shares; are there better ones?
                room[self.rows] = room_of_forces(self.inverse[np.ix_(self.rest, self.rest)], *self._shared())
        slip = np.where(slips, self.sliding * v, inf)[self._rough]
        return np.concatenate([np.where(self.stopped, inf, gap), slip, room])

    @property
    def shares(self) -> bool:
        """Do more forces hold joints at rest than are needed, so that their shares are a matter of choice?"""
        return len(self.rest) > len(self.rows)

    def _shared(self) -> np.ndarray:
        """Forces that hold the rows of `rest`, and the bounds of these forces."""
        force = self.friction
        force[self.rows] = self.force
        return np.array([force, *self.bounds])[:, self.rest]

    @property
    def count(self) -> int:
        """How many values there are."""
        return len(self.limits) + int(np.count_nonzero(self.dry)) + self.robot.nv

    def gap_rates(self, v) -> np.ndarray:
        """How fast each joint moves away from each limit."""
        return self._side * v[self._rate]

    def _gaps(self, q) -> np.ndarray:
        return self._side * (q[..., self._row] - self._bound)

    def passed(self, q, v) -> None:
        """Steps were made in which nothing has changed; q (m, nq) and v (m, nv) are their ends."""
        self.reach, self.speed = np.maximum(self.reach, self._gaps(q).max(0)), np.maximum(self.speed, np.abs(v).max(0))

    def change(self, i: int, t: float, q, v, flow) -> tuple[np.ndarray, np.ndarray, str | None]:
        """Number i has come to zero: q and v after it, and its name if that is worth telling."""
        q, v, name = q.copy(), v.copy(), None
        self._at(t)
        if i < len(self.limits):
            name = self.limits[i].name
            q, v = self.impact(i, t, q, v)
        elif (i := i - len(self.limits)) < len(self._rough):
            row = int(self._rough[i])
            if row in self.off:
                caught = self.off if self.loosens else {row}
                self.caught |= caught
                self.let_go = {i: force for i, force in self.let_go.items() if i not in caught}
                self.loosens = False
                v[list(self.off)] = 0.0
            v[row] = 0.0
            v[self._rough[np.abs(v[self._rough]) <= NEAR * self.speed[self._rough]]] = 0.0
        elif (row := i - len(self._rough)) in self.rows:
            self._let_go(row)
        self.choose(t, q, v, flow)
        return q, v, name

    def _let_go(self, row: int) -> None:
        """The force that holds a row, or those that hold all rows together, are at their bounds."""
        if self.shares:
            self.loosens, self.caught = True, set()
        else:
            low, high, force = *self.bounds[:, row], self.force[list(self.rows).index(row)]
            self.let_go[row] = low if force - low < high - force else high
            self.caught.discard(row)

    def _at(self, t: float) -> None:
        """Forget what belongs to an earlier time."""
        if abs(t - self.time) > SAME * np.spacing(abs(t)):
            self.time, self.let_go, self.caught, self.off, self.loosens = t, {}, set(), set(), False

    def impact(self, i: int, t: float, q, v) -> tuple[np.ndarray, np.ndarray]:
        """q and v after joint i has struck its limit, and others that are at one by then theirs.

            side v' ≥ −e side v,   impulse ≥ 0,   the one or the other zero

        Energy is never gained: 2 ΔT = Σ (v' + v) · impulse, and (v' + v) = (1 − e) v where the impulse is not zero. Joints at
        limits that the impact moves off, but much slower than they once struck there, stay: otherwise impacts of two joints that
        move each other would follow each other ever faster.
        """
        rates, slow = self.gap_rates(v), REST * self.fastest[self._rate]
        there = (self._gaps(q) <= NEAR * np.maximum(self.reach, np.abs(self._bound))) & ((rates <= 0) | (rates < slow))
        there[i] = True
        struck = np.flatnonzero(there)
        rows, side = self._rate[struck], self._side[struck]
        before = side * v[rows]
        q[self._row[struck]] = self._bound[struck]
        if not (before < 0).any():
            return q, v
        self.fastest[rows] = np.maximum(self.fastest[rows], -before)
        slow = REST * self.fastest[rows]
        e = np.where(before < 0, self.restitution or 0.0, 0.0)
        e[(e < 1) & (-e * before < slow)] = 0.0
        inverse = mobile(self.robot, compliance(self.robot, q, t), q)
        M = side[:, None] * inverse[np.ix_(rows, rows)] * side
        found = lcp(M, before + e * before)
        if not found.solved:
            raise Failure(f"{self._names(rows)} cannot stop at a limit: other constraints or a drive move it on", complete=True)
        after, impulse = found.w - e * before, found.z
        stays = ~found.between & (after < slow) & (np.diag(M) > 0)
        known = found.between | stays
        if stays.any():
            after[stays] = 0.0
            impulse = np.where(known, 0.0, found.z)
            impulse[known] = np.linalg.pinv(M[np.ix_(known, known)], ZERO, hermitian=True) @ (after - before)[known]
        v += inverse[:, rows] @ (side * impulse)
        v[rows[known]] = (side * after)[known]
        if self.robot.constraints is not None:
            q, v = self.robot.constraints.project(q, v, t, hold=rows[known].tolist())
        return q, v

    def choose(self, t: float, q, v, flow) -> None:
        """Find which of the joints that are not moving are held, and by what forces; the others start to slide or leave."""
        self._at(t)
        low, high = self._bounds(q, v)
        rows = np.flatnonzero((v == 0) & (low < high))
        self.sliding = np.where(self.dry > 0, np.sign(v), 0.0)
        self.sliding[rows] = 0.0
        self._hold_none()
        flow.refresh()
        if not len(rows):
            return
        free, _ = flow.at(t, q, v)
        if not np.isfinite(free).all():
            return
        self.push = np.maximum(self.push, np.abs(free).max())
        inverse = mobile(self.robot, compliance(self.robot, q, t), q)
        moved = np.diag(inverse)[rows] > 0
        free = np.where(np.abs(free) <= BOUND * np.abs(free).max(), 0.0, free) if not moved.all() else free
        low, high = low[rows], high[rows]
        low, high = (np.where(moved | np.isinf(x), x, 0.0) for x in (low, high))  # friction of a driven joint moves nothing
        found = self._solve(inverse[np.ix_(rows, rows)], free[rows], low, high, rows)
        ways = np.where(moved, np.where(found.z == low, 1.0, -1.0), np.sign(found.w))
        self.sliding[rows] = np.where(found.between, 0.0, ways) * (self.dry[rows] > 0)
        self.off = set(rows[~found.between].tolist())
        self._hold(rows, found, low, high, inverse)
        flow.refresh()

    def _solve(self, M, free, low, high, rows):
        """The solution in which rows that have just been let go stay so, unless they would move the wrong way, and those that have
        just been caught are held, unless that takes more than they can.

        Where forces have just come to their bounds there are several solutions, of which not all remain ones.
        """
        pinned = self._pinned(M, free, low, high, rows)
        caught = np.array([int(row) in self.caught for row in rows])
        least, most = np.where(caught, low - BOUND * np.abs(low), low), np.where(caught, high + BOUND * np.abs(high), high)
        while True:
            kept = ~np.isnan(pinned)
            found = lcp(M, free, np.where(kept, pinned, least), np.where(kept, pinned, most))
            if found.solved:
                wrong = kept & (np.where(pinned == low, -found.w, found.w) > BOUND * self.push)
                if not wrong.any():
                    return found._replace(z=np.clip(found.z, low, high))
                pinned[wrong] = np.nan
            elif kept.any():
                pinned[:] = np.nan
            else:
                raise Failure(f"no force holds {self._names(rows)} at its limit: other constraints or a drive move it on", complete=True)

    def _pinned(self, M, free, low, high, rows) -> np.ndarray:
        """The forces of rows that are let go at this time, which are at a bound; not a number for other rows.

        Of joints that share the work of holding, those move off that do so if all bounds are a little narrower.
        """
        if self.loosens:
            inner = [np.where(np.isfinite(x), x + sign * LOOSE * np.abs(x), x) for x, sign in ((low, 1), (high, -1))]
            found = lcp(M, free, *inner)
            moves = found.solved & (np.abs(found.w) > BOUND * LOOSE * self.push)
            self.let_go |= {int(row): x for row, x in zip(rows[moves], np.where(found.w > 0, low, high)[moves])}
        return np.array([self.let_go.get(int(row), np.nan) for row in rows])

    def _bounds(self, q, v) -> tuple[np.ndarray, np.ndarray]:
        """Between which forces each joint can be held: by friction, and by the limits that it touches."""
        low, high = -self.dry, self.dry.copy()
        touches = (q[self._row] == self._bound) & (v[self._rate] == 0)
        high[self._rate[touches & (self._side > 0)]] = inf
        low[self._rate[touches & (self._side < 0)]] = -inf
        return low, high

    def _hold_none(self) -> None:
        self.rows, self.rest = np.zeros(0, int), np.zeros(0, int)
        self.stopped, self.force = np.zeros(len(self.limits), bool), np.zeros(0)

    def _hold(self, rows, found, low, high, inverse) -> None:
        """Hold the rows whose forces are between bounds; other rows at rest that depend on them rest too."""
        self.rows, self.force = rows[found.between], found.z[found.between]
        self.bounds[:, rows] = low, high
        others = rows[~found.between & (np.diag(inverse)[rows] > 0)]
        block = inverse[np.ix_(self.rows, self.rows)]
        along = inverse[np.ix_(others, self.rows)]
        left = np.diag(inverse)[others] - np.einsum("ij,ij->i", along, np.linalg.solve(block, along.T).T)
        self.rest = np.sort(np.concatenate([self.rows, others[left <= BOUND * np.diag(inverse)[others]]]))
        unbounded = dict(zip(rows.tolist(), zip(np.isinf(high), np.isinf(low))))
        resting = set(self.rest.tolist())
        self.stopped = np.array([x.rate in resting and bool(unbounded[x.rate][x.side < 0]) for x in self.limits], bool)

    def _names(self, rows) -> str:
        return " or ".join(dict.fromkeys(f'"{x.joint}"' for x in self.limits if x.rate in rows)) or "the joints"

    def check(self, q, comes: str = "starts at") -> None:
        """A run starts within the limits."""
        for limit in self.limits:
            if not limit.side * (q[limit.row] - limit.bound) >= -NEAR * abs(limit.bound):
                raise SimulationError(
                    f'joint "{limit.joint}" {comes} {q[limit.row]:.6g}, beyond its '
                    f"{'lower' if limit.side > 0 else 'upper'} limit {limit.bound:.6g}. "
                    "Start within the limits, or simulate with limits=False."
                )
