"""The constant pose of one frame in another, exact for rotations by multiples of 90 degrees."""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ..errors import ModelError
from ..lie import scalars
from ..lie.scalars import numbers
from ..lie.so3 import rotation_matrix
from .shift import homogeneous

SNAP = 1e-9  # radians: the rounding error of printed multiples of pi/2
SLACK = 1e-4  # error of a rotation matrix whose entries were printed with few digits
ROUNDING = 1e-15  # error of a coordinate axis that was divided by its length


@dataclass(frozen=True)
class Pose:
    """Rotation and translation of a frame relative to its parent frame.

    The quaternion (x, y, z, w) need not have norm one: a rotation by 90° is (1, 0, 0, 1), so that its matrix is exact.
    """

    quaternion: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
    translation: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self):
        q, x = numbers(self.quaternion), numbers(self.translation)
        if q.shape != (4,) or x.shape != (3,) or not q.any() or not (np.isfinite(q).all() and np.isfinite(x).all()):
            raise ModelError(
                f"a Pose has quaternion {self.quaternion} and translation {self.translation}; it takes four numbers x y z w, not all zero, "
                "and three, all finite. Pose.of((x, y, z)) is the pose at a position, Pose.rpy(xyz, rpy) one turned by angles."
            )

    @staticmethod
    def of(x) -> "Pose":
        """A Pose from None, a Pose, a position (3,), a rotation (3, 3) or a matrix (4, 4)."""
        if x is None:
            return Pose()
        if isinstance(x, Pose):
            return x
        given, x = x, numbers(x)
        if x.shape not in {(3,), (3, 3), (4, 4)}:
            what = f"has shape {x.shape}" if x.shape else f"is {given!r}"
            raise ModelError(f"a pose {what}; it must be a position (3,), a rotation (3, 3) or a matrix (4, 4).")
        if not np.isfinite(x).all():
            raise ModelError(f"a pose is {x.tolist()}; its numbers must be finite.")
        if x.shape == (3,):
            return Pose(translation=_floats(x))
        R = x[:3, :3]
        if np.abs(R @ R.T - np.eye(3)).max() > SLACK or np.linalg.det(R) < 0:
            raise ModelError(f"a pose has the rotation {R.tolist()}; its rows must be right-handed unit vectors.")
        return Pose(scaled(quaternion_of(R)), _floats(x[:3, 3]) if x.shape == (4, 4) else (0.0, 0.0, 0.0))

    @staticmethod
    def rpy(xyz, rpy, *, snap: bool = True) -> "Pose":
        """The <origin> of URDF: rotations about the fixed axes x, y, z in this order, R = Rz(y) Ry(p) Rx(r)."""
        place, angles = numbers(xyz), numbers(rpy)
        if place.shape != (3,) or angles.shape != (3,) or not np.isfinite([place, angles]).all():
            raise ModelError(f"a pose has xyz {xyz} and rpy {rpy}; each takes three finite numbers.")
        q = (0.0, 0.0, 0.0, 1.0)
        for axis, angle in zip(np.eye(3), angles.tolist()):
            q = multiply(about(axis, angle, snap=snap), q)
        return Pose(scaled(q), _floats(place))

    @staticmethod
    def turning_z_to(axis) -> "Pose":
        """The frame whose z is the given direction: exact for coordinate axes, the smallest rotation otherwise."""
        return _turning_z_to(_floats(axis))

    def __matmul__(self, other: "Pose") -> "Pose":
        if other == ORIGIN or self == ORIGIN:  # most poses are; this makes long chains faster
            return self if other == ORIGIN else other
        position = self.rotation @ other.translation + self.translation
        return Pose(scaled(multiply(self.quaternion, other.quaternion)), _floats(position))

    def inverse(self) -> "Pose":
        x, y, z, w = self.quaternion
        return Pose((-x, -y, -z, w), _floats(-self.rotation.T @ self.translation))

    @property
    def rotation(self) -> np.ndarray:
        return _rotation(self.quaternion)

    @cached_property
    def matrix(self) -> np.ndarray:
        return homogeneous(self.rotation, np.array(self.translation))

    def snapped(self) -> "Pose":
        """This pose with a rotation that is a multiple of 90° up to printing errors made exact."""
        return Pose(snapped(self.quaternion), self.translation)


ORIGIN = Pose()


@lru_cache(maxsize=1024)
def _turning_z_to(axis: tuple) -> Pose:
    x, y, z = direction = scalars.unit(np.asarray(axis, float))
    exact = {(1, 0, 0): (1, 1, 1, 1), (0, 1, 0): (-1, -1, -1, 1), (0, 0, 1): (0, 0, 0, 1)}
    for sign in (1, -1):
        for unit, q in exact.items():
            if np.abs(sign * direction - unit).max() < ROUNDING:
                return Pose(scaled(q if sign > 0 else multiply(q, (1, 0, 0, 0))))
    w = 1 + z if z > -0.5 else (x * x + y * y) / (1 - z)  # the same number, without cancellation
    return Pose(scaled((-y, x, 0.0, w)))


@lru_cache(maxsize=1024)  # long mechanisms repeat the same rotations
def _rotation(quaternion: tuple) -> np.ndarray:
    R = rotation_matrix(np.array(quaternion))
    R.flags.writeable = False
    return R


def about(axis, angle, *, snap: bool = True):
    """Quaternion of a rotation about a unit axis. Angles within a printing error of a multiple of 90° give the exact
    quaternion; without `snap`, only exact multiples do."""
    quarters = angle / (np.pi / 2)
    if abs(quarters - round(quarters)) * (np.pi / 2) <= (SNAP if snap else 0.0):
        s, c = [(0, 1), (1, 1), (1, 0), (1, -1)][round(quarters) % 4]
    else:
        s, c = np.sin(angle / 2), np.cos(angle / 2)
    return (*_floats(s * np.asarray(axis)), float(c))


def multiply(p, q):
    """Hamilton product of two quaternions x y z w, without rounding for small integers."""
    a, b, c, d = p
    x, y, z, w = q
    return (
        d * x + a * w + b * z - c * y,
        d * y - a * z + b * w + c * x,
        d * z + a * y - b * x + c * w,
        d * w - a * x - b * y - c * z,
    )


def scaled(q):
    """The same rotation with the largest entry ±1, w not negative: multiples of 90° have small integers."""
    q = _floats(q)
    largest = max(map(abs, q))
    if not 0 < largest < np.inf:
        raise ModelError(f"a quaternion is {q}; its numbers must be finite, not all zero.")
    last = next(x for x in reversed(q) if abs(x) > 1e-12 * largest)
    return _floats(x / math.copysign(largest, last) for x in q)


def snapped(q):
    """q, or the nearest symmetry of the cube if q differs from it by a printing error only."""
    q = scaled(q)
    near = np.round(q)
    if np.abs(near - q).max() < SNAP and np.abs(near).sum() in (1, 2, 4):
        return _floats(near)
    return q


def quaternion_of(R):
    """A quaternion of a rotation matrix, from the best conditioned of four expressions."""
    R = np.asarray(R, float)
    trace = np.trace(R)
    K = np.empty((4, 4))
    K[:3, :3] = R + R.T + (1 - trace) * np.eye(3)
    K[3, :3] = K[:3, 3] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    K[3, 3] = 1 + trace
    return _floats(K[np.argmax(np.diag(K))])


def _floats(x) -> tuple:
    return tuple(float(e) + 0.0 for e in x)
