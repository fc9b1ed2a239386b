"""Constraints that move in time: a joint that is driven, and functions c(q, t) given by the user."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..lie.scalars import like
from ..model import Driven, Holonomic
from ..quantities import integrate
from .coupling_rows import moved, one_coordinate
from .differences import STEP, first, second, step
from .kinematics import Kinematics
from .rows import Constraint, Rows
from .wrenches import JointAxis, along_joints


@dataclass(frozen=True, eq=False)
class DrivenRows(Constraint):
    """A joint follows a function of time:  c = q − f(t),   U = ḟ,   γ = −f̈.

    Derivatives that are not given come from differences of sixth order.
    """

    name: str
    drive: Driven
    at: tuple[int, int]  # in q and v
    axis: JointAxis | None = field(default=None, repr=False)
    moves = True
    traceable = True

    @staticmethod
    def of(x: Driven, robot) -> "DrivenRows":
        return DrivenRows(x.name, x, one_coordinate(robot, x.joint, x.name), JointAxis.of(robot, x.joint))

    @property
    def labels(self):
        return (f"{self.drive.joint} driven",)

    def touched(self, nodes):
        return moved(nodes, [self.at[1]])

    def given(self, t) -> tuple[float, float, float]:
        """f, ḟ and f̈."""
        x = self.drive
        rate = first(lambda s: x.function(t + s)) if x.rate is None else x.rate(t)
        bend = second(lambda s: x.function(t + s)) if x.acceleration is None else x.acceleration(t)
        return float(x.function(t)), float(rate), float(bend)

    def rows(self, motion: Kinematics) -> Rows:
        q, (i, j) = motion.q, self.at
        f = like(np.array(self.given(motion.t)), q) if motion.drive is None else motion.drive[self.name]
        Jc = np.zeros_like(q, shape=(*q.shape[:-1], 1, motion.width))
        Jc[..., 0, motion.column(j)] = like(np.ones(()), q)
        zero = np.zeros_like(q[..., :1])
        return Rows(q[..., i : i + 1] - f[..., :1], Jc, zero + f[..., 1:2], None if motion.v is None else zero - f[..., 2:])

    def wrenches(self, motion: Kinematics, lam):
        """λ along the joint, on its child and against its parent."""
        return along_joints(motion, (self.axis,), (lam[..., 0],))


@dataclass(frozen=True, eq=False)
class HolonomicRows(Constraint):
    """A function c(q, t) = 0. Its derivatives come from differences of sixth order:

        Jc e = ∂c along e,   U = −∂c/∂t,   γ = d²c/ds² along (v, 1)
    """

    name: str
    function: Callable
    count: int
    moves = True

    @staticmethod
    def of(x: Holonomic, robot) -> "HolonomicRows":
        return HolonomicRows(x.name, x.function, x.count)

    @property
    def labels(self):
        return tuple(f"row {i + 1}" for i in range(self.count))

    def rows(self, motion: Kinematics) -> Rows:
        batch, nv = motion.batch, motion.width
        c, Jc, U = np.zeros((*batch, self.count)), np.zeros((*batch, self.count, nv)), np.zeros((*batch, self.count))
        gamma = None if motion.v is None else np.zeros((*batch, self.count))
        q = np.broadcast_to(motion.q, batch + motion.q.shape[-1:])
        for i in np.ndindex(*batch):
            v = None if motion.v is None else np.broadcast_to(motion.v, batch + motion.v.shape[-1:])[i]
            c[i], Jc[i], U[i], bend = self._rows(motion.nodes, q[i], v, motion.t)
            if gamma is not None:
                gamma[i] = bend
        return Rows(c, Jc, U, gamma)

    def _rows(self, nodes, q, v, t):
        def at(dv, s):
            return np.atleast_1d(np.asarray(self.function(integrate(nodes, q, dv), t + s), float))

        n = nodes.tree.nv
        Jc = np.stack([first(lambda s, e=e: at(s * e, 0.0)) for e in np.eye(n)], -1)
        U = -first(lambda s: at(np.zeros(n), s), STEP)
        if v is None:
            return at(np.zeros(n), 0.0), Jc, U, None
        return at(np.zeros(n), 0.0), Jc, U, second(lambda s: at(s * v, s), step(v))
