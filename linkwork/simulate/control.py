"""What drives a mechanism: plain functions of (t, q, v), and ones that look only at their own rate and hold in between."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor, inf

import numpy as np

from ..errors import ShapeError, SimulationError, listed

Function = Callable[[float, np.ndarray, np.ndarray], object]
SLACK = 1e-9  # of a period: how near a time must be to a sampling instant to be one


@dataclass(frozen=True)
class Hold:
    """A controller that is asked at t = 0, 1/rate, 2/rate ... and whose answer holds until the next time."""

    function: Function
    rate: float

    def __post_init__(self):
        if not 0 < self.rate < inf:
            raise SimulationError(f"a controller is held at a rate of {self.rate} Hz; it takes a positive, finite number.")

    def index(self, t: float) -> int:
        """The number of the last instant at or before t."""
        return floor(t * self.rate + SLACK)


def hold(function: Function, *, rate: float) -> Hold:
    """function(t, q, v) as a digital controller sees the world: at its own rate in Hz, its answer held in between."""
    return Hold(function, rate)


Control = Function | Hold | Sequence[Function | Hold] | None


class Controls:
    """All controllers of a run together: their forces add."""

    def __init__(self, robot, control: Control, held=None):
        parts = [] if control is None else list(control) if isinstance(control, Sequence) else [control]
        for part in parts:
            if not callable(part) and not isinstance(part, Hold):
                raise SimulationError(
                    f"control is {part!r}; it takes a function of (t, q, v) that returns tau, lw.hold(function, rate=...), "
                    "or several of them in a list."
                )
        self.robot = robot
        self.functions: list[Function] = [part for part in parts if not isinstance(part, Hold)]
        self.holds: list[Hold] = [part for part in parts if isinstance(part, Hold)]
        self.asked: list[float] = [-inf for _ in self.holds]
        self.answers = [np.zeros(robot.nv) for _ in self.holds]
        if held is not None:
            self.asked, self.answers = list(held[0]), list(held[1])

    @property
    def held(self) -> tuple:
        """What a later run needs to go on from here."""
        return tuple(self.asked), tuple(self.answers)

    def sample(self, t: float, q, v) -> bool:
        """Ask the controllers whose time it is; True if there was one."""
        due = [i for i, part in enumerate(self.holds) if part.index(t) > self.asked[i]]
        for i in due:
            self.answers[i] = self._checked(self.holds[i].function(t, q, v), "held control").copy()
            self.asked[i] = self.holds[i].index(t)
        return bool(due)

    def next(self) -> float:
        """When a controller is next asked."""
        return min(((k + 1) / part.rate for part, k in zip(self.holds, self.asked)), default=inf)

    def __call__(self, t: float, q, v) -> np.ndarray:
        """τ of all of them: what the held ones last said, and what the others say now."""
        tau = np.zeros(self.robot.nv)
        for force in self.answers:
            tau = tau + force
        for function in self.functions:
            tau = tau + self._checked(function(t, q, v), "control")
        return tau

    def _checked(self, tau, who: str) -> np.ndarray:
        tau = np.asarray(tau, float)
        nv = self.robot.nv
        if tau.shape == (nv,):
            return tau
        if tau.shape == () and nv == 1:
            return tau[None]
        raise ShapeError(
            f"{who} returned an array of shape {tau.shape}, but {self.robot.model.name} has nv = {nv} "
            f"({listed(self.robot.joints, 2)})."
        )
