"""Controllers: plain functions of (t, q, v), and sampled ones, whose output is held between sampling instants."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import floor, inf
from typing import Any

import numpy as np
from numpy import spacing

from ...errors import ShapeError, SimulationError, listed
from ...kernels import UserKernel
from ...lie.scalars import numbers
from ..state import Part, Samples

Function = Callable[[float, np.ndarray, np.ndarray], object]
FLOAT = np.dtype(float)
SLACK = 1e-9  # fraction of a period: a time this near to a sampling instant is that instant


@dataclass(frozen=True)
class Hold:
    """A controller that is called at t = 0, 1/rate, 2/rate ... and whose output is held until the next call."""

    function: Function
    rate: float

    def __post_init__(self):
        if not 0 < self.rate < inf:
            raise SimulationError(f"a held controller has rate {self.rate} Hz; it must be a positive, finite number.")

    def index(self, t: float) -> int:
        """The number of the last sampling instant at or before t."""
        n = t * self.rate
        return floor(n + max(SLACK, 2 * spacing(abs(n))))


def hold(function: Function, *, rate: float) -> Hold:
    """Make function(t, q, v) a digital controller: called at its own rate in Hz, its output held in between."""
    return Hold(function, rate)


def read_only(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Views for functions of the user: writing to them raises, so that a motion is changed by what functions return alone."""
    return tuple(_view(x) if x.flags.writeable else x for x in arrays)


def _view(x: np.ndarray) -> np.ndarray:
    view = x.view()
    view.flags.writeable = False
    return view


def at_state(function: Function, t, q, v):
    """A function of the user at a state, or a kernel, which takes what it names of t, q and v, at one or many."""
    if not isinstance(function, UserKernel):
        return function(t, q, v)
    at = {"t": t, "q": q, "v": v}
    if more := [name for name in function.names if name not in at]:
        raise SimulationError(
            f'the kernel {function.__name__} needs "{more[0]}" besides t, q and v: pass given={{"{more[0]}": ...}}, which makes an '
            "ensemble."
        )
    return function(*(at[name] for name in function.names))


Control = Function | Hold | Sequence[Function | Hold] | None


def parts_of(control) -> list[Any]:
    """The functions and sampled controllers of a control."""
    parts = [] if control is None else list(control) if isinstance(control, Sequence) else [control]
    for part in parts:
        if not callable(part) and not isinstance(part, Hold):
            raise SimulationError(
                f"control is {part!r}; it must be a function of (t, q, v) that returns tau, lw.hold(function, rate=...), "
                "or a list of these."
            )
    return parts


class Controls(Part):
    """The sum of all controllers of a run."""

    State = Samples

    def __init__(self, robot, control: Control):
        parts = parts_of(control)
        self.robot = robot
        self.functions: list[Function] = [part for part in parts if not isinstance(part, Hold)]
        self.holds: list[Hold] = [part for part in parts if isinstance(part, Hold)]
        self.calls = [partial(at_state, x) if isinstance(x, UserKernel) else x for x in self.functions]  # each of (t, q, v)
        self.zero = np.zeros(robot.nv)
        self.zero.flags.writeable = False
        self.last_calls, self.answers = np.full(len(self.holds), -inf), np.zeros((len(self.holds), robot.nv))

    @property
    def sizes(self):
        return {"holds": len(self.holds), "nv": self.robot.nv}

    def sample(self, t: float, q, v) -> bool:
        """Call the held controllers that are due at t; True if there was one."""
        due = [i for i, part in enumerate(self.holds) if part.index(t) > self.last_calls[i]]
        q, v = read_only(q, v)
        for i in due:
            self.answers[i] = self._checked(at_state(self.holds[i].function, t, q, v), "held control")
            self.last_calls[i] = self.holds[i].index(t)
        return bool(due)

    def next(self) -> float:
        """The time of the next call of a held controller."""
        return min(((k + 1) / part.rate for part, k in zip(self.holds, self.last_calls.tolist())), default=inf)

    def __call__(self, t: float, q, v) -> np.ndarray:
        """τ of all controllers: the held outputs and the functions evaluated now."""
        tau = self.zero
        if len(self.answers):
            tau = sum(self.answers, tau)
        if q.flags.writeable or v.flags.writeable:
            q, v = read_only(q, v)
        for call in self.calls:
            tau = tau + self._checked(call(t, q, v), "control")
        return tau

    def _checked(self, tau, name: str) -> np.ndarray:
        if type(tau) is np.ndarray and tau.dtype is FLOAT and tau.shape == self.zero.shape:
            return tau
        if tau is None:
            raise ShapeError(f"{name} returned None; it returns tau, or np.zeros({self.robot.nv}) where there is no force.")
        tau = numbers(tau, f"what {name} returned")
        nv = self.robot.nv
        if tau.shape == (nv,):
            return tau
        if tau.shape == () and nv == 1:
            return tau[None]
        raise ShapeError(
            f"{name} returned an array of shape {tau.shape}, but {self.robot.model.name} has nv = {nv} ({listed(self.robot.joints, 2)})."
        )
