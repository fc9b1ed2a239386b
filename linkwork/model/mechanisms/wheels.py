"""Things that roll on the plane z = 0 without slipping."""

from ...joints import Compound, Free, Planar, Prismatic, Revolute
from ...spatial import Pose
from .. import solids
from ..builder import Builder
from ..model import Model
from .drawing import BLUE, DARK, GOLD, STEEL, of_bodies, positive

ACROSS = (0.0, 1.0, 0.0)
FLAT = Compound(row=(("x", Prismatic(axis=(1.0, 0.0, 0.0))), ("y", Prismatic(axis=ACROSS)), ("turn", Revolute())))


def rolling_disk(*, radius: float = 0.0375, mass: float = 0.4, thickness: float = 0.005) -> Model:
    """Moffatt's disk, 400 g and 7.5 cm across, on its edge at q = 0: it rolls, and never leaves the table."""
    positive("rolling_disk", radius=radius, mass=mass, thickness=thickness)
    system = Builder("rolling_disk")
    corners = [(0.15, 0.15), (-0.15, 0.15), (-0.15, -0.15), (0.15, -0.15)]
    rim = [solids.capsule(1.0, 0.004, (x, y, 0.0), (-y, x, 0.0), STEEL) for x, y in corners]
    system.body("table", visuals=solids.together(*rim)["visuals"])
    disk = solids.cylinder(mass, radius, thickness, color=GOLD)
    mark = solids.box(0.0, (1.2 * radius, 0.2 * radius, 1.2 * thickness), color=DARK)
    on_edge = Pose.rpy((0.0, 0.0, radius), (1.5707963267948966, 0.0, 0.0))
    system.body("disk", None, on_edge, Free(), **solids.together(disk, mark))
    system.roll("roll", "disk", radius)
    return system.model()


def snakeboard(*, half_length: float = 0.2, masses=None, moments=None, separate: bool = False) -> Model:
    """The snakeboard of Ostrowski, Lewis, Murray and Burdick: 6 kg, wheels at 0.2 m that steer, a rider that turns.

    Moments are 0.016 of the board, 0.072 of the rider and 0.0013 kg m² of each pair of wheels, which do not slip sideways;
    how the 6 kg are shared out is an estimate. `masses` and `moments` are those of board, rider and one pair of wheels. `separate`
    gives each of the four bodies a place x, y and an angle of its own, and loops pin them together: twelve coordinates.
    """
    positive("snakeboard", half_length=half_length)
    bodies = "board", "rider", "wheels"
    board, rider, wheels = zip(
        of_bodies("snakeboard", "mass", masses, *bodies, default=(5.0, 0.8, 0.1)),
        of_bodies("snakeboard", "moment", moments, *bodies, default=(0.016, 0.072, 0.0013)),
    )
    size = half_length / 0.2
    system = Builder("snakeboard")
    deck = solids.box(1.0, (size * 0.36, 0.08, 0.02), center=(0.0, 0.0, 0.06), color=BLUE)["visuals"]
    system.body("board", joint=FLAT if separate else Planar(), **_part(*board, deck))
    arms = solids.capsule(1.0, 0.02, (0.0, 0.2, 0.18), (0.0, -0.2, 0.18), color=GOLD)["visuals"]
    axle = solids.capsule(1.0, 0.008, (0.0, 0.08, 0.03), (0.0, -0.08, 0.03), color=STEEL)["visuals"]
    looks = (*axle, *(shape for y in (-0.08, 0.08) for shape in solids.cylinder(1.0, 0.03, 0.02, (0.0, y, 0.03), ACROSS, DARK)["visuals"]))
    parts = [("rider", 0.0, rider, arms), ("front", half_length, wheels, looks), ("back", -half_length, wheels, looks)]
    for name, x, part, shapes in parts:
        if separate:
            system.body(name, None, (x, 0.0, 0.0), FLAT, **_part(*part, shapes))
            system.loop(f"{name}_pin", "board", name, Revolute(), at=(x, 0.0, 0.0))
        else:
            system.body(name, "board", (x, 0.0, 0.0), Revolute(), **_part(*part, shapes))
        if name != "rider":
            system.skate(f"{name}_wheels", name, ACROSS)
    return system.model()


def _part(mass: float, moment: float, visuals) -> solids.Solid:
    return solids.Solid(mass=mass, center=(0.0, 0.0, 0.0), tensor=(moment, moment, moment), visuals=visuals)  # type: ignore[typeddict-item]
