"""The rotational and the translational part of a joint's motion, ξ = (a, b), for integrators that treat them apart.

A group whose coordinates add has only the first part here: none of its motions changes the direction of another.
"""

import numpy as np

from ..lie import SO3
from ..lie.embedding import cross
from ..lie.group import Additive, Group
from ..lie.scalars import like
from ..sweeps import each


def rotations(group: Group) -> int:
    """The number of velocities in the first part, a."""
    if isinstance(group, Additive):
        return group.nv
    return int((group.basis[:, :3] != 0).any(1).sum())


def _axes(group, x):
    """The axes of the rotations and of the translations, one in each row."""
    n = rotations(group)
    return like(group.basis[:n, :3], x), like(group.basis[n:, 3:], x)


def angular_velocity(group, a):
    """The angular velocity (..., 3) of the first part."""
    return a @ _axes(group, a)[0]


def cross_product(group, a, b):
    """a × b, in the components of the second part."""
    if rotations(group) == group.nv:
        return b
    axes = _axes(group, b)[1]
    return cross(angular_velocity(group, a), b @ axes) @ axes.mT


def rotated(group, a, b):
    """exp(a) b, in the components of the second part."""
    if rotations(group) == group.nv:
        return b
    axes = _axes(group, b)[1]
    R = SO3.matrix(SO3.exp(angular_velocity(group, a)))[..., :3, :3]
    return (R @ (b @ axes)[..., None])[..., 0] @ axes.mT


def element(group, a, b):
    """The group element with rotation exp(a) and position b."""
    if rotations(group) == group.nv:
        return group.exp(a)
    q = group.exp(np.concatenate([a, np.zeros_like(b)], -1))
    return np.concatenate([q[..., : group.nq - b.shape[-1]], b], -1)


# --- all joints of a mechanism, in axes that do not rotate: in rotating ones the angular velocity would add energy


def drift(nodes, q, v, h):
    """q after h at a velocity, and the velocity in its axes there: R' = R exp(h ω), x' = x + h R u, u' = R'* R u."""
    tree = nodes.tree
    q, v, h = nodes.split(q), tree.split(v), h[..., None]
    q1, v1 = tree.slots(2)
    for k in tree.base_to_tips():
        group, now = nodes.groups[k], v[k][..., 0]
        a, b = now[..., : rotations(group)], now[..., rotations(group) :]
        q1[k] = group.compose(q[k], element(group, h * a, h * b))
        v1[k] = np.concatenate([a, rotated(group, -h * a, b)], -1)[..., None]
    return nodes.join(q1), tree.join(v1)


def turned(nodes, v, x, h):
    """Velocities x in the axes to which h at velocity v leads, as `drift` has v itself: R'* R of their linear parts."""
    h = h[..., None]

    def there(group, v, x):
        n = rotations(group)
        return np.concatenate([x[..., :n], rotated(group, -h * v[..., :n], x[..., n:])], -1)

    return by_joint(nodes, there, v, x)


def kick(nodes, v, at, vdot, h):
    """v after h at acceleration v̇: ω' = ω + h ω̇, u' = u + h (v̇ + ω × u), ω and u of the last those of `at`."""
    h = h[..., None]

    def after(group, v, at, vdot):
        n = rotations(group)
        u = v[..., n:] + h * (vdot[..., n:] + cross_product(group, at[..., :n], at[..., n:]))
        return np.concatenate([v[..., :n] + h * vdot[..., :n], u], -1)

    return by_joint(nodes, after, v, at, vdot)


def by_joint(nodes, function, *vectors):
    """The vector (..., nv) of function(group, x...) of each joint, x its entries of vectors (..., nv)."""
    tree = nodes.tree
    column = lambda group, *parts: function(group, *(x[..., 0] for x in parts))[..., None]
    return tree.join(each(tree, column, nodes.groups, *map(tree.split, vectors)))
