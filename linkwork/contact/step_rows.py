"""Rows of steps with contact beside contacts, joint limits and dry friction: a function makes them of each robot that has them."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from .kinds import Kind

ROWS: dict[str, Callable] = {}  # by the names of the functions that make them


class StepRows(ABC):
    """So many rows of one kind."""

    count: int

    @abstractmethod
    def rows(self, system, q):
        """Gaps (..., count) and rows J (..., count, nv) at a configuration, over any scalar."""

    @abstractmethod
    def kind(self, gap, u, g, h) -> Kind:
        """The rows in a step of length h (...), with velocities u where their forces are zero, and their own compliance g (..., count)."""


def rows_in_steps(make: Callable) -> Callable:
    """Steps of a robot have the rows that `make` returns of it; None where it has none."""
    ROWS[make.__name__] = make
    return make


def rows_of(robot) -> tuple[StepRows, ...]:
    """The rows of somebody else's kinds in steps of a robot."""
    return tuple(rows for make in ROWS.values() if (rows := make(robot)) is not None)
