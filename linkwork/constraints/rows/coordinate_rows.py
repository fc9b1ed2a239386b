"""Rows over single coordinates of joints: gears, belts, mimic joints, differentials."""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...errors import ModelError
from ...lie.scalars import like
from ...model import Coupling, Linear
from .kinematics import Kinematics
from .rows import Constraint, Portable, Rows
from .wrenches import BodyWrench, JointAxis


@dataclass(frozen=True, eq=False)
class CoordinateRows(Constraint):
    """One row over the coordinates of a few joints, each with one velocity:  Jc v = Σ x(j) v(j)."""

    name: str
    bond: Any  # as the model has it
    places: tuple[tuple[int, int], ...]  # of each coordinate, in q and in v
    axes: tuple[JointAxis | None, ...] = field(default=(), repr=False)
    number: int = 0  # among those of its kind in the model
    traceable = True

    @classmethod
    def over(cls, x, robot, *joints: str, number: int = 0):
        places = tuple(one_coordinate(robot, joint, x.name) for joint in joints)
        return cls(x.name, x, places, tuple(JointAxis.of(robot, joint) for joint in joints), number)

    def _placed(self, number, frames, coordinates):
        return replace(self, places=coordinates, number=number)

    def scale(self, size, reach):
        return reach[[self.places[0][1]]]

    def touched(self, nodes):
        return moved(nodes, [j for _, j in self.places])

    @abstractmethod
    def relation(self, motion: Kinematics) -> tuple:
        """Returns c (...), x(j) of each coordinate, U and γ (..., 1), γ of a motion with velocities."""

    def rows(self, motion: Kinematics) -> Rows:
        c, slopes, U, gamma = self.relation(motion)
        Jc = np.zeros_like(motion.q, shape=(*motion.q.shape[:-1], 1, motion.width))
        for (_, j), x in zip(self.places, slopes):
            Jc[..., 0, motion.column(j)] = Jc[..., 0, motion.column(j)] + (like(np.array(x), motion.q) if isinstance(x, float) else x)
        return Rows(c[..., None], Jc, U, None if motion.v is None else gamma)

    def wrenches(self, motion: Kinematics, lam) -> list[BodyWrench] | None:
        """λ times x(j) along each joint, on its child and against its parent; None if a joint moves no body of its own."""
        if any(axis is None for axis in self.axes):
            return None
        slopes = self.relation(replace(motion, v=None))[1]
        return [w for axis, x in zip(self.axes, slopes) if axis is not None for w in axis.wrenches(motion, x * lam[..., 0])]


@dataclass(frozen=True, eq=False)
class CouplingRows(CoordinateRows):
    """One coordinate as a polynomial of another, or a constant:

        c = q(j) − p(q(i)),   Jc v = v(j) − p'(q(i)) v(i),   γ = −p''(q(i)) v(i)²
    """

    @staticmethod
    def of(x: Coupling, robot) -> "CouplingRows":
        joints = (x.joint,) if x.of is None else (x.joint, x.of)
        return CouplingRows.over(x, robot, *joints, number=robot.model.couplings.index(x))

    @property
    def portable(self):
        own = tuple(self.bond.coefficients)
        return Portable(("coupling", len(own)), self._placed, coordinates=self.places, constants={"coupling": own})

    @property
    def labels(self):
        return (f"{self.bond.joint} held" if self.bond.of is None else f"{self.bond.joint} follows {self.bond.of}",)

    def relation(self, motion: Kinematics):
        q, v, (at, *of) = motion.q, motion.v, self.places
        varied = motion.varied("coupling", self.number)
        own = self.bond.coefficients if varied is None else [varied[..., n] for n in range(varied.shape[-1])]
        if not of:
            value, _, _ = polynomial(own[:1], np.zeros_like(q[..., 0]))
            return q[..., at[0]] - value, (1.0,), np.zeros(1), None if v is None else np.zeros_like(v[..., :1])
        ((i, j),) = of
        value, slope, bend = polynomial(own, q[..., i])
        return q[..., at[0]] - value, (1.0, -slope), np.zeros(1), None if v is None else (-bend * v[..., j] * v[..., j])[..., None]


@dataclass(frozen=True, eq=False)
class LinearRows(CoordinateRows):
    """A linear relation of several coordinates:  c = Σ x q(j) − constant,   Jc v = Σ x v(j)."""

    @staticmethod
    def of(x: Linear, robot) -> "LinearRows":
        return LinearRows.over(x, robot, *(joint for joint, _ in x.terms))

    @property
    def factors(self) -> tuple[float, ...]:
        return tuple(x for _, x in self.bond.terms)

    @property
    def portable(self):
        return Portable(("linear", self.factors, self.bond.constant), self._placed, coordinates=self.places)

    @property
    def labels(self):
        return (" + ".join(f"{x:g} {joint}" for joint, x in self.bond.terms),)

    def scale(self, size, reach):
        return np.array([max(abs(x) * reach[j] for x, (_, j) in zip(self.factors, self.places)) or 1.0])

    def relation(self, motion: Kinematics):
        c = sum(x * motion.q[..., i] for x, (i, _) in zip(self.factors, self.places)) - self.bond.constant
        return c, self.factors, np.zeros(1), None if motion.v is None else np.zeros_like(motion.v[..., :1])


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
