from dataclasses import dataclass

from ..lie import SO2
from .joint import Joint


@dataclass(frozen=True, kw_only=True)
class Revolute(Joint):
    """Rotates about its axis. SO(2): q = [angle], v = [rate]."""

    group = SO2
