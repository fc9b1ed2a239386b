"""Cut joints that are several in a row (universal joints, say), which are no group.

The joint's own coordinates s are found from the pose: K(s) is nearest to X. With J the Jacobian of K there and N a
basis of what it cannot do, N J = 0, the rows are those of a simple joint less what the joint's own bend asks for:

    c = N log(K⁻¹ X),   Jc = N J(relative),   γ = N (α(relative) − J̇ ṡ),   J ṡ = V(relative)
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..model import Loop, Model
from ..model.parts import Body, PlacedJoint
from ..quantities import integrate
from ..spatial import Pose
from ..systems import lower
from .kinematics import Kinematics, inverse
from .loop_rows import LoopRows, log
from .rows import Rows

RANK = 1e-9
STEPS = 50


@dataclass(frozen=True, eq=False)
class CompoundLoopRows(LoopRows):
    traceable = False

    @staticmethod
    def of(loop: Loop, model: Model) -> "CompoundLoopRows":
        simple = LoopRows.of(loop, model)
        return CompoundLoopRows(loop.name, loop, simple.parent, simple.child)

    @cached_property
    def _nodes(self):
        """The joint by itself: a massless body on it."""
        return lower(Model(self.name, (Body("end"),), (PlacedJoint("joint", None, "end", self.joint),)))

    @cached_property
    def _start(self):
        return np.concatenate([part.group.identity for _, part, _ in self.joint.parts])

    @cached_property
    def _rank(self) -> int:
        """What the joint can do, where it is not singular."""
        rng = np.random.default_rng(0)
        s = integrate(self._nodes, self._start, rng.uniform(-1, 1, (8, self._nodes.tree.nv)))
        return int(np.linalg.matrix_rank(Kinematics(self._nodes, s).place(0, Pose()).J, RANK).max())

    @cached_property
    def labels(self):
        return tuple(f"what a {self.joint.kind} joint forbids, {i + 1}" for i in range(6 - self._rank))

    @property
    def frame(self):
        return Pose()

    def force(self, motion: Kinematics, lam):
        X = self.relative(Kinematics(motion.nodes, motion.q))[0]
        batch = np.broadcast_shapes(X.shape[:-2], lam.shape[:-1])
        X, lam = np.broadcast_to(X, (*batch, 4, 4)), np.broadcast_to(lam, batch + lam.shape[-1:])
        out = np.zeros((*batch, 6))
        for i in np.ndindex(*batch):
            out[i] = lam[i] @ self.selector(self.own(X[i]))
        return out

    def selector(self, s):
        """N at s: what the joint cannot do."""
        return np.linalg.svd(Kinematics(self._nodes, s).place(0, Pose()).J)[0][:, self._rank :].T

    def own(self, X):
        """s with K(s) nearest to X, by Gauss and Newton from several starts."""
        rng = np.random.default_rng(1)
        starts = [self._start] + [integrate(self._nodes, self._start, d) for d in rng.uniform(-2, 2, (6, self._nodes.tree.nv))]
        tries = [self._own(X, s) for s in starts]
        return min(tries, key=lambda x: x[0])[1]

    def _own(self, X, s):
        for _ in range(STEPS):
            at = Kinematics(self._nodes, s).place(0, Pose())
            left = log(inverse(at.T) @ X)
            ds = np.linalg.lstsq(at.J, left, rcond=RANK)[0]
            s = integrate(self._nodes, s, ds * min(1.0, 1.0 / max(np.abs(ds).max(), 1e-300)))
            if np.abs(ds).max(initial=0.0) < 1e-14:
                break
        return float(np.linalg.norm(log(inverse(Kinematics(self._nodes, s).place(0, Pose()).T) @ X))), s

    def misfit(self, X):
        flat = X.reshape(-1, 4, 4)
        out = [log(inverse(Kinematics(self._nodes, self.own(x)).place(0, Pose()).T) @ x) for x in flat]
        return np.array(out).reshape(*X.shape[:-2], 6)

    def rows(self, motion: Kinematics) -> Rows:
        X, J, V, alpha = self.relative(motion)
        batch = np.broadcast_shapes(motion.batch, X.shape[:-2], J.shape[:-2])
        m, nv = len(self), J.shape[-1]
        c, Jc, gamma = np.zeros((*batch, m)), np.zeros((*batch, m, nv)), np.zeros((*batch, m))
        for i in np.ndindex(*batch):
            one = [None if x is None else np.broadcast_to(x, batch + x.shape[-2:])[i] for x in (X, J, V, alpha)]
            c[i], Jc[i], gamma[i] = self._rows(*one)
        return Rows(c, Jc, np.zeros(m), None if V is None else gamma)

    def _rows(self, X, J, V, alpha):
        s = self.own(X)
        at = Kinematics(self._nodes, s).place(0, Pose())
        N = self.selector(s)
        c = N @ log(inverse(at.T) @ X)
        if V is None:
            return c, N @ J, 0.0
        rate = np.linalg.lstsq(at.J, V[:, 0], rcond=RANK)[0]
        bend = Kinematics(self._nodes, s, rate).place(0, Pose()).alpha
        return c, N @ J, (N @ (alpha - bend))[:, 0]
