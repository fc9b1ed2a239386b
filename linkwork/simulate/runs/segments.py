"""Many adaptive steps in one call of compiled code: the text of `pairs`, traced with the equations of motion in it.

One attempt at a step is a kernel of the state of an integration; the engine repeats it (engine/running/repeat.py), keeps a row for each
step that is accepted, and comes back when there is no more room for rows, when the target is reached, when a step cannot be made, or after
one that a guard wants to be looked at. Where forces are Python functions, the same attempt is cut at their calls (engine/running/cut.py),
and Python repeats it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ...dynamics import Dynamics
from ...engine.differentiation.derived import Derived
from ...engine.loading.compiled import shapes
from ...engine.loading.kernel import Kernel
from ...engine.running.cut import Cut, PausedBatch, PausedRepeat
from ...engine.running.holes import Holes
from ...engine.running.repeat import Form, Repeat
from ...engine.tracing.program import Input, record
from ...engine.tracing.routines import Routine
from ...errors import ShapeError
from ...kernels import UserKernel
from ...lie.scalars import like, opaque
from ...motion import equations
from ...quantities import integrate, inverse_dynamics_derivatives_with_passive_forces
from ...systems import Mechanism
from ...varying import Varying
from ..events.guard import FOUND, Guard
from ..events.watch import Watch, Within, result_of
from ..methods.pairs import MOST_CREEPING, SHORTEST, Pair, creeping
from ..methods.tolerances import Tolerances
from ..rates.kernels import mechanism_of, own_robot, source
from ..rates.on_constraints import OnConstraints
from ..requests.grid import later
from ..requests.motion_checks import LARGEST, is_small

STATE = "t", "late", "q", "v", "vdot", "tau", "wanted", "again", "stuck", "tries", "steps", "creeping"
BOUNDS = "target", "slack", "max_step", "rtol", "atol", "start", "span", "max_steps", "held"  # held: the part of τ that stays meanwhile
ROWS = "t", "late", "h", "q", "v", "vdot", "tau"
POLYNOMIAL = "coefficients"
WRENCHES = "wrenches"  # on bodies, the answer of a Python function
FORCES = "forces"  # the hole of the forces that are Python functions
FREE = "free"  # of joints at rest: the accelerations that they would have if let go
TOO_SHORT, NO_NUMBER, BEYOND, OFF = 1.0, 2.0, 3.0, 4.0  # why a sample is stuck: its steps, its rates, its state, its constraints
CREEPING, TOO_MANY = 5.0, 6.0  # and: steps that get nowhere, more steps than allowed
ATTEMPTS = 1 << 14  # at steps of a sample in one call that keeps no rows
IN_PLACE = 400  # operations of the equations of motion that are written out at each stage


@dataclass(frozen=True, eq=False)
class Equations:
    """What is integrated: the motion of a robot under controls that are kernels of (t, q, v), over any scalars."""

    robot: Dynamics
    mechanism: Mechanism
    controls: tuple[UserKernel, ...] = ()
    varied: Mapping[str, tuple[int, ...]] = None  # type: ignore[assignment]  # shapes of constants that are inputs, by name
    source: object = None  # what they are made from
    constraints: OnConstraints | None = None
    in_place: bool = False  # are the equations written out at each stage, however long they are?
    external: UserKernel | None = None  # wrenches on bodies
    modes: tuple[str, ...] = ()  # of joints that stop, as data (nv,): "slides", the way each goes, and "rests", 1 where one is held
    asks: int = 0  # numbers that Python functions answer at each stage: all of τ, then wrenches on bodies if there are any
    made: dict = field(default_factory=dict)  # what is traced once

    @staticmethod
    def of(
        robot: Dynamics | Varying, controls=(), given: Mapping[str, tuple[int, ...]] | None = None,
        constraints: OnConstraints | None = None, external: UserKernel | None = None, modes: tuple[str, ...] = (), asks: int = 0,
    ) -> "Equations":  # fmt: skip
        """Those of a robot; `given` are the shapes of constants that vary and of what kernels take besides t, q and v."""
        own, mechanism = own_robot(robot), mechanism_of(robot) if constraints is None else constraints.mechanism
        own_source, controls = source(robot), tuple(controls)
        return Equations(own, mechanism, controls, given or {}, own_source, constraints, external=external, modes=modes, asks=asks)

    @property
    def decided_by(self) -> tuple:
        """What tells them from others: see engine/loading/identity.py."""
        return self.source, self.controls, self.varied, self.constraints, self.in_place, self.external, self.modes, self.asks

    @property
    def blocks(self) -> int:
        """How many arrays of rates there are (see `Flow.__call__`)."""
        return 3 if self.modes else 2

    def forces(self, t, q, v, held, given: Mapping):
        """τ of all controls."""
        tau = held
        for control in self.controls:
            force = result_of(control, {**given, "t": t, "q": q, "v": v})
            if np.shape(force) != np.shape(v):
                shapes = f"shape {np.shape(force)} for one robot; as control it must return {np.shape(v)}"
                raise ShapeError(f"{control.__name__} returns {shapes}.")
            tau = tau + force
        return tau

    def wrenches(self, t, q, v, given: Mapping) -> tuple:
        """Those on bodies, (nb, 6), if there are any."""
        if self.external is None:
            return (given[WRENCHES],) if WRENCHES in given else ()
        found, shape = result_of(self.external, {**given, "t": t, "q": q, "v": v}), (len(self.robot.bodies), 6)
        if np.shape(found) != shape:
            raise ShapeError(f"{self.external.__name__} returns shape {np.shape(found)} for one robot; as external it must return {shape}.")
        return (found,)

    def acting(self, holes: Holes | None, at: Mapping, t, q, v) -> tuple:
        """τ, the wrenches if there are any, and the answer of Python functions, at a state."""
        if holes is None or not self.asks:
            return self.forces(t, q, v, at["held"], at), self.wrenches(t, q, v, at), np.zeros(0)
        answer, n = holes(FORCES, (self.asks,), t, q, v), len(v)
        return answer[:n], (answer[n:].reshape(-1, 6),) if self.asks > n else (), answer


class Rates:
    """ξ̇ and v̇ at q ∘ exp ξ, as `pairs` asks for them; `tau` and `force`, which holds joints at rest, are those of the last call. Short ones
    are traced in place, others are a routine that each stage calls."""

    free: Any  # with the last modes: v̇ of joints at rest if they were let go

    def __init__(self, of: Equations, at: Mapping, holes: Holes | None = None):
        robot, pushes = of.robot, {WRENCHES: (len(of.robot.bodies), 6)} if of.asks > of.robot.nv else {}
        self.of, self.holes = of, holes
        self.at = {name: at.get(name) for name in ("held", *pushes, *of.modes, *of.varied)}
        shapes = {"t": (), "q": (robot.nq,), **dict.fromkeys(("xi", "v", "held"), (robot.nv,)), **pushes}
        shapes |= dict.fromkeys(of.modes, (robot.nv,)) | dict(of.varied)
        self.inputs = tuple(robot.lowered.input(name, shape) for name, shape in shapes.items())
        if "rates" not in of.made:  # the same for all kernels of these equations
            of.made["rates"] = Routine(record("rates", self._rates, self.inputs))
        routine = of.made["rates"]
        self.rates = self._rates if of.in_place or routine.length < IN_PLACE else routine

    def slopes(self, t, q, v, vdot):
        """Of W v̇ = forces: W, and the slopes of the forces by ξ, v and t at ξ = 0, exact; ∂ξ̇/∂ξ; then slopes by ξ, v and t of what else
        there are rates of. W is 𝓜 where those of inverse dynamics are known, which are shorter than those of v̇; else the identity."""
        of, n = self.of, len(v)
        if of.constraints is None and of.external is None and "rests" not in of.modes and of.robot.lowered.is_rigid:
            return *self._called("slopes", self._by_inverse_dynamics, t, q, 0.0 * v, v, *self.at.values(), vdot), []
        derived = Derived("rates", self._rates, self.inputs)
        function = partial(derived.jacobian, (0, 1, 3) if "rests" in of.modes else (0, 1), (0, 2, 3))
        _, bend, _, by_time, by_xi, by_v, *more = self._called("slopes", function, t, q, 0.0 * v, v, *self.at.values())
        return like(np.eye(n), v), by_xi, by_v, by_time, bend, more[1:] + more[:1]

    def _called(self, name: str, function: Callable, *values):
        """A function in place, or as a routine; its last input may be v̇ besides those of the rates."""
        inputs = (*self.inputs, Input("vdot", np.shape(values[3])))[: len(values)]
        made = function if self.of.in_place else Routine(record(name, function, inputs))
        return map(opaque, made(*values))

    def _by_inverse_dynamics(self, t, q, xi, v, held, *more):
        """𝓜 v̇ = τ − (what inverse dynamics asks for) at ξ = 0."""
        of, given, vdot = self.of, dict(zip((*self.of.modes, *self.of.varied), more)), more[-1]
        system = of.mechanism.at(q, given)
        by_q, by_v, M = inverse_dynamics_derivatives_with_passive_forces(system, q, v, vdot)
        bend = Derived("ways", partial(equations.local_velocity, system), self.inputs[2:4]).jacobian((0,), (0,), xi, v)
        if not of.controls:
            return M, -by_q, -by_v, 0.0 * v, bend
        forces = Derived("forces", self._forces, self.inputs)
        by_time, of_q, of_v = forces.jacobian((0,), (0, 2, 3), t, q, xi, v, held, *more[:-1])
        return M, of_q - by_q, of_v - by_v, by_time, bend

    def _forces(self, t, q, xi, v, held, *more):
        given = dict(zip((*self.of.modes, *self.of.varied), more))
        return self.of.forces(t, integrate(self.of.mechanism.tree(q, given), q, xi), v, held, given)

    def system(self, some):
        return self.of.mechanism.unbound.at(some, self.at)

    @property
    def constraints(self) -> OnConstraints | None:
        """Those that each step returns to, with the constants of the sample."""
        return None if self.of.constraints is None else self.of.constraints.having(self.at)

    def _rates(self, t, q, xi, v, held, *more):
        """ξ̇, v̇, τ; if joints may be held, also the v̇ of these if they were let go, and the forces that hold them."""
        of, given = self.of, dict(zip(list(self.at)[1:], more))
        there = integrate(of.mechanism.tree(q, given), q, xi) if of.controls or of.external else q
        tau, push = of.forces(t, there, v, held, given), of.wrenches(t, there, v, given)
        drive = of.mechanism.drive(t, q)
        if not of.modes:
            return *equations.local_rates(of.mechanism.at(q, given, drive), q, xi, v, tau, *push), tau
        pushed = tau - np.concatenate(of.mechanism.tree(q, given).friction, -1) * given["slides"]  # dry friction, as joints slide
        smooth = of.mechanism.at(q, given, drive, friction=False)
        if "rests" not in of.modes:
            return *equations.local_rates(smooth, q, xi, v, pushed, *push), tau
        xi_rate, vdot, *at_rest = equations.rates_with_rest(smooth, q, xi, v, pushed, given["rests"], *push)
        return xi_rate, vdot, tau, *at_rest

    def __call__(self, t, q, xi, v, out) -> None:
        found = self.rates(t, q, xi, v, *(self.at | self._asked(t, q, xi, v)).values())
        out[0][...], out[1][...], self.tau, *more = map(opaque, found)  # so that bits do not depend on who uses them
        if more:
            out[2][...], self.force = more

    def _asked(self, t, q, xi, v) -> dict:
        """What Python functions answer at a state, by name."""
        if self.holes is None or not self.of.asks:
            return {}
        tau, push, _ = self.of.acting(self.holes, self.at, t, self.integrate(q, xi), v)
        return {"held": tau} | ({WRENCHES: push[0]} if push else {})

    def holding(self, t, q, v):
        """The forces that hold joints at rest."""
        self(t, q, 0.0 * v, v, tuple(like(np.zeros((3, len(v))), q)))
        return self.force

    def of_modes(self, slides, rests, t, q, v):
        """v̇ and τ where other joints slide and rest, and `free` of them."""
        found = self.rates(t, q, 0.0 * v, v, *(self.at | {"slides": slides, "rests": rests}).values())
        _, vdot, tau, self.free, _ = map(opaque, found)
        return vdot, tau

    def friction(self, q):
        """The dry friction of each joint."""
        return np.concatenate(self.of.mechanism.tree(q, self.at).friction, -1)

    def integrate(self, q, xi):
        return integrate(self.system(q), q, xi)


def attempt(
    of: Equations, pair: Pair, rows: tuple[str, ...], watch: Watch | None, at: Mapping, guard: Guard | None = None,
    holes: Holes | None = None, sparse: bool = False,
):  # fmt: skip
    """One attempt at a step: the new state, the entries of a row, whether it is kept, and whether the segment ends. If rows are `sparse`,
    only steps in which something may happen have one."""
    t, late, q, v, target = at["t"], at["late"], at["q"], at["v"], at["target"]
    rates, tolerances, n = Rates(of, at, holes), Tolerances(of.robot, at["rtol"], at["atol"]), of.robot.nv
    K = like(np.zeros((pair.stages + pair.extra_rows, of.blocks * n)), q)
    K[0, :n], K[0, n : 2 * n] = v, at["vdot"]
    if FREE in at:
        K[0, 2 * n :] = at[FREE]
    wanted, left = pair.longest(tolerances, v, at["wanted"], at["max_step"]), (target - t) - late
    h = np.minimum(wanted, left)
    xi, v1, more = pair.attempted(rates, K, t, q, v, h)
    q1, vdot1, tau1 = rates.integrate(q, xi), K[pair.stages, n : 2 * n], rates.tau
    held, errors = rates.constraints, pair.errors(K)
    if held is not None:
        errors[:, : 2 * n] = held.left(t + h, q1, errors[:, : 2 * n])
    error = h * pair.size(errors, tolerances.tolerance(q, v, v1, more))
    after = pair.next_length(error, h, wanted, at["again"] > 0)
    near = np.max(np.abs(np.concatenate([q1, v1]))) <= LARGEST
    made = (error < 1) & near
    stuck = ((error < 1) & ~near) | (~(error < 1) & ~(after > SHORTEST * np.abs(t)))  # also where that is no number
    why = np.where(error < 1, BEYOND, np.where(np.isfinite(error), TOO_SHORT, NO_NUMBER))
    nearly, rest = later(t, late, h)
    arrived = (h >= left) | (target - nearly <= at["slack"])
    there = np.where(arrived, target, nearly)
    new = {"t": there, "late": np.where(arrived, 0.0, rest), "q": q1, "v": v1, "vdot": vdot1, "tau": tau1}
    new |= {FREE: K[pair.stages, 2 * n :]} if FREE in at else {}

    def result(made, stuck, why, arrived, ended, found, new, seen):
        """What the attempt returns, if it is `made` or not."""
        short = creeping(at["creeping"], wanted, left, at["max_step"], t - at["start"], at["span"])
        steps, goes_on = at["steps"] + np.where(made, 1.0, 0.0), ~stuck & ~(made & (arrived | ended))
        nowhere, many = goes_on & (short >= MOST_CREEPING), goes_on & (steps >= at["max_steps"])
        stuck, why = stuck | nowhere | many, np.where(nowhere, CREEPING, np.where(many, TOO_MANY, why))
        state = {name: np.where(made, new[name], at[name]) for name in STATE if name in new}
        state |= {"wanted": after, "again": np.where(made, 0.0, 1.0), "stuck": np.where(stuck, why, 0.0), "tries": at["tries"] + 1.0}
        state |= {"steps": steps, "creeping": short} | seen | ({FREE: np.where(made, new[FREE], at[FREE])} if FREE in at else {})
        starts = {"h": h, "t0": t, "late0": late, "q0": q}
        kept = [(starts | new)[name] for name in rows]
        done = (made & (arrived | ended | found)) | stuck
        if sparse or not rows:  # a call without rows is as long as its attempts are many: it must end for Ctrl-C to be served
            done = done | (np.floor(state["tries"] / ATTEMPTS) * ATTEMPTS == state["tries"])
        keep = made & found if sparse else made
        return *state.values(), *kept, np.where(keep, 1.0, 0.0) if rows else like(0.0, q), np.where(done, 1.0, 0.0)

    if holes is not None:  # what follows is of no use to an attempt that is not made
        unmade = new | {POLYNOMIAL: like(np.zeros((pair.degree + 1, 2 * n)), q)}
        watched = {} if guard is None else {name: 0.0 if name == FOUND else at[name] for name in guard.state}
        holes.end_where(~made, *result(like(False, q), stuck, why, arrived, 0.0, like(False, q), unmade, watched))
    if held is not None:
        q2, v2, fits = held.back(t + h, q1, v1)
        fits = fits & is_small(v2 - v1, v1, at["vdot"], h, at["atol"], 0.1)
        out = like(np.zeros((of.blocks, n)), q)
        rates(there, q2, like(np.zeros(n), q), v2, tuple(out))
        fits = fits & np.all(np.isfinite(out[1]))
        made, stuck, why = made & fits, stuck | (made & ~fits), np.where(made & ~fits, OFF, why)
        new |= {"q": q2, "v": v2, "vdot": out[1], "tau": rates.tau}
    seen, ended, found, watched = {}, 0.0, like(False, q), {}
    if watch is not None or guard is not None or POLYNOMIAL in rows:
        new[POLYNOMIAL] = pair.coefficients(rates, *map(opaque, (K, t, q, v, h, xi, v1)))
    if guard is not None:
        state_at, ends = (opaque(t + late), opaque(q), opaque(v)), (opaque(new["q"]), opaque(new["v"]))
        found = ~guard.is_quiet(Within(rates.system(q), state_at, ends, opaque(h), new[POLYNOMIAL], rates.at), rates, at)
        watched = {FOUND: np.where(made & found, 1.0, 0.0)}
        watched |= {} if guard.joints is None else guard.joints.largest(new["q"], new["v"], made & ~found, at)
    if watch is not None:
        state_at, ends, length = (opaque(t + late), opaque(q), opaque(v)), (opaque(q1), opaque(v1)), opaque(h)
        step = Within(rates.system(q), state_at, ends, length, new[POLYNOMIAL], rates.at)
        seen, end = watch.seen(step, at, made & ~found)
        ended, (q2, v2) = seen["ended"] > 0, step.state(end)
        last = {"t": step.t + end * h, "late": 0.0, "q": q2, "v": v2, "vdot": step.acceleration(end)}
        new |= {name: np.where(ended, x, new[name]) for name, x in last.items()}
    return result(made, stuck, why, arrived, ended, found, new, seen | watched)


def first(of: Equations, pair: Pair, at: Mapping, holes: Holes | None = None):
    """The length of the first step of a run."""
    q, v = at["q"], at["v"]
    K = like(np.zeros((2, of.blocks * of.robot.nv)), q)
    K[0, : 2 * of.robot.nv] = np.concatenate([v, at["vdot"]])
    left = (at["target"] - at["t"]) - at["late"]
    return pair.first_length(Rates(of, at, holes), K, Tolerances(of.robot, at["rtol"], at["atol"]), at["t"], q, v, left)


class Named:
    """The inputs of a step: those of its state, which are also its first results, and those that are given; by name."""

    def __init__(self, of: Equations, state: tuple[str, ...], given: tuple[str, ...], shapes: Mapping[str, tuple[int, ...]]):
        """What has no shape is a number."""
        self.state, self.given, self.shapes = state, given, shapes
        self.inputs = tuple(of.robot.lowered.input(name, shapes.get(name, ())) for name in (*state, *given))

    def by_name(self, values) -> dict:
        return {x.name: value for x, value in zip(self.inputs, values)}


class Arguments(Named):
    """What an attempt takes: (STATE..., what is watched, BOUNDS..., what is given)."""

    def __init__(self, of: Equations, pair: Pair, watch: Watch | None, guard: Guard | None = None):
        self.pair, robot, n = pair, of.robot, of.robot.nv
        shapes: dict[str, tuple[int, ...]] = {POLYNOMIAL: (pair.degree + 1, 2 * n), "q": (robot.nq,), "q0": (robot.nq,)}
        shapes |= dict.fromkeys(("v", "vdot", "tau", "held"), (n,))
        watched: dict[str, tuple[int, ...]] = {} if watch is None else watch.state(observed_shapes(of, watch))
        watched |= {} if guard is None else guard.state
        watched |= {FREE: (n,)} if "rests" in of.modes else {}
        given = dict.fromkeys(of.modes, (n,)) | ({} if guard is None else guard.given) | dict(of.varied)
        super().__init__(of, (*STATE, *watched), (*BOUNDS, *given), shapes | watched | given)


class RepeatedStep:
    """A step that is made again and again, a row for each: compiled, or, where Python functions are asked, cut at their calls."""

    def __init__(self, name: str, of: Equations, step: Callable, takes: Named, rows: tuple[str, ...], content, wide: bool = False):
        """`step` is a function of what it `takes`, by name, and of holes; `content` decides what it is."""
        self.of, self.rows, self.shapes, self.state, self.given = of, rows, takes.shapes, takes.state, takes.given
        self.form = Form(len(takes.state), keeps=True, leaves=True)
        self.segment: Repeat | PausedRepeat | PausedBatch
        if of.asks:
            cut = Cut(f"{name}_cut", lambda holes, *x: step(takes.by_name(x), holes), takes.inputs, content)
            self.segment = (PausedBatch if wide else PausedRepeat)(cut, self.form)
        else:
            self.segment = Repeat(Kernel(name, lambda *x: step(takes.by_name(x), None), takes.inputs, content), "d", self.form, wide)

    def room(self, samples: int, capacity: int) -> list[np.ndarray]:
        """Arrays for rows."""
        return [np.empty((samples, capacity, *self.shapes.get(name, ()))) for name in self.rows]

    def bytes_of_row(self) -> int:
        return 8 * sum(prod(self.shapes.get(name, ())) for name in self.rows)

    def run(self, arrays: list[np.ndarray], rows: list[np.ndarray], counts: np.ndarray, capacity: int, **asked: Any) -> None:
        """Advance the states of some samples, in place; the number of rows of each goes to `counts`. What is `asked` of
        Python, see PausedRepeat."""
        self.segment.rounds(arrays, rows, counts, capacity, **asked)


class Segments(RepeatedStep):
    """Attempts at steps of one pair for some equations, and the kernel of the first length."""

    def __init__(
        self, of: Equations, pair: Pair, rows: tuple[str, ...], *, wide: bool, watch: Watch | None = None, guard: Guard | None = None,
        sparse: bool = False,
    ):  # fmt: skip
        self.pair, self.dense, self.sparse = pair, POLYNOMIAL in rows, sparse
        takes, kind = Arguments(of, pair, watch, guard), type(pair).__name__
        content = of, type(pair), rows, watch, guard, sparse
        step = lambda at, holes: attempt(of, pair, rows, watch, at, guard, holes, sparse)
        super().__init__(f"steps_{kind}", of, step, takes, rows, content, wide)
        length = lambda holes, *x: first(of, pair, takes.by_name(x), holes)
        if of.asks:
            begin = Cut(f"first_step_{kind}_cut", length, takes.inputs, content)
            self.first = PausedBatch(begin, self.form).on_arrays if wide else begin.on_arrays
        else:
            self.first = Kernel(f"first_step_{kind}", partial(length, None), takes.inputs, content).gufunc("d")


def observed_shapes(of: Equations, watch: Watch) -> list[tuple[int, ...]]:
    """The shapes of what is watched, for one sample."""
    return shapes(observer(of, watch))


def observer(of: Equations, watch: Watch) -> Kernel:
    """The kernel of (t, q, v, what is given) that gives what is watched."""
    robot = of.robot
    shapes = {"t": (), "q": (robot.nq,), "v": (robot.nv,), **of.varied}
    inputs = tuple(robot.lowered.input(name, shape) for name, shape in shapes.items())
    return Kernel("watched", lambda *x: tuple(watch.values(dict(zip(shapes, x)))), inputs, content=watch)
