"""Things that happen during a step: found by a change of sign, placed by its root on the step's own interpolant."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import SimulationError
from .flow import Flow
from .step import Step

SAMPLES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])  # where in a step signs are looked at, so that a short visit is seen
HALVINGS = 64  # in search of the motion that an event has just begun


@dataclass(frozen=True)
class Event:
    """Something that happens when function(t, q, v) passes through zero.

    direction   1: only when it rises, -1: only when it falls, 0: both
    terminal    the run ends there
    reset       (t, q, v) -> (q, v): the state jumps, as in an impact
    """

    function: Callable[[float, np.ndarray, np.ndarray], float]
    name: str = "event"
    direction: int = 0
    terminal: bool = False
    reset: Callable | None = None

    def __post_init__(self):
        if not callable(self.function) or self.direction not in (-1, 0, 1):
            raise SimulationError(
                f'event "{self.name}" has function {self.function!r} and direction {self.direction!r}; it takes a function '
                "of (t, q, v) that returns a number, and a direction of -1, 0 or 1."
            )


class Occurrence(NamedTuple):
    """An event that happened: when, which one, and the state just before."""

    t: float
    name: str
    q: np.ndarray
    v: np.ndarray


class Found(NamedTuple):
    """An event within a step: at which fraction of it, and its number."""

    x: float
    number: int


class Watch:
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
        """A new motion starts; event `just` has just happened, so that its value means nothing."""
        self.before = self.values(t, q, v)
        if just is not None:
            self.before[just] = 0.0

    def cuts(self, index: int) -> bool:
        """Does the motion end with this event?"""
        return index >= len(self.events) or self.events[index].terminal or self.events[index].reset is not None

    def find(self, t: float, step: Step) -> list[Found]:
        """What happens in a step, in order, up to the first event that ends the motion."""
        q, v = self.flow.within(t, step, SAMPLES)
        q[-1], v[-1] = step.q, step.v
        start, low, found = self.before, 0.0, []
        for k, x in enumerate(SAMPLES.tolist()[1:], 1):
            value = self.values(t + x * step.h, q[k], v[k])
            crossed = [i for i, (a, b) in enumerate(zip(start, value)) if self._crossed(i, a, b)]
            here = [self._root(i, t, step, low, x, start[i]) for i in crossed]
            if self.stops is not None and self.stops.limits:
                here += self._visits(t, step, low, x, start, value, v[k - 1 : k + 1])
            for event in sorted(each for each in here if each is not None):
                found.append(event)
                if self.cuts(event.number):
                    return found
            start, low = value, x
        self.before = start
        return found

    def _visits(self, t: float, step: Step, low: float, high: float, start, value, v) -> list[Found | None]:
        """Limits that are passed and left again between two fractions of a step: seen where their gap is smallest."""
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

    def _root(self, i: int, t: float, step: Step, low: float, high: float, start: float) -> Found | None:
        """Where value i passes through zero between two fractions of a step; `start` is its value at the first."""
        from scipy.optimize import brentq

        def value(x):
            if x == low:
                return start
            q, v = (step.q, step.v) if x == 1 else (each[0] for each in self.flow.within(t, step, np.array([x])))
            return float(self.values(t + x * step.h, q, v)[i])

        end = value(high)
        if end == 0.0:
            return Found(high, i)
        if start == 0.0:  # it begins at zero: look for the way out, which must be before the way back
            width = high - low
            for _ in range(HALVINGS):
                width /= 2
                start = value(low + width)
                if start * end < 0:
                    low, high = low + width, low + 2 * width
                    break
            else:
                return Found(low, i) if i >= len(self.events) else None
        return Found(brentq(value, low, high, xtol=1e-16 * high, rtol=1e-15), i)


def _event(event) -> Event:
    if isinstance(event, Event):
        return event
    if callable(event):
        return Event(event, getattr(event, "__name__", "event"))
    raise SimulationError(f"events has {event!r}; it takes lw.Event(function, ...) or functions of (t, q, v).")
