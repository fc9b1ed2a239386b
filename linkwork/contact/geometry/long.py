"""Contact points of long mechanisms: composed of sweeps over all nodes, which roll.

Each function takes `of`, which gives another quantity of the same mechanism by its name, and then what its quantity takes.
"""

import numpy as np

from .points import Bodies, bias_of, touching, wrench
from .touch import frame


def by_number(x, world) -> dict:
    """Of each body by its number, and of the world at -1: matrices (..., nb, r, c)."""
    return {-1: np.broadcast_to(np.asarray(world, x.dtype), (*x.shape[:-3], *x.shape[-2:]))} | {
        i: x[..., i, :, :] for i in range(x.shape[-3])
    }


def poses(of, q) -> dict:
    """The poses of all bodies by number."""
    return by_number(of("poses", q), np.eye(4))


def contact_jacobian(of, q, pairs):
    """J row by row: J* of unit forces at the points."""
    T = of("poses", q)
    touch = touching(pairs, by_number(T, np.eye(4)))
    R = frame(touch.normal)
    count = len(pairs.order)
    wrenches = np.zeros((*q.shape[:-1], count, 3, of.nb, 6), q.dtype)
    for sign, numbers in zip((1.0, -1.0), pairs.bodies):
        for i, body in enumerate(numbers):
            if body >= 0:
                wrenches[..., i, :, body, :] += sign * wrench(T[..., body, :, :], touch.point[..., i, :], R[..., i, :, :]).mT
    J = of("joint_forces", q[..., None, None, :], wrenches)
    return J.reshape(*q.shape[:-1], 3 * count, J.shape[-1])


def contact_bias(of, q, v, pairs):
    V, alpha = of("body_velocities", q, v), of("body_accelerations", q, v, np.zeros_like(v))
    still = np.zeros((6, 1))
    return bias_of(pairs, Bodies(poses(of, q), *(by_number(x[..., None], still) for x in (V, alpha))))
