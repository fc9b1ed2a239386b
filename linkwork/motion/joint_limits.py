"""Limits and other properties of joints, one for each coordinate or velocity."""

from dataclasses import dataclass
from math import inf

import numpy as np

from ..lie.group import Additive


@dataclass(frozen=True)
class Limit:
    """side (q[row] − bound) ≥ 0: side is 1 for a lower limit, −1 for an upper one."""

    joint: str
    row: int
    rate: int  # its row in v
    side: float
    bound: float

    @property
    def name(self) -> str:
        return f"{self.joint} at its {'lower' if self.side > 0 else 'upper'} limit"


def limits_of(robot) -> list[Limit]:
    """The limits of all joints whose coordinates add: angles and lengths along an axis."""
    names = {robot.v_index(name).start: name for name in robot.joints}
    out, nq, nv = [], 0, 0
    for placed in robot.model.joints:
        for _, joint, _ in placed.joint.parts:
            if isinstance(joint.group, Additive):
                for side, bounds in ((1.0, joint.each("lower", -inf)), (-1.0, joint.each("upper", inf))):
                    for i in np.flatnonzero(np.isfinite(bounds)):
                        name = names.get(nv, placed.name)
                        out.append(Limit(name, nq + int(i), nv + int(i), side, float(bounds[i])))
            nq, nv = nq + joint.nq, nv + joint.nv
    return out


def each_velocity(robot, name: str) -> np.ndarray:
    """A property of the joints, one number per velocity."""
    parts = [part.each(name) for placed in robot.model.joints for _, part, _ in placed.joint.parts]
    return np.concatenate([np.zeros(0), *parts])
