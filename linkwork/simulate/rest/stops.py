"""Joints that come to rest, against a limit or by dry friction, and contact points: what each does, and what ends that.

A joint that slides has a constant force of friction against it. One at rest is held by whatever force keeps it so, within bounds: [−c, c]
of friction, one side only of a limit. Values that come to zero end a smooth motion; what follows is decided in `resting.py`.
"""

from math import inf

import numpy as np

from ...dynamics import Dynamics
from ...errors import SimulationError
from ...motion.joint_limits import limits_of
from ..rates.kernels import friction_of
from ..state import Part, Rest
from .contact_events import KINDS, Points
from .resting import REST, choose, share, strike, without_drift
from .sharing import room_of_forces

NEAR = 1e-10  # of the largest gap, or the largest speed, of a joint: as near to a limit, or to rest, as that is there
ROUNDING = 1e-14  # of the mechanism's size: gaps of contact points are not known better
SAME = 16  # units in the last place: times as near as that are one


class Stops(Part):
    """Which joints rest and which slide, and what happens when that changes."""

    State = Rest

    def __init__(self, robot: Dynamics, restitution: float | None, points: Points | None = None):
        """`points` are those of contacts, if there are any."""
        self.robot, self.points = robot, points
        self.restitution = restitution
        self.limits = [] if restitution is None else limits_of(robot)
        self.dry = friction_of(robot)
        self.sliding = np.zeros(robot.nv)  # the direction of each joint with friction; zero for those at rest
        self.rows = np.zeros(0, int)  # rows of v that forces hold at rest
        self.rest = np.zeros(0, int)  # these, and rows that cannot move while these rest
        self.stopped = np.zeros(len(self.limits), bool)  # limits that hold a joint
        self.force = np.zeros(0)
        self.fastest, self.speed, self.reach = np.zeros(robot.nv), np.zeros(robot.nv), np.zeros(len(self.limits))
        self.push = 0.0  # the largest acceleration that forces at rest have had to prevent
        self.inverse = np.zeros(2 * (robot.nv if self.any else 0,))  # the compliance where joints were last held
        self.bounds = np.zeros((2, robot.nv))  # of the forces that hold the rows of `rest`
        self.loosens = False  # do joints that share the work of holding have to let go at this time?
        self.let_go = np.full(robot.nv, np.nan)  # of rows let go at this time the force, which is one of its bounds
        self.caught = np.zeros(robot.nv, bool)  # rows that would have moved against their friction at this time: they are held
        self.off = np.zeros(robot.nv, bool)  # rows that were at rest at this time and are not held
        self.told: list[str] = []  # what has struck since it was last asked for
        self.time = -inf
        self._row = np.array([x.row for x in self.limits], int)
        self._side = np.array([x.side for x in self.limits])
        self._bound = np.array([x.bound for x in self.limits])
        self._rate = np.array([x.rate for x in self.limits], int)
        self._rough = np.flatnonzero(self.dry)

    @property
    def any(self) -> bool:
        return bool(self.limits) or bool(self.dry.any()) or self.points is not None

    @property
    def held(self) -> bool:
        """Is a joint held at rest, or a point closed?"""
        return len(self.rows) > 0 or self.presses

    @property
    def presses(self) -> bool:
        """Is a contact point closed?"""
        return self.points is not None and bool(self.points.closed.any())

    @property
    def sizes(self):
        return {"nv": self.robot.nv, "limits": len(self.limits), "points": self._n}

    def rub(self, friction: np.ndarray) -> None:
        """Take the friction of a sample in which it is not that of the model."""
        self.dry, self._rough = friction, np.flatnonzero(friction)

    @property
    def friction(self) -> np.ndarray:
        return -self.dry * self.sliding

    # --- what to watch: each number is positive as long as nothing changes

    def values(self, t: float, q, v, flow) -> np.ndarray:
        gap = self._gaps(q)
        self.reach, self.speed = np.maximum(self.reach, gap), np.maximum(self.speed, np.abs(v))
        slips = self.sliding != 0
        slips[self.rest] = False
        room = np.full(self.robot.nv, inf)
        if self.held:
            flow.at(t, q, v)
        if self.presses:
            share(self, q, v)
        if len(self.rows):
            low, high = self.bounds
            room[self.rows] = np.minimum(self.force - low[self.rows], high[self.rows] - self.force)
            if self.shares and room.min() <= 0:  # with these shares; are there better ones?
                room[self.rows] = room_of_forces(self.inverse[np.ix_(self.rest, self.rest)], *self._shared())
        slip = np.where(slips, self.sliding * v, inf)[self._rough]
        near, more = (gap[:0], gap[:0]) if self.points is None else (self.points.gaps(q), self.points.values(q, v))
        return np.concatenate([np.where(self.stopped, inf, gap), near, slip, room, more])

    def start_values(self, t: float, q, v, flow) -> np.ndarray:
        """Returns `values` at the start of a smooth motion, without rounding: what is below zero there is zero, and so are gaps of about
        zero of points that part, so that the next time they close is the last change of sign, not one of the rounding."""
        values, limits = np.maximum(self.values(t, q, v, flow), 0.0), len(self.limits)
        if self.points is not None:
            gaps = values[limits : limits + self._n]
            gaps[(gaps <= ROUNDING * self.robot.model.size) & (self.points.gap_rates(q, v) > 0)] = 0.0
        return values

    @property
    def shares(self) -> bool:
        """Do more forces hold joints at rest than are needed, so that their shares are a matter of choice?"""
        return len(self.rest) > len(self.rows) and not self.presses

    def _shared(self) -> np.ndarray:
        """Forces that hold the rows of `rest`, and the bounds of these forces."""
        force = self.friction
        force[self.rows] = self.force
        return np.array([force, *self.bounds])[:, self.rest]

    @property
    def count(self) -> int:
        """How many values there are."""
        return len(self.limits) + len(self._rough) + self.robot.nv + len(KINDS) * self._n

    @property
    def _n(self) -> int:
        """Contact points."""
        return 0 if self.points is None else self.points.n

    def gap_rates(self, q, v) -> np.ndarray:
        """How fast each joint moves away from each limit, and each point from what it may touch: rates of the first values."""
        rates = self._side * v[self._rate]
        return rates if self.points is None else np.concatenate([rates, self.points.gap_rates(q, v)])

    def rounding(self, crossed, start, value, ends) -> np.ndarray:
        """Which of the values that have crossed zero are gaps that part at both ends, (q, v) each: rounding of what has just rebounded."""
        parts, n = np.zeros(len(crossed), bool), len(self.limits) + self._n
        if crossed[:n].any():
            touch = np.full(self._n, 0.0 if self.points is None else self.points.touch)
            near = np.concatenate([NEAR * np.maximum(self.reach, np.abs(self._bound)), touch])
            parts[:n] = (start[:n] <= near) & (value[:n] >= -near) & np.all([self.gap_rates(*state) > 0 for state in ends], 0)
        return parts

    def _gaps(self, q) -> np.ndarray:
        return self._side * (q[..., self._row] - self._bound)

    def change(self, i: int, t: float, q, v, flow) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """Value i has come to zero: q and v after it, and the names of what is worth telling: of all that strike, this one first."""
        q, v, names = q.copy(), v.copy(), []
        self.go_to(t)
        v = without_drift(self, t, q, v)
        if self.presses:
            flow.at(t, q, v)
            share(self, q, v)
        limits, rough, nv = len(self.limits), len(self._rough), self.robot.nv
        if i < limits:
            names = [self.limits[i].name]
            q, v = strike(self, i, t, q, v)
        elif (i := i - limits) < self._n:
            assert self.points is not None
            hovers = self.points.struck[i] and self.points.gap_rates(q, v)[i] > 0
            names = self._happens("strikes", i)
            self.points.hovers = i if hovers else None
            q, v = strike(self, None, t, q, v)
        elif (i := i - self._n) < rough:
            self._stops_sliding(int(self._rough[i]), v)
        elif (i := i - rough) < nv:
            if i in self.rows:
                self._let_go(i)
        else:
            kind, i = divmod(i - nv, self._n)
            names = self._happens(KINDS[1 + kind], i)
        q, v = choose(self, t, q, v, flow)
        if self.points is not None:
            self.points.hovers = None
        return q, v, self.what_struck(names)

    def what_struck(self, names: list[str]) -> list[str]:
        """These names, then those of all that has struck since this was last asked for."""
        told, self.told = self.told, []
        return list(dict.fromkeys([*names, *told]))

    def _happens(self, kind: str, i: int) -> list[str]:
        assert self.points is not None
        return self.points.happens(kind, i)

    def _stops_sliding(self, row: int, v) -> None:
        """A joint, and others that are as slow."""
        if self.off[row]:
            caught = self.off if self.loosens else np.arange(self.robot.nv) == row
            self.caught |= caught
            self.let_go[caught] = np.nan
            self.loosens = False
            v[self.off] = 0.0
        v[row] = 0.0
        self.settle(v)

    def settle(self, v) -> None:
        """Joints with dry friction as slow as rounding are at rest."""
        v[self._rough[np.abs(v[self._rough]) <= NEAR * self.speed[self._rough]]] = 0.0

    def _let_go(self, row: int) -> None:
        """The force that holds a row, or those that hold all rows together, are at their bounds."""
        if self.shares:
            self.loosens, self.caught = True, np.zeros_like(self.caught)
        else:
            low, high, force = *self.bounds[:, row], self.force[list(self.rows).index(row)]
            self.let_go[row] = low if force - low < high - force else high
            self.caught[row] = False

    def go_to(self, t: float) -> None:
        """Forget what belongs to an earlier time."""
        if abs(t - self.time) > SAME * np.spacing(abs(t)):
            self.time, self.loosens = t, False
            self.let_go[:], self.caught[:], self.off[:] = np.nan, False, False
            if self.points is not None:
                self.points.forget()

    def struck(self, i: int | None, q, v) -> tuple[np.ndarray, np.ndarray]:
        """Joints at their limits that do not leave, and joint i: rows of v and sides. Their coordinates become those of the limits."""
        rates, slow = self._side * v[self._rate], REST * self.fastest[self._rate]
        there = (self._gaps(q) <= NEAR * np.maximum(self.reach, np.abs(self._bound))) & ((rates <= 0) | (rates < slow))
        if i is not None:
            there[i] = True
        struck = np.flatnonzero(there)
        q[self._row[struck]] = self._bound[struck]
        return self._rate[struck], self._side[struck]

    def tell(self, rows, side, approach) -> None:
        """Note that joints strike limits, which are given by rows of v and sides, and that points do which were open."""
        struck = set(zip(rows.tolist(), side.tolist()))
        self.told = self.told + [x.name for x in self.limits if (x.rate, x.side) in struck]
        if self.points is not None:
            self.told = self.told + [f"{self.robot.contacts.labels[i]} strikes" for i in np.flatnonzero(approach & ~self.points.closed)]

    def bounds_at(self, q, v) -> tuple[np.ndarray, np.ndarray]:
        """Between which forces each joint can be held: by friction, and by the limits that it touches."""
        low, high = -self.dry, self.dry.copy()
        touches = (q[self._row] == self._bound) & (v[self._rate] == 0)
        high[self._rate[touches & (self._side > 0)]] = inf
        low[self._rate[touches & (self._side < 0)]] = -inf
        return low, high

    def hold_none(self) -> None:
        self.rows, self.rest = np.zeros(0, int), np.zeros(0, int)
        self.stopped, self.force = np.zeros(len(self.limits), bool), np.zeros(0)
        if self.points is not None:
            self.points.open()

    def names(self, rows) -> str:
        return " or ".join(dict.fromkeys(f'"{x.joint}"' for x in self.limits if x.rate in rows)) or "the joints"

    def check(self, q, comes: str = "starts at") -> None:
        """A run starts within the limits, and with shapes that are not in each other."""
        if self.points is not None:
            self.points.check(q)
        for limit in self.limits:
            if not limit.side * (q[limit.row] - limit.bound) >= -NEAR * abs(limit.bound):
                raise SimulationError(
                    f'joint "{limit.joint}" {comes} {q[limit.row]:.6g}, beyond its '
                    f"{'lower' if limit.side > 0 else 'upper'} limit {limit.bound:.6g}. "
                    "Start within the limits, or simulate with limits=False."
                )
