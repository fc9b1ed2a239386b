from dataclasses import dataclass

from ..lie import R
from .joint import Joint


@dataclass(frozen=True, kw_only=True)
class Prismatic(Joint):
    """Slides along its axis. R: q = [distance], v = [rate]."""

    group = R(1)
