"""Bodies that turn freely: a block, a top, craft that turn by what moves inside them: panels, reaction wheels, gyros, arms."""

import numpy as np

from ...joints import Free, Joint, Revolute, Spherical
from .. import solids
from ..builder import Builder
from ..model import Model
from .drawing import GREY, counted, positive

GOLD, BLUE = (0.8, 0.65, 0.25, 1.0), (0.15, 0.25, 0.55, 1.0)  # of foil and of cells


def bus(name: str, mass: float, size, joint: Joint | None = None) -> Builder:
    """A builder without gravity, with the body of a craft, which is free unless it has another joint."""
    joint = Free() if joint is None else joint
    return Builder(name, gravity=(0.0, 0.0, 0.0)).body("bus", joint=joint, joint_name=joint.kind, **solids.box(mass, size, color=GOLD))


def free_body() -> Model:
    """A block of 1 kg with edges 0.3, 0.2 and 0.1 m, free to move: three different moments, so that it can tumble."""
    system = Builder("free_body")
    system.body("block", joint=Free(), joint_name="free", **solids.box(1.0, (0.3, 0.2, 0.1), color=BLUE))
    return system.model()


def top() -> Model:
    """The heavy top of Brüls and Cardona: a disc of 15 kg and 0.25 m radius, 1 m along y from a ball joint at its tip.

    It lies at q = 0: gravity is along -z.
    """
    system = Builder("top")
    y = (0.0, 1.0, 0.0)
    disc = solids.cylinder(15.0, 0.25, 0.0, center=y, axis=y, color=GOLD)
    looks = (
        *solids.cylinder(15.0, 0.25, 0.02, center=y, axis=y, color=GOLD)["visuals"],
        *solids.rod(0.0, y, color=GREY)["visuals"],
    )
    system.body("top", joint=Spherical(), joint_name="tip", **(disc | {"visuals": looks}))
    return system.model()


def satellite(n: int = 3) -> Model:
    """A bus of 400 kg in free fall with two wings of n panels along ±y.

    A wing turns about y on its drive; its panels, 8 kg each, fold about x on sprung joints and lie flat at q = 0.
    Without gravity: (0, 0, 0).
    """
    counted("a wing of satellite", n)
    system = bus("satellite" if n == 3 else f"satellite_{n}", 400.0, (1.2, 1.0, 1.6))
    drive = Revolute(axis=(0.0, 1.0, 0.0), damping=0.5, armature=0.05)
    spring = Revolute(axis=(1.0, 0.0, 0.0), stiffness=40.0, damping=1.0)
    for side, y in (("left", 1.0), ("right", -1.0)):
        yoke = solids.rod(2.0, (0.0, 0.4 * y, 0.0), color=GREY)
        arm = solids.together(yoke, solids.cylinder(3.0, 0.08, 0.1, axis=(0.0, 1.0, 0.0), color=GREY))
        system.body(f"{side}_yoke", "bus", (0.0, 0.5 * y, 0.0), drive, joint_name=f"{side}_drive", **arm)
        panel = solids.box(8.0, (1.0, 1.5, 0.03), center=(0.0, 0.75 * y, 0.0), color=BLUE)
        parent, at = f"{side}_yoke", (0.0, 0.4 * y, 0.0)
        for i in range(1, n + 1):
            system.body(f"{side}_panel{i}", parent, at, spring, joint_name=f"{side}_hinge{i}", **panel)
            parent, at = f"{side}_panel{i}", (0.0, 1.5 * y, 0.0)
    return system.model()


def intelsat(
    *,
    base: Joint | None = None,
    cables: bool = True,
    panels: int = 3,
    bus_mass: float = 1000.0,
    panel_mass: float = 8.0,
    stiffness: float = 0.5,
    damping: float = 1.5,
) -> Model:
    """INTELSAT V on its way to open: a body of 1000 kg, on each side a yoke and three panels, 16 m from tip to tip.

    Closed cable loops over pulleys make the panels of a wing fold as one; without `cables` each joint has its spring alone. Flat at
    q = 0; a wing is stowed where its yoke is at 90° and its panels at -180°, 180° and -180°. The bus is free unless `base` is another
    joint: with Planar(axis=(1, 0, 0)) all moves in the plane y z. Without gravity; sizes, and masses and springs of the wings, are
    estimates.
    """
    positive("intelsat", bus_mass=bus_mass, panel_mass=panel_mass)
    counted("a wing of intelsat", panels)
    system = bus("intelsat", bus_mass, (1.66, 2.01, 1.77), base)
    yoke, panel = 1.5, 1.83
    for side, y in (("north", 1.0), ("south", -1.0)):
        placed = Revolute(axis=(y, 0.0, 0.0), stiffness=stiffness, damping=damping)
        legs = [solids.rod(2.0, (x, yoke * y, 0.0), color=GREY) for x in (-0.7, 0.7)]
        system.body(f"{side}_yoke", "bus", (0.0, 1.02 * y, -0.8), placed, **solids.together(*legs))
        blanket = solids.box(panel_mass, (1.6, panel - 0.05, 0.04), center=(0.0, y * panel / 2, 0.0), color=BLUE)
        before, reach, folds = f"{side}_yoke", yoke, -2.0
        for i in range(1, panels + 1):
            name = f"{side}_panel{i}"
            system.body(name, before, (0.0, reach * y, 0.0), placed, **blanket)
            if cables:
                system.couple(f"{name}_joint", f"{before}_joint", (0.0, folds), f"{side}_cable{i}")
            before, reach, folds = name, panel, -1.0
    return system.model()


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
