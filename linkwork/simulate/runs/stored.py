"""What a run stores: its rows, with the forces of contacts where it goes event by event, and the motion within its steps."""

import numpy as np

from ...contact.solver.cone import norm
from ..methods.contact import ContactRecord
from ..methods.flow import Flow
from ..methods.record import Growing, Record
from ..methods.step import Step
from ..requests.grid import Grid
from ..requests.settings import Settings
from ..storage.dense import DenseRecord


class Stored:
    """The rows and the dense output of a run that starts at time t."""

    def __init__(self, flow: Flow, settings: Settings, grid: Grid, t: float):
        self.flow, self.settings, self.grid = flow, settings, grid
        self.rows = Record(flow.robot)
        points = None if flow.stops is None else flow.stops.points
        self.forces = None if points is None else Growing({"force": (points.n, 3)})  # of contacts, of each row
        by_rows = settings.fixed or (settings.dense is False and settings.method != "dop853")  # whose order a quartic does not have
        every_end = by_rows and settings.every == 1 and not settings.stores_grid
        self.dense = DenseRecord(flow.robot, settings.dense, self.rows if every_end else None, bool(flow.controls.holds))
        self.number = grid.number(t)  # of the last time of the grid that has a row

    def state(self, t: float, q, v, vdot, tau, row: bool = True) -> None:
        """Store a state: as a row, and as the end of a step for dense output."""
        if row:
            self.row(t, q, v, vdot, tau)
        if self.settings.fixed and self.dense.ends is not self.rows:
            self.dense.end(t, q, v, vdot, tau)

    def row(self, t: float, q, v, vdot, tau) -> None:
        self.rows.add(t, q, v, vdot, tau)
        if self.forces is not None:
            self.forces.add(self.flow.contact_forces(t, q, v))

    def amend(self, t: float, vdot, tau) -> None:
        """Replace vdot and tau at time t: the forces have changed there."""
        self.rows.amend(t, vdot, tau)
        if self.forces is not None and self.rows.n and self.rows.last == t:
            _, q, v, *_ = (x[self.rows.n - 1] for x in self.rows.arrays)
            self.forces.n -= 1
            self.forces.add(self.flow.contact_forces(t, q, v))
        self.dense.amend(t, vdot, tau)

    def step(self, t: float, late: float, step: Step, x: float, before, after) -> None:
        """Keep the polynomial of a step from t + late, of which the fraction x was made; tau before and after it."""
        if not self.settings.fixed:
            self.dense.step(t, late, step, x, before, after)

    def many(self, steps, first: int) -> None:
        """Store compiled steps, the first of which has this number in the run: the rows that are wanted, and the motion within."""
        self.dense.many(steps)
        if self.settings.fixed and self.dense.ends is not self.rows:
            for row in zip(steps.t[1:], steps.q[1:], steps.v[1:], steps.vdot[1:], steps.tau[1:]):
                self.dense.end(*row)
        if self.settings.stores_grid:
            self._on_grid(steps)
            return
        numbers = np.arange(1, len(steps) + 1)
        rows = numbers[(first + numbers - 1) % self.settings.every == 0]
        self.rows.extend(*(x[rows] for x in (steps.t, steps.q, steps.v, steps.vdot, steps.tau)))

    def _on_grid(self, steps) -> None:
        """The rows at multiples of dt after the last row, up to the end of these steps."""
        at_ends = self.grid.numbers(steps.t[1:])
        last, self.number = self.number, max(self.number, int(at_ends[-1]))
        numbers = np.arange(last + 1, self.number + 1)
        if not len(numbers):
            return
        i = np.searchsorted(at_ends, numbers)
        ends, times = steps.t[i + 1], self.grid.times(numbers)
        times = np.where(times > ends - self.grid.slack, ends, times)
        x = np.minimum(((times - steps.t[i]) - steps.late[i]) / steps.h[i], 1.0)
        xi, v = steps.at(i, x)
        q, v = self.flow.keeper.back(times, self.flow.integrate(steps.q[i], xi), v)
        self.rows.extend(times, q, v, *self.flow.at_many(times, q, v))

    @property
    def next_row(self) -> float:
        """The time from which on a step has rows at multiples of dt within it."""
        return self.grid.time(self.number + 1)[0] - self.grid.slack if self.settings.stores_grid else np.inf

    def up_to(self, end: float, t: float, late: float, step: Step) -> None:
        """Where rows are at multiples of dt, store those after the last row, up to a time within the step from t + late."""
        if not self.settings.stores_grid:
            return
        last, self.number = self.number, max(self.number, self.grid.number(end))
        times = np.array([self.grid.time(k)[0] for k in range(last + 1, self.number + 1)])
        times = np.where(times > end - self.grid.slack, end, times)
        if len(times):
            x = np.minimum(((times - t) - late) / step.h, 1.0)
            for at, q, v in zip(times, *self.flow.within(t, step, x)):
                self.row(at, q, v, *self.flow.at(at, q, v))

    @property
    def contact(self) -> ContactRecord | None:
        """Gaps and forces of the rows of a run that goes event by event."""
        if self.forces is None:
            return None
        robot, rows, force = self.flow.robot, self.rows.columns(), self.forces.columns()["force"]
        out = np.maximum(-force[..., 0], norm(force[..., 1:]) - robot.contacts.friction * force[..., 0]).max(-1)
        largest = np.abs(force).max((-2, -1))
        residual = np.maximum(out, 0.0) / np.where(largest > 0, largest, 1.0)
        return ContactRecord(rows["t"], robot.contact_gaps(rows["q"]), force, residual, np.zeros(len(force)))
