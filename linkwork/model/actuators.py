"""Actuators: motors, and servos with gains, ranges and gears, as data of a model."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelError, did_you_mean
from ..lie.scalars import numbers
from .check import part_rows

if TYPE_CHECKING:
    from .model import Model

KINDS = "motor", "position", "velocity"


@dataclass(frozen=True)
class Actuator:
    """A motor or servo on one joint, or on several through a tendon.

        length = Σ gear(j) q(j),   rate = Σ gear(j) v(j)                 over the joints j of `gears`
        force  = gain u + offset − stiffness length − damping rate       u within [lower, upper], the force within its range
        τ(j)   = gear(j) force

    A motor has a gain only; the servo of a position gain = stiffness, that of a velocity gain = damping.
    """

    name: str
    gears: tuple[tuple[str, float], ...]
    gain: float = 1.0
    offset: float = 0.0
    stiffness: float = 0.0
    damping: float = 0.0
    lower: float = -inf
    upper: float = inf
    least_force: float = -inf
    largest_force: float = inf

    def __post_init__(self):
        gears = tuple((joint, float(numbers(ratio))) for joint, ratio in self.gears)
        object.__setattr__(self, "gears", gears)
        if not gears or not all(np.isfinite(ratio) for _, ratio in gears) or len({joint for joint, _ in gears}) != len(gears):
            raise ModelError(f'actuator "{self.name}" has gears {self.gears}; it takes pairs (joint, finite ratio), each joint once.')
        for what in ("gain", "offset", "stiffness", "damping", "lower", "upper", "least_force", "largest_force"):
            value = numbers(getattr(self, what))
            bounds = what in ("lower", "upper", "least_force", "largest_force")
            if value.ndim or np.isnan(value) or not (bounds or np.isfinite(value)):
                raise ModelError(f'actuator "{self.name}" has {what} {getattr(self, what)}; it takes a number.')
            object.__setattr__(self, what, float(value))
        for low, high in (("lower", "upper"), ("least_force", "largest_force")):
            if getattr(self, low) > getattr(self, high):
                raise ModelError(f'actuator "{self.name}" has {low} {getattr(self, low)} above {high} {getattr(self, high)}.')

    @property
    def kind(self) -> str:
        """motor, position, velocity, or affine for what is none of these."""
        stiffness, damping, gain = self.stiffness, self.damping, self.gain
        if not stiffness and not damping and not self.offset:
            return "motor"
        if self.offset:
            return "affine"
        return "position" if stiffness == gain else "velocity" if not stiffness and damping == gain else "affine"

    @property
    def joints(self) -> tuple[str, ...]:
        return tuple(joint for joint, _ in self.gears)


def scalar_joints(model: "Model") -> dict[str, tuple[int, int, float]]:
    """Of each joint with one velocity, and each such part of a joint, by all its names: its place in q and in v, and its effort."""
    found: dict[str, tuple[int, int, float]] = {}
    for placed, name, part, q, v in part_rows(model.joints):
        if part.nq == part.nv == 1:
            for each in (placed.name,) if len(placed.joint.parts) == 1 else (f"{placed.name}.{name}", name):
                found.setdefault(each, (q.start, v.start, float(part.each("effort", inf)[0])))
    return found


def check_actuators(model: "Model") -> None:
    """Actuators are on joints, or parts of joints, with one velocity."""
    known = scalar_joints(model)
    for actuator in model.actuators:
        for joint in actuator.joints:
            if joint not in known:
                near = did_you_mean(joint, known)
                what = f'{model.name}: actuator "{actuator.name}" is on "{joint}"'
                raise ModelError(f"{what}, which is no joint, or part of one, with one velocity.{near}")


def with_actuators(model: "Model", kind: str, joints: Iterable[str] | None, stiffness: float, damping: float) -> "Model":
    """The model with a motor or servo at each joint, or at some, within the joint's effort; besides those it has."""
    if kind not in KINDS:
        raise ModelError(f'{model.name}: kind is "{kind}"; it may be {", ".join(KINDS)}.')
    known = scalar_joints(model)
    first = {place: name for name, (_, place, _) in reversed(known.items())}
    chosen = list(dict.fromkeys(first.values()))[::-1] if joints is None else [joints] if isinstance(joints, str) else list(joints)
    gain = {"motor": 1.0, "position": stiffness, "velocity": damping}[kind]
    if not gain:
        raise ModelError(f"{model.name}: a servo of a {kind} takes {'stiffness' if kind == 'position' else 'damping'}=, its gain.")
    made = []
    for joint in chosen:
        effort = known[joint][2] if joint in known else inf
        reach = {"least_force": -effort, "largest_force": effort}
        servo = {"stiffness": stiffness * (kind == "position"), "damping": damping}
        reach |= {"lower": -effort, "upper": effort} if kind == "motor" else servo
        made.append(Actuator(f"{joint}_{kind}", ((joint, 1.0),), gain, **reach))
    return replace(model, actuators=(*model.actuators, *made))
