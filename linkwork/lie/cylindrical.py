"""SO(2) x R: turning about z and sliding along it. q = [θ, d]."""

from dataclasses import dataclass

import numpy as np

from .embedding import pose
from .group import Motions, frozen, twists
from .so2 import about_z


@dataclass(frozen=True, repr=False)
class Cylindrical(Motions):
    name     = "SO(2) x R"
    nq = nv  = 2
    basis    = twists(2, 5)
    identity = frozen([0.0, 0.0])

    def exp(self, xi):
        return xi

    def log(self, q):
        return q

    def compose(self, p, q):
        return p + q

    def inverse(self, q):
        return -q

    def matrix(self, q):
        o = np.zeros_like(q[..., :1])
        return pose(about_z(q[..., 0]), np.concatenate([o, o, q[..., 1:]], axis=-1))

    def rate(self, q, v):
        return np.zeros_like(q) + v


CYLINDRICAL = Cylindrical()
