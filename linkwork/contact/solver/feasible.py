"""Contacts that cannot all be kept: bodies pressed into each other between others that do not give way."""

import numpy as np

from ...lie.scalars import numbers
from ..cone import nonzero

KERNEL = 1e-13  # of the largest eigenvalue of the compliance of normals: smaller ones are zero
IMMOBILE = 1e-14  # of the largest compliance: a contact with less does not move
SOME = 1e-8  # of the velocities of a problem: a smaller violation is rounding


def least_violation(G, b):
    """How fast normals must be allowed to approach, (n,), at least: zero where some velocities keep every u_n ≥ 0.

        s = (−b_n − J_n v)⁺  with the least Σ s²/g    (one scale g for each contact),    u_n = b_n + J_n v

    Its optimum has J_n* s/g = 0 and b_n* s/g = −Σ s²/g: by Farkas, s/g ≥ 0 proves that no velocities have u_n ≥ 0. With the kernel V of the
    compliance of normals, J_n v being what V* takes to zero, it is a least-squares problem in w = u_n ≥ 0: |V* (b_n − w)|.
    """
    from scipy.optimize import nnls

    normal = np.asarray(numbers(G)[::3, ::3], float)
    if not (np.isfinite(normal).all() and np.isfinite(b).all()):
        return np.zeros(len(b) // 3)
    own = np.diagonal(normal)
    if own.max() < 0:  # this is no compliance
        return np.zeros(len(own))
    scale = np.sqrt(nonzero(np.where(own > IMMOBILE * own.max(), own, own.max())))
    size, V = np.linalg.eigh(normal / (scale[:, None] * scale))
    V, rates = V[:, size <= KERNEL * max(size[-1], 1.0)], np.asarray(b[::3] / scale, float)
    if not V.shape[1]:
        return np.zeros(len(rates))
    u, _ = nnls(V.T, V.T @ rates)
    lack = np.maximum(V @ (V.T @ (u - rates)), 0.0)
    return np.where(lack.max() > SOME * np.abs(rates).max(initial=0.0), lack * scale, 0.0)
