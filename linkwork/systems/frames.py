"""Frames of nodes that make kernels short, in the manner of Denavit and Hartenberg.

A joint about or along z does not notice that its frame is turned about z or slid along z, before and behind it alike. So
where a joint stands askew on its parent, R = Rz(θ₁) Rx(α) Rz(θ₂), the parent's frame takes over Rz(θ₁) and the joint's own
Rz(θ₂), and its origin moves to the common normal of the axes: of a full rotation there remains Rx(α), of a translation
(a, 0, d). Where it stands straight, it is slid if that leaves fewer lengths.

Frames may be turned and slid only as far as rounding allows: axes count as parallel where a float cannot tell, an origin does not
move to a common normal that is far away, and a joint that moves along its axis is not slid at all, since of a length d and a motion q
the sum d + q must be formed before it is squared.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import atan2, hypot, pi

import numpy as np

from ..lie import Group
from ..spatial import Pose
from ..spatial.pose import about

X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
ROUNDING = 4 * float(np.finfo(float).eps)  # of an angle, or of a part of a length: what a few operations leave of zero
FAR = 2.0  # an origin is not moved along its axis farther than this many times the translation


@dataclass(frozen=True)
class Way:
    """How a joint stands on its parent: Rz(first) Rx(tilt) Rz(last), and (a, d₁, d₂): apart along the common normal of the
    axes, and to it along either, unless they are parallel or nearly so."""

    first: float
    tilt: float
    last: float
    normal: tuple[float, float, float] | None = None

    @staticmethod
    def of(pose: Pose) -> "Way":
        x, y, z, w = pose.quaternion
        tilt, half_sum, half_difference = 2 * atan2(hypot(x, y), hypot(z, w)), atan2(z, w), atan2(y, x)
        if tilt <= ROUNDING:
            return Way(0.0, 0.0, 2 * half_sum)
        if 2 * atan2(hypot(z, w), hypot(x, y)) <= ROUNDING:
            return Way(0.0, pi, -2 * half_difference)
        first, last = half_sum + half_difference, half_sum - half_difference
        return Way(first, tilt, last, common_normal(turn(Z, -first).rotation @ pose.translation, turn(X, tilt).rotation[:, 2]))


def common_normal(p: np.ndarray, axis: np.ndarray) -> tuple[float, float, float] | None:
    """(a, d₁, d₂) with p = (a, 0, d₁) + d₂ axis, for an axis (0, −sin α, cos α); None where the normal is far away.

    Computed with the rounded axis itself, so that the sum is p to rounding however small sin α is.
    """
    length = float(np.linalg.norm(p))
    if abs(p[1]) > FAR * length * abs(axis[1]):
        return None
    d2 = float(p[1] / axis[1])
    a, d1, d2 = (0.0 if abs(x) <= ROUNDING * length else float(x) for x in (p[0], p[2] - d2 * axis[2], d2))
    return a, d1, d2


@dataclass(frozen=True)
class FrameStep:
    """From one frame to the next joint: a translation, then turns, then one about the joint's own axis, with the translation
    instead if the joint itself translates."""

    translation: tuple[float, float, float]
    turns: tuple[Pose, ...]
    offset: Pose


def axial(group: Group) -> bool:
    """Is this motion about and along z alone?"""
    return bool(group.basis.any()) and not np.delete(group.basis, (2, 5), axis=1).any()


def translates(group: Group) -> bool:
    """Does this motion translate?"""
    return bool(group.basis[:, 3:].any())


def straight(pose: Pose) -> bool:
    """Do the axes of a frame lie along those it stands on?"""
    return set(map(abs, pose.quaternion)) <= {0.0, 1.0}


@lru_cache(maxsize=1024)  # a long mechanism repeats the turns of its parts
def turn(axis, angle: float) -> Pose:
    """By an angle about an axis, exact for quarters missed by rounding."""
    quarters = round(angle / (pi / 2)) * (pi / 2)
    return Pose(about(axis, quarters if abs(angle - quarters) < ROUNDING else angle, snap=False))


def unchanged(parent, groups, fixed) -> tuple[list[FrameStep], list[Pose]]:
    """As `chosen`, every frame as it is."""
    return [_step(group, pose, None, 0.0, 0.0, 0.0, 0.0) for group, pose in zip(groups, fixed)], [Pose() for _ in fixed]


def chosen(parent, groups, fixed) -> tuple[list[FrameStep], list[Pose]]:
    """(the way to each joint, its new frame on its old one) for joints that stand at `fixed` on their parents."""
    askew = {k: Way.of(pose) for k, pose in enumerate(fixed) if axial(groups[k]) and not straight(pose)}
    children: dict[int, list[int]] = {k: [] for k in range(-1, len(groups))}
    for k, p in enumerate(parent):
        children[p].append(k)
    angle, slide, steps = {-1: 0.0}, {-1: 0.0}, []
    for k, p in enumerate(parent):
        angle[k] = slide[k] = 0.0
        if axial(groups[k]):
            ahead = [(askew.get(j), fixed[j]) for j in children[k]]
            angle[k] = _angle(groups[k].basis[:, 2].any(), askew.get(k), ahead)
            slide[k] = 0.0 if translates(groups[k]) else _slide(askew.get(k), fixed[k], slide[p], ahead)
        steps.append(_step(groups[k], fixed[k], askew.get(k), angle[p], slide[p], angle[k], slide[k]))
    return steps, [Pose(turn(Z, angle[k]).quaternion, (0.0, 0.0, slide[k])) for k in range(len(groups))]


def _angle(turning: bool, way: Way | None, ahead) -> float:
    """The turn of a frame that leaves the fewest turns on the ways to its children, and in its own unless the joint turns
    about z anyway."""
    if not way and not any(child for child, _ in ahead):
        return 0.0
    firsts = [child.first if child else 0.0 for child, _ in ahead]
    last = way.last if way else 0.0

    def turns(angle):
        left = [*(first - angle for first in firsts), *([] if turning else [last + angle])]
        return sum(not straight(turn(Z, x)) for x in left)

    return min([0.0, -last, *firsts], key=turns)


def _slide(way: Way | None, fixed: Pose, before: float, ahead) -> float:
    """The way of a frame along its axis: to the common normal, or to lose a length if no child gets one for it."""
    if way:
        return -way.normal[2] if way.normal else 0.0
    lengths = [child.normal[1] if child and child.normal else pose.translation[2] for child, pose in ahead]
    return -float(fixed.rotation[:, 2] @ (fixed.translation - before * np.array(Z))) if all(lengths) else 0.0


def _step(group: Group, fixed: Pose, way: Way | None, angle: float, slide: float, own_angle: float, own_slide: float) -> FrameStep:
    """From a parent's frame that is turned by `angle` and slid, to a joint's own."""
    if way is None:
        turns, offset = [turn(Z, -angle), Pose(fixed.quaternion)], turn(Z, own_angle)
    else:
        turns, offset = [turn(Z, way.first - angle), turn(X, way.tilt)], turn(Z, way.last + own_angle)
    if way and way.normal and not translates(group):
        a, d1, _ = way.normal
        translation = turns[0].rotation @ (a, 0.0, d1 - slide)
    else:
        translation = turn(Z, -angle).rotation @ (fixed.translation - slide * np.array(Z) + own_slide * fixed.rotation[:, 2])
    if all(map(straight, turns)):
        turns = [turns[0] @ turns[1]]
    if translates(group):
        for x in turns:
            translation = x.rotation.T @ translation
        offset, translation = Pose(offset.quaternion, _floats(translation)), np.zeros(3)
    return FrameStep(_floats(translation), tuple(x for x in turns if x != Pose()), offset)


def _floats(x) -> tuple[float, float, float]:
    return tuple(float(e) + 0.0 for e in x)  # type: ignore[return-value]
