"""The 6 x 6 matrices of spatial vectors: φ, which takes wrenches and inertias from one frame to another, and cross operators.

Of a spatial vector z = [x; y]:

    z~ = [[x~, 0 ], [y~, x~]]      rate of a motion vector fixed in a frame with velocity z   Jain (1.23)
    z̄  = [[x~, y~], [0,  x~]]      the same for a force vector, z̄ = −(z~)*                    Jain (1.25)
    ẑ  = [[x~, y~], [y~, 0 ]]      the swap of the second: Â* B = B̄ A                         Jain (1.27b), corrected
"""

import numpy as np

from ..lie.embedding import ad as tilde
from ..lie.embedding import blocks
from ..lie.embedding import pose as homogeneous
from ..lie.embedding import tilde as skew
from ..lie.scalars import of_arrays

__all__ = ["bar", "blocks", "hat", "homogeneous", "phi", "phi_inverse", "pose_inverse", "tilde"]


@of_arrays
def bar(z):
    x, y = skew(z[..., :3]), skew(z[..., 3:])
    return blocks(x, y, np.zeros_like(x), x)


@of_arrays
def hat(z):
    x, y = skew(z[..., :3]), skew(z[..., 3:])
    return blocks(x, y, y, np.zeros_like(x))


@of_arrays
def phi(T):
    """The matrix that transforms wrenches from a frame y to a frame x, T being the pose of y in x.

        φ = [[R, p~ R], [0, R]]       f(x) = φ(x, y) f(y),  V(y) = φ*(x, y) V(x)       Jain (1.31)
    """
    R, p = T[..., :3, :3], T[..., :3, 3]
    return blocks(R, skew(p) @ R, np.zeros_like(R), R)


@of_arrays
def phi_inverse(T):
    """φ⁻¹(x, y) = φ(y, x), without inverting a matrix: Jain, Lemma 1.1."""
    R, p = T[..., :3, :3].mT, T[..., :3, 3]
    return blocks(R, -R @ skew(p), np.zeros_like(R), R)


@of_arrays
def pose_inverse(T):
    """The inverse of a pose (..., 4, 4)."""
    R = T[..., :3, :3].mT
    return homogeneous(R, -(R @ T[..., :3, 3:])[..., 0])
