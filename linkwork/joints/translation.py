from dataclasses import dataclass

from ..lie import R
from .joint import Joint


@dataclass(frozen=True, kw_only=True)
class Translation(Joint):
    """Slides anywhere without turning. R³: q = [x, y, z]."""

    group = R(3)
