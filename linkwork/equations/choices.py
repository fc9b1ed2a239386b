"""Ways to describe how a joint stands and moves: coordinates x and velocities u with v = S(x) u, v the library's own."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import ModelError
from ..lie import SE3, SO3, Group
from ..lie.euler import euler_from_quaternion, euler_velocity_map, matrix_from_euler, quaternion_from_euler
from ..lie.scalars import like
from ..lie.so3 import rotation_matrix
from ..spatial import blocks


class Choice(ABC):
    """Coordinates and velocities for a joint of some group."""

    @abstractmethod
    def suits(self, group: Group) -> bool:
        """Can it be chosen for this group?"""

    @abstractmethod
    def nx(self, group: Group) -> int:
        """How many coordinates there are."""

    @abstractmethod
    def q(self, group: Group, x):
        """The joint's q at coordinates x."""

    @abstractmethod
    def x(self, group: Group, q):
        """Coordinates x of a q."""

    @abstractmethod
    def S(self, group: Group, x):
        """v = S(x) u (..., nv, nv)."""

    @abstractmethod
    def xdot(self, group: Group, x, u):
        """The rate of the coordinates."""

    @abstractmethod
    def trouble(self, group: Group) -> str:
        """Where S is singular, in words."""


class Rated(Choice):
    """A choice whose velocities are the rates of its coordinates: u = ẋ."""

    def nx(self, group):
        return group.nv

    def xdot(self, group, x, u):
        return np.zeros_like(x) + u


class OnOwnCoordinates(Choice):
    """A choice of velocities only: the coordinates are the library's q."""

    def suits(self, group):
        return True

    def nx(self, group):
        return group.nq

    def q(self, group, x):
        return x

    def x(self, group, q):
        return q


@dataclass(frozen=True)
class Own(OnOwnCoordinates):
    """The library's: q and v."""

    def S(self, group, x):
        return np.zeros_like(x[..., :1, None]) + like(np.eye(group.nv), x)

    def xdot(self, group, x, u):
        return group.rate(x, u)

    def trouble(self, group):
        return "it is singular nowhere"


@dataclass(frozen=True)
class EulerRates(Rated):
    """Euler angles and their rates for a ball or free joint; a free one has its position in the parent after them.

    The sequence is as in `linkwork.lie.euler`: "ZYX" about the body's axes, "xyz" about fixed ones.
    """

    sequence: str = "ZYX"

    def suits(self, group):
        return group in (SO3, SE3)

    def q(self, group, x):
        return np.concatenate([quaternion_from_euler(x[..., :3], self.sequence), x[..., 3:]], -1)

    def x(self, group, q):
        return np.concatenate([euler_from_quaternion(q[..., :4], self.sequence), q[..., 4:]], -1)

    def S(self, group, x):
        """ω = A(angles) d(angles)/dt, and u = R* ṗ for the free one."""
        A = euler_velocity_map(x[..., :3], self.sequence)
        if group.nv == 3:
            return A
        R = matrix_from_euler(x[..., :3], self.sequence)
        return blocks(A, np.zeros_like(A), np.zeros_like(A), R.mT)

    def trouble(self, group):
        same = self.sequence[0].lower() == self.sequence[2].lower()
        return f"Euler angles {self.sequence} have no rates where the second is {'0 or 180' if same else '±90'} degrees"


@dataclass(frozen=True)
class Exponential(Rated):
    """Canonical coordinates of the first kind: q = exp x, v = S(x) ẋ, S = I - ad/2 + ad²/6 - ..."""

    def suits(self, group):
        return True

    def q(self, group, x):
        return group.exp(x)

    def x(self, group, q):
        return group.log(q)

    def S(self, group, x):
        return group.S(x)

    def trouble(self, group):
        return "exponential coordinates have no rates at a whole turn, |x| = 360 degrees"


@dataclass(frozen=True)
class SecondKind(Rated):
    """Canonical coordinates of the second kind: one exponential after another, q = exp(e₁ x₁) exp(e₂ x₂) ... .

    Turns about x, y, z come first, so that a ball joint's are Euler angles "XYZ", then slides along the turned axes.
    """

    def suits(self, group):
        return True

    def q(self, group, x):
        """Müller and Terze (6)."""
        q = like(group.identity, x)
        for part in self._parts(group, x):
            q = group.compose(q, part)
        return q

    def x(self, group, q):
        if not group.units:
            turn = group.matrix(q)[..., :3, :3].mT
            angles, slides = _split(group.basis)
            p = (turn @ group.matrix(q)[..., :3, 3:])[..., 0] @ like(group.basis[slides, 3:].T, q)
            return np.concatenate([q[..., angles], p], -1) if len(angles) < group.nv else q
        angles = euler_from_quaternion(q[..., :4], "XYZ")
        return np.concatenate([angles, (rotation_matrix(q[..., :4]).mT @ q[..., 4:, None])[..., 0]], -1) if group.nv > 3 else angles

    def S(self, group, x):
        """Column a is e_a as seen after the exponentials that come after it: Ad⁻¹ e_a (Müller and Terze, 19)."""
        rest, columns = like(group.identity, x) + np.zeros_like(x[..., :1]), []
        units = like(np.eye(group.nv), x)
        for part, e in zip(reversed(self._parts(group, x)), units[::-1]):
            columns.append(group.Ad(group.inverse(rest)) @ e[:, None])
            rest = group.compose(part, rest)
        return np.concatenate(columns[::-1], -1)

    def _parts(self, group, x):
        return [group.exp(x[..., a, None] * like(np.eye(group.nv)[a], x)) for a in range(group.nv)]

    def trouble(self, group):
        return "turns about x, y, z in a row have no rates where the second is ±90 degrees"


@dataclass(frozen=True)
class Linear(OnOwnCoordinates):
    """The library's q with velocities of one's own, v = S(q) u: `Linear(lambda q: ...)` gives S (..., nv, nv).

    Written with NumPy; without a function of coordinates that they are rates of, these are quasi-velocities proper.
    """

    map: Callable

    def S(self, group, x):
        return self.map(x)

    def xdot(self, group, x, u):
        return group.rate(x, (self.map(x) @ u[..., None])[..., 0])

    def trouble(self, group):
        return "the given S(q) is singular here"


@dataclass(frozen=True)
class WorldVelocity(Choice):
    """The library's q with the velocity in the axes of the parent: ω and ṗ as seen from where the joint stands."""

    def suits(self, group):
        return group in (SO3, SE3)

    def nx(self, group):
        return group.nq

    def q(self, group, x):
        return x

    def x(self, group, q):
        return q

    def S(self, group, x):
        R = rotation_matrix(x[..., :4]).mT
        return R if group.nv == 3 else blocks(R, np.zeros_like(R), np.zeros_like(R), R)

    def xdot(self, group, x, u):
        return group.rate(x, (self.S(group, x) @ u[..., None])[..., 0])

    def trouble(self, group):
        return "it is singular nowhere"


def _split(basis):
    """The numbers of the velocities that turn, and of those that slide."""
    turns = (basis[:, :3] != 0).any(1)
    return np.flatnonzero(turns), np.flatnonzero(~turns)


def chosen(choice) -> Choice:
    """A choice as people say it: a Choice, an Euler sequence such as "ZYX", a name, or a function S(q).

    "exponential" and "first kind" are the same; so are "own" and "euler parameters".
    """
    names: dict[str, Choice] = {
        "exponential": Exponential(),
        "first kind": Exponential(),
        "second kind": SecondKind(),
        "euler parameters": Own(),
        "world": WorldVelocity(),
        "own": Own(),
    }
    if isinstance(choice, Choice):
        return choice
    if callable(choice):
        return Linear(choice)
    if choice in names:
        return names[choice]
    if isinstance(choice, str) and len(choice) == 3:
        return EulerRates(choice)
    known = ", ".join(names)
    raise ModelError(f'{choice!r} is no choice of velocities; there are {known}, Euler sequences ("ZYX") and functions S(q).')
