"""Names and units of the entries of q, v and tau."""

from collections.abc import Iterator
from dataclasses import dataclass

from ..joints import Joint
from ..model import Model

UNITS = {"q": ("rad", "m"), "v": ("rad/s", "m/s"), "tau": ("N m", "N")}  # rotational, translational
AXES = "xyz"


@dataclass(frozen=True)
class Label:
    joint: str
    part: str  # which of several entries of the joint; empty if there is one
    unit: str

    def __str__(self) -> str:
        return f"{self.joint} {self.part}".rstrip()


def labels(model: Model, what: str) -> list[Label]:
    """One for each entry of q, v or tau."""
    return [
        Label(name, part, unit)
        for placed in model.joints
        for name, joint in joints_of(placed)
        for part, unit in (_coordinates(joint) if what == "q" else _velocities(joint, what))
    ]


def joints_of(placed) -> Iterator[tuple[str, Joint]]:
    """The joints that make up a joint, each with its own name."""
    for part, joint, _ in placed.joint.parts:
        yield (placed.name if not part else f"{placed.name}.{part}" if part.isdigit() else part), joint


def _velocities(joint: Joint, what: str) -> list[tuple[str, str]]:
    """Name and unit of each velocity: rotational or translational by the first nonzero entry of its twist."""
    first = [int(row.nonzero()[0][0]) for row in joint.group.basis]
    letters = [("ω" if i < 3 else "") + AXES[i % 3] for i in first]
    if what == "q":
        letters = ["θ" if i < 3 else AXES[i % 3] for i in first]
    return [(letter if len(first) > 1 else "", UNITS[what][i >= 3]) for letter, i in zip(letters, first)]


def _coordinates(joint: Joint) -> list[tuple[str, str]]:
    """Name and unit of each coordinate: as for the velocities, but a quaternion in place of three rotations."""
    if not joint.group.units:
        return _velocities(joint, "q")
    quaternion = [(letter, "") for letter in ("qx", "qy", "qz", "qw")]
    return quaternion + [(letter, unit) for letter, unit in _velocities(joint, "q") if unit == "m"]
