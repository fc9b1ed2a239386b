"""Many fixed steps in one call of compiled code: "rk4", "euler" and "contact", each a text of one step.

One step is a kernel of the state of a run; the engine repeats it until the target, or until a step that it cannot make: one whose end is
not a number, off the constraints, or with contacts that are not solved. Python makes that step. Where forces are Python functions, the
step is cut at their calls (engine/running/cut.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ...contact.solver.solve import GOOD
from ...engine.loading.kernel import Kernel
from ...engine.running.cut import Cut, PausedRepeat, side_by_side
from ...engine.running.holes import Holes
from ...engine.running.repeat import Form, Repeat
from ...kernels import UserKernel
from ...lie.scalars import like
from ...motion import equations
from ...motion.contact_step import ContactLaw, drift
from ..events.events import EventDetector
from ..events.guard import Joints
from ..methods.contact import ContactMidpoint
from ..methods.explicit import RK4, Euler
from ..methods.fixed_step import step_with_contacts
from ..methods.flow import Flow
from ..rates.kernels import cache_of
from ..rates.on_constraints import OnConstraints
from ..requests.grid import later
from ..requests.motion_checks import LARGEST, is_small
from ..requests.settings import Settings
from ..state import Impulses, State
from .compiled_steps import MOST, ROOM, STATE_ROWS, Request, StepMaker, Steps
from .segments import Equations, Rates

STATE = "t", "late", "number", "q", "v", "vdot", "tau", "impulse", "answer", "good"  # answer, good: of the last attempt
GIVEN = "start", "dt", "target", "until", "slack", "held", "atol", "alone", "length", "there", "rest"
ROWS = *STATE_ROWS, "h"
CONTACT_ROWS = "impulse", "gap", "left", "rounds"
UNSOLVED = 0.5  # of the motion: a return to the constraints that changes more is none


@dataclass(frozen=True, eq=False)
class RungeKutta4:
    """The classical method, in local coordinates."""

    def ends(self, rates: Rates, at: Mapping, t, q, v, h):
        """q and v after a step."""

        def stage(c, xi, v):
            out = tuple(like(np.zeros((rates.of.blocks, len(v))), q))
            rates(t + c * h, q, xi, v, out)
            return out[:2]

        return equations.runge_kutta_step(rates.integrate, stage, (v, at["vdot"]), q, v, h)


@dataclass(frozen=True, eq=False)
class SemiImplicitEuler:
    """The position changes with the new velocity."""

    def ends(self, rates: Rates, at: Mapping, t, q, v, h):
        """q and v after a step."""
        return equations.euler_end(rates.system(q), q, v, at["vdot"], h)


@dataclass(frozen=True)
class Moreau:
    """The midpoint rule with contacts: forces are those in the middle of the step."""

    law: ContactLaw
    solver: Any

    def step(self, of: Equations, holes: Holes | None, at: Mapping, t, q, v, h):
        """What is new after a step: (q, v, vdot, tau, impulse, gap, left, rounds, answer), by name, and whether the contacts are solved."""
        middle = (t + h / 2, *drift(of.mechanism.tree(q, at), q, v, h / 2)) if of.asks or of.controls or of.external else (t, q, v)
        tau, push, answer = of.acting(holes, at, *middle)
        q1, v1, impulse, said, gaps = step_with_contacts(self.law, self.solver)(of.mechanism, at, q, v, tau, h, *push)
        new = {"q": q1, "v": v1, "vdot": (v1 - v) / h, "tau": tau, "impulse": impulse, "answer": answer}
        return new | {"gap": gaps, "left": said[0], "rounds": said[1]}, said[0] <= GOOD


Method = RungeKutta4 | SemiImplicitEuler | Moreau


def attempt(of: Equations, method: Method, rows: tuple[str, ...], at: Mapping, holes: Holes | None = None):
    """One step: the new state, the entries of a row, whether it is kept, and whether the segment ends."""
    t, q, v, alone = at["t"], at["q"], at["v"], at["alone"] > 0
    number = at["number"] + 1.0
    there, rest = later(at["start"], 0.0 * t, number * at["dt"])
    last = np.abs(there - at["until"]) <= at["slack"]
    there, rest = np.where(last, at["until"], there), np.where(last, 0.0, rest)
    h, there, rest = (np.where(alone, at[one], x) for one, x in (("length", at["dt"]), ("there", there), ("rest", rest)))
    if isinstance(method, Moreau):
        new, good = method.step(of, holes, at, t, q, v, h)
    else:
        new, good = _with_rates(of, method, holes, at, t, q, v, h, there)
    good = good & np.all(np.isfinite(new["vdot"])) & (np.max(np.abs(np.concatenate([new["q"], new["v"]]))) <= LARGEST)
    new = {"t": there, "late": rest, "number": number, "impulse": at["impulse"]} | new
    state = [np.where(good, new[name], at[name]) for name in STATE[:-2]] + [new["answer"], np.where(good, 1.0, 0.0)]
    goes_on = good & ~alone & (later(at["start"], 0.0 * t, (number + 1.0) * at["dt"])[0] < at["target"] + at["slack"])
    kept = [(new | {"h": h})[name] for name in rows]
    return *state, *kept, np.where(good, 1.0, 0.0), np.where(goes_on, 0.0, 1.0)


def _with_rates(of: Equations, method: RungeKutta4 | SemiImplicitEuler, holes: Holes | None, at: Mapping, t, q, v, h, there):
    """What is new after a step, by name: its end is put on the constraints, and has its own rates; and whether that is possible."""
    rates, good = Rates(of, at, holes), like(True, q)
    q1, v1 = method.ends(rates, at, t, q, v, h)
    if (held := rates.constraints) is not None:
        there_v = v1
        q1, v1, fits = held.back(there, q1, v1)
        good = fits & is_small(v1 - there_v, there_v, at["vdot"], h, at["atol"], UNSOLVED)
    out = like(np.zeros((of.blocks, len(v))), q)
    rates(there, q1, like(np.zeros(len(v)), q), v1, tuple(out))
    return {"q": q1, "v": v1, "vdot": out[1], "tau": rates.tau, "answer": at["answer"]}, good


class FixedSteps(StepMaker):
    """Makes the steps of an integrator with fixed steps."""

    def __init__(self, flow: Flow, integrator, method: Method, constraints: OnConstraints | None, settings: Settings):
        super().__init__(flow, constraints)
        self.integrator, self.method, self.settings, self.ready = integrator, method, settings, dict[bool, tuple]()

    @staticmethod
    def of(flow: Flow, integrator, settings: Settings) -> "FixedSteps | None":
        """Those of a run that can be compiled. None where steps are made in Python."""
        robot, constraints = flow.robot, OnConstraints.of(flow.keeper)
        if not (robot.compiled and robot.nv and not robot.long) or settings.velocities != "v":
            return None
        if flow.stops is not None and flow.stops.points is not None:
            return None
        if isinstance(integrator, ContactMidpoint):
            return None if integrator.compiled is None else FixedSteps(flow, integrator, Moreau(*integrator.compiled), None, settings)
        if flow.keeper.held is not None and constraints is None:
            return None
        methods: dict[type, Method] = {RK4: RungeKutta4(), Euler: SemiImplicitEuler()}
        method = methods.get(type(integrator))
        return None if method is None else FixedSteps(flow, integrator, method, constraints, settings)

    def watches(self, detector: EventDetector) -> bool:
        """Is all that may happen in a step watched in compiled code? Nothing is."""
        return not detector.any

    def serves(self, s: State) -> bool:
        """Are there compiled steps from a state? Contacts that compiled code has not solved are Python's."""
        return super().serves(s) and not (isinstance(s.memory, Impulses) and s.memory.answer is not None)

    def _made(self, holds: bool) -> tuple:
        if holds not in self.ready:
            flow, robot, asks = self.flow, self.flow.robot, self.asks
            controls = () if asks else tuple(flow.controls.functions)
            pushes = None if asks else cast(UserKernel | None, flow.external)
            joints = None if flow.stops is None else Joints.of(flow.stops, holds)
            modes = () if joints is None else joints.modes
            contact = self.method if isinstance(self.method, Moreau) else None

            def make() -> Program:
                of = Equations.of(robot, controls, constraints=self.constraints, external=pushes, modes=modes, asks=asks)
                return Program(of, self.method)

            key = type(self.method), _known(contact), robot.lowered, controls, pushes, asks, modes
            program = cache_of(robot, *controls, pushes).once(make, *key)
            capacity = int(np.clip(ROOM // program.bytes_of_row, 16, MOST))
            arrays = side_by_side(program.shapes.get(name, ()) for name in program.names)
            room = [np.empty((1, capacity, *program.shapes.get(name, ()))) for name in program.rows]
            self.ready[holds] = program, joints, arrays, room
        return self.ready[holds]

    def make(self, r: Request) -> Steps:
        """Steps from the state of a run towards a time, as many as there is room for. There are none where the first cannot be made."""
        flow, stops = self.flow, self.flow.stops
        program, joints, arrays, room = self._made(stops is not None and stops.held)
        values: dict[str, Any] = {name: getattr(r.state, name) for name in STATE_ROWS}
        values |= {"number": r.number, "answer": np.zeros(self.asks), "good": 1.0}
        moreau = self.integrator if isinstance(self.integrator, ContactMidpoint) else None
        values |= {"impulse": np.zeros(0) if moreau is None else moreau.impulse(r.state.memory)}
        values |= {"start": r.times[0], "dt": self.settings.dt, "target": r.stop, "until": r.times[1], "slack": r.slack}
        values |= {"held": sum(flow.controls.answers, flow.zero), "atol": self.settings.atol, "alone": float(not r.regular)}
        values |= {"length": r.h, "there": r.target, "rest": r.late}
        values |= {} if joints is None or stops is None else joints.values(stops)
        for x, name in zip(arrays, program.names):
            x[0] = values[name]
        after = dict(zip(program.names, arrays))
        made, error = self.called(program.segment.rounds, arrays, room, r)
        flow.evaluations += 0 if self.asks else made * (4 if isinstance(self.method, RungeKutta4) else 1)
        rows = {name: x[0, :made] for name, x in zip(program.rows, room)}
        joined, h = self.joined(values, rows), rows["h"].copy()
        contact, changed = None, {"memory": r.state.memory}
        if moreau is not None:
            failed = self.asks and error is None and not after["good"][0]
            impulse = rows["impulse"][-1].copy() if made else values["impulse"]
            changed["memory"] = Impulses(impulse, after["answer"][0].copy() if failed else None)
            contact = moreau.record_of(joined["t"][:-1], h, rows)
        return Steps(
            **joined, h=h, coefficients=None, steers=bool(flow.controls.functions), error=error, robot=flow.robot, after=changed,
            contact=contact,
        )  # fmt: skip


def _known(contact: Moreau | None) -> tuple:
    """What tells steps with contact from others of the same robot."""
    return () if contact is None else (contact.solver, contact.law.limits, contact.law.limit_restitution, contact.law.recovery)


class Program:
    """The compiled step of a method for some equations, and what it takes."""

    def __init__(self, of: Equations, method: Method):
        robot, n = of.robot, of.robot.nv
        self.rows = (*ROWS, *CONTACT_ROWS) if isinstance(method, Moreau) else ROWS
        width, gaps = (method.law.width, method.law.gaps) if isinstance(method, Moreau) else (0, 0)
        self.shapes: dict[str, tuple[int, ...]] = {"q": (robot.nq,), **dict.fromkeys(("v", "vdot", "tau", "held", *of.modes), (n,))}
        self.shapes |= {"answer": (of.asks,), "impulse": (width,), "gap": (gaps,)}
        states = [name for name in STATE if 0 not in self.shapes.get(name, ())]
        self.names = (*states, *GIVEN, *of.modes)
        inputs = tuple(robot.lowered.input(name, self.shapes.get(name, ())) for name in self.names)
        rows = self.rows

        def step(*values, holes=None):
            empty = {name: like(np.zeros(0), values[states.index("q")]) for name in STATE if name not in states}
            results = attempt(of, method, rows, dict(zip(self.names, values)) | empty, holes)
            return *(x for name, x in zip(STATE, results) if name in states), *results[len(STATE) :]

        name, content = f"steps_{type(method).__name__}", (of, method, rows)
        form = Form(len(states), keeps=True, leaves=True)
        self.segment: Repeat | PausedRepeat
        if of.asks:
            cut = Cut(f"{name}_cut", lambda holes, *x: step(*x, holes=holes), inputs, content)
            self.segment = PausedRepeat(cut, form)
        else:
            self.segment = Repeat(Kernel(name, step, inputs, content), "d", form, wide=False)

    @property
    def bytes_of_row(self) -> int:
        return 8 * sum(int(np.prod(self.shapes.get(name, ()))) for name in self.rows)
