"""Assembly: from a guess to a configuration in which every loop is closed."""

from collections.abc import Iterable

import numpy as np

from ..errors import ConstraintError
from .rank import RANK
from .set import ConstraintSet

TURN = 0.5  # radians, or metres times the inverse size, that one step may go: so that a branch of assembly is kept
STEPS = 200
CLOSED = 1e-12


def assemble(set_: ConstraintSet, q, *, hold: Iterable[str | int] = (), t: float = 0.0, tolerance: float = CLOSED) -> np.ndarray:
    """q with c(q, t) = 0, near the guess, by Gauss and Newton on the group:

        q ← q ∘ exp(−Jc⁺ c)                        steps of least length, shortened while they do not help

    Joints in `hold` stay as they are. Raises with the constraints that remain open if there is no such q nearby.
    """
    robot = set_.robot
    q = np.array(q, float)
    free = set_.not_held(hold)
    if q.ndim > 1:
        flat = [assemble(set_, x, hold=hold, t=t, tolerance=tolerance) for x in q.reshape(-1, q.shape[-1])]
        return np.array(flat).reshape(q.shape)
    rows = set_.rows(q, t=t)
    size = np.linalg.norm(rows.c / set_.scale)
    for _ in range(STEPS):
        if set_.misfit(rows.c) <= 1e-15:
            break
        dv = np.zeros(len(free))
        keep = set_.holonomic
        dv[free] = -np.linalg.lstsq((rows.Jc / set_.scale[:, None])[keep][:, free], (rows.c / set_.scale)[keep], rcond=RANK)[0]
        step = min(1.0, TURN / max(np.abs(dv).max(initial=0.0), 1e-300))
        while step > 1e-6:
            there = robot.integrate(q, step * dv)
            after = set_.rows(there, t=t)
            if np.linalg.norm(after.c / set_.scale) < size * (1 - 1e-4 * step):
                break
            step /= 2
        else:
            break
        q, rows, size = there, after, np.linalg.norm(after.c / set_.scale)
    if not set_.misfit(rows.c) <= tolerance:
        motion = set_.motion(q, t=t)
        more = "".join(dict.fromkeys(x.complaint(motion) for x in set_.constraints if x.holonomic))
        held = f" with {', '.join(map(str, hold))} held" if hold else ""
        raise ConstraintError(
            f"{robot.model.name} cannot be assembled from this guess{held}: "
            f"open are {', '.join(set_.bad(rows.c, tolerance))}.{more}"
        )
    return q
