"""SE(3) as matrices, of which every group of rigid motions is a subgroup: 4x4 poses, 6x6 adjoints, angular part first."""

import numpy as np

from .scalars import like, of_arrays

TILDE = np.cross(np.eye(3)[:, None], np.eye(3)).mT.reshape(3, 9) + 0.0  # p @ TILDE = p~, row after row


def tilde(p):
    """The skew matrix of a 3-vector: p~ r = p × r (Jain, 1.9)."""
    return (p @ like(TILDE, p)).reshape(*p.shape[:-1], 3, 3)


def cross(a, b):
    """a × b over the last axis."""
    return (tilde(a) @ b[..., None])[..., 0]


@of_arrays
def pose(R, p):
    """The homogeneous matrix [[R, p], [0, 1]]."""
    top    = np.concatenate([R, p[..., None]], axis=-1)
    bottom = np.zeros_like(top[..., :1, :]) + like([0.0, 0.0, 0.0, 1.0], top)
    return np.concatenate([top, bottom], axis=-2)


def hat(V):
    """The 4x4 matrix of a twist V = [ω; v]: [[ω~, v], [0, 0]]."""
    top = np.concatenate([tilde(V[..., :3]), V[..., 3:, None]], axis=-1)
    return np.concatenate([top, np.zeros_like(top[..., :1, :])], axis=-2)


@of_arrays
def blocks(A, B, C, D):
    """[[A, B], [C, D]] of matrices with the same leading axes."""
    return np.concatenate([np.concatenate([A, B], axis=-1), np.concatenate([C, D], axis=-1)], axis=-2)


def Ad(T):
    """The adjoint of a pose, which maps twists: T V^ T⁻¹ = (Ad V)^, with Ad = [[R, 0], [p~ R, R]]."""
    R, p = T[..., :3, :3], T[..., :3, 3]
    return blocks(R, np.zeros_like(R), tilde(p) @ R, R)


@of_arrays
def ad(V):
    """The Lie bracket of twists: ad_V W = [V, W], with ad = [[ω~, 0], [v~, ω~]] (Jain, 1.23)."""
    w, v = tilde(V[..., :3]), tilde(V[..., 3:])
    return blocks(w, np.zeros_like(w), v, w)
