"""Springs, dampers and pushes between points of bodies, as generalized forces: Q = J* f."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from .. import spatial, sweeps
from .kinematics import pose
from .points import Point, energy, pulls


def point_force(system, q, v, total, forces=None, sign=1.0):
    """`total` and the generalized forces of all springs and pushes of the system, or of some of them; with a sign."""
    for point, force, torque in applied(system, q, v, forces):
        total = total + sign * point.generalized(force, torque)
    return total


def applied(system, q, v, forces=None) -> Iterator[tuple[Point, Any, Any]]:
    """(point, force, torque or None) of springs and pushes, in world axes; what acts on the world is left out."""
    return pulls(system.forces if forces is None else forces, partial(at_point, system, q, v))


def point_energy(system, q, total):
    """`total` and the potential energy of all springs, and of pushes by a force that is constant in the world."""
    return energy(system.forces, partial(at_point, system, q, None), total)


def at_point(system, q, v, place) -> Point:
    """A place (body, pose) as a point, with its Jacobian, and its velocity where v is given."""
    body, at = place
    if body is None:
        return Point(None, system.pose_matrix(at) + np.zeros_like(q[..., :1, None]), system.still)
    k, T = system.on_node(body, at)
    J = sweeps.jacobian(system.blocks(q), k, spatial.phi(T))
    return Point(body, pose(system, q, body, at), None if v is None else J @ v[..., None], J, system.pose_matrix(at))
