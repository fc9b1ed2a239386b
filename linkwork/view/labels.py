"""Names and units of the entries of q, v and tau."""

from collections.abc import Iterator
from dataclasses import dataclass

from ..joints import Joint
from ..lie.group import Additive
from ..model import Model

WHAT = "q", "v", "tau"
AXES = "xyz"


@dataclass(frozen=True)
class Label:
    joint: str
    part: str  # which of several entries of the joint; empty if there is one
    unit: str
    rate: bool = True  # are velocities of the joint the rates of its coordinates, one by one?

    def __str__(self) -> str:
        return f"{self.joint} {self.part}".rstrip()


def labels(model: Model, what: str) -> list[Label]:
    """One for each entry of q, v or tau."""
    return [
        Label(name, part, unit, isinstance(joint.group, Additive))
        for placed in model.joints
        for name, joint in joints_of(placed)
        for part, unit in _entries(joint, what)
    ]


def joints_of(placed) -> Iterator[tuple[str, Joint]]:
    """The joints that make up a joint, each with its own name."""
    for part, joint, _ in placed.joint.parts:
        yield (placed.name if not part else f"{placed.name}.{part}" if part.isdigit() else part), joint


def _entries(joint: Joint, what: str) -> list[tuple[str, str]]:
    """Name and unit of each entry of q, v or tau of a joint: among the coordinates a quaternion stands in place of three rotations."""
    units = [each[WHAT.index(what)] for each in joint.units]
    entries = [(_letter(row, what, i) if joint.nv > 1 else "", unit) for i, (row, unit) in enumerate(zip(joint.group.basis, units))]
    if what != "q" or not joint.group.units:
        return entries
    return [(letter, "") for letter in ("qx", "qy", "qz", "qw")] + [(letter, unit) for letter, unit in entries if unit == "m"]


def _letter(twist, what: str, i: int) -> str:
    """A letter for the i-th velocity of a joint by the first nonzero entry of its twist; a mode, which has no twist, by its number."""
    if not twist.any():
        return f"η{i + 1}"
    first = int(twist.nonzero()[0][0])
    return AXES[first - 3] if first >= 3 else "θ" if what == "q" else "ω" + AXES[first]
