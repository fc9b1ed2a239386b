"""What a pair of shapes gives: points that may touch, and small geometry that all pairs use."""

from typing import Any, NamedTuple

import numpy as np

from ...lie.scalars import dot, like


class Placed(NamedTuple):
    """Shapes of one kind: origins (..., m, 3), rotations (..., m, 3, 3) in the world, and sizes (m, k)."""

    p: Any
    R: Any
    size: Any

    @property
    def axis(self):
        return self.R[..., :, 2]

    def corners(self, signs):
        """Points p + R (signs × size) (..., m, c, 3) of the local points given by signs (c, 3) times the half sizes."""
        local = self.size[:, None, :] / 2 * signs
        return self.p[..., None, :] + (self.R[..., None, :, :] @ like(local, self.p)[..., None])[..., 0]

    def inside(self, x):
        """A point (..., m, 3) of the world in the axes of the shape."""
        return (self.R.mT @ (x - self.p)[..., None])[..., 0]

    def outside(self, x):
        """A point in the axes of the shape in the world."""
        return self.p + (self.R @ x[..., None])[..., 0]

    def turned(self, x):
        """A direction in the axes of the shape in the world's."""
        return (self.R @ x[..., None])[..., 0]


class Touch(NamedTuple):
    """Points of m pairs, c for each: gap (..., m, c), unit normal from the second shape to the first (..., m, c, 3), and the point
    half way between the two surfaces (..., m, c, 3)."""

    gap: Any
    normal: Any
    point: Any


def on_first(x, normal, gap) -> Touch:
    """Points x (..., m, c, 3) of the first shape, at these gaps (..., m, c) along normals."""
    normal = normal + np.zeros_like(x)
    return Touch(gap, normal, x - (gap / 2)[..., None] * normal)


def turned_round(touch: Touch) -> Touch:
    """The points with the shapes exchanged."""
    return Touch(touch.gap, -touch.normal, touch.point)


def one(gap, normal, point) -> Touch:
    """One point a pair: gap (..., m), normal and point (..., m, 3)."""
    return Touch(gap[..., None], normal[..., None, :], point[..., None, :])


def together(*touches: Touch) -> Touch:
    """Several points a pair."""
    return Touch(np.concatenate([x.gap for x in touches], -1), *(np.concatenate([x[i] for x in touches], -2) for i in (1, 2)))


def length_and_direction(x, otherwise):
    """|x| (..., ) and x / |x|; the direction `otherwise` where x is zero."""
    square = dot(x, x)
    some = square != 0  # what is no number stays none
    length = np.sqrt(np.where(some, square, 1.0))
    return np.where(some, length, 0.0)[..., 0], np.where(some, x / length, otherwise)


def between(x, y, radius, otherwise) -> Touch:
    """A point x of the inside of the first shape and y of the second that are nearest, with radii summed up around them: the spheres there.

        gap = |x − y| − r_x − r_y
    """
    r, s = radius
    distance, n = length_and_direction(x - y, otherwise)
    gap = distance - (r + s)
    point = (x - r[..., None] * n + y + s[..., None] * n) / 2
    return one(gap, n, point)


def frame(n):
    """Rotations (..., 3, 3) whose first column is n and the others are tangents; they change continuously except where n.z = −½.

    n = z has the tangents x and y                              T. Duff et al., Building an orthonormal basis, revisited (2017)
    """
    x, y, z = n[..., 0], n[..., 1], n[..., 2]
    sign = np.where(z < -0.5, -1.0, 1.0)
    a = -1.0 / (sign + z)
    b = x * y * a
    first = np.stack([1.0 + sign * x * x * a, sign * b, -sign * x], -1)
    second = np.stack([b, sign + y * y * a, -y], -1)
    return np.stack([n, first, second], -1)


def clipped(t, low, high):
    return np.minimum(np.maximum(t, low), high)
