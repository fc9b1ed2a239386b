"""The state of a run between two steps, to which it goes back when it is stopped within a step: as if that had not begun."""

from copy import copy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .run import Run

PRESENT = "t", "late", "q", "v", "vdot", "tau", "count", "steps", "repeats"


class Checkpoint:
    """All that a step may change, of a run between two steps."""

    def __init__(self, run: "Run"):
        stops, stored = run.flow.stops, run.stored
        self.present = {name: getattr(run, name) for name in PRESENT}
        self.parts = run.integrator.snapshot(), run.controls.snapshot(), run.detector.snapshot(), copy(run.keeper)
        self.stops = None if stops is None else stops.snapshot()
        self.occurrences, self.number = len(run.occurrences), stored.number
        self.counts = [(x, x.n) for x in (stored.rows, stored.forces, stored.dense.steps, stored.dense.ends) if x is not None]

    def restore(self, run: "Run") -> None:
        """Make a run that has ended the one it was; it makes no more steps."""
        for name, x in self.present.items():
            setattr(run, name, x)
        run.integrator, run.controls, run.detector, run.keeper = self.parts
        run.flow.stops, run.stored.number = self.stops, self.number
        del run.occurrences[self.occurrences :]
        for rows, n in self.counts:
            rows.n = n
