"""Pairs of wrenches: what a constraint exerts on two bodies, equal and opposite."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...spatial import Pose, phi, phi_inverse, pose_inverse
from .kinematics import Kinematics, NodeKinematics

BodyWrench = tuple[int | None, Any]  # number of a body (None: the world) and a wrench (..., 6) in its axes at its origin


def on_bodies(rows: Callable, motion: Kinematics, bodies, lam) -> list[BodyWrench]:
    """The wrenches of λ on the bodies that `rows`, a function of the motion, hold on to: f(k) = Q(k)* λ on each node, Q the rows over the
    velocities of nodes; what is fixed to the world has the opposite of all others."""
    nodes, world = motion.nodes, motion.nodes.tree.world
    on = {i: world if i is None else nodes.on[i] for i in bodies}
    moving = tuple(sorted(set(on.values()) - {world}))
    Q = rows(NodeKinematics(nodes, motion.q, None, motion.t, motion.drive, touched=moving)).Jc
    f = {k: Q[..., 6 * n : 6 * n + 6].mT @ lam[..., None] for n, k in enumerate(moving)}
    f[world] = -sum((phi(motion.pose(k)) @ x for k, x in f.items()), np.zeros((*lam.shape[:-1], 6, 1)))
    return [(i, (f[k] if i is None else phi_inverse(nodes.places[i]) @ f[k])[..., 0]) for i, k in on.items()]


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
        """Returns those of a force (...) along the joint's velocity: on the child, and the opposite on the parent."""
        P, C, f = motion.place(self.parent, self.at), motion.place(self.child, self.on), force[..., None] * np.array(self.wrench)
        there = phi(pose_inverse(P.T) @ C.T) @ f[..., None]
        return [(self.child, np.matvec(phi(self.on.matrix), f)), (self.parent, -(phi(self.at.matrix) @ there)[..., 0])]


def direction(x) -> str:
    """A direction in words: x, y, z, or its three numbers."""
    x = np.asarray(x, float) / np.linalg.norm(x)
    main = int(np.argmax(np.abs(x)))
    if abs(x[main]) > 1 - 1e-9:
        return "xyz"[main]
    return f"({', '.join(f'{e + 0.0:.3g}' for e in np.where(np.abs(x) < 1e-12, 0.0, x))})"
