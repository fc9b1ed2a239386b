"""Contact points of bodies whose poses and velocities are known: where, how far apart, and how they move."""

from typing import Any, NamedTuple

import numpy as np

from ...lie.embedding import cross, hat
from ...lie.scalars import like
from ...model.tree import concatenated
from .boxes import crossed
from .moving import Moving
from .pairs import Pairs
from .touch import Placed, Touch, frame


def touching(pairs: Pairs, poses) -> Touch:
    """Gaps (..., n), normals and points (..., n, 3) of all pairs, from the pose of each body, poses[-1] that of the world."""
    found = [group.function(*(placed(side, poses) for side in (group.first, group.second))) for group in pairs.groups]
    gap = concatenated([flat(x.gap[..., None]) for x in found], -2)[..., 0]
    normal, point = (concatenated([flat(x[i]) for x in found], -2) for i in (1, 2))
    return Touch(gap[..., pairs.order], *(x[..., pairs.order, :] for x in (normal, point)))


def flat(x):
    """(..., m, c, k) as (..., m c, k)."""
    return x.reshape(*x.shape[:-3], x.shape[-3] * x.shape[-2], x.shape[-1])


def placed(sides, poses) -> Placed:
    """Shapes of one kind in the world."""
    each = [poses[side.body] @ like(side.pose.matrix, poses[side.body]) for side in sides]
    shape = np.broadcast_shapes(*(x.shape for x in each))
    T = np.stack([np.broadcast_to(x, shape) for x in each], -3)
    return Placed(T[..., :3, 3], T[..., :3, :3], np.array([side.size for side in sides]))


class Bodies(NamedTuple):
    """Poses in the world of bodies that touch, by number, the world at -1; with velocities and their rates at v̇ = 0 where v is given."""

    T: dict[int, Any]
    V: dict[int, Any]
    alpha: dict[int, Any]


def witnesses(touch: Touch):
    half = (touch.gap / 2)[..., None] * touch.normal
    return np.stack([touch.point + half, touch.point - half], -2)


def wrench(X, point, axes):
    """Wrenches (..., 6, 3) in a frame X of unit forces along the columns of `axes` at a point, both in the world."""
    f = X[..., :3, :3].mT @ axes
    r = (X[..., :3, :3].mT @ (point - X[..., :3, 3])[..., None])[..., 0]
    return concatenated([cross(r[..., None, :], f.mT).mT, f], -2)


def bias_of(pairs: Pairs, bodies: Bodies):
    """The rate of R* (velocity of the first − velocity of the second), everything moving as it does at v̇ = 0."""
    T, V, A = bodies
    moving = {i: Moving(T[i], T[i] @ hat(V[i][..., 0])) for i in T}
    touch = touching(pairs, moving)
    speeds = []
    for numbers in pairs.bodies:
        each = [velocity(T[i], V[i], A[i], moving[i], touch.point[..., k, :]) for k, i in enumerate(numbers)]
        shape = np.broadcast_shapes(*(x.shape for x in each))
        speeds.append(np.stack([np.broadcast_to(x, shape) for x in each], -2))
    u = (frame(touch.normal).mT @ (speeds[0] - speeds[1])[..., None])[..., 0]
    return flat(u.rate[..., None])[..., 0]


def velocity(T, V, A, moving, point):
    """The velocity of the point of a body that is at a moving point of the world now, with its rate:  v + ω × (x − o)."""
    R = T[..., :3, :3]
    w, v, turning, speeding = ((R @ x)[..., 0] for x in (V[..., :3, :], V[..., 3:, :], A[..., :3, :], A[..., 3:, :]))
    return Moving(v, speeding + cross(w, v)) + crossed(Moving(w, turning), point - moving[..., :3, 3])
