"""The two halves of a motion: turning, ξ = (a, ·), and shifting, ξ = (·, b), for integrators that treat them apart.

A group whose coordinates add has only the first half as far as these functions go: nothing in it turns anything else.
"""

import numpy as np

from ..lie import SO3
from ..lie.embedding import cross
from ..lie.group import Additive, Group
from ..lie.scalars import like


def turns(group: Group) -> int:
    """How many velocities are of the first half."""
    if isinstance(group, Additive):
        return group.nv
    return int((group.basis[:, :3] != 0).any(1).sum())


def _axes(group, x):
    """Directions of the turns and of the shifts, one in each row."""
    n = turns(group)
    return like(group.basis[:n, :3], x), like(group.basis[n:, 3:], x)


def spin(group, a):
    """The angular velocity (..., 3) of the first half."""
    return a @ _axes(group, a)[0]


def across(group, a, b):
    """a × b, in the second half's own components."""
    if turns(group) == group.nv:
        return b
    lines = _axes(group, b)[1]
    return cross(spin(group, a), b @ lines) @ lines.mT


def turned(group, a, b):
    """exp(a) b, in the second half's own components."""
    if turns(group) == group.nv:
        return b
    lines = _axes(group, b)[1]
    R = SO3.matrix(SO3.exp(spin(group, a)))[..., :3, :3]
    return (R @ (b @ lines)[..., None])[..., 0] @ lines.mT


def placed(group, a, b):
    """The element that turns by exp(a) and shifts by b."""
    if turns(group) == group.nv:
        return group.exp(a)
    q = group.exp(np.concatenate([a, np.zeros_like(b)], -1))
    return np.concatenate([q[..., : group.nq - b.shape[-1]], b], -1)
