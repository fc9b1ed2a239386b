"""Constraints on velocities that no position breaks: edges, wheels, disks and balls that roll, and rows of one's own."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import ModelError, ShapeError
from ..sweeps.quantities import integrate
from .differences import first, step
from .motion import Motion
from .points import where
from .rows import Constraint, Rows


@dataclass(frozen=True, eq=False)
class KnifeEdge(Constraint):
    """A point of a body does not move along a direction fixed in the body: a skate, or a wheel that may roll.

        G v = e* u,   γ = e* ů          u its velocity in body axes, ů the bias of its rate there
    """

    name: str
    body: str
    direction: tuple[float, float, float]
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)
    place: Any = field(default=None, repr=False)
    holonomic = False

    def bound(self, robot):
        return replace(self, place=where(robot, self.body, self.at))

    @property
    def labels(self):
        return (f"{self.body} slips sideways",)

    def rows(self, motion: Motion) -> Rows:
        P, e = motion.place(*self.place), np.asarray(self.direction, float)
        e = (e / np.linalg.norm(e))[None, :]
        gamma = None if motion.v is None else (e @ P.alpha[..., 3:, :])[..., 0]
        return Rows(None, e @ P.J[..., 3:, :], np.zeros(1), gamma)


@dataclass(frozen=True, eq=False)
class Round(Constraint):
    """A disk (`axis` in the body) or a ball (axis None) and the point where it touches a plane.

        w = n − (n·u) u,   d = −r w/|w|              from the centre to the lowest point; of a ball d = −r n
        velocity of the point of the body there:  v + ω × d,   its rate  v̇ + ω̇ × d + ω × ḋ
    """

    name: str
    body: str
    radius: float
    axis: tuple[float, float, float] | None = (0.0, 0.0, 1.0)
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    height: float = 0.0
    place: Any = field(default=None, repr=False)

    def bound(self, robot):
        if not (np.isfinite(self.radius) and self.radius > 0):
            raise ModelError(f'"{self.name}" has radius {self.radius}; it takes a positive number of metres.')
        return replace(self, place=where(robot, self.body, self.center))

    def contact(self, motion: Motion):
        """n, centre, |w|, Jacobian of the touching point in world axes (..., 3, nv) and its bias (..., 3)."""
        P = motion.place(*self.place)
        R, n = P.T[..., :3, :3], np.asarray(self.normal, float) / np.linalg.norm(self.normal)
        u = np.zeros(3) if self.axis is None else np.matvec(R, np.asarray(self.axis, float) / np.linalg.norm(self.axis))
        nu = (u @ n)[..., None]
        w = n - nu * u
        s = np.linalg.norm(w, axis=-1, keepdims=True)
        d = -self.radius * w / s
        Jw, Jv = R @ P.J[..., :3, :], R @ P.J[..., 3:, :]
        J = Jv + np.cross(Jw.mT, d[..., None, :]).mT
        if motion.v is None:
            return n, P.T[..., :3, 3], s, J, None
        omega, vel = np.matvec(R, P.V[..., :3, 0]), np.matvec(R, P.V[..., 3:, 0])
        u_rate = np.cross(omega, u)
        w_rate = -(u_rate @ n)[..., None] * u - nu * u_rate
        d_rate = -self.radius * (w_rate / s - w * (w * w_rate).sum(-1, keepdims=True) / s**3)
        alpha, acc = np.matvec(R, P.alpha[..., :3, 0]), np.matvec(R, P.alpha[..., 3:, 0]) + np.cross(omega, vel)
        return n, P.T[..., :3, 3], s, J, acc + np.cross(alpha, d) + np.cross(omega, d_rate)


@dataclass(frozen=True, eq=False)
class Rolling(Round):
    """Rolls without slipping: the point that touches stands still along the plane. Two rows; `Touching` is the third."""

    holonomic = False

    @property
    def labels(self):
        return f"{self.body} slips one way", f"{self.body} slips the other way"

    def rows(self, motion: Motion) -> Rows:
        n, _, _, J, bias = self.contact(motion)
        along = np.linalg.svd(n[None, :])[2][1:]
        return Rows(None, along @ J, np.zeros(2), None if bias is None else bias @ along.T)


@dataclass(frozen=True, eq=False)
class Touching(Round):
    """The lowest point stays on the plane: c = n·p − r |w| − h."""

    @property
    def labels(self):
        return (f"{self.body} leaves the plane",)

    @property
    def lengths(self):
        return np.ones(1, bool)

    def rows(self, motion: Motion) -> Rows:
        n, p, s, J, bias = self.contact(motion)
        c = (p @ n)[..., None] - self.radius * s - self.height
        return Rows(c, n[None, :] @ J, np.zeros(1), None if bias is None else (bias @ n)[..., None])


@dataclass(frozen=True, eq=False)
class Pfaffian(Constraint):
    """Rows of one's own: matrix(q) (m, nv) times v is `value`, zero if not given. Also for quantities that are
    conserved and are to stay so under projection. Rates come from differences of sixth order."""

    name: str
    matrix: Callable
    count: int = 1
    value: tuple[float, ...] | float = 0.0
    holonomic = False

    @property
    def labels(self):
        return tuple(f"row {i + 1}" for i in range(self.count))

    def rows(self, motion: Motion) -> Rows:
        batch, nodes = motion.batch, motion.nodes
        U = np.broadcast_to(np.asarray(self.value, float), (self.count,))
        G = np.zeros((*batch, self.count, motion.width))
        gamma = None if motion.v is None else np.zeros((*batch, self.count))
        q = np.broadcast_to(motion.q, batch + motion.q.shape[-1:])
        for i in np.ndindex(*batch):
            G[i] = self._at(q[i], motion.width)
            if gamma is not None:
                v = np.broadcast_to(motion.v, batch + motion.v.shape[-1:])[i]
                gamma[i] = first(lambda s, q=q[i], v=v: self._at(integrate(nodes, q, s * v), len(v)), step(v)) @ v
        return Rows(None, G, U, gamma)

    def _at(self, q, nv):
        G = np.atleast_2d(np.asarray(self.matrix(q), float))
        if G.shape != (self.count, nv):
            raise ShapeError(f'the rows of "{self.name}" have shape {G.shape}; with count = {self.count} they take {(self.count, nv)}.')
        return G
