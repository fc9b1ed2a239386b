"""Joints that move nothing with inertia: found from numbers, at a configuration."""

import numpy as np

from .. import sweeps

ROUNDING = 1e-13


def singular(nodes, q=None) -> int | None:
    """A node whose D = H P H* + armature is nothing beside its H R H* + armature, or None. Without q only tips are looked at."""
    if q is None:
        tree, M, armature, H = nodes.tree, nodes.M, nodes.joint_inertias, nodes.H
        tips = (k for k in tree.base_to_tips() if tree.widths[k] and not tree.children[k])
        found = ((k, H[k] @ M[k] @ H[k].mT + armature[k], np.trace(M[k]) + np.trace(armature[k])) for k in tips)
        return next((k for k, D, scale in found if _nothing(D, scale)), None)
    s = nodes.blocks(q)
    tree, H, armature = s.tree, s.H, s.armature
    with np.errstate(all="ignore"):  # what is singular divides by zero
        _, D, _, _ = sweeps.articulated_inertia(s)
    R = sweeps.composite_inertia(s)
    return next((k for k in tree.tips_to_base() if _nothing(D[k], np.trace(H[k] @ R[k] @ H[k].mT + armature[k]))), None)


def _nothing(D, scale) -> bool:
    """Has D a direction without inertia? Negative inertia, which modes with keep="cut" have where they bend far, is not none."""
    if not D.size:
        return False
    return not np.isfinite(D).all() or np.abs(np.linalg.eigvalsh(D)).min() <= ROUNDING * abs(scale)
