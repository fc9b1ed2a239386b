"""A person."""

from math import radians

from ...joints import Compound, Free, Revolute
from .. import solids
from ..builder import Builder
from ..model import Model

AXES = {"roll": (1.0, 0.0, 0.0), "pitch": (0.0, 1.0, 0.0), "yaw": (0.0, 0.0, 1.0)}
SHIRT, SKIN, TROUSERS, SHOE = (0.3, 0.5, 0.6, 1.0), (0.85, 0.7, 0.6, 1.0), (0.3, 0.3, 0.4, 1.0), (0.2, 0.2, 0.2, 1.0)


def humanoid() -> Model:
    """A person of 1.76 m and 72 kg with 25 degrees of freedom: x is forward, y left, z up; at q = 0 upright, arms down.

    The pelvis is free; waist 1, hips 3 each, knees 1, ankles 2, shoulders 2, elbows 1; the head is welded to the trunk.
    """
    body = Builder("humanoid")
    hips = solids.capsule(10.0, 0.1, (0.0, 0.07, 0.0), (0.0, -0.07, 0.0), TROUSERS)
    chest = solids.together(
        solids.box(16.0, (0.2, 0.3, 0.3), (0.0, 0.0, 0.3), SHIRT),
        solids.capsule(12.0, 0.1, (0.0, 0.0, 0.1), (0.0, 0.0, 0.0), SHIRT),
    )
    body.body("pelvis", joint=Free(), joint_name="floating_base", **hips)
    body.body("trunk", "pelvis", (0.0, 0.0, 0.1), _motor("yaw", -60, 60, 100), joint_name="waist", **chest)
    body.body("head", "trunk", (0.0, 0.0, 0.5), joint_name="neck", **solids.sphere(5.0, 0.11, (0.0, 0.0, 0.1), SKIN))
    for limb in _arm, _leg:
        limb(body, "left", 1.0)
        limb(body, "right", -1.0)
    return body.model()


def _leg(body: Builder, side: str, y: float) -> None:
    """y is 1 on the left and -1 on the right, where rolls and yaws are mirrored."""
    yaw, roll, pitch = _side("yaw", -40, 40, 80, y), _side("roll", -25, 45, 120, y), _motor("pitch", -110, 30, 150)
    hip, knee = _row(f"{side}_hip", yaw, roll, pitch), _motor("pitch", 0, 150, 150)
    ankle = _row(f"{side}_ankle", _motor("pitch", -45, 35, 100), _side("roll", -20, 20, 40, y))
    thigh = solids.capsule(8.0, 0.07, (0.0, 0.0, -0.38), (0.0, 0.0, -0.04), TROUSERS)
    shin = solids.capsule(3.5, 0.05, (0.0, 0.0, -0.38), (0.0, 0.0, -0.04), SKIN)
    foot = solids.box(1.0, (0.26, 0.1, 0.06), (0.06, 0.0, -0.05), SHOE)
    body.body(f"{side}_thigh", "pelvis", (0.0, 0.1 * y, -0.03), hip, joint_name=f"{side}_hip", **thigh)
    body.body(f"{side}_shin", f"{side}_thigh", (0.0, 0.0, -0.42), knee, joint_name=f"{side}_knee", **shin)
    body.body(f"{side}_foot", f"{side}_shin", (0.0, 0.0, -0.42), ankle, joint_name=f"{side}_ankle", **foot)
    body.frame(f"{side}_sole", f"{side}_foot", (0.0, 0.0, -0.08))


def _arm(body: Builder, side: str, y: float) -> None:
    """As _leg."""
    shoulder = _row(f"{side}_shoulder", _motor("pitch", -180, 60, 50), _side("roll", -10, 170, 50, y))
    elbow = _motor("pitch", -145, 0, 40)
    upper = solids.capsule(1.0, 0.045, (0.0, 0.0, -0.26), (0.0, 0.0, -0.02), SHIRT)
    lower = solids.together(
        solids.capsule(0.6, 0.035, (0.0, 0.0, -0.22), (0.0, 0.0, -0.03), SKIN),
        solids.sphere(0.4, 0.045, (0.0, 0.0, -0.28), SKIN),
    )
    body.body(f"{side}_upper_arm", "trunk", (0.0, 0.2 * y, 0.42), shoulder, joint_name=f"{side}_shoulder", **upper)
    body.body(f"{side}_forearm", f"{side}_upper_arm", (0.0, 0.0, -0.28), elbow, joint_name=f"{side}_elbow", **lower)
    body.frame(f"{side}_hand", f"{side}_forearm", (0.0, 0.0, -0.28))


def _motor(kind: str, lower: float, upper: float, effort: float) -> Revolute:
    """A driven pin; limits in degrees, effort in N m."""
    physics = {"effort": effort, "damping": 0.005 * effort, "armature": 0.0002 * effort}
    return Revolute(axis=AXES[kind], lower=radians(lower), upper=radians(upper), **physics)


def _side(kind: str, lower: float, upper: float, effort: float, y: float) -> Revolute:
    """A driven pin whose limits are meant for the left side."""
    return _motor(kind, *((lower, upper) if y > 0 else (-upper, -lower)), effort)


def _row(name: str, *motors: Revolute) -> Compound:
    """Driven pins at one point, called left_hip_yaw and so on."""
    kinds = {axis: kind for kind, axis in AXES.items()}
    return Compound(row=tuple((f"{name}_{kinds[motor.axis]}", motor) for motor in motors))
