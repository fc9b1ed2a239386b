"""The shift operator φ, which transforms wrenches and inertias from one frame to another."""

import numpy as np

from ..lie.embedding import pose as homogeneous
from ..lie.embedding import tilde
from ..lie.scalars import of_arrays

__all__ = ["blocks", "homogeneous", "phi", "phi_inverse", "pose_inverse"]


@of_arrays
def blocks(A, B, C, D):
    """[[A, B], [C, D]] of matrices with the same leading axes."""
    return np.concatenate([np.concatenate([A, B], -1), np.concatenate([C, D], -1)], -2)


@of_arrays
def phi(T):
    """The matrix that transforms wrenches from a frame y to a frame x, T being the pose of y in x.

        φ = [[R, p~ R], [0, R]]       f(x) = φ(x, y) f(y),  V(y) = φ*(x, y) V(x)       Jain (1.31)
    """
    R, p = T[..., :3, :3], T[..., :3, 3]
    return blocks(R, tilde(p) @ R, np.zeros_like(R), R)


@of_arrays
def phi_inverse(T):
    """φ⁻¹(x, y) = φ(y, x), without inverting a matrix: Jain, Lemma 1.1."""
    R, p = T[..., :3, :3].mT, T[..., :3, 3]
    return blocks(R, -R @ tilde(p), np.zeros_like(R), R)


@of_arrays
def pose_inverse(T):
    """The inverse of a pose (..., 4, 4)."""
    R = T[..., :3, :3].mT
    return homogeneous(R, -(R @ T[..., :3, 3:])[..., 0])
