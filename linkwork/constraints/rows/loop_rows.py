"""Cut joints: a loop is closed by a joint of any type, which leaves of the relative motion only what it allows.

With X the pose of the child's joint frame in the parent's, both with z along the axis, and g the nearest motion that
the joint can make,

    c = N log(g⁻¹ X)                       what is left of X, outside the joint's algebra: N basis* = 0
    Jc = N (J(child) − φ*(X) J(parent))      the relative twist, seen in the child's frame      Jain (11.16) to (11.19)
    γ = N (α(child) − φ*(X) α(parent) + V~ φ*(X) V(parent))                                V the relative twist

N is the selector of Müller and Terze, Tables 1 and 2. Because c is measured from g, an axis that is flipped over by a
half turn (their Remark 4) is no solution: it has c of length π.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...joints import Joint
from ...lie import SE3, SO3, Group
from ...lie.attitude import quaternion_from_matrix
from ...lie.scalars import like
from ...model import Loop, Model
from ...spatial import Pose, homogeneous, phi, pose_inverse, tilde
from .kinematics import Kinematics
from .rows import Constraint, Portable, Rows
from .wrenches import direction

FLIPPED = np.pi / 2


def complement(basis):
    """Rows N (6 − nv, 6) with N basis* = 0: unit twists where the basis is of unit twists, for a screw v_z − pitch ω_z."""
    basis = np.asarray(basis, float)
    used = [int(np.argmax(row != 0)) for row in basis]
    N = np.eye(6)[[i for i in range(6) if i not in used]]
    for row, i in zip(basis, used):
        N[:, i] -= N @ (row * (np.arange(6) != i)) / row[i]
    return N


def nearest(group: Group, X):
    """The motion of a group of rigid motions about and along z that is nearest to a pose."""
    turns, R, p = group.basis[:, :3], X[..., :3, :3], X[..., :3, 3]
    along = group.basis[~turns.any(1), 3:]  # what it may do without turning
    there = p @ (along.T @ along)
    if len(turns) and np.linalg.matrix_rank(turns) == 3:
        return homogeneous(R, there)
    if not turns.any():
        return homogeneous(np.broadcast_to(np.eye(3), R.shape), there)
    angle = np.arctan2(R[..., 1, 0] - R[..., 0, 1], R[..., 0, 0] + R[..., 1, 1])
    pitch = float(group.basis[turns.any(1), 5][0])
    if pitch:
        angle = angle + 2 * np.pi * np.floor((p[..., 2] / pitch - angle) / (2 * np.pi) + 0.5)
        there = there + np.stack([0 * angle, 0 * angle, pitch * angle], -1)
    zero = np.zeros_like(angle)
    turned = SO3.matrix(np.stack([zero, zero, np.sin(angle / 2), np.cos(angle / 2)], -1))[..., :3, :3]
    return homogeneous(turned, there)


def log(T):
    """The twist of a pose, of smallest angle."""
    return SE3.log(np.concatenate([quaternion_from_matrix(T[..., :3, :3]), T[..., :3, 3]], -1))


@dataclass(frozen=True, eq=False)
class LoopRows(Constraint):
    """A loop of a model whose joint is one group of motions."""

    name: str
    loop: Loop
    parent: int | None
    child: int
    number: int = 0  # among the loops of the model
    traceable = True

    @staticmethod
    def of(loop: Loop, model: Model) -> "LoopRows":
        parent = None if loop.parent is None else model.body_index(loop.parent)
        return LoopRows(loop.name, loop, parent, model.body_index(loop.child), model.loops.index(loop))

    @property
    def portable(self) -> Portable | None:
        ends = (self.parent, self.loop.at @ self.frame), (self.child, self.loop.on @ self.frame)
        return Portable(("loop", self.joint.group), self._placed, ends)

    def _placed(self, number, frames, coordinates):
        return replace(self, parent=frames[0], child=frames[1], number=number)

    @property
    def joint(self) -> Joint:
        return self.loop.joint

    @cached_property
    def N(self):
        return complement(self.joint.group.basis)

    @cached_property
    def labels(self):
        """In the axes of the joint itself, as the user gave them, not in those whose z is along its axis."""
        return tuple(self._label(int(np.argmax(np.abs(row)))) for row in self.N)

    def _label(self, i: int) -> str:
        what, way = ("turn about", "shift along")[i // 3], direction(self.frame.rotation[:, i % 3])
        return f"{what} {way} of {self.name} on {self.loop.child}"

    @property
    def lengths(self):
        return np.array([label.startswith("shift") for label in self.labels], bool)

    @property
    def bodies(self):
        return self.child, self.parent

    @property
    def frame(self) -> Pose:
        """The frame that rows are written in, on the loop's own: its z is the axis."""
        return self.joint.frame

    def ends(self, motion: Kinematics, axes=None):
        """The joint's frame on the parent and on the child, with rates in `axes` if these are given."""
        on_parent = motion.place(self.parent, self.loop.at @ self.frame, self._shift(motion, "loop_at", self.loop.at), axes)
        return on_parent, motion.place(self.child, self.loop.on @ self.frame, self._shift(motion, "loop_on", self.loop.on), axes)

    def _shift(self, motion: Kinematics, name: str, own: Pose):
        """How far an end is from where the model has it, if that varies."""
        value = motion.varied(name, self.number)
        return None if value is None else value - like(own.translation, motion.q)

    def relative(self, motion: Kinematics):
        """X, J, V and the bias acceleration of the child's frame in the parent's."""
        P, C = self.ends(motion)
        return self._between(motion, pose_inverse(P.T) @ C.T, P, C)

    def _between(self, motion: Kinematics, X, P, C):
        """The same of two frames, X the pose of the axes of one in those of the other."""
        back = phi(X).mT
        J = C.J - back @ P.J
        if motion.v is None:
            return X, J, None, None
        V = C.V - back @ P.V
        return X, J, V, C.alpha - back @ P.alpha + tilde(V[..., 0]) @ (back @ P.V)

    def misfit(self, X):
        """log(g⁻¹ X) (..., 6)."""
        return log(pose_inverse(nearest(self.joint.group, X)) @ X)

    def rows(self, motion: Kinematics) -> Rows:
        X, J, V, alpha = self.relative(motion)
        N = like(self.N, motion.q)
        U = np.zeros(len(self.N))
        return Rows(self.misfit(X) @ self.N.T, N @ J, U, None if V is None else (N @ alpha)[..., 0])

    @cached_property
    def _turns_all_ways(self) -> bool:
        return len(self.joint.parts) == 1 and len(self.N) == 3 and not self.N[:, :3].any()

    def combined_rows(self, motion: Kinematics) -> Rows:
        """Of a ball joint in axes that are cheaper than the child's, which is at the end of a way of joints: rows turned as a whole."""
        if not self._turns_all_ways:
            return self.rows(motion)
        axes = motion.first_axes(self.child)
        P, C = self.ends(motion, axes)
        way = axes.mT @ (C.T[..., :3, 3:] - P.T[..., :3, 3:])
        X = homogeneous(np.broadcast_to(like(np.eye(3), motion.q), (*way.shape[:-2], 3, 3)), way[..., 0])
        _, J, _, alpha = self._between(motion, X, P, C)
        return Rows(way[..., 0], J[..., 3:, :], np.zeros(3), None if alpha is None else alpha[..., 3:, 0])

    def closure(self, motion: Kinematics):
        """From entries of X = [R, p]: the way p, and of R what is first order in a turn. A screw's way is measured from its turn."""
        if len(self.joint.parts) > 1:
            return super().closure(motion)
        X = self.relative(motion)[0]
        R, p, turns = X[..., :3, :3], X[..., :3, 3], self.joint.group.basis[:, :3].any(1)
        tilts = [-R[..., 1, 2], R[..., 0, 2]] if turns.any() else [(R[..., 2, 1] - R[..., 1, 2]) / 2, (R[..., 0, 2] - R[..., 2, 0]) / 2]
        about = np.arctan2(R[..., 1, 0] - R[..., 0, 1], R[..., 0, 0] + R[..., 1, 1]) if self.N[:, 2].any() and turns.any() else None
        third = (R[..., 1, 0] - R[..., 0, 1]) / 2 if about is None else about
        entries = [*tilts, third, p[..., 0], p[..., 1], p[..., 2]]
        rows = [sum(float(x) * entries[i] for i, x in enumerate(row) if x) for row in self.N]
        return np.stack(rows, -1)

    def complaint(self, motion: Kinematics) -> str:
        turn = np.linalg.norm(self.misfit(self.relative(motion)[0])[..., :3], axis=-1)
        return " Its axis is flipped over: assemble from another guess." if np.max(turn) > FLIPPED else ""
