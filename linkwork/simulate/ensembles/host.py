"""Settles the steps of an ensemble in which something may happen: one run takes the place of one sample after another.

Joints that strike limits, stick and slip, contacts event by event, events that change the state: the samples that compiled steps bring to
such a step leave them with the motion within it; the run looks for the event, does what single runs do, and the sample goes on in compiled
steps with the bits of a single run. Samples for which there are no compiled steps are made by the run alone.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from ...errors import LinkworkError
from ...kernels import UserKernel
from ..events.guard import ALERT, FOUND, REACH, SPEED, Guard, Joints
from ..methods.explicit import Adaptive
from ..methods.interpolate import Polynomial
from ..methods.pairs import Pair
from ..methods.rosenbrock import Rosenbrock
from ..methods.step import Step
from ..rates.control import Controls
from ..rates.kernels import WithConstants
from ..runs.compiled_steps import is_compiled_function, serve, watches_points
from ..runs.run import Run
from ..runs.segments import FREE, POLYNOMIAL, Equations
from ..runs.transitions import STRUCK, Transition, Transitions
from ..state import Released, State
from .ensemble import SAID, EventTimes

if TYPE_CHECKING:
    from .ensemble_run import EnsembleRun

FREELY, AT_REST, ALONE = 0.0, 1.0, 2.0  # the steps of a sample: compiled, with joints held at rest or without; those of the run
LEAVES = "t", "late", "h", "q", "v", "vdot", "tau", "t0", "late0", "q0", POLYNOMIAL  # rows of steps in which something may happen
PRESENT = "t", "late", "q", "v", "vdot", "tau"
CHANGED = "changed"  # has a transition changed the numbers of a sample since it was last settled here?
At = tuple[int, dict, Any]  # a sample, its entries of the ensemble's arrays by name, which are changed, and the sum of its held forces


class OutOfTime(Exception):
    """A call has taken as long as it may."""


class HeldForces(Controls):
    """Controls of one sample, whose sampled controllers the ensemble asks."""

    until = np.inf

    def next(self) -> float:
        """The time up to which their answers stay."""
        return self.until


class Memory(NamedTuple):
    """Knows of one sample all but the numbers that its compiled steps take."""

    state: State
    message: str = ""
    repeats: int = 0
    steps: int = 0  # when it was last settled


class Host:
    """The run that settles samples, and what it knows of each."""

    def __init__(self, ensemble: "EnsembleRun"):
        self.ensemble, self.asked, a = ensemble, ensemble.asked, ensemble.asked
        self.sample, self.constants = 0, dict[str, Any]()
        robot: Any = a.own if a.varying is None else WithConstants(a.varying)
        if "friction" in a.given and len(a.Q):
            robot.constants["friction"] = a.given["friction"].max(0)  # of the joints that are rough in some sample
        self.robot, watched = robot, a.watch is not None
        control = [*map(self._bound, a.controls), *map(self._of_batch, a.functions)]
        pushed: Any = a.external
        shape = len(a.own.bodies), 6
        push = None if pushed is None else self._bound(pushed) if isinstance(pushed, UserKernel) else self._of_batch(pushed, shape)
        events = tuple(replace(x, function=self._bound(x.function)) for x in a.events)
        settings = replace(
            a.settings, control=control, external=push, events=events, progress=False, timeout=None, dense=watched,
            every=1 << 60 if a.store == "last" else 1, max_steps=int(ensemble.most_steps),
        )  # fmt: skip
        first = State(a.start, 0.0, robot.neutral(), np.zeros(robot.nv), start=a.start, closed=a.constraints is not None)
        self.run = run = Run(robot, settings, first, a.until)
        run.compiled, run.guarded, run.deadline = None, False, np.inf
        self.controls = run.flow.controls = HeldForces(robot, control)
        self.first, self.stops = run.state, run.flow.stops
        self.compiles = self._compiles()
        self.memories: dict[int, Memory] = {}
        self.occurrences: list[tuple[np.ndarray, np.ndarray, str]] = []  # samples, times and a name of events
        self.errors: list[LinkworkError] = []  # of samples that cannot begin
        self.rows: tuple = ()  # that the run has made last: t, q, v

    def serve(self, ensemble: "EnsembleRun", memories: Mapping[int, Memory], occurrences: list) -> None:
        """Settle the samples of an ensemble, of which so much is known."""
        self.ensemble, self.asked, self.run.until = ensemble, ensemble.asked, ensemble.asked.until
        self.run.grid = self.run.stored.grid = ensemble.grid
        self.memories, self.occurrences = dict(memories), list(occurrences)

    def forget(self, samples: np.ndarray, earlier: Mapping[int, Memory]) -> None:
        """Samples that are stopped are as they began."""
        for sample in map(int, samples):
            self.memories.pop(sample, None)
        self.memories |= {sample: memory for sample, memory in earlier.items() if sample in samples}
        times = self.ensemble.times
        stays = [~np.isin(some, samples) | (t <= times[some]) for some, t, _ in self.occurrences]
        self.occurrences = [(some[x], t[x], name) for (some, t, name), x in zip(self.occurrences, stays) if x.any()]

    def snapshots(self, samples: np.ndarray) -> dict[int, Memory]:
        """The memories of samples."""
        return {int(x): self.memories[int(x)] for x in samples if int(x) in self.memories}

    @property
    def messages(self) -> dict[int, str]:
        """Messages of samples that have some."""
        return {sample: memory.message for sample, memory in self.memories.items() if memory.message}

    # --- compiled steps

    def _compiles(self) -> bool:
        """Are there compiled steps?"""
        robot, stops, integrator = self.asked.own, self.stops, self.run.integrator
        if not isinstance(integrator, Adaptive) or (isinstance(integrator.pair, Rosenbrock) and self.ensemble.asks):
            return False
        plain = self.ensemble.place.dtype == np.float64 and all(self._is_compiled(x.function) for x in self.asked.events)
        bound = self.asked.keeper.held is not None and self.asked.constraints is None
        return bool(robot.compiled and not robot.long and not bound and watches_points(stops, self.ensemble.asks, plain))

    @property
    def key(self) -> tuple:
        """Key of the compiled steps, besides the functions of the events."""
        stops = self.stops
        rough = None if self._rough is None else self._rough.tobytes()
        return len(self.asked.events), tuple(x.resolution for x in self.asked.events), stops is None, stops and len(stops.limits), rough

    def guard(self, holds: bool) -> Guard:
        """The guard of compiled steps in which joints are held at rest or not."""
        stops, events = self.stops, tuple(x for x in self.asked.events if self._is_compiled(x.function))
        joints = None if stops is None else Joints.of(stops, holds, self._rough)
        return Guard(joints, events, always=len(events) < len(self.asked.events))

    def _is_compiled(self, function) -> bool:
        return is_compiled_function(self.asked.own, function, self.asked.given)

    @property
    def _rough(self) -> np.ndarray | None:
        """Rows of v that have dry friction in some sample, where that varies."""
        friction = self.asked.given.get("friction")
        return None if friction is None else np.flatnonzero(friction.any(0))

    @property
    def state(self) -> dict[str, tuple[int, ...]]:
        """Shapes of what samples have besides the state of compiled steps."""
        robot, stops = self.robot, self.stops
        shapes: dict[str, tuple[int, ...]] = {"ended": (), "steps of": (), ALERT: ()}
        return shapes if stops is None else shapes | {FREE: (robot.nv,), CHANGED: ()} | Joints.of(stops, holds=True).known

    def transition(self, of: Equations, pair: Pair) -> Transitions | None:
        """The kernel that settles samples at events of joints without the run, where there is one."""
        guard = self.guard(True)
        if guard.joints is None or not Transition.serves(of, guard):
            return None
        return Transitions(replace(of, modes=guard.joints.modes, made={}), pair, guard, self.ensemble.place.once, self.asked.watch)

    # --- samples

    def begin(self, at: At) -> None:
        """Start a sample."""
        sample, numbers, _ = at
        self.memories[sample], watch = Memory(self.first), self.asked.watch
        with self._at(*at) as run:
            run.start()
        if watch is not None:
            numbers |= watch.start(watch.values({name: numbers[name] for name in ("t", "q", "v")} | self.constants))

    def go_on(self, at: At) -> None:
        """Go on with other forces."""
        with self._at(*at) as run:
            run.go_on_with_other_forces()

    def settle(self, at: At, row: Mapping) -> None:
        """Look at a step that compiled code has made, and go to its end or to the event within it."""
        numbers = at[1]
        numbers |= {"steps": numbers["steps"] - 1, "tries": numbers["tries"] - 1}  # until it is known to go on
        with self._at(*at) as run:
            c, tau = row[POLYNOMIAL], row["tau"]
            run.at(float(row["t0"]), float(row["late0"]), row["q0"], c[0, self.robot.nv :], (row["vdot"], tau))
            run.flow.tau, run.stored.number = tau, run.grid.number(run.now.t)
            step = Step(float(row["h"]), row["q0"], row["q"], row["v"], Polynomial(lambda: c), (row["vdot"], tau))
            run.finish(step, float(row["t"]), float(row["late"]))
            run.check_progress()

    def advance(self, at: At, target: float, deadline: float) -> None:
        """Make steps up to a time, or until there are compiled ones."""
        with self._at(*at) as run:
            self.controls.until, first = target, True
            while run.now.t < target and run.status == "finished" and (first or not self.serves):
                run.advance_in_python()
                run.check_progress()
                self._watch(at[1])
                first = False
                if monotonic() >= deadline:
                    raise OutOfTime

    @property
    def serves(self) -> bool:
        """Are there compiled steps for the present sample?"""
        return self.compiles and serve(self.run.flow.stops, self.asked.constraints)

    @contextmanager
    def _at(self, sample: int, numbers: dict, forces) -> Iterator[Run]:
        """The run in the place of a sample, whose numbers are then those of the run."""
        memory, run, steps = self.memories.get(sample, Memory(self.first)), self.run, int(numbers["steps"])
        self.sample, self.constants = sample, {name: x[sample] for name, x in self.asked.given.items()}
        if isinstance(self.robot, WithConstants):
            self.robot.constants = self.constants
        run.state = self._known(memory, numbers)
        changed = bool(numbers.get(CHANGED))
        run.status, run.message, run.occurrences, run.steps = "finished", "", [], steps
        run.repeats = 0 if changed else memory.repeats
        run.stored.number, rejected = run.grid.number(run.now.t), run.flow.rejected
        run.detector.unseen, run.detector.undefined = {}, {}
        if steps > memory.steps or changed:
            run.detector.passed()
        if self.stops is not None and "friction" in self.constants:
            self.stops.rub(self.constants["friction"])
        self.controls.answers = forces[None]
        run.flow.refresh()
        try:
            with run.ending():
                yield run
        except LinkworkError as error:  # as a single run that cannot begin
            run.status, run.message = "failed", str(error)
            self.errors.append(error)
        self._watch(numbers)
        numbers["tries"] += run.steps - steps + run.flow.rejected - rejected
        self._give(numbers)
        self.memories[sample] = Memory(run.state, run.message or run.detector.text or memory.message, run.repeats, run.steps)
        rows, run.stored.rows.n = run.stored.rows.columns(), 0
        if run.stored.forces is not None:
            run.stored.forces.n = 0
        self.rows = rows["t"], rows["q"], rows["v"]
        self.occurrences += [(np.array([sample]), np.array([x.t]), x.name) for x in run.occurrences]

    def _known(self, memory: Memory, numbers: dict) -> State:
        """The state of a sample after what compiled steps have changed. Numbers that the arrays of the ensemble have rounded, and that are
        the same, are those of the memory."""
        s, present = memory.state, dict[str, Any]()
        for name, known in ((name, getattr(s, name)) for name in PRESENT if getattr(s, name) is not None):
            x = np.where(np.asarray(known).astype(self.ensemble.place.dtype) == numbers[name], known, numbers[name])
            present[name] = x if x.ndim else float(x)
        if self.compiles:
            present |= {"next_step": float(numbers["wanted"]) or None, "creeping": int(numbers["creeping"])}
        if s.stops is not None and self.stops is not None and numbers[CHANGED]:
            present |= {"stops": Joints.of(self.stops, holds=True).rest(s.stops, numbers), "memory": Released(numbers[FREE])}
        elif s.stops is not None and numbers["steps"] + numbers[FOUND] > memory.steps:
            free = numbers[FREE] if numbers["steps of"] == AT_REST else np.zeros(self.robot.nv)
            rest = s.stops._replace(speed=numbers[SPEED], reach=numbers.get(REACH, s.stops.reach))
            present |= {"stops": rest, "memory": Released(free)}
        return s._replace(**present)

    def _give(self, numbers: dict) -> None:
        """Give the numbers of the run to the ensemble's arrays."""
        run, stops, s = self.run, self.stops, self.run.now
        numbers |= {name: getattr(s, name) for name in PRESENT if getattr(s, name) is not None}
        numbers |= {"wanted": s.next_step or 0.0, "creeping": s.creeping, "again": 0.0, FOUND: 0.0, "steps": run.steps}
        numbers |= {"stuck": SAID if run.status == "failed" else 0.0, "ended": float(run.status == "event")}
        if run.status != "finished":
            return
        numbers |= {ALERT: float(run.detector.any and run.detector.alert)}
        numbers["steps of"] = ALONE if not self.serves else AT_REST if stops is not None and stops.held else FREELY
        if stops is not None:
            numbers |= Joints.of(stops, holds=True).values(stops) | {CHANGED: 0.0}
        if numbers["steps of"] == AT_REST:
            numbers[FREE] = cast(Adaptive, run.integrator).free_at(s)

    def note(self, samples: np.ndarray, t: np.ndarray, transition: Transitions, after: Mapping) -> None:
        """Note the events of transitions of samples."""
        struck = self.ensemble.place.library.to_host(after[STRUCK]) if STRUCK in after else np.zeros((len(t), 0))
        for name, x in zip(transition.joints.names, struck.T):
            if (told := x > 0).any():
                self.occurrences.append((samples[told], t[told], name))

    @property
    def restitution(self) -> float:
        """The restitution of joint limits."""
        return 0.0 if self.stops is None else self.stops.restitution or 0.0

    # --- functions of the user

    def _bound(self, function: Any) -> Callable:
        """A kernel of the constants of the sample that is settled as a function of (t, q, v)."""
        if not isinstance(function, UserKernel) or set(function.names) <= {"t", "q", "v"}:
            return function

        def bound(t, q, v):
            return function(*(({"t": t, "q": q, "v": v} | self.constants)[name] for name in function.names))

        return bound

    def _of_batch(self, function: Callable, shape: tuple[int, ...] = ()) -> Callable:
        """A function of the states of the whole batch as one of the sample that is settled."""

        def alone(t, q, v):
            return self.ensemble.answer(function, np.array([self.sample]), np.array([t]), q[None], v[None], shape)[0]

        return alone

    # --- what is watched

    def _watch(self, numbers: dict) -> None:
        """Statistics of what the run has made, and of the state after it."""
        watch, run, steps = self.asked.watch, self.run, self.run.stored.dense.steps
        if watch is None:
            return
        if steps is not None and steps.n:
            t, late, h, base, c = (x[0] for x in steps.arrays[:5])
            step = _Within(self.robot, t + late, h, base, c, self.constants)
            numbers |= watch.part(step, numbers, min(((run.now.t + run.now.late) - t - late) / h, 1.0))
            steps.n = 0
        numbers |= watch.jump({"t": run.now.t, "q": run.now.q, "v": run.now.v, **self.constants}, numbers)

    def events(self, names: list[str], count: int, shaped: Callable) -> dict[str, EventTimes]:
        """When each event occurred, by name: those that were asked for, then all others that occurred."""
        times = {name: (np.full(count, np.nan), np.zeros(count, int)) for name in names}
        for samples, t, name in self.occurrences:
            first, number = times.setdefault(name, (np.full(count, np.nan), np.zeros(count, int)))
            first[samples], number[samples] = np.fmin(first[samples], t), number[samples] + 1
        return {name: EventTimes(*map(shaped, both)) for name, both in times.items()}


class _Within:
    """The states within a step of the run."""

    def __init__(self, robot, t: float, h: float, base, c, constants: Mapping):
        self.robot, self.t, self.h, self.base, self.c, self.constants = robot, t, h, base, c, constants

    def at(self, x) -> dict:
        """t, q and v at a fraction x of the step."""
        y, n = Polynomial.value(self.c, x), self.robot.nv
        return {"t": self.t + x * self.h, "q": self.robot.integrate(self.base, y[:n]), "v": y[n:], **self.constants}
