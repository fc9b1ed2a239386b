from dataclasses import dataclass

from ..lie import CYLINDRICAL
from .joint import Joint


@dataclass(frozen=True, kw_only=True)
class Cylindrical(Joint):
    """Rotates about its axis and slides along it. SO(2) x R: q = [angle, distance]."""

    group = CYLINDRICAL
