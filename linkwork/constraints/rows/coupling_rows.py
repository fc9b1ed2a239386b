"""Couplings between coordinates of joints: gears, belts, mimic joints, differentials."""

from dataclasses import dataclass, field, replace

import numpy as np

from ...errors import ModelError
from ...lie.scalars import like
from ...model import Coupling, Linear
from .kinematics import Kinematics
from .rows import Constraint, Portable, Rows
from .wrenches import JointAxis, along_joints


@dataclass(frozen=True, eq=False)
class CouplingRows(Constraint):
    """One coordinate as a polynomial of another:

        c = q(j) − p(q(i)),   Jc v = v(j) − p'(q(i)) v(i),   γ = −p''(q(i)) v(i)²
    """

    name: str
    coupling: Coupling
    at: tuple[int, int]  # of the joint in q and v
    of: tuple[int, int] | None
    axes: tuple[JointAxis | None, ...] = field(default=(), repr=False)  # of the joint, and of the one that it follows
    number: int = 0  # among the couplings of the model
    traceable = True

    @staticmethod
    def over(coupling: Coupling, robot) -> "CouplingRows":
        of = None if coupling.of is None else one_coordinate(robot, coupling.of, coupling.name)
        axes = tuple(JointAxis.of(robot, x) for x in (coupling.joint, coupling.of) if x is not None)
        number = robot.model.couplings.index(coupling)
        return CouplingRows(coupling.name, coupling, one_coordinate(robot, coupling.joint, coupling.name), of, axes, number)

    @property
    def portable(self):
        own = tuple(self.coupling.coefficients)
        coordinates = (self.at,) if self.of is None else (self.at, self.of)
        return Portable(("coupling", len(own)), self._placed, coordinates=coordinates, constants={"coupling": own})

    def _placed(self, number, frames, coordinates):
        return replace(self, at=coordinates[0], of=None if self.of is None else coordinates[1], number=number)

    @property
    def labels(self):
        c = self.coupling
        return (f"{c.joint} held" if c.of is None else f"{c.joint} follows {c.of}",)

    def scale(self, size, reach):
        return reach[[self.at[1]]]

    def touched(self, nodes):
        return moved(nodes, [x[1] for x in (self.at, self.of) if x is not None])

    def rows(self, motion: Kinematics) -> Rows:
        q, zero = motion.q, np.zeros_like(motion.q[..., 0])
        i, j = (None, None) if self.of is None else self.of
        varied = motion.varied("coupling", self.number)
        own = self.coupling.coefficients if varied is None else [varied[..., n] for n in range(varied.shape[-1])]
        value, slope, bend = polynomial(own[: 1 if i is None else None], zero if i is None else q[..., i])
        Jc = np.zeros_like(q, shape=(*q.shape[:-1], 1, motion.width))
        Jc[..., 0, motion.column(self.at[1])] = like(np.ones(()), q)
        if j is not None:
            Jc[..., 0, motion.column(j)] = Jc[..., 0, motion.column(j)] - slope
        c = (q[..., self.at[0]] - value)[..., None]
        if motion.v is None:
            return Rows(c, Jc, np.zeros(1), None)
        v = motion.v[..., j] if j is not None else np.zeros_like(motion.v[..., 0])
        return Rows(c, Jc, np.zeros(1), (-bend * v * v)[..., None])

    def wrenches(self, motion: Kinematics, lam):
        """λ along the joint, and −p' λ along the one that it follows, each on its child and against its parent."""
        slope = polynomial(self.coupling.coefficients, motion.q[..., self.of[0]])[1] if self.of else 0.0
        return along_joints(motion, self.axes, (lam[..., 0], -slope * lam[..., 0]))


@dataclass(frozen=True, eq=False)
class LinearRows(Constraint):
    """A linear relation of several coordinates:  c = Σ x q(j) − constant,   Jc v = Σ x v(j)."""

    name: str
    relation: Linear
    places: tuple[tuple[int, int, float], ...]  # in q, in v, and the coefficient
    axes: tuple[JointAxis | None, ...] = field(default=(), repr=False)
    traceable = True

    @staticmethod
    def of(x: Linear, robot) -> "LinearRows":
        places = tuple((*one_coordinate(robot, joint, x.name), factor) for joint, factor in x.terms)
        return LinearRows(x.name, x, places, tuple(JointAxis.of(robot, joint) for joint, _ in x.terms))

    @property
    def portable(self):
        factors = tuple(x for *_, x in self.places)
        kind = "linear", factors, self.relation.constant
        return Portable(kind, self._placed, coordinates=tuple((i, j) for i, j, _ in self.places))

    def _placed(self, number, frames, coordinates):
        return replace(self, places=tuple((i, j, x) for (i, j), (*_, x) in zip(coordinates, self.places)))

    @property
    def labels(self):
        return (" + ".join(f"{x:g} {joint}" for joint, x in self.relation.terms),)

    def scale(self, size, reach):
        return np.array([max(abs(x) * reach[j] for _, j, x in self.places) or 1.0])

    def touched(self, nodes):
        return moved(nodes, [j for _, j, _ in self.places])

    def rows(self, motion: Kinematics) -> Rows:
        row = np.zeros((1, motion.width))
        for _, j, x in self.places:
            row[0, motion.column(j)] += x
        Jc = np.zeros_like(motion.q, shape=(*motion.q.shape[:-1], *row.shape)) + like(row, motion.q)
        c = sum(x * motion.q[..., i] for i, _, x in self.places) - self.relation.constant
        return Rows(c[..., None], Jc, np.zeros(1), None if motion.v is None else np.zeros_like(motion.v[..., :1]))

    def wrenches(self, motion: Kinematics, lam):
        """λ times its coefficient along each joint, on its child and against its parent."""
        return along_joints(motion, self.axes, [x * lam[..., 0] for *_, x in self.places])


def one_coordinate(robot, joint: str, name: str) -> tuple[int, int]:
    """Where the one coordinate of a joint is in q and in v."""
    i, j = robot.q_index(joint), robot.v_index(joint)
    if j.stop - j.start != 1 or i.stop - i.start != 1:
        raise ModelError(
            f'{robot.model.name}: coupling "{name}" binds joint "{joint}", which has {j.stop - j.start} velocities; '
            "it takes joints, or parts of joints, with one."
        )
    return i.start, j.start


def moved(nodes, velocities) -> set[int]:
    """The nodes that velocities belong to, and those that carry them: of two joints in a row both move."""
    tree = nodes.tree
    own = {k for k, rows in enumerate(tree.rows) for j in velocities if rows.start <= j < rows.stop}
    return own | {tree.parent[k] for k in own}


def polynomial(coefficients, x):
    """p(x), p'(x), p''(x) by Horner's rule."""
    value = slope = bend = np.zeros_like(x)
    for c in reversed(coefficients):
        bend = 2 * slope + x * bend
        slope = value + x * slope
        value = c + x * value
    return value, slope, bend
