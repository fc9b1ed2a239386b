"""A frame on a flexible body: it moves and turns as the body bends."""

from dataclasses import dataclass

import numpy as np

from ..lie.scalars import dot, like
from ..lie.so3 import tilde
from ..spatial import Pose, homogeneous


@dataclass(frozen=True, eq=False)
class Attachment:
    """Displacement of a frame, turn first, quadratic in the modal coordinates:  u = Π η + ½ η* G η,  u = [θ; r].

    The frame is turned by the Cayley map of g = ½ θ (1 + θ·θ/12), which is orthogonal, and exp θ up to θ⁵/120, without a sine:

        R = I + s (g~ + g~ g~),   s = 2 / (1 + g·g),   ω = s (I − g~) ġ         in the axes of R
    """

    pose: Pose  # without deformation
    linear: np.ndarray  # Π (6, n)
    quadratic: np.ndarray  # G (6, n, n)

    @property
    def is_fixed(self) -> bool:
        """Does it stand still on the body?"""
        return not (self.linear.any() or self.quadratic.any())

    @property
    def content(self) -> tuple:
        """All that decides how it moves."""
        return self.pose, self.linear.tolist(), self.quadratic.tolist()

    def place(self, eta):
        """Its pose on the body (..., 4, 4)."""
        at = like(self.pose.matrix, eta)
        if self.is_fixed:
            return at + np.zeros_like(eta[..., :1, None])
        u, _ = self._displacement(eta)
        g, _ = _cayley(u[..., :3])
        _, R = _turned(g)
        return homogeneous(R @ at[:3, :3], at[:3, 3] + u[..., 3:])

    def map(self, eta):
        """Λ (..., 6, n): the velocity Λ η̇ of the frame on the body, in its own axes."""
        if self.is_fixed:
            return np.zeros_like(eta, shape=(*eta.shape[:-1], *self.linear.shape))
        u, J = self._displacement(eta)
        g, into = _cayley(u[..., :3])
        s, R = _turned(g)
        I = like(np.eye(3), eta)
        return self._own(s * (I - tilde(g)) @ (into @ J[..., :3, :]), R.mT @ J[..., 3:, :])

    def map_rate(self, eta, etad, x):
        """Λ̇ x (..., 6, m) while η moves with η̇ (..., n, 1), of columns x (..., n, m)."""
        if self.is_fixed:
            return np.zeros_like(eta, shape=(*eta.shape[:-1], 6, x.shape[-1]))
        u, J = self._displacement(eta)
        Jd = self._along(etad)
        t, td = u[..., :3], (J @ etad)[..., :3, 0]
        g, into = _cayley(t)
        gd = (into @ td[..., None])[..., 0]
        s, R = _turned(g)
        I = like(np.eye(3), eta)
        into_rate = (dot(t, td) / 12)[..., None] * I + (_outer(td, t) + _outer(t, td)) / 12
        s_rate = -(s * s) * dot(g, gd)[..., None]
        turn, turn_rate = s * (I - tilde(g)), s_rate * (I - tilde(g)) - s * tilde(gd)
        w = (turn @ gd[..., None])[..., 0]
        Jx, Jdx = J @ x, Jd @ x
        angular = turn_rate @ (into @ Jx[..., :3, :]) + turn @ (into_rate @ Jx[..., :3, :] + into @ Jdx[..., :3, :])
        linear = R.mT @ Jdx[..., 3:, :] - tilde(w) @ (R.mT @ Jx[..., 3:, :])
        return self._own(angular, linear)

    def _displacement(self, eta):
        """u and its derivative by η."""
        linear = like(self.linear, eta)
        J = linear + self._along(eta[..., None])
        return ((linear + J) / 2 @ eta[..., None])[..., 0], J

    def _along(self, x):
        """G x (..., 6, n) of a column."""
        n = self.linear.shape[1]
        return (like(self.quadratic.reshape(6 * n, n), x) @ x).reshape(*x.shape[:-2], 6, n)

    def _own(self, angular, linear):
        """Both in the axes of the frame."""
        F = like(self.pose.rotation, angular).mT
        return np.concatenate([F @ angular, F @ linear], -2)


def _cayley(t):
    """g of θ, and the matrix that makes ġ of θ̇."""
    c = 0.5 + dot(t, t) / 24
    return c * t, c[..., None] * like(np.eye(3), t) + _outer(t, t) / 12


def _turned(g):
    """s and R of g."""
    s, g_ = (2 / (1 + dot(g, g)))[..., None], tilde(g)
    return s, like(np.eye(3), g) + s * (g_ + g_ @ g_)


def _outer(a, b):
    return a[..., :, None] * b[..., None, :]
