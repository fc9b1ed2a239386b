"""Loops, couplings and rolling: what binds the velocities of a mechanism beyond its tree of joints."""

from .constrained import Constrained
from .couplings import Linear
from .forces import Forces
from .kkt import kkt
from .points import Distance
from .report import Report
from .rows import Constraint, Rows
from .set import ConstraintError, ConstraintSet

__all__ = [
    "Constrained",
    "Constraint",
    "ConstraintError",
    "ConstraintSet",
    "Distance",
    "Forces",
    "Linear",
    "Report",
    "Rows",
    "kkt",
    "of",
]


def of(robot, *more: Constraint) -> Constrained:
    """A robot with the active loops and couplings of its model, and more constraints if given."""
    return Constrained(robot, *more)
