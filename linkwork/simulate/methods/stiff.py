"""Implicit methods for stiff springs, strong damping and large gains, in local coordinates: SciPy's Radau IIA of order 5, and "stiff",
which makes linearly implicit steps in compiled code and Radau's where there are none.

The local coordinates refer to one configuration until a spherical joint has rotated far from it; then, or when a force
jumps, the solver is restarted with the same step length.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ConstraintError, ModelError
from ...motion.linearize import accelerations, chart
from ..state import Collocation, Released
from .explicit import Adaptive
from .interpolate import Polynomial
from .rosenbrock import Rosenbrock
from .step import Failure, Integrator, Step, Tolerances

MOST = 24  # velocities of a robot whose linearly implicit steps are compiled without being asked for by name
FAR = 1.0  # radians
NUMBERS, TIMES = ("y", "f", "J", "y_old"), ("t", "t_old", "t_bound", "h_abs", "h_abs_old", "error_norm_old")  # of the solver, after a step
PROBE = 1e-8  # increment of finite differences, relative to a coordinate or its change in a step


class Radau(Integrator):
    """SciPy's solver, which is given all that is remembered of the last step before each one."""

    Memory = (Collocation,)

    def __init__(self, flow, tolerances: Tolerances, max_step: float):
        super().__init__(flow)
        self.tolerances, self.max_step = tolerances, max_step
        self.base, self.origin, self.last_step = flow.zero, 0.0, 1.0  # of the step that is being made
        self.solver: Any = None  # whose entries are those of the memory before each step

    def projected(self, memory):
        return None

    def step(self, s, h):
        self.last_step = s.next_step or 1.0
        solver = self._going_on(s, h)
        if solver is None:
            y = np.zeros(self.flow.blocks * self.n)
            y[self.n : 2 * self.n] = s.v
            self.base, self.origin = s.q, s.t
            solver = self._new_solver(0.0, y, h, None if s.next_step is None else min(s.next_step, h))
        message = solver.step()
        if solver.status == "failed" or not np.isfinite(solver.y).all():
            raise Failure(f"the implicit equations have no solution, however short the step ({message})")
        xi, v1 = solver.y[: self.n].copy(), solver.y[self.n : 2 * self.n].copy()
        made, dense, base, done = solver.t - solver.t_old, solver.dense_output(), self.base, solver.status == "finished"
        next_step = max(made, s.next_step or 0.0) if done else solver.h_abs  # a step cut short is no measure
        memory = None if done or self._far(xi) else self._memory(solver)

        def coefficients():
            return np.concatenate([dense.y_old[None], dense.Q.T])[:, : 2 * self.n] if self.n else np.zeros((1, 0))

        q1 = self.flow.integrate(base, xi)
        return Step(h if done else made, base, q1, v1, Polynomial(coefficients), memory=memory, next_step=float(next_step))

    def _memory(self, solver) -> Collocation:
        """What the solver knows after a step: entries of the same names, its factors and the polynomial of the step."""
        entries = {name: getattr(solver, name) for name in NUMBERS} | {name: float(getattr(solver, name)) for name in TIMES}
        if solver.LU_real is not None:
            (real, order), (whole, second) = solver.LU_real, solver.LU_complex
            entries |= {"LU": np.stack([real, whole.real, whole.imag]), "order": np.stack([order, second])}
        return Collocation(**entries, base=self.base, origin=self.origin, Q=solver.sol.Q, current_jac=bool(solver.current_jac))

    def _going_on(self, s, h) -> Any:
        """The solver of the last step, if this one is where that led, with its end."""
        m, ulps = s.memory, 4 * np.spacing(abs(s.t) + h)
        if not isinstance(m, Collocation) or not (m.h_abs > 0 and m.t < m.t_bound):
            return None
        if abs(m.origin + m.t - s.t) > ulps or abs(m.t_bound - m.t - h) > ulps:
            return None
        another, self.base, self.origin = m.base is not self.base, m.base, m.origin
        if self.solver is None:
            self._new_solver(m.t, m.y, m.t_bound, min(m.h_abs, m.t_bound - m.t))
        solver, solver.status = self.solver, "running"
        for name in (*NUMBERS, *TIMES, "current_jac"):
            setattr(solver, name, getattr(m, name))
        if another:
            solver.atol = self._atol(m.y)
        solver.sol = _LastStep(m.t_old, m.t, m.y_old, m.Q)
        solver.LU_real = solver.LU_complex = None
        if m.LU is not None and m.order is not None:
            (real, re, im), order = m.LU, m.order
            if order.dtype != np.int32:  # from a file
                order = np.clip(order, 0, len(m.y) - 1).astype(np.int32)
            solver.LU_real, solver.LU_complex = (real, order[0]), (re + 1j * im, order[1])
        return solver

    def _new_solver(self, t, y, end, first):
        """A solver that counts time from `origin`, and local coordinates from `base`."""
        from scipy.integrate import Radau as SciPyRadau

        with np.errstate(all="ignore"):
            self.solver = SciPyRadau(
                self._rates, t, y, end, rtol=max(self.tolerances.rtol, 1e-13), atol=self._atol(y),
                first_step=first, max_step=self.max_step, jac=self._jacobian,
            )  # fmt: skip
        return self.solver

    def _atol(self, y) -> np.ndarray:
        atol = np.full_like(y, self.tolerances.atol)
        atol[: self.n] += self.tolerances.rtol * self.tolerances.size(self.base)
        return atol

    def _jacobian(self, t, y):
        """∂(ξ̇, v̇)/∂(ξ, v); by differences, all columns at once, where functions of the user take part."""
        if known(self.flow):
            slopes, n = rate_slopes(self.flow, self.origin + t, self.base, y[: self.n], y[self.n : 2 * self.n]), 2 * self.n
            if slopes is not None:
                return np.pad(slopes, (0, len(y) - n))
        sizes = self.tolerances.size(self.base)
        size = np.maximum(sizes, 1e-3 * sizes.max(initial=1e-300))
        size = np.concatenate([size, *[size / self.last_step] * (self.flow.blocks - 1)])
        d = PROBE * np.maximum(np.abs(y), size)
        rates = self._rates(t, y[:, None] + np.concatenate([np.zeros((len(y), 1)), np.diag(d)], 1))
        return (rates[:, 1:] - rates[:, :1]) / d

    def _rates(self, t, y):
        """(ξ̇, v̇) for one column or several."""
        n = self.n
        columns = np.atleast_2d(y.T)
        out = np.empty_like(columns)
        if self.flow.reacts or self.flow.stops is not None:
            for row, into in zip(columns, out):
                self.flow(self.origin + t, self.base, row[:n], row[n : 2 * n], tuple(into.reshape(-1, n)))
        else:
            self.flow.evaluations += len(columns)
            self.flow.rates(self.base, columns[:, :n], columns[:, n:], *self.flow.steady, out=(out[:, :n], out[:, n:]))
        return out.T.reshape(y.shape)

    def _far(self, xi):
        return any(xi[rows] @ xi[rows] > FAR**2 for rows in self.tolerances.rotations)


class Stiff(Adaptive):
    """Steps of `Rosenbrock`, which compiled code makes; what that cannot make is a step of Radau's, with the same tolerances."""

    Memory = Released, Collocation

    def __init__(self, flow, tolerances: Tolerances, max_step: float):
        super().__init__(Rosenbrock(), flow, tolerances, max_step)
        self.radau = Radau(flow, tolerances, max_step)

    def step(self, s, h):
        return self.radau.step(s, h)

    def projected(self, memory):
        return memory if isinstance(memory, Released) else None


# --- how the rates of a run change with its state: exact, unless functions of the user take part


def known(flow) -> bool:
    """Are the rates of a run made by the library alone, so that their slopes are known? A function of the user, joints held at rest, and
    a choice of dependent velocities that the run changes are not."""
    keeper, stops = flow.keeper, flow.stops
    given = flow.controls.functions or flow.external is not None
    return not given and not (stops is not None and stops.held) and (keeper.held is None or keeper.how in ("project", None))


def rate_slopes(flow, t: float, q, xi, v):
    """∂(ξ̇, v̇)/∂(ξ, v) (2 nv, 2 nv) at q ∘ exp ξ; None where the state is none of the mechanism, or where blocks
    of a producer, or a constraint that cannot be traced, have no slopes.

        ∂v̇/∂ξ = ∂v̇/∂q S(ξ),    ∂ξ̇/∂v = S⁻¹(ξ)
    """
    robot = flow.robot
    try:
        by_q, by_v, _ = accelerations(robot, flow.integrate(q, xi), v, flow.steady[0], t=t if flow.timed else None)
    except (ConstraintError, ModelError):
        return None
    S, inverse, _, bend = chart(robot, xi, v)
    return np.block([[bend, inverse], [by_q @ S, by_v]])


@dataclass(frozen=True)
class _LastStep:
    """The polynomial of the last step, from which the solver guesses the next one, with the bits that SciPy's own has."""

    t_old: float
    t: float
    y_old: np.ndarray
    Q: np.ndarray

    def __call__(self, t):
        x = (t - self.t_old) / (self.t - self.t_old)
        y = np.dot(self.Q, np.cumprod(np.tile(x, (self.Q.shape[1], 1)), axis=0))
        return y + self.y_old[:, None]
