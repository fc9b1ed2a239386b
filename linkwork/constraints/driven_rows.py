"""A joint that is driven: it follows a function of time."""

from dataclasses import dataclass, field

import numpy as np

from ..lie.scalars import like
from ..model import Driven
from .coupling_rows import moved, one_coordinate
from .differences import first, second
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
