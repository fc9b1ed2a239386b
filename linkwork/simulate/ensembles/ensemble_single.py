"""Ensembles in which joints strike limits, stick and slip, or events change the state: each sample is a single run, one after another.

The steps of a sample are compiled code as those of a single run are, and what happens between them is handled in Python.
"""

from dataclasses import replace
from time import monotonic

import numpy as np

from ...errors import LinkworkError, SimulationError
from ..events.events import Event
from ..requests.grid import Grid
from ..requests.progress import Progress
from ..requests.settings import Settings
from ..requests.start_state import unit_quaternions
from ..runs.run import Run
from ..state import State
from ..trajectory import Trajectory
from .ensemble import FAILED, STOPPED, Ensemble, EventTimes
from .ensemble_block import MAX_STEPS
from .ensemble_request import arrays_of, store_of


class SingleRuns:
    """Samples of an ensemble that are simulated one after another."""

    def __init__(self, robot, state, settings: Settings, start: float, until: float, store):
        self.robot, self.start, self.until = robot, start, until
        self.store = store_of(settings, store, bool(settings.events))
        every, dense = 1 << 60 if self.store == "last" else 1, None if self.store == "grid" else False
        self.settings = replace(settings, progress=False, dense=dense, every=every)
        self.progress = settings.progress
        self.Q, self.V, _, self.batch = arrays_of(robot, state, [], {})
        self.grid = Grid(start, settings.dt, start, until)

    def go(self) -> Ensemble:
        """All samples; those that Ctrl-C or the deadline has not let finish are "stopped" and as they began."""
        n = len(self.Q)
        status, said = np.full(n, STOPPED, "<U8"), [""] * n
        t, q, v = np.full(n, self.start), self.Q.copy(), self.V.copy()
        steps, rejected = np.zeros(n, int), np.zeros(n, int)
        count = self.grid.number(self.until) + 1 if self.store == "grid" else 0
        on_grid = [np.full((n, count, x.shape[1]), np.nan) for x in (self.Q, self.V)]
        ragged = [(t[:0], q[0, None][:0], v[0, None][:0]) if n else () for _ in range(n)]
        seen: list[tuple[int, float, str]] = []
        deadline = self.settings.deadline
        progress, errors = Progress(0.0, float(n), self.progress), []
        for i in range(n):
            try:
                made = self._run(i, deadline)
            except LinkworkError as error:
                status[i], said[i] = FAILED, str(error)
                errors.append(error)
                continue
            except KeyboardInterrupt:
                break
            if made.status == STOPPED:
                break
            status[i], said[i], t[i] = made.status, made.message, made.t[-1]
            q[i], v[i], steps[i], rejected[i] = made.q[-1], made.v[-1], made.steps, made.rejected
            seen += [(i, x.t, x.name) for x in made.events]
            if self.store == "grid":
                numbers = self.grid.numbers(made.t)
                at = np.abs(self.grid.times(numbers) - made.t) <= self.grid.slack
                for stored, x in zip(on_grid, (made.q, made.v)):
                    stored[i, numbers[at]] = x[at]  # of two rows at one time the later
            elif self.store == "steps":
                ragged[i] = made.t, made.q, made.v
            progress.update(float(i + 1))
        progress.close()
        if errors and len(errors) == n:
            raise errors[0]

        def shaped(x):
            return x.reshape((*self.batch, *x.shape[1:]))

        events = {name: self._times(name, seen, shaped) for name in dict.fromkeys([*self._names(), *(x for _, _, x in seen)])}
        t, q, v, status, steps, rejected, reasons = map(shaped, (t, q, v, status, steps, rejected, np.zeros(n)))
        rows = ragged if self.store == "steps" else None
        found = Ensemble(self.robot, t, q, v, status, steps, rejected, reasons, events=events, ragged=rows, said=said)
        if self.store != "grid":
            return found
        times = self.grid.times(np.arange(count))
        times = np.where(times > self.until - self.grid.slack, self.until, times)
        return replace(found, times=times, Q=shaped(on_grid[0]), V=shaped(on_grid[1]))

    def _run(self, i: int, deadline: float) -> Trajectory:
        timeout = None if self.settings.timeout is None else max(deadline - monotonic(), 1e-9)
        settings = replace(self.settings, timeout=timeout, max_steps=self.settings.max_steps or MAX_STEPS)
        q, v = self.Q[i].copy(), self.V[i].copy()
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise SimulationError("its state is not finite.")
        q = unit_quaternions(self.robot, q)
        state = State(self.start, 0.0, q, v, start=self.start, next_step=settings.first_step)
        run = Run(self.robot, settings, state, self.until)
        run.go()
        return Trajectory.of(run)

    def _names(self) -> list[str]:
        return [x.name if isinstance(x, Event) else getattr(x, "__name__", "event") for x in self.settings.events]

    def _times(self, name: str, seen: list, shaped) -> EventTimes:
        first, count = np.full(len(self.Q), np.nan), np.zeros(len(self.Q), int)
        for i, t, what in seen:
            if what == name:
                first[i], count[i] = np.fmin(first[i], t), count[i] + 1
        return EventTimes(shaped(first), shaped(count))
