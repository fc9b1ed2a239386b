"""The joints whose motions are one group: each is its group, with the numbers that every joint has."""

from dataclasses import dataclass

from .. import lie
from .joint import Joint


@dataclass(frozen=True, kw_only=True)
class Fixed(Joint):
    """Welds two bodies together. The trivial group: no coordinates."""

    group = lie.R(0)


@dataclass(frozen=True, kw_only=True)
class Revolute(Joint):
    """Rotates about its axis. SO(2): q = [angle], v = [rate]."""

    group = lie.SO2


@dataclass(frozen=True, kw_only=True)
class Prismatic(Joint):
    """Slides along its axis. R: q = [distance], v = [rate]."""

    group = lie.R(1)


@dataclass(frozen=True, kw_only=True)
class Helical(Joint):
    """Rotates about its axis and advances `pitch` metres per radian along it. H: q = [angle], v = [rate]."""

    pitch: float

    @property
    def group(self):
        return lie.Helical(self.pitch)


@dataclass(frozen=True, kw_only=True)
class Cylindrical(Joint):
    """Rotates about its axis and slides along it. SO(2) x R: q = [angle, distance]."""

    group = lie.CYLINDRICAL


@dataclass(frozen=True, kw_only=True)
class Planar(Joint):
    """Moves in the plane normal to its axis. SE(2): q = [angle, x, y], v in the moving axes."""

    group = lie.SE2


@dataclass(frozen=True, kw_only=True)
class PlanarTranslation(Joint):
    """Slides in the plane normal to its axis without rotation. R²: q = [x, y]."""

    group = lie.R(2)


@dataclass(frozen=True, kw_only=True)
class Spherical(Joint):
    """Rotates freely about a point. SO(3): q = [quaternion x y z w], v = [angular velocity in the moving axes]."""

    group = lie.SO3


@dataclass(frozen=True, kw_only=True)
class Translation(Joint):
    """Translates in space without rotation. R³: q = [x, y, z]."""

    group = lie.R(3)


@dataclass(frozen=True, kw_only=True)
class Schoenflies(Joint):
    """Translates in space and rotates about its axis. X(z): q = [angle, x, y, z], v in the moving axes."""

    group = lie.X


@dataclass(frozen=True, kw_only=True)
class Free(Joint):
    """Six degrees of freedom. SE(3): q = [quaternion x y z w, position], v = [omega, velocity] in the moving axes."""

    group = lie.SE3
