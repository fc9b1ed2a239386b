"""What sensors on a robot measure."""

import numpy as np

from .. import sweeps
from ..lie.embedding import cross
from ..spatial import phi
from . import long
from .declaration import Honours, quantity
from .kinematics import FAR
from .options import one_place


@quantity((6,), Honours.GRAVITY, options=one_place, rolls=False, long=long.inertial_unit, straight_up_to=FAR)
def inertial_unit(system, q, v, vdot, body, place):
    """Angular velocity (gyroscope) and acceleration less gravity (accelerometer) of a frame on a body, in its own axes:

        [ω; a − g],   a = v̇ + ω × v       v the velocity of its origin, the rate taken in its axes
    """
    k, T = system.on_node(body, place)
    s = system.blocks(q)
    r = system.rates(s, v)  # the world accelerates against gravity
    V = sweeps.velocities(s, s.tree.split(v), system.still)
    _, alpha, _ = sweeps.inverse_dynamics(s, r, s.tree.split(vdot))
    alpha[s.tree.world] = r.base
    u, a = (phi(T).mT @ x[k] for x in (V, alpha))
    return measured(u[..., 0] + np.zeros_like(q[..., :1]), a[..., 0] + np.zeros_like(q[..., :1]))


def measured(u, a):
    """[ω; v̇ + ω × v] of a velocity and its rate, component by component."""
    w = u[..., :3]
    return np.concatenate([w, a[..., 3:] + cross(w, u[..., 3:])], -1)
