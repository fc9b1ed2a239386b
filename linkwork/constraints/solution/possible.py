"""Accelerations that constraints allow: Jc v̇ + γ = 0."""

import numpy as np

from ...errors import ConstraintError
from ..rows.rank import Factored
from ..rows.rows import Rows
from ..rows.set import ConstraintSet
from .augmented import INCONSISTENT, check_closed
from .multipliers import rank_tolerance

FORCES = 1e-8  # of the forces: what may be left of them that nothing gives
SINGLE = 1e-3  # the same, of forces and of accelerations, where float32 came in
NOTHING = 1e-12  # radians, or sizes of the mechanism, a second squared: no acceleration


def tolerance_of(kind, double: float) -> float:
    return SINGLE if kind == np.float32 else double


def check_possible(set_: ConstraintSet, rows: Rows, v, vdot, kind=np.float64) -> None:
    """v̇ keeps the constraints, but for rounding; or it is said by how much it does not."""
    Jc, left = set_.without_units(rows.Jc), (np.matvec(rows.Jc, vdot) + rows.gamma) / set_.scale
    speeds = (np.abs(vdot) + np.abs(v) * np.abs(v) / set_.reach) / set_.reach
    size = np.matvec(np.abs(Jc), speeds).max(-1, initial=0.0) + np.abs(rows.gamma / set_.scale).max(-1, initial=0.0) + NOTHING
    allowed = np.maximum(tolerance_of(kind, INCONSISTENT), 100 * set_.misfit(rows.c)) * size
    wrong = ~(np.abs(left) <= np.asarray(allowed)[..., None])
    if wrong.any():
        many = f" (in {wrong.any(-1).sum()} of {wrong[..., 0].size} samples)" if wrong.ndim > 1 else ""
        raise ConstraintError(
            f"vdot is no acceleration of {set_.robot.model.name} in this state: it breaks {set_.names_of(wrong)} by "
            f"{np.abs(left * set_.scale).max():.3g}{many}. robot.constraints.possible(q, v, vdot) is the nearest that keeps them."
        )


def possible(set_: ConstraintSet, q, v, vdot, t=0.0, kind=np.float64):
    """The acceleration nearest to v̇ that keeps the constraints; lengths count against the size of the mechanism."""
    rows = set_.rows(q, v, t)
    check_closed(set_, rows)
    factored = Factored(set_.without_units(rows.Jc), rank_tolerance(set_, rows))
    step, _ = factored.preimage((np.matvec(rows.Jc, vdot) + rows.gamma) / set_.scale)
    return vdot - set_.reach * step
