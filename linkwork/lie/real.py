"""Rⁿ: vectors. R(0) has no motion, R(1) translates along z, R(2) in the x-y plane, R(3) in space; others are only numbers."""

from dataclasses import dataclass

import numpy as np

from .embedding import pose
from .group import Additive, frozen, twists
from .scalars import like

AXES = {0: (), 1: (5,), 2: (3, 4), 3: (3, 4, 5)}


@dataclass(frozen=True, repr=False)
class R(Additive):
    """The group of n-vectors under addition. For n > 3 there is no basis, no matrix and no hat."""

    n: int

    @property
    def name(self):
        return "R" if self.n == 1 else f"R^{self.n}"

    @property
    def nq(self):
        return self.n

    @property
    def nv(self):
        return self.n

    @property
    def basis(self):
        return twists(*AXES[self.n]) if self.n in AXES else None

    @property
    def identity(self):
        return frozen(np.zeros(self.n))

    def matrix(self, q):
        p = q @ like(self.basis[:, 3:], q)
        return pose(np.zeros_like(p[..., None]) + like(np.eye(3), q), p)
