"""The steps of a run made by compiled code, many at a time, where all that drives the robot can be compiled."""

from dataclasses import dataclass
from typing import Any, TypeGuard, cast

import numpy as np

from ..kernels import UserKernel
from .explicit import Adaptive
from .flow import Flow
from .interpolate import Polynomial
from .kernels import cache_of
from .on_constraints import OnConstraints
from .segments import POLYNOMIAL, ROWS, Equations, Segments
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

    def __len__(self) -> int:
        return len(self.h)

    def at(self, i, x):
        """ξ and v at fractions x (m,) of steps i (m,)."""
        assert self.coefficients is not None
        y = Polynomial.value(self.coefficients[i], x[:, None])
        return y[:, : (n := self.v.shape[1])], y[:, n:]


class CompiledSteps:
    """Makes the steps of an adaptive integrator, whose next length and counts it keeps."""

    def __init__(self, flow: Flow, integrator: Adaptive, segments: Segments):
        self.flow, self.integrator, self.segments = flow, integrator, segments
        self.steers = bool(flow.controls.functions)
        self.capacity = int(np.clip(ROOM // segments.bytes_of_row(), 16, MOST))
        self.room = segments.room(1, self.capacity)
        tolerances = integrator.tolerances
        self.given = {"max_step": integrator.max_step, "rtol": tolerances.rtol, "atol": tolerances.atol}

    @staticmethod
    def of(flow: Flow, integrator, settings: Settings, looks: bool) -> "CompiledSteps | None":
        """Those of a run that can be compiled; `looks` if something looks at each step. None where steps are made in Python."""
        robot, controls = flow.robot, flow.controls.functions
        constraints = OnConstraints.of(flow.keeper)
        if flow.keeper.held is not None and constraints is None:
            return None
        if not (isinstance(integrator, Adaptive) and robot.compiled and robot.nv and not robot.rolled):
            return None
        kernels, pushes = [x for x in controls if is_compiled_control(robot, x)], cast(UserKernel | None, flow.external)
        if settings.velocities != "v" or flow.stops is not None or len(kernels) < len(controls):
            return None
        if pushes is not None and not is_compiled_control(robot, pushes):
            return None
        dense = looks or settings.stores_grid or settings.dense is not False
        holder = cache_of(robot, *kernels, pushes)
        key = "steps", settings.method, dense, robot.lowered, tuple(kernels), pushes
        if key not in holder:
            of, rows = Equations.of(robot, kernels, constraints=constraints, external=pushes), (*ROWS, POLYNOMIAL) if dense else ROWS
            holder[key] = Segments(of, integrator.pair, rows, wide=False)
        return CompiledSteps(flow, integrator, holder[key])

    def make(self, state: tuple, target: float, most: int | None = None) -> Steps:
        """Steps from a state (t, late, q, v, vdot, tau) towards a time, as many as there is room for. There are none where the first
        cannot be made."""
        flow, integrator, segments = self.flow, self.integrator, self.segments
        values: dict[str, Any] = dict.fromkeys(segments.state, 0.0) | dict(zip(segments.state, state))
        values |= self.given | {"target": target, "slack": 16 * np.spacing(abs(target)), "held": sum(flow.controls.answers, flow.zero)}
        arrays = [np.array(values[name], float)[None] for name in (*segments.state, *segments.given)]
        after = dict(zip(segments.state, arrays))
        if not integrator.next_step:
            flow.evaluations += 1
        after["wanted"][0] = integrator.next_step or segments.first(*arrays)[0]
        (count,) = segments.run(arrays, self.room, min(most or self.capacity, self.capacity))
        made, tries = int(count), int(after["tries"][0])
        integrator.rejected += tries - made
        flow.evaluations += tries * segments.pair.stages
        integrator.next_step = float(after["wanted"][0])
        rows = {name: x[0, :made] for name, x in zip(segments.rows, self.room)}
        joined = {name: np.concatenate([np.asarray(values[name])[None], rows[name]]) for name in ("t", "late", "q", "v", "vdot", "tau")}
        coefficients = rows["coefficients"].copy() if segments.dense else None
        return Steps(**joined, h=rows["h"].copy(), coefficients=coefficients, steers=self.steers)

    def step(self, state: tuple, target: float) -> Step | None:
        """The next step, or None if it cannot be made."""
        made = self.make(state, target, most=1)
        if not len(made):
            return None
        c = made.coefficients
        assert c is not None
        self.flow.tau = made.tau[1] if self.steers else self.flow.tau
        return Step(float(made.h[0]), made.q[0], made.q[1], made.v[1], Polynomial(lambda: c[0]), (made.vdot[1], self.flow.tau))


def is_compiled_control(robot, control) -> TypeGuard[UserKernel]:
    """Can a controller be part of the compiled step? A kernel of some of t, q, v of the same robot is."""
    mine = isinstance(control, UserKernel) and control.robot.lowered is robot.lowered
    return mine and set(control.names) <= {"t", "q", "v"} and control.compiled
