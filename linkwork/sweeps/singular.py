"""Joints that move nothing with inertia: found from numbers, at a configuration."""

import numpy as np

from .articulated_inertia import articulated_inertia
from .composite_inertia import composite_inertia
from .kinematics import placements, shifts

ROUNDING = 1e-13


def singular(nodes, q, tips):
    """A node whose D = H P H* + J is nothing beside its H R H* + J, or None. Without q only the tips are looked at."""
    M, J, H = nodes.M, nodes.J, nodes.H
    if q is None:
        found = ((k, H[k] @ M[k] @ H[k].mT + J[k], np.trace(M[k]) + np.trace(J[k])) for k in tips)
        return next((k for k, D, scale in found if _nothing(D, scale)), None)
    tree = nodes.tree
    phi = shifts(tree, placements(nodes, q))
    with np.errstate(all="ignore"):  # what is singular divides by zero
        _, D, _, _ = articulated_inertia(tree, phi, H, M, J)
    R = composite_inertia(tree, phi, M)
    return next((k for k in tree.tips_to_base() if _nothing(D[k], np.trace(H[k] @ R[k] @ H[k].mT + J[k]))), None)


def _nothing(D, scale) -> bool:
    """Has D a direction without inertia?"""
    if not D.size:
        return False
    return not np.isfinite(D).all() or np.linalg.eigvalsh(D)[0] <= ROUNDING * scale
