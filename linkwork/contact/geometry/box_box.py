"""Two boxes: five points of the region where two faces meet, each a true pair of a corner and a face or of two edges.

The axis along which the boxes are farthest apart, or overlap least, of the 15 that may separate them (face normals and cross products
of edges) says which faces meet. Of their corners that lie over the other face, and of the crossings of their edges, the deepest is
taken, and those that are farthest in four directions.
"""

from typing import Any, NamedTuple

import numpy as np

from ...lie.scalars import dot, like
from .boxes import ball_in_box, crossed, hot
from .planes import CORNERS
from .touch import Placed, Touch, length_and_direction

TOLERANCE = 1e-9  # of the size of a face: corners this far outside are over it
PREFERENCE = 1e-3  # of the size: edges count only if they separate by so much more than faces
AROUND = np.array([(np.cos(a), np.sin(a)) for a in np.pi * np.array([0.27, 0.77, 1.27, 1.77])])
FACE_CORNERS = ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))
NONE = -1e30
TIE = 1e-9  # of the size of a face: by how much a candidate must be better than one before it, so that rounding decides nothing
ALIKE = 0.9  # cosine of how far the normal of a pair may be from the axis


class Face(NamedTuple):
    """A face of a box: its middle, outward normal, and two directions with half lengths along them."""

    middle: Any
    normal: Any
    axes: tuple
    halves: tuple

    def corner(self, s, t):
        (a, b), (x, y) = self.axes, self.halves
        return self.middle + s * x * a + t * y * b

    def edges(self):
        """(middle, direction, half length) of the four edges."""
        (a, b), (x, y) = self.axes, self.halves
        return [(self.middle + s * x * a, b, y) for s in (1.0, -1.0)] + [(self.middle + s * y * b, a, x) for s in (1.0, -1.0)]

    def is_below(self, x):
        """1 where a point is over the face, within its edges, else 0: (..., 1)."""
        inside = like(1.0, x)
        for axis, half in zip(self.axes, self.halves):
            inside = np.where(np.abs(dot(x - self.middle, axis)) <= half * (1 + TOLERANCE), inside, 0.0)
        return inside


def box_box(a: Placed, b: Placed) -> Touch:
    n = best_axis(a, b)
    upper, lower = face(a, -n), face(b, n)
    candidates = [*corners_on(upper, lower, 1.0), *corners_on(lower, upper, -1.0), *edge_pairs(upper, lower, n)]
    counting = [(np.where(dot(pair[1], n) > ALIKE, counts, 0.0), *pair) for counts, *pair in candidates]
    return chosen(counting, lower, otherwise(a, b))


def best_axis(a: Placed, b: Placed):
    """The direction, from the second box to the first, along which they are farthest apart; of equal ones, a face's."""
    ha, hb = like(a.size / 2, a.p), like(b.size / 2, a.p)
    C, d = a.R.mT @ b.R, a.p - b.p
    size = np.abs(C)
    da, db = (a.R.mT @ d[..., None])[..., 0], (b.R.mT @ d[..., None])[..., 0]
    reach_a, reach_b = (size @ hb[..., None])[..., 0], (size.mT @ ha[..., None])[..., 0]
    best, n = like(NONE, a.p), np.zeros_like(a.p)
    for R, way, own, reach in ((a.R, da, ha, reach_a), (b.R, db, hb, reach_b)):
        for i in range(3):
            apart = np.abs(way[..., i]) - own[..., i] - reach[..., i]
            best, n = larger(apart, R[..., :, i] * sign(way[..., i : i + 1]), best, n)
    scale = np.minimum(np.min(a.size, -1), np.min(b.size, -1)) * PREFERENCE
    best = best + like(scale, a.p)
    for i in range(3):
        for j in range(3):
            length, axis = length_and_direction(crossed(a.R[..., :, i], b.R[..., :, j]), np.zeros_like(d))
            way = dot(axis, d)
            reach = [dot(np.abs((x.R.mT @ axis[..., None])[..., 0]), half + np.zeros_like(axis))[..., 0] for x, half in ((a, ha), (b, hb))]
            apart = np.where(length > 1e-3, np.abs(way)[..., 0] - reach[0] - reach[1], NONE)
            best, n = larger(apart, axis * sign(way), best, n)
    return n


def sign(x):
    return np.where(x < 0, -1.0, 1.0)


def larger(x, n, best, so_far):
    more = x > best
    return np.where(more, x, best), np.where(more[..., None], n, so_far)


def face(box: Placed, n) -> Face:
    """The face of a box whose outward normal is nearest to n."""
    local = (box.R.mT @ n[..., None])[..., 0]
    which = hot(np.abs(local))
    half = like(box.size / 2, n)
    turns = [(0, 1, 2), (1, 2, 0), (2, 0, 1)]
    axes = [sum(which[..., t[0] : t[0] + 1] * box.R[..., :, t[k]] for t in turns) for k in range(3)]
    halves = [sum(which[..., t[0] : t[0] + 1] * half[..., t[k] : t[k] + 1] for t in turns) for k in range(3)]
    outward = axes[0] * sign(dot(which, local))
    return Face(box.p + halves[0] * outward, outward, (axes[1], axes[2]), (halves[1], halves[2]))


Candidate = tuple[Any, Any, Any, Any]  # does it count (..., 1), gap (..., 1), normal and point (..., 3)


def corners_on(one: Face, other: Face, way: float):
    """The corners of a face that are over another, as candidates; normals from the second box to the first, `way` 1 if the corners are
    of the first."""
    for s, t in FACE_CORNERS:
        x = one.corner(s, t)
        gap = dot(x - other.middle, other.normal)
        yield other.is_below(x), gap, way * other.normal, x - gap / 2 * other.normal


def edge_pairs(upper: Face, lower: Face, n):
    """Crossings of the edges of two faces, where the nearest points are within both."""
    for p, u, half in upper.edges():
        for y, w, length in lower.edges():
            d, c = y - p, dot(u, w)
            sine = 1.0 - c * c
            crossing = sine > 1e-6
            safe = np.where(crossing, sine, 1.0)
            s, t = (dot(u, d) - c * dot(w, d)) / safe, (c * dot(u, d) - dot(w, d)) / safe
            counts = np.where(crossing, np.where(np.abs(s) < half, np.where(np.abs(t) < length, 1.0, 0.0), 0.0), 0.0)
            _, normal = length_and_direction(crossed(u, w), n)
            normal = normal * sign(dot(normal, n))
            first, second = p + s * u, y + t * w
            yield counts, dot(first - second, normal), normal, (first + second) / 2


def chosen(candidates, lower: Face, fallback: Candidate) -> Touch:
    """Of the candidates that count, the deepest, and those farthest in each of four directions along the lower face; where none counts,
    another pair."""
    axes, middle, tie = lower.axes, lower.middle, TIE * (lower.halves[0] + lower.halves[1])
    deepest, best = like(-NONE, middle) + np.zeros_like(middle[..., :1]), fallback[1:]
    for counts, *pair in candidates:
        better = np.where(counts > 0, pair[0], -NONE) < deepest - tie
        deepest, best = np.where(better, pair[0], deepest), tuple(np.where(better, new, old) for new, old in zip(pair, best))
    apart = np.where(fallback[1] > 0, fallback[1], -NONE) < deepest - tie  # boxes that do not touch: a corner may be nearer
    found = [tuple(np.where(apart, new, old) for new, old in zip(fallback[1:], best))]
    for x, y in AROUND:
        direction = float(x) * axes[0] + float(y) * axes[1]
        far, best = like(NONE, middle) + np.zeros_like(middle[..., :1]), fallback[1:]
        for counts, *pair in candidates:
            reach = dot(pair[2] - middle, direction)
            better = np.where(counts > 0, reach, NONE) > far + tie
            far = np.where(better, reach, far)
            best = tuple(np.where(better, new, old) for new, old in zip(pair, best))
        found.append(best)
    return Touch(np.concatenate([x[0] for x in found], -1), *(np.stack([x[i] for x in found], -2) for i in (1, 2)))


def otherwise(a: Placed, b: Placed) -> Candidate:
    """The corner of either box that is nearest to the other box: where faces are not over each other, their corners meet first."""
    nothing = np.zeros(len(b.size))
    best: Any = None
    for box, other, way in ((a, b, 1.0), (b, a, -1.0)):
        corners = box.corners(CORNERS)
        for i in range(len(CORNERS)):
            touch = ball_in_box(corners[..., i, :], nothing, other)
            pair = touch.gap, way * touch.normal[..., 0, :], touch.point[..., 0, :]
            best = pair if best is None else tuple(np.where(pair[0] < best[0], x, y) for x, y in zip(pair, best))
    return 1.0, *best
