"""Explicit Runge-Kutta-Munthe-Kaas methods: stages in local coordinates, step by step, whatever drives the robot."""

from functools import partial
from typing import ClassVar

import numpy as np

from ...motion import equations, runge_kutta
from ..rates.kernels import kernel
from ..state import Released, State
from .interpolate import Polynomial, quartic, through
from .pairs import SHORTEST, Pair, local_step
from .step import Failure, Integrator, Step, Tolerances


class Euler(Integrator):
    """Semi-implicit Euler: the position changes with the new velocity."""

    def __init__(self, flow):
        super().__init__(flow)
        self.end = kernel(self.robot, equations.euler_end)

    def step(self, s, h):
        q1, v1 = self.end(s.q, s.v, s.vdot, h)
        return Step(h, s.q, q1, v1, through(self.robot, h, s.q, q1, s.v, s.vdot, v1))


class RK4(Integrator):
    """The classical Runge-Kutta method with fixed steps."""

    def __init__(self, flow):
        super().__init__(flow)
        self.K = np.zeros((runge_kutta.RK4.stages, flow.blocks * self.n))

    def step(self, s, h):
        K, n = self.K, self.n
        K[0, :n], K[0, n : 2 * n] = self.flow.velocity(s.q, s.v), s.vdot
        xi, v1, _ = local_step(runge_kutta.RK4, self.flow, K, s.t, s.q, s.v, h)
        return Step(h, s.q, self.flow.integrate(s.q, xi), v1, partial(quartic, self.robot, h, xi, s.v, s.vdot, v1))


class Adaptive(Integrator):
    """Steps of an embedded pair, whose length its error estimate controls; the last stage of one is the first of the next."""

    Memory: ClassVar[tuple[type, ...]] = (Released,)

    def __init__(self, pair: Pair, flow, tolerances: Tolerances, max_step: float):
        super().__init__(flow)
        self.pair = pair
        self.K = np.zeros((pair.stages + pair.extra_rows, flow.blocks * self.n))
        self.tolerances, self.max_step = tolerances, max_step

    def step(self, s, h):
        pair, K, n, (t, q, v) = self.pair, self.K, self.n, (s.t, s.q, s.v)
        if self.flow.stops is not None:
            K[0, 2 * n :] = self.free_at(s)
        K[0, :n], K[0, n : 2 * n] = self.flow.velocity(q, v), s.vdot
        wanted = s.next_step or float(pair.first_length(self.flow, K, self.tolerances, t, q, v, h))
        wanted = pair.longest(self.tolerances, K[0, :n], wanted, self.max_step)
        h, again = float(min(wanted, h)), False
        while True:
            xi, v1, held = pair.attempted(self.flow, K, t, q, v, h)
            errors = self._projected(pair.errors(K), t + h, q, xi)
            error = h * pair.size(errors, self.tolerances.tolerance(q, v, v1, held))
            after = float(pair.next_length(error, h, wanted, again))
            if error < 1:
                break
            self.flow.rejected += 1
            h, again = after, True
            if h <= SHORTEST * abs(t):
                raise self._failure(h)
        memory = None if self.flow.stops is None else Released(K[pair.stages, 2 * n :].copy())
        start = K[0].copy()

        def coefficients():
            K[0] = start  # the others are those of this step until the next one
            return pair.coefficients(self.flow, K, t, q, v, h, xi, v1)

        vdot1 = K[pair.stages, n : 2 * n].copy()
        return Step(h, q, self.flow.integrate(q, xi), v1, Polynomial(coefficients), (vdot1, self.flow.tau), memory, after)

    def free_at(self, s: State) -> np.ndarray:
        """The accelerations that joints at rest would have if let go, at the start of a step."""
        if isinstance(s.memory, Released):
            return s.memory.free
        out = tuple(np.zeros((3, self.n)))
        self.flow(s.t, s.q, self.flow.zero, s.v, out)
        return out[2]

    def _projected(self, errors, t, q, xi):
        """The errors that remain after the state is projected on the constraints."""
        n = self.n
        if self.flow.keeper.projects and np.isfinite(errors).all():
            left = self.flow.keeper.left(t, self.flow.integrate(q, xi), errors[:, : 2 * n].reshape(-1, n))
            errors[:, : 2 * n] = left.reshape(len(errors), 2 * n)
        return errors

    def _failure(self, h):
        """Why the last attempt failed, and at which row of v."""
        rates = self.K[: self.pair.stages + 1, self.n : 2 * self.n]
        if not (good := np.isfinite(rates).all(0)).all():
            return Failure("the acceleration is not finite", int(np.argmin(good)))
        row = int(np.argmax(np.ptp(rates, 0)))
        return Failure(f"no step is short enough ({h:.1g} s): a force is discontinuous, or the motion has a singularity here", row)


class CompiledOnly(Adaptive):
    """Steps of a method that only compiled code makes: what that has not made cannot be made."""

    def step(self, s, h):
        said = f"no step is short enough ({s.next_step or h:.1g} s)"
        raise Failure(f"{said}: a force is discontinuous, or the motion has a singularity here", int(np.argmax(np.abs(s.vdot))))
