"""Couplings between coordinates of joints: gears, belts, mimic joints, differentials."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..errors import ModelError
from ..lie.scalars import like
from ..model import Coupling
from .motion import Motion
from .rows import Constraint, Rows


@dataclass(frozen=True, eq=False)
class Coupled(Constraint):
    """One coordinate as a polynomial of another:

        c = q(j) − p(q(i)),   G v = v(j) − p'(q(i)) v(i),   γ = −p''(q(i)) v(i)²
    """

    name: str
    coupling: Coupling
    at: tuple[int, int]  # of the joint in q and v
    of: tuple[int, int] | None

    @staticmethod
    def over(coupling: Coupling, robot) -> "Coupled":
        of = None if coupling.of is None else one_coordinate(robot, coupling.of, coupling.name)
        return Coupled(coupling.name, coupling, one_coordinate(robot, coupling.joint, coupling.name), of)

    @property
    def labels(self):
        c = self.coupling
        return (f"{c.joint} held" if c.of is None else f"{c.joint} follows {c.of}",)

    def rows(self, motion: Motion) -> Rows:
        coefficients, q = self.coupling.coefficients, motion.q
        if self.of is None:
            coefficients, x = coefficients[:1], np.zeros_like(q[..., 0])
        else:
            x = q[..., self.of[0]]
        value, slope, bend = polynomial(coefficients, x)
        G, gamma = self.velocity_rows(motion, slope, bend)
        return Rows((q[..., self.at[0]] - value)[..., None], G, np.zeros(1), gamma)

    def velocity_rows(self, motion: Motion, slope=None, bend=None):
        if slope is None:
            x = motion.q[..., self.of[0]] if self.of is not None else np.zeros_like(motion.q[..., 0])
            _, slope, bend = polynomial(self.coupling.coefficients if self.of is not None else self.coupling.coefficients[:1], x)
        G = np.zeros_like(motion.q, shape=(*motion.q.shape[:-1], 1, motion.width))
        G[..., 0, motion.column(self.at[1])] = like(np.ones(()), motion.q)
        if self.of is not None:
            i = motion.column(self.of[1])
            G[..., 0, i] = G[..., 0, i] - slope
        if motion.v is None:
            return G, None
        v = motion.v[..., self.of[1]] if self.of is not None else np.zeros_like(motion.v[..., 0])
        return G, (-bend * v * v)[..., None]


@dataclass(frozen=True, eq=False)
class Linear(Constraint):
    """A linear relation of several coordinates, a differential say: Σ coefficient · q(joint) = constant."""

    name: str
    terms: dict[str, float]
    constant: float = 0.0
    robot: object = field(default=None, repr=False)

    def bound(self, robot) -> "Linear":
        return Linear(self.name, self.terms, self.constant, robot)

    @property
    def labels(self):
        return (" + ".join(f"{x:g} {joint}" for joint, x in self.terms.items()),)

    @cached_property
    def _places(self):
        return [(*one_coordinate(self.robot, joint, self.name), x) for joint, x in self.terms.items()]

    def rows(self, motion: Motion) -> Rows:
        G, gamma = self.velocity_rows(motion)
        c = sum(x * motion.q[..., i] for i, _, x in self._places) - self.constant
        return Rows(c[..., None], G, np.zeros(1), gamma)

    def velocity_rows(self, motion: Motion):
        row = np.zeros((1, motion.width))
        for _, j, x in self._places:
            row[0, motion.column(j)] += x
        G = np.zeros_like(motion.q, shape=(*motion.q.shape[:-1], *row.shape)) + like(row, motion.q)
        return G, None if motion.v is None else np.zeros_like(motion.v[..., :1])


def one_coordinate(robot, joint: str, name: str) -> tuple[int, int]:
    """Where the one coordinate of a joint is in q and in v."""
    i, j = robot.q_index(joint), robot.v_index(joint)
    if j.stop - j.start != 1 or i.stop - i.start != 1:
        raise ModelError(
            f'{robot.model.name}: coupling "{name}" binds joint "{joint}", which has {j.stop - j.start} velocities; '
            "it takes joints, or parts of joints, with one."
        )
    return i.start, j.start


def polynomial(coefficients, x):
    """p(x), p'(x), p''(x) by Horner's rule."""
    value = slope = bend = np.zeros_like(x)
    for c in reversed(coefficients):
        bend = 2 * slope + x * bend
        slope = value + x * slope
        value = c + x * value
    return value, slope, bend
