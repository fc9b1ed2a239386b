"""Detection of events during a step: a change of sign, then its root on the interpolant of the step."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...errors import ShapeError, SimulationError
from ...lie.scalars import numbers
from ..methods.flow import Flow
from ..methods.step import Step
from ..rates.control import at_state, read_only
from ..state import Coordinates, Part, Velocities, Watched
from .sampling import NOISY, Samples

SAMPLES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])  # fractions of a step where joints are looked at
STILL = 1e-6  # of its rate before a reset: a function that changes slower after it has been put to rest
SHORT = 1e-7  # seconds, for such rates
SAME = 16  # units in the last place: times as near as that are one
PATIENCE = 3  # steps in which a function may change faster than it is looked at, before it is looked at less often
ULPS = np.arange(1.0, 9.0)  # units in the last place: what a function changes within so short a time is its rounding
SHORTEST = 1e-9  # of a step: no longer than that
FLAT = 3000  # rounds of the search for a root, which takes some ten: a root of high order is found by halving now and then
HALVINGS = 64  # in search of the next root after one at the start of a step


@dataclass(frozen=True)
class Event:
    """An event that occurs when function(t, q, v) passes through zero.

    direction   1: only when the function rises, -1: only when it falls, 0: both
    terminal    the run ends there
    reset       (t, q, v) -> (q, v): the state after the event, as in an impact
    resolution  the longest time, in seconds, between two looks at the function: no visit to the other side that lasts longer is
                missed. Without it, looks are as close together as a function takes that is smooth at the scale of a step, or
                up to 4000 times faster; if that is not enough, `message` of the run says so
    """

    function: Callable[[float, np.ndarray, np.ndarray], float]
    name: str = "event"
    direction: int = 0
    terminal: bool = False
    reset: Callable | None = None
    resolution: float | None = None

    def __post_init__(self):
        if self.resolution is not None and not (np.ndim(self.resolution) == 0 and numbers(self.resolution) > 0):
            raise SimulationError(f'event "{self.name}" has resolution {self.resolution!r}; it must be a positive number of seconds.')
        if not callable(self.function) or self.direction not in (-1, 0, 1):
            raise SimulationError(
                f'event "{self.name}" has function {self.function!r} and direction {self.direction!r}; it needs a function '
                "of (t, q, v) that returns a number, and a direction of -1, 0 or 1."
            )

    def value(self, t: float, q, v) -> float:
        """The function at a state, which it may not change; one number, whatever array it is in."""
        found = at_state(self.function, t, *read_only(q, v))
        if isinstance(found, float) or type(found) is int:
            return float(found)
        if found is None:
            raise ShapeError(f'event "{self.name}" returned None; its function of (t, q, v) returns a number.')
        array = numbers(found, f'what event "{self.name}" returned')
        if array.size != 1 or isinstance(found, (str, list, tuple)):
            what = f"an array of shape {array.shape}" if array.size != 1 else f"{found!r:.60}"
            raise ShapeError(f'event "{self.name}" returned {what}; its function of (t, q, v) returns one number.')
        if np.asarray(found).dtype == bool:
            raise ShapeError(f'event "{self.name}" returned {found}, which has no sign to change; return t - 1.0 in place of t > 1.0.')
        return float(array.reshape(()))


class Occurrence(NamedTuple):
    """An event that occurred: its time, its name, and the state just before."""

    t: float
    name: str
    q: Coordinates
    v: Velocities


class _NotANumber(Exception):
    """A function whose root is looked for has no value at some place."""


class Crossing(NamedTuple):
    """An event within a step: the fraction of the step where it occurs, and the number of the event."""

    x: float
    number: int


class EventDetector(Part):
    """All events of a run: the user's, then those of joints that come to rest or start to move."""

    State = Watched

    def __init__(self, flow: Flow, events: Iterable):
        self.flow = flow
        self.events = [_event(event) for event in events]
        self.resting: int | None = None  # the event whose reset has put what it watches to rest, at zero
        self.onward = 0.0  # how fast the function of the event that has just occurred changes after it
        self.unseen: dict[str, float] = {}  # events that change faster than they are looked at, and since when
        self.undefined: dict[str, float] = {}  # events whose functions are not numbers, and since when
        n = len(self.events)
        self.unresolved = np.zeros(n)  # in how many steps each function changed too fast
        self.noise = np.zeros(n)  # the rounding of each function, where it was measured
        self.before, self.stops_before = np.full(n, np.nan), np.zeros(0 if self.stops is None else self.stops.count)
        self.stale = False  # have steps been made since the values at a start were stored?

    @property
    def stops(self):
        """The joints and points that come to rest or start to move, if there are any."""
        return self.flow.stops

    @property
    def sizes(self):
        return {"events": len(self.events), "values": len(self.stops_before)}

    @property
    def any(self) -> bool:
        return bool(self.events) or self.stops is not None

    @property
    def alert(self) -> bool:
        """Is the next step to be looked at in any case? It starts from a zero of a function, which may be rounding."""
        return bool((self.before == 0).any())

    def passed(self) -> None:
        """Steps were made in which nothing happened: the values at the end are asked for when they are needed."""
        self.before, self.stops_before = np.full(len(self.before), np.nan), np.full(len(self.stops_before), np.nan)
        self.resting, self.stale = None, True

    @property
    def text(self) -> str:
        """Which events may be missing, and why."""
        said = []
        if self.unseen:
            names = ", ".join(f'"{name}" (from t = {t:.6g} s on)' for name, t in self.unseen.items())
            said.append(f"{names} changes faster than it is looked at; lw.Event(..., resolution=seconds) says how often")
        if self.undefined:
            names = ", ".join(f'"{name}" (first at t = {t:.6g} s)' for name, t in self.undefined.items())
            said.append(f"{names} is not a number")
        return f"events may be missing: {'; '.join(said)}." if said else ""

    def own(self, t: float, q, v) -> np.ndarray:
        """The values of the user's functions."""
        values = np.array([event.value(t, q, v) for event in self.events])
        if (wrong := np.isnan(values)).any():
            for i in np.flatnonzero(wrong):
                self.undefined.setdefault(self.events[i].name, t)
        return values

    def begin(self, t: float, q, v, just: int | None = None, rate: float = 0.0) -> None:
        """Store the values at the start of a smooth motion; that of event `just`, which has just occurred, is zero.

        `rate` is how fast its function changed before.
        """
        self.before, rested, self.resting, self.stale = self.own(t, q, v), self.resting, None, False
        if just is not None:
            self.before[just], self.onward = 0.0, self.rate(just, t, q, v)
            still = abs(self.onward) < STILL * abs(rate) or (self.onward == 0 and rested == just)
            self.resting = just if still else None
        if self.stops is not None:
            self.stops_before = self.stops.start_values(t, q, v, self.flow)

    def rate(self, i: int, t: float, q, v) -> float:
        """How fast the function of the user's event i changes along the motion, but for a factor."""
        vdot, _ = self.flow.at(t, q, v)
        h = max(SHORT, 1e4 * np.spacing(abs(t)))
        later = t + h, self.flow.integrate(q, h * v), v + h * vdot
        return self.events[i].value(*later) - self.events[i].value(t, q, v)

    def interrupts(self, index: int) -> bool:
        """Does this event end the run or change the state, so that the step must end there?"""
        return index >= len(self.events) or self.events[index].terminal or self.events[index].reset is not None

    def find(self, t: float, q, v, step: Step) -> list[Crossing]:
        """The events in a step from (q, v), in order of time, up to the first that interrupts it."""
        if self.stale:
            self.begin(t, q, v)
        found = self._own_crossings(t, step) if self.events else []
        if self.stops is not None:
            found = sorted(found + self._stop_crossings(t, step))
        first = next((k for k, x in enumerate(found) if self.interrupts(x.number)), len(found))
        return found[: first + 1]

    def _states(self, t: float, step: Step, x: np.ndarray):
        """q and v at fractions x of a step; at its end those after it was put back on the constraints."""
        q, v = self.flow.within(t, step, x)
        q[x == 1], v[x == 1] = step.q, step.v
        return q, v

    def _own_crossings(self, t: float, step: Step) -> list[Crossing]:
        """The user's events in a step, up to the first that interrupts it."""

        def values(x):
            return np.stack([self.own(t + a * step.h, *state) for a, *state in zip(x, *self._states(t, step, x))])

        apart = min((event.resolution for event in self.events if event.resolution is not None), default=np.inf)
        ulp = max(np.spacing(abs(t)), np.spacing(np.abs(step.q).max(initial=0.0)) / (np.abs(step.v).max(initial=0.0) or np.inf))
        ulps = min(ulp / step.h, SHORTEST) * ULPS
        samples = Samples(values, self.before, max(1, int(np.ceil(step.h / (4 * apart)))), ulps, self.noise, self.unresolved >= PATIENCE)
        start, low, found = self.before, 0.0, []
        for x, value in samples:
            seen = np.maximum(np.abs(start), np.abs(value)) > NOISY * self.noise
            crossed = [i for i, (a, b) in enumerate(zip(start, value)) if seen[i] and self._crossed(i, a, b)]
            here = [self._root(i, t, step, low, x, start[i]) for i in crossed]
            for event in sorted(each for each in here if each is not None):
                found.append(event)
                if self.interrupts(event.number):
                    return found
            start, low = value, x
        self.before, self.resting = samples.last, None
        self.unresolved += samples.unresolved
        for i in np.flatnonzero(samples.unresolved):
            if self.events[i].resolution is None:
                self.unseen.setdefault(self.events[i].name, t)
        return found

    def _stop_crossings(self, t: float, step: Step) -> list[Crossing]:
        """The first events of joints in a step."""
        assert self.stops is not None
        q, v = self._states(t, step, SAMPLES)
        start, low, n = self.stops_before, 0.0, len(self.events)
        self._stop_values: dict[float, np.ndarray] = {}
        for k, x in enumerate(SAMPLES.tolist()[1:], 1):
            value = self.stops.values(t + x * step.h, q[k], v[k], self.flow)
            ends = list(zip(q[k - 1 : k + 1], v[k - 1 : k + 1]))
            crossed = np.array([self._crossed(i, a, b) for i, (a, b) in enumerate(zip(start, value), n)], bool)
            crossed &= ~self.stops.rounding(crossed, start, value, ends)
            here: list[Crossing | None] = []
            for i in np.flatnonzero(crossed).tolist():
                if not (here and here[0] and self._is_later(n + i, t + here[0].x * step.h, here[0].number)):
                    here.append(self._root(n + i, t, step, low, x, start[i]))
            here += self._double_crossings(t, step, low, x, start, value, ends)
            if found := [each for each in here if each is not None]:
                return found
            start, low = np.maximum(value, 0.0), x
        self.stops_before = start
        return []

    def _is_later(self, i: int, t: float, first: int) -> bool:
        """Is it known that value i of what rests comes to zero after value `first`, which does so at t, or with it?"""
        values = self._stop_values.get(t)
        return values is not None and (values[i - len(self.events)] > 0 or values[i - len(self.events)] == values[first - len(self.events)])

    def _value(self, i: int, t: float, q, v) -> float:
        """That of one event alone."""
        if i < len(self.events):
            return self.events[i].value(t, q, v)
        assert self.stops is not None
        if t not in self._stop_values:
            self._stop_values[t] = self.stops.values(t, q, v, self.flow)
        return float(self._stop_values[t][i - len(self.events)])

    def _double_crossings(self, t: float, step: Step, low: float, high: float, start, value, ends) -> list[Crossing | None]:
        """Limits and gaps that are crossed twice between two fractions of a step: found where the gap is smallest."""
        from scipy.optimize import brentq

        assert self.stops is not None
        rates_of, n, found = self.stops.gap_rates, len(self.events), []
        before, after = (rates_of(*state) for state in ends)

        def rate(x, k):  # at the ends as they were compared: asked again, they may differ by rounding
            ends = {low: before, high: after}
            return (ends[x] if x in ends else rates_of(*(each[0] for each in self._states(t, step, np.array([x])))))[k]

        for k in np.flatnonzero((before < 0) & (after > 0)):
            if start[k] > 0 and 0 < value[k] < np.inf:
                x = brentq(rate, low, high, args=(k,))
                at = self._states(t, step, np.array([x]))
                if self._value(n + int(k), t + x * step.h, *(each[0] for each in at)) < 0:
                    found.append(self._root(n + int(k), t, step, low, x, start[k]))
        return found

    def _crossed(self, i: int, a: float, b: float) -> bool:
        direction = self.events[i].direction if i < len(self.events) else -1
        falls, rises = a >= 0 >= b and a != b, a <= 0 <= b and a != b
        return (falls and direction <= 0) or (rises and direction >= 0)

    def _root(self, i: int, t: float, step: Step, low: float, high: float, start: float) -> Crossing | None:
        """The root of value i between two fractions of a step; `start` is its value at the first."""
        from scipy.optimize import brentq

        known = {low: start}  # as it was compared: asked again, a function may differ by rounding

        def value(x):
            if x not in known:
                known[x] = self._value(i, t + x * step.h, *(each[0] for each in self._states(t, step, np.array([x]))))
            return known[x]

        def number(x):
            if np.isnan(value(x)):
                raise _NotANumber
            return known[x]

        end = value(high)
        if end == 0.0:
            return Crossing(high, i)
        again = Crossing(low, i) if i >= len(self.events) or (i == self.resting and low == 0) else None
        zero = start == 0.0
        if zero:  # it starts at zero: find a point with the other sign than the end, the root is in between
            width = high - low
            for _ in range(HALVINGS):
                width /= 2
                start = value(low + width)
                if _differ(start, end):
                    low, high = low + width, low + 2 * width
                    break
            else:
                return again
        if not _differ(start, end):  # at the level of rounding a function may have another sign when it is asked again
            return Crossing(high, i)
        try:
            x = brentq(number, low, high, xtol=1e-16 * high, rtol=1e-15, maxiter=FLAT)
        except _NotANumber:
            return Crossing(high, i)
        if i >= len(self.events):  # a jump of a force is before the event, if the event is before the jump
            later = (min(x + k * np.spacing(abs(t)) / step.h, high) for k in (0, 1, 2, 4, 8, SAME))
            x = next((each for each in later if value(each) <= 0), x)
        onward = zero and i < len(self.events) and _differ(self.onward, -end)
        return again if onward and x * step.h <= SAME * np.spacing(abs(t)) else Crossing(x, i)  # the crossing it starts from, rounded


def _differ(a: float, b: float) -> bool:
    """Have two numbers different signs? Their product may be too small for a float."""
    return a < 0 < b or b < 0 < a


def _event(event) -> Event:
    if isinstance(event, Event):
        return event
    if callable(event):
        return Event(event, getattr(event, "__name__", "event"))
    raise SimulationError(f"events contains {event!r}; its entries must be lw.Event(function, ...) or functions of (t, q, v).")
