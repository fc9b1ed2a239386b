"""Joints in series: any, a universal joint, an elastic one."""

from dataclasses import dataclass

from ..errors import ModelError
from ..lie import Group
from ..lie.scalars import numbers
from ..spatial import Pose
from .elementary import Prismatic, Revolute
from .joint import Joint


@dataclass(frozen=True, kw_only=True)
class Compound(Joint):
    """Joints in series without mass between them: q and v are those of the parts, inboard first.

    Each part is a joint, (name, joint) or (name, joint, pose on the part before).
    """

    row: tuple

    def __post_init__(self):
        parts = []
        for i, part in enumerate(self.row):
            name, joint, *placement = (str(i + 1), part) if isinstance(part, Joint) else part
            if not isinstance(joint, Joint):
                raise ModelError(f"part {i + 1} of a compound joint is {joint!r}; a part is a joint or (name, joint[, pose]).")
            parts.append((name, joint, Pose.of(*placement) if placement else Pose()))
        object.__setattr__(self, "row", tuple(parts))

    @property
    def group(self) -> Group:
        raise ModelError("a compound joint has no group; its parts have.")

    @property
    def parts(self):
        return tuple(
            (name if not inner else f"{name}.{inner}", joint, placement @ at)
            for name, outer, placement in self.row
            for inner, joint, at in outer.parts
        )

    @property
    def nq(self) -> int:
        return sum(joint.nq for _, joint, _ in self.parts)

    @property
    def nv(self) -> int:
        return sum(joint.nv for _, joint, _ in self.parts)


def Universal(*, axes=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), names=("1", "2"), **physics) -> Compound:
    """Two revolute joints with crossing axes, inboard first: q = [first angle, second angle] (Jain, Exercise 3.1)."""
    return Compound(row=tuple((name, Revolute(axis=axis, **physics)) for name, axis in zip(names, axes, strict=True)))


def Elastic(*, stiffness, armature, damping=0.0, axis=(0.0, 0.0, 1.0), joint=Revolute, names=("motor", "twist"), **limits) -> Compound:
    """A motor, and a spring and damper between it and the link: q = [angle of the motor, at the joint; twist of the spring].

    `armature` is the inertia of the rotor as the joint feels it, ratio² times its own; `limits` (lower, upper, effort ...) are those of
    the motor. The link turns by the sum of both. `joint` may be lw.Prismatic (Jain, section 12.1, rotors without gyroscopic forces).
    """
    if joint not in (Revolute, Prismatic):
        raise ModelError(f"an elastic joint is made of {joint!r}; it takes lw.Revolute or lw.Prismatic.")
    for what, value in (("stiffness", stiffness), ("armature", armature)):
        if numbers(value).ndim or not numbers(value) > 0:
            raise ModelError(f"an elastic joint has {what} {value}; it takes a positive number.")
    if len(names) != 2:
        raise ModelError(f"an elastic joint has names {names}; it takes two, of the motor and of the spring.")
    motor, spring = joint(axis=axis, armature=armature, **limits), joint(axis=axis, stiffness=stiffness, damping=damping)
    return Compound(row=tuple(zip(names, (motor, spring), strict=True)))
