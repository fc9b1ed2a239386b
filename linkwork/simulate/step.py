"""What every integrator does: a step from one state to the next, with the motion in between."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..dynamics import Dynamics
from ..lie.group import Additive
from .flow import Flow

Between = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


class Failure(Exception):
    """A step that cannot be made: why, and at which velocity if that is known."""

    def __init__(self, why: str, row: int | None = None):
        super().__init__(why)
        self.row = row


@dataclass(frozen=True)
class Step:
    """Over the time h to (q, v); `rates` are vdot and tau there, if the method has them.

    `between(x)` gives ξ and v at fractions x (m, 1) of the step, ξ seen from `base`.
    """

    h: float
    base: np.ndarray
    q: np.ndarray
    v: np.ndarray
    between: Between
    rates: tuple[np.ndarray, np.ndarray] | None = None

    def at(self, robot: Dynamics, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and v at fractions x (m,) of the step."""
        xi, v = self.between(np.asarray(x)[:, None])
        return robot.integrate(self.base, xi), v


class Integrator(ABC):
    """Makes steps. Between steps it remembers at most how long the next one should be."""

    rejected = 0
    next_step: float | None = None  # what an adaptive one would try next

    def __init__(self, flow: Flow):
        self.flow = flow
        self.robot = flow.robot
        self.n = flow.robot.nv

    @abstractmethod
    def step(self, t: float, q, v, vdot, h: float) -> Step:
        """A step of length h, or shorter if the method chooses its own; v and vdot are those at t."""

    def moved(self) -> None:  # noqa: B027  most start from the state they are given
        """The state after the step was put right by rounding or a little more."""

    def restart(self, *, jump: bool) -> None:  # noqa: B027  most have nothing to forget
        """A force has changed, or, with `jump`, the state: forget what was learnt from the steps before."""


class Measure:
    """How large things are, for tolerances and steps: angles against a radian, lengths and velocities against themselves."""

    def __init__(self, robot: Dynamics, rtol: float, atol: float):
        self.rtol, self.atol = rtol, atol
        self.sizes = np.ones(robot.nv)
        self.along: list[tuple[int, int]] = []  # lengths that are coordinates: rows of v and q
        self.across: list[tuple[slice, slice]] = []  # lengths that are components of a position
        self.turns: list[slice] = []  # angular velocities that do not add
        nq = nv = 0
        for placed in robot.model.joints:
            for _, joint, _ in placed.joint.parts:
                group, straight = joint.group, int((joint.group.basis[:, :3] == 0).all(1).sum())
                lines = slice(nv + group.nv - straight, nv + group.nv)
                if isinstance(group, Additive):
                    self.along += [(j, nq + j - nv) for j in range(lines.start, lines.stop)]
                else:
                    self.turns.append(slice(nv, lines.start))
                    self.across += [(lines, slice(nq + group.nq - straight, nq + group.nq))] * bool(straight)
                nq, nv = nq + group.nq, nv + group.nv
        self.rows = np.array(self.along, int).reshape(-1, 2).T

    def size(self, q) -> np.ndarray:
        """Of each coordinate's neighbourhood, one number per velocity."""
        if self.along:
            self.sizes[self.rows[0]] = np.abs(q[self.rows[1]])
        for rows, position in self.across:
            self.sizes[rows] = np.sqrt(q[position] @ q[position])
        return self.sizes

    def tolerance(self, q, v0, v1, held) -> np.ndarray:
        """The error that a step may make in (ξ, v), and in what is held back."""
        return self.atol + self.rtol * np.concatenate([self.size(q), np.maximum(np.abs(v0), np.abs(v1)), np.abs(held)])

    def turning(self, v) -> float:
        """The fastest turn of a joint whose turns do not add, rad/s."""
        return max((float(np.sqrt(v[rows] @ v[rows])) for rows in self.turns), default=0.0)
