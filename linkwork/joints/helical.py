from dataclasses import dataclass

from ..lie import Helical as Screw
from .joint import Joint


@dataclass(frozen=True, kw_only=True)
class Helical(Joint):
    """Rotates about its axis and advances `pitch` metres per radian along it. H: q = [angle], v = [rate]."""

    pitch: float

    @property
    def group(self):
        return Screw(self.pitch)
