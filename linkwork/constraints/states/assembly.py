"""Assembly: from a guess to a configuration in which every loop is closed."""

from collections.abc import Callable, Iterable

import numpy as np

from ...errors import ConstraintError
from ..rows.rank import RANK
from ..rows.set import ConstraintSet
from ..solution.arguments import sample_by_sample
from ..solution.return_to import ROUNDING, closed
from ..systems.local_loops import LocalLoops

TURN = 0.5  # radians, or sizes of the mechanism, that one step may go: so that a branch of assembly is kept
STEPS = 200
CLOSED = 1e-12
MOST = 1e-3  # of a radian or of the mechanism's size: constraints that miss each other by more are a mistake


def assemble(set_: ConstraintSet, q, *, hold: Iterable[str | int] = (), t: float = 0.0, tolerance: float = CLOSED) -> np.ndarray:
    """q with c(q, t) = 0, near the guess, by Gauss and Newton on the group:

        q ← q ∘ exp(−Jc⁺ c)                        steps of least length, shortened while they do not help

    Lengths count against the size of the mechanism, so that it does not matter what units they are in. Modal coordinates count by
    how far they deform their bodies: these bend only where joints cannot close the loops.
    Joints in `hold` stay as they are. Raises with the constraints that remain open if there is no such q nearby. Constraints that
    contradict each other by no more than the tolerance are met in the least-squares sense.
    """
    q, free = np.array(q, float), set_.not_held(hold)
    if q.ndim > 1:
        return sample_by_sample(lambda q: (assemble(set_, q, hold=hold, t=t, tolerance=tolerance),), [q], [1], [0])[0]

    def shortest(q, rows, least):
        dv, keep = np.zeros(len(free)), set_.holonomic
        columns = (set_.yielding * rows.Jc / set_.scale[:, None])[keep][:, free]
        dv[free] = -set_.yielding[free] * np.linalg.lstsq(columns, (rows.c / set_.scale)[keep], rcond=least)[0]
        return dv

    q, left = closing(set_, q, t, shortest, tolerance)
    if not left <= tolerance and not set_.misfit((rows := set_.rows(q, t=t)).c) <= tolerance:
        motion = set_.motion(q, t=t)
        more = "".join(dict.fromkeys(x.complaint(motion) for x in set_.constraints if x.holonomic))
        held = f" with {', '.join(map(str, hold))} held" if hold else ""
        raise ConstraintError(
            f"{set_.robot.model.name} cannot be assembled from this guess{held}: "
            f"open are {', '.join(set_.bad(rows.c, tolerance))}.{more}{stuck(set_, rows, free)}"
        )
    return q


def closing(set_: ConstraintSet, q, t, step: Callable, tolerance: float):
    """One q with c(q, t) as near to zero as it gets, and how far it is: by steps(q, rows, least singular value), shortened while they do
    not help, or are so long that a branch of assembly may be left."""

    def towards(q):
        rows = set_.rows_on_trial(q, t=t)
        if not np.isfinite(rows.c).all():  # a search has gone too far
            return np.zeros(len(set_.reach)), np.inf, 0.0
        set_.check_numbers(rows, q)
        misfit = float(set_.misfit(rows.c))
        if misfit <= ROUNDING:
            return np.zeros(len(set_.reach)), 0.0, ROUNDING
        dv = step(q, rows, max(RANK, 10 * min(tolerance, misfit)))  # rows that differ by less than may be left are one
        longest = np.abs(dv / set_.reach).max(initial=0.0)
        return -dv * min(1.0, TURN / max(longest, 1e-300)), np.linalg.norm(rows.c / set_.scale), ROUNDING

    return closed(towards, set_.robot.integrate, q, STEPS)


def each_loop(set_: ConstraintSet, loops: LocalLoops, q, tolerance: float = CLOSED) -> np.ndarray:
    """The same of a long mechanism, whose loops are closed each by itself."""
    q = np.array(q, float)
    if q.ndim > 1:
        return sample_by_sample(lambda q: (each_loop(set_, loops, q, tolerance),), [q], [1], [0])[0]
    there = loops.closed(q)
    c = loops.along(there, np.zeros(set_.robot.nv))[0]
    if not set_.misfit(c) <= tolerance:
        name = set_.robot.model.name
        raise ConstraintError(f"{name} cannot be assembled from this guess: open are {', '.join(set_.bad(c, tolerance)[:5])}.")
    return there


def stuck(set_: ConstraintSet, rows, free) -> str:
    """What to say where no motion brings constraints nearer to each other."""
    left = contradiction(set_, rows, free)
    if not 0.5 * set_.misfit(rows.c) < left <= MOST:
        return ""
    return (
        f" They contradict each other by {left:.3g} here: assemble(q, tolerance={2 * left:.0g}) and "
        f"simulate(..., loops=lw.Project(tolerance={2 * left:.0g})) meet them in the least-squares sense."
    )


def contradiction(set_: ConstraintSet, rows, free=None) -> float:
    """The part of c that no velocity changes, against its scale."""
    keep = set_.holonomic
    Jc, c = set_.without_units(rows.Jc)[keep], (rows.c / set_.scale)[keep]
    if not len(c):
        return 0.0
    Jc = Jc if free is None else Jc[:, free]
    U, sigma, _ = np.linalg.svd(Jc, full_matrices=False)
    U = U[:, sigma > max(RANK, 10 * float(set_.misfit(rows.c))) * sigma.max(initial=0.0)]
    return float(np.abs(c - U @ (U.T @ c)).max())
