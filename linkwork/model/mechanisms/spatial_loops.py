"""Mechanisms with loops in space, closed as they stand at q = 0, and one whose wheels are geared together."""

import numpy as np

from ...joints import Prismatic, Revolute
from .. import solids
from ..builder import Builder
from ..model import Model
from .drawing import BLUE, DARK, GOLD, RED, STEEL, Drawing, point


def bricard() -> Model:
    """Bricard's mechanism (IFToMM benchmark A04): five rods of 1 kg along edges of a cube of 1 m, the sixth is the ground.

    Each joint is square to the next. Counting says that nothing can move; it can. Gravity is along -y.
    """
    cube = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], float)
    edges = np.roll(cube, -1, 0) - cube
    axes = np.cross(np.roll(edges, 1, 0), edges)
    rods = Drawing("bricard")
    for i in range(5):
        rod = solids.box(1.0, np.where(edges[i] == 0, 0.1, 1.0), center=edges[i] / 2, color=(BLUE, GOLD)[i % 2])
        rods.body(f"rod{i + 1}", f"rod{i}" if i else None, cube[i], Revolute(axis=tuple(axes[i])), **rod)
    rods.loop("last", None, "rod5", cube[5], Revolute(axis=tuple(axes[5])))
    rods.frame("P3", "rod2", cube[2])
    return rods.model()


def governor() -> Model:
    """Watt's governor (IFToMM benchmark A05, with rods where that has springs): balls of 5 kg lift a slider of 3 kg.

    Shaft and arms are 1 m long and 1 cm thick, of 3000 kg/m³; the arms hang 30° below level. Gravity is along -z.
    """
    swing, tilt = Revolute(axis=(0, 1, 0)), np.radians(30.0)
    top, slider = point((0, 0, 1)), point((0, 0, 0.5))
    watt = Drawing("governor", (0.0, 0.0, -9.81))

    def rod(end, color):
        length = float(np.linalg.norm(end))
        return solids.rod(3000.0 * 0.01**2 * length, end) | {"visuals": solids.capsule(1.0, 0.018, end, color=color)["visuals"]}

    watt.body("shaft", None, (0, 0, 0), Revolute(damping=0.05), **rod(top, STEEL))
    block = solids.box(3.0, (0.1, 0.1, 0.1), color=GOLD)
    watt.body("slider", "shaft", slider, Prismatic(axis=(0, 0, 1), damping=2.0), **block)
    for side, sign in (("left", -1.0), ("right", 1.0)):
        arm = np.array([sign * np.cos(tilt), 0, -np.sin(tilt)])
        ball = solids.point(5.0, arm) | {"visuals": solids.sphere(1.0, 0.1, arm, color=RED)["visuals"]}
        watt.body(f"{side}_arm", "shaft", top, swing, **solids.together(rod(arm, BLUE), ball))
        watt.body(f"{side}_rod", f"{side}_arm", top + arm / 2, swing, **rod(slider - top - arm / 2, DARK))
        watt.loop(f"{side}_collar", "slider", f"{side}_rod", slider, swing)
    return watt.model()


def differential() -> Model:
    """The differential of a car: a cage with a bevel gear between two half shafts, which turn as much more as less.

    The wheels turn on the cage by the bevel gear's angle, one forwards, one backwards. The axle is along x; sizes and
    masses are those of no car in particular.
    """
    axle, gear = Revolute(axis=(1, 0, 0)), 0.06
    car = Builder("differential", (0.0, 0.0, -9.81))
    ring = solids.cylinder(3.0, 0.14, 0.03, center=(-0.1, 0, 0), axis=(1, 0, 0), color=GOLD)
    arm = solids.box(0.5, (0.2, 0.03, 0.02), center=(0, 0, 0.1), color=GOLD)
    car.body("cage", joint=axle, **solids.together(ring, arm))
    bevel = solids.together(
        solids.cylinder(0.2, gear, 0.015, color=RED), solids.box(0.05, (0.11, 0.02, 0.02), center=(0, 0, 0.008), color=DARK)
    )
    car.body("bevel", "cage", (0, 0, gear + 0.01), Revolute(), **bevel)
    for side, sign in (("left", -1.0), ("right", 1.0)):
        shaft = solids.cylinder(2.0, 0.012, 0.5, center=(sign * 0.25, 0, 0), axis=(1, 0, 0), color=STEEL)
        pinion = solids.cylinder(0.3, gear, 0.015, axis=(1, 0, 0), color=BLUE)
        tyre = solids.cylinder(8.0, 0.3, 0.12, center=(sign * 0.5, 0, 0), axis=(1, 0, 0), color=DARK)
        spokes = [solids.box(0.5, (0.14, y, z), center=(sign * 0.5, 0, 0), color=STEEL) for y, z in ((0.44, 0.05), (0.05, 0.44))]
        car.body(f"{side}_wheel", "cage", (sign * (gear + 0.01), 0, 0), axle, **solids.together(shaft, pinion, tyre, *spokes))
        car.couple(f"{side}_wheel_joint", "bevel_joint", (0.0, -sign), f"{side}_teeth")
    return car.model()
