from dataclasses import dataclass

from ..errors import ModelError
from ..lie import Group
from ..spatial import Pose
from .joint import Joint


@dataclass(frozen=True, kw_only=True)
class Compound(Joint):
    """Joints in series without mass between them: q and v are those of the parts, inboard first.

    Each part is a joint, (name, joint) or (name, joint, pose on the part before).
    """

    row: tuple

    def __post_init__(self):
        parts = []
        for i, part in enumerate(self.row):
            name, joint, *placement = (str(i + 1), part) if isinstance(part, Joint) else part
            if not isinstance(joint, Joint):
                raise ModelError(f"part {i + 1} of a compound joint is {joint!r}; a part is a joint or (name, joint[, pose]).")
            parts.append((name, joint, Pose.of(*placement) if placement else Pose()))
        object.__setattr__(self, "row", tuple(parts))

    @property
    def group(self) -> Group:
        raise ModelError("a compound joint has no group; its parts have.")

    @property
    def parts(self):
        return tuple(
            (name if not inner else f"{name}.{inner}", joint, placement @ at)
            for name, outer, placement in self.row
            for inner, joint, at in outer.parts
        )

    @property
    def nq(self) -> int:
        return sum(joint.nq for _, joint, _ in self.parts)

    @property
    def nv(self) -> int:
        return sum(joint.nv for _, joint, _ in self.parts)

