"""Springs, dampers and pushes between points of bodies, as generalized forces: Q = J* f."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .. import spatial, sweeps
from ..lie.scalars import dot, like
from ..model import Spring
from .kinematics import pose


class Point(NamedTuple):
    """A point of a body: pose of the frame there in the world, and its Jacobian in its own axes; None for the world's."""

    body: int | None
    T: Any
    J: Any

    @property
    def position(self):
        return self.T[..., :3, 3]

    @property
    def rotation(self):
        return self.T[..., :3, :3]

    def velocity(self, v):
        """In world axes."""
        return (self.rotation @ (self.J[..., 3:, :] @ v[..., None]))[..., 0]

    def generalized(self, force, torque=None):
        """Q of a force, and a torque, in world axes at the point."""
        Q = self.J[..., 3:, :].mT @ (self.rotation.mT @ force[..., None])
        return (Q if torque is None else Q + self.J[..., :3, :].mT @ (self.rotation.mT @ torque[..., None]))[..., 0]


def point_force(system, q, v, total):
    """`total` and the generalized forces of all springs and pushes of the system."""
    for point, force, torque in applied(system, q, v):
        total = total + point.generalized(force, torque)
    return total


def applied(system, q, v) -> Iterator[tuple[Point, Any, Any]]:
    """(point, force, torque or None) of all springs and pushes, in world axes; what acts on the world is left out."""
    for force, places in system.forces:
        ends = [_point(system, q, place) for place in places]
        if isinstance(force, Spring):
            pull = _pull(force, ends[0], ends[1], v)
            yield from ((end, sign * pull, None) for end, sign in zip(ends, (1.0, -1.0)) if end.body is not None)
        else:
            turn = ends[0].rotation if force.axes == "body" else like(np.eye(3), ends[0].T)
            yield ends[0], *((turn @ like(x, ends[0].T)[:, None])[..., 0] for x in (force.force, force.torque))


def point_energy(system, q, total):
    """`total` and the potential energy of all springs, and of pushes by a force that is constant in the world."""
    for force, places in system.forces:
        ends = [_point(system, q, place) for place in places]
        if isinstance(force, Spring):
            way = ends[1].position - ends[0].position
            stretch = np.sqrt(dot(way, way)) - force.length
            total = total + (force.stiffness / 2 * stretch * stretch)[..., 0]
        elif force.axes == "world" and not any(force.torque):
            total = total - dot(ends[0].position, like(force.force, ends[0].T))[..., 0]
    return total


def _point(system, q, place) -> Point:
    body, at = place
    if body is None:
        return Point(None, system.pose_matrix(at) + np.zeros_like(q[..., :1, None]), None)
    k, T = system.on_node(body, at)
    return Point(body, pose(system, q, body, at), sweeps.jacobian(system.blocks(q), k, spatial.phi(T)))


def _pull(spring: Spring, one: Point, other: Point, v):
    """The force on the first point, in world axes:  k (L − length) + d L̇  along the line to the second."""
    way = other.position - one.position
    rate = sum(sign * end.velocity(v) for end, sign in ((other, 1.0), (one, -1.0)) if end.body is not None)
    square = dot(way, way)
    apart = square > 0
    L = np.sqrt(np.where(apart, square, 1.0))
    stretch = spring.stiffness * (1 - np.where(apart, spring.length / L, 0.0))
    return (stretch + spring.damping * dot(way, rate) / (L * L)) * way
