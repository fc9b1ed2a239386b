"""The steps of a run made by compiled code, many at a time. Where forces are Python functions, they are called between compiled parts."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
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
from ..methods.interpolate import Polynomial, through
from ..methods.rosenbrock import Rosenbrock
from ..methods.step import Integrator, Interpolant, Step
from ..rates.kernels import cache_of
from ..rates.on_constraints import OnConstraints
from ..requests.settings import Settings
from ..rest.stops import Stops
from ..state import Released, State
from .segments import FORCES, FREE, POLYNOMIAL, ROWS, Equations, RepeatedStep, Segments
from .transitions import BEGINS, MOST_POINTS, MOST_VELOCITIES, SETTLED, Transition, Transitions, alone

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
    steers: bool  # does tau change within a step?
    coefficients: np.ndarray | None = None
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
        if c is None:
            assert self.robot is not None
            within: Interpolant = through(self.robot, h, self.q[-2], self.q[-1], self.v[-2], self.vdot[-2], self.v[-1])
        else:
            within = Polynomial(lambda: c[-1])
        contact = self.contact and {name: x[-1] for name, x in self.contact.items()}
        return Step(h, self.q[-2], self.q[-1], self.v[-1], within, (self.vdot[-1], tau), contact=contact)


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


class CompiledSteps(ABC):
    """Compiled code that makes the steps of a run. There is one kernel for motions in which no joint is held at rest and, once it is
    needed, another for those in which some are."""

    events: tuple[Event, ...] = ()  # that are watched in compiled code

    def __init__(self, flow: Flow, integrator: Integrator, settings: Settings, constraints: OnConstraints | None):
        self.flow, self.integrator, self.settings, self.constraints, self.asks = flow, integrator, settings, constraints, asks_of(flow)
        self.ready: dict[bool, tuple[Any, Joints | None, list, list]] = {}

    @staticmethod
    def constraints_of(flow: Flow, settings: Settings, events: Sequence[Event] = ()) -> tuple[bool, OnConstraints | None]:
        """Can the steps of a run be compiled, as far as method and contacts allow; and the constraints that each returns to."""
        robot, held, compiled = flow.robot, flow.keeper.held, all(is_compiled_function(flow.robot, x.function) for x in events)
        if not (robot.compiled and robot.nv and not robot.long) or settings.velocities != "v":
            return False, None
        if not watches_points(flow.stops, asks_of(flow), compiled):
            return False, None
        constraints = OnConstraints.of(flow.keeper)
        return held is None or constraints is not None, constraints

    def serves(self, s: State) -> bool:
        """Are there compiled steps for what the joints do now?"""
        return serve(self.flow.stops, self.constraints)

    def watches(self, detector: EventDetector) -> bool:
        """Is all that may happen in a step watched in compiled code?"""
        return not detector.any

    @property
    def transition(self) -> Transitions | None:
        """Returns what settles events of joints, if it knows how to."""
        return None

    def change(self, s: State, steps: "Steps | None") -> dict[str, Any] | None:
        """Settles by compiled code what joints do in the last of these steps, or where a run begins at a state: its answers by name. None
        where that is not sure."""
        return None

    @abstractmethod
    def program(self, of: Equations, joints: Joints | None) -> RepeatedStep:
        """The step of these equations."""

    @abstractmethod
    def key(self, joints: Joints | None) -> tuple:
        """Returns what tells the step from others of the same equations."""

    @abstractmethod
    def values(self, r: Request, step: Any) -> dict[str, Any]:
        """Returns by name all that a step takes besides the motion, the forces and the joints."""

    @abstractmethod
    def outcome(self, r: Request, step: Any, count: int, after: Mapping, rows: Mapping, unbroken: bool) -> dict[str, Any]:
        """The fields of so many steps besides the motion; `unbroken` if no Python function raised in the one after them."""

    def begin(self, r: Request, step: Any, arrays: list) -> None:  # noqa: B027  fixed steps begin as they are
        """Make what the first step needs."""

    def _ready(self, holds: bool) -> tuple[Any, Joints | None, list, list]:
        """The step, what it takes of the joints, room for all that it takes, and for rows."""
        if holds not in self.ready:
            flow, robot, asks = self.flow, self.flow.robot, self.asks
            controls = () if asks else tuple(flow.controls.functions)
            pushes = None if asks else cast(UserKernel | None, flow.external)
            joints = None if flow.stops is None else Joints.of(flow.stops, holds)
            modes = () if joints is None else joints.modes

            def make() -> RepeatedStep:
                of = Equations.of(robot, controls, constraints=self.constraints, external=pushes, modes=modes, asks=asks)
                return self.program(of, joints)

            key = *self.key(joints), robot.lowered, controls, pushes, asks, modes
            step = cache_of(robot, *controls, pushes, *(x.function for x in self.events)).once(make, *key)
            capacity = int(np.clip(ROOM // step.bytes_of_row(), 16, MOST))
            arrays = side_by_side(step.shapes.get(name, ()) for name in (*step.state, *step.given))
            self.ready[holds] = step, joints, arrays, step.room(1, capacity)
        return self.ready[holds]

    def make(self, r: Request) -> Steps:
        """Steps towards a time, as many as there is room for. There are none where the first cannot be made. If something may happen in the
        last one, or at all events if there is an alert, it is `found`."""
        flow, stops = self.flow, self.flow.stops
        step, joints, arrays, room = self._ready(stops is not None and stops.held)
        values: dict[str, Any] = dict.fromkeys(step.state, 0.0) | {name: getattr(r.state, name) for name in STATE_ROWS}
        values |= {"start": r.times[0], "held": sum(flow.controls.answers, flow.zero)} | self.values(r, step)
        values |= {} if joints is None or stops is None else joints.values(stops)
        for x, name in zip(arrays, (*step.state, *step.given)):
            x[0] = values[name]
        self.begin(r, step, arrays)
        count, error = self._called(step, arrays, room, r)
        rows = {name: x[0, :count] for name, x in zip(step.rows, room)}
        after = {name: x[0] for name, x in zip(step.state, arrays)}
        motion: dict[str, Any] = {name: np.concatenate([np.asarray(values[name])[None], rows[name]]) for name in STATE_ROWS}
        motion |= {"h": rows["h"].copy(), "steers": bool(flow.controls.functions)}
        return Steps(**motion, error=error, robot=flow.robot, **self.outcome(r, step, count, after, rows, error is None))

    def _called(self, step: Any, arrays: list, room: list, r: Request) -> tuple[int, BaseException | None]:
        """How many steps a call has made, and what a Python function raised in the step after them; it is raised where there are none."""
        count, last, asked = np.zeros(1), min(r.deadline, monotonic() + PATIENCE_S), dict[str, Callable]()
        if self.asks:
            asked = {FORCES: self.flow.answer, "enough": lambda state: monotonic() > last or state[0] >= r.row}
        try:
            step.run(arrays, room, count, min(r.most, room[0].shape[1]), **asked)
        except BaseException as error:
            if not count[0]:
                raise
            return int(count[0]), error
        return int(count[0]), None


class AdaptiveSteps(CompiledSteps):
    """Steps of an embedded pair; events whose functions are kernels are watched in them."""

    integrator: Adaptive

    def __init__(self, flow: Flow, integrator: Adaptive, settings: Settings, constraints: OnConstraints | None, detector: EventDetector):
        super().__init__(flow, integrator, settings, constraints)
        self.events = tuple(x for x in detector.events if is_compiled_function(flow.robot, x.function))
        self.watched = len(detector.events)
        self.dense = detector.any or settings.on_step is not None or settings.stores_grid or settings.dense is not False

    @staticmethod
    def of(flow: Flow, integrator, settings: Settings, detector: EventDetector) -> "AdaptiveSteps | None":
        """Those of a run that can be compiled. None where steps are made in Python."""
        compiles, constraints = CompiledSteps.constraints_of(flow, settings, detector.events)
        if not compiles or not isinstance(integrator, Adaptive):
            return None
        if isinstance(integrator.pair, Rosenbrock) and not are_compiled(flow):  # it takes slopes, which Python functions have not
            return None
        return AdaptiveSteps(flow, integrator, settings, constraints, detector)

    def watches(self, detector):
        return len(self.events) == self.watched

    @cached_property
    def transition(self) -> Transitions | None:
        """Returns what settles events of joints, if it knows how to."""
        flow, stops = self.flow, self.flow.stops
        if stops is None or self.asks or len(self.events) < self.watched:
            return None
        joints = Joints.of(stops, holds=True)
        controls, pushes, guard = tuple(flow.controls.functions), cast(UserKernel | None, flow.external), Guard(joints, self.events)
        of = Equations.of(flow.robot, controls, constraints=self.constraints, external=pushes, modes=joints.modes)
        if not Transition.serves(of, guard):
            return None
        key = "transition", *self.key(joints), flow.robot.lowered, controls, pushes
        make = lambda: Transitions(of, self.integrator.pair, guard, alone)
        return cache_of(flow.robot, *controls, pushes, *(x.function for x in self.events)).once(make, *key)

    def change(self, s, steps):
        transition, stops = self.transition, self.flow.stops
        if transition is None or stops is None:
            return None
        numbers: dict[str, Any] = {name: np.zeros(shape) for name, shape in transition.answers.items()} | transition.joints.values(stops)
        numbers |= {"held": sum(self.flow.controls.answers, self.flow.zero), BEGINS: float(steps is None), ALERT: 0.0, FREE: self.flow.zero}
        if steps is None:
            none = np.zeros(transition.shapes[POLYNOMIAL])
            numbers |= {"t0": s.t, "late0": s.late, "q0": s.q, "h": s.t, POLYNOMIAL: none, "vdot": self.flow.zero, "tau": self.flow.zero}
            numbers |= {name: getattr(s, name) for name in ("t", "late", "q", "v")}
        else:
            numbers |= {name: getattr(steps, name)[-1] for name in STATE_ROWS} | {POLYNOMIAL: steps.coefficients[-1], "h": steps.h[-1]}
            numbers |= {"t0": steps.t[-2], "late0": steps.late[-2], "q0": steps.q[-2]}
        after = {name: x[0] for name, x in transition({name: np.array([x], float) for name, x in numbers.items()}).items()}
        return after if after[SETTLED] else None

    def program(self, of, joints):
        guard = Guard(joints, self.events) if joints is not None or self.events else None
        return Segments(of, self.integrator.pair, (*ROWS, POLYNOMIAL) if self.dense else ROWS, wide=False, guard=guard)

    def key(self, joints):
        looks = tuple((x.function, x.resolution) for x in self.events)
        return type(self.integrator.pair), self.dense, looks, None if joints is None else len(joints.limits)

    def values(self, r, step):
        s, tolerances = r.state, self.integrator.tolerances
        values = {"max_step": self.integrator.max_step, "rtol": tolerances.rtol, "atol": tolerances.atol, "max_steps": np.inf}
        values |= {"target": r.target, "slack": 16 * np.spacing(abs(r.target)), "span": r.times[1] - r.times[0]}
        values |= {"creeping": s.creeping, ALERT: float(r.alert)}
        return values | ({FREE: self.integrator.free_at(s)} if FREE in step.state else {})

    def begin(self, r, step, arrays):
        if not r.state.next_step and not self.asks:
            self.flow.evaluations += 1
        asked: dict[str, Any] = {FORCES: self.flow.answer} if self.asks else {}
        arrays[step.state.index("wanted")][0] = r.state.next_step or step.first(*arrays, **asked)[0]

    def outcome(self, r, step, count, after, rows, unbroken):
        flow, tries, stops, memory = self.flow, int(after["tries"]), self.flow.stops, r.state.memory
        flow.rejected += tries - count
        flow.evaluations += 0 if self.asks else tries * step.pair.stages
        if count:
            memory = None if stops is None else Released(after[FREE].copy() if FREE in after else flow.zero)
        if count and stops is not None:
            stops.speed = after[SPEED].copy()
            stops.reach = after[REACH].copy() if REACH in after else stops.reach
        changed = {"next_step": float(after["wanted"]), "creeping": int(after["creeping"]), "memory": memory}
        polynomials = rows[POLYNOMIAL].copy() if step.dense else None
        return {"coefficients": polynomials, "found": bool(count) and FOUND in after and after[FOUND] > 0, "after": changed}


def serve(stops: Stops | None, constraints: OnConstraints | None) -> bool:
    """Are there compiled steps for what joints do? Under constraints no joint may be held at rest."""
    return stops is None or not stops.held or (constraints is None and not stops.shares and not stops.presses)


def watches_points(stops: Stops | None, asks: int, compiled_events: bool) -> bool:
    """Are there compiled steps where contact points are open, if there are any? Where transitions settle what strikes."""
    points = None if stops is None else stops.points
    if points is None:
        return True
    robot = points.robot
    few = points.n <= MOST_POINTS and robot.nv <= MOST_VELOCITIES and robot.constraints is None
    return few and points.law == "together" and points.rtol > 0 and not asks and compiled_events


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
