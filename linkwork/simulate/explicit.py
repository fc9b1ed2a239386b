"""Explicit Runge-Kutta-Munthe-Kaas methods: stages in local coordinates, that of order 8 with the tableau of SciPy."""

from abc import abstractmethod

import numpy as np

from ..motion import equations
from . import tableau
from .interpolate import Polynomial, Quartic
from .kernels import kernel
from .memory import remembered
from .step import Failure, Integrator, Step, Tolerances

SAFETY, SHRINK, GROW = 0.9, 0.2, 10.0  # factors for the next step: Hairer, Nørsett and Wanner, II.4
POWERS = np.concatenate([np.zeros((1, 7)), tableau.P.T])  # of x, from 0 to 4, for each stage of Dormand and Prince
ALTERNATING = np.array(  # the powers of x in x, x(1 − x), x²(1 − x), x²(1 − x)² ..., one column for each
    [
        [0, 0, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0, 0],
        [0, -1, 1, 1, 0, 0, 0],
        [0, 0, -1, -2, 1, 1, 0],
        [0, 0, 0, 1, -2, -3, 1],
        [0, 0, 0, 0, 1, 3, -3],
        [0, 0, 0, 0, 0, -1, 3],
        [0, 0, 0, 0, 0, 0, -1],
    ],
    float,
)
LARGEST_ROTATION = 2.0  # radians of a spherical joint in one step: S⁻¹(ξ) is singular at 2π


class Euler(Integrator):
    """Semi-implicit Euler: the position changes with the new velocity."""

    order = 1

    def __init__(self, flow):
        super().__init__(flow)
        self.end = kernel(self.robot, equations.euler_end)

    def step(self, t, q, v, vdot, h):
        q1, v1 = self.end(q, v, vdot, h)
        return Step(h, q, q1, v1, Quartic(self.robot, h, self.robot.difference(q, q1), v, vdot, v1))


class RungeKutta(Integrator):
    """The stages of one step: K[i] = (ξ̇, v̇) at t + C[i] h."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    extra_rows = 1  # of K after the stages: the rates at the end, and the extra stages of the interpolant

    def __init__(self, flow):
        super().__init__(flow)
        self.stages = len(self.B)
        self.K = np.zeros((self.stages + self.extra_rows, flow.blocks * self.n))
        self.out = [tuple(row.reshape(flow.blocks, self.n)) for row in self.K]
        self.rows = [self.A[i, :i].copy() for i in range(self.stages)]

    def advance(self, t, q, v, vdot, h):
        """ξ and v after h, and the integral of the accelerations that joints at rest would have if free."""
        K, n = self.K, self.n
        K[0, :n], K[0, n : 2 * n] = self.flow.velocity(q, v), vdot
        for i in range(1, self.stages):
            dy = (h * self.rows[i]) @ K[:i]
            self.flow(t + self.C[i] * h, q, dy[:n], v + dy[n : 2 * n], self.out[i])
        dy = (h * self.B) @ K[: self.stages]
        return dy[:n], v + dy[n : 2 * n], dy[2 * n :]


class RK4(RungeKutta):
    """The classical Runge-Kutta method with fixed steps."""

    A = np.array([[0, 0, 0, 0], [1 / 2, 0, 0, 0], [0, 1 / 2, 0, 0], [0, 0, 1, 0]])
    B = np.array([1, 2, 2, 1]) / 6
    C = np.array([0, 1 / 2, 1 / 2, 1])
    order = 4

    def step(self, t, q, v, vdot, h):
        xi, v1, _ = self.advance(t, q, v, vdot, h)
        return Step(h, q, self.flow.integrate(q, xi), v1, Quartic(self.robot, h, xi, v, vdot, v1))


class Adaptive(RungeKutta):
    """Steps whose length is controlled by an embedded error estimate; the last stage of one is the first of the next."""

    order: int
    estimate: int  # the order of the error estimate

    def __init__(self, flow, tolerances: Tolerances, first_step: float | None, max_step: float):
        super().__init__(flow)
        self.tolerances = tolerances
        self.next_step = first_step
        self.max_step = max_step
        self.fresh, self.free = True, np.zeros(0)

    @abstractmethod
    def errors(self) -> np.ndarray:
        """Estimates of the error (m, blocks · n) of the last step, divided by its length."""

    @abstractmethod
    def size(self, errors, scale) -> float:
        """The norm of the errors relative to the tolerances `scale`; below 1 the step is accepted."""

    @abstractmethod
    def coefficients(self, start, h, xi, v0, v1) -> np.ndarray:
        """Those of the interpolant of the last step, which began with the rates `start`."""

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
        if not self.fresh:
            self.K[0, 2 * self.n :] = self.free  # the rest are v and vdot
        elif self.flow.stops is not None:
            self.flow(t, q, self.flow.zero, v, self.out[0])
        wanted = self.next_step or self._first(t, q, v, vdot, h)
        speed = self.tolerances.fastest_rotation(self.flow.velocity(q, v))
        wanted = min(wanted, self.max_step, LARGEST_ROTATION / speed if speed else np.inf)
        least, again = 10 * np.spacing(abs(t)), False
        h = min(wanted, h)
        while True:
            xi, v1, held = self.advance(t, q, v, vdot, h)
            self.flow(t + h, q, xi, v1, self.out[self.stages])
            error = h * self.size(self._projected_errors(t + h, q, xi), self.tolerances.tolerance(q, v, v1, held))
            if error < 1:
                break
            self.rejected += 1
            again = True
            h *= max(SHRINK, SAFETY * error ** (-1 / (self.estimate + 1))) if np.isfinite(error) else SHRINK
            if h < least:
                raise self._failure(h)
        grow = GROW if error == 0 else min(GROW, SAFETY * error ** (-1 / (self.estimate + 1)))
        grow = min(grow, 1.0) if again else grow
        self.next_step = max(grow * h, wanted if not again and h < wanted else 0.0)  # a step cut short is no measure
        self.fresh, self.free = False, self.K[self.stages, 2 * self.n :].copy()
        start = self.K[0, : 2 * self.n].copy()
        interpolant = Polynomial(lambda: self.coefficients(start, h, xi, v, v1))  # K is that of this step until the next one
        vdot1 = self.out[self.stages][1].copy()
        return Step(h, q, self.flow.integrate(q, xi), v1, interpolant, (vdot1, self.flow.tau))

    def _projected_errors(self, t, q, xi):
        """The errors that remain after the state is projected on the constraints."""
        errors, n = self.errors(), self.n
        if self.flow.keeper.projects and np.isfinite(errors).all():
            left = self.flow.keeper.left(t, self.flow.integrate(q, xi), errors[:, : 2 * n].reshape(-1, n))
            errors[:, : 2 * n] = left.reshape(len(errors), 2 * n)
        return errors

    def _first(self, t, q, v, vdot, h):
        """A first step from the size of the first two derivatives (Hairer, Nørsett and Wanner, II.4)."""
        scale = self.tolerances.tolerance(q, v, v, v[:0])
        rate = self.flow.velocity(q, v)
        here = np.concatenate([rate, vdot])
        d0 = _rms(np.concatenate([self.tolerances.size(q), v]) / scale)
        d1 = _rms(here / scale)
        h0 = min(h, 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1)
        out = self.out[1]
        self.flow(t + h0, q, h0 * rate, v + h0 * vdot, out)
        d2 = _rms((np.concatenate(out[:2]) - here) / scale) / h0
        largest = max(d1, d2)
        h1 = max(1e-6, 1e-3 * h0) if largest <= 1e-15 else (0.01 / largest) ** (1 / (self.estimate + 1))
        return min(100 * h0, h1) if np.isfinite(h1) else h0

    def _failure(self, h):
        """Why the last attempt failed, and at which row of v."""
        rates = self.K[: self.stages + 1, self.n : 2 * self.n]
        if not (good := np.isfinite(rates).all(0)).all():
            return Failure("the acceleration is not finite", int(np.argmin(good)))
        row = int(np.argmax(np.ptp(rates, 0)))
        return Failure(f"no step is short enough ({h:.1g} s): a force is discontinuous, or the motion has a singularity here", row)


class DormandPrince(Adaptive):
    """Order 5(4), interpolant of order 4."""

    A, B, C, E = tableau.A, tableau.B, tableau.C, tableau.E
    order, estimate = 5, 4

    def errors(self):
        return (self.E @ self.K)[None]

    def size(self, errors, scale):
        return _rms(errors[0] / scale)

    def coefficients(self, start, h, xi, v0, v1):
        made = (h * POWERS) @ self.K[:, : 2 * self.n]
        made[0, self.n :] = v0
        return made


class DormandPrince8(Adaptive):
    """Order 8(5,3), interpolant of order 7."""

    extra_rows = 4

    def __init__(self, *arguments):
        from scipy.integrate import DOP853

        self.A, self.B, self.C, self.D = DOP853.A, DOP853.B, DOP853.C, DOP853.D
        self.E3, self.E5 = DOP853.E3, DOP853.E5
        self.A_extra, self.C_extra = DOP853.A_EXTRA, DOP853.C_EXTRA
        self.order, self.estimate = DOP853.order, DOP853.error_estimator_order
        super().__init__(*arguments)

    def errors(self):
        return np.stack([self.E5, self.E3]) @ self.K[: self.stages + 1]

    def size(self, errors, scale):
        five, three = np.sum((errors / scale) ** 2, -1)
        if five == 0 and three == 0:
            return 0.0
        return float(five / np.sqrt((five + 0.01 * three) * len(scale)))

    def coefficients(self, start, h, xi, v0, v1):
        """After three more stages."""
        K, n = self.K[:, : 2 * self.n], self.n
        for i, (a, c) in enumerate(zip(self.A_extra, self.C_extra), self.stages + 1):
            dy = (h * a[:i]) @ K[:i]
            self.flow(self.t + c * h, self.q, dy[:n], v0 + dy[n:], self.out[i])
        dy = np.concatenate([xi, v1 - v0])
        ends = h * (K[self.stages] + start)
        F = [dy, h * start - dy, 2 * dy - ends, *(h * (self.D @ K))]
        made = ALTERNATING @ np.array(F)
        made[0, n:] = v0
        return made

    def step(self, t, q, v, vdot, h):
        self.t, self.q = t, q
        return super().step(t, q, v, vdot, h)


def _rms(x):
    return float(np.sqrt(x @ x / max(len(x), 1)))
