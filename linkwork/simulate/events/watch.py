"""What is watched during the compiled steps of an ensemble, so that no row need be stored: statistics of functions, and events.

Functions are looked at four times in each step, eight times in those of dop853, on its interpolant, and at its start: extreme values are
looked for where the polynomial through the looks has them, the mean over time is by Boole's rule, and an event is a change of sign between
two looks, its time a root on the interpolant.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from ...errors import ShapeError, SimulationError
from ...kernels import UserKernel
from ...lie.iteration import iterate
from ...quantities import integrate
from ..methods.interpolate import Polynomial
from .events import Event

BOOLE = np.array([7, 32, 12, 32, 7]) / 90
PARTS = 2  # of the time between two looks, where the polynomial through all of them is compared
POLISHES = 2  # rounds of Newton's method for its extreme values
ROUNDING = 1e-13  # of the largest value: an extreme value is not looked for if it is nearer than that to one that is known
ROUNDS = 60  # of the search for a root, which takes some eight
NEAR = 1e-14  # of a step: roots are as near as that
STATISTICS = "least", "greatest", "integral", "last"
EVENTS = "before", "first", "count"


@dataclass(frozen=True, eq=False)
class Watch:
    """Functions of a state by name, kernels of (t, q, v, ...), and events whose functions are."""

    statistics: Mapping[str, UserKernel]
    events: tuple[Event, ...] = ()

    @property
    def any(self) -> bool:
        return bool(self.statistics) or bool(self.events)

    @property
    def kernels(self) -> list[UserKernel]:
        return [*self.statistics.values(), *(event.function for event in self.events)]  # type: ignore[list-item]

    def values(self, at: Mapping) -> list:
        """The functions at a state, those of the events last: one number each."""
        out = [result_of(kernel, at) for kernel in self.kernels]
        for event, value in zip(self.events, out[len(self.statistics) :]):
            if np.shape(value) != ():
                raise ShapeError(f'event "{event.name}" returns shape {np.shape(value)}; its function returns one number.')
        return out

    def state(self, shapes: list[tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
        """The shapes of what is carried from step to step, for functions of these shapes."""
        own = zip(self.statistics, shapes)
        carried = {f"{what} of {name}": shape for name, shape in own for what in STATISTICS}
        return carried | {f"{what} of event {k}": () for k in range(len(self.events)) for what in EVENTS} | {"ended": ()}

    def start(self, values: list) -> dict:
        """What is carried at the start of a run, from the values there."""
        made: dict = {"ended": 0.0}
        for name, x in zip(self.statistics, values):
            made |= {f"{what} of {name}": x for what in STATISTICS} | {f"integral of {name}": 0.0 * x}
        for k, x in enumerate(values[len(self.statistics) :]):
            made |= {f"before of event {k}": x, f"first of event {k}": np.nan + 0.0 * x, f"count of event {k}": 0.0}
        return made

    def seen(self, step: "Within", at: Mapping, made):
        """What is carried after a step that was `made`, and the fraction of it after which an event ends the run; 1 if none does."""
        fractions = looks_of(len(step.c) - 1)
        looks = [self.values(step.at(x)) for x in fractions]
        n, new, roots = len(self.statistics), {}, []
        for k, event in enumerate(self.events):
            g = [at[f"before of event {k}"], *(values[n + k] for values in looks)]
            count, root = crossing(lambda x, k=k: self.values(step.at(x))[n + k], g, (0.0, *fractions), event.direction, made)
            roots.append((count, root))
        end, ended = 1.0 + 0.0 * step.h, 0.0 * step.h
        for k, (event, (count, root)) in enumerate(zip(self.events, roots)):
            if event.terminal:
                sooner = (count > 0) & (root < np.where(ended > 0, end, 2.0))
                end, ended = np.where(sooner, root, end), np.where(sooner, k + 1.0, ended)
        for k, (count, root) in enumerate(roots):
            here, known = (count > 0) & (root <= end), at[f"count of event {k}"]
            new[f"before of event {k}"] = looks[-1][n + k]
            new[f"first of event {k}"] = np.where(here & (known < 1), step.t + root * step.h, at[f"first of event {k}"])
            new[f"count of event {k}"] = known + np.where(here, count, 0.0)
        if any(event.terminal for event in self.events):
            looks = [self.values(step.at(x * end)) for x in fractions]
        new |= self._statistics(step, at, looks, end, made) if self.statistics else {}
        new["ended"] = ended
        return {name: np.where(made, new[name], old) for name, old in at.items() if name in new}, end

    def part(self, step, at: Mapping, end: float) -> dict:
        """Returns the statistics that are carried after a part of a step, up to its fraction `end`."""
        looks = [self.values(step.at(x * end)) for x in looks_of(len(step.c) - 1)]
        return self._statistics(step, at, looks, end, np.array(True))

    def jump(self, state: Mapping, at: Mapping) -> dict:
        """Returns the statistics that are carried where the state has become another one."""
        new: dict = {}
        for name, x in zip(self.statistics, self.values(state)):
            new |= {f"least of {name}": np.minimum(at[f"least of {name}"], x), f"last of {name}": x}
            new |= {f"greatest of {name}": np.maximum(at[f"greatest of {name}"], x)}
        return new

    def _statistics(self, step: "Within", at: Mapping, looks: list, end, made) -> dict:
        """What is carried of statistics after a part of a step, up to its fraction `end`, in which they have these values at all looks."""
        shapes = [np.shape(x) for x in looks[0][: len(self.statistics)]]
        before = {what: _flat([at[f"{what} of {name}"] for name in self.statistics]) for what in STATISTICS}
        values = np.stack([before["last"], *(_flat(x[: len(shapes)]) for x in looks)])
        panels = [BOOLE @ values[k : k + len(BOOLE)] for k in range(0, len(looks), len(BOOLE) - 1)]
        total = before["integral"] + step.h * end * sum(panels) / len(panels)
        ends = np.minimum(before["least"], np.min(values, 0)), np.maximum(before["greatest"], np.max(values, 0))
        function = lambda x: _flat(self.values(step.at(x * end))[: len(shapes)])
        after = dict(zip(STATISTICS, (*extremes(function, values, *ends, made), total, values[-1])))
        edges = np.cumsum([0, *map(prod, shapes)]).tolist()
        places = list(zip(self.statistics, shapes, edges, edges[1:]))
        return {f"{what} of {name}": np.reshape(x[a:b], shape) for what, x in after.items() for name, shape, a, b in places}


class Within:
    """The states within a step, and what else functions may ask for."""

    def __init__(self, system, start, end, h, coefficients, given: Mapping):
        """From `start` (t, q, v) to `end` (q, v)."""
        self.system, (self.t, self.q, self.v), self.end, self.h = system, start, end, h
        self.c, self.given = coefficients, given

    def at(self, x) -> dict:
        """t, q and v at a fraction x of the step."""
        q, v = self.end if isinstance(x, float) and x == 1.0 else self.state(x)
        return {"t": self.t + x * self.h, "q": q, "v": v, **self.given}

    def state(self, x):
        y, n = Polynomial.value(self.c, x), self.v.shape[-1]
        return integrate(self.system, self.q, y[:n]), y[n:]

    def acceleration(self, x):
        """The slope of v."""
        c = self.c[1:, self.v.shape[-1] :]
        return Polynomial.value(c * np.arange(1.0, len(c) + 1)[:, None], x) / self.h


def looks_of(degree: int) -> tuple[float, ...]:
    """The fractions of a step where functions are looked at: enough for a polynomial of the degree of the step's interpolant."""
    count = 4 if degree <= 4 else 8
    return tuple(k / count for k in range(1, count + 1))


def extremes(function: Callable, values, least, greatest, made):
    """The least and the greatest values of functions over x from 0 to 1: those known, and those at places where the polynomials through
    the values (looks, n) at equal distances have their extreme values. `function` gives all n at one x."""
    count = len(values) - 1
    powers = np.linalg.inv(np.vander(np.linspace(0.0, 1.0, count + 1), increasing=True))
    fine = np.linspace(0.0, 1.0, PARTS * count + 1)
    within, c = (np.vander(fine, count + 1, increasing=True) @ powers) @ values, powers @ values
    (high, top), (low, bottom) = (peak(sign * within, sign * c, fine) for sign in (1.0, -1.0))
    places, rounding = np.concatenate([high, low]), np.concatenate([ROUNDING * np.max(np.abs(values), 0)] * 2)

    def gains(least, greatest, spent):
        """By how much each place would improve what is known; nothing where it was tried."""
        return np.where(spent > 0, 0.0, np.concatenate([top - greatest, bottom + least]) - rounding)

    def better(least, greatest, spent):
        gain = gains(least, greatest, spent)
        most = np.max(gain)
        x = np.max(np.where(gain >= most, places, 0.0))
        found, spent = function(x), np.where((gain >= most) & (places == x), 1.0, spent)
        least, greatest = np.minimum(least, found), np.maximum(greatest, found)
        return least, greatest, spent, ~made | ~(np.max(gains(least, greatest, spent)) > 0)

    (least, greatest, _), _ = iterate(better, (least, greatest, 0.0 * places), most=len(places))
    return least, greatest


def peak(within, c, fine):
    """Where polynomials with the coefficients c (degree + 1, n) are greatest, and how great, from their values at the places `fine`."""
    best, x = within[0], 0.0 * within[0]
    for y, at in zip(within[1:], fine[1:]):
        best, x = np.maximum(best, y), np.where(y > best, float(at), x)
    k, low, high = np.arange(1.0, len(c))[:, None], np.maximum(x - fine[1], 0.0), np.minimum(x + fine[1], 1.0)
    first, second = k * c[1:], k[:-1] * (k[1:] * c[2:])
    for _ in range(POLISHES):
        slope, bend = Polynomial.value(first, x), Polynomial.value(second, x)
        x = np.where(bend < 0, np.clip(x - slope / np.where(bend < 0, bend, 1.0), low, high), x)
    return x, np.maximum(best, Polynomial.value(c, x))


def _flat(arrays: list):
    """All entries of arrays in one vector."""
    return np.concatenate([np.reshape(x, (-1,)) for x in arrays])


def crossing(function: Callable, g: list, edges: tuple[float, ...], direction: int, made):
    """How often a function changes its sign, from its values at some fractions of a step; and where it does so first."""
    bracket: list = [0.0, 1.0, -1.0, 1.0]  # both ends and the values there
    count = np.zeros_like(g[0])
    for k in range(len(edges) - 1, 0, -1):
        rises, falls = (g[k - 1] < 0) & (g[k] >= 0), (g[k - 1] > 0) & (g[k] <= 0)
        here = made & (rises | falls if direction == 0 else rises if direction > 0 else falls)
        bracket = [np.where(here, x, y) for x, y in zip((edges[k - 1], edges[k], g[k - 1], g[k]), bracket)]
        count = count + np.where(here, 1.0, 0.0)
    return count, root(function, bracket, count > 0)


def root(function: Callable, bracket, sought):
    """A root in a bracket (a, b, values there), where it is `sought`: regula falsi, the value at an end that stays being halved (Dowell and
    Jarratt 1971, "Illinois")."""

    def closer(a, b, ga, gb, x, side):
        new = np.clip(b - gb * (b - a) / np.where(gb == ga, 1.0, gb - ga), a, b)
        g = function(new)
        beyond = (g < 0) == (gb < 0)
        ga1, gb1 = np.where(side > 0, ga / 2, ga), np.where(side < 0, gb / 2, gb)
        done = ~sought | (np.abs(new - x) <= NEAR) | (b - a <= NEAR) | (g == 0)
        return (
            np.where(beyond, a, new), np.where(beyond, new, b), np.where(beyond, ga1, g), np.where(beyond, g, gb1),
            new, np.where(beyond, 1.0, -1.0), done,
        )  # fmt: skip

    b = bracket[1]
    (*_, x, _), _ = iterate(closer, (*bracket, b, 0.0 * b), most=ROUNDS)
    return x


def result_of(kernel: UserKernel, at: Mapping):
    """What a user's kernel returns for the values by name."""
    if missing := [name for name in kernel.names if name not in at]:
        raise SimulationError(f'{kernel.__name__} needs "{missing[0]}": pass given={{"{missing[0]}": ...}}.')
    return kernel.function(*(at[name] for name in kernel.names))
