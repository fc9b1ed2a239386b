from dataclasses import dataclass

from ..lie import R
from .joint import Joint


@dataclass(frozen=True, kw_only=True)
class PlanarTranslation(Joint):
    """Slides in the plane normal to its axis without rotation. R²: q = [x, y]."""

    group = R(2)
