from dataclasses import dataclass

from ..lie import SE2
from .joint import Joint


@dataclass(frozen=True, kw_only=True)
class Planar(Joint):
    """Moves in the plane normal to its axis. SE(2): q = [angle, x, y], v in the moving axes."""

    group = SE2
