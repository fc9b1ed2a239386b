"""Forces that a mechanism carries with it besides those along its joints: springs and dampers between points, pushes."""

from dataclasses import dataclass

import numpy as np

from ..errors import ModelError
from ..lie.scalars import numbers

Vector = tuple[float, float, float]
ORIGIN: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Spring:
    """A spring and a damper in line between two points: `at` of one body or frame (None: the world), `on` of another.

    It pulls with stiffness (L - length) + damping L̇ along the line between them, L being how far they are apart.
    """

    name: str
    one: str | None
    other: str
    at: Vector = ORIGIN
    on: Vector = ORIGIN
    stiffness: float = 0.0
    length: float = 0.0
    damping: float = 0.0

    def __post_init__(self):
        for what in ("at", "on"):
            object.__setattr__(self, what, vector(f'spring "{self.name}"', what, getattr(self, what)))
        for what in ("stiffness", "length", "damping"):
            value = getattr(self, what)
            if numbers(value).ndim or not 0 <= numbers(value) < np.inf:
                raise ModelError(f'spring "{self.name}" has {what} {value}; it takes a finite number, not negative.')

    @property
    def bodies(self) -> tuple[str, ...]:
        return tuple(name for name in (self.one, self.other) if name is not None)


@dataclass(frozen=True)
class Push:
    """A constant force and torque on a body or frame, at a point of it, in the world's axes or in its own."""

    name: str
    body: str
    force: Vector = ORIGIN
    torque: Vector = ORIGIN
    at: Vector = ORIGIN
    axes: str = "world"

    def __post_init__(self):
        for what in ("force", "torque", "at"):
            object.__setattr__(self, what, vector(f'push "{self.name}"', what, getattr(self, what)))
        if self.axes not in ("world", "body"):
            raise ModelError(f'push "{self.name}" has axes "{self.axes}"; it may be "world" or "body".')

    @property
    def bodies(self) -> tuple[str, ...]:
        return (self.body,)


Force = Spring | Push


def vector(thing: str, what: str, value) -> Vector:
    x = numbers(value)
    if x.shape != (3,) or not np.isfinite(x).all():
        raise ModelError(f"{thing} has {what} {value}; it takes three finite numbers.")
    return tuple(map(float, x))  # type: ignore[return-value]
