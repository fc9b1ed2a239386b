"""Alternative coordinates x and velocities u of a joint, with v = S(x) u, where q and v are those of the library."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..errors import ModelError
from ..lie import SE3, SO3, Group
from ..lie.euler import euler_from_quaternion, euler_velocity_map, matrix_from_euler, quaternion_from_euler
from ..lie.scalars import like
from ..lie.so3 import rotation_matrix
from ..spatial import blocks


class Choice(ABC):
    """Coordinates and velocities for a joint of some group."""

    groups: ClassVar[tuple[Group, ...] | None] = None  # that it is defined for; None: all

    def suits(self, group: Group) -> bool:
        """Is this choice defined for this group?"""
        return self.groups is None or group in self.groups

    @abstractmethod
    def nx(self, group: Group) -> int:
        """The number of coordinates."""

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
        """Where S is singular, as a clause for error messages."""


class CoordinateRates(Choice):
    """A choice whose velocities are the rates of its coordinates: u = ẋ."""

    def nx(self, group):
        return group.nv

    def xdot(self, group, x, u):
        return np.zeros_like(x) + u


class WithLibraryCoordinates(Choice):
    """A choice of velocities only: the coordinates are the q of the library."""

    def nx(self, group):
        return group.nq

    def q(self, group, x):
        return x

    def x(self, group, q):
        return q

    def xdot(self, group, x, u):
        return group.rate(x, (self.S(group, x) @ u[..., None])[..., 0])


@dataclass(frozen=True)
class LibraryChoice(WithLibraryCoordinates):
    """The q and v of the library."""

    def S(self, group, x):
        return np.zeros_like(x[..., :1, None]) + like(np.eye(group.nv), x)

    def xdot(self, group, x, u):
        return group.rate(x, u)

    def trouble(self, group):
        return "it is singular nowhere"


@dataclass(frozen=True)
class EulerRates(CoordinateRates):
    """Euler angles and their rates for a spherical or free joint; for a free one the position in the parent follows.

    The sequence is as in `linkwork.lie.euler`: "ZYX" about body axes, "xyz" about fixed axes.
    """

    sequence: str = "ZYX"
    groups = (SO3, SE3)

    def q(self, group, x):
        return np.concatenate([quaternion_from_euler(x[..., :3], self.sequence), x[..., 3:]], -1)

    def x(self, group, q):
        return np.concatenate([euler_from_quaternion(q[..., :4], self.sequence), q[..., 4:]], -1)

    def S(self, group, x):
        """ω = A(angles) d(angles)/dt, and u = R* ṗ for a free joint."""
        A = euler_velocity_map(x[..., :3], self.sequence)
        if group.nv == 3:
            return A
        R = matrix_from_euler(x[..., :3], self.sequence)
        return blocks(A, np.zeros_like(A), np.zeros_like(A), R.mT)

    def trouble(self, group):
        same = self.sequence[0].lower() == self.sequence[2].lower()
        return f"the rates of Euler angles {self.sequence} are singular where the second is {'0 or 180' if same else '±90'} degrees"


@dataclass(frozen=True)
class Exponential(CoordinateRates):
    """Canonical coordinates of the first kind: q = exp x, v = S(x) ẋ, S = I - ad/2 + ad²/6 - ..."""

    def q(self, group, x):
        return group.exp(x)

    def x(self, group, q):
        return group.log(q)

    def S(self, group, x):
        return group.S(x)

    def trouble(self, group):
        return "the rates of exponential coordinates are singular at a full rotation, |x| = 360 degrees"


@dataclass(frozen=True)
class SecondKind(CoordinateRates):
    """Canonical coordinates of the second kind: a product of exponentials, q = exp(e₁ x₁) exp(e₂ x₂) ... .

    Rotations about x, y, z come first, which are Euler angles "XYZ" for a spherical joint, then translations along the
    rotated axes.
    """

    def q(self, group, x):
        """Müller and Terze (6)."""
        q = like(group.identity, x)
        for part in self._parts(group, x):
            q = group.compose(q, part)
        return q

    def x(self, group, q):
        if not group.units:
            R = group.matrix(q)[..., :3, :3]
            angles, translations = _split(group.basis)
            p = (R.mT @ group.matrix(q)[..., :3, 3:])[..., 0] @ like(group.basis[translations, 3:].T, q)
            return np.concatenate([q[..., angles], p], -1) if len(angles) < group.nv else q
        angles = euler_from_quaternion(q[..., :4], "XYZ")
        return np.concatenate([angles, (rotation_matrix(q[..., :4]).mT @ q[..., 4:, None])[..., 0]], -1) if group.nv > 3 else angles

    def S(self, group, x):
        """Column a is Ad⁻¹ e_a, Ad being that of the exponentials after factor a (Müller and Terze, 19)."""
        rest, columns = like(group.identity, x) + np.zeros_like(x[..., :1]), []
        units = like(np.eye(group.nv), x)
        for part, e in zip(reversed(self._parts(group, x)), units[::-1]):
            columns.append(group.Ad(group.inverse(rest)) @ e[:, None])
            rest = group.compose(part, rest)
        return np.concatenate(columns[::-1], -1)

    def _parts(self, group, x):
        return [group.exp(x[..., a, None] * like(np.eye(group.nv)[a], x)) for a in range(group.nv)]

    def trouble(self, group):
        return "the rates of successive rotations about x, y, z are singular where the second is ±90 degrees"


@dataclass(frozen=True)
class Linear(WithLibraryCoordinates):
    """The q of the library with user-defined velocities, v = S(q) u: `Linear(lambda q: ...)` returns S (..., nv, nv).

    The function is written with NumPy. In general u is not the rate of any coordinates: these are quasi-velocities.
    """

    map: Callable

    def S(self, group, x):
        return self.map(x)

    def trouble(self, group):
        return "the given S(q) is singular here"


@dataclass(frozen=True)
class WorldVelocity(WithLibraryCoordinates):
    """The q of the library with the velocity in the axes of the parent: ω and ṗ."""

    groups = (SO3, SE3)

    def S(self, group, x):
        R = rotation_matrix(x[..., :4]).mT
        return R if group.nv == 3 else blocks(R, np.zeros_like(R), np.zeros_like(R), R)

    def trouble(self, group):
        return "it is singular nowhere"


def _split(basis):
    """The indices of the rotational and of the translational velocities."""
    rotations = (basis[:, :3] != 0).any(1)
    return np.flatnonzero(rotations), np.flatnonzero(~rotations)


def as_choice(choice) -> Choice:
    """A Choice from a Choice, an Euler sequence such as "ZYX", a name, or a function S(q).

    "exponential" and "first kind" are the same; so are "own" and "euler parameters".
    """
    names: dict[str, Choice] = {
        "exponential": Exponential(),
        "first kind": Exponential(),
        "second kind": SecondKind(),
        "euler parameters": LibraryChoice(),
        "world": WorldVelocity(),
        "own": LibraryChoice(),
    }
    if isinstance(choice, Choice):
        return choice
    if callable(choice):
        return Linear(choice)
    if isinstance(choice, str) and choice in names:
        return names[choice]
    if isinstance(choice, str) and len(choice) == 3:
        return EulerRates(choice)
    known = ", ".join(names)
    raise ModelError(f'{choice!r} is not a choice of velocities; there are {known}, Euler sequences ("ZYX") and functions S(q).')
