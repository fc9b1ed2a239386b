"""What is watched during the compiled steps of an ensemble, so that no row need be stored: statistics of functions, and events.

Functions are looked at four times in each step, on its interpolant, and at its start: extreme values are those of all looks, the mean over
time is by Boole's rule, and an event is a change of sign between two looks, its time a root on the interpolant.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..errors import ShapeError, SimulationError
from ..kernels import UserKernel
from ..lie.iteration import iterate
from ..quantities import integrate
from .events import Event
from .interpolate import Polynomial

LOOKS = 0.25, 0.5, 0.75, 1.0  # fractions of a step
BOOLE = np.array([7, 32, 12, 32, 7]) / 90
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
            made |= {f"before of event {k}": x, f"first of event {k}": np.nan + 0.0 * x, f"count of event {k}": np.zeros_like(x)}
        return made

    def seen(self, step: "Within", at: Mapping, made):
        """What is carried after a step that was `made`, and the fraction of it after which an event ends the run; 1 if none does."""
        looks = [self.values(step.at(x)) for x in LOOKS]
        n, new, roots = len(self.statistics), {}, []
        for k, event in enumerate(self.events):
            g = [at[f"before of event {k}"], *(values[n + k] for values in looks)]
            count, root = crossing(lambda x, k=k: self.values(step.at(x))[n + k], g, event.direction, made)
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
            looks = [self.values(step.at(x * end)) for x in LOOKS]
        for j, name in enumerate(self.statistics):
            old = {what: at[f"{what} of {name}"] for what in STATISTICS}
            values = [old["last"], *(found[j] for found in looks)]
            least, greatest, total = old["least"], old["greatest"], 0.0
            for weight, x in zip(BOOLE, values):
                least, greatest, total = np.minimum(least, x), np.maximum(greatest, x), total + weight * x
            after = least, greatest, old["integral"] + step.h * end * total, values[-1]
            new |= {f"{what} of {name}": x for what, x in zip(STATISTICS, after)}
        new["ended"] = ended
        return {name: np.where(made, new[name], old) for name, old in at.items() if name in new}, end


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


def crossing(function: Callable, g: list, direction: int, made):
    """How often a function changes its sign, from its values at 0 and at the looks; and where it does so first."""
    bracket: list = [0.0, 1.0, -1.0, 1.0]  # both ends and the values there
    count, edges = np.zeros_like(g[0]), (0.0, *LOOKS)
    for k in range(len(LOOKS), 0, -1):
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
