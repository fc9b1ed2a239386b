"""Any two convex shapes: the nearest points of two cores, with a radius around each, by support functions.

A sphere is a point with its radius around it, a capsule a segment, other shapes are cores without a radius. While the cores are apart, the
gap is that along the normal of the nearest points, the distance: no gap along any normal is larger. Where they are not, shapes count whose
cores are smaller by a margin on all sides, which is put around them again: edges are rounded by the margin, and shapes may overlap by the
two margins before such cores meet; of an ellipsoid, whose smaller ellipsoid is not the same distance away everywhere, the surface moves by
less than a two hundredth of its size. The nearest points of cores are found by Gilbert, Johnson and Keerthi's iteration, a loop in kernels.
"""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ...lie.iteration import iterate
from ...lie.scalars import dot, like
from ...lie.scalars import still as constant
from .boxes import ball_in_box, ball_in_cylinder, crossed
from .moving import Moving
from .planes import CORNERS, THIRDS
from .spheres import ends
from .touch import Placed, Touch, clipped, length_and_direction, one, together, turned_round

MARGIN = 0.1  # of the smallest half size
ROUNDS = 60
CLOSE = 1e-14  # relative: the nearest point so far is this near to the nearest there is
FLAT = 1e-12
NEAR = 1e-4  # of the size: cores that are nearer have no normal that rounding would not move
STEP = 5e-3  # of the size: how far bodies are moved to see how normals and points change
EDGES = list(combinations(range(4), 2))
TRIANGLES = list(combinations(range(4), 3))


class Core(NamedTuple):
    """One shape: its place, rotation, the half sizes of its core, the radius around it, and by how much it may be rounded."""

    kind: str
    p: Any
    R: Any
    half: np.ndarray
    radius: float
    margin: float

    @property
    def rounded(self) -> "Core":
        return self._replace(half=self.half - self.margin, radius=self.radius + self.margin)

    def support(self, d):
        """The point of the core farthest along d, in its own axes."""
        local = (self.R.mT @ d[..., None])[..., 0]
        return SUPPORTS[self.kind](local, like(self.half, local))

    def place(self, x):
        return self.p + (self.R @ x[..., None])[..., 0]


def box_support(d, half):
    return np.where(d < 0, -1.0, 1.0) * half


def ellipsoid_support(d, half):
    scaled = half * half * d
    _, direction = length_and_direction(half * d, np.zeros_like(d))
    return np.where(dot(scaled, scaled) > 0, half * direction, np.zeros_like(d))


def cylinder_support(d, half):
    _, around = length_and_direction(d[..., :2], like([1.0, 0.0], d))
    top = np.where(d[..., 2:] < 0, -1.0, 1.0)
    return np.concatenate([half[..., :1] * around, half[..., 2:] * top], -1)


SUPPORTS = {"box": box_support, "ellipsoid": ellipsoid_support, "cylinder": cylinder_support, "capsule": box_support, "sphere": box_support}


def half_sizes(kind: str, size) -> np.ndarray:
    """Half lengths of the shape along its axes, of a capsule those of its segment, of a sphere none."""
    if kind == "sphere":
        return np.zeros(3)
    if kind == "capsule":
        return np.array([0.0, 0.0, size[1] / 2])
    if kind == "cylinder":
        return np.array([size[0], size[0], size[1] / 2])
    return np.array(size) / (2 if kind == "box" else 1)


def core(kind: str, shape: Placed, i: int) -> Core:
    """Shape i of some of one kind."""
    half, is_round = half_sizes(kind, shape.size[i]), kind in ("sphere", "capsule")
    radius, margin = (float(shape.size[i][0]), 0.0) if is_round else (0.0, MARGIN * float(half.min()))
    return Core(kind, shape.p[..., i, :], shape.R[..., i, :, :], half, radius, margin)


def of_kinds(first: str, second: str):
    """The function of two placed shapes of these kinds: one point a pair."""

    def touching(a: Placed, b: Placed) -> Touch:
        found = [nearest(core(first, a, i), core(second, b, i)) for i in range(len(a.size))]
        return one(*(np.stack([x[k] for x in found], -1 if k == 0 else -2) for k in range(3)))

    return touching


def nearest(a: Core, b: Core):
    """Gap (...), normal and point (..., 3) of two shapes; of shapes that move, with their rates."""
    if not isinstance(a.p, Moving) and not isinstance(b.p, Moving):
        return exact_or_rounded(a, b)
    size = whole_size(a, b)
    moving = [x for x in (a, b) if isinstance(x.p, Moving)]
    speed = sum(np.abs(x.p.rate) @ like(np.ones((3, 1)), x.p.rate) + size * total(np.abs(x.R.rate)) for x in moving)
    moves = speed > 0
    h = np.where(moves, STEP * size / np.where(moves, speed, 1.0), 1.0)
    here, step, rates = exact_or_rounded(still(a), still(b)), (h[..., 0], h, h), []
    for x, y in ((a, b), (a.rounded, b.rounded)):
        there, back = (nearest_of_cores(moved(x, way * h), moved(y, way * h)) for way in (1.0, -1.0))
        rates.append([(ahead - behind) / (2 * t) for ahead, behind, t in zip(there, back, step)])
    apart = here[0] + (a.radius + b.radius) > 2 * STEP * size  # on both sides
    return tuple(Moving(x, np.where(apart if k == 0 else apart[..., None], *rate)) for k, (x, *rate) in enumerate(zip(here, *rates)))


def whole_size(a: Core, b: Core) -> float:
    return float(a.half.max() + b.half.max() + a.radius + b.radius)


def exact_or_rounded(a: Core, b: Core):
    """Gap, normal and point of the shapes themselves where their cores are apart; else the normal and point of rounded ones, and their gap
    or that of the shapes along this normal, the larger, but no more than that of cores which meet. The gap changes along the normal."""
    exact, other = nearest_of_cores(a, b), nearest_of_cores(a.rounded, b.rounded)
    apart = exact[0] + (a.radius + b.radius) > NEAR * whole_size(a, b)
    inside = np.minimum(exact[0], np.maximum(other[0], separation(a, b, other[1])))
    gap = np.where(apart, exact[0], other[0] + constant(inside - other[0]))
    return gap, *(np.where(apart[..., None], x, y) for x, y in zip(exact[1:], other[1:]))


def separation(a: Core, b: Core, n):
    """How far apart two shapes are along a normal (...): no more than their distance, or minus their depth, which the best normal has."""
    return dot(a.place(a.support(-n)) - b.place(b.support(n)), n)[..., 0] - (a.radius + b.radius)


def total(x):
    """Σ of all entries of matrices (..., 3, 3), as (..., 1)."""
    return (like(np.ones((1, 3)), x) @ x @ like(np.ones((3, 1)), x))[..., 0]


def still(x: Core) -> Core:
    return x._replace(p=x.p.value, R=x.R.value) if isinstance(x.p, Moving) else x


def moved(x: Core, h) -> Core:
    """The shape after a time h (..., 1):  R (I + h Ω + h² Ω²/2)."""
    if not isinstance(x.p, Moving):
        return x
    R, rate, t = x.R.value, x.R.rate, h[..., None]
    return x._replace(p=x.p.value + h * x.p.rate, R=R + t * (rate + t / 2 * (rate @ R.mT @ rate)))


def nearest_of_cores(a: Core, b: Core):
    """Gilbert, Johnson, Keerthi: the point of the difference of the cores nearest to the origin, on a triangle of support points."""

    def point(d):
        """The farthest points along −d of a and along d of b, in their own axes."""
        return a.support(-d), b.support(d)

    def difference(x, y):
        return a.place(x) - b.place(y)

    way = a.p - b.p
    way = np.where(dot(way, way) != 0, way, like([0.0, 0.0, 1.0], way))
    first = point(way)
    start = tuple(np.stack([x] * 3, -2) for x in first)

    def step(x, y, v, found):
        new = point(v)
        xs, ys = ([*(each[..., i, :] for i in range(3)), more] for each, more in ((x, new[0]), (y, new[1])))
        w = [difference(p, q) for p, q in zip(xs, ys)]
        square = dot(v, v)
        done = (square - dot(v, w[3]))[..., 0] <= CLOSE * square[..., 0]
        picked, weights, inside = smallest(w)
        inside = np.where(dot(v, w[3]) > 0, 0.0, inside)  # the plane across v separates the cores
        nearer = sum(weights[i] * w[i] for i in range(4))
        stuck = np.where(inside > 0, 0.0, np.where(dot(nearer, nearer) < square, 0.0, 1.0)) > 0  # rounding: no nearer than before
        weight = np.concatenate([sum(picked[k][i] * weights[i] for i in range(4)) / shared(picked, k) for k in range(3)], -1)
        x, y = (np.where(stuck[..., None], old, pick(each, picked)) for old, each in ((x, xs), (y, ys)))
        found = np.where(stuck, found, np.concatenate([weight, inside], -1))
        ended = np.where(done, 1.0, np.where(stuck[..., 0], 1.0, inside[..., 0])) > 0
        return x, y, np.where(stuck, v, nearer), found, ended

    ones = np.zeros_like(way[..., :1]) + like([1.0, 0.0, 0.0, 0.0], way)
    (x, y, _, found), _ = iterate(step, (*start, difference(*first), ones), ROUNDS)
    weight, inside = found[..., :3, None], found[..., 3:]
    local = [held((weight * z).mT @ like(np.ones(3), way), each) for each, z in ((a, x), (b, y))]
    p, q = (each.place(z) for each, z in zip((a, b), local))
    _, along = length_and_direction(way, way)
    _, n = length_and_direction(p - q, along)
    overlap = inside > 0
    n = np.where(overlap, along, n)
    n = (a.R @ held((a.R.mT @ n[..., None])[..., 0])[..., None])[..., 0]
    radii = a.radius + b.radius
    gap = np.where(overlap[..., 0], 0.0, dot(p - q, n)[..., 0]) - radii
    gap = np.where(gap + radii > NEAR * whole_size(a, b), gap + constant(separation(a, b, n) - gap), gap)
    return gap, n, (p - a.radius * n + q + b.radius * n) / 2


def held(x, shape: Core | None = None):
    """x, to the last bits, as a constant for derivatives of programs, which would go through the rounds of the iteration. Where points are
    nearest, the distance changes as if they and the normal were fixed in the bodies, so that the derivative of the gap is exact."""
    scale = 2.0**50 / (1.0 if shape is None else 2.0 ** np.ceil(np.log2(shape.half.max() or 1.0)))
    return np.floor(x * scale) * (1 / scale)


def pick(points, picked):
    """The three points of four that are kept."""
    return np.stack([sum(picked[k][i] * points[i] for i in range(4)) for k in range(3)], -2)


def shared(picked, k):
    """How often point k is among the three that are kept: an edge has its second end twice."""
    same = [sum(picked[k][i] * picked[j][i] for i in range(4)) for j in range(3)]
    return same[0] + same[1] + same[2]


def smallest(w):
    """Of four points the edge or triangle that is nearest to the origin: which points it has, as weights 1 or 0 of three places; the
    weights of its nearest point; and 1 where the origin is inside the four."""
    best = like(1e300, w[0]) + np.zeros_like(w[0][..., :1])
    zero = np.zeros_like(best)
    picked: list = [[zero] * 4 for _ in range(3)]
    weights: list = [zero] * 4
    for i, j in EDGES:
        edge = w[j] - w[i]
        square = dot(edge, edge)
        some = square > 0
        t = clipped(-dot(w[i], edge) / np.where(some, square, 1.0), 0.0, 1.0)
        x = w[i] + t * edge
        best, picked, weights = better(dot(x, x), (i, j, j), {i: 1.0 - t, j: t}, zero, best, picked, weights)
    for i, j, k in TRIANGLES:
        normal = crossed(w[j] - w[i], w[k] - w[i])
        square, height = dot(normal, normal), dot(normal, w[i])
        longest = np.maximum(dot(w[j] - w[i], w[j] - w[i]), dot(w[k] - w[i], w[k] - w[i]))
        flat = square <= FLAT * longest * dot(w[i], w[i])  # its normal would be rounding
        safe = np.where(flat, 1.0, square)
        bary = {c: dot(normal, crossed(w[d], w[e])) / safe for c, d, e in ((i, j, k), (j, k, i), (k, i, j))}
        counts = np.where(flat, 0.0, np.where(bary[i] >= 0, np.where(bary[j] >= 0, np.where(bary[k] >= 0, 1.0, 0.0), 0.0), 0.0))
        distance = np.where(counts > 0, height * height / safe, 1e300)
        best, picked, weights = better(distance, (i, j, k), bary, zero, best, picked, weights)
    return picked, weights, encloses(w)


def better(distance, points, bary, zero, best, picked, weights):
    nearer = distance < best
    picked = [[np.where(nearer, 1.0 if i == points[k] else 0.0, picked[k][i]) for i in range(4)] for k in range(3)]
    weights = [np.where(nearer, bary.get(i, zero), weights[i]) for i in range(4)]
    return np.where(nearer, distance, best), picked, weights


def encloses(w):
    """1 where the origin is inside of four points: it has the same sign on all faces as the point opposite."""
    inside = np.zeros_like(w[0][..., :1]) + 1.0
    for i, j, k in TRIANGLES:
        (other,) = {0, 1, 2, 3} - {i, j, k}
        normal = crossed(w[j] - w[i], w[k] - w[i])
        a, b = -dot(normal, w[i]), dot(normal, w[other] - w[i])
        inside = np.where(a * b > 0, inside, 0.0)
    return inside


# --- pairs that touch in more than one point


def capsule_cylinder(a: Placed, b: Placed) -> Touch:
    """The nearest points, and the ends of the capsule."""
    tips = [ball_in_cylinder(end, a.size[:, 0], b) for end in ends(a)]
    return together(of_kinds("capsule", "cylinder")(a, b), *tips)


def cylinder_box(a: Placed, b: Placed) -> Touch:
    """The nearest points, three points of each rim against the box, and the corners of the box against the cylinder."""
    nothing = np.zeros(len(a.size))
    rims = [ball_in_box(x, nothing, b) for x in rim_points(a)]
    corners = b.corners(CORNERS)
    heads = [turned_round(ball_in_cylinder(corners[..., i, :], nothing, a)) for i in range(len(CORNERS))]
    return together(of_kinds("cylinder", "box")(a, b), *rims, *heads)


def cylinder_cylinder(a: Placed, b: Placed) -> Touch:
    """The nearest points, and three points of each rim against the other cylinder."""
    nothing = np.zeros(len(a.size))
    first = [ball_in_cylinder(x, nothing, b) for x in rim_points(a)]
    second = [turned_round(ball_in_cylinder(x, nothing, a)) for x in rim_points(b)]
    return together(of_kinds("cylinder", "cylinder")(a, b), *first, *second)


def rim_points(cylinder: Placed):
    """Three points of each rim, fixed in the cylinder."""
    r, half = like(cylinder.size[:, :1], cylinder.p), like(cylinder.size[:, 1:] / 2, cylinder.p)
    x, y, z = (cylinder.R[..., :, i] for i in range(3))
    return [cylinder.p + sign * half * z + r * (c * x + s * y) for sign in (1.0, -1.0) for c, s in THIRDS]
