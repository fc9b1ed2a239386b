"""Distances between points: a rod without mass between two ball joints."""

from dataclasses import dataclass, replace

import numpy as np

from ...model import Distance, distances
from ...spatial import Pose
from .kinematics import Kinematics
from .rows import Constraint, Portable, Rows


@dataclass(frozen=True, eq=False)
class DistanceRows(Constraint):
    """Two points stay a distance L apart:

        c = |d| − L,   Jc v = d*/|d| ḋ,   γ = d*/|d| d̈ + (|ḋ|² − (d*ḋ/|d|)²) / |d|       d the way from one to the other
    """

    name: str
    length: float
    places: tuple
    number: int | None = None  # among the distances of the model
    traceable = True
    metric = True

    @staticmethod
    def of(x: Distance, robot) -> "DistanceRows":
        number = next((i for i, y in enumerate(distances(robot.model)) if y is x), None)
        return DistanceRows(x.name, x.length, (where(robot, x.parent, x.at), where(robot, x.child, x.on)), number)

    @property
    def portable(self):
        return Portable("distance", self._placed, self.places, constants={"distance": self.length})

    def _placed(self, number, frames, coordinates):
        return replace(self, places=tuple((body, Pose()) for body in frames), number=number)

    @property
    def labels(self):
        return (f"distance {self.length:g} m",)

    @property
    def bodies(self):
        return self.places[1][0], self.places[0][0]

    def rows(self, motion: Kinematics) -> Rows:
        P, C = (point(motion, place) for place in self.places)
        d, J = C[0] - P[0], C[1] - P[1]
        size = np.linalg.norm(d, axis=-1, keepdims=True)
        varied = motion.varied("distance", self.number)
        c = size - (self.length if varied is None else varied[..., None])
        n = d / size
        Jc = n[..., None, :] @ J
        if motion.v is None:
            return Rows(c, Jc, np.zeros(1), None)
        u, a = C[2] - P[2], C[3] - P[3]
        along = (n * u).sum(-1, keepdims=True)
        gamma = (n * a).sum(-1, keepdims=True) + ((u * u).sum(-1, keepdims=True) - along**2) / size
        return Rows(c, Jc, np.zeros(1), gamma)


def where(robot, name: str | None, at) -> tuple[int | None, Pose]:
    """The body of a body or frame, and a place on it."""
    if name is None:
        return None, Pose.of(at)
    body, pose = robot.model.place(name)
    return body, pose @ Pose.of(at)


def holder(nodes, place) -> int:
    """The node that a place is on."""
    return nodes.tree.world if place[0] is None else nodes.on[place[0]]


def point(motion: Kinematics, place):
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
