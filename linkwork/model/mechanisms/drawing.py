"""A mechanism drawn as it stands: places are points of the world, so that every loop is closed at q = 0."""

import numpy as np

from ...errors import ModelError
from ...joints import Joint, Revolute
from ...spatial import Pose
from .. import solids
from ..builder import Builder
from ..model import Model
from ..parts import Shape
from ..sections import positive

PIN = Revolute()
ALONG = np.array([1.0, 0.0, 0.0])
STEEL_DENSITY = 7850.0
STEEL, DARK = (0.62, 0.64, 0.68, 1.0), (0.2, 0.2, 0.22, 1.0)
BLUE, RED, GOLD = (0.25, 0.45, 0.7, 1.0), (0.75, 0.3, 0.25, 1.0), (0.85, 0.6, 0.2, 1.0)
GREEN, VIOLET = (0.35, 0.6, 0.35, 1.0), (0.6, 0.45, 0.65, 1.0)
ORANGE, GREY = (0.85, 0.5, 0.2, 1.0), (0.55, 0.55, 0.55, 1.0)


class Drawing:
    """Collects bodies whose frames are parallel to the world's at q = 0, with origins at their joints."""

    def __init__(self, name: str, gravity=(0.0, -9.81, 0.0)):
        self.builder = Builder(name, gravity)
        self._origin: dict[str | None, np.ndarray] = {None: np.zeros(3)}

    def body(self, name: str, parent: str | None, at, joint: Joint, **solid) -> None:
        """A body on its parent (None: the world), its joint at a point of the world; the solid is seen from there."""
        self.builder.body(name, parent, point(at) - self._origin[parent], joint, **solid)
        self._origin[name] = point(at)

    def bar(
        self, name: str, parent: str | None, at, *ends, width: float, layer: int = 0, color=None, mass: float | None = None
    ) -> None:
        """A bar about a pin in the plane x y to an end, or a triangle of bars to two; `layer` says who is in front.

        It is of steel unless its mass is given.
        """
        corners = [point(end) - point(at) for end in (at, *ends)]
        self.body(name, parent, at, PIN, **bars(corners, width, layer, color, mass))

    def frame(self, name: str, body: str, at) -> None:
        self.builder.frame(name, body, point(at) - self._origin[body])

    def loop(self, name: str, parent: str | None, child: str, at, joint: Joint = PIN, *, on=None) -> None:
        """Close a loop at a point of the world; the child's point is drawn elsewhere, at `on`, if the loop is open at q = 0."""
        here, there = point(at), point(at if on is None else on)
        self.builder.loop(name, parent, child, joint, at=here - self._origin[parent], on=there - self._origin[child])

    def model(self) -> Model:
        return self.builder.model()


def bars(corners, width: float, layer: int, color, mass: float | None = None) -> solids.Solid:
    """Slender bars around the corners, as wide as they are thick, of steel or of this mass; in front of each other only to the eye."""
    edges = list(zip(corners, [*corners[1:], corners[0]]))[: len(corners) if len(corners) > 2 else 1]
    lengths = [float(np.linalg.norm(b - a)) for a, b in edges]
    density = STEEL_DENSITY * width**2 if mass is None else mass / sum(lengths)
    whole = solids.together(*(solids.rod(density * length, b, a) for (a, b), length in zip(edges, lengths)))
    front = Pose.of((0.0, 0.0, 1.2 * layer * width))
    looks = [Shape("box", (length, width, width), front @ along(a, b), color) for (a, b), length in zip(edges, lengths)]
    looks += [Shape("cylinder", (0.75 * width, 1.3 * width), front @ Pose.of(corner), DARK) for corner in corners]
    return solids.Solid(mass=whole["mass"], center=whole["center"], tensor=whole["tensor"], visuals=tuple(looks))


def along(a, b) -> Pose:
    """Half way between two points of the plane, x from one to the other."""
    x, y, _ = b - a
    return Pose.rpy((a + b) / 2, (0, 0, np.arctan2(y, x)))


def point(x) -> np.ndarray:
    """A point of the plane, or of space."""
    return np.array([*x, 0.0][:3], float)


def counted(mechanism: str, n: int) -> None:
    """How many equal parts a mechanism has."""
    if not isinstance(n, int) or n < 1:
        raise ModelError(f"{mechanism} has {n!r} parts; it takes a whole number from 1.")


def of_bodies(mechanism: str, what: str, values, *bodies: str, default=None) -> tuple:
    """What each of these bodies has, its mass say, in this order; the default where no values are given."""
    if values is None:
        return (None,) * len(bodies) if default is None else default
    given = tuple(np.atleast_1d(values).tolist())
    if len(given) != len(bodies):
        raise ModelError(f"{mechanism} takes the {what} of {', '.join(bodies)}: {len(bodies)} numbers, not {len(given)}.")
    positive(mechanism, **{f"the {what} of the {body}": x for body, x in zip(bodies, given)})
    return given


def in_a_row(system: Builder, n: int, joint: Joint, link: solids.Solid, end, frame: str) -> Model:
    """The model with n equal links, each on the end of the one before; a frame is at the last end."""
    counted(system.name, n)
    for i in range(1, n + 1):
        parent, at = (f"link{i - 1}", end) if i > 1 else (None, None)
        system.body(f"link{i}", parent, at, joint, joint_name=f"joint{i}", **link)
    return system.frame(frame, f"link{n}", end).model()


def turned(reach: float, angle: float) -> np.ndarray:
    """The point at this distance from the origin in the plane, at an angle from x; exact for quarter turns."""
    return Pose.rpy((0, 0, 0), (0, 0, angle)).rotation @ (reach, 0.0, 0.0)


def meeting(a, reach_a: float, b, reach_b: float, mechanism: str = "the mechanism") -> np.ndarray:
    """The point at these distances from two points, to the left of the way from a to b."""
    a, b = point(a), point(b)
    way = b - a
    d = np.linalg.norm(way)
    if not abs(reach_a - reach_b) <= d <= reach_a + reach_b or d == 0:
        raise ModelError(
            f"{mechanism} does not close as drawn: bars of {reach_a:g} m and {reach_b:g} m cannot meet with their other ends "
            f"{d:g} m apart. Change their lengths, or how it stands at q = 0."
        )
    along = (d * d + reach_a**2 - reach_b**2) / (2 * d)
    return a + (along * way + np.sqrt(reach_a**2 - along**2) * np.array([-way[1], way[0], 0.0])) / d
