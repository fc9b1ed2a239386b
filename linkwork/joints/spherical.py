from dataclasses import dataclass

from ..lie import SO3
from .joint import Joint


@dataclass(frozen=True, kw_only=True)
class Spherical(Joint):
    """Rotates freely about a point. SO(3): q = [quaternion x y z w], v = [angular velocity in the moving axes]."""

    group = SO3
