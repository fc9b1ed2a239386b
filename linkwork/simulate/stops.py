"""Joints that come to rest: against a limit, with a bounce, or by dry friction.

A joint at rest is held by whatever force keeps it so. The force has bounds, [−c, c] of friction, and a limit pushes one
way only; where a bound is reached the joint is let go. In between, the equations of motion are smooth: friction of a
joint that slides is a constant force against it.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from ..dynamics import Dynamics
from ..errors import SimulationError
from ..lie.group import Additive
from .compliance import tree_compliance

REST = 1e-4  # of the fastest impact at a limit: a rebound slower than that is none


@dataclass(frozen=True)
class Limit:
    """side (q[row] − bound) ≥ 0: side is 1 for a lower limit, −1 for an upper one."""

    joint: str
    row: int
    rate: int  # its row in v
    side: float
    bound: float

    @property
    def name(self) -> str:
        return f"{self.joint} at its {'lower' if self.side > 0 else 'upper'} limit"


class Stops:
    """Which joints rest and which slide, and what happens when that changes."""

    def __init__(self, robot: Dynamics, restitution: float | None):
        self.robot = robot
        self.restitution = restitution
        self.limits = [] if restitution is None else limits_of(robot)
        self.dry = _each(robot, "friction")
        self.sliding = np.zeros(robot.nv)  # the direction of each joint with friction; zero for those at rest
        self.held: dict[int, tuple[float, float]] = {}  # rows of v at rest, and the bounds of the force that holds them
        self.rows = np.zeros(0, int)
        self.force = np.zeros(0)
        self.fastest = np.zeros(robot.nv)
        self._row = np.array([x.row for x in self.limits], int)
        self._side = np.array([x.side for x in self.limits])
        self._bound = np.array([x.bound for x in self.limits])
        self._rate = np.array([x.rate for x in self.limits], int)
        self._rough = np.flatnonzero(self.dry)

    @property
    def any(self) -> bool:
        return bool(self.limits) or bool(self.dry.any())

    @property
    def friction(self) -> np.ndarray:
        return -self.dry * self.sliding

    def hold(self, t: float, q, vdot, free) -> None:
        """Make v̇ zero for the joints at rest, by forces: v̇ + 𝓜⁻¹ λ, λ along those joints only; `free` is theirs before."""
        inverse, rows = compliance(self.robot, q, t), self.rows
        free[rows] = vdot[rows]
        self.force = along(self.robot, inverse, rows, -vdot[rows])
        vdot += inverse[:, rows] @ self.force
        vdot[rows] = 0.0

    # --- what to watch: each number is positive as long as nothing changes

    def values(self, t: float, q, v, flow) -> np.ndarray:
        gap = self._side * (q[self._row] - self._bound)
        slip = self.sliding[self._rough] * v[self._rough]
        room = np.full(self.robot.nv, inf)
        if self.held:
            flow.at(t, q, v)
            low, high = np.array(list(self.held.values())).T
            room[self.rows] = np.minimum(self.force - low, high - self.force)
        gap[[self._rests(i) for i in range(len(self.limits))]] = inf
        return np.concatenate([gap, np.where(self.sliding[self._rough] != 0, slip, inf), room])

    def gap_rates(self, v) -> np.ndarray:
        """How fast each joint moves away from each limit."""
        return self._side * v[self._rate]

    def _rests(self, i) -> bool:
        low, high = self.held.get(self.limits[i].rate, (0.0, 0.0))
        return (high if self.limits[i].side > 0 else -low) == inf

    def change(self, i: int, t: float, q, v, flow) -> tuple[np.ndarray, np.ndarray, str | None]:
        """Number i has come to zero: q and v after it, and its name if that is worth telling."""
        q, v, name, freed = q.copy(), v.copy(), None, None
        if i < len(self.limits):
            limit = self.limits[i]
            q[limit.row] = limit.bound
            name = limit.name
            v = self.impact(i, t, q, v)
            if self.robot.constraints is not None:
                q, v = self.robot.constraints.project(q, v, t, hold=[limit.rate])
        elif (i := i - len(self.limits)) < len(self._rough):
            v[self._rough[i]] = 0.0
        else:
            freed = i - len(self._rough)
        self.choose(t, q, v, flow, freed)
        return q, v, name

    def impact(self, i: int, t: float, q, v) -> np.ndarray:
        """v after joint i has struck its limit: side v' = −e side v, others at a limit taking impulses that push only."""
        limit, e = self.limits[i], self.restitution or 0.0
        before = limit.side * v[limit.rate]
        if before >= 0:
            return v
        self.fastest[limit.rate] = max(self.fastest[limit.rate], -before)
        if e < 1 and -e * before < REST * self.fastest[limit.rate]:
            e = 0.0
        at = [k for k in range(len(self.limits)) if k != i and self._touches(k, q, v)]
        inverse = compliance(self.robot, q, t)
        while True:
            struck = [i, *at]
            rows, side = self._rate[struck], self._side[struck]
            after = np.zeros(len(rows))
            after[0] = -e * v[limit.rate]
            impulse = along(self.robot, inverse, rows, after - v[rows])
            pulls = [k for k, p in zip(at, (side * impulse)[1:]) if p < 0]
            if not pulls:
                v = v + inverse[:, rows] @ impulse
                v[rows] = after
                return v
            at = [k for k in at if k not in pulls]

    def _touches(self, k, q, v) -> bool:
        return bool(q[self._row[k]] == self._bound[k] and v[self._rate[k]] == 0)

    def choose(self, t: float, q, v, flow, freed: int | None = None) -> None:
        """Hold every joint that is at rest, then let go, one after another, those that no force within bounds can hold."""
        held = {int(j): (-self.dry[j], self.dry[j]) for j in self._rough if v[j] == 0}
        for k, limit in enumerate(self.limits):
            if self._touches(k, q, v):
                c = self.dry[limit.rate]
                held[limit.rate] = (-c, inf) if limit.side > 0 else (-inf, c)
        self.sliding = np.where(self.dry > 0, np.sign(v), 0.0)
        if freed is not None and freed in held:
            low, high = self.held[freed]
            force = self.force[list(self.rows).index(freed)]
            held.pop(freed)
            self.sliding[freed] = (1.0 if force - low < high - force else -1.0) * (self.dry[freed] > 0)
        while True:
            self.held, self.rows = held, np.array(sorted(held), int)
            self.held = {int(j): held[int(j)] for j in self.rows}
            flow.refresh()
            if not held:
                return
            flow.at(t, q, v)
            low, high = np.array(list(self.held.values())).T
            room = np.minimum(self.force - low, high - self.force)
            worst = int(np.argmin(room))
            if not room[worst] < 0:
                return
            j = int(self.rows[worst])
            held = {k: bounds for k, bounds in self.held.items() if k != j}
            self.sliding[j] = (1.0 if self.force[worst] < low[worst] else -1.0) * (self.dry[j] > 0)

    def check(self, q) -> None:
        """A run starts within the limits."""
        for limit in self.limits:
            if not limit.side * (q[limit.row] - limit.bound) >= 0:
                raise SimulationError(
                    f'joint "{limit.joint}" starts at {q[limit.row]:.6g}, beyond its '
                    f"{'lower' if limit.side > 0 else 'upper'} limit {limit.bound:.6g}. "
                    "Start within the limits, or simulate with limits=False."
                )


def compliance(robot: Dynamics, q, t: float) -> np.ndarray:
    """v̇ for each unit of τ: 𝓜⁻¹, less what constraints take of it."""
    return tree_compliance(robot, q) if robot.constraints is None else robot.constraints.compliance(q, t)


def along(robot: Dynamics, inverse, rows, change) -> np.ndarray:
    """The forces along these joints that change v̇ there by so much; joints of one loop share them, least in all."""
    block = inverse[np.ix_(rows, rows)]
    return np.linalg.solve(block, change) if robot.constraints is None else np.linalg.pinv(block, 1e-9, hermitian=True) @ change


def limits_of(robot: Dynamics) -> list[Limit]:
    """The limits of all joints whose coordinates add: angles and lengths along an axis."""
    names = {robot.v_index(name).start: name for name in robot.joints}
    out, nq, nv = [], 0, 0
    for placed in robot.model.joints:
        for _, joint, _ in placed.joint.parts:
            if isinstance(joint.group, Additive):
                for side, bounds in ((1.0, joint.each("lower", -inf)), (-1.0, joint.each("upper", inf))):
                    for i in np.flatnonzero(np.isfinite(bounds)):
                        name = names.get(nv, placed.name)
                        out.append(Limit(name, nq + int(i), nv + int(i), side, float(bounds[i])))
            nq, nv = nq + joint.nq, nv + joint.nv
    return out


def _each(robot: Dynamics, name: str) -> np.ndarray:
    """A property of the joints, one number per velocity."""
    parts = [part.each(name) for placed in robot.model.joints for _, part, _ in placed.joint.parts]
    return np.concatenate([np.zeros(0), *parts])
