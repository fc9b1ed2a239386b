"""Bounded rows: dry friction of joints, forces that have a most."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..cone import nonzero
from .row import Row


@dataclass(frozen=True, eq=False)
class Bounded(Row):
    """Rows with forces in an interval [lower, upper]; where u is not zero they are at the bound against it."""

    used: ClassVar[tuple[int, ...]] = (1,)
    lower: Any  # (..., n)
    upper: Any

    @property
    def bounds(self):
        return self.lower, self.upper

    @property
    def size(self):
        return np.maximum(np.abs(self.b), self.g * (self.upper - self.lower) / 2).max(-1)

    @property
    def middle(self):
        return (self.lower + self.upper) / 2

    def pressed(self, most):
        width = (self.upper - self.lower) / 2
        press = width if most is None else np.minimum(width, most / nonzero(self.g))
        press = np.where(press > 0, press, width)
        return press, width / nonzero(press)
