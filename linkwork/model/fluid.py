"""Bodies under water, or in another fluid that does not rotate: added mass, drag, buoyancy and current, as part of a model."""

from dataclasses import dataclass

import numpy as np

from ..errors import ModelError
from ..lie.scalars import numbers
from ..spatial import Pose
from .forces import ORIGIN, Vector, vector

Matrix = tuple[tuple[float, ...], ...]
NONE: Matrix = ((0.0,) * 6,) * 6
HERE = Pose()


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
