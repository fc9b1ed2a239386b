"""The steps of a run made by compiled code, many at a time, where all that drives the robot can be compiled."""

from dataclasses import dataclass
from typing import Any, TypeGuard, cast

import numpy as np

from ..kernels import UserKernel
from .events import Event, EventDetector
from .explicit import Adaptive
from .flow import Flow
from .guard import ALERT, FOUND, Guard, Joints
from .interpolate import Polynomial
from .kernels import cache_of
from .on_constraints import OnConstraints
from .segments import FREE, POLYNOMIAL, ROWS, Equations, Segments
from .settings import Settings
from .step import Step

ROOM = 1 << 19  # bytes of the rows of one call
MOST = 512  # steps of one call, so that Ctrl-C and a progress bar are served


@dataclass(frozen=True, eq=False)
class Steps:
    """Consecutive steps: t, late, q, v, vdot and tau have one row more than there are steps, the state before the first of them."""

    t: np.ndarray
    late: np.ndarray
    q: np.ndarray
    v: np.ndarray
    vdot: np.ndarray
    tau: np.ndarray
    h: np.ndarray
    coefficients: np.ndarray | None
    steers: bool  # does tau change within a step?
    found: bool = False  # may something happen in the last step?

    def __len__(self) -> int:
        return len(self.h)

    def at(self, i, x):
        """ξ and v at fractions x (m,) of steps i (m,)."""
        assert self.coefficients is not None
        y = Polynomial.value(self.coefficients[i], x[:, None])
        return y[:, : (n := self.v.shape[1])], y[:, n:]

    def first(self, count: int) -> "Steps":
        """The first of them."""
        rows = {name: getattr(self, name)[: count + 1] for name in ("t", "late", "q", "v", "vdot", "tau")}
        c = None if self.coefficients is None else self.coefficients[:count]
        return Steps(**rows, h=self.h[:count], coefficients=c, steers=self.steers)

    def last(self, tau) -> Step:
        """The last one alone, with τ at its end."""
        c = self.coefficients
        assert c is not None
        return Step(float(self.h[-1]), self.q[-2], self.q[-1], self.v[-1], Polynomial(lambda: c[-1]), (self.vdot[-1], tau))


class CompiledSteps:
    """Makes the steps of an adaptive integrator, whose next length and counts it keeps. There is one kernel for motions in which no joint
    is held at rest and, once it is needed, another for those in which some are."""

    def __init__(self, flow: Flow, integrator: Adaptive, events: tuple[Event, ...], constraints: OnConstraints | None, *, dense: bool):
        self.flow, self.integrator, self.events, self.constraints, self.dense = flow, integrator, events, constraints, dense
        self.steers = bool(flow.controls.functions)
        tolerances = integrator.tolerances
        self.given = {"max_step": integrator.max_step, "rtol": tolerances.rtol, "atol": tolerances.atol}
        self.ready: dict[bool, tuple[Segments, Joints | None, int, list]] = {}

    @staticmethod
    def of(flow: Flow, integrator, settings: Settings, detector: EventDetector) -> "CompiledSteps | None":
        """Those of a run that can be compiled. None where steps are made in Python."""
        robot, controls = flow.robot, flow.controls.functions
        constraints = OnConstraints.of(flow.keeper)
        if flow.keeper.held is not None and constraints is None:
            return None
        if not (isinstance(integrator, Adaptive) and robot.compiled and robot.nv and not robot.long):
            return None
        pushes = () if flow.external is None else (flow.external,)
        compiled = all(is_compiled_function(robot, x) for x in (*controls, *pushes))
        if settings.velocities != "v" or not compiled:
            return None
        if flow.stops is not None and flow.stops.points is not None:
            return None
        events = tuple(x for x in detector.events if is_compiled_function(robot, x.function))
        dense = detector.any or settings.on_step is not None or settings.stores_grid or settings.dense is not False
        return CompiledSteps(flow, integrator, events, constraints, dense=dense)

    @property
    def serves(self) -> bool:
        """Are there compiled steps for what the joints do now? Under constraints no joint may be held at rest."""
        stops = self.flow.stops
        return stops is None or not stops.held or (self.constraints is None and not stops.shares)

    def _made(self, holds: bool) -> tuple[Segments, Joints | None, int, list]:
        """The kernel, what it takes of the joints, and room for rows."""
        if holds not in self.ready:
            stops, robot = self.flow.stops, self.flow.robot
            controls, functions = self.flow.controls.functions, [x.function for x in self.events]
            pushes = cast(UserKernel | None, self.flow.external)
            holder = cache_of(robot, *controls, pushes, *functions)
            looks = tuple((x.function, x.resolution) for x in self.events)
            limits = None if stops is None else (len(stops.limits), holds)
            key = "steps", type(self.integrator.pair), self.dense, limits, robot.lowered, tuple(controls), pushes, looks
            if key not in holder:
                joints = None if stops is None else Joints.of(stops, holds)
                guard = Guard(joints, self.events) if stops is not None or self.events else None
                modes = () if joints is None else joints.modes
                of = Equations.of(robot, controls, constraints=self.constraints, external=pushes, modes=modes)
                rows = (*ROWS, POLYNOMIAL) if self.dense else ROWS
                holder[key] = Segments(of, self.integrator.pair, rows, wide=False, guard=guard), joints
            segments, joints = holder[key]
            capacity = int(np.clip(ROOM // segments.bytes_of_row(), 16, MOST))
            self.ready[holds] = segments, joints, capacity, segments.room(1, capacity)
        return self.ready[holds]

    def make(self, state: tuple, target: float, times: tuple[float, float], most: int, *, alert: bool = False) -> Steps:
        """Steps from a state (t, late, q, v, vdot, tau) towards a time, as many as there is room for, in a run from one of the `times` to
        the other. There are none where the first cannot be made. If something may happen in the last one, or at all events if there is an
        `alert`, it is `found`."""
        flow, integrator, stops = self.flow, self.integrator, self.flow.stops
        segments, joints, capacity, room = self._made(stops is not None and stops.held)
        values: dict[str, Any] = dict.fromkeys(segments.state, 0.0) | dict(zip(segments.state, state))
        values |= self.given | {"target": target, "slack": 16 * np.spacing(abs(target)), "held": sum(flow.controls.answers, flow.zero)}
        values |= {"start": times[0], "span": times[1] - times[0], "max_steps": np.inf, "creeping": integrator.creeping}
        values |= {ALERT: float(alert)} | ({} if joints is None or stops is None else joints.values(stops))
        if FREE in segments.state:
            values[FREE] = integrator.free_at(*state[:1], *state[2:4])
        arrays = [np.array(values[name], float)[None] for name in (*segments.state, *segments.given)]
        after = dict(zip(segments.state, arrays))
        if not integrator.next_step:
            flow.evaluations += 1
        after["wanted"][0] = integrator.next_step or segments.first(*arrays)[0]
        (count,) = segments.run(arrays, room, min(most, capacity))
        made, tries = int(count), int(after["tries"][0])
        integrator.rejected += tries - made
        flow.evaluations += tries * segments.pair.stages
        integrator.next_step, integrator.creeping = float(after["wanted"][0]), int(after["creeping"][0])
        if made and stops is not None:
            integrator.fresh, integrator.free = False, after[FREE][0].copy() if FREE in after else flow.zero
        rows = {name: x[0, :made] for name, x in zip(segments.rows, room)}
        joined = {name: np.concatenate([np.asarray(values[name])[None], rows[name]]) for name in ("t", "late", "q", "v", "vdot", "tau")}
        coefficients = rows["coefficients"].copy() if segments.dense else None
        found = bool(made) and FOUND in after and after[FOUND][0] > 0
        return Steps(**joined, h=rows["h"].copy(), coefficients=coefficients, steers=self.steers, found=found)


def is_compiled_function(robot, function) -> TypeGuard[UserKernel]:
    """Can a function be part of the compiled step? A kernel of some of t, q, v of the same robot is."""
    mine = isinstance(function, UserKernel) and function.robot.lowered is robot.lowered
    return mine and set(function.names) <= {"t", "q", "v"} and function.compiled
