"""Jacobians of places on nodes, and how they change."""

import numpy as np

from ..lie import so3
from ..lie.scalars import like
from ..spatial import blocks, tilde


def jacobian(s, k, place, until=-1):
    """(B* A* H*) of one place on node k: velocity there from v, angular rows first, carried to the root; or against the node `until`
    on that way.

        J(j) = (H(j) A(j,k) B)*                        j on the path of k, Jain (3.53); O(depth)
    """
    J = {}
    for j, F in s.tree.path(k, place, via=lambda i, F: s.A[i] @ F, until=until):
        J[j] = (s.H[j] @ F).mT
    return s.tree.matrix(J, height=place.shape[-1])


def jacobian_derivative(tree, k, J, axes="body"):
    """∂_c J_a (..., 6, nv, nv), the last axis c, of the Jacobian J of a place on node k, by Lie brackets of its columns.

        ∂_c J_a = [J_a, J_c]   where the joint of a comes before that of c on the path, else 0    Müller and Terze (26), (27)

    Columns are [ω; u]; in world axes, which do not turn with the place, they turn:  + [ω_c × ω_a; ω_c × u_a].
    """
    moving = carriers(tree, k)
    K, order = J[..., moving], owners(tree)[moving]
    change = brackets(K) * like(order[:, None] < order, K)
    if axes == "world":
        change = change + turned(K)
    out = np.zeros_like(J, shape=(*J.shape, J.shape[-1]))
    out[..., moving[:, None], moving] = change
    return out


def brackets(K):
    """[K_a, K_c] of every two columns: (..., 6, nv, nv) of (..., 6, nv)."""
    return np.moveaxis(tilde(K.mT) @ K[..., None, :, :], -3, -2)


def turned(K):
    """[ω_c × ω_a; ω_c × u_a] of every two columns a, c."""
    w = so3.tilde(K[..., :3, :].mT)
    return np.moveaxis(blocks(w, np.zeros_like(w), np.zeros_like(w), w) @ K[..., None, :, :], -3, -1)


def owners(tree) -> np.ndarray:
    """The node of each velocity."""
    return np.repeat(np.arange(len(tree)), tree.widths).astype(int)


def carriers(tree, k) -> np.ndarray:
    """The numbers of the velocities that move node k: those of its path."""
    path = [j for j, _ in tree.path(k, None, via=lambda j, X: X)]
    return np.flatnonzero(np.isin(owners(tree), path))
