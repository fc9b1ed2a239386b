"""The broad phase: how far pairs are apart at least, by spheres around their shapes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...lie.scalars import dot, like
from .pairs import Pairs, Side
from .points import placed
from .touch import length_and_direction


def radius_of(kind: str, size: Sequence[float]) -> float:
    """The radius of the sphere about a shape's origin that holds it."""
    if kind in ("sphere", "capsule"):
        return size[0] + (size[1] / 2 if kind == "capsule" else 0.0)
    if kind == "cylinder":
        return float(np.hypot(size[0], size[1] / 2))
    return float(np.linalg.norm(size) / 2) if kind == "box" else float(max(size))


def bounds(pairs: Pairs, poses):
    """Of each pair (..., pairs) a gap that no point of it is below."""
    found: list[Any] = []
    order: list[int] = []
    for group in pairs.groups:
        a, b = placed(group.first, poses), placed(group.second, poses)
        radius = radii(group.kinds[0], group.first)
        if group.kinds[1] == "plane":
            found.append(dot(a.p - b.p, b.axis)[..., 0] - like(radius, a.p))
        else:
            apart, _ = length_and_direction(a.p - b.p, a.p)
            found.append(apart - like(radius + radii(group.kinds[1], group.second), a.p))
        order += group.numbers
    together: Any = np.concatenate(found, -1)
    return together[..., np.argsort(order)]


def radii(kind: str, sides: Sequence[Side]) -> np.ndarray:
    return np.array([radius_of(kind, side.size) for side in sides])
