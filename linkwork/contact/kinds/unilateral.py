"""Unilateral rows: joint limits, and contacts without friction."""

from dataclasses import dataclass

import numpy as np

from .row import Row


@dataclass(frozen=True, eq=False)
class Unilateral(Row):
    """Rows that push and do not pull:  0 ≤ u ⟂ z ≥ 0."""

    @property
    def bounds(self):
        return 0.0, np.inf

    def project(self, z):
        return np.maximum(z, 0.0)

    def acts(self, u):
        return self.items(u)[..., 0] < 0

    @property
    def size(self):
        return (-self.b).max(-1)
