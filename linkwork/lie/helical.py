"""H: a screw motion about z. q = [θ]; the translation along z is pitch * θ, the pitch in metres per radian."""

from dataclasses import dataclass

import numpy as np

from .embedding import pose
from .group import Additive, frozen
from .so2 import about_z


@dataclass(frozen=True, repr=False)
class Helical(Additive):
    pitch: float

    nq = nv  = 1
    identity = frozen([0.0])

    @property
    def name(self):
        return f"H({self.pitch!r})"

    @property
    def basis(self):
        return frozen([[0.0, 0.0, 1.0, 0.0, 0.0, self.pitch]])

    def matrix(self, q):
        o = np.zeros_like(q)
        return pose(about_z(q[..., 0]), np.concatenate([o, o, self.pitch * q], axis=-1))
