"""Cut joints that are several in a row (universal joints, say), which are no group.

The joint's own coordinates s are found from the pose: K(s) is nearest to X. With J the Jacobian of K there and N a
basis of what it cannot do, N J = 0, the rows are those of a simple joint less what the joint's own bend asks for:

    c = N log(K⁻¹ X),   Jc = N J(relative),   γ = N (α(relative) − J̇ ṡ),   ṡ = J⁺ V(relative)
    N = E (I − J J⁺)                       E unit twists of the frame behind one of the parts: of two parts N is constant there
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from ...engine.tracing.array import Traced
from ...lie.iteration import iterate
from ...lie.scalars import like
from ...model import Loop, Model
from ...model.parts import Body, PlacedJoint
from ...quantities import integrate
from ...spatial import Pose, phi, pose_inverse, solve
from ...spatial.ldl import factor
from ...systems import lower
from .kinematics import Kinematics
from .loop_rows import LoopRows, log
from .rows import Rows

RANK = 1e-9
DAMPING = 1e-10  # of J*J: keeps J⁺ finite where the joint is singular; one step of refinement takes its effect away
GOOD = 0.1  # least singular value of N at which a choice of E serves
SAMPLES = 64  # configurations at which choices of E are judged
STARTS = 7  # that s is looked for from, one after the other
STEPS = 30  # of Gauss and Newton from each
SETTLED = 1e-12
CLOSED = 1e-2  # of a radian or of the mechanism's size: a solution as near as that is the one


@dataclass(frozen=True, eq=False)
class CompoundLoopRows(LoopRows):
    size: float = 1.0

    @staticmethod
    def of(loop: Loop, model: Model) -> "CompoundLoopRows":
        simple = LoopRows.of(loop, model)
        return CompoundLoopRows(loop.name, loop, simple.parent, simple.child, simple.number, model.size)

    @property
    def portable(self) -> None:
        """It has coordinates of its own, which are found by iteration."""
        return None

    # --- the joint by itself

    @cached_property
    def _nodes(self):
        """The joint with a massless body on it."""
        return lower(Model(self.name, (Body("end"),), (PlacedJoint("joint", None, "end", self.joint),)))

    @cached_property
    def _samples(self) -> np.ndarray:
        """Values of s, the identity first."""
        start = np.concatenate([part.group.identity for _, part, _ in self.joint.parts])
        away = np.random.default_rng(1).uniform(-2, 2, (SAMPLES, self._nodes.tree.nv))
        away[0] = 0.0
        return integrate(self._nodes, start, away * self._reach)

    @cached_property
    def _reach(self) -> np.ndarray:
        """What its velocities are measured against."""
        turns = np.concatenate([group.basis[:, :3].any(-1) for group in self._nodes.groups])
        return np.where(turns, 1.0, self.size)

    @cached_property
    def _units(self) -> np.ndarray:
        """What twists are measured against."""
        return np.array([1.0] * 3 + [self.size] * 3)

    @cached_property
    def _rank(self) -> int:
        """How many ways the joint can move, where it is not singular."""
        return int(np.linalg.matrix_rank(self._scaled(self._nodes, self._samples, 0), RANK).max())

    def _jacobian(self, nodes, s, part: int):
        """The Jacobian (..., 6, n) of the joint in the frame behind one of its parts, and the map of twists to there from its end."""
        motion = Kinematics(nodes, s)
        end = motion.place(0, Pose())
        back = phi(pose_inverse(end.T) @ motion.pose(part)).mT
        return back @ end.J, back

    def _scaled(self, nodes, s, part: int):
        J = self._jacobian(nodes, s, part)[0]
        return J * like(self._reach, s) / like(self._units[:, None], s)

    @cached_property
    def _written(self) -> tuple[int, tuple[tuple[int, ...], ...]]:
        """The part behind whose frame rows are written, and the unit twists there that N is made from: as few choices of
        them as serve at all configurations between them."""
        rows = list(combinations(range(6), 6 - self._rank))
        best: tuple[float, ...] | None = None
        for part in range(len(self.joint.parts)):
            J = self._scaled(self._nodes, self._samples, part)
            free = np.linalg.svd(J)[0][..., self._rank :]
            quality = np.stack([np.linalg.svd(free[..., list(x), :])[1][..., -1] for x in rows]).round(6)
            taken: list[int] = []
            open_ = quality.max(0) > GOOD
            while open_.any():
                taken.append(int(np.argmax(((quality > GOOD) & open_).sum(-1) + 1e-3 * quality.min(-1))))
                open_ &= quality[taken[-1]] <= GOOD
            score = -len(taken), float(quality[taken].max(0).min())
            if best is None or score > best:
                best, found = score, (part, tuple(rows[i] for i in taken))
        return found

    @cached_property
    def _constant(self) -> np.ndarray | None:
        """N where it is the same at all configurations."""
        part, choices = self._written
        J = self._scaled(self._nodes, self._samples, part)
        N = self._projected(J, choices)
        if len(choices) > 1 or np.abs(N - N[0]).max(initial=0.0) > 1e-12:
            return None
        return np.where(np.abs(N[0]) > 1e-12, N[0], 0.0)

    @cached_property
    def labels(self):
        return tuple(f"what a {self.joint.kind} joint forbids, {i + 1}" for i in range(6 - self._rank))

    @property
    def lengths(self):
        return np.array([i >= 3 for i in self._written[1][0]], bool)

    @property
    def frame(self):
        return Pose()

    # --- over any scalar

    def _on(self, X):
        """The joint's nodes with scalars like those of X."""
        return self._nodes.over(X) if isinstance(X, Traced) else self._nodes

    def _projected(self, J, choices):
        """N (..., m, 6) of a Jacobian, both without units."""
        left = like(np.eye(6), J) - J @ pseudo_inverse(J)
        N = left[..., list(choices[0]), :]
        best: Any = determinant(left, choices[0]) if len(choices) > 1 else None
        for rows in choices[1:]:
            other = determinant(left, rows)
            N = np.where((other > best)[..., None, None], left[..., list(rows), :], N)
            best = np.maximum(best, other)
        return N

    def selector(self, nodes, s):
        """N (..., m, 6) at s: what the joint cannot do, of twists of its end; rows of lengths in metres."""
        part, choices = self._written
        J, back = self._jacobian(nodes, s, part)
        if self._constant is None:
            N = self._projected(J * like(self._reach, s) / like(self._units[:, None], s), choices)
        else:
            N = like(self._constant, s)
        return (N * like(np.where(self.lengths, self.size, 1.0)[:, None] / self._units, s)) @ back

    def own(self, nodes, X):
        """s with K(s) nearest to X, by Gauss and Newton from one start after the other until one closes."""
        starts, units, reach = (like(x, X) for x in (self._samples[:STARTS], self._units, self._reach))
        zero = np.zeros_like(X[..., 0, 0])
        first = np.zeros_like(X, shape=(*X.shape[:-2], starts.shape[-1])) + starts[0]

        def step(s, best, least, number, rounds):
            end = Kinematics(nodes, s).place(0, Pose())
            left = log(pose_inverse(end.T) @ X) / units
            ds = (pseudo_inverse(end.J * reach / units[:, None]) @ left[..., None])[..., 0]
            longest, size = np.abs(ds).max(-1), (left * left).sum(-1)
            new = integrate(nodes, s, ds * reach * (1.0 / np.maximum(longest, 1.0))[..., None])
            settled = (longest < SETTLED) | (rounds >= STEPS)
            better = settled & (size < least)
            best, least = np.where(better[..., None], new, best), np.where(better, size, least)
            number = np.where(settled, number + 1.0, number)
            following = first
            for i in range(1, STARTS):
                following = np.where((number == float(i))[..., None], starts[i], following)
            s, rounds = np.where(settled[..., None], following, new), np.where(settled, 0.0, rounds + 1.0)
            return s, best, least, number, rounds, (settled & (least < CLOSED**2)) | (number >= float(STARTS))

        return iterate(step, (first, first, zero + np.inf, zero, zero), STARTS * (STEPS + 2))[0][1]

    def misfit(self, X):
        nodes = self._on(X)
        return log(pose_inverse(Kinematics(nodes, self.own(nodes, X)).place(0, Pose()).T) @ X)

    def rows(self, motion: Kinematics) -> Rows:
        X, J, V, alpha = self.relative(motion)
        nodes = self._on(X)
        s = self.own(nodes, X)
        end, N = Kinematics(nodes, s).place(0, Pose()), self.selector(nodes, s)
        c, U = np.matvec(N, log(pose_inverse(end.T) @ X)), np.zeros(len(self))
        if V is None:
            return Rows(c, N @ J, U, None)
        reach, units = like(self._reach, X), like(self._units[:, None], X)
        rate = reach * (pseudo_inverse(end.J * reach / units) @ (V / units))[..., 0]
        bend = Kinematics(nodes, s, rate).place(0, Pose()).alpha
        return Rows(c, N @ J, U, (N @ (alpha - bend))[..., 0])


def pseudo_inverse(J):
    """J⁺ (..., n, 6), finite where columns depend on each other."""
    square = J.mT @ J
    n = J.shape[-1]
    damped = square + DAMPING * like(np.eye(n), J) * square
    X = solve(damped + like(1e-300 * np.eye(n), J), J.mT)
    return X + X @ (like(np.eye(6), J) - J @ X)


def determinant(left, rows):
    """det N N* of some rows N of a projector."""
    out = np.zeros_like(left[..., 0, 0]) + 1.0
    for pivot in factor(left[..., list(rows), :][..., list(rows)])[1]:
        out = out * np.maximum(pivot[..., 0], 0.0)
    return out
