"""Shapes against a plane, the half space below it being solid: candidates are points of the shape, gap = n · (x − o)."""

from itertools import product

import numpy as np

from ...lie.scalars import dot, like
from .touch import Placed, Touch, length_and_direction, on_first

CORNERS = np.array(list(product((1.0, -1.0), repeat=3)))
THIRDS = np.array([(1.0, 0.0), (-0.5, np.sqrt(0.75)), (-0.5, -np.sqrt(0.75))])  # of a circle: cosine and sine


def against(x, plane: Placed) -> Touch:
    """Points x (..., m, c, 3) of a shape against the plane."""
    n = plane.axis[..., None, :]
    return on_first(x, n, dot(x - plane.p[..., None, :], n + np.zeros_like(x))[..., 0])


def sphere_plane(sphere: Placed, plane: Placed) -> Touch:
    """The lowest point."""
    return against((sphere.p - like(sphere.size, sphere.p) * plane.axis)[..., None, :], plane)


def capsule_plane(capsule: Placed, plane: Placed) -> Touch:
    """The lowest point of each end."""
    r, length = capsule.size[:, :1], capsule.size[:, 1:]
    ends = [capsule.p + like(sign * length / 2, capsule.p) * capsule.axis - like(r, capsule.p) * plane.axis for sign in (1.0, -1.0)]
    return against(np.stack(ends, -2), plane)


def box_plane(box: Placed, plane: Placed) -> Touch:
    """The corners."""
    return against(box.corners(CORNERS), plane)


def ellipsoid_plane(ellipsoid: Placed, plane: Placed) -> Touch:
    """The lowest point:  p − S n / √(n* S n),   S = R diag(a², b², c²) R*."""
    square = like(ellipsoid.size**2, ellipsoid.p)
    local = (ellipsoid.R.mT @ plane.axis[..., None])[..., 0]
    lowest = -square * local / np.sqrt(dot(local, square * local))
    return against(ellipsoid.outside(lowest)[..., None, :], plane)


def cylinder_plane(cylinder: Placed, plane: Placed) -> Touch:
    """Of the rim of each end the lowest point, and three points that are fixed in the cylinder, on which it stands upright."""
    u, n = cylinder.axis, plane.axis
    _, d = length_and_direction(dot(n, u) * u - n, cylinder.R[..., :, 0])
    around = [d, *(c * cylinder.R[..., :, 0] + s * cylinder.R[..., :, 1] for c, s in THIRDS)]
    r, half = like(cylinder.size[:, :1], u), like(cylinder.size[:, 1:] / 2, u)
    return against(np.stack([cylinder.p + sign * half * u + r * e for sign in (1.0, -1.0) for e in around], -2), plane)
