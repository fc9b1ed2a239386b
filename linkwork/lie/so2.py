"""SO(2): rotation about z. q = [θ], a real number that does not wrap."""

from dataclasses import dataclass

import numpy as np

from .embedding import pose
from .group import Additive, frozen, twists


@dataclass(frozen=True, repr=False)
class PlanarRotations(Additive):
    name     = "SO(2)"
    nq = nv  = 1
    basis    = twists(2)
    identity = frozen([0.0])

    def matrix(self, q):
        R = about_z(q[..., 0])
        return pose(R, np.zeros_like(R[..., 0]))


def about_z(angle):
    """The rotation matrix about z: [[c, -s, 0], [s, c, 0], [0, 0, 1]]."""
    c, s = np.cos(angle), np.sin(angle)
    o    = np.zeros_like(c)
    return np.stack([c, -s, o, s, c, o, o, o, o + 1], axis=-1).reshape(*c.shape, 3, 3)


def turn(angle, v):
    """A vector of the plane rotated by an angle (..., 1): c v + s v⊥."""
    return np.cos(angle) * v + np.sin(angle) * perpendicular(v)


def perpendicular(v):
    """A vector of the plane rotated by 90°: (x, y) becomes (-y, x)."""
    return np.concatenate([-v[..., 1:], v[..., :1]], axis=-1)


SO2 = PlanarRotations()
