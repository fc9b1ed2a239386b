from dataclasses import dataclass

from ..lie import X
from .joint import Joint


@dataclass(frozen=True, kw_only=True)
class Schoenflies(Joint):
    """Translates in space and rotates about its axis. X(z): q = [angle, x, y, z], v in the moving axes."""

    group = X
