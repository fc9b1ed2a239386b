"""What a mechanism is made of, as plain frozen data."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..errors import ModelError, ModelWarning, did_you_mean
from ..joints import Joint
from ..lie.scalars import numbers
from ..spatial import Pose, is_physical

ORIGIN = Pose()
SIZES = {"sphere": 1, "capsule": 2, "ellipsoid": 3, "cylinder": 2, "box": 3, "plane": 0, "mesh": 3}  # numbers in the size of each kind
ROUNDING = 1e-12  # of the largest inertia of a mechanism
ZERO = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


@dataclass(frozen=True)
class Material:
    """How a surface touches: Coulomb friction, Newton's restitution, compliance in m/N and damping in N s/m of a contact that is not
    rigid. Of two surfaces the larger friction counts, with combine="min" the smaller; the one of higher priority decides alone."""

    friction: float = 1.0
    restitution: float = 0.0
    compliance: float = 0.0
    damping: float = 0.0
    combine: str = "max"
    priority: int = 0

    def __post_init__(self):
        for what in ("friction", "restitution", "compliance", "damping"):
            value = numbers(getattr(self, what))
            if value.ndim or not 0 <= value < np.inf or (what == "restitution" and value > 1):
                range_of = "from 0 to 1" if what == "restitution" else "not negative"
                raise ModelError(f"a material has {what} {getattr(self, what)}; it takes a finite number, {range_of}.")
            object.__setattr__(self, what, float(value))
        if self.combine not in ("max", "min"):
            raise ModelError(f'a material has combine "{self.combine}"; it may be "max" or "min".')


@dataclass(frozen=True)
class Shape:
    """Something to see or to collide with: box (x, y, z), sphere (r,), cylinder and capsule (r, length), ellipsoid
    (a, b, c), plane (), mesh (scale x, y, z) with the file's name as it was written and, if found, as a path.

    Axes of cylinders and capsules are z, and z is the normal of a plane. Two shapes may collide if the group of one and the mask of
    the other have a bit in common.
    """

    kind: str
    size: tuple[float, ...] = ()
    pose: Pose = ORIGIN
    color: tuple[float, float, float, float] | None = None
    mesh: str | None = None
    path: str | None = None
    name: str = ""
    material: Material | None = None
    group: int = 1
    mask: int = 1

    def __post_init__(self):
        name = f' "{self.name}"' if self.name else ""
        if self.kind not in SIZES:
            raise ModelError(f'shape{name} has the kind "{self.kind}"; there are {", ".join(SIZES)}.{did_you_mean(str(self.kind), SIZES)}')
        size, count = numbers(self.size), SIZES[self.kind]
        least = {"ellipsoid": np.nextafter(0, 1), "mesh": -np.inf}.get(self.kind, 0.0)
        fits = size.shape == (count,) or (self.kind == "mesh" and size.shape == (0,))
        if not (fits and np.isfinite(size).all() and (size >= least).all()):
            signs = {"ellipsoid": ", positive", "mesh": ""}.get(self.kind, ", not negative" if count else "")
            raise ModelError(f"{self.kind}{name} has size {self.size}; it takes {count} finite number{'s' * (count != 1)}{signs}.")


@dataclass(frozen=True)
class Body:
    """A rigid body: mass, centre of mass and the tensor about it, in the body's own frame."""

    name: str
    mass: float = 0.0
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    tensor: tuple[tuple[float, float, float], ...] = ZERO
    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()

    def __post_init__(self):
        mass, center, tensor = numbers(self.mass), numbers(self.center), numbers(self.tensor)
        if tensor.shape == (3,):
            tensor = np.diag(tensor)
        if center.shape != (3,) or tensor.shape != (3, 3):
            raise ModelError(
                f'body "{self.name}" has a centre of shape {center.shape} and a tensor of shape {tensor.shape}; '
                "it takes a centre (3,) and a tensor (3, 3) or its diagonal (3,)."
            )
        if mass.ndim:
            raise ModelError(f'body "{self.name}" has mass {self.mass}; it takes one number.')
        if not (np.isfinite(mass) and np.isfinite(center).all() and np.isfinite(tensor).all()):
            raise ModelError(f'body "{self.name}" has a mass, centre or tensor that is not finite.')
        if mass < 0:
            raise ModelError(f'body "{self.name}" has mass {self.mass} kg; it may not be negative.')
        if np.abs(tensor - tensor.T).max() > 1e-9 * np.abs(tensor).max(initial=0.0):
            raise ModelError(f'body "{self.name}" has a tensor that is not symmetric.')
        object.__setattr__(self, "mass", float(mass))
        object.__setattr__(self, "center", tuple(map(float, center)))
        object.__setattr__(self, "tensor", tuple(tuple(map(float, row)) for row in (tensor + tensor.T) / 2))

    @property
    def complaint(self) -> str | None:
        """Why no real body can have this tensor, or None."""
        if is_physical(self.mass, np.asarray(self.tensor)):
            return None
        moments = sorted(np.linalg.eigvalsh(np.asarray(self.tensor)), reverse=True)
        said = ", ".join(f"{x:.6g}" for x in moments)
        if moments[-1] < 0:
            return f'"{self.name}" has principal moments {said} kg m²; none may be negative.'
        return f'"{self.name}" has principal moments {said} kg m²; the largest may not exceed the sum of the others.'


def complaints(bodies: Iterable[Body]) -> list[str]:
    """Why some of these bodies can be no real ones. A tensor that is rounding beside those of the others is none."""
    bodies = list(bodies)
    sizes = [np.abs(body.tensor).max() for body in bodies]
    scale = max([*sizes, *(body.mass * np.dot(body.center, body.center) for body in bodies)], default=0.0)
    return [said for body, size in zip(bodies, sizes) if size > ROUNDING * scale and (said := body.complaint)]


def check_tensors(name: str, bodies: Iterable[Body], *, strict: bool | None) -> list[str]:
    """Complaints about bodies that can be no real ones: an error if `strict`, a warning at the line that called the caller if not, only
    returned if None."""
    wrong = complaints(bodies)
    if wrong and strict:
        raise ModelError(f"{name}: {' '.join(wrong)}")
    if wrong and strict is not None:
        message = "\n  ".join((f"{name} has inertias that no rigid body can have; they are used unchanged:", *wrong))
        warnings.warn(message, ModelWarning, stacklevel=3)
    return wrong


@dataclass(frozen=True)
class PlacedJoint:
    """A joint in its place: `at` on the parent (None is the world), `on` the child, both poses of the joint's frame."""

    name: str
    parent: str | None
    child: str
    joint: Joint
    at: Pose = ORIGIN
    on: Pose = ORIGIN


@dataclass(frozen=True)
class Frame:
    """A named place on a body: a tool, a sensor, an attachment."""

    name: str
    body: str
    pose: Pose = ORIGIN


@dataclass(frozen=True)
class Loop:
    """A joint that closes a loop: it allows what its joint type allows between two frames, as a joint would."""

    name: str
    parent: str | None
    child: str
    joint: Joint
    at: Pose = ORIGIN
    on: Pose = ORIGIN
    active: bool = True


@dataclass(frozen=True)
class Coupling:
    """One joint's coordinate as a polynomial of another's: q(joint) = c0 + c1 q(of) + c2 q(of)² ...

    With `of` None it is the constant c0. A part of a joint that has several goes by its own name or as "hip.yaw".
    """

    name: str
    joint: str
    of: str | None
    coefficients: tuple[float, ...] = (0.0, 1.0)
    active: bool = True
