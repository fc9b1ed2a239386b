"""Explicit Runge-Kutta-Munthe-Kaas methods: stages in local coordinates, step by step, whatever drives the robot."""

import numpy as np

from ...motion import equations, runge_kutta
from ..rates.kernels import kernel
from ..rates.memory import remembered
from .interpolate import Polynomial, Quartic
from .pairs import SHORTEST, Pair, local_step
from .step import Failure, Integrator, Step, Tolerances


class Euler(Integrator):
    """Semi-implicit Euler: the position changes with the new velocity."""

    order = 1

    def __init__(self, flow):
        super().__init__(flow)
        self.end = kernel(self.robot, equations.euler_end)

    def step(self, t, q, v, vdot, h):
        q1, v1 = self.end(q, v, vdot, h)
        return Step(h, q, q1, v1, Quartic(self.robot, h, self.robot.difference(q, q1), v, vdot, v1))


class RK4(Integrator):
    """The classical Runge-Kutta method with fixed steps."""

    order = runge_kutta.RK4.order

    def __init__(self, flow):
        super().__init__(flow)
        self.K = np.zeros((runge_kutta.RK4.stages, flow.blocks * self.n))

    def step(self, t, q, v, vdot, h):
        K, n = self.K, self.n
        K[0, :n], K[0, n : 2 * n] = self.flow.velocity(q, v), vdot
        xi, v1, _ = local_step(runge_kutta.RK4, self.flow, K, t, q, v, h)
        return Step(h, q, self.flow.integrate(q, xi), v1, Quartic(self.robot, h, xi, v, vdot, v1))


class Adaptive(Integrator):
    """Steps of an embedded pair, whose length its error estimate controls; the last stage of one is the first of the next."""

    def __init__(self, pair: Pair, flow, tolerances: Tolerances, first_step: float | None, max_step: float):
        super().__init__(flow)
        self.pair, self.order = pair, pair.order
        self.K = np.zeros((pair.stages + pair.extra_rows, flow.blocks * self.n))
        self.tolerances = tolerances
        self.next_step = first_step
        self.max_step = max_step
        self.fresh, self.free = True, np.zeros(0)

    def restart(self, *, jump):
        self.fresh = True
        self.next_step = None if jump else self.next_step

    @property
    def memory(self):
        """The accelerations that joints at rest would have if let go, at the end of the last step."""
        return None if self.fresh or self.flow.stops is None else {"free": self.free.tolist()}

    def remember(self, memory):
        if (earlier := remembered(memory, {"free": (self.n,)})) is not None and self.flow.stops is not None:
            self.free, self.fresh = earlier["free"], False

    def step(self, t, q, v, vdot, h):
        pair, K, n = self.pair, self.K, self.n
        if self.flow.stops is not None:
            K[0, 2 * n :] = self.free_at(t, q, v)
        K[0, :n], K[0, n : 2 * n] = self.flow.velocity(q, v), vdot
        wanted = self.next_step or self.first(t, q, v, h)
        wanted = pair.longest(self.tolerances, K[0, :n], wanted, self.max_step)
        h, again = float(min(wanted, h)), False
        while True:
            xi, v1, held = pair.attempted(self.flow, K, t, q, v, h)
            errors = self._projected(pair.errors(K), t + h, q, xi)
            error = h * pair.size(errors, self.tolerances.tolerance(q, v, v1, held))
            after = float(pair.next_length(error, h, wanted, again))
            if error < 1:
                break
            self.rejected += 1
            h, again = after, True
            if h <= SHORTEST * abs(t):
                raise self._failure(h)
        self.next_step = after
        self.fresh, self.free = False, K[pair.stages, 2 * n :].copy()
        start = K[0].copy()

        def coefficients():
            K[0] = start  # the others are those of this step until the next one
            return pair.coefficients(self.flow, K, t, q, v, h, xi, v1)

        vdot1 = K[pair.stages, n : 2 * n].copy()
        return Step(h, q, self.flow.integrate(q, xi), v1, Polynomial(coefficients), (vdot1, self.flow.tau))

    def free_at(self, t, q, v) -> np.ndarray:
        """The accelerations that joints at rest would have if let go, at the start of a step."""
        if self.fresh:
            out = tuple(np.zeros((3, self.n)))
            self.flow(t, q, self.flow.zero, v, out)
            return out[2]
        return self.free

    def first(self, t, q, v, h) -> float:
        """The length of the first step."""
        return float(self.pair.first_length(self.flow, self.K, self.tolerances, t, q, v, h))

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

    def step(self, t, q, v, vdot, h):
        said = f"no step is short enough ({self.next_step or h:.1g} s)"
        raise Failure(f"{said}: a force is discontinuous, or the motion has a singularity here", int(np.argmax(np.abs(vdot))))
