"""Things that roll on the plane z = 0 without slipping."""

from ...joints import Free, Planar, Revolute
from ...spatial import Pose
from .. import solids
from ..builder import Builder
from ..model import Model
from .drawing import BLUE, DARK, GOLD, STEEL

ACROSS = (0.0, 1.0, 0.0)


def rolling_disk() -> Model:
    """Moffatt's disk, 400 g and 7.5 cm across, on its edge at q = 0: it rolls, and never leaves the table."""
    radius = 0.0375
    system = Builder("rolling_disk")
    corners = [(0.15, 0.15), (-0.15, 0.15), (-0.15, -0.15), (0.15, -0.15)]
    rim = [solids.capsule(1.0, 0.004, (x, y, 0.0), (-y, x, 0.0), STEEL) for x, y in corners]
    system.body("table", visuals=solids.together(*rim)["visuals"])
    disk = solids.cylinder(0.4, radius, 0.005, color=GOLD)
    mark = solids.box(0.0, (1.2 * radius, 0.2 * radius, 0.006), color=DARK)
    on_edge = Pose.rpy((0.0, 0.0, radius), (1.5707963267948966, 0.0, 0.0))
    system.body("disk", None, on_edge, Free(), **solids.together(disk, mark))
    system.roll("roll", "disk", radius)
    return system.model()


def snakeboard() -> Model:
    """The snakeboard of Ostrowski, Lewis, Murray and Burdick: 6 kg, wheels at 0.2 m that steer, a rider that turns.

    Moments are 0.016 of the board, 0.072 of the rider and 0.0013 kg m² of each pair of wheels, which do not slip sideways;
    how the 6 kg are shared out is an estimate.
    """
    system = Builder("snakeboard")
    deck = solids.box(1.0, (0.36, 0.08, 0.02), center=(0.0, 0.0, 0.06), color=BLUE)["visuals"]
    system.body("board", joint=Planar(), mass=5.0, tensor=(0.016, 0.016, 0.016), visuals=deck)
    arms = solids.capsule(1.0, 0.02, (0.0, 0.2, 0.18), (0.0, -0.2, 0.18), color=GOLD)["visuals"]
    system.body("rider", "board", joint=Revolute(), mass=0.8, tensor=(0.072, 0.072, 0.072), visuals=arms)
    for name, x in (("front", 0.2), ("back", -0.2)):
        axle = solids.capsule(1.0, 0.008, (0.0, 0.08, 0.03), (0.0, -0.08, 0.03), color=STEEL)["visuals"]
        wheels = (solids.cylinder(1.0, 0.03, 0.02, (0.0, y, 0.03), ACROSS, DARK)["visuals"] for y in (-0.08, 0.08))
        looks = (*axle, *(shape for wheel in wheels for shape in wheel))
        system.body(name, "board", (x, 0.0, 0.0), Revolute(), mass=0.1, tensor=(0.0013, 0.0013, 0.0013), visuals=looks)
        system.skate(f"{name}_wheels", name, ACROSS)
    return system.model()
