"""The interface of a joint: a group of motions, with limits, passive forces and a rotor."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from ..lie import Group
from ..lie.scalars import numbers
from ..spatial import Pose

Values = float | tuple[float, ...]


ORIGIN = Pose()  # of a joint that is one part


@dataclass(frozen=True, kw_only=True)
class Joint(ABC):
    """A joint whose relative motions form a Lie group, whose z axis is `axis` in the frame of the joint.

    Numbers may be one value for all velocities of the joint, or one for each. Limits bound coordinates; None is no limit.
    A spring with `stiffness` acts towards `rest`; `damping` is viscous, `friction` dry; `armature` is the inertia of
    the rotor reflected to the joint; `gear` is the gear ratio, rotor to joint, if it is known.
    """

    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    lower: Values | None = None
    upper: Values | None = None
    damping: Values = 0.0
    friction: Values = 0.0
    stiffness: Values = 0.0
    rest: Values | None = None
    armature: Values = 0.0
    effort: Values | None = None
    speed: Values | None = None
    gear: float | None = None

    def __post_init__(self):
        axis = numbers(self.axis)
        if axis.shape != (3,) or not np.isfinite(axis).all() or not axis.any():
            raise ModelError(f"{type(self).__name__} needs an axis of three finite numbers, not all zero; got {self.axis}.")
        object.__setattr__(self, "axis", tuple(float(x) for x in axis))
        for name in ("damping", "friction", "stiffness", "armature"):
            if (self.each(name) < 0).any():
                raise ModelError(f"{type(self).__name__} has {name} {getattr(self, name)}; it may not be negative.")
        for name in ("effort", "speed"):
            self.each(name)
        if (self.each("lower") > self.each("upper")).any():
            raise ModelError(f"{type(self).__name__} has lower {self.lower} above upper {self.upper}; leave both away for no limits.")

    @property
    @abstractmethod
    def group(self) -> Group:
        """The motions that this joint allows, about and along z."""

    @property
    def parts(self) -> "tuple[tuple[str, Joint, Pose], ...]":
        """The joints in series that make up this one, inboard first: name, joint, pose on the one before."""
        return (("", self, ORIGIN),)

    @property
    def deformation(self) -> Any:
        """Of a flexible body, where that and not the group says how nodes move (`linkwork.flexible`); else None."""
        return None

    @property
    def frame(self) -> Pose:
        """The pose of the group's frame in the frame of the joint: its z is the axis."""
        return Pose.turning_z_to(self.axis)

    @property
    def nq(self) -> int:
        return self.group.nq

    @property
    def nv(self) -> int:
        return self.group.nv

    @property
    def kind(self) -> str:
        return type(self).__name__.lower()

    def each(self, name: str, missing: float = np.nan) -> np.ndarray:
        """One number per velocity of a property given as one value or several; `missing` where there is none."""
        value = getattr(self, name)
        values = np.atleast_1d(numbers(missing if value is None else value))
        if values.shape not in {(1,), (self.nv,)} or (value is not None and np.isnan(values).any()):
            raise ModelError(f"{type(self).__name__} has {name} {value}; it takes one number or {self.nv}.")
        return np.broadcast_to(values, (self.nv,)).astype(float)

    def displaced(self, q) -> Pose:
        """The pose of the outboard frame on the inboard one, both with z along the axis, at coordinates q."""
        return Pose.of(self.group.matrix(np.asarray(q, float)))

    @property
    def spread(self) -> np.ndarray:
        """How far coordinates drawn at random go where there are no limits: half a turn, or a metre."""
        turns = (self.group.basis[:, :3] != 0).any(1)
        return np.where(turns, np.pi, 1.0)

    @property
    def units(self) -> list[tuple[str, str, str]]:
        """Units of coordinate, velocity and force along each velocity, rotational or translational by the first entry of its twist."""
        first = [int(row.nonzero()[0][0]) for row in self.group.basis]
        return [("rad", "rad/s", "N m") if i < 3 else ("m", "m/s", "N") for i in first]

    @property
    def at_rest(self) -> np.ndarray:
        """The coordinates where the spring force is zero: the identity if none are given."""
        if self.rest is None:
            return self.group.identity
        return np.broadcast_to(np.asarray(self.rest, float), (self.nq,)).astype(float)
