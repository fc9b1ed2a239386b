"""What ends a call of compiled steps: a step in which something may happen, for Python to look at.

A guard looks at each step, on its interpolant, where the detector of events would (`events`, `sampling`). As long as all that is watched
keeps its distance from zero, steps are made one after another; the first step of which that is not certain is the last of its call, and the
detector looks for what is in it. Which limits hold a joint, which joints slide and which rest is data: one kernel serves all of these.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...contact.geometry.pairs import Pairs
from ...contact.quantities import contact_gaps, contact_jacobian, contact_options
from ..rest.contact_events import KINDS, Points
from ..rest.stops import Stops
from ..state import Rest, Touches
from .events import SAMPLES, Event
from .sampling import AGREE, AT_CHECKS, AT_FINE, CHECKS, NODES
from .watch import Within, result_of

ALERT, FOUND = "alert", "found"  # the next step is to be looked at in any case; the last step is to be looked at
REACH, SPEED = "reach", "speed"  # the largest gap of each limit, the largest speed of each joint, at the ends of steps
FASTEST, PUSH = "fastest", "push"  # of impacts of each joint; the largest acceleration that forces at rest have had to prevent
RESTITUTION = "restitution"  # of limits
SLACK, POINT_FASTEST, POINT_STRUCK = "slack of points", "fastest impacts", "struck points"  # see `rest/contact_events.py`
INSTANT, LET_GO, OFF = "instant", "let go", "off"  # of the last event: its time, the forces of rows let go, rows that were at rest


@dataclass(frozen=True, eq=False)
class OpenPoints:
    """Contact points none of which is closed: their gaps are watched."""

    pairs: Pairs
    friction: np.ndarray
    restitution: np.ndarray
    names: tuple[str, ...]  # of impacts
    near: float  # m: points nearer than that take part in an impact of another
    touch: float  # m: and nearer than that they touch
    rtol: float  # of velocities: how exact a run has them

    @staticmethod
    def of(points: Points) -> "OpenPoints":
        contacts = points.robot.contacts
        names, (pairs,) = tuple(f"{label} {KINDS[0]}" for label in contacts.labels), contact_options(points.robot.model)
        return OpenPoints(pairs, points.mu, np.array(contacts.restitution), names, points.near, points.touch, points.rtol)

    def __len__(self) -> int:
        return len(self.names)

    def at(self, system, q, v):
        """Gaps (n,), rows J (n, 3, nv), velocities (n, 3) at a state."""
        J = contact_jacobian(system, q, self.pairs)
        return contact_gaps(system, q, self.pairs), J.reshape(-1, 3, J.shape[-1]), (J @ v[:, None])[:, 0].reshape(-1, 3)


@dataclass(frozen=True, eq=False)
class Joints:
    """Joints that may strike a limit, stick or slip; if one `holds`, forces keep it at rest."""

    limits: tuple
    rough: np.ndarray  # rows of v with dry friction
    nv: int
    holds: bool
    points: OpenPoints | None = None

    @staticmethod
    def of(stops: Stops, holds: bool, rough: np.ndarray | None = None) -> "Joints":
        """The joints of a run; `rough` are the rows with dry friction, if that varies."""
        rough = np.flatnonzero(stops.dry) if rough is None else rough
        points = None if stops.points is None else OpenPoints.of(stops.points)
        return Joints(tuple(stops.limits), rough, len(stops.dry), holds, points)

    @property
    def names(self) -> list[str]:
        """The names of impacts, of limits and of points."""
        return [*(x.name for x in self.limits), *(() if self.points is None else self.points.names)]

    @property
    def modes(self) -> tuple[str, ...]:
        """What the equations of motion take: the direction in which each joint slides, and 1 for joints that are held."""
        return ("slides", "rests") if self.holds else ("slides",)

    @property
    def given(self) -> dict[str, tuple[int, ...]]:
        """Shapes of what else says which joints move."""
        given: dict[str, tuple[int, ...]] = {"low": (self.nv,), "high": (self.nv,)} if self.holds else {}
        given |= {} if self.points is None else {SLACK: (len(self.points),)}
        return given | ({"open": (len(self.limits),)} if self.limits else {})

    @property
    def state(self) -> dict[str, tuple[int, ...]]:
        """Shapes of what steps in which nothing happens change."""
        shapes: dict[str, tuple[int, ...]] = {REACH: (len(self.limits),)} if self.limits else {}
        return shapes | {SPEED: (self.nv,)}

    @property
    def known(self) -> dict[str, tuple[int, ...]]:
        """Shapes of all that is known of what the joints do, which transitions change."""
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("slides", "rests", "low", "high", SPEED, FASTEST, LET_GO, OFF), (self.nv,))
        shapes |= {} if self.points is None else dict.fromkeys((SLACK, POINT_FASTEST, POINT_STRUCK), (len(self.points),))
        return shapes | {PUSH: (), INSTANT: ()} | (dict.fromkeys(("open", REACH), (len(self.limits),)) if self.limits else {})

    def values(self, stops: Stops) -> dict[str, np.ndarray]:
        """What the joints do now, by name."""
        rests = np.zeros(self.nv)
        rests[stops.rows] = 1.0
        low, high = np.where(rests > 0, stops.bounds, [[-np.inf], [np.inf]])
        modes = {"slides": stops.sliding, "rests": rests, "low": low, "high": high, "open": np.where(stops.stopped, 0.0, 1.0)}
        modes |= {REACH: stops.reach, SPEED: stops.speed, FASTEST: stops.fastest, PUSH: stops.push, RESTITUTION: stops.restitution or 0.0}
        if stops.points is not None:
            modes |= {SLACK: stops.points.slack, POINT_FASTEST: stops.points.fastest, POINT_STRUCK: stops.points.struck.astype(float)}
        return modes | {INSTANT: stops.time, LET_GO: stops.let_go, OFF: stops.off.astype(float)}

    def rest(self, before: Rest, numbers: Mapping) -> Rest:
        """Returns what joints do after a transition, from its numbers."""
        rows, limits = np.flatnonzero(numbers["rests"] > 0), bool(self.limits)
        arrays = {"fastest": FASTEST, "speed": SPEED, "sliding": "slides", "let_go": LET_GO} | ({"reach": REACH} if limits else {})
        known: dict[str, Any] = {name: np.array(numbers[x]) for name, x in arrays.items()}
        if before.points is not None:
            points = Touches(*(np.zeros_like(x) for x in before.points))
            touches = {"slack": np.array(numbers[SLACK]), "fastest": np.array(numbers[POINT_FASTEST]), "struck": numbers[POINT_STRUCK] > 0}
            known["points"] = points._replace(**touches)
        return before._replace(
            **known, push=float(numbers[PUSH]), time=float(numbers[INSTANT]),
            rows=rows, rest=rows.copy(), bounds=np.stack([numbers["low"], numbers["high"]]), force=np.zeros(len(rows)), loosens=False,
            stopped=numbers["open"] <= 0 if limits else before.stopped, caught=np.zeros(self.nv, bool), off=numbers[OFF] > 0,
        )  # fmt: skip

    def largest(self, q, v, quiet, at: Mapping) -> dict:
        """The largest gaps and speeds after a step to q and v, if it is quiet."""
        ends = {SPEED: np.abs(v)}
        if self.limits:
            ends[REACH] = np.stack([x.side * (q[x.row] - x.bound) for x in self.limits])
        return {name: np.where(quiet, np.maximum(at[name], ends[name]), at[name]) for name in self.state}

    def is_quiet(self, step: Within, rates, at: Mapping):
        """Does no joint strike, stick or slip in a step?"""
        states = [step.at(float(x)) for x in SAMPLES]
        quiet = at[ALERT] <= 0
        for here in states[1:]:
            slip = np.where(at["slides"] != 0, at["slides"] * here["v"], np.inf)
            quiet = quiet & np.all(slip[self.rough] > 0) if len(self.rough) else quiet
            if self.holds:
                force = rates.holding(here["t"], here["q"], here["v"])
                quiet = quiet & np.all(np.where(at["rests"] > 0, np.minimum(force - at["low"], at["high"] - force), np.inf) > 0)
        if self.points is not None:
            looks = [self.points.at(rates.system(here["q"]), here["q"], here["v"]) for here in states]
            quiet = quiet & np.all(_stay_open([gaps + at[SLACK] for gaps, _, _ in looks], [u[:, 0] for _, _, u in looks], step.h))
        return quiet & self._is_within_limits(states, step.h, at["open"]) if self.limits else quiet

    def _is_within_limits(self, states, h, open_):
        row, rate = (np.array([getattr(x, name) for x in self.limits]) for name in ("row", "rate"))
        side, bound = (np.array([getattr(x, name) for x in self.limits]) for name in ("side", "bound"))
        gaps, speeds = [side * (x["q"][row] - bound) for x in states], [side * x["v"][rate] for x in states]
        return np.all(_stay_open(gaps, speeds, h) | (open_ <= 0))


def _stay_open(gaps: list, speeds: list, h):
    """Which gaps stay open in a step, by their values and rates at all looks: between two looks a gap that shrinks, then grows, is at least
    where its tangents meet."""
    apart = gaps[0] == gaps[0]
    for k, part in enumerate(np.diff(SAMPLES)):
        (a, b), (u, w) = gaps[k : k + 2], speeds[k : k + 2]
        apart = apart & (b > 0) & ~dips(a, b, u, w, part * h)
    return apart


def dips(a, b, u, w, h):
    """Which gaps, a before and b after the time h, with rates u and w, shrink and grow, and may be below zero where their tangents meet."""
    turns = (u < 0) & (w > 0)
    return turns & ((w * a - u * (b - w * h)) / np.where(turns, w - u, 1.0) <= 0)


@dataclass(frozen=True, eq=False)
class Guard:
    """What is watched in the steps of one run: its joints, and events whose functions are kernels of (t, q, v)."""

    joints: Joints | None
    events: tuple[Event, ...] = ()
    always: bool = False  # is each step to be looked at?

    @property
    def state(self) -> dict[str, tuple[int, ...]]:
        """Shapes of what an attempt at a step changes."""
        return {FOUND: (), **({} if self.joints is None else self.joints.state)}

    @property
    def given(self) -> dict[str, tuple[int, ...]]:
        return {ALERT: (), **({} if self.joints is None else self.joints.given)}

    def is_quiet(self, step: Within, rates, at: Mapping):
        """Is it certain that nothing happens in a step?"""
        quiet = (at[ALERT] <= 0) & (not self.always)
        if self.always:
            return quiet
        if self.joints is not None:
            quiet = quiet & self.joints.is_quiet(step, rates, at)
        for event in self.events:
            quiet = quiet & self.keeps_its_sign(event, step)
        return quiet

    def keeps_its_sign(self, event: Event, step: Within):
        """Is a function smooth at the scale of a step, and far from zero in all of it, by the samples of `sampling`?"""
        kernel: Any = event.function
        values = [np.reshape(result_of(kernel, step.at(float(x))), ()) for x in (*NODES, *CHECKS)]
        nodes, checks = np.stack(values[: len(NODES)]), np.stack(values[len(NODES) :])
        near, sign = AGREE * np.max(np.abs(nodes)), np.where(nodes[0] > 0, 1.0, -1.0)
        agrees = np.all(np.abs(AT_CHECKS @ nodes - checks) <= near)
        quiet = agrees & np.all(sign * (AT_FINE @ nodes) > near) & np.all(sign * checks > 0)
        return quiet if event.resolution is None else quiet & (step.h <= 4 * event.resolution)
