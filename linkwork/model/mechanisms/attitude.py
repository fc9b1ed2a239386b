"""Craft that turn by what moves inside them: reaction wheels, control moment gyros, arms."""

import numpy as np

from ...joints import Revolute
from .. import solids
from ..model import Model
from .craft import BLUE, bus
from .drawing import GREY, positive


def reaction_wheels(*, bus_mass: float = 60.0, wheel_mass: float = 2.0, radius: float = 0.12) -> Model:
    """A bus of 60 kg in free fall with three wheels along x, y and z: what a wheel gains, the bus loses.

    Each wheel, 2 kg, turns about its own axis through its centre, at most 600 rad/s with 0.2 N m. Without gravity.
    """
    positive("reaction_wheels", bus_mass=bus_mass, wheel_mass=wheel_mass, radius=radius)
    system = bus("reaction_wheels", bus_mass, (0.6, 0.5, 0.7))
    for name, axis in zip("xyz", np.eye(3)):
        wheel = solids.cylinder(wheel_mass, radius, 0.04, axis=tuple(axis), color=GREY)
        spin = Revolute(axis=tuple(axis), effort=0.2, speed=600.0)
        system.body(f"wheel_{name}", "bus", tuple(0.15 * axis), spin, joint_name=f"spin_{name}", **wheel)
    return system.model()


def moment_gyros(*, bus_mass: float = 200.0, wheel_mass: float = 5.0, radius: float = 0.15, skew: float = 54.74) -> Model:
    """A bus of 200 kg in free fall with four control moment gyros in a pyramid: gimbals tilt wheels that spin fast.

    The gimbal axes are normal to its faces and lean by `skew` degrees from the vertical: by 54.74 the momentum envelope is nearly a
    sphere. Joints are gimbal_1 and spin_1 to 4; at q = 0 the spin axes are horizontal. A wheel that spins at 400 rad/s has about 22 N m s.
    Without gravity.
    """
    positive("moment_gyros", bus_mass=bus_mass, wheel_mass=wheel_mass, radius=radius)
    system = bus("moment_gyros", bus_mass, (1.0, 1.0, 0.8))
    c, s = np.cos(np.radians(skew)), np.sin(np.radians(skew))
    for i in range(4):
        x, y = np.cos(i * np.pi / 2).round(), np.sin(i * np.pi / 2).round()
        place, gimbal, spin = (0.3 * x, 0.3 * y, 0.5), (s * x, s * y, c), (-y, x, 0.0)
        frame = solids.cylinder(1.0, 0.05, 2 * radius + 0.04, axis=gimbal, color=BLUE)
        wheel = solids.cylinder(wheel_mass, radius, 0.05, axis=spin, color=GREY)
        system.body(f"gimbal{i + 1}", "bus", place, Revolute(axis=gimbal), joint_name=f"gimbal_{i + 1}", **frame)
        system.body(f"wheel{i + 1}", f"gimbal{i + 1}", None, Revolute(axis=spin), joint_name=f"spin_{i + 1}", **wheel)
    return system.model()


def space_robot(*, bus_mass: float = 200.0, link_mass: float = 8.0, reach: float = 0.8) -> Model:
    """A bus of 200 kg in free fall with two arms of three joints at its front, for grasping: shoulder yaw and pitch, elbow.

    Frames left_hand and right_hand are at the tips. Without gravity.
    """
    positive("space_robot", bus_mass=bus_mass, link_mass=link_mass, reach=reach)
    system = bus("space_robot", bus_mass, (1.0, 1.2, 0.8))
    for side, y in (("left", 0.5), ("right", -0.5)):
        hub = solids.cylinder(link_mass / 4, 0.06, 0.1, color=GREY)
        upper, fore = (solids.rod(m, (reach, 0.0, 0.0), color=BLUE) for m in (link_mass, link_mass / 2))
        yaw, pitch = Revolute(), Revolute(axis=(0.0, 1.0, 0.0))
        system.body(f"{side}_shoulder", "bus", (0.5, y, 0.0), yaw, joint_name=f"{side}_yaw", **hub)
        system.body(f"{side}_upper", f"{side}_shoulder", None, pitch, joint_name=f"{side}_pitch", **upper)
        system.body(f"{side}_fore", f"{side}_upper", (reach, 0.0, 0.0), pitch, joint_name=f"{side}_elbow", **fore)
        system.frame(f"{side}_hand", f"{side}_fore", (reach, 0.0, 0.0))
    return system.model()
