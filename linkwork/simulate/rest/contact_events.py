"""Contact points between events: each is open, sticks or slides, and what ends that.

    J v̇ + J̇ v = 0 in the normals of closed points and the tangents of those that stick,    λ_t = −μ λ_n e where one slides along e

A smooth motion ends where a gap or a normal force comes to zero, a force reaches the cone, a slip stops or turns. What each point does next
is decided with the joints at rest, as one problem (`stops.py`). A rebound much slower than the fastest impact of its contact is none:
accumulating impacts end in rest.
"""

from typing import NamedTuple

import numpy as np

from ...contact.cone import blocks, norm
from ...contact.solver.accelerations import SPEED
from ...dynamics import Dynamics
from ...errors import SimulationError
from ..state import Part, Touches

REST = 1e-7  # of the fastest impact of a contact: a rebound slower than that is none
OVERLAP = 1e-4  # m: shapes may be in each other at the start by so much
NEAR = 1e-6  # of the mechanism's size: points nearer than that take part in an impact of another
TOUCH = 1e-8  # of the mechanism's size: and nearer than that they touch
STILL = 1e-8  # m/s: points that approach or part slower are in touch
TURNED = 0.5  # cosine of the angle by which the direction of a slip may change before it is taken anew
FEW = 32  # points that may be closed at once
ROUNDED = 1e-11  # of a speed: what closed points have of velocity, if less than that, is left
KINDS = "strikes", "lifts", "slides", "turns"  # values for each point, in this order


class Touching(NamedTuple):
    """Points that touch and neither approach nor part, at a state."""

    touches: np.ndarray  # (n,)
    closed: np.ndarray  # (n,) of these, all but those that an event has just lifted
    slip: np.ndarray  # (n, 2) velocities of those that slide; zero for the others
    J: np.ndarray  # (3n, nv)
    bias: np.ndarray  # (3n,)
    mu: np.ndarray  # (n,)


class Points(Part):
    """What the contact points of a robot do, and what ends it."""

    State = Touches

    def __init__(self, robot: Dynamics, law: str, rtol: float):
        """`law` is that of impacts: "together", "poisson" or "one_by_one"; `rtol` of velocities is how exact a run has them."""
        self.robot, self.law, self.rtol = robot, law, rtol
        self.n, self.mu = len(robot.contacts), robot.contacts.friction
        self.near, self.touch = NEAR * robot.model.size, TOUCH * robot.model.size
        self.closed, self.slides = np.zeros(self.n, bool), np.zeros(self.n, bool)
        self.along = np.zeros((self.n, 2))  # where each point that slides goes
        self.fastest = np.zeros(self.n)
        self.slack = np.zeros(self.n)  # by how much each gap may be below zero before it closes: rounding, where a point stays at zero
        self.force = np.zeros((self.n, 3))
        self.critical = np.zeros(self.n, bool)  # points that stick and have no room left, however forces are shared
        self.room: float | None = None  # what room the best share of forces leaves to all, where another leaves none
        self.chosen, self.rows = np.zeros((self.n, 3)), np.zeros(robot.nv)  # forces of points and joints where it was chosen what rests
        self.lifts, self.struck = np.zeros(self.n, bool), np.zeros(self.n, bool)  # by events at this time
        self.slips = np.zeros((self.n, 2))  # directions of those that begin to, by an event at this time
        self.hovers: int | None = None  # the point that strikes again at the time at which it has rebounded: it rose by less than rounding
        self._seen: tuple = ()
        self._found: tuple = ()

    def forget(self) -> None:
        """Events of an earlier time."""
        self.lifts, self.struck, self.slips = np.zeros(self.n, bool), np.zeros(self.n, bool), np.zeros((self.n, 2))

    # --- at a state

    def at(self, q, v) -> tuple[np.ndarray, ...]:
        """Gaps (n,), J (3n, nv), u = J v (n, 3)."""
        key = q.tobytes(), v.tobytes()
        if key != self._seen:
            J = self.robot.contact_jacobian(q)
            self._seen, self._found = key, (self.robot.contact_gaps(q), J, blocks(J @ v))
        return self._found

    def gaps(self, q) -> np.ndarray:
        """What is left before each open point closes; infinite for those that are closed."""
        return np.where(self.closed, np.inf, self.robot.contact_gaps(q) + self.slack)

    def gap_rates(self, q, v) -> np.ndarray:
        return self.at(q, v)[2][:, 0]

    def unknowns(self, q, v):
        """Of the forces of closed points, one column for each unknown: rows N (k, nv) of zero acceleration, their J̇ v (k,), joint forces
        F (nv, k), the places of the unknowns in λ, E (3n, k), and the unknowns where it was chosen what rests (k,)."""
        _, J, u = self.at(q, v)
        columns, rows = [np.zeros((3 * self.n, 0))], [np.zeros(0, int)]
        for i in np.flatnonzero(self.closed):
            own = np.eye(3) if self.mu[i] > 0 else np.eye(3)[:, :1]
            if self.slides[i]:
                own = np.concatenate([[1.0], -self.mu[i] * self._direction(i, u)])[:, None]
            column = np.zeros((3 * self.n, own.shape[1]))
            column[3 * i : 3 * i + 3] = own
            columns.append(column)
            rows.append(3 * i + np.arange(own.shape[1]))
        E, chosen = np.concatenate(columns, 1), np.concatenate(rows)
        bias = self.robot.contact_bias(q, v)[chosen]
        return J[chosen], bias, J.T @ E, E, self.chosen.ravel()[chosen]

    @property
    def sticking(self) -> np.ndarray:
        """Closed points with friction that do not slide."""
        return self.closed & ~self.slides & (self.mu > 0)

    def bounds(self, E) -> tuple[list, list]:
        """Of the unknowns of `unknowns`, cones (row of λ_n, μ) of points that stick, and bounds (row, sign, bound) of the normal forces of
        others, as `sharing.shared` takes them."""
        first = np.argmax(E != 0, 0)  # the entry of λ that each unknown is, or is the normal force of
        normal = np.flatnonzero(first % 3 == 0)
        stick = self.sticking
        cones = [(int(row), float(self.mu[i])) for row in normal if stick[i := first[row] // 3]]
        return cones, [(int(row), 1.0, 0.0) for row in normal if not stick[first[row] // 3]]

    def _direction(self, i, u) -> np.ndarray:
        """Of a slip: that of its velocity, unless it has turned back."""
        slip = u[i, 1:]
        return slip / norm(slip) if slip @ self.along[i] > 1e-9 * norm(slip) and norm(slip) > SPEED else self.along[i]

    # --- events

    def values(self, q, v) -> np.ndarray:
        """Positive as long as a point stays as it is: its normal force; where it sticks the room in the cone, where it slides the speed
        along its direction; and how little that direction has turned. (3n,)"""
        always, force = np.full(self.n, np.inf), self.force
        if not self.closed.any():
            return np.tile(always, len(KINDS) - 1)
        u = self.at(q, v)[2][:, 1:]
        rough = self.closed & (self.mu > 0)
        left = self.mu * force[:, 0] - norm(force[:, 1:]) if self.room is None else self.room
        room = np.where(self.slides, (u * self.along).sum(-1), left)
        turned = np.where(norm(u) > SPEED, (u * self.along).sum(-1) - TURNED * norm(u), 1.0)
        values = (self.closed, force[:, 0]), (rough, room), (rough & self.slides, turned)
        return np.concatenate([np.where(some, value, always) for some, value in values])

    def happens(self, kind: str, i: int) -> list[str]:
        """A value of point i has come to zero: what that is called, if it is worth telling. Where a body slips, all points do that hold it
        and have no room left."""
        label = self.robot.contacts.labels[i]
        if kind == "turns":
            return []
        if kind == "lifts":
            self.lifts[i], self.struck[i] = True, False
        elif kind == "slides" and not self.slides[i]:
            slip = np.flatnonzero(self.critical) if self.critical[i] else np.array([i])
            push = self.force[slip, 1:]
            self.slips[slip] = -push / np.where(norm(push) > 0, norm(push), 1.0)[:, None]
            return [f"{self.robot.contacts.labels[k]} slips" for k in (i, *slip[slip != i])]
        elif kind == "slides":
            self.slips[i], kind = 0.0, "stops sliding"
        else:
            self.struck[i], self.lifts[i] = True, False
        return [f"{label} {kind}"]

    # --- changes

    def striking(self, q, v) -> tuple[np.ndarray, np.ndarray]:
        """Which points take part in an impact, and which of them approach."""
        gaps, _, u = self.at(q, v)
        near = (self.closed & (gaps <= OVERLAP)) | (gaps <= self.near) | self.struck
        return near, near & (u[:, 0] < -self.slow(u))

    def strike(self, near, approach, q, v):
        """Restitution (k,), speeds that are none (k,), and rows (3k, nv) of the points that take part in an impact."""
        _, J, u = self.at(q, v)
        self.fastest = np.where(approach, np.maximum(self.fastest, -u[:, 0]), self.fastest)
        self.lifts, self.slips = self.lifts & ~near, np.where(near[:, None], 0.0, self.slips)
        strikes = approach | (self.law == "one_by_one")  # there one strikes the next
        e = self.robot.contacts.restitution
        if self.law != "one_by_one" and (near & (u[:, 0] > self.slow(u))).any():  # one strikes before another has got away: they accumulate
            strikes = strikes & (e >= 1)
        return np.where(strikes, e, 0.0)[near], self.slow(u)[near], J[np.repeat(near, 3)]

    def slow(self, u) -> np.ndarray:
        """Speeds that are none, of points with velocities u (n, 3): impacts that accumulate get slower than a run knows its velocities."""
        return np.maximum(SPEED * 1e-3, np.maximum(REST * self.fastest, self.rtol * norm(u)))

    def touching(self, q, v, was) -> Touching:
        """The points that may stay closed; `was` says which were. Forces that have just come to zero, or to the cone, are where the event
        decides: such points open, or slide against their friction."""
        gaps, J, u = self.at(q, v)
        self.slack = np.where((gaps > self.touch) | (u[:, 0] > self.slow(u)), 0.0, self.touch - gaps)  # it is not to strike by rounding
        rests = np.abs(u[:, 0]) <= np.maximum(STILL, self.slow(u))
        if self.hovers is not None:
            rests[self.hovers] = True
        touches = ((was & (gaps <= OVERLAP)) | (gaps <= self.touch) | self.struck) & rests  # a reset may have moved what was closed
        closed = touches & ~self.lifts
        moving = norm(u[:, 1:]) > np.maximum(SPEED, 1e-6 * np.abs(v).max(initial=0.0))
        slip = np.where((closed & moving)[:, None], u[:, 1:], 0.0)
        begins = closed & (norm(self.slips) > 0)
        slip = np.where(begins[:, None], self.slips, slip)
        return Touching(touches, closed, slip, J, self.robot.contact_bias(q, v) if touches.any() else np.zeros(len(J)), self.mu)

    def open(self) -> None:
        self.closed, self.slides, self.force = np.zeros(self.n, bool), np.zeros(self.n, bool), np.zeros((self.n, 3))

    def takes_back(self, touch: Touching, vdot, free) -> bool:
        """Would points that have just lifted close, or those that have just slipped go against their slip? That an event said so was a
        matter of how forces are shared, and is forgotten. `free` is v̇ without forces at rest."""
        rate = blocks(touch.J @ vdot + touch.bias)
        size = np.abs(touch.J @ free + touch.bias).max(initial=1e-300)
        wrong = self.lifts & (rate[:, 0] < -1e-9 * size)
        back = touch.closed & ((rate[:, 1:] * self.slips).sum(-1) < -1e-7 * size)
        self.lifts, self.slips = self.lifts & ~wrong, np.where(back[:, None], 0.0, self.slips)
        return bool(wrong.any() or back.any())

    def take(self, touch: Touching, force, rate, free) -> None:
        """Go on as a solution says: forces and accelerations (k, 3) of the k points that touch; `free` is v̇ without forces at rest."""
        size = np.abs(touch.J @ free + touch.bias).max(initial=1e-300)
        lam, acc = np.zeros((self.n, 3)), np.zeros((self.n, 3))
        lam[touch.closed], acc[touch.closed] = force, rate
        self.chosen = lam
        self.closed = touch.closed & (lam[:, 0] > 1e-9 * np.abs(lam).max(initial=0.0))
        if self.closed.sum() > FEW:
            raise SimulationError(
                f'{self.closed.sum()} points are closed at once; event by event there may be {FEW}. Use method="contact" with dt=....'
            )
        slipping = norm(touch.slip) > 0
        begins = self.closed & ~slipping & (norm(acc[:, 1:]) > 1e-7 * size)
        self.slides = self.closed & (slipping | begins | (self.mu == 0))
        where = np.where(slipping[:, None], touch.slip, acc[:, 1:])
        self.along = np.where(self.slides[:, None], where / np.where(norm(where) > 0, norm(where), 1.0)[:, None], 0.0)

    def named(self, points) -> str:
        return ", ".join(np.array(self.robot.contacts.labels)[points][:4])

    def check(self, q) -> None:
        """Closed points keep their gaps, so that shapes which are in each other at the start, or after a reset, would stay so."""
        gaps = self.robot.contact_gaps(q)
        if gaps.min() < -OVERLAP:
            raise SimulationError(
                f"{self.robot.model.name}: shapes of {self.named(gaps == gaps.min())} are in each other by {-gaps.min():.3g} m, "
                'and a run event by event would leave them so. Move them apart, or use method="contact" with dt=..., which does.'
            )
