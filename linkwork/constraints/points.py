"""Distances between points: a rod without mass between two ball joints."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import ModelError
from ..spatial import Pose
from .motion import Motion
from .rows import Constraint, Rows


@dataclass(frozen=True, eq=False)
class Distance(Constraint):
    """Two points stay `length` apart; a place is a body or frame by name, None the world, `at` and `on` points on them.

        c = |d| − L,   G v = d*/|d| ḋ,   γ = d*/|d| d̈ + (|ḋ|² − (d*ḋ/|d|)²) / |d|       d the way from one to the other
    """

    name: str
    parent: str | None
    child: str
    length: float
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)
    on: tuple[float, float, float] = (0.0, 0.0, 0.0)
    places: Any = field(default=None, repr=False)

    def __post_init__(self):
        if not (np.isfinite(self.length) and self.length > 0):
            raise ModelError(f'"{self.name}" keeps a distance of {self.length}; it takes a positive number of metres. '
                             "For no distance close the loop with a spherical joint.")  # fmt: skip

    def bound(self, robot):
        return replace(self, places=[where(robot, self.parent, self.at), where(robot, self.child, self.on)])

    @property
    def labels(self):
        return (f"distance {self.length:g} m",)

    @property
    def lengths(self):
        return np.ones(1, bool)

    def rows(self, motion: Motion) -> Rows:
        P, C = (point(motion, place) for place in self.places)
        d, J = C[0] - P[0], C[1] - P[1]
        size = np.linalg.norm(d, axis=-1, keepdims=True)
        n = d / size
        G = n[..., None, :] @ J
        if motion.v is None:
            return Rows(size - self.length, G, np.zeros(1), None)
        u, a = C[2] - P[2], C[3] - P[3]
        along = (n * u).sum(-1, keepdims=True)
        gamma = (n * a).sum(-1, keepdims=True) + ((u * u).sum(-1, keepdims=True) - along**2) / size
        return Rows(size - self.length, G, np.zeros(1), gamma)


def where(robot, name: str | None, at) -> tuple[int | None, Pose]:
    """The body of a body or frame, and a place on it."""
    if name is None:
        return None, Pose.of(at)
    body, pose = robot.model.place(name)
    return body, pose @ Pose.of(at)


def point(motion: Motion, place):
    """Position, Jacobian, velocity and bias acceleration of a point in world axes; the acceleration is the classical one.

        r̈ = R (a + ω × u)                      a the spatial acceleration in the body, u the velocity there
    """
    P = motion.place(*place)
    R = P.T[..., :3, :3]
    if motion.v is None:
        return P.T[..., :3, 3], R @ P.J[..., 3:, :], None, None
    w, u = P.V[..., :3, 0], P.V[..., 3:, 0]
    turned = P.alpha[..., 3:, 0] + np.cross(w, u)
    return P.T[..., :3, 3], R @ P.J[..., 3:, :], np.matvec(R, u), np.matvec(R, turned)
