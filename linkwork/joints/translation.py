from dataclasses import dataclass

from ..lie import R
from .joint import Joint


@dataclass(frozen=True, kw_only=True)
class Translation(Joint):
    """Translates in space without rotation. R³: q = [x, y, z]."""

    group = R(3)
