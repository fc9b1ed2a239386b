"""Implicit methods for stiff springs, strong damping and large gains, in local coordinates: SciPy's Radau IIA of order 5, and "stiff",
which makes linearly implicit steps in compiled code and Radau's where there are none.

The local coordinates refer to one configuration until a spherical joint has rotated far from it; then, or when a force
jumps, the solver is restarted with the same step length.
"""

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..rates.memory import remembered
from .explicit import Adaptive
from .interpolate import Polynomial
from .rosenbrock import Rosenbrock
from .slopes import known, rate_slopes
from .step import Failure, Integrator, Step, Tolerances

MOST = 24  # velocities of a robot whose linearly implicit steps are compiled without being asked for by name
FAR = 1.0  # radians
PROBE = 1e-8  # increment of finite differences, relative to a coordinate or its change in a step


class Radau(Integrator):
    order = 5

    def __init__(self, flow, tolerances: Tolerances, first_step: float | None, max_step: float):
        super().__init__(flow)
        self.tolerances = tolerances
        self.next_step = first_step
        self.max_step = max_step
        self.solver: Any = None
        self.origin = 0.0  # the time from which the solver counts
        self.earlier: dict | None = None  # the memory of an earlier part of the run, until the first step

    def restart(self, *, jump):
        self.solver = self.earlier = None
        self.next_step = None if jump else self.next_step

    def state_projected(self):
        self.solver = self.earlier = None

    @property
    def memory(self):
        """The state of the solver between two steps."""
        if (s := self.solver) is None or s.sol is None:
            return self.earlier
        arrays = {"base": self.base, "y": s.y, "f": s.f, "J": s.J, "y_old": s.y_old, "Q": s.sol.Q}
        if s.LU_real is not None:
            (real, order), (whole, second) = s.LU_real, s.LU_complex
            arrays |= {"LU": np.stack([real, whole.real, whole.imag]), "order": np.stack([order, second])}
        numbers = {"origin": self.origin, "t": s.t, "t_old": s.t_old, "t_bound": s.t_bound}
        numbers |= {"h": s.h_abs, "h_old": s.h_abs_old, "error": s.error_norm_old}
        lists: dict = {name: x.tolist() for name, x in arrays.items()}
        return lists | {name: float(x) for name, x in numbers.items()} | {"current": bool(s.current_jac)}

    def snapshot(self):
        made = copy(self)
        made.solver = copy(self.solver)
        return made

    def remember(self, memory):
        n, y = self.flow.blocks * self.n, (self.flow.blocks * self.n,)
        shapes: dict = {"base": (self.robot.nq,), "y": y, "f": y, "J": (n, n), "y_old": y, "Q": (n, 3), "LU": (3, n, n), "order": (2, n)}
        shapes |= dict.fromkeys(("origin", "t", "t_old", "t_bound", "h", "h_old", "error", "current"), ())
        self.earlier = remembered(memory, shapes, optional=("LU", "order"))

    def _go_on(self, memory):
        """The solver of an earlier part of the run."""
        m: dict = {name: x if x.ndim else float(x) for name, x in memory.items()}
        if not m["h"] > 0 or not m["t"] < m["t_bound"]:
            return
        s = self._new_solver(m["base"], m["origin"], m["t"], m["y"], m["t_bound"], min(m["h"], m["t_bound"] - m["t"]))
        s.f, s.J, s.current_jac, s.t_old, s.y_old = m["f"], m["J"], bool(m["current"]), m["t_old"], m["y_old"]
        s.h_abs, s.h_abs_old, s.error_norm_old = m["h"], m["h_old"], m["error"]
        s.sol = _LastStep(s.t_old, s.t, s.y_old, m["Q"])
        if "LU" in m:
            (real, re, im), order = m["LU"], np.clip(m["order"], 0, len(s.y) - 1).astype(np.int32)
            s.LU_real, s.LU_complex = (real, order[0]), (re + 1j * im, order[1])

    def step(self, t, q, v, vdot, h):
        if self.earlier is not None:
            self._go_on(self.earlier)
            self.earlier = None
        if self.solver is not None:
            here, ulps = self.solver.t, 4 * np.spacing(abs(t) + h)
            if abs(self.origin + here - t) > ulps or abs(self.solver.t_bound - here - h) > ulps:
                self.solver = None
        if self.solver is None:
            y = np.zeros(self.flow.blocks * self.n)
            y[self.n : 2 * self.n] = v
            self._new_solver(q, t, 0.0, y, h, None if self.next_step is None else min(self.next_step, h))
        solver = self.solver
        message = solver.step()
        if solver.status == "failed" or not np.isfinite(solver.y).all():
            raise Failure(f"the implicit equations have no solution, however short the step ({message})")
        xi, v1 = solver.y[: self.n].copy(), solver.y[self.n : 2 * self.n].copy()
        made, dense, base, done = solver.t - solver.t_old, solver.dense_output(), self.base, solver.status == "finished"
        self.next_step = max(made, self.next_step or 0.0) if done else solver.h_abs  # a step cut short is no measure
        if done or self._far(xi):
            self.solver = None

        def coefficients():
            return np.concatenate([dense.y_old[None], dense.Q.T])[:, : 2 * self.n] if self.n else np.zeros((1, 0))

        return Step(h if done else made, base, self.flow.integrate(base, xi), v1, Polynomial(coefficients))

    def _new_solver(self, base, origin, t, y, end, first):
        """A solver that counts time from `origin`, and local coordinates from `base`."""
        from scipy.integrate import Radau as SciPyRadau

        self.base, self.origin = base, origin
        atol = np.full_like(y, self.tolerances.atol)
        atol[: self.n] += self.tolerances.rtol * self.tolerances.size(base)
        with np.errstate(all="ignore"):
            self.solver = SciPyRadau(
                self._rates, t, y, end, rtol=max(self.tolerances.rtol, 1e-13), atol=atol,
                first_step=first, max_step=self.max_step, jac=self._jacobian,
            )  # fmt: skip
        return self.solver

    def _jacobian(self, t, y):
        """∂(ξ̇, v̇)/∂(ξ, v); by differences, all columns at once, where functions of the user take part."""
        if known(self.flow):
            slopes, n = rate_slopes(self.flow, self.origin + t, self.base, y[: self.n], y[self.n : 2 * self.n]), 2 * self.n
            if slopes is not None:
                return np.pad(slopes, (0, len(y) - n))
        sizes = self.tolerances.size(self.base)
        size = np.maximum(sizes, 1e-3 * sizes.max(initial=1e-300))
        size = np.concatenate([size, *[size / (self.next_step or 1.0)] * (self.flow.blocks - 1)])
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

    def __init__(self, flow, tolerances: Tolerances, first_step: float | None, max_step: float):
        super().__init__(Rosenbrock(), flow, tolerances, first_step, max_step)
        self.radau = Radau(flow, tolerances, first_step, max_step)

    def step(self, t, q, v, vdot, h):
        self.radau.next_step, self.fresh = self.next_step, True
        made = self.radau.step(t, q, v, vdot, h)
        self.next_step = self.radau.next_step
        return made

    def restart(self, *, jump):
        super().restart(jump=jump)
        self.radau.restart(jump=jump)

    def state_projected(self):
        self.radau.state_projected()

    @property
    def memory(self):
        """Of compiled steps the accelerations of joints at rest, of Radau's the state of the solver."""
        return super().memory or self.radau.memory

    def remember(self, memory):
        super().remember(memory)
        self.radau.remember(memory)

    def snapshot(self):
        made = copy(self)
        made.radau = self.radau.snapshot()
        return made


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
