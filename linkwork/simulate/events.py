"""Detection of events during a step: a change of sign, then its root on the interpolant of the step."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import SimulationError
from .flow import Flow
from .step import Step

SAMPLES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])  # fractions of a step where signs are compared, to see two crossings in a step
HALVINGS = 64  # in search of the next root after one at the start of a step


@dataclass(frozen=True)
class Event:
    """An event that occurs when function(t, q, v) passes through zero.

    direction   1: only when the function rises, -1: only when it falls, 0: both
    terminal    the run ends there
    reset       (t, q, v) -> (q, v): the state after the event, as in an impact
    """

    function: Callable[[float, np.ndarray, np.ndarray], float]
    name: str = "event"
    direction: int = 0
    terminal: bool = False
    reset: Callable | None = None

    def __post_init__(self):
        if not callable(self.function) or self.direction not in (-1, 0, 1):
            raise SimulationError(
                f'event "{self.name}" has function {self.function!r} and direction {self.direction!r}; it needs a function '
                "of (t, q, v) that returns a number, and a direction of -1, 0 or 1."
            )


class Occurrence(NamedTuple):
    """An event that occurred: its time, its name, and the state just before."""

    t: float
    name: str
    q: np.ndarray
    v: np.ndarray


class Crossing(NamedTuple):
    """An event within a step: the fraction of the step where it occurs, and the number of the event."""

    x: float
    number: int


class EventDetector:
    """All events of a run: the user's, then those of joints that come to rest or start to move."""

    def __init__(self, flow: Flow, events: Iterable):
        self.flow = flow
        self.stops = flow.stops
        self.events = [_event(event) for event in events]

    @property
    def any(self) -> bool:
        return bool(self.events) or self.stops is not None

    def values(self, t: float, q, v) -> np.ndarray:
        own = np.array([float(event.function(t, q, v)) for event in self.events])
        return own if self.stops is None else np.concatenate([own, self.stops.values(t, q, v, self.flow)])

    def begin(self, t: float, q, v, just: int | None = None) -> None:
        """Store the values at the start of a smooth motion; that of event `just`, which has just occurred, is zero."""
        self.before = self.values(t, q, v)
        self.before[len(self.events) :] = np.maximum(self.before[len(self.events) :], 0.0)  # below zero it is rounding
        if just is not None:
            self.before[just] = 0.0

    def interrupts(self, index: int) -> bool:
        """Does this event end the run or change the state, so that the step must end there?"""
        return index >= len(self.events) or self.events[index].terminal or self.events[index].reset is not None

    def find(self, t: float, step: Step) -> list[Crossing]:
        """The events in a step, in order of time, up to the first that interrupts it."""
        q, v = self.flow.within(t, step, SAMPLES)
        q[-1], v[-1] = step.q, step.v
        start, low, found = self.before, 0.0, []
        for k, x in enumerate(SAMPLES.tolist()[1:], 1):
            value = self.values(t + x * step.h, q[k], v[k])
            crossed = [i for i, (a, b) in enumerate(zip(start, value)) if self._crossed(i, a, b)]
            here = [self._root(i, t, step, low, x, start[i]) for i in crossed]
            if self.stops is not None and self.stops.limits:
                here += self._double_crossings(t, step, low, x, start, value, v[k - 1 : k + 1])
            for event in sorted(each for each in here if each is not None):
                found.append(event)
                if self.interrupts(event.number):
                    return found
            start, low = value, x
        self.before = start
        return found

    def _double_crossings(self, t: float, step: Step, low: float, high: float, start, value, v) -> list[Crossing | None]:
        """Limits that are crossed twice between two fractions of a step: found where the gap is smallest."""
        from scipy.optimize import brentq

        assert self.stops is not None
        rates_of, n, found = self.stops.gap_rates, len(self.events), []
        before, after = map(rates_of, v)

        def rates(x):
            return rates_of(self.flow.within(t, step, np.array([x]))[1][0])

        for k in np.flatnonzero((before < 0) & (after > 0)):
            if start[n + k] > 0 and 0 < value[n + k] < np.inf:
                x = brentq(lambda x, k=k: rates(x)[k], low, high)
                at = self.flow.within(t, step, np.array([x]))
                if self.values(t + x * step.h, *(each[0] for each in at))[n + k] < 0:
                    found.append(self._root(n + int(k), t, step, low, x, start[n + k]))
        return found

    def _crossed(self, i: int, a: float, b: float) -> bool:
        direction = self.events[i].direction if i < len(self.events) else -1
        falls, rises = a >= 0 >= b and a != b, a <= 0 <= b and a != b
        return (falls and direction <= 0) or (rises and direction >= 0)

    def _root(self, i: int, t: float, step: Step, low: float, high: float, start: float) -> Crossing | None:
        """The root of value i between two fractions of a step; `start` is its value at the first."""
        from scipy.optimize import brentq

        def value(x):
            if x == low:
                return start
            q, v = (step.q, step.v) if x == 1 else (each[0] for each in self.flow.within(t, step, np.array([x])))
            return float(self.values(t + x * step.h, q, v)[i])

        end = value(high)
        if end == 0.0:
            return Crossing(high, i)
        if start == 0.0:  # it starts at zero: find a point with the other sign than the end, the root is in between
            width = high - low
            for _ in range(HALVINGS):
                width /= 2
                start = value(low + width)
                if start * end < 0:
                    low, high = low + width, low + 2 * width
                    break
            else:
                return Crossing(low, i) if i >= len(self.events) else None
        return Crossing(brentq(value, low, high, xtol=1e-16 * high, rtol=1e-15), i)


def _event(event) -> Event:
    if isinstance(event, Event):
        return event
    if callable(event):
        return Event(event, getattr(event, "__name__", "event"))
    raise SimulationError(f"events contains {event!r}; its entries must be lw.Event(function, ...) or functions of (t, q, v).")
