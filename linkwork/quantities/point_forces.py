"""Springs, dampers and pushes between points of bodies, as generalized forces: Q = J* f."""

from typing import Any, NamedTuple

import numpy as np

from .. import spatial, sweeps
from ..lie.scalars import dot, like
from ..model import Push, Spring
from .kinematics import pose


class Point(NamedTuple):
    """A point of a body: pose of the frame there in the world, and its Jacobian in its own axes; None for the world's."""

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

    def force(self, f):
        """Q of a force in world axes at the point."""
        return (self.J[..., 3:, :].mT @ (self.rotation.mT @ f[..., None]))[..., 0]

    def torque(self, n):
        return (self.J[..., :3, :].mT @ (self.rotation.mT @ n[..., None]))[..., 0]


def point_force(system, q, v, total):
    """`total` and the generalized forces of all springs and pushes of the system."""
    for force, places in system.forces:
        if isinstance(force, Spring):
            one, other = (_point(system, q, place) for place in places)
            pull = _pull(force, one, other, v)
            for end, sign in ((one, 1.0), (other, -1.0)):
                total = total if end.J is None else total + sign * end.force(pull)
        else:
            total = total + _push(force, _point(system, q, places[0]))
    return total


def point_energy(system, q, total):
    """`total` and the potential energy of all springs, and of pushes by a force that is constant in the world."""
    for force, places in system.forces:
        if isinstance(force, Spring):
            one, other = (_point(system, q, place) for place in places)
            way = other.position - one.position
            stretch = np.sqrt(dot(way, way)) - force.length
            total = total + (force.stiffness / 2 * stretch * stretch)[..., 0]
        elif force.axes == "world" and not any(force.torque):
            at = _point(system, q, places[0]).position
            total = total - dot(at, like(force.force, at))[..., 0]
    return total


def _point(system, q, place) -> Point:
    body, at = place
    if body is None:
        return Point(system.exactly(at) + np.zeros_like(q[..., :1, None]), None)
    k, T = system.on_node(body, at)
    return Point(pose(system, q, body, at), sweeps.jacobian(system.blocks(q), k, spatial.phi(T)))


def _pull(spring: Spring, one: Point, other: Point, v):
    """The force on the first point, in world axes:  k (L − length) + d L̇  along the line to the second."""
    way = other.position - one.position
    rate = sum(sign * end.velocity(v) for end, sign in ((other, 1.0), (one, -1.0)) if end.J is not None)
    square = dot(way, way)
    apart = square > 0
    L = np.sqrt(np.where(apart, square, 1.0))
    stretch = spring.stiffness * (1 - np.where(apart, spring.length / L, 0.0))
    return (stretch + spring.damping * dot(way, rate) / (L * L)) * way


def _push(push: Push, at: Point):
    turn = at.rotation if push.axes == "body" else like(np.eye(3), at.T)
    force, torque = ((turn @ like(x, at.T)[:, None])[..., 0] for x in (push.force, push.torque))
    return at.force(force) + at.torque(torque)
