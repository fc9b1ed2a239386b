"""Spheres and capsules: the nearest points of points and segments, with radii around them."""

import numpy as np

from ...lie.scalars import dot, like
from .touch import Placed, Touch, between, clipped, together


def radii(one: Placed, other: Placed):
    return one.size[:, 0], other.size[:, 0]


def sphere_sphere(a: Placed, b: Placed) -> Touch:
    return between(a.p, b.p, radii(a, b), a.R[..., :, 2])


def sphere_capsule(a: Placed, b: Placed) -> Touch:
    """The point of the segment nearest to the centre."""
    return between(a.p, nearest_on_axis(b, a.p), radii(a, b), b.R[..., :, 0])


def nearest_on_axis(capsule: Placed, x):
    """The point of a capsule's axis nearest to x."""
    half = like(capsule.size[:, 1:] / 2, x)
    return capsule.p + clipped(dot(x - capsule.p, capsule.axis), -half, half) * capsule.axis


def capsule_capsule(a: Placed, b: Placed) -> Touch:
    """The nearest points of the two axes; and, since axes side by side have more, the ends of the first, which is the shorter one."""
    s, t = nearest_of_axes(a, b)
    found = [between(a.p + s * a.axis, b.p + t * b.axis, radii(a, b), a.R[..., :, 0])]
    for end in ends(a):
        found.append(between(end, nearest_on_axis(b, end), radii(a, b), a.R[..., :, 0]))
    return together(*found)


def ends(capsule: Placed):
    half = like(capsule.size[:, 1:] / 2, capsule.p)
    return [capsule.p + sign * half * capsule.axis for sign in (1.0, -1.0)]


def nearest_of_axes(a: Placed, b: Placed):
    """Where on two segments p + t u, |t| ≤ half, the nearest points are; of parallel ones, some pair of nearest points."""
    u, w, way = a.axis, b.axis, b.p - a.p
    return nearest_of_segments(dot(u, w), dot(u, way), dot(w, way), like(a.size[:, 1:] / 2, u), like(b.size[:, 1:] / 2, u))


def nearest_of_segments(c, x, y, half_a, half_b):
    """s and t of segments along unit vectors u and w with u·w = c, u·d = x, w·d = y, d from the middle of the first to that of the
    second: the unbounded minimum clipped to the first, the best t for it clipped to the second, the best s for that."""
    sine = 1.0 - c * c
    crossing = sine > 1e-12
    s = clipped(np.where(crossing, (x - c * y) / np.where(crossing, sine, 1.0), x), -half_a, half_a)
    t = clipped(c * s - y, -half_b, half_b)
    return clipped(x + c * t, -half_a, half_a), t

