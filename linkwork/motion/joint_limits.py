"""Limits and other properties of joints, one for each coordinate or velocity."""

from dataclasses import dataclass
from math import inf

import numpy as np

from ..lie.group import Additive
from ..model.check import part_rows


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
    """Returns the limits of all joints whose coordinates add: angles and lengths along an axis."""
    return robot.made.once(lambda: _limits(robot))


def _limits(robot) -> list[Limit]:
    names = {robot.v_index(name).start: name for name in robot.joints}
    out = []
    for placed, _, part, q, v in part_rows(robot.model.joints):
        if isinstance(part.group, Additive):
            for side, bounds in ((1.0, part.each("lower", -inf)), (-1.0, part.each("upper", inf))):
                for i in np.flatnonzero(np.isfinite(bounds)):
                    out.append(Limit(names.get(v.start, placed.name), q.start + int(i), v.start + int(i), side, float(bounds[i])))
    return out


def each_velocity(robot, name: str) -> np.ndarray:
    """Returns a property of the joints, one number per velocity."""

    def values() -> np.ndarray:
        each = np.concatenate([np.zeros(0), *(part.each(name) for _, _, part, _, _ in part_rows(robot.model.joints))])
        each.flags.writeable = False
        return each

    return robot.made.once(values, name)
