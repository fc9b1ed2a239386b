"""SE(3): all rigid motions. q = [quaternion, position], v = [ω, velocity] in the body's frame."""

from dataclasses import dataclass

import numpy as np

from .embedding import cross, pose
from .group import Motions, frozen, twists
from .scalars import dot, unit
from .so3 import SO3, rotation_matrix
from .stumpff import stumpff


@dataclass(frozen=True, repr=False)
class RigidMotions(Motions):
    name     = "SE(3)"
    nq       = 7
    nv       = 6
    basis    = twists(0, 1, 2, 3, 4, 5)
    identity = frozen([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    units    = (slice(0, 4),)

    def exp(self, xi):
        """[exp ω; p] with p = v + c₂ ω × v + c₃ ω × (ω × v)."""
        w, v = xi[..., :3], xi[..., 3:]
        wv   = cross(w, v)
        c2, c3 = stumpff(dot(w, w))[2:4]
        return np.concatenate([SO3.exp(w), v + c2 * wv + c3 * cross(w, wv)], axis=-1)

    def log(self, q):
        """[ω; v] with v = p - ½ ω × p + (c₃ - 2c₄)/(2c₂) ω × (ω × p), ω = log of the rotation."""
        w, p = SO3.log(q[..., :4]), q[..., 4:]
        wp   = cross(w, p)
        c2, c3, c4 = stumpff(dot(w, w))[2:5]
        return np.concatenate([w, p - wp / 2 + (c3 - 2 * c4) / (2 * c2) * cross(w, wp)], axis=-1)

    def compose(self, p, q):
        return np.concatenate([SO3.compose(p[..., :4], q[..., :4]), p[..., 4:] + rotate(p, q[..., 4:])], axis=-1)

    def inverse(self, q):
        back = SO3.inverse(q[..., :4])
        return np.concatenate([back, -rotate(back, q[..., 4:])], axis=-1)

    def matrix(self, q):
        return pose(rotation_matrix(unit(q[..., :4])), q[..., 4:])

    def rate(self, q, v):
        return np.concatenate([SO3.rate(q[..., :4], v[..., :3]), rotate(q, v[..., 3:])], axis=-1)


def rotate(q, r):
    """The vector r rotated by the quaternion q[..., :4]."""
    return (rotation_matrix(unit(q[..., :4])) @ r[..., None])[..., 0]


SE3 = RigidMotions()
