"""Constraints on velocities that no position breaks: edges, wheels, disks and balls that roll."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...model import KnifeEdge, Rolling, Touching
from .distance_rows import where
from .kinematics import Kinematics
from .rows import Constraint, Rows
from .wrenches import direction


@dataclass(frozen=True, eq=False)
class KnifeEdgeRows(Constraint):
    """A point of a body does not move along a direction e fixed in the body:

        Jc v = e* u,   γ = e* ů          u its velocity in body axes, ů the bias of its rate there
    """

    name: str
    edge: KnifeEdge
    place: Any
    holonomic = False
    traceable = True
    metric = True

    @staticmethod
    def of(x: KnifeEdge, robot) -> "KnifeEdgeRows":
        return KnifeEdgeRows(x.name, x, where(robot, x.body, x.at))

    @property
    def bodies(self):
        return self.place[0], None

    @property
    def labels(self):
        return (f"{self.edge.body} slips along {direction(self.edge.direction)} of {self.edge.body}",)

    def rows(self, motion: Kinematics) -> Rows:
        P, e = motion.place(*self.place), _unit(self.edge.direction)[None, :]
        gamma = None if motion.v is None else (e @ P.alpha[..., 3:, :])[..., 0]
        return Rows(None, e @ P.J[..., 3:, :], np.zeros(1), gamma)


@dataclass(frozen=True, eq=False)
class PlaneRows(Constraint):
    """A disk or a ball and the point where it touches a plane.

        w = n − (n·u) u,   d = −r w/|w|              from the centre to the lowest point; of a ball d = −r n
        velocity of the point of the body there:  v + ω × d,   its rate  v̇ + ω̇ × d + ω × ḋ
    """

    name: str
    disk: Any
    place: Any
    traceable = True
    metric = True

    @classmethod
    def of(cls, x: Rolling | Touching, robot):
        return cls(x.name, x, where(robot, x.body, x.center))

    @property
    def bodies(self):
        return self.place[0], None

    @property
    def forbidden(self) -> np.ndarray:
        """The directions in the world, rows (m, 3), in which the touching point may not move."""
        raise NotImplementedError

    def contact(self, motion: Kinematics):
        """n, centre, |w|, Jacobian of the touching point in world axes (..., 3, nv) and its bias (..., 3)."""
        P = motion.place(*self.place)
        R, n, axis = P.T[..., :3, :3], _unit(self.disk.normal), self.disk.axis
        u = np.zeros(3) if axis is None else np.matvec(R, _unit(axis))
        nu = (u @ n)[..., None]
        w = n - nu * u
        s = np.linalg.norm(w, axis=-1, keepdims=True)
        d = -self.disk.radius * w / s
        Jw, Jv = R @ P.J[..., :3, :], R @ P.J[..., 3:, :]
        J = Jv + np.cross(Jw.mT, d[..., None, :]).mT
        if motion.v is None:
            return n, P.T[..., :3, 3], s, J, None
        omega, vel = np.matvec(R, P.V[..., :3, 0]), np.matvec(R, P.V[..., 3:, 0])
        u_rate = np.cross(omega, u)
        w_rate = -(u_rate @ n)[..., None] * u - nu * u_rate
        d_rate = -self.disk.radius * (w_rate / s - w * (w * w_rate).sum(-1, keepdims=True) / s**3)
        alpha, acc = np.matvec(R, P.alpha[..., :3, 0]), np.matvec(R, P.alpha[..., 3:, 0]) + np.cross(omega, vel)
        return n, P.T[..., :3, 3], s, J, acc + np.cross(alpha, d) + np.cross(omega, d_rate)


@dataclass(frozen=True, eq=False)
class RollingRows(PlaneRows):
    """Rolls without slipping: the point that touches stands still along the plane. Two rows."""

    holonomic = False

    @property
    def labels(self):
        return tuple(f"{self.disk.body} slips along {direction(x)} of the world" for x in self.forbidden)

    @property
    def forbidden(self):
        return np.linalg.svd(_unit(self.disk.normal)[None, :])[2][1:]

    def rows(self, motion: Kinematics) -> Rows:
        _, _, _, J, bias = self.contact(motion)
        along = self.forbidden
        return Rows(None, along @ J, np.zeros(2), None if bias is None else bias @ along.T)


@dataclass(frozen=True, eq=False)
class TouchingRows(PlaneRows):
    """The lowest point stays on the plane: c = n·p − r |w| − h."""

    @property
    def labels(self):
        return (f"{self.disk.body} leaves the plane",)

    @property
    def forbidden(self):
        return _unit(self.disk.normal)[None, :]

    def rows(self, motion: Kinematics) -> Rows:
        n, p, s, J, bias = self.contact(motion)
        c = (p @ n)[..., None] - self.disk.radius * s - self.disk.height
        return Rows(c, n[None, :] @ J, np.zeros(1), None if bias is None else (bias @ n)[..., None])


def _unit(x) -> np.ndarray:
    return np.asarray(x, float) / np.linalg.norm(x)
