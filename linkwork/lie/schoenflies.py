"""X(z), the Schönflies group: rotation about z and translation in space, SE(2) x R. q = [θ, x, y, z]."""

from dataclasses import dataclass

import numpy as np

from .embedding import pose
from .group import Motions, frozen, twists
from .se2 import SE2
from .so2 import about_z


@dataclass(frozen=True, repr=False)
class Schoenflies(Motions):
    name     = "X(z)"
    nq = nv  = 4
    basis    = twists(2, 3, 4, 5)
    identity = frozen([0.0, 0.0, 0.0, 0.0])

    def exp(self, xi):
        return np.concatenate([SE2.exp(xi[..., :3]), xi[..., 3:]], axis=-1)

    def log(self, q):
        return np.concatenate([SE2.log(q[..., :3]), q[..., 3:]], axis=-1)

    def compose(self, p, q):
        return np.concatenate([SE2.compose(p[..., :3], q[..., :3]), p[..., 3:] + q[..., 3:]], axis=-1)

    def inverse(self, q):
        return np.concatenate([SE2.inverse(q[..., :3]), -q[..., 3:]], axis=-1)

    def matrix(self, q):
        return pose(about_z(q[..., 0]), q[..., 1:])

    def rate(self, q, v):
        z = np.zeros_like(q[..., 3:]) + v[..., 3:]
        return np.concatenate([SE2.rate(q[..., :3], v[..., :3]), z], axis=-1)


X = Schoenflies()
