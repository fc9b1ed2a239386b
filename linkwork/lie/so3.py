"""SO(3): rotation about a point. q = quaternion x y z w, Hamilton, world from body."""

from dataclasses import dataclass

import numpy as np

from .embedding import cross, pose, tilde
from .group import Motions, frozen, twists
from .scalars import dot, like, of_arrays, unit
from .stumpff import stumpff

__all__ = ["SO3", "Rotations", "conjugate", "cross", "product", "pure", "rotation_matrix", "tilde"]


@dataclass(frozen=True, repr=False)
class Rotations(Motions):
    name     = "SO(3)"
    nq       = 4
    nv       = 3
    basis    = twists(0, 1, 2)
    identity = frozen([0.0, 0.0, 0.0, 1.0])
    units    = (slice(0, 4),)

    def exp(self, xi):
        """[sin(θ/2) ξ/θ; cos(θ/2)] = [½ c₁(θ²/4) ξ; c₀(θ²/4)] (Jain, B.12)."""
        c0, c1, *_ = stumpff(dot(xi, xi) / 4)
        return np.concatenate([c1 / 2 * xi, c0], axis=-1)

    def log(self, q):
        """2 atan2(|ε|, q₀) ε/|ε| with q₀ ≥ 0, so that |log q| ≤ π.

        The ratio atan2(|ε|, q₀)/|ε| hardly depends on a small |ε|, so the underflow of ε·ε does no harm.
        """
        q        = np.where(q[..., 3:] < 0, -q, q)
        e, w     = q[..., :3], q[..., 3:]
        square   = dot(e, e)
        nonzero  = square > 0
        s        = np.sqrt(np.where(nonzero, square, 1.0))
        ratio    = 2 * np.arctan2(s, w) / s
        return np.where(nonzero, ratio, 2 / np.where(nonzero, 1.0, w)) * e

    def compose(self, p, q):
        return unit(product(unit(p), q))  # of p first: the product of two long ones is past all floats

    def inverse(self, q):
        return conjugate(q)

    def matrix(self, q):
        R = rotation_matrix(unit(q))
        return pose(R, np.zeros_like(R[..., 0]))

    def rate(self, q, v):
        """q̇ = ½ q ⊗ [ω; 0] (Jain, B.34)."""
        return product(q, pure(v)) / 2


@of_arrays
def pure(x):
    """The quaternion [x; 0] of a vector, with [R x; 0] = q ⊗ [x; 0] ⊗ q⁻¹ (Jain, B.33)."""
    return np.concatenate([x, np.zeros_like(x[..., :1])], axis=-1)


@of_arrays
def product(p, q):
    """The Hamilton product, with R(p ⊗ q) = R(p) R(q) (Jain, B.27, B.28)."""
    e, w = p[..., :3], p[..., 3:]
    f, u = q[..., :3], q[..., 3:]
    return np.concatenate([w * f + u * e + cross(e, f), w * u - dot(e, f)], axis=-1)


@of_arrays
def conjugate(q):
    """[-ε; q₀], the inverse of a unit quaternion (Jain, B.15)."""
    return q * like([-1.0, -1.0, -1.0, 1.0], q)


@of_arrays
def rotation_matrix(q):
    """The rotation matrix of a quaternion of any length n = q·q > 0: R = I + 2 (q₀ ε~ + ε~ ε~) / n (Jain, B.14).

    Entry by entry, so that a quaternion of small integers such as (1, 0, 0, 1) gives exact entries.
    """
    x, y, z, w = (q[..., i] for i in range(4))
    n = x * x + y * y + z * z + w * w
    R = np.stack([n - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
                  2 * (x * y + z * w), n - 2 * (x * x + z * z), 2 * (y * z - x * w),
                  2 * (x * z - y * w), 2 * (y * z + x * w), n - 2 * (x * x + y * y)], axis=-1)
    return (R / n[..., None]).reshape(*n.shape, 3, 3)


SO3 = Rotations()
