"""The contract of a constraint: rows that bind the velocities of a mechanism, and how far it is from keeping them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import ModelError, old_name
from ...lie.scalars import like
from ...spatial import Pose
from .kinematics import Kinematics
from .wrenches import BodyWrench, on_bodies


@dataclass(frozen=True, eq=False)
class Rows:
    """m rows at one state or a batch of them:  c(q, t) = 0,   Jc v = U,   Jc v̇ + γ = 0              Jain (11.2) to (11.6)

    For a holonomic constraint U = −∂c/∂t; γ = J̇c v − U̇. Without velocities in the motion γ is None, and c is None for a
    nonholonomic one, which no position breaks.
    """

    c: Any  # (..., m) or None
    Jc: Any  # (..., m, nv)
    U: Any  # (..., m)
    gamma: Any  # (..., m) or None

    G = old_name("Rows.G", "Rows.Jc", "Jc")


@dataclass(frozen=True, eq=False)
class Portable:
    """A constraint apart from where it is and how long its parts are: two of one kind are one function of these."""

    kind: Hashable
    placed: Callable[..., "Constraint"]  # of (its number, frames as numbers of bodies, coordinates)
    frames: tuple[tuple[int | None, Pose], ...] = ()  # that rows are written with: (body or None for the world, pose on it)
    coordinates: tuple[tuple[int, int], ...] = ()  # (in q, in v)
    constants: Mapping[str, Any] = field(default_factory=dict)  # by the names that `Kinematics.varied` knows


class Constraint(ABC):
    """Something that binds a mechanism. `labels` says what each of its rows forbids."""

    name: str
    holonomic = True
    traceable = False  # can its rows be written out as a kernel?
    why_plain = ""  # where they cannot, and it is known why: the reason
    moves = False  # do they depend on time?
    metric = False  # are they all measured in metres?
    functions: tuple[Callable, ...] = ()  # of the user's, that rows are made by

    @property
    def portable(self) -> Portable | None:
        """Where it is the same function of places and numbers as others of its kind: that function; else None."""
        return None

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]: ...

    def bound(self, robot) -> "Constraint":
        """This constraint on a robot: names of bodies and joints become numbers."""
        return self

    @property
    def bodies(self) -> tuple[int | None, ...] | None:
        """The bodies that it holds on to, the world (None) among them, where its rows are over their velocities alone; else None."""
        return None

    def touched(self, nodes) -> set[int]:
        """The nodes that it holds on to, the world among them: what embedding makes one node of, with those between."""
        if self.bodies is None:
            raise ModelError(
                f'constraint "{self.name}" ({type(self).__name__}) cannot be embedded: it may bind any velocity. Use method="augmented".'
            )
        return {nodes.tree.world if i is None else nodes.on[i] for i in self.bodies}

    @property
    def embeddable(self) -> bool:
        """Does it say which nodes it holds on to?"""
        return self.bodies is not None or type(self).touched is not Constraint.touched

    def given(self, t) -> tuple[float, float, float]:
        """What moves it, and its first two rates: time itself, unless it follows a function of time."""
        return float(t), 1.0, 0.0

    def traced_given(self, t):
        """The same (3,) at a time that is traced."""
        return np.stack([t, t.like(1.0), t.like(0.0)])

    def jerk(self, t) -> float:
        """The third rate of what moves it."""
        return 0.0

    @property
    def lengths(self) -> np.ndarray:
        """Which rows are measured in metres; the others are in radians, or numbers."""
        return np.full(len(self), self.metric)

    def scale(self, size: float, reach) -> np.ndarray:
        """What its rows (m,) are measured against in a mechanism of a size, whose velocities are measured against `reach` (nv,)."""
        return np.where(self.lengths, size, 1.0)

    @abstractmethod
    def rows(self, motion: Kinematics) -> Rows: ...

    def combined_rows(self, motion: Kinematics) -> Rows:
        """Rows that forbid the same: as many independent combinations of `rows`, all of one scale, that take fewer operations. For what
        asks which motions are left, not which row carries how much."""
        return self.rows(motion)

    def complaint(self, motion: Kinematics) -> str:
        """More to say of a constraint that is not kept, such as that it is closed the wrong way round."""
        return ""

    def closure(self, motion: Kinematics):
        """Functions (..., m) that are zero together with c, for reading: written without logarithms where c has some. None for a
        constraint on velocities."""
        return self.rows(motion).c

    def wrenches(self, motion: Kinematics, lam) -> list[BodyWrench] | None:
        """The wrenches that multipliers λ (..., m) of its rows exert on bodies, the world (None) among them, each in the axes of its
        body, at its origin. None where only the generalized force Jc* λ is known."""
        return None if self.bodies is None else on_bodies(self.rows, motion, self.bodies, lam)

    def __len__(self) -> int:
        return len(self.labels)


def stacked(parts: list[Rows], motion: Kinematics) -> Rows:
    """The rows of several constraints, one below the other; c of a nonholonomic one is zero."""
    batch, sizes = np.broadcast_shapes(motion.batch, *(p.Jc.shape[:-2] for p in parts)), [p.Jc.shape[-2] for p in parts]

    def column(each):
        whole = [np.broadcast_to(np.zeros(m) if x is None else x, (*batch, m)) for x, m in zip(each, sizes)]
        return np.concatenate([np.zeros((*batch, 0)), *whole], -1)

    Jc = [np.broadcast_to(p.Jc, (*batch, *p.Jc.shape[-2:])) for p in parts]
    return Rows(
        column(p.c for p in parts),
        np.concatenate([np.zeros((*batch, 0, motion.width)), *Jc], -2),
        column(p.U for p in parts),
        None if motion.v is None else column(p.gamma for p in parts),
    )


def stacked_columns(parts: list[Rows], motion: Kinematics) -> Rows:
    """The rows of the constraints of a loop, one below the other; c, U and γ are columns."""
    rows = stacked(parts, motion)
    column = lambda x: like(x, motion.q)[..., None]
    return Rows(column(rows.c), rows.Jc, column(rows.U), None if rows.gamma is None else column(rows.gamma))
