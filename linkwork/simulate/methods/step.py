"""The interface of an integrator: a step from one state to the next, with an interpolant in between."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

import numpy as np

from ...dynamics import Dynamics
from ..rest.failure import Failure
from .flow import Flow
from .tolerances import Tolerances

__all__ = ["Failure", "Integrator", "Interpolant", "Step", "Tolerances"]

Interpolant = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Step:
    """A step of length h that ends at (q, v); `rates` are vdot and tau at the end, if the method has computed them.

    `interpolant(x)` gives ξ and v at fractions x (m, 1) of the step, the configuration there being base ∘ exp ξ.
    """

    h: float
    base: np.ndarray
    q: np.ndarray
    v: np.ndarray
    interpolant: Interpolant
    rates: tuple[np.ndarray, np.ndarray] | None = None

    def at(self, robot: Dynamics, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and v at fractions x (m,) of the step."""
        xi, v = self.interpolant(np.asarray(x)[:, None])
        return robot.integrate(self.base, xi), v


class Integrator(ABC):
    """A method that makes steps. Between steps it stores data of the last ones and the length to try next."""

    rejected = 0
    next_step: float | None = None  # the length that an adaptive method tries next
    creeping = 0  # attempts in a row at steps too short to get anywhere (see `pairs.creeps`)

    def __init__(self, flow: Flow):
        self.flow = flow
        self.robot = flow.robot
        self.n = flow.robot.nv

    @abstractmethod
    def step(self, t: float, q, v, vdot, h: float) -> Step:
        """Make a step of length h, or a shorter one if the method chooses its length; v and vdot are those at t."""

    @property
    def memory(self):
        """What it knows of earlier steps that changes the bits of later ones, as lists and numbers; None if nothing."""
        return None

    def remember(self, memory) -> None:  # noqa: B027  most methods store nothing
        """Go on with the memory of an earlier part of the run, unless that is None or does not fit."""

    def snapshot(self) -> "Integrator":
        """A copy, for its memory, that later steps do not change."""
        return copy(self)

    def state_projected(self) -> None:  # noqa: B027  most methods start from the state they are given
        """Called when the state after a step has been projected on the constraints, which moves it slightly."""

    def restart(self, *, jump: bool) -> None:  # noqa: B027  most methods store nothing
        """Called when a force has changed or, with `jump`, the state: discard what was stored from earlier steps."""
