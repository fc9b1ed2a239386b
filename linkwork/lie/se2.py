"""SE(2): motions of the x-y plane. q = [θ, x, y], v = [ω, velocity] in the body's frame."""

from dataclasses import dataclass

import numpy as np

from .embedding import pose
from .group import Motions, frozen, twists
from .so2 import about_z, perpendicular, turn
from .stumpff import stumpff


@dataclass(frozen=True, repr=False)
class PlanarMotions(Motions):
    """The angle does not wrap, so log is undefined at θ = ±2π, ±4π ...; elsewhere exp(log q) = q."""

    name     = "SE(2)"
    nq = nv  = 3
    basis    = twists(2, 3, 4)
    identity = frozen([0.0, 0.0, 0.0])

    def exp(self, xi):
        """[θ; c₁ v + c₂ θ v⊥], v⊥ being v rotated by 90°."""
        angle, v      = xi[..., :1], xi[..., 1:]
        _, c1, c2, *_ = stumpff(angle * angle)
        return np.concatenate([angle, c1 * v + c2 * angle * perpendicular(v)], axis=-1)

    def log(self, q):
        """[θ; (θ/2) cot(θ/2) p - (θ/2) p⊥]."""
        angle, p   = q[..., :1], q[..., 1:]
        c0, c1, *_ = stumpff(angle * angle / 4)
        return np.concatenate([angle, c0 / c1 * p - angle / 2 * perpendicular(p)], axis=-1)

    def compose(self, p, q):
        return np.concatenate([p[..., :1] + q[..., :1], p[..., 1:] + turn(p[..., :1], q[..., 1:])], axis=-1)

    def inverse(self, q):
        return np.concatenate([-q[..., :1], -turn(-q[..., :1], q[..., 1:])], axis=-1)

    def matrix(self, q):
        p = np.concatenate([q[..., 1:], np.zeros_like(q[..., :1])], axis=-1)
        return pose(about_z(q[..., 0]), p)

    def rate(self, q, v):
        angle = q[..., :1]
        return np.concatenate([np.zeros_like(angle) + v[..., :1], turn(angle, v[..., 1:])], axis=-1)


SE2 = PlanarMotions()
