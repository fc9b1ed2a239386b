"""One run, from a state to a time: it starts, makes steps up to events or to their ends, and says how it ended."""

from dataclasses import replace
from time import monotonic

import numpy as np

from ...dynamics import Dynamics
from ...errors import ConstraintError
from ..events.events import EventDetector, Occurrence
from ..methods.contact import ContactFlow, ContactMidpoint, ContactRecord
from ..methods.flow import Flow
from ..methods.pairs import MOST_CREEPING, creeping
from ..methods.record import Record
from ..methods.step import Failure, Step
from ..rates.control import Controls
from ..rates.held import Keeper
from ..requests.grid import Grid, later
from ..requests.motion_checks import check_motion, check_projection, gets_nowhere, said_of, too_many_steps
from ..requests.progress import Progress
from ..requests.settings import ADAPTIVE, Carry, Settings
from ..rest.contact_events import Points
from ..rest.resting import choose, without_drift
from ..rest.stops import Stops
from .checkpoint import Checkpoint
from .compiled_steps import MOST, CompiledSteps, Request, Steps
from .fixed_steps import FixedSteps
from .interruptions import interrupt, note
from .stored import Stored

MAX_STEPS = 10_000_000  # of one run, unless `max_steps` says otherwise


class Run:
    """The present state and the objects that advance it. `go` makes all steps; `status` and `message` say how it ended."""

    def __init__(self, robot: Dynamics, settings: Settings, t: float, q, v, until: float, carry: Carry):
        self.robot, self.settings, self.until = robot, settings, until
        self.goes_on = carry.goes_on
        memory = carry.memory or {}
        stops = None
        if settings.method != "contact":  # where limits and dry friction are part of the contact problem
            law = "together" if settings.contact is None else settings.contact.impacts
            points = Points(robot, law, 0.0 if settings.fixed else settings.rtol) if len(robot.contacts) else None
            stops = Stops(robot, settings.restitution if settings.limits else None, memory.get("stops"), points)
            stops.check(q)
        self.controls = Controls(robot, settings.control, carry.held)
        self.keeper = Keeper(robot, settings.constraints, settings.keep, carry.embedding, settings.tolerance)
        if stops is None:
            self.flow: Flow = ContactFlow(robot, self.controls, settings, self.keeper)
        else:
            self.flow = Flow(robot, self.controls, settings.external, stops if stops.any else None, self.keeper)
        self.integrator = settings.integrator(self.flow, carry.next_step if carry.memory else carry.next_step or settings.first_step)
        self.integrator.remember(memory.get(settings.method))
        self.detector = EventDetector(self.flow, settings.events, memory.get("events"))
        self.compiled: CompiledSteps | FixedSteps | None = None
        if settings.fixed:
            self.compiled = FixedSteps.of(self.flow, self.integrator, settings)
        else:
            self.compiled = CompiledSteps.of(self.flow, self.integrator, settings, self.detector)
        known = self.compiled is not None and self.compiled.watches(self.detector)
        self.guarded = known and self.detector.any  # do compiled steps say in which of them something may happen?
        self.looks = settings.on_step is not None or not known  # is each step looked at?
        self.occurrences: list[Occurrence] = []
        self.status, self.message = "finished", ""
        self.error: Exception | None = None
        self.steps, self.repeats, self.max_steps = 0, 0, settings.most_steps(MAX_STEPS)
        self.t, self.late, self.q, self.v = t, carry.late, q, v
        self.grid = Grid(carry.grid, settings.dt, t, until)
        self.count = self.grid.number(t)
        self.stored = Stored(self.flow, settings, self.grid, t)
        self.next_step = self.integrator.next_step
        self.rates = carry.rates
        self.checkpoint: Checkpoint | None = None

    @property
    def record(self) -> Record:
        """The stored rows."""
        return self.stored.rows

    @property
    def contact(self) -> ContactRecord | None:
        """Contacts of the steps, or of the rows where the run goes event by event."""
        return self.integrator.contact if isinstance(self.integrator, ContactMidpoint) else self.stored.contact

    @property
    def carry(self) -> Carry:
        stops = self.flow.stops
        memory = {self.settings.method: self.integrator.memory, "stops": None if stops is None else stops.memory}
        memory |= {"events": self.detector.memory} if self.detector.any else {}
        return Carry(self.grid.start, self.late, self.next_step, self.controls.held, self.keeper.carry, memory)

    def go(self) -> None:
        progress, self.deadline = Progress(self.t, self.until, self.settings.progress), self.settings.deadline
        try:
            with np.errstate(all="ignore"):
                self._start()
                while self.t < self.until and self.status == "finished":
                    self.checkpoint = Checkpoint(self)
                    self._sample()
                    self._advance()
                    self.next_step = self.integrator.next_step
                    progress.update(self.t)
                    if self.t < self.until and self.status == "finished":
                        self._check_progress()
        except KeyboardInterrupt:
            if self.checkpoint is not None:
                self.checkpoint.restore(self)
            self.end("stopped", "stopped by Ctrl-C")
        except Failure as failure:
            self.end("failed", said_of(failure, self.robot, self.flow.trouble))
        except Exception as error:
            if not self.steps:
                raise
            self.error = error
            self.end("failed", f"{type(error).__name__}: {error}")
        finally:
            progress.close()
        if not self.record.n:
            self.stored.row(self.t, self.q, self.v, np.nan, np.nan)
        if self.status == "finished":
            self.message = self.keeper.note(self.t, self.q)
        self.message = self.message or self.detector.text
        if isinstance(self.integrator, ContactMidpoint):
            self.message = self.message or self.integrator.note
        if self.record.n and self.record.last != self.t:
            self.store()

    def store(self, row: bool = True) -> None:
        """Store the present state, as a row or as the end of a step only."""
        self.stored.state(self.t, self.q, self.v, self.vdot, self.tau, row)

    def end(self, status: str, reason: str) -> None:
        """End the run after this step."""
        self.status, self.message = status, f"t = {self.t:.9g} s: {reason}"

    def _check_progress(self) -> None:
        """End a run whose steps lead nowhere, are too many, or take too long."""
        if self.integrator.creeping >= MOST_CREEPING:
            raise gets_nowhere(self.integrator, self.v, self.vdot)
        if self.steps >= self.max_steps:
            raise too_many_steps(self.steps, self.v, self.settings.method in ADAPTIVE)
        if monotonic() >= self.deadline:
            self.end("stopped", f"stopped after {self.settings.timeout:g} s by timeout")

    def _start(self) -> None:
        self.q, self.v = self._closed()
        changed = self.controls.sample(self.t, self.q, self.v)
        if changed:
            self.integrator.restart(jump=False)
        self.flow.refresh()
        stops = self.flow.stops
        if stops is not None and (changed or not stops.chosen):
            self._choose(stops)
        self.vdot, self.tau = self.flow.at(self.t, self.q, self.v)
        if self.rates is not None and not changed:
            self.vdot, self.tau = self.rates
        self.store()
        check_motion(self.vdot, self.q, self.v)
        if self.detector.any and (changed or not self.detector.begun):
            self.detector.begin(self.t, self.q, self.v)

    def _closed(self):
        """The first state on the constraints; a state that is wrong raises, constraints that cannot be satisfied end the run."""
        if not self.goes_on:
            self.keeper.check_state(self.t, self.q, self.v)
        try:
            return self.keeper.start(self.t, self.q, self.v, self.goes_on)
        except ConstraintError as error:
            self.vdot, self.tau = np.full(self.robot.nv, np.nan), np.zeros(self.robot.nv)
            self.store()
            self.error = self.keeper.why(self.q, error)
            raise Failure(str(self.error)) from error

    def _sample(self) -> None:
        """Call the held controllers that are due; the forces change."""
        if self.controls.sample(self.t, self.q, self.v):
            before = self.v
            self.v = without_drift(self.flow.stops, self.t, self.q, self.v)
            self.flow.refresh()
            self.restart()
            if self.v is before:
                self.stored.amend(self.t, self.vdot, self.tau)
            else:  # contacts that the force closes
                self.store()

    def restart(self, just: int | None = None, rate: float = 0.0) -> None:
        """Continue from the present state with other forces or, after event `just`, another state; see EventDetector.begin."""
        if self.flow.stops is not None:
            self._choose(self.flow.stops)
        if isinstance(self.integrator, ContactMidpoint) and just is None and self.steps:
            self.tau = self.flow.forces(self.t, self.q, self.v)[0]  # v̇ remains the mean of the step that ended here
        else:
            self.vdot, self.tau = self.flow.at(self.t, self.q, self.v)
        self.integrator.restart(jump=just is not None)
        self.integrator.creeping = 0
        if self.detector.any:
            self.detector.begin(self.t, self.q, self.v, just, rate)

    def _choose(self, stops: Stops) -> None:
        """Find what is held at the present state; what strikes there does so."""
        before = self.q, self.v
        self.q, self.v = choose(stops, self.t, self.q, self.v, self.flow)
        self.occurrences += [Occurrence(self.t, name, *before) for name in stops.what_struck([])]

    def _advance(self) -> None:
        """Make steps in which nothing happens, or one step, or the part of it before an event that interrupts it."""
        steps, quiet = self._compiled_steps(), False
        if steps is not None and not self.looks:
            self._accept(steps.first(len(steps) - steps.found))
            if steps.error is not None:
                self.next_step = self.integrator.next_step
                self.checkpoint = Checkpoint(self)
                raise steps.error
            if not steps.found:
                return
        if steps is not None:
            self.flow.tau = steps.tau[-1] if steps.steers else self.tau
            step, quiet = steps.last(self.flow.tau), self.guarded and not steps.found
            t, late = float(steps.t[-1]), float(steps.late[-1])
        else:
            h, target, late = self._next_length()
            step = self._projected(self._step(h))
            t, rest = later(self.t, self.late, step.h)
            t, late = (target, late) if step.h == h or target - t <= 16 * np.spacing(abs(target)) else (t, rest)
        if quiet:
            self._passed(step.q[None], step.v[None])
        elif self.detector.any:
            for found in self.detector.find(self.t, self.q, self.v, step):
                if self.detector.interrupts(found.number):
                    interrupt(self, found, step)
                    return
                note(self, found, step)
        vdot, tau = step.rates or self.flow.at(t, step.q, step.v)
        check_motion(vdot, step.q, step.v)
        self.stored.up_to(t, self.t, self.late, step)
        self.stored.step(self.t, self.late, step, 1.0, self.tau, tau)
        self.t, self.late, self.q, self.v, self.vdot, self.tau = t, late, step.q, step.v, vdot, tau
        self.accept_step()
        if not self.settings.stores_grid:
            self.store(row=self.steps % self.settings.every == 0)

    def _step(self, h: float) -> Step:
        """One step that Python makes, of length h at most."""
        integrator, before = self.integrator, self.integrator.rejected
        step = integrator.step(self.t, self.q, self.v, self.vdot, h)
        start, s = self.grid.start, self.settings
        count = integrator.creeping + (integrator.rejected - before if integrator.creeping else 0)
        if not s.fixed:
            integrator.creeping = int(creeping(count, step.h, h, s.max_step, self.t - start, self.until - start))
        return step

    @property
    def _state(self) -> tuple:
        return self.t, self.late, self.q, self.v, self.vdot, self.tau

    def _compiled_steps(self) -> Steps | None:
        """The next steps, if compiled code makes them; one alone, if each is looked at."""
        if self.compiled is None or not self.compiled.serves:
            return None
        alert = self.detector.any and self.detector.alert
        most, grid, (h, target, late) = 1 if self.looks else int(min(self.max_steps - self.steps, MOST)), self.grid, self._next_length()
        regular = self.settings.fixed and h == self.settings.dt and abs(grid.time(self.count + 1)[0] - target) <= grid.slack
        stop, times = min(self.until, self.controls.next()), (grid.start, self.until)
        request = Request(
            self._state, h, target, late, regular, self.count, stop, times, grid.slack, most, alert, self.deadline, self.stored.next_row
        )
        steps = self.compiled.make(request)
        return steps if len(steps) else None

    def _passed(self, q, v) -> None:
        """Steps were made in which nothing happened; these are their ends."""
        self.detector.passed()
        if self.flow.stops is not None:
            self.flow.stops.passed(q, v)

    def _accept(self, steps: Steps) -> None:
        """Go to the end of compiled steps, which nothing looks at one by one."""
        if not len(steps):
            return
        if self.guarded:
            self._passed(steps.q[1:], steps.v[1:])
        self.stored.many(steps, self.steps + 1)
        self.t, self.late = float(steps.t[-1]), float(steps.late[-1])
        self.q, self.v, self.vdot = steps.q[-1], steps.v[-1], steps.vdot[-1]
        self.tau = self.flow.tau = steps.tau[-1] if steps.steers else self.tau
        self.steps += len(steps)
        self.count += len(steps) - 1

    def _projected(self, step: Step) -> Step:
        """A step whose end is on the constraints."""
        if self.keeper.held is None:
            return step
        resting = () if self.flow.stops is None else self.flow.stops.rest
        q, v = self.keeper.back(self.t + step.h, step.q, step.v, resting)
        rate = self.integrator.free_rate if isinstance(self.integrator, ContactMidpoint) else self.vdot
        from ...constraints.rows.driven_rows import DrivenRows  # only runs under constraints have one

        drives = [x for x in self.keeper.held.set.drives if isinstance(x, DrivenRows)]
        check_projection(self.settings, step, v, rate, drives)
        self.integrator.state_projected()
        return replace(step, q=q, v=v, rates=None)

    def accept_step(self) -> None:
        """Count a step that was made, whatever on_step says of the next one."""
        self.steps += 1
        try:
            if self.settings.on_step is not None and self.settings.on_step(self.t, self.q.copy(), self.v.copy()):
                self.end("stopped", "stopped by on_step")
        except KeyboardInterrupt:
            self.end("stopped", "stopped by Ctrl-C")

    def _next_length(self) -> tuple[float, float, float]:
        """The largest length of the next step, the time at its end, and what the rounding of that time leaves out."""
        target = min(self.until, self.controls.next())
        if self.settings.fixed:
            dt, slack = self.settings.dt or 0.0, self.grid.slack
            if self.grid.time(self.count + 1)[0] - self.t <= slack:
                self.count += 1
            there, late = self.grid.time(self.count + 1)
            if there < target + slack:
                on_grid = abs(self.t - self.grid.time(self.count)[0]) <= slack
                end = (self.until, 0.0) if abs(there - self.until) <= slack else (there, late)
                return (dt if on_grid else (there - self.t) + (late - self.late)), *end
        return (target - self.t) - self.late, target, 0.0
