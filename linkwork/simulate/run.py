"""One run, from a state to a time: its steps, the events during them, and the rows it stores."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import floor, inf
from typing import TYPE_CHECKING

import numpy as np

from ..dynamics import Dynamics
from ..errors import ConstraintError, SimulationError
from .control import Control, Controls
from .dense import DenseRecord
from .events import SAME, Crossing, EventDetector, Occurrence
from .explicit import RK4, DormandPrince, DormandPrince8, Euler
from .flow import Flow
from .held import Keeper
from .midpoint import Midpoint
from .progress import Progress
from .record import Record
from .step import Failure, Integrator, Step, Tolerances
from .stiff import Radau
from .stops import Stops

if TYPE_CHECKING:
    from ..constraints import Constrained

FIXED: dict[str, type[Integrator]] = {"rk4": RK4, "euler": Euler, "midpoint": Midpoint}
ADAPTIVE: dict[str, type] = {"rk45": DormandPrince, "dop853": DormandPrince8, "stiff": Radau}
LARGEST = 1e18  # a state past it, in rad, m, rad/s or m/s, has left: its rounding is larger than 100 of them
SLACK = 1e-9  # fraction of a step: two times nearer than that are equal
REPEATS = 3, 50  # times that an event may repeat at the same time: the user's, and one of a joint at rest


@dataclass(frozen=True)
class Settings:
    """The arguments of `simulate` other than the robot, the state and the times."""

    method: str = "rk45"
    dt: float | None = None
    rtol: float = 1e-6
    atol: float = 1e-9
    control: Control = None
    external: Callable | None = None
    events: tuple = ()
    limits: bool = False
    restitution: float = 0.0
    on_step: Callable | None = None
    every: int = 1
    first_step: float | None = None
    max_step: float = inf
    progress: bool | None = None
    constraints: object = "project"
    keep: "Constrained | None" = None
    dense: bool | None = None
    tolerance: float | None = None


@dataclass(frozen=True)
class Carry:
    """What a run needs from the one it continues."""

    grid: float = 0.0  # the time from which fixed steps are counted
    late: float = 0.0  # what the rounding of the last time leaves out
    next_step: float | None = None
    held: dict | None = None  # the last calls of held controllers, and their outputs
    embedding: tuple | None = None  # the choice of dependent velocities, where loops are embedded
    memory: dict | None = None  # what the integrator and the joints at rest know of earlier steps, as lists and numbers
    goes_on: bool = False  # does the state come from a run, so that it is on the constraints already?


class Run:
    """The present state and the objects that advance it. `go` makes all steps; `status` and `message` say how it ended."""

    def __init__(self, robot: Dynamics, settings: Settings, t: float, q, v, until: float, carry: Carry):
        self.robot, self.settings, self.until, self.grid = robot, settings, until, carry.grid
        self.goes_on = carry.goes_on
        memory = carry.memory or {}
        stops = Stops(robot, settings.restitution if settings.limits else None, memory.get("stops"))
        stops.check(q)
        self.controls = Controls(robot, settings.control, carry.held)
        self.keeper = Keeper(robot, settings.constraints, settings.keep, carry.embedding, settings.tolerance)
        self.flow = Flow(robot, self.controls, settings.external, stops if stops.any else None, self.keeper)
        self.integrator = self._integrator(carry.next_step or settings.first_step)
        self.integrator.remember(memory.get(settings.method))
        self.detector = EventDetector(self.flow, settings.events)
        self.record = Record(robot)
        every_end = settings.method in FIXED and settings.every == 1
        self.dense = DenseRecord(robot, settings.dense, self.record if every_end else None, bool(self.controls.holds))
        self.occurrences: list[Occurrence] = []
        self.status, self.message = "finished", ""
        self.error: Exception | None = None
        self.steps, self.repeats = 0, 0
        self.t, self.late, self.q, self.v = t, carry.late, q, v
        self.slack = self._resolution()
        self.count = self.row = self._number(t)
        self.next_step = self.integrator.next_step

    def _integrator(self, first_step) -> Integrator:
        s = self.settings
        if s.method in FIXED:
            return FIXED[s.method](self.flow)
        return ADAPTIVE[s.method](self.flow, Tolerances(self.robot, s.rtol, s.atol), first_step, s.max_step)

    @property
    def carry(self) -> Carry:
        stops = self.flow.stops
        memory = {self.settings.method: self.integrator.memory, "stops": None if stops is None else stops.memory}
        return Carry(self.grid, self.late, self.next_step, self.controls.held, self.keeper.carry, memory)

    # --- the loop

    def go(self) -> None:
        progress = Progress(self.t, self.until, self.settings.progress)
        try:
            with np.errstate(all="ignore"):
                self._start()
                while self.t < self.until and self.status == "finished":
                    self._sample()
                    self._advance()
                    progress.update(self.t)
        except KeyboardInterrupt:
            self._end("stopped", "stopped by Ctrl-C")
        except Failure as failure:
            self._end("failed", f"{failure}{self._joint(failure.row)}{'' if failure.complete else self.flow.trouble}")
        except Exception as error:
            if not self.steps:
                raise
            self.error = error
            self._end("failed", f"{type(error).__name__}: {error}")
        finally:
            progress.close()
        if not self.record.n:
            self.record.add(self.t, self.q, self.v, np.nan, np.nan)
        if self.status == "finished":
            self.message = self.keeper.note(self.t, self.q)
        if self.detector.unseen and not self.message:
            self.message = self.detector.unseen_text
        if self.record.n and self.record.last != self.t:
            self._store()

    def _end(self, status: str, reason: str) -> None:
        self.status, self.message = status, f"t = {self.t:.9g} s: {reason}"

    def _start(self) -> None:
        self.q, self.v = self._closed()
        if self.controls.sample(self.t, self.q, self.v):
            self.integrator.restart(jump=False)
        self.flow.refresh()
        if self.flow.stops is not None:
            self.flow.stops.choose(self.t, self.q, self.v, self.flow)
        self.vdot, self.tau = self.flow.at(self.t, self.q, self.v)
        self._store()
        self._check(self.vdot, self.q, self.v)
        if self.detector.any:
            self.detector.begin(self.t, self.q, self.v)

    def _closed(self):
        """The first state on the constraints; a state that is wrong raises, constraints that cannot be satisfied end the run."""
        self.keeper.check_state(self.t, self.q, self.v)
        try:
            return self.keeper.start(self.t, self.q, self.v, self.goes_on)
        except ConstraintError as error:
            self.vdot, self.tau = np.full(self.robot.nv, np.nan), np.zeros(self.robot.nv)
            self._store()
            self.error = error
            raise Failure(str(error)) from error

    def _sample(self) -> None:
        """Call the held controllers that are due; the forces change."""
        if self.controls.sample(self.t, self.q, self.v):
            self.flow.refresh()
            self._restart()
            self.record.amend(self.t, self.vdot, self.tau)
            self.dense.amend(self.t, self.vdot, self.tau)

    def _restart(self, just: int | None = None, rate: float = 0.0) -> None:
        """Continue from the present state with other forces or, after event `just`, another state; see EventDetector.begin."""
        if self.flow.stops is not None:
            self.flow.stops.choose(self.t, self.q, self.v, self.flow)
        self.vdot, self.tau = self.flow.at(self.t, self.q, self.v)
        self.integrator.restart(jump=just is not None)
        if self.detector.any:
            self.detector.begin(self.t, self.q, self.v, just, rate)

    def _check_projection(self, step, v) -> None:
        """Raise Failure if the projection on the constraints changes the velocity by more than a small part of the motion."""
        most = 0.5 if self.settings.method in FIXED else 0.1
        if np.linalg.norm(v - step.v) > most * (np.linalg.norm(step.v) + step.h * np.linalg.norm(self.vdot)):
            raise Failure(
                "the velocity that satisfies the constraints differs from that of the motion: the configuration is near a singular one, "
                "where several motions are possible (see robot.constraint_report), or the steps are too long. Try other tolerances"
            )

    def _advance(self) -> None:
        """Make one step, or the part of it before an event that interrupts it."""
        h, target, late = self._next_length()
        step = self.integrator.step(self.t, self.q, self.v, self.vdot, h)
        if self.keeper.held is not None:
            resting = () if self.flow.stops is None else self.flow.stops.rest
            q, v = self.keeper.back(self.t + step.h, step.q, step.v, resting)
            self._check_projection(step, v)
            step = replace(step, q=q, v=v, rates=None)
            self.integrator.state_projected()
        t, rest = later(self.t, self.late, step.h)
        t, late = (target, late) if step.h == h or target - t <= 16 * np.spacing(abs(target)) else (t, rest)
        if self.detector.any:
            for found in self.detector.find(self.t, step):
                if self.detector.interrupts(found.number):
                    self._interrupt(found, step)
                    return
                self._note(found, step)
        vdot, tau = step.rates or self.flow.at(t, step.q, step.v)
        self._check(vdot, step.q, step.v)
        if self._stores_grid:
            self._store_grid(step, t)
        self._keep_step(step, 1.0, tau)
        self.t, self.late, self.q, self.v, self.vdot, self.tau = t, late, step.q, step.v, vdot, tau
        self._accepted()
        if not self._stores_grid:
            self._store(row=self.steps % self.settings.every == 0)

    def _accepted(self) -> None:
        self.steps += 1
        self.next_step = self.integrator.next_step
        if self.settings.on_step is not None and self.settings.on_step(self.t, self.q.copy(), self.v.copy()):
            self._end("stopped", "stopped by on_step")

    def _next_length(self) -> tuple[float, float, float]:
        """The largest length of the next step, the time at its end, and what the rounding of that time leaves out."""
        target = min(self.until, self.controls.next())
        if self.settings.method in FIXED:
            dt, slack = self.settings.dt or 0.0, self.slack
            if self._grid(self.count + 1)[0] - self.t <= slack:
                self.count += 1
            there, late = self._grid(self.count + 1)
            if there < target + slack:
                on_grid = abs(self.t - self._grid(self.count)[0]) <= slack
                end = (self.until, 0.0) if abs(there - self.until) <= slack else (there, late)
                return (dt if on_grid else (there - self.t) + (late - self.late)), *end
        return (target - self.t) - self.late, target, 0.0

    def _resolution(self) -> float:
        """Two times nearer than this are the same time of the grid."""
        dt, gap = self.settings.dt, float(np.spacing(max(abs(self.t), abs(self.until), abs(self.grid))))
        if dt is not None and dt < 8 * gap:
            raise SimulationError(
                f"dt is {dt} s, but times near {self.t:.6g} s differ by {gap:.1g} s at least. "
                "Take a longer dt, or count time from a start nearer to zero."
            )
        return max(SLACK * (dt or 0.0), 2 * gap)

    def _number(self, t: float) -> int:
        """The number of the last time of the grid that is not after t."""
        return 0 if self.settings.dt is None else floor((t - self.grid + self.slack) / self.settings.dt)

    def _grid(self, k: int) -> tuple[float, float]:
        """Time k of the grid, and what its rounding leaves out."""
        return later(self.grid, 0.0, k * (self.settings.dt or 0.0))

    # --- events

    def _state(self, found: Crossing, step: Step):
        """The time and the state of an event within a step."""
        t = self.t + found.x * step.h  # as the detector has it
        if found.x >= 1:
            return t, step.q, step.v
        q, v = self.flow.within(self.t, step, np.array([found.x]))
        return t, q[0], v[0]

    def _note(self, found: Crossing, step: Step) -> None:
        """Record an event that changes nothing."""
        t, q, v = self._state(found, step)
        if self._stores_grid:
            self._store_grid(step, t)
        self.occurrences.append(Occurrence(t, self.detector.events[found.number].name, q, v))
        self.record.add(t, q, v, *self.flow.at(t, q, v))

    def _interrupt(self, found: Crossing, step: Step) -> None:
        """End the step at an event that ends the run or changes the state or the forces."""
        if self._stores_grid:
            self._store_grid(step, self.t + found.x * step.h)
        t, q, v = self._state(found, step)
        passed, moved = t > self.t, t - self.t > SAME * np.spacing(abs(t))
        index, own, rate = found.number, found.number < len(self.detector.events), 0.0
        vdot, tau = self.flow.at(t, q, v)
        self._keep_step(step, found.x, tau)
        there, rest = later(self.t, self.late, found.x * step.h)
        self.t, self.late = t, (there - t) + rest
        self.q, self.v, self.vdot, self.tau = q, v, vdot, tau
        if passed:
            self._store()
            self._accepted()
        self.repeats = 0 if moved else self.repeats + 1
        if own:
            event = self.detector.events[index]
            name: str | None = event.name
            if event.terminal:
                self._end("event", f'event "{event.name}"')
            elif event.reset is not None:
                rate = self.detector.rate(index, t, q, v)
                self.q, self.v = self.keeper.start(t, *self._reset(event, t, q, v))
        else:
            stops = self.flow.stops
            assert stops is not None
            self.q, self.v, name = stops.change(index - len(self.detector.events), t, q, v, self.flow)
        if name is not None:
            self.occurrences.append(Occurrence(t, name, q, v))
        if self.repeats > REPEATS[not own] + len(self.detector.events):
            raise Failure(
                f"{name or 'a joint that sticks and slips'} repeats at the same time. What comes to rest there is held by a joint "
                "limit, not by an event: give the joint a limit and simulate with limits=True, restitution=..., or make the event terminal",
                complete=True,
            )
        if self.status == "finished":
            self._continue(index if own else None, rate)

    def _continue(self, just: int | None, rate: float) -> None:
        """Continue after the user's event `just`, or, if that is None, after one of a joint at rest."""
        if just is not None:
            self._restart(just, rate)
        else:
            self.vdot, self.tau = self.flow.at(self.t, self.q, self.v)
            self.integrator.restart(jump=True)
            self.detector.begin(self.t, self.q, self.v)
        self._check(self.vdot, self.q, self.v)
        self._store()

    def _reset(self, event, t, q, v):
        q, v = event.reset(t, q.copy(), v.copy())
        q, v = np.array(q, float), np.array(v, float)
        if q.shape != self.q.shape or v.shape != self.v.shape or not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise Failure(
                f'the reset of event "{event.name}" returned q of shape {q.shape} and v of shape {v.shape}; '
                f"it must return finite ones of shapes {self.q.shape} and {self.v.shape}"
            )
        if self.flow.stops is not None:
            try:
                self.flow.stops.check(q, f'is set by the reset of event "{event.name}" to')
            except SimulationError as error:
                raise Failure(str(error), complete=True) from None
        return q, v

    # --- stored rows

    @property
    def _stores_grid(self) -> bool:
        """Are rows stored at multiples of dt instead of at the ends of the steps?"""
        return self.settings.dt is not None and self.settings.method not in FIXED

    def _store(self, row: bool = True) -> None:
        """Store the present state: as a row, and as the end of a step for dense output."""
        here = self.t, self.q, self.v, self.vdot, self.tau
        if row:
            self.record.add(*here)
        if self.settings.method in FIXED and self.dense.ends is not self.record:
            self.dense.end(*here)

    def _keep_step(self, step: Step, x: float, tau) -> None:
        """Keep the polynomial of a step of which the fraction x was made; tau is that at its end."""
        if self.settings.method not in FIXED:
            self.dense.step(self.t, self.late, step, x, self.tau, tau)

    def _store_grid(self, step: Step, end: float) -> None:
        """Store rows at the multiples of dt after the last row, up to a time within the step."""
        last, self.row = self.row, max(self.row, self._number(end))
        times = np.array([self._grid(k)[0] for k in range(last + 1, self.row + 1)])
        times = np.where(times > end - self.slack, end, times)
        if len(times):
            x = np.minimum(((times - self.t) - self.late) / step.h, 1.0)
            for t, q, v in zip(times, *self.flow.within(self.t, step, x)):
                self.record.add(t, q, v, *self.flow.at(t, q, v))

    def _check(self, vdot, q, v) -> None:
        if not np.isfinite(vdot).all():
            raise Failure("the acceleration is not finite", int(np.argmin(np.isfinite(vdot))))
        if max(np.abs(q).max(initial=0.0), np.abs(v).max(initial=0.0)) > LARGEST:
            raise Failure(
                f"the motion diverges: q is up to {np.abs(q).max():.2g}, v up to {np.abs(v).max():.2g}. A force or a controller drives it "
                "away, or the steps are too long: take a smaller dt, or an adaptive method",
                int(np.argmax(np.abs(v))),
            )

    def _joint(self, row: int | None) -> str:
        """The joint of a row of v, as the end of a message."""
        if row is None:
            return ""
        return f' (joint "{joint_of(self.robot, row)}")'


def later(t: float, late: float, h: float) -> tuple[float, float]:
    """The time h after t + late, and what its rounding leaves out (Knuth's sum of two numbers)."""
    h = late + h
    there = t + h
    moved = there - t
    return there, (t - (there - moved)) + (h - moved)


def joint_of(robot: Dynamics, row: int) -> str:
    """The joint, or the part of a joint, that a row of v belongs to."""
    return [name for name in robot.joints if robot.v_index(name).start <= row < robot.v_index(name).stop][-1]
