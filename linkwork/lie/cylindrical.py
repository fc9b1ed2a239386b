"""SO(2) x R: rotation about z and translation along it. q = [θ, d]."""

from dataclasses import dataclass

import numpy as np

from .embedding import pose
from .group import Additive, frozen, twists
from .so2 import about_z


@dataclass(frozen=True, repr=False)
class Cylindrical(Additive):
    name     = "SO(2) x R"
    nq = nv  = 2
    basis    = twists(2, 5)
    identity = frozen([0.0, 0.0])

    def matrix(self, q):
        o = np.zeros_like(q[..., :1])
        return pose(about_z(q[..., 0]), np.concatenate([o, o, q[..., 1:]], axis=-1))


CYLINDRICAL = Cylindrical()
