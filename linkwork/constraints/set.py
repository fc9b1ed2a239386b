"""All constraints of a robot together."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import LinkworkError, ModelError
from ..model import lower
from .closure import Closure
from .compound import CompoundClosure
from .couplings import Coupled
from .motion import Motion
from .rows import Constraint, Rows, stacked


class ConstraintError(LinkworkError, ValueError):
    """Constraints that are not kept, or cannot be."""


@dataclass(frozen=True, eq=False)
class ConstraintSet:
    """The active loops and couplings of a model, and what else is given."""

    robot: Any
    constraints: tuple[Constraint, ...]

    @staticmethod
    def of(robot, *more: Constraint) -> "ConstraintSet":
        model = robot.model
        loops = [closed(loop, model) for loop in model.loops if loop.active and loop.joint.nv < 6]
        couplings = [Coupled.over(coupling, robot) for coupling in model.couplings if coupling.active]
        for x in more:
            if not isinstance(x, Constraint):
                raise ModelError(f"{model.name}: {x!r} is no constraint; it takes a linkwork.constraints.Constraint.")
        all_of_them = (*loops, *couplings, *(x.bound(robot) for x in more))
        names = [x.name for x in all_of_them]
        for name in names:
            if names.count(name) > 1:
                raise ModelError(f'{model.name} has two constraints of the name "{name}"; each needs a name of its own.')
        return ConstraintSet(robot, all_of_them)

    @cached_property
    def nodes(self):
        return lower(self.robot.model)

    @cached_property
    def slices(self) -> dict[str, slice]:
        """The rows of each constraint."""
        ends = np.cumsum([0, *map(len, self.constraints)])
        return {x.name: slice(int(a), int(b)) for x, a, b in zip(self.constraints, ends, ends[1:])}

    @cached_property
    def labels(self) -> tuple[tuple[str, str], ...]:
        """(constraint, what the row forbids) of each row."""
        return tuple((x.name, label) for x in self.constraints for label in x.labels)

    @cached_property
    def holonomic(self) -> np.ndarray:
        """Which rows bind positions."""
        return np.array([x.holonomic for x in self.constraints for _ in x.labels], bool)

    @cached_property
    def size(self) -> float:
        """A length of the mechanism: the longest way between two of its joints."""
        model = self.robot.model
        ways = [x.translation for part in (*model.hinges, *model.loops) for x in (part.at, part.on)]
        return float(max((np.linalg.norm(x) for x in ways), default=0.0)) or 1.0

    @cached_property
    def scale(self) -> np.ndarray:
        """What residuals are measured against, row by row: a radian, or the size of the mechanism."""
        return np.concatenate([np.zeros(0), *(np.where(x.lengths, self.size, 1.0) for x in self.constraints)])

    def __len__(self) -> int:
        return len(self.labels)

    def motion(self, q, v=None, t=0.0) -> Motion:
        return Motion(self.nodes, np.asarray(q, float), None if v is None else np.asarray(v, float), t)

    def rows(self, q, v=None, t=0.0) -> Rows:
        motion = self.motion(q, v, t)
        return stacked([x.rows(motion) for x in self.constraints], motion)

    def residual(self, q, t=0.0):
        """c(q, t) (..., m)."""
        return self.rows(q, t=t).c

    def misfit(self, c):
        """The largest entry of a residual (...), each against its scale."""
        return (np.abs(c) / self.scale).max(-1, initial=0.0)

    def bad(self, c, tolerance: float) -> list[str]:
        """The constraints that a residual breaks, worst first, in words."""
        c = np.abs(np.asarray(c)).reshape(-1, len(self)).max(0, initial=0.0)
        worst = {name: float(c[rows].max(initial=0.0)) for name, rows in self.slices.items()}
        ratio = {name: float((c[rows] / self.scale[rows]).max(initial=0.0)) for name, rows in self.slices.items()}
        order = sorted((name for name in ratio if not ratio[name] <= tolerance), key=lambda name: -ratio[name])
        return [f'"{name}" by {worst[name]:.3g} ({self.labels[self.slices[name].start + int(np.argmax(c[self.slices[name]]))][1]})'
                for name in order]  # fmt: skip


def closed(loop, model) -> Closure:
    return (Closure if len(loop.joint.parts) == 1 else CompoundClosure).of(loop, model)
