"""Many fixed steps in one call of compiled code: "rk4", "euler" and "contact", each a text of one step.

One step is a kernel of the state of a run; the engine repeats it until the target, or until a step that it cannot make: one whose end is
not a number, off the constraints, or with contacts that are not solved. Python makes that step. Where forces are Python functions, the
step is cut at their calls (engine/running/cut.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...contact.solver.solve import GOOD
from ...engine.running.holes import Holes
from ...lie.scalars import like
from ...motion import equations
from ...motion.contact_step import StepLaw, drift
from ..methods.contact import ContactMidpoint
from ..methods.explicit import RK4, Euler
from ..methods.fixed_step import step_with_contacts
from ..methods.flow import Flow
from ..rates.on_constraints import OnConstraints
from ..requests.grid import later
from ..requests.motion_checks import LARGEST, is_small
from ..requests.settings import Settings
from ..state import Impulses
from .compiled_steps import STATE_ROWS, CompiledSteps
from .segments import Equations, Named, Rates, RepeatedStep

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

    law: StepLaw
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


class FixedSteps(CompiledSteps):
    """Steps of fixed length."""

    def __init__(self, flow: Flow, integrator, settings: Settings, constraints: OnConstraints | None, method: Method):
        super().__init__(flow, integrator, settings, constraints)
        self.method = method

    @staticmethod
    def of(flow: Flow, integrator, settings: Settings) -> "FixedSteps | None":
        """Those of a run that can be compiled. None where steps are made in Python."""
        compiles, constraints = CompiledSteps.constraints_of(flow, settings)
        methods: dict[type, Method] = {RK4: RungeKutta4(), Euler: SemiImplicitEuler()}
        method = methods.get(type(integrator))
        if isinstance(integrator, ContactMidpoint) and integrator.compiled is not None:
            method = Moreau(*integrator.compiled)
        return FixedSteps(flow, integrator, settings, constraints, method) if compiles and method is not None else None

    def serves(self, s):
        """Contacts that compiled code has not solved are Python's."""
        return super().serves(s) and not (isinstance(s.memory, Impulses) and s.memory.answer is not None)

    def program(self, of, joints):
        return fixed_program(of, self.method)

    def key(self, joints):
        x = self.method
        contact = (x.solver, x.law.limits, x.law.limit_restitution, x.law.recovery) if isinstance(x, Moreau) else ()
        return type(x), *contact

    def values(self, r, step):
        values = {"number": r.number, "answer": np.zeros(self.asks), "good": 1.0, "dt": self.settings.dt, "atol": self.settings.atol}
        values |= {"target": r.stop, "until": r.times[1], "slack": r.slack}
        values |= {"alone": float(not r.regular), "length": r.h, "there": r.target, "rest": r.late}
        moreau = self.integrator if isinstance(self.integrator, ContactMidpoint) else None
        return values | {"impulse": np.zeros(0) if moreau is None else moreau.impulse(r.state.memory)}

    def outcome(self, r, step, count, after, rows, unbroken):
        self.flow.evaluations += 0 if self.asks else count * (4 if isinstance(self.method, RungeKutta4) else 1)
        if not isinstance(self.integrator, ContactMidpoint):
            return {"after": {"memory": r.state.memory}}
        answer = after["answer"].copy() if self.asks and unbroken and not after["good"] else None
        impulse = rows["impulse"][-1].copy() if count else self.integrator.impulse(r.state.memory)
        t = np.append(r.state.t, rows["t"])[:-1]
        return {"after": {"memory": Impulses(impulse, answer)}, "contact": self.integrator.record_of(t, rows["h"], rows)}


def fixed_program(of: Equations, method: Method) -> RepeatedStep:
    """The step of a method for some equations, which takes no arrays without entries."""
    robot, n, rows = of.robot, of.robot.nv, (*ROWS, *CONTACT_ROWS) if isinstance(method, Moreau) else ROWS
    width, gaps = (method.law.width, method.law.gaps) if isinstance(method, Moreau) else (0, 0)
    shapes: dict[str, tuple[int, ...]] = {"q": (robot.nq,), **dict.fromkeys(("v", "vdot", "tau", "held", *of.modes), (n,))}
    shapes |= {"answer": (of.asks,), "impulse": (width,), "gap": (gaps,)}
    states = tuple(name for name in STATE if 0 not in shapes.get(name, ()))

    def step(at, holes):
        empty = {name: like(np.zeros(0), at["q"]) for name in STATE if name not in states}
        results = attempt(of, method, rows, at | empty, holes)
        return *(x for name, x in zip(STATE, results) if name in states), *results[len(STATE) :]

    takes = Named(of, states, (*GIVEN, *of.modes), shapes)
    return RepeatedStep(f"steps_{type(method).__name__}", of, step, takes, rows, (of, method, rows))
