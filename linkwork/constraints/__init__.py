"""Loops, couplings and rolling: what binds the velocities of a mechanism beyond its tree of joints."""

from ..errors import ConstraintError, ModelError
from ..model import Bond, Distance, Driven, Holonomic, KnifeEdge, Linear, Model, Pfaffian, Rolling, Touching
from ..operators.aggregation import Aggregate, aggregated, substructured
from .constrained import Constrained
from .report import Report
from .rows.distance_rows import holder, point, where
from .rows.rows import Constraint, Rows
from .rows.set import ConstraintSet, rows_of
from .solution.reduced import Reduced
from .systems.embedded_view import Embedded
from .systems.forces import Forces

__all__ = [
    # a robot with constraints, and what it knows
    "Constrained", "ConstraintError", "ConstraintSet", "Embedded", "Forces", "Reduced", "Report", "Rows", "of", "rows_of",
    # constraints
    "Bond", "Constraint", "Distance", "Driven", "Holonomic", "KnifeEdge", "Linear", "Pfaffian", "Rolling", "Touching",
    # nodes and places
    "Aggregate", "aggregated", "holder", "point", "substructured", "where",
]  # fmt: skip


def of(robot, *more: Constraint, tolerance: float | None = None) -> Constrained:
    """A robot with the active loops, couplings and constraints of its model, and more if given; with a tolerance where they may
    contradict each other by that, of a radian or of the mechanism's size."""
    if not isinstance(getattr(robot, "model", None), Model):
        raise ModelError(f"constraints.of takes a robot, lw.Dynamics(model), and then constraints; got a {type(robot).__name__} first.")
    return Constrained(robot, *more) if tolerance is None else Constrained(robot, *more).tolerating(tolerance)
