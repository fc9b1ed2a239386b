"""One run, from a state to a time: steps, what happens during them, and what is kept."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from ..dynamics import Dynamics
from .control import Control, Controls
from .events import Found, Occurrence, Watch
from .explicit import RK4, DormandPrince, DormandPrince8, Euler
from .flow import Flow
from .held import Keeper
from .midpoint import Midpoint
from .progress import Progress
from .record import Record
from .step import Failure, Integrator, Measure, Step
from .stiff import Radau
from .stops import Stops

if TYPE_CHECKING:
    from ..constraints import Constrained

FIXED: dict[str, type[Integrator]] = {"rk4": RK4, "euler": Euler, "midpoint": Midpoint}
ADAPTIVE: dict[str, type] = {"rk45": DormandPrince, "dop853": DormandPrince8, "stiff": Radau}
SLACK = 1e-9  # of a step: two times nearer than that are the same
STUCK = 3, 50  # times that an event may come again without time passing: the user's, and one of a joint at rest


@dataclass(frozen=True)
class Settings:
    """How to run: the arguments of `simulate` that do not say from where to where."""

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


@dataclass(frozen=True)
class Carry:
    """What a run must know of the one it continues."""

    grid: float = 0.0  # where the fixed steps are counted from
    next_step: float | None = None
    held: tuple | None = None  # what held controllers were asked last, and said


class Run:
    """The state now and the way to the next one. `go` does it all; afterwards `status` and `message` say how it ended."""

    def __init__(self, robot: Dynamics, settings: Settings, t: float, q, v, until: float, carry: Carry):
        self.robot, self.settings, self.until, self.grid = robot, settings, until, carry.grid
        stops = Stops(robot, settings.restitution if settings.limits else None)
        stops.check(q)
        self.controls = Controls(robot, settings.control, carry.held)
        self.keeper = Keeper(robot, settings.constraints, settings.keep)
        self.flow = Flow(robot, self.controls, settings.external, stops if stops.any else None, self.keeper)
        self.integrator = self._integrator(carry.next_step or settings.first_step)
        self.watch = Watch(self.flow, settings.events)
        self.record = Record(robot)
        self.occurrences: list[Occurrence] = []
        self.status, self.message = "finished", ""
        self.error: Exception | None = None
        self.steps, self.barren, self.latest = 0, 0, -1
        self.t, self.q, self.v = t, q, v
        self.next_step = self.integrator.next_step

    def _integrator(self, first_step) -> Integrator:
        s = self.settings
        if s.method in FIXED:
            return FIXED[s.method](self.flow)
        return ADAPTIVE[s.method](self.flow, Measure(self.robot, s.rtol, s.atol), first_step, s.max_step)

    @property
    def carry(self) -> Carry:
        return Carry(self.grid, self.next_step, self.controls.held)

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
            self._end("failed", f"{failure}{self._joint(failure.row)}{self.flow.trouble}")
        except Exception as error:
            if not self.steps:
                raise
            self.error = error
            self._end("failed", f"{type(error).__name__}: {error}")
        finally:
            progress.close()
        if self.record.n and self.record.last != self.t:
            self._keep()

    def _end(self, status: str, why: str) -> None:
        self.status, self.message = status, f"t = {self.t:.9g} s: {why}"

    def _start(self) -> None:
        self.q, self.v = self.keeper.start(self.t, self.q, self.v)
        self.controls.sample(self.t, self.q, self.v)
        self.flow.refresh()
        if self.flow.stops is not None:
            self.flow.stops.choose(self.t, self.q, self.v, self.flow)
        self.vdot, self.tau = self.flow.at(self.t, self.q, self.v)
        self._check(self.vdot)
        self._keep()
        if self.watch.any:
            self.watch.begin(self.t, self.q, self.v)

    def _sample(self) -> None:
        """Ask the controllers whose time has come; from now on other forces act."""
        if self.controls.sample(self.t, self.q, self.v):
            self.flow.refresh()
            self._renew()
            self.record.amend(self.t, self.vdot, self.tau)

    def _renew(self, just: int | None = None) -> None:
        """The motion goes on from here with other rates."""
        if self.flow.stops is not None:
            self.flow.stops.choose(self.t, self.q, self.v, self.flow, None)
        self.vdot, self.tau = self.flow.at(self.t, self.q, self.v)
        self.integrator.restart(jump=just is not None)
        if self.watch.any:
            self.watch.begin(self.t, self.q, self.v, just)

    def _same_motion(self, step, v) -> None:
        """What a step lacks of the constraints is small against the motion; where it is not, they have led it elsewhere."""
        most = 0.5 if self.settings.method in FIXED else 0.1
        if np.linalg.norm(v - step.v) > most * (np.linalg.norm(step.v) + step.h * np.linalg.norm(self.vdot)):
            raise Failure(
                "the velocity that keeps the constraints is not that of the motion: this is next to a singular configuration, from which "
                "several motions go on (robot.constraint_report says more), or the steps are too long. Other tolerances may step over it"
            )

    def _advance(self) -> None:
        """One step, or as much of it as there is before something happens."""
        h, target = self._ahead()
        step = self.integrator.step(self.t, self.q, self.v, self.vdot, h)
        if self.keeper.held is not None:
            rest = () if self.flow.stops is None else self.flow.stops.rows
            q, v = self.keeper.back(self.t + step.h, step.q, step.v, rest)
            self._same_motion(step, v)
            step = replace(step, q=q, v=v, rates=None)
            self.integrator.moved()
        t = self.t + step.h
        t = target if step.h == h or target - t <= 16 * np.spacing(abs(target)) else t
        if self.watch.any:
            for found in self.watch.find(self.t, step):
                if self.watch.cuts(found.number):
                    self._cut(found, step)
                    return
                self._note(found, step)
        vdot, tau = step.rates or self.flow.at(t, step.q, step.v)
        self._check(vdot)
        if self._samples_apart:
            self._keep_between(step, t)
        self.t, self.q, self.v, self.vdot, self.tau = t, step.q, step.v, vdot, tau
        self._accepted()
        if not self._samples_apart and self.steps % self.settings.every == 0:
            self._keep()

    def _accepted(self) -> None:
        self.steps += 1
        self.next_step = self.integrator.next_step
        if self.settings.on_step is not None and self.settings.on_step(self.t, self.q.copy(), self.v.copy()):
            self._end("stopped", "stopped by on_step")

    def _ahead(self) -> tuple[float, float]:
        """How far the next step may go, and to which time that leads."""
        target = min(self.until, self.controls.next())
        h = target - self.t
        if self.settings.method not in FIXED:
            return h, target
        dt = self.settings.dt or h
        k = np.floor((self.t - self.grid) / dt + SLACK)
        there = self.grid + (k + 1) * dt
        if there < target + SLACK * dt:
            target = self.until if abs(there - self.until) <= SLACK * dt else float(there)
            on_grid = abs(self.t - (self.grid + k * dt)) <= SLACK * dt
            return (dt if on_grid else target - self.t), target
        return h, target

    # --- events

    def _state(self, found: Found, step: Step):
        """Time and state within a step."""
        if found.x >= 1:
            return self.t + step.h, step.q, step.v
        q, v = self.flow.within(self.t, step, np.array([found.x]))
        return self.t + found.x * step.h, q[0], v[0]

    def _note(self, found: Found, step: Step) -> None:
        """Something happened, and the motion goes on as it was."""
        t, q, v = self._state(found, step)
        if self._samples_apart:
            self._keep_between(step, t)
        self.occurrences.append(Occurrence(t, self.watch.events[found.number].name, q, v))
        self.record.add(t, q, v, *self.flow.at(t, q, v))

    def _cut(self, found: Found, step: Step) -> None:
        """Something happened that ends the motion, or starts another."""
        if self._samples_apart:
            self._keep_between(step, self.t + found.x * step.h)
        t, q, v = self._state(found, step)
        passed = t > self.t
        index, own = found.number, found.number < len(self.watch.events)
        vdot, tau = self.flow.at(t, q, v)
        self.t, self.q, self.v, self.vdot, self.tau = t, q, v, vdot, tau
        if passed:
            self._keep()
            self._accepted()
        self.barren = self.barren + 1 if index == self.latest and not passed else 0
        self.latest = index
        if own:
            event = self.watch.events[index]
            name: str | None = event.name
            if event.terminal:
                self._end("event", f'event "{event.name}"')
            elif event.reset is not None:
                self.q, self.v = self.keeper.start(t, *self._reset(event, t, q, v))
        else:
            stops = self.flow.stops
            assert stops is not None
            self.q, self.v, name = stops.change(index - len(self.watch.events), t, q, v, self.flow)
        if name is not None:
            self.occurrences.append(Occurrence(t, name, q, v))
        if self.barren > STUCK[not own]:
            raise Failure(
                f"{name or 'a joint that sticks and slips'} happens again and again without time passing. If something comes "
                "to rest there, let the event's reset put it to rest, or make it terminal"
            )
        if self.status == "finished":
            self._restarted(index if own else None)

    def _restarted(self, just) -> None:
        if just is not None:
            self._renew(just)
        else:
            self.vdot, self.tau = self.flow.at(self.t, self.q, self.v)
            self.integrator.restart(jump=True)
            self.watch.begin(self.t, self.q, self.v)
        self._check(self.vdot)
        self._keep()

    def _reset(self, event, t, q, v):
        q, v = event.reset(t, q.copy(), v.copy())
        q, v = np.array(q, float), np.array(v, float)
        if q.shape != self.q.shape or v.shape != self.v.shape or not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise Failure(
                f'the reset of event "{event.name}" gave q of shape {q.shape} and v of shape {v.shape}; '
                f"it takes finite ones of shapes {self.q.shape} and {self.v.shape}"
            )
        return q, v

    # --- what is kept

    @property
    def _samples_apart(self) -> bool:
        """Are the times kept others than those of the steps?"""
        return self.settings.dt is not None and self.settings.method not in FIXED

    def _keep(self) -> None:
        self.record.add(self.t, self.q, self.v, self.vdot, self.tau)

    def _keep_between(self, step: Step, end: float) -> None:
        """Rows at the multiples of dt after the last row, up to a time within the step."""
        dt, last = self.settings.dt or np.inf, max(self.t, self.record.last)
        k = np.arange(np.floor((last - self.grid) / dt + SLACK) + 1, np.floor((end - self.grid) / dt + SLACK) + 1)
        times = self.grid + k * dt
        times = np.where(times > end - SLACK * dt, end, times)
        if len(times):
            for t, q, v in zip(times, *self.flow.within(self.t, step, (times - self.t) / step.h)):
                self.record.add(t, q, v, *self.flow.at(t, q, v))

    def _check(self, vdot) -> None:
        if not np.isfinite(vdot).all():
            raise Failure("the acceleration is not finite", int(np.argmin(np.isfinite(vdot))))

    def _joint(self, row: int | None) -> str:
        """Where: the joint that a velocity belongs to."""
        if row is None:
            return ""
        return f' (joint "{joint_of(self.robot, row)}")'


def joint_of(robot: Dynamics, row: int) -> str:
    """The joint, or the part of one, that a row of v belongs to."""
    return [name for name in robot.joints if robot.v_index(name).start <= row < robot.v_index(name).stop][-1]
