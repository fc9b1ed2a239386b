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
            _, _, F = pull(force, *ends)
            yield from ((end, sign * F, None) for end, sign in zip(ends, (1.0, -1.0)) if end.body is not None)
        else:
            yield ends[0], *pushed(force, ends[0])


def conservative(forces):
    """Those that have a potential energy: springs, and pushes by a force that is constant in the world."""
    return tuple(x for x in forces if isinstance(x[0], Spring) or (x[0].axes == "world" and not any(x[0].torque)))


def energy(forces, point: Callable, total):
    """`total` and the potential energy of springs, and of pushes by a force that is constant in the world."""
    for force, places in conservative(forces):
        ends = [point(place) for place in places]
        if isinstance(force, Spring):
            way = ends[1].position - ends[0].position
            stretch = np.sqrt(dot(way, way)) - force.length
            total = total + (force.stiffness / 2 * stretch * stretch)[..., 0]
        else:
            total = total - dot(ends[0].position, like(force.force, ends[0].T))[..., 0]
    return total


def pushed(push, end: Point):
    """Force and torque of a push, in world axes."""
    turn = end.rotation if push.axes == "body" else like(np.eye(3), end.T)
    return tuple((turn @ like(x, end.T)[:, None])[..., 0] for x in (push.force, push.torque))


def pull(spring: Spring, one: Point, other: Point):
    """The way from the first point to the second, its rate, and the force on the first, k (L − length) + d L̇ along the way; world axes."""
    way = other.position - one.position
    rate = sum(sign * end.velocity for end, sign in ((other, 1.0), (one, -1.0)) if end.body is not None)
    factor, _ = _factor(spring, way, rate)
    return way, rate, factor * way


def pull_derivatives(spring: Spring, way, rate):
    """∂F/∂way and ∂F/∂rate (..., 3, 3) of the force F = g way, with u = way / L:

        ∂F/∂way = g I + u (k length u + d (rate − 2 (u · rate) u))* / L,   ∂F/∂rate = d u u*
    """
    factor, L = _factor(spring, way, rate)
    u = way / L
    slope = (spring.stiffness * spring.length * u + spring.damping * (rate - 2 * dot(u, rate) * u)) / L
    return factor[..., None] * like(np.eye(3), way) + u[..., None] * slope[..., None, :], spring.damping * u[..., None] * u[..., None, :]


def _factor(spring: Spring, way, rate):
    """g of the force g way,  k (1 − length / L) + d way · rate / L²,  and L; for points that meet, k and 1."""
    square = dot(way, way)
    apart = square > 0
    L = np.sqrt(np.where(apart, square, 1.0))
    stretch = spring.stiffness * (1 - np.where(apart, spring.length / L, 0.0))
    return stretch + spring.damping * dot(way, rate) / (L * L), L
