"""The interface of a method of integration: a step is a function of the state of a run."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...dynamics import Dynamics
from ..rest.failure import Failure
from ..state import State
from .flow import Flow
from .tolerances import Tolerances

__all__ = ["Failure", "Integrator", "Interpolant", "Step", "Tolerances"]

Interpolant = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Step:
    """A step of length h that ends at (q, v); `rates` are vdot and tau at the end, if the method has computed them.

    `interpolant(x)` gives ξ and v at fractions x (m, 1) of the step, the configuration there being base ∘ exp ξ. `memory` is what the
    method remembers of it, `next_step` the length to try next.
    """

    h: float
    base: np.ndarray
    q: np.ndarray
    v: np.ndarray
    interpolant: Interpolant
    rates: tuple[np.ndarray, np.ndarray] | None = None
    memory: Any = None
    next_step: float | None = None
    contact: Mapping[str, Any] | None = None  # of steps with contact: their entries in the record of these
    free_rate: np.ndarray | None = None  # of these: the acceleration without contacts

    def at(self, robot: Dynamics, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and v at fractions x (m,) of the step."""
        xi, v = self.interpolant(np.asarray(x)[:, None])
        return robot.integrate(self.base, xi), v


class Integrator(ABC):
    """A method that makes steps. It knows nothing of earlier ones but what a state has of them in its memory."""

    Memory: ClassVar[tuple[type, ...]] = ()  # the kinds of memory that the method has

    def __init__(self, flow: Flow):
        self.flow = flow
        self.robot = flow.robot
        self.n = flow.robot.nv

    @abstractmethod
    def step(self, s: State, h: float) -> Step:
        """A step of length h from a state, or a shorter one if the method chooses its length."""

    @property
    def sizes(self) -> dict[str, int]:
        """How long the arrays of its memory are (see `state.fitted`)."""
        return {"nq": self.robot.nq, "nv": self.n, "n": self.flow.blocks * self.n}

    def restarted(self, memory, *, jump: bool):
        """What is left of a memory where a force has changed or, with `jump`, the state."""
        return None

    def projected(self, memory):
        """What is left of a memory where the state after a step has been put on the constraints, which moves it slightly."""
        return memory
