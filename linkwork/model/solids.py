"""Uniform solids: the mass, centre and tensor of simple shapes, and how they look, as Builder.body takes them.

    arm.body("link", joint=lw.Revolute(), **solids.box(2.0, (0.1, 0.1, 0.5), center=(0, 0, 0.25)))
"""

from collections.abc import Mapping
from typing import Any, TypedDict

import numpy as np

from ..errors import ModelError
from ..spatial import Pose, parallel_axis
from .parts import Body, Shape

ORIGIN = (0.0, 0.0, 0.0)


class Solid(TypedDict):
    """Keyword arguments of Builder.body."""

    mass: float
    center: tuple[float, float, float]
    tensor: tuple[tuple[float, float, float], ...]
    visuals: tuple[Shape, ...]


def point(mass: float, at=ORIGIN) -> Solid:
    """A particle."""
    return _solid(mass, at, np.zeros(3))


def box(mass: float, size, center=ORIGIN, color=None) -> Solid:
    """A block with edges x, y, z along the axes:  m/12 (y² + z², z² + x², x² + y²)."""
    x, y, z = size = _lengths("box", size)
    tensor = mass / 12 * np.array([y * y + z * z, z * z + x * x, x * x + y * y])
    return _solid(mass, center, tensor, Shape("box", size, Pose.of(center), color))


def ellipsoid(mass: float, radii, center=ORIGIN, color=None) -> Solid:
    """With semi-axes a, b, c along the axes:  m/5 (b² + c², c² + a², a² + b²)."""
    a, b, c = radii = _lengths("ellipsoid", radii)
    tensor = mass / 5 * np.array([b * b + c * c, c * c + a * a, a * a + b * b])
    return _solid(mass, center, tensor, Shape("ellipsoid", radii, Pose.of(center), color))


def sphere(mass: float, radius: float, center=ORIGIN, color=None) -> Solid:
    """A ball:  2/5 m r²."""
    (r,) = _lengths("sphere", (radius,))
    return _solid(mass, center, 2 / 5 * mass * r * r * np.ones(3), Shape("sphere", (r,), Pose.of(center), color))


def cylinder(mass: float, radius: float, length: float, center=ORIGIN, axis=(0.0, 0.0, 1.0), color=None) -> Solid:
    """About its axis m r²/2, across it m (3r² + l²)/12; of length zero, a disc."""
    r, l = _lengths("cylinder", (radius, length))
    pose = Pose.of(center) @ Pose.turning_z_to(axis)
    tensor = _symmetric(mass * (3 * r * r + l * l) / 12, mass * r * r / 2, axis)
    return _solid(mass, center, tensor, Shape("cylinder", (r, l), pose, color))


def rod(mass: float, end, start=ORIGIN, color=None) -> Solid:
    """A slender rod from one point to another: nothing about its axis, m l²/12 across it. It looks l/20 thick."""
    axis, length = _between("rod", start, end)
    center = tuple((np.add(start, end)) / 2)
    look = cylinder(mass, length / 40, length, center, axis, color)["visuals"]
    return _solid(mass, center, _symmetric(mass * length**2 / 12, 0.0, axis), *look)


def capsule(mass: float, radius: float, end, start=ORIGIN, color=None) -> Solid:
    """A cylinder from one point to another with half a ball at each end.

        about its axis  m₁ r²/2 + 2/5 m₂ r²,  across it  m₁ (3r² + l²)/12 + m₂ (2/5 r² + 3/8 l r + l²/4)

    where m₁ and m₂ are the masses of the cylinder and of both halves of the ball.
    """
    (r,), (axis, l) = _lengths("capsule", (radius,)), _between("capsule", start, end)
    m1 = mass * l / (l + 4 / 3 * r)
    m2 = mass - m1
    about = m1 * r * r / 2 + m2 * 2 / 5 * r * r
    across = m1 * (3 * r * r + l * l) / 12 + m2 * (2 / 5 * r * r + 3 / 8 * l * r + l * l / 4)
    center = tuple(np.add(start, end) / 2)
    pose = Pose.of(center) @ Pose.turning_z_to(axis)
    return _solid(mass, center, _symmetric(across, about, axis), Shape("capsule", (r, l), pose, color))


def together(*solids: Solid | Mapping[str, Any]) -> Solid:
    """Several solids as one body: masses add, tensors add about the common centre (Jain, 2.11).

    A solid may be a dict of your own with a mass and, unless they are zero, its center and tensor.
    """
    solids = tuple(map(_whole, solids))
    mass = sum(solid["mass"] for solid in solids)
    if not mass > 0:
        raise ModelError(f"solids together have mass {mass} kg; it must be positive, or they have no centre.")
    center = sum(solid["mass"] * np.array(solid["center"]) for solid in solids) / mass
    tensor = sum(
        parallel_axis(np.array(solid["tensor"]), solid["mass"], np.array(solid["center"]) - center) for solid in solids
    )
    return _solid(mass, center, tensor, *(shape for solid in solids for shape in solid["visuals"]))


def _whole(given) -> Solid:
    """A solid from what a user gives for one, or an error."""
    if not isinstance(given, Mapping) or "mass" not in given or not given.keys() <= Solid.__annotations__.keys():
        what = f"a dict with {', '.join(map(str, given))}" if isinstance(given, Mapping) else repr(given)
        known = ", ".join(Solid.__annotations__)
        raise ModelError(f"together was given {what}; it takes solids such as solids.box(...), or dicts of {known}.")
    body = Body("a solid", given["mass"], given.get("center", ORIGIN), given.get("tensor", ORIGIN))
    return Solid(mass=body.mass, center=body.center, tensor=body.tensor, visuals=tuple(given.get("visuals", ())))


def _solid(mass, center, tensor, *visuals: Shape) -> Solid:
    tensor = np.diag(tensor) if np.ndim(tensor) == 1 else tensor
    x, y, z = map(float, center)
    rows = tuple((float(a), float(b), float(c)) for a, b, c in tensor)
    return Solid(mass=float(mass), center=(x, y, z), tensor=rows, visuals=visuals)


def _symmetric(across, about, axis):
    """The tensor of a solid of revolution: `about` its axis, `across` it."""
    n = np.asarray(axis, float) / np.linalg.norm(axis)
    return across * np.eye(3) + (about - across) * np.outer(n, n)


def _between(kind, start, end):
    """Direction and distance from one point to another."""
    axis = np.subtract(end, start, dtype=float)
    length = float(np.linalg.norm(axis))
    if not 0 < length < np.inf:
        raise ModelError(f"a {kind} goes from {start} to {end}; it takes two different points.")
    return axis / length, length


def _lengths(kind, values):
    if not all(np.isfinite(x) and x >= 0 for x in values):
        raise ModelError(f"a {kind} has lengths {tuple(values)}; they must be finite and not negative.")
    return tuple(map(float, values))
