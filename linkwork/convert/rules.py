"""Conversion rules for one joint: its coordinates and the axes of its velocity in another library."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ..lie.euler import euler_from_quaternion, quaternion_from_euler
from ..lie.so3 import cross, rotation_matrix

W_FIRST = [3, 0, 1, 2]  # w x y z of x y z w
W_LAST = [1, 2, 3, 0]


class Rule(ABC):
    """Converts the coordinates and velocities of one joint to another library and back."""

    @abstractmethod
    def q_to(self, q): ...

    @abstractmethod
    def q_from(self, q): ...

    @abstractmethod
    def axes(self, q):
        """A at a q of linkwork (..., nv, nv), with v' = A v."""

    def drift(self, v):
        """c(v), with Ȧ v = A c."""
        return np.zeros_like(v)


@dataclass(frozen=True)
class Same(Rule):
    """The same coordinates and velocities as in linkwork."""

    nv: int

    def q_to(self, q):
        return q

    def q_from(self, q):
        return q

    def axes(self, q):
        return np.eye(self.nv, dtype=q.dtype)


@dataclass(frozen=True)
class Circle(Same):
    """An angle as (cos, sin), which determines it up to full rotations."""

    def q_to(self, q):
        return np.concatenate([np.cos(q), np.sin(q)], -1)

    def q_from(self, q):
        return np.arctan2(q[..., 1:], q[..., :1])


@dataclass(frozen=True)
class Quaternion(Same):
    """An attitude as w x y z, with the velocity of linkwork."""

    def q_to(self, q):
        return q[..., W_FIRST]

    def q_from(self, q):
        return q[..., W_LAST]


@dataclass(frozen=True)
class RollPitchYaw(Rule):
    """An attitude as rotations about the fixed axes x, y, z; the angular velocity in fixed axes."""

    def q_to(self, q):
        return euler_from_quaternion(q, "xyz")

    def q_from(self, q):
        return quaternion_from_euler(q, "xyz")

    def axes(self, q):
        return rotation_matrix(q)


@dataclass(frozen=True, kw_only=True)
class Floating(Rule):
    """A free body: translation or rotation first, w first or last, and the parts of its velocity in fixed axes."""

    linear_first: bool
    w_first: bool
    fixed: tuple[str, ...]

    def q_to(self, q):
        attitude, position = q[..., :4], q[..., 4:]
        attitude = attitude[..., W_FIRST] if self.w_first else attitude
        return np.concatenate([position, attitude] if self.linear_first else [attitude, position], -1)

    def q_from(self, q):
        attitude, position = (q[..., 3:], q[..., :3]) if self.linear_first else (q[..., :4], q[..., 4:])
        return np.concatenate([attitude[..., W_LAST] if self.w_first else attitude, position], -1)

    def axes(self, q):
        R = rotation_matrix(q[..., :4])
        O, I = np.zeros_like(R), np.broadcast_to(np.eye(3, dtype=R.dtype), R.shape)
        angular, linear = (R if part in self.fixed else I for part in ("angular", "linear"))
        return np.block([[O, linear], [angular, O]] if self.linear_first else [[angular, O], [O, linear]])

    def drift(self, v):
        """Ṙ x = R (ω × x), which is zero for x = ω."""
        omega, velocity = v[..., :3], v[..., 3:]
        moving = cross(omega, velocity) if "linear" in self.fixed else np.zeros_like(velocity)
        return np.concatenate([np.zeros_like(omega), moving], -1)


@dataclass(frozen=True, kw_only=True)
class Plane(Rule):
    """A planar joint with its translation first, in fixed or moving axes, its angle a number or (cos, sin)."""

    fixed: bool
    circle: bool

    def q_to(self, q):
        angle = Circle(1).q_to(q[..., :1]) if self.circle else q[..., :1]
        return np.concatenate([q[..., 1:], angle], -1)

    def q_from(self, q):
        angle = Circle(1).q_from(q[..., 2:]) if self.circle else q[..., 2:]
        return np.concatenate([angle, q[..., :2]], -1)

    def axes(self, q):
        angle = q[..., 0] * self.fixed
        c, s, o = np.cos(angle), np.sin(angle), np.zeros_like(angle)
        return np.stack([o, c, -s, o, s, c, o + 1, o, o], -1).reshape(*angle.shape, 3, 3)

    def drift(self, v):
        """Ṙ x = R (ω × x)."""
        omega, x, y = (v[..., i] * self.fixed for i in range(3))
        return np.stack([0 * omega, -v[..., 0] * y, v[..., 0] * x], -1)
