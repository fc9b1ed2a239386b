"""Equalities: rows of loops and drives, of joints and points at rest, welds."""

from dataclasses import dataclass

import numpy as np

from .row import Row


@dataclass(frozen=True, eq=False)
class Equality(Row):
    """Rows with any force, which makes u = 0."""

    @property
    def bounds(self):
        return -np.inf, np.inf

    def project(self, z):
        return z

    @property
    def size(self):
        return np.abs(self.b).max(-1)
