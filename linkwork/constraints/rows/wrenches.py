"""Pairs of wrenches: what a constraint exerts on two bodies, equal and opposite."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...spatial import Pose, phi, pose_inverse
from .kinematics import Kinematics

BodyWrench = tuple[int | None, Any]  # number of a body (None: the world) and a wrench (..., 6) in its axes at its origin


def through_joint(motion: Kinematics, parent: int | None, child: int, at: Pose, on: Pose, f) -> list[BodyWrench]:
    """The wrench f (..., 6) on the child, given in the frame `on` there, and its opposite on the parent, which has the frame `at`."""
    P, C = motion.place(parent, at), motion.place(child, on)
    there = phi(pose_inverse(P.T) @ C.T) @ f[..., None]
    return [(child, np.matvec(phi(on.matrix), f)), (parent, -(phi(at.matrix) @ there)[..., 0])]


def at_point(motion: Kinematics, point, f, body: int | None, other: int | None) -> list[BodyWrench]:
    """A force f (..., 3) at a point (..., 3), both in world axes, on one body, and its opposite on the other."""
    return [(k, sign * _moved(motion, k, point, f)) for k, sign in ((body, 1.0), (other, -1.0))]


def _moved(motion: Kinematics, body: int | None, point, f):
    T = motion.place(body, Pose()).T
    R, r = T[..., :3, :3], T[..., :3, 3]
    return np.concatenate([np.matvec(R.mT, np.cross(point - r, f)), np.matvec(R.mT, f + np.zeros_like(point))], -1)


@dataclass(frozen=True, eq=False)
class JointAxis:
    """A joint with one velocity, and the wrench that a unit of force along that velocity is: a moment about its axis, or a
    force along it."""

    parent: int | None
    child: int
    at: Pose
    on: Pose
    wrench: tuple[float, ...]  # on the child, in the frame `on`

    @staticmethod
    def of(robot, joint: str) -> "JointAxis | None":
        """None for a part of a compound joint: it moves no body of its own."""
        model = robot.model
        if not model.has_joint(joint) or len(model.joint(joint).joint.parts) > 1:
            return None
        placed = model.joint(joint)
        row = placed.joint.group.basis[0]
        own = row * (np.arange(6) < 3) if row[:3].any() else row
        parent = None if placed.parent is None else model.body_index(placed.parent)
        at, on = (x @ placed.joint.frame for x in (placed.at, placed.on))
        return JointAxis(parent, model.body_index(placed.child), at, on, tuple(map(float, own / (own @ own))))

    def wrenches(self, motion: Kinematics, force) -> list[BodyWrench]:
        """Of a force (...) along the joint's velocity."""
        return through_joint(motion, self.parent, self.child, self.at, self.on, force[..., None] * np.array(self.wrench))


def along_joints(motion: Kinematics, axes, forces) -> list[BodyWrench] | None:
    """Of forces along the velocities of several joints; None if one of them moves no body of its own."""
    if any(axis is None for axis in axes):
        return None
    return [x for axis, force in zip(axes, forces) for x in axis.wrenches(motion, force)]


def direction(x) -> str:
    """A direction in words: x, y, z, or its three numbers."""
    x = np.asarray(x, float) / np.linalg.norm(x)
    main = int(np.argmax(np.abs(x)))
    if abs(x[main]) > 1 - 1e-9:
        return "xyz"[main]
    return f"({', '.join(f'{e + 0.0:.3g}' for e in np.where(np.abs(x) < 1e-12, 0.0, x))})"
