"""Groups of motions about z and along the axes: SO(2), SO(2) x R, screw motions H, SE(2) and X(z)."""

from dataclasses import dataclass

import numpy as np

from .embedding import pose
from .group import Additive, Motions, frozen, twists
from .stumpff import stumpff


def about_z(angle):
    """The rotation matrix about z: [[c, -s, 0], [s, c, 0], [0, 0, 1]]."""
    c, s = np.cos(angle), np.sin(angle)
    o    = np.zeros_like(c)
    return np.stack([c, -s, o, s, c, o, o, o, o + 1], axis=-1).reshape(*c.shape, 3, 3)


def turn(angle, v):
    """A vector of the plane rotated by an angle (..., 1): c v + s v⊥."""
    return np.cos(angle) * v + np.sin(angle) * perpendicular(v)


def perpendicular(v):
    """A vector of the plane rotated by 90°: (x, y) becomes (-y, x)."""
    return np.concatenate([-v[..., 1:], v[..., :1]], axis=-1)


@dataclass(frozen=True, repr=False)
class PlanarRotations(Additive):
    """SO(2): rotation about z. q = [θ], a real number that does not wrap."""

    name     = "SO(2)"
    nq = nv  = 1
    basis    = twists(2)
    identity = frozen([0.0])

    def matrix(self, q):
        R = about_z(q[..., 0])
        return pose(R, np.zeros_like(R[..., 0]))


@dataclass(frozen=True, repr=False)
class Cylindrical(Additive):
    """SO(2) x R: rotation about z and translation along it. q = [θ, d]."""

    name     = "SO(2) x R"
    nq = nv  = 2
    basis    = twists(2, 5)
    identity = frozen([0.0, 0.0])

    def matrix(self, q):
        o = np.zeros_like(q[..., :1])
        return pose(about_z(q[..., 0]), np.concatenate([o, o, q[..., 1:]], axis=-1))


@dataclass(frozen=True, repr=False)
class Helical(Additive):
    """H: a screw motion about z. q = [θ]; the translation along z is pitch * θ, the pitch in metres per radian."""

    pitch: float

    nq = nv  = 1
    identity = frozen([0.0])

    @property
    def name(self):
        return f"H({self.pitch!r})"

    @property
    def basis(self):
        return frozen([[0.0, 0.0, 1.0, 0.0, 0.0, self.pitch]])

    def matrix(self, q):
        o = np.zeros_like(q)
        return pose(about_z(q[..., 0]), np.concatenate([o, o, self.pitch * q], axis=-1))


class Gliding(Motions):
    """Motions of the x-y plane, and along z where there is a fourth coordinate, which adds.

    The angle does not wrap, so log is undefined at θ = ±2π, ±4π ...; elsewhere exp(log q) = q.
    """

    def exp(self, xi):
        """[θ; c₁ v + c₂ θ v⊥], v⊥ being v rotated by 90°."""
        angle, v      = xi[..., :1], xi[..., 1:3]
        _, c1, c2, *_ = stumpff(angle * angle)
        return np.concatenate([angle, c1 * v + c2 * angle * perpendicular(v), xi[..., 3:]], axis=-1)

    def log(self, q):
        """[θ; (θ/2) cot(θ/2) p - (θ/2) p⊥]."""
        angle, p   = q[..., :1], q[..., 1:3]
        c0, c1, *_ = stumpff(angle * angle / 4)
        return np.concatenate([angle, c0 / c1 * p - angle / 2 * perpendicular(p), q[..., 3:]], axis=-1)

    def compose(self, p, q):
        plane = p[..., 1:3] + turn(p[..., :1], q[..., 1:3])
        return np.concatenate([p[..., :1] + q[..., :1], plane, p[..., 3:] + q[..., 3:]], axis=-1)

    def inverse(self, q):
        return np.concatenate([-q[..., :1], -turn(-q[..., :1], q[..., 1:3]), -q[..., 3:]], axis=-1)

    def rate(self, q, v):
        angle, z = q[..., :1], q[..., 3:]
        return np.concatenate([np.zeros_like(angle) + v[..., :1], turn(angle, v[..., 1:3]), np.zeros_like(z) + v[..., 3:]], axis=-1)


@dataclass(frozen=True, repr=False)
class PlanarMotions(Gliding):
    """SE(2): motions of the x-y plane. q = [θ, x, y], v = [ω, velocity] in the body's frame."""

    name     = "SE(2)"
    nq = nv  = 3
    basis    = twists(2, 3, 4)
    identity = frozen([0.0, 0.0, 0.0])

    def matrix(self, q):
        p = np.concatenate([q[..., 1:], np.zeros_like(q[..., :1])], axis=-1)
        return pose(about_z(q[..., 0]), p)


@dataclass(frozen=True, repr=False)
class Schoenflies(Gliding):
    """X(z), the Schönflies group: rotation about z and translation in space, SE(2) x R. q = [θ, x, y, z]."""

    name     = "X(z)"
    nq = nv  = 4
    basis    = twists(2, 3, 4, 5)
    identity = frozen([0.0, 0.0, 0.0, 0.0])

    def matrix(self, q):
        return pose(about_z(q[..., 0]), q[..., 1:])


SO2, CYLINDRICAL, SE2, X = PlanarRotations(), Cylindrical(), PlanarMotions(), Schoenflies()
