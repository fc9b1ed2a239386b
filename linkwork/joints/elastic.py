from ..errors import ModelError
from ..lie.scalars import numbers
from .compound import Compound
from .prismatic import Prismatic
from .revolute import Revolute


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
