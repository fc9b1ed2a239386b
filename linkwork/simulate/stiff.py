"""An implicit method for stiff springs, strong damping and large gains: SciPy's Radau IIA of order 5, in local coordinates.

The local coordinates refer to one configuration until a spherical joint has rotated far from it; then, or when a force
jumps, the solver is restarted with the same step length.
"""

from typing import Any

import numpy as np

from .interpolate import Polynomial
from .step import Failure, Integrator, Step, Tolerances

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

    def restart(self, *, jump):
        self.solver = None
        self.next_step = None if jump else self.next_step

    def state_projected(self):
        self.solver = None

    def step(self, t, q, v, vdot, h):
        from scipy.integrate import Radau as SciPyRadau

        if self.solver is not None:
            here, ulps = self.solver.t, 4 * np.spacing(abs(t) + h)
            if abs(self.origin + here - t) > ulps or abs(self.solver.t_bound - here - h) > ulps:
                self.solver = None
        if self.solver is None:
            self.base, self.origin = q, t
            first = None if self.next_step is None else min(self.next_step, h)
            y = np.zeros(self.flow.blocks * self.n)
            y[self.n : 2 * self.n] = v
            atol = np.full_like(y, self.tolerances.atol)
            atol[: self.n] += self.tolerances.rtol * self.tolerances.size(q)
            with np.errstate(all="ignore"):
                self.solver = SciPyRadau(
                    self._rates, 0.0, y, h, rtol=max(self.tolerances.rtol, 1e-13), atol=atol,
                    first_step=first, max_step=self.max_step, jac=self._jacobian,
                )  # fmt: skip
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

    def _jacobian(self, t, y):
        """∂(ξ̇, v̇)/∂(ξ, v) by finite differences, all columns at once."""
        size = np.maximum(self.tolerances.sizes, 1e-3 * self.tolerances.sizes.max(initial=1e-300))
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
