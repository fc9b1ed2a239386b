"""The steps of a run made by compiled code, many at a time. Where forces are Python functions, they are called between compiled parts."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from time import monotonic
from typing import Any, NamedTuple, TypeGuard, cast

import numpy as np

from ...dynamics import Dynamics
from ...engine.running.cut import side_by_side
from ...kernels import UserKernel
from ..events.events import Event, EventDetector
from ..events.guard import ALERT, FOUND, REACH, SPEED, Guard, Joints
from ..methods.explicit import Adaptive
from ..methods.flow import Flow
from ..methods.interpolate import Polynomial, Quartic
from ..methods.rosenbrock import Rosenbrock
from ..methods.step import Interpolant, Step
from ..rates.kernels import cache_of
from ..rates.on_constraints import OnConstraints
from ..requests.settings import Settings
from ..rest.stops import Stops
from ..state import Released, State
from .segments import FORCES, FREE, POLYNOMIAL, ROWS, Equations, Segments

ROOM = 1 << 19  # bytes of the rows of one call
MOST = 512  # steps of one call, so that Ctrl-C and a progress bar are served
STATE_ROWS = "t", "late", "q", "v", "vdot", "tau"  # what of a row is the state of a run
PATIENCE_S = 0.1  # how long a call takes that calls Python functions


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
    error: BaseException | None = None  # what a Python function raised in the step after them
    after: Mapping[str, Any] = field(default_factory=dict)  # of the state after them: what changes besides the motion
    contact: Mapping[str, np.ndarray] | None = None  # of steps with contact: their entries in the record of these
    robot: Dynamics | None = None  # where they have no polynomials: whose motion in between is a quartic

    def __len__(self) -> int:
        return len(self.h)

    def at(self, i, x):
        """ξ and v at fractions x (m,) of steps i (m,)."""
        assert self.coefficients is not None
        y = Polynomial.value(self.coefficients[i], x[:, None])
        return y[:, : (n := self.v.shape[1])], y[:, n:]

    def first(self, count: int) -> "Steps":
        """The first of them."""
        rows = {name: getattr(self, name)[: count + 1] for name in STATE_ROWS}
        c = None if self.coefficients is None else self.coefficients[:count]
        contact = self.contact and {name: x[:count] for name, x in self.contact.items()}
        return Steps(**rows, h=self.h[:count], coefficients=c, steers=self.steers, error=self.error, contact=contact)

    def last(self, tau) -> Step:
        """The last one alone, with τ at its end."""
        c, h = self.coefficients, float(self.h[-1])
        within = self._quartic(h) if c is None else Polynomial(lambda: c[-1])
        contact = self.contact and {name: x[-1] for name, x in self.contact.items()}
        return Step(h, self.q[-2], self.q[-1], self.v[-1], within, (self.vdot[-1], tau), contact=contact)

    def _quartic(self, h: float) -> Interpolant:
        """The motion within the last step, made when it is first needed."""
        robot = self.robot
        assert robot is not None
        made = cache(lambda: Quartic(robot, h, robot.difference(self.q[-2], self.q[-1]), self.v[-2], self.vdot[-2], self.v[-1]))
        return lambda x: made()(x)


class Request(NamedTuple):
    """What steps are asked for: from a state towards a target, in a run from one of the `times` to the other.

    Fixed steps of a run are `regular`, up to `stop`, from a time with this number to the next one, or there is one of length h. Steps with
    Python functions end soon: with the one after the `deadline`, or behind the time of a `row`, which asks the functions too.
    """

    state: State
    h: float
    target: float
    late: float  # what the rounding of the target leaves out
    regular: bool
    number: int
    stop: float
    times: tuple[float, float]
    slack: float
    most: int
    alert: bool  # is the first step looked at in any case?
    deadline: float
    row: float


class StepMaker:
    """Calls compiled code that makes the steps of a run."""

    def __init__(self, flow: Flow, constraints: OnConstraints | None):
        self.flow, self.constraints, self.asks = flow, constraints, asks_of(flow)

    def serves(self, s: State) -> bool:
        """Are there compiled steps for what the joints do now?"""
        return serve(self.flow.stops, self.constraints)

    def called(self, rounds: Callable, arrays: list, room: list, r: Request) -> tuple[int, BaseException | None]:
        """How many steps a call has made, and what a Python function raised in the step after them; it is raised where there are none."""
        count, last, asked = np.zeros(1), min(r.deadline, monotonic() + PATIENCE_S), dict[str, Callable]()
        if self.asks:
            asked = {FORCES: self.flow.answer, "enough": lambda state: monotonic() > last or state[0] >= r.row}
        try:
            rounds(arrays, room, count, min(r.most, room[0].shape[1]), **asked)
        except BaseException as error:
            if not count[0]:
                raise
            return int(count[0]), error
        return int(count[0]), None

    @staticmethod
    def joined(values: Mapping, rows: Mapping) -> dict[str, Any]:
        """The state before steps, and behind it those at their ends."""
        return {name: np.concatenate([np.asarray(values[name])[None], rows[name]]) for name in STATE_ROWS}


class CompiledSteps(StepMaker):
    """Makes the steps of an adaptive integrator, whose next length and counts it keeps. There is one kernel for motions in which no joint
    is held at rest and, once it is needed, another for those in which some are."""

    def __init__(self, flow: Flow, integrator: Adaptive, events: tuple[Event, ...], constraints: OnConstraints | None, *, dense: bool):
        super().__init__(flow, constraints)
        self.integrator, self.events, self.dense, self.steers = integrator, events, dense, bool(flow.controls.functions)
        tolerances = integrator.tolerances
        self.given = {"max_step": integrator.max_step, "rtol": tolerances.rtol, "atol": tolerances.atol}
        self.ready: dict[bool, tuple[Segments, Joints | None, list, list]] = {}

    @staticmethod
    def of(flow: Flow, integrator, settings: Settings, detector: EventDetector) -> "CompiledSteps | None":
        """Those of a run that can be compiled. None where steps are made in Python."""
        robot = flow.robot
        constraints = OnConstraints.of(flow.keeper)
        if flow.keeper.held is not None and constraints is None:
            return None
        if not (isinstance(integrator, Adaptive) and robot.compiled and robot.nv and not robot.long):
            return None
        has_slopes = isinstance(integrator.pair, Rosenbrock)  # which Python functions have not
        if settings.velocities != "v" or (has_slopes and not are_compiled(flow)):
            return None
        if flow.stops is not None and flow.stops.points is not None:
            return None
        events = tuple(x for x in detector.events if is_compiled_function(robot, x.function))
        dense = detector.any or settings.on_step is not None or settings.stores_grid or settings.dense is not False
        return CompiledSteps(flow, integrator, events, constraints, dense=dense)

    def _made(self, holds: bool) -> tuple[Segments, Joints | None, list, list]:
        """The kernel, what it takes of the joints, room for all that it takes, and for rows."""
        if holds not in self.ready:
            stops, robot = self.flow.stops, self.flow.robot
            functions = [x.function for x in self.events]
            controls = [] if self.asks else self.flow.controls.functions
            pushes = None if self.asks else cast(UserKernel | None, self.flow.external)
            looks = tuple((x.function, x.resolution) for x in self.events)
            limits = None if stops is None else (len(stops.limits), holds)

            def make() -> tuple[Segments, Joints | None]:
                joints = None if stops is None else Joints.of(stops, holds)
                guard = Guard(joints, self.events) if stops is not None or self.events else None
                modes = () if joints is None else joints.modes
                of = Equations.of(robot, controls, constraints=self.constraints, external=pushes, modes=modes, asks=self.asks)
                rows = (*ROWS, POLYNOMIAL) if self.dense else ROWS
                return Segments(of, self.integrator.pair, rows, wide=False, guard=guard), joints

            key = type(self.integrator.pair), self.dense, limits, robot.lowered, tuple(controls), pushes, looks, self.asks
            segments, joints = cache_of(robot, *controls, pushes, *functions).once(make, *key)
            capacity = int(np.clip(ROOM // segments.bytes_of_row(), 16, MOST))
            arrays = side_by_side(segments.shapes.get(name, ()) for name in (*segments.state, *segments.given))
            self.ready[holds] = segments, joints, arrays, segments.room(1, capacity)
        return self.ready[holds]

    def watches(self, detector: EventDetector) -> bool:
        """Is all that may happen in a step watched in compiled code?"""
        return len(self.events) == len(detector.events)

    def make(self, r: Request) -> Steps:
        """Steps towards a time, as many as there is room for. There are none where the first cannot be made. If something may happen in the
        last one, or at all events if there is an alert, it is `found`."""
        flow, s, stops = self.flow, r.state, self.flow.stops
        segments, joints, arrays, room = self._made(stops is not None and stops.held)
        values: dict[str, Any] = dict.fromkeys(segments.state, 0.0) | {name: getattr(s, name) for name in STATE_ROWS}
        values |= self.given | {"target": r.target, "slack": 16 * np.spacing(abs(r.target)), "held": sum(flow.controls.answers, flow.zero)}
        values |= {"start": r.times[0], "span": r.times[1] - r.times[0], "max_steps": np.inf, "creeping": s.creeping}
        values |= {ALERT: float(r.alert)} | ({} if joints is None or stops is None else joints.values(stops))
        if FREE in segments.state:
            values[FREE] = self.integrator.free_at(s)
        for x, name in zip(arrays, (*segments.state, *segments.given)):
            x[0] = values[name]
        after = dict(zip(segments.state, arrays))
        if not s.next_step and not self.asks:
            flow.evaluations += 1
        asked: dict[str, Any] = {FORCES: flow.answer} if self.asks else {}
        after["wanted"][0] = s.next_step or segments.first(*arrays, **asked)[0]
        made, error = self.called(segments.run, arrays, room, r)
        tries = int(after["tries"][0])
        flow.rejected += tries - made
        flow.evaluations += 0 if self.asks else tries * segments.pair.stages
        changed = {"next_step": float(after["wanted"][0]), "creeping": int(after["creeping"][0]), "memory": s.memory}
        if made:
            free = after[FREE][0].copy() if FREE in after else flow.zero
            changed["memory"] = None if stops is None else Released(free)
        if made and stops is not None:
            stops.speed = after[SPEED][0].copy()
            stops.reach = after[REACH][0].copy() if REACH in after else stops.reach
        rows = {name: x[0, :made] for name, x in zip(segments.rows, room)}
        joined = self.joined(values, rows)
        coefficients = rows["coefficients"].copy() if segments.dense else None
        found = bool(made) and FOUND in after and after[FOUND][0] > 0
        return Steps(
            **joined, h=rows["h"].copy(), coefficients=coefficients, steers=self.steers, found=found, error=error, after=changed
        )  # fmt: skip


def serve(stops: Stops | None, constraints: OnConstraints | None) -> bool:
    """Are there compiled steps for what joints do? Under constraints no joint may be held at rest."""
    return stops is None or not stops.held or (constraints is None and not stops.shares)


def asks_of(flow: Flow) -> int:
    """How many numbers Python functions answer, where not all functions can be part of compiled steps."""
    return 0 if are_compiled(flow) else flow.robot.nv + (6 * len(flow.robot.bodies) if flow.external else 0)


def are_compiled(flow: Flow) -> bool:
    """Can all functions that drive a robot be part of compiled steps?"""
    pushes = () if flow.external is None else (flow.external,)
    return all(is_compiled_function(flow.robot, x) for x in (*flow.controls.functions, *pushes))


def is_compiled_function(robot, function, constants: Collection[str] = ()) -> TypeGuard[UserKernel]:
    """Can a function be part of the compiled step? A kernel of some of t, q, v of the same robot, and of constants that vary, is."""
    mine = isinstance(function, UserKernel) and function.robot.lowered is robot.lowered
    return mine and set(function.names) <= {"t", "q", "v", *constants} and function.compiled
