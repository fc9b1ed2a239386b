"""Forces that a mechanism carries with it besides those along its joints: springs and dampers between points, pushes, and a fluid
about bodies that does not rotate: added mass, drag, buoyancy and current."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from ..errors import ModelError
from ..lie.scalars import numbers
from ..spatial import Pose

Vector = tuple[float, float, float]
ORIGIN: Vector = (0.0, 0.0, 0.0)
Matrix = tuple[tuple[float, ...], ...]
NONE: Matrix = ((0.0,) * 6,) * 6
HERE = Pose()


@dataclass(frozen=True)
class Attached:
    """Something with points on bodies or frames, and directions fixed in them: which fields name these, and which are on them."""

    name: str
    POINTS: ClassVar[tuple[tuple[str, str], ...]] = ()  # (field of the body, field of the point)
    DIRECTIONS: ClassVar[tuple[tuple[str, str], ...]] = ()

    @property
    def bodies(self) -> tuple[str, ...]:
        """The bodies and frames it names; the world has no name."""
        return tuple(x for body, _ in self.POINTS if (x := getattr(self, body)) is not None)

    def seen_from(self, moved: Mapping[str | None, Pose]) -> Self:
        """It with points and directions in other body frames, `moved` the old ones in the new; on a frame nothing changes."""
        new: dict[str, Any] = {}
        for turn, parts in ((False, self.POINTS), (True, self.DIRECTIONS)):
            for body, what in parts:
                x, frame = getattr(self, what), moved.get(getattr(self, body))
                if frame is not None and x is not None:
                    new[what] = tuple(frame.rotation @ x) if turn else (frame @ Pose(translation=x)).translation
        return replace(self, **new)


@dataclass(frozen=True)
class Spring(Attached):
    """A spring and a damper in line between two points: `at` of one body or frame (None: the world), `on` of another.

    It pulls with stiffness (L - length) + damping L̇ along the line between them, L being how far they are apart.
    """

    one: str | None
    other: str
    at: Vector = ORIGIN
    on: Vector = ORIGIN
    stiffness: float = 0.0
    length: float = 0.0
    damping: float = 0.0
    POINTS = (("one", "at"), ("other", "on"))

    def __post_init__(self):
        for what in ("at", "on"):
            object.__setattr__(self, what, vector(f'spring "{self.name}"', what, getattr(self, what)))
        for what in ("stiffness", "length", "damping"):
            value = getattr(self, what)
            if numbers(value).ndim or not 0 <= numbers(value) < np.inf:
                raise ModelError(f'spring "{self.name}" has {what} {value}; it takes a finite number, not negative.')


@dataclass(frozen=True)
class Push(Attached):
    """A constant force and torque on a body or frame, at a point of it, in the world's axes or in its own."""

    body: str
    force: Vector = ORIGIN
    torque: Vector = ORIGIN
    at: Vector = ORIGIN
    axes: str = "world"
    POINTS = (("body", "at"),)
    DIRECTIONS = (("body", "force"), ("body", "torque"))

    def __post_init__(self):
        for what in ("force", "torque", "at"):
            object.__setattr__(self, what, vector(f'push "{self.name}"', what, getattr(self, what)))
        if self.axes not in ("world", "body"):
            raise ModelError(f'push "{self.name}" has axes "{self.axes}"; it may be "world" or "body".')

    def seen_from(self, moved: Mapping[str | None, Pose]) -> Self:
        turned = super().seen_from(moved)
        return turned if self.axes == "body" else replace(turned, force=self.force, torque=self.torque)


Force = Spring | Push


def vector(thing: str, what: str, value) -> Vector:
    x = numbers(value)
    if x.shape != (3,) or not np.isfinite(x).all():
        raise ModelError(f"{thing} has {what} {value}; it takes three finite numbers.")
    return tuple(map(float, x))  # type: ignore[return-value]


@dataclass(frozen=True)
class Immersed:
    """What the fluid is to a body: all of it in the frame `at` a pose of a body or frame, angular entries first.

    volume           displaced, in m³, with its centre: the fluid carries density times volume
    added_mass       of the fluid that moves along (6, 6), symmetric, or its diagonal (6,)
    drag             forces per velocity through the fluid (6, 6), or its diagonal
    quadratic_drag   forces per u |u|, entry by entry: (6, 6), or its diagonal
    """

    body: str
    volume: float = 0.0
    center: Vector = ORIGIN
    added_mass: Matrix = NONE
    drag: Matrix = NONE
    quadratic_drag: Matrix = NONE
    at: Pose = HERE

    def __post_init__(self):
        thing = f'the fluid about "{self.body}"'
        if numbers(self.volume).ndim or not 0 <= numbers(self.volume) < np.inf:
            raise ModelError(f"{thing} has volume {self.volume}; it takes a finite number, not negative, in m³.")
        object.__setattr__(self, "volume", float(self.volume))
        object.__setattr__(self, "center", vector(thing, "center", self.center))
        object.__setattr__(self, "at", Pose.of(self.at))
        for what in ("added_mass", "drag", "quadratic_drag"):
            x = numbers(getattr(self, what))
            x = np.diag(x) if x.shape == (6,) else x
            if x.shape != (6, 6) or not np.isfinite(x).all():
                raise ModelError(f"{thing} has {what} of shape {x.shape}; it takes a finite matrix (6, 6), or its diagonal (6,).")
            if what != "quadratic_drag" and np.linalg.eigvalsh((x + x.T) / 2).min() < -1e-9 * np.abs(x).max():
                raise ModelError(f"{thing} has {what} that is not positive: it would push a body that moves.")
            if what == "added_mass" and np.abs(x - x.T).max() > 1e-9 * np.abs(x).max():
                raise ModelError(f"{thing} has added_mass that is not symmetric.")
            object.__setattr__(self, what, tuple(tuple(map(float, row)) for row in x))


@dataclass(frozen=True)
class Fluid:
    """The fluid that bodies of a model are in: its density in kg/m³, and its velocity in the world, the same everywhere and always."""

    density: float = 1000.0
    current: Vector = ORIGIN
    immersed: tuple[Immersed, ...] = ()

    def __post_init__(self):
        if numbers(self.density).ndim or not 0 <= numbers(self.density) < np.inf:
            raise ModelError(f"a fluid has density {self.density}; it takes a finite number, not negative, in kg/m³.")
        object.__setattr__(self, "current", vector("a fluid", "current", self.current))
        if strangers := [x for x in self.immersed if not isinstance(x, Immersed)]:
            raise ModelError(f'a fluid is about {strangers[0]!r}; it takes lw.Immersed("hull", volume=...).')
