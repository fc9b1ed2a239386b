"""Loops, couplings and rolling: what binds the velocities of a mechanism beyond its tree of joints."""

from .aggregation import Aggregate, aggregated, substructured
from .constrained import Constrained
from .couplings import Linear
from .embedding import Embedded, Embedding
from .forces import Forces
from .kkt import kkt
from .nonholonomic import KnifeEdge, Pfaffian, Rolling, Touching
from .points import Distance
from .reduced import Reduced
from .report import Report
from .rheonomic import Driven, Holonomic
from .rows import Constraint, Rows
from .set import ConstraintError, ConstraintSet
from .simulation import Path, simulate

__all__ = [
    "Aggregate",
    "Constrained",
    "Constraint",
    "ConstraintError",
    "ConstraintSet",
    "Distance",
    "Driven",
    "Embedded",
    "Embedding",
    "Forces",
    "Holonomic",
    "KnifeEdge",
    "Linear",
    "Path",
    "Pfaffian",
    "Reduced",
    "Report",
    "Rolling",
    "Rows",
    "Touching",
    "aggregated",
    "kkt",
    "of",
    "simulate",
    "substructured",
]


def of(robot, *more: Constraint) -> Constrained:
    """A robot with the active loops and couplings of its model, and more constraints if given."""
    return Constrained(robot, *more)
