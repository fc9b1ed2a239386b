"""Boxes and cylinders against points and segments: spheres and capsules on them."""

import numpy as np

from ...lie.scalars import dot, like
from .spheres import ends, nearest_of_segments
from .touch import Placed, Touch, clipped, length_and_direction, one, together


def sphere_box(sphere: Placed, box: Placed) -> Touch:
    return ball_in_box(sphere.p, sphere.size[:, 0], box)


def ball_in_box(x, radius, box: Placed) -> Touch:
    """A ball at x against a box, or a point for radius zero."""
    distance, n = point_box(box.inside(x), like(box.size / 2, x))
    return ball(x, radius, distance, box.turned(n))


def ball(x, radius, distance, n) -> Touch:
    """A ball at x, which is so far from a surface with normal n."""
    gap = distance - radius
    return one(gap, n, x - (radius + gap / 2)[..., None] * n)


def point_box(x, half):
    """How far a point (..., 3) is from the surface of a box, negative inside, and the direction from there to the point.

    Outside it is the way to the nearest point of the box, inside that to the nearest face.
    """
    nearest = clipped(x, -half, half)
    apart, out = length_and_direction(x - nearest, np.zeros_like(x))
    depth = half - np.abs(x)
    least = np.minimum(np.minimum(depth[..., 0], depth[..., 1]), depth[..., 2])
    first, second = depth[..., 0] <= least, depth[..., 1] <= least
    sign = np.where(x < 0, -1.0, 1.0)
    zero = np.zeros_like(least)
    face = np.stack([
        np.where(first, sign[..., 0], zero),
        np.where(first, zero, np.where(second, sign[..., 1], zero)),
        np.where(first, zero, np.where(second, zero, sign[..., 2])),
    ], -1)  # fmt: skip
    inside = least > 0
    return np.where(inside, -least, apart), np.where(inside[..., None], face, out + np.where((apart > 0)[..., None], 0.0, face))


def sphere_cylinder(sphere: Placed, cylinder: Placed) -> Touch:
    return ball_in_cylinder(sphere.p, sphere.size[:, 0], cylinder)


def ball_in_cylinder(x, radius, cylinder: Placed) -> Touch:
    """A ball at x against a cylinder, or a point for radius zero."""
    distance, n = point_cylinder(cylinder.inside(x), *(like(cylinder.size[:, i], x) for i in (0, 1)))
    return ball(x, radius, distance, cylinder.turned(n))


def point_cylinder(x, radius, length):
    """As `point_box`, of a cylinder along z."""
    flat = x[..., :2]
    rho, e = length_and_direction(flat, like([1.0, 0.0], flat))
    side, top = rho - radius, np.abs(x[..., 2]) - length / 2
    up = np.where(x[..., 2] < 0, -1.0, 1.0)
    zero, corner = np.zeros_like(side), np.stack([np.maximum(side, 0.0), np.maximum(top, 0.0)], -1)
    apart, way = length_and_direction(corner, zero[..., None])
    lies_inside = apart <= 0
    nearer_side = side >= top
    a = np.where(lies_inside, np.where(nearer_side, 1.0, 0.0), way[..., 0])
    b = np.where(lies_inside, np.where(nearer_side, 0.0, 1.0), way[..., 1])
    n = np.stack([a * e[..., 0], a * e[..., 1], b * up], -1)
    return np.where(lies_inside, np.maximum(side, top), apart), n


# --- capsules


def capsule_box(capsule: Placed, box: Placed) -> Touch:
    """The two ends of the capsule, and two edges of the box with the points of the capsule's axis nearest to them: those that bound, along
    the axis, the face that the axis is above. Where the axis does not cross such an edge, the nearest point of all is there instead, or
    the end on that side if the axis is inside the box."""
    radius, across = capsule.size[:, 0], like(capsule.size[:, 1:] / 2, capsule.p)
    half = like(box.size / 2, capsule.p)
    p, u = box.inside(capsule.p), (box.R.mT @ capsule.axis[..., None])[..., 0]
    nearest = p + nearest_to_box(p, u, across, half) * u
    apart, n = point_box(nearest, half)
    closest, outside = ball(box.outside(nearest), radius, apart, box.turned(n)), (apart > 0)[..., None]
    top = hot(np.abs(n))
    run = hot(np.abs(u) * (1.0 - top) - top)
    up = np.where(n < 0, -1.0, 1.0) * top
    found = [ball_in_box(end, radius, box) for end in ends(capsule)]
    for way, end in zip((1.0, -1.0), found):
        side = run * np.where(u < 0, -way, way)
        found.append(edge_or(either(outside, closest, end), box, p, u, across, half, up, side, radius))
    least = np.minimum(np.minimum(found[0].gap, found[1].gap), np.minimum(found[2].gap, found[3].gap))
    nearer = np.where(outside, closest.gap, least) < least - like(1e-6 * radius[:, None], capsule.p)  # another edge than these two
    return together(*found[:2], either(nearer, closest, found[2]), found[3])


def hot(x):
    """1 for the largest entry of three, the first of equal ones, 0 for the others."""
    a, b, c = (x[..., i] for i in range(3))
    first = np.where(a >= b, np.where(a >= c, 1.0, 0.0), 0.0)
    second = np.where(first > 0, 0.0, np.where(b >= c, 1.0, 0.0))
    return np.stack([first, second, 1.0 - first - second], -1)


def edge_or(end: Touch, box, p, u, across, half, up, side, radius) -> Touch:
    """The edge of a box between its faces `up` and `side`, with the point of the axis p + t u nearest to it, if that passes above it."""
    w = 1.0 - np.abs(up) - np.abs(side)  # the direction of the edge
    middle = half * (up + side)
    d, c = middle - p, dot(u, w)
    length = dot(w, half + np.zeros_like(w))
    s, t = nearest_of_segments(c, dot(u, d), dot(w, d), across, length)
    apart = p + s * u - middle - t * w
    size, n = length_and_direction(crossed(u, w), up)
    _, corner = length_and_direction(apart, up)  # beyond the ends of the edge its corners count
    n = np.where(np.abs(t) < length, n, corner)
    n = np.where(dot(n, up) < 0, -n, n)
    above = np.where(dot(n, up) > 0.5, np.where(dot(n, side) > -0.2, size[..., None], 0.0), 0.0)
    passes = np.where(np.abs(s) < across, above, 0.0) > 1e-6
    touch = ball(box.outside(p + s * u), radius, dot(apart, n)[..., 0], box.turned(n))
    return either(passes, touch, end)


def either(truth, one: Touch, other: Touch) -> Touch:
    """The first where it is true (..., m, 1), else the other."""
    return Touch(np.where(truth, one.gap, other.gap), *(np.where(truth[..., None], x, y) for x, y in zip(one[1:], other[1:])))


def crossed(a, b):
    """a × b of vectors that may move."""
    x, y, z = (a[..., i] for i in range(3))
    u, v, w = (b[..., i] for i in range(3))
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], -1)


def nearest_to_box(p, u, across, half):
    """t in [−across, across] of the point p + t u nearest to a box: the root of the slope of its squared distance, which is piecewise
    linear and does not fall."""
    breaks = []
    for i in range(3):
        speed = u[..., i : i + 1]
        some = np.abs(speed) > 1e-12
        safe = np.where(some, speed, 1.0)
        ways = (np.where(some, (sign * half[..., i : i + 1] - p[..., i : i + 1]) / safe, 0.0) for sign in (1, -1))
        breaks += [clipped(way, -across, across) for way in ways]
    rounding = 1e-12 * (across + half[..., :1])
    low, high = -across + np.zeros_like(p[..., :1]), across + np.zeros_like(p[..., :1])
    first, last = high, low  # of the breaks without a slope: the way through the box
    for t in breaks:  # the last break with a slope below zero, and the first with one above
        slope = box_slope(p, u, t, half)
        low = np.where(slope < -rounding, np.maximum(low, t), low)
        high = np.where(slope > rounding, np.minimum(high, t), high)
        level = np.abs(slope) <= rounding
        first, last = np.where(level, np.minimum(first, t), first), np.where(level, np.maximum(last, t), last)
    at_low, at_high = box_slope(p, u, low, half), box_slope(p, u, high, half)
    rise = at_high - at_low
    rises = rise > rounding
    t = np.where(rises, low - at_low * (high - low) / np.where(rises, rise, 1.0), (low + high) / 2)
    return np.where(first <= last, (first + last) / 2, clipped(t, low, high))


def box_slope(p, u, t, half):
    x = p + t * u
    return dot(x - clipped(x, -half, half), u)
