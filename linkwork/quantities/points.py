"""Points of bodies, and the forces of springs, dampers and pushes on them."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..lie.scalars import dot, like
from ..model import Spring


class Point(NamedTuple):
    """A point of a body, or of the world: pose of the frame there in the world, its velocity in its own axes, and its Jacobian
    where that is known."""

    body: int | None
    T: Any
    V: Any
    J: Any = None
    place: Any = None  # of the frame on the body

    @property
    def position(self):
        return self.T[..., :3, 3]

    @property
    def rotation(self):
        return self.T[..., :3, :3]

    @property
    def velocity(self):
        """Of the point, in world axes."""
        return (self.rotation @ self.V[..., 3:, :])[..., 0]

    def wrench(self, force, torque=None):
        """A force, and a torque, that are given in world axes, as a wrench at the point in its own."""
        f = self.rotation.mT @ force[..., None]
        return np.concatenate([np.zeros_like(f) if torque is None else self.rotation.mT @ torque[..., None], f], -2)

    def generalized(self, force, torque=None):
        """Q of a force, and a torque, in world axes at the point."""
        Q = self.J[..., 3:, :].mT @ (self.rotation.mT @ force[..., None])
        return (Q if torque is None else Q + self.J[..., :3, :].mT @ (self.rotation.mT @ torque[..., None]))[..., 0]


def pulls(forces, point: Callable) -> Iterator[tuple[Point, Any, Any]]:
    """(point, force, torque or None) of springs and pushes, in world axes; what acts on the world is left out. `point` makes a point
    of a place (body, pose)."""
    for force, places in forces:
        ends = [point(place) for place in places]
        if isinstance(force, Spring):
            pull = _pull(force, *ends)
            yield from ((end, sign * pull, None) for end, sign in zip(ends, (1.0, -1.0)) if end.body is not None)
        else:
            turn = ends[0].rotation if force.axes == "body" else like(np.eye(3), ends[0].T)
            yield ends[0], *((turn @ like(x, ends[0].T)[:, None])[..., 0] for x in (force.force, force.torque))


def energy(forces, point: Callable, total):
    """`total` and the potential energy of springs, and of pushes by a force that is constant in the world."""
    for force, places in forces:
        ends = [point(place) for place in places]
        if isinstance(force, Spring):
            way = ends[1].position - ends[0].position
            stretch = np.sqrt(dot(way, way)) - force.length
            total = total + (force.stiffness / 2 * stretch * stretch)[..., 0]
        elif force.axes == "world" and not any(force.torque):
            total = total - dot(ends[0].position, like(force.force, ends[0].T))[..., 0]
    return total


def _pull(spring: Spring, one: Point, other: Point):
    """The force on the first point, in world axes:  k (L − length) + d L̇  along the line to the second."""
    way = other.position - one.position
    rate = sum(sign * end.velocity for end, sign in ((other, 1.0), (one, -1.0)) if end.body is not None)
    square = dot(way, way)
    apart = square > 0
    L = np.sqrt(np.where(apart, square, 1.0))
    stretch = spring.stiffness * (1 - np.where(apart, spring.length / L, 0.0))
    return (stretch + spring.damping * dot(way, rate) / (L * L)) * way
