"""One run, from a state to a time: it starts, makes steps up to events or to their ends, and says how it ended."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from time import monotonic
from typing import cast

import numpy as np

from ...dynamics import Dynamics
from ...errors import ConstraintError
from ..events.events import EventDetector, Occurrence
from ..methods.contact import ContactFlow
from ..methods.flow import Flow
from ..methods.pairs import MOST_CREEPING, creeping
from ..methods.step import Failure, Step
from ..rates.control import Controls
from ..rates.held import Keeper
from ..requests.grid import Grid, later
from ..requests.motion_checks import check_motion, check_projection, gets_nowhere, said_of, too_many_steps
from ..requests.progress import Progress
from ..requests.settings import Settings
from ..rest.contact_events import Points
from ..rest.resting import choose, without_drift
from ..rest.stops import Stops
from ..state import Released, State, fitted
from .compiled_steps import MOST, AdaptiveSteps, CompiledSteps, Request, Steps
from .fixed_steps import FixedSteps
from .interruptions import interrupt, note
from .segments import FREE
from .stored import Stored
from .transitions import BEFORE, PART

MAX_STEPS = 10_000_000  # of one run, unless `max_steps` says otherwise


class Run:
    """A robot and how it moves, its present `state`, and what is stored of the way. `go` makes all steps; `status` and `message` say how
    it ended."""

    def __init__(self, robot: Dynamics, settings: Settings, state: State, until: float):
        self.robot, self.settings, self.until = robot, settings, until
        stops = None
        if settings.method != "contact":  # where limits and dry friction are part of the contact problem
            law = "together" if settings.contact is None else settings.contact.impacts
            points = Points(robot, law, 0.0 if settings.fixed else settings.rtol) if len(robot.contacts) else None
            stops = Stops(robot, settings.restitution if settings.limits else None, points)
        controls = Controls(robot, settings.control)
        keeper = Keeper(robot, settings.constraints, settings.keep, settings.tolerance)
        if stops is None:
            self.flow: Flow = ContactFlow(robot, controls, settings, keeper)
        else:
            self.flow = Flow(robot, controls, settings.external, stops if stops.any else None, keeper)
        self.integrator = settings.integrator(self.flow)
        self.detector = EventDetector(self.flow, settings.events)
        self.compiled: CompiledSteps | None = None
        if settings.fixed:
            self.compiled = FixedSteps.of(self.flow, self.integrator, settings)
        else:
            self.compiled = AdaptiveSteps.of(self.flow, self.integrator, settings, self.detector)
        known = self.compiled is not None and self.compiled.watches(self.detector)
        self.guarded = known and self.detector.any  # do compiled steps say in which of them something may happen?
        self.looks = settings.on_step is not None or not known  # is each step looked at?
        self.max_steps = settings.most_steps(MAX_STEPS)
        self.grid = Grid(state.start, settings.dt, state.t, until)
        self.stored = Stored(self.flow, settings, self.grid, state.t)
        self.occurrences: list[Occurrence] = []
        self.status, self.message = "finished", ""
        self.error: Exception | None = None
        self.steps = self.repeats = 0
        self.before: tuple | None = None
        self._take(state)

    # --- its state

    def _take(self, state: State) -> None:
        """Go on from a state as far as it fits to this run; what does not fit begins anew."""
        kinds = [fitted(state.memory, kind, self.integrator.sizes) for kind in self.integrator.Memory]
        self.now = state._replace(memory=next((x for x in kinds if x is not None), None))
        self.chosen = self.flow.stops is not None and self.flow.stops.takes(state.stops)  # is it known what rests?
        self.begun = self.detector.takes(state.detector)  # are the values of events known?
        self.flow.controls.takes(state.controls)
        self.flow.keeper.takes(state.keeper)
        self.flow.refresh()

    @property
    def state(self) -> State:
        """All that this run knows at present."""
        flow = self.flow
        stops, detector = None if flow.stops is None else flow.stops.state, self.detector.state if self.detector.any else None
        return self.now._replace(controls=flow.controls.state, keeper=flow.keeper.state, stops=stops, detector=detector)

    @state.setter
    def state(self, state: State) -> None:
        flow, self.now = self.flow, state
        flow.controls.state, flow.keeper.state = state.controls, state.keeper
        if flow.stops is not None:
            flow.stops.state = state.stops
        if state.detector is not None:
            self.detector.state = state.detector
        flow.refresh()

    def at(self, t: float, late: float, q, v, rates) -> State:
        """The present state becomes another; `rates` are v̇ and τ there."""
        self.now = self.now._replace(t=t, late=late, q=q, v=v, vdot=rates[0], tau=rates[1], closed=True)
        return self.now

    # --- its way

    def go(self) -> None:
        progress, self.deadline = Progress(self.now.t, self.until, self.settings.progress), self.settings.deadline
        try:
            with np.errstate(all="ignore"), self.ending():
                self.start()
                while self.now.t < self.until and self.status == "finished":
                    self.before = self._checkpoint()
                    self._sample()
                    self.advance()
                    progress.update(self.now.t)
                    self.check_progress()
        except KeyboardInterrupt:
            if self.before is not None:
                self._restore(*self.before)
            self.end("stopped", "stopped by Ctrl-C")
        finally:
            progress.close()
        if not self.stored.rows.n:
            nan = np.full(self.robot.nv, np.nan)
            self.stored.row(self.now._replace(vdot=nan, tau=nan))
        if self.status == "finished":
            self.message = self.flow.keeper.note(self.now.t, self.now.q)
        self.message = self.message or self.detector.text or self.stored.note
        if self.stored.rows.last != self.now.t:
            self.store()

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Ends the run as failed where a part of it raises; before the first step all but a Failure is raised."""
        try:
            yield
        except Failure as failure:
            self.end("failed", said_of(failure, self.robot, self.flow.trouble))
        except Exception as error:
            if not self.steps:
                raise
            self.error = error
            self.end("failed", f"{type(error).__name__}: {error}")

    def _checkpoint(self) -> tuple:
        """What a step that is stopped within goes back to, as if it had not begun."""
        return self.state, self.stored.place, len(self.occurrences), self.steps

    def _restore(self, state: State, place: tuple, occurrences: int, steps: int) -> None:
        self.state, self.steps = state, steps
        self.stored.cut(place)
        del self.occurrences[occurrences:]

    def store(self, row: bool = True) -> None:
        """Store the present state, as a row or as the end of a step only."""
        self.stored.state(self.now, row)

    def end(self, status: str, reason: str) -> None:
        """End the run after this step."""
        self.status, self.message = status, f"t = {self.now.t:.9g} s: {reason}"

    def check_progress(self) -> None:
        """End a run that goes on, but whose steps lead nowhere, are too many, or take too long."""
        if self.now.t >= self.until or self.status != "finished":
            return
        if self.now.creeping >= MOST_CREEPING:
            raise gets_nowhere(self.now)
        if self.steps >= self.max_steps:
            raise too_many_steps(self.steps, self.now.v, not self.settings.fixed)
        if monotonic() >= self.deadline:
            self.end("stopped", f"stopped after {self.settings.timeout:g} s by timeout")

    def start(self) -> None:
        """Put the first state on the constraints, and find what rests there."""
        s, flow = self.now, self.flow
        if flow.stops is not None:
            flow.stops.check(s.q)
        q, v = self._closed()
        changed = flow.controls.sample(s.t, q, v)
        flow.refresh()
        self.now = s._replace(q=q, v=v)
        if changed:
            self.now = self.now._replace(memory=self.integrator.restarted(s.memory, jump=False))
        settled = None if self.chosen or self.compiled is None else self.compiled.change(self.now, None)
        if settled is not None:
            self._take_on(settled)
            self.store()
            return
        if flow.stops is not None and (changed or not self.chosen):
            self._choose()
        rates = flow.at(s.t, self.now.q, self.now.v)
        if s.vdot is not None and s.tau is not None and not changed:
            rates = s.vdot, s.tau
        self.at(s.t, s.late, self.now.q, self.now.v, rates)
        self.store()
        check_motion(rates[0], self.now.q, self.now.v)
        if self.detector.any and (changed or not self.begun):
            self.detector.begin(s.t, self.now.q, self.now.v)

    def _closed(self):
        """The first q and v on the constraints; a state that is wrong raises, constraints that cannot be satisfied end the run."""
        s, keeper = self.now, self.flow.keeper
        if not s.closed:
            keeper.check_state(s.t, s.q, s.v)
        try:
            return keeper.start(s.t, s.q, s.v, s.closed)
        except ConstraintError as error:
            self.now = s._replace(vdot=np.full(self.robot.nv, np.nan), tau=np.zeros(self.robot.nv))
            self.store()
            self.error = keeper.why(s.q, error)
            raise Failure(str(self.error)) from error

    def _sample(self) -> None:
        """Call the held controllers that are due; the forces change."""
        if self.flow.controls.sample(self.now.t, self.now.q, self.now.v):
            self.go_on_with_other_forces()

    def go_on_with_other_forces(self) -> None:
        """Go on from the present state, at which the output of a held controller has changed."""
        s = self.now
        settled = None if self.compiled is None or not self.compiled.serves(s) else self.compiled.change(s, None)
        if settled is not None:
            self._take_on(settled)
            self.now = self.now._replace(creeping=0)
            self.stored.amend(self.now)
            return
        v = without_drift(self.flow.stops, s.t, s.q, s.v)
        self.flow.refresh()
        self.now = s._replace(v=v)
        self.restart()
        if self.now.v is s.v:
            self.stored.amend(self.now)
        else:  # contacts that the force closes
            self.store()

    def restart(self, just: int | None = None, rate: float = 0.0) -> None:
        """Continue from the present state with other forces or, after event `just`, another state; see EventDetector.begin."""
        self._choose()
        s = self.now
        if isinstance(self.flow, ContactFlow) and just is None and self.steps:
            rates = s.vdot, self.flow.forces(s.t, s.q, s.v)[0]  # v̇ remains the mean of the step that ended here
        else:
            rates = self.flow.at(s.t, s.q, s.v)
        self.at(s.t, s.late, s.q, s.v, rates)
        self.begin(just, rate, jump=just is not None)

    def begin(self, just: int | None = None, rate: float = 0.0, *, jump: bool) -> None:
        """Begin a smooth motion at the present state, where the forces have changed or, with `jump`, the state."""
        s = self.now
        memory, next_step = self.integrator.restarted(s.memory, jump=jump), None if jump else s.next_step
        self.now = s._replace(memory=memory, next_step=next_step, creeping=0)
        if self.detector.any:
            self.detector.begin(s.t, s.q, s.v, just, rate)

    def _choose(self) -> None:
        """Find what is held at the present state; what strikes there does so."""
        s, stops = self.now, self.flow.stops
        if stops is not None:
            q, v = choose(stops, s.t, s.q, s.v, self.flow)
            self.now = s._replace(q=q, v=v)
            self.occurrences += [Occurrence(s.t, name, s.q, s.v) for name in stops.what_struck([])]

    def advance(self) -> None:
        """Make steps in which nothing happens, or one step, or the part of it before an event that interrupts it."""
        steps = self._compiled_steps()
        if steps is not None and not self.looks:
            self._accept(steps.first(len(steps) - steps.found))
            if steps.error is not None:
                self.before = self._checkpoint()
                raise steps.error
            if not steps.found:
                return
        if steps is None:
            self.advance_in_python()
            return
        assert self.now.tau is not None
        self.flow.tau = steps.tau[-1] if steps.steers else self.now.tau
        if steps.found and self._change(steps):
            return
        self.finish(steps.last(self.flow.tau), float(steps.t[-1]), float(steps.late[-1]), quiet=self.guarded and not steps.found)

    def _change(self, steps: Steps) -> bool:
        """Go through the event of joints in the last of compiled steps, if compiled code has settled it."""
        compiled = cast(CompiledSteps, self.compiled)
        s, after, transition = self.now, compiled.change(self.now, steps), compiled.transition
        if after is None or transition is None:
            return False
        step, t, late, part = steps.last(self.flow.tau), float(after["t"]), float(after["late"]), float(after[PART])
        self.stored.up_to(s.t + part * step.h, s, step)
        self.stored.step(s, step, part, after["tau before"])
        q, v, vdot, tau = (after[name] for name in BEFORE)
        self.at(t, late, q, v, (vdot, tau))
        self.store()
        self.accept_step()
        self.repeats = 0
        self.occurrences += [Occurrence(t, name, q, v) for name in transition.names(after)]
        self._take_on(after)
        self.now = self.now._replace(next_step=None, creeping=0)
        self.store()
        return True

    def _take_on(self, after: Mapping) -> None:
        """Go on as compiled code has settled what joints do."""
        transition, stops, flow = cast(CompiledSteps, self.compiled).transition, self.flow.stops, self.flow
        assert transition is not None and stops is not None
        stops.state = transition.joints.rest(stops.state, after)
        flow.refresh()
        flow.tau = after["tau"]
        self.at(float(after["t"]), float(after["late"]), after["q"], after["v"], (after["vdot"], after["tau"]))
        self.now = self.now._replace(memory=Released(after[FREE]))
        self.detector.passed()

    def advance_in_python(self) -> None:
        """Make one step, or the part of it before an event that interrupts it, without compiled steps."""
        s, (h, target, late) = self.now, self._next_length()
        step = self._projected(self._step(h))
        t, rest = later(s.t, s.late, step.h)
        self.finish(step, *((target, late) if step.h == h or target - t <= 16 * np.spacing(abs(target)) else (t, rest)))

    def finish(self, step: Step, t: float, late: float, quiet: bool = False) -> None:
        """Look for events in a step that was made to t + late, unless it is known to be quiet, and go to its end or to the first of them
        that interrupts it."""
        s = self.now
        if quiet:
            self.detector.passed()
        elif self.detector.any:
            for crossing in self.detector.find(s.t, s.q, s.v, step):
                if self.detector.interrupts(crossing.number):
                    interrupt(self, crossing, step)
                    return
                note(self, crossing, step)
        rates = step.rates or self.flow.at(t, step.q, step.v)
        check_motion(rates[0], step.q, step.v)
        self.stored.up_to(t, s, step)
        self.stored.step(s, step, 1.0, rates[1])
        self.at(t, late, step.q, step.v, rates)
        self.accept_step()
        if not self.settings.stores_grid:
            self.store(row=self.steps % self.settings.every == 0)

    def _step(self, h: float) -> Step:
        """One step that Python makes, of length h at most."""
        s, flow, rejected = self.now, self.flow, self.flow.rejected
        step = self.integrator.step(s, h)
        count = s.creeping + (flow.rejected - rejected if s.creeping else 0)
        if not self.settings.fixed:
            count = int(creeping(count, step.h, h, self.settings.max_step, s.t - s.start, self.until - s.start))
        self.now = s._replace(memory=step.memory, next_step=step.next_step, creeping=count)
        return step

    def _compiled_steps(self) -> Steps | None:
        """The next steps, if compiled code makes them; one alone, if each is looked at."""
        s, grid = self.now, self.grid
        if self.compiled is None or not self.compiled.serves(s):
            return None
        alert = self.detector.any and self.detector.alert
        most, (h, target, late) = 1 if self.looks else int(min(self.max_steps - self.steps, MOST)), self._next_length()
        number = grid.number(s.t)
        regular = self.settings.fixed and h == self.settings.dt and abs(grid.time(number + 1)[0] - target) <= grid.slack
        stop, times = min(self.until, self.flow.controls.next()), (grid.start, self.until)
        steps = self.compiled.make(
            Request(s, h, target, late, regular, number, stop, times, grid.slack, most, alert, self.deadline, self.stored.next_row)
        )
        self.now = s._replace(**steps.after)
        return steps if len(steps) else None

    def _accept(self, steps: Steps) -> None:
        """Go to the end of compiled steps, which nothing looks at one by one."""
        if not len(steps):
            return
        if self.guarded:
            self.detector.passed()
        self.stored.many(steps, self.steps + 1)
        assert self.now.tau is not None
        self.flow.tau = steps.tau[-1] if steps.steers else self.now.tau
        self.at(float(steps.t[-1]), float(steps.late[-1]), steps.q[-1], steps.v[-1], (steps.vdot[-1], self.flow.tau))
        self.steps += len(steps)

    def _projected(self, step: Step) -> Step:
        """A step whose end is on the constraints."""
        s, keeper, stops = self.now, self.flow.keeper, self.flow.stops
        if keeper.held is None:
            return step
        q, v = keeper.back(s.t + step.h, step.q, step.v, () if stops is None else stops.rest)
        from ...constraints.rows.driven_rows import DrivenRows  # only runs under constraints have one

        drives = [x for x in keeper.held.set.drives if isinstance(x, DrivenRows)]
        check_projection(self.settings, step, v, s.vdot if step.free_rate is None else step.free_rate, drives)
        self.now = s._replace(memory=self.integrator.projected(s.memory))
        return replace(step, q=q, v=v, rates=None)

    def accept_step(self) -> None:
        """Count a step that was made, whatever on_step says of the next one."""
        self.steps += 1
        try:
            if self.settings.on_step is not None and self.settings.on_step(self.now.t, self.now.q.copy(), self.now.v.copy()):
                self.end("stopped", "stopped by on_step")
        except KeyboardInterrupt:
            self.end("stopped", "stopped by Ctrl-C")

    def _next_length(self) -> tuple[float, float, float]:
        """The largest length of the next step, the time at its end, and what the rounding of that time leaves out."""
        s, grid, target = self.now, self.grid, min(self.until, self.flow.controls.next())
        if self.settings.fixed:
            number = grid.number(s.t)
            there, late = grid.time(number + 1)
            if there < target + grid.slack:
                on_grid = abs(s.t - grid.time(number)[0]) <= grid.slack
                end = (self.until, 0.0) if abs(there - self.until) <= grid.slack else (there, late)
                return (self.settings.dt or 0.0) if on_grid else (there - s.t) + (late - s.late), *end
        return (target - s.t) - s.late, target, 0.0
