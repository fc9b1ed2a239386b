"""What a run stores: its rows, with the forces of contacts where it goes event by event, and the motion within its steps."""

import numpy as np

from ...contact.cone import norm
from ..methods.contact import ContactFlow, ContactLog, ContactRecord
from ..methods.flow import Flow
from ..methods.record import Growing, Record
from ..methods.step import Step
from ..requests.grid import Grid
from ..requests.settings import Settings
from ..state import State
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
        self.contacts = ContactLog(flow.law.contacts) if isinstance(flow, ContactFlow) else None  # of each step
        self.number = grid.number(t)  # of the last time of the grid that has a row

    @property
    def place(self) -> tuple:
        """How far it is written, to which `cut` goes back."""
        kept = self.rows, self.forces, self.contacts, self.dense.steps, self.dense.ends
        return self.number, [(x, x.n) for x in kept if x is not None]

    def cut(self, place: tuple) -> None:
        """Take back what was written since."""
        self.number, counts = place
        for rows, n in counts:
            rows.n = n

    def state(self, s: State, row: bool = True) -> None:
        """Store a state: as a row, and as the end of a step for dense output."""
        if row:
            self.row(s)
        if self.settings.fixed and self.dense.ends is not self.rows:
            self.dense.end(s.t, s.q, s.v, s.vdot, s.tau)

    def row(self, s: State) -> None:
        self.rows.add(s.t, s.q, s.v, s.vdot, s.tau)
        if self.forces is not None:
            self.forces.add(self.flow.contact_forces(s.t, s.q, s.v))

    def amend(self, s: State) -> None:
        """Replace vdot and tau of the last row, which is of this state: the forces have changed there."""
        self.rows.amend(s.t, s.vdot, s.tau)
        if self.forces is not None and self.rows.n and self.rows.last == s.t:
            self.forces.n -= 1
            self.forces.add(self.flow.contact_forces(s.t, s.q, s.v))
        self.dense.amend(s.t, s.vdot, s.tau)

    def step(self, s: State, step: Step, x: float, tau) -> None:
        """Keep the polynomial of a step from a state, of which the fraction x was made, and its contacts; tau is that after it."""
        if self.contacts is not None and step.contact is not None:
            self.contacts.add(*(step.contact[name] for name in self.contacts.names))
        if not self.settings.fixed:
            self.dense.step(s, step, x, tau)

    def many(self, steps, first: int) -> None:
        """Store compiled steps, the first of which has this number in the run: the rows that are wanted, and the motion within."""
        self.dense.many(steps)
        if self.contacts is not None and steps.contact is not None and len(steps):
            self.contacts.extend(*(steps.contact[name] for name in self.contacts.names))
        if self.settings.fixed and self.dense.ends is not self.rows:
            for row in zip(steps.t[1:], steps.q[1:], steps.v[1:], steps.vdot[1:], steps.tau[1:]):
                self.dense.end(*row)
        if self.settings.stores_grid:
            self._on_grid(steps)
            return
        numbers = np.arange(1, len(steps) + 1)
        rows = numbers[(first + numbers - 1) % self.settings.every == 0]
        self.rows.extend(*(x[rows] for x in (steps.t, steps.q, steps.v, steps.vdot, steps.tau)))
        self._no_forces(len(rows))

    def _no_forces(self, rows: int) -> None:
        """Rows of compiled steps, in which no contact point is closed."""
        if self.forces is not None:
            self.forces.extend(np.zeros((rows, len(self.flow.robot.contacts), 3)))

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
        self._no_forces(len(times))

    @property
    def next_row(self) -> float:
        """The time from which on a step has rows at multiples of dt within it."""
        return self.grid.time(self.number + 1)[0] - self.grid.slack if self.settings.stores_grid else np.inf

    def up_to(self, end: float, s: State, step: Step) -> None:
        """Where rows are at multiples of dt, store those after the last row, up to a time within the step from a state."""
        if not self.settings.stores_grid:
            return
        last, self.number = self.number, max(self.number, self.grid.number(end))
        times = np.array([self.grid.time(k)[0] for k in range(last + 1, self.number + 1)])
        times = np.where(times > end - self.grid.slack, end, times)
        if len(times):
            x = np.minimum(((times - s.t) - s.late) / step.h, 1.0)
            for t, q, v in zip(times, *self.flow.within(s.t, step, x)):
                vdot, tau = self.flow.at(t, q, v)
                self.row(s._replace(t=t, q=q, v=v, vdot=vdot, tau=tau))

    @property
    def note(self) -> str:
        """What is to be said of contacts that are not solved."""
        return "" if self.contacts is None else self.contacts.note

    @property
    def contact(self) -> ContactRecord | None:
        """Contacts of the steps, or of the rows where the run goes event by event."""
        if self.contacts is not None:
            return self.contacts.record
        if self.forces is None:
            return None
        robot, rows, force = self.flow.robot, self.rows.columns(), self.forces.columns()["force"]
        out = np.maximum(-force[..., 0], norm(force[..., 1:]) - robot.contacts.friction * force[..., 0]).max(-1)
        largest = np.abs(force).max((-2, -1))
        residual = np.maximum(out, 0.0) / np.where(largest > 0, largest, 1.0)
        return ContactRecord(rows["t"], robot.contact_gaps(rows["q"]), force, residual, np.zeros(len(force)))
