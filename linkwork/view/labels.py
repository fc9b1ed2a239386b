"""What the numbers of q, v and tau are called, and in which unit they are."""

from collections.abc import Iterator
from dataclasses import dataclass

from ..joints import Joint
from ..model import Model

UNITS = {"q": ("rad", "m"), "v": ("rad/s", "m/s"), "tau": ("N m", "N")}  # turning, sliding
AXES = "xyz"


@dataclass(frozen=True)
class Label:
    joint: str
    part: str  # which of several numbers of the joint; empty where there is one
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
    """The joints that make up a joint, each with a name of its own."""
    for part, joint, _ in placed.joint.parts:
        yield (placed.name if not part else f"{placed.name}.{part}" if part.isdigit() else part), joint


def _velocities(joint: Joint, what: str) -> list[tuple[str, str]]:
    """Each velocity turns or slides: the first entry of its twist that is not zero tells."""
    first = [int(row.nonzero()[0][0]) for row in joint.group.basis]
    letters = [("ω" if i < 3 else "") + AXES[i % 3] for i in first]
    if what == "q":
        letters = ["θ" if i < 3 else AXES[i % 3] for i in first]
    return [(letter if len(first) > 1 else "", UNITS[what][i >= 3]) for letter, i in zip(letters, first)]


def _coordinates(joint: Joint) -> list[tuple[str, str]]:
    """As the velocities, but a unit quaternion stands for three turns."""
    if not joint.group.units:
        return _velocities(joint, "q")
    quaternion = [(letter, "") for letter in ("qx", "qy", "qz", "qw")]
    return quaternion + [(letter, unit) for letter, unit in _velocities(joint, "q") if unit == "m"]
