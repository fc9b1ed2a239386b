"""The variational midpoint rule: symplectic and symmetric, momenta kept exactly, energy without a trend."""

import numpy as np

from . import variational
from .interpolate import bridge
from .kernels import kernel
from .step import Failure, Integrator, Step

CLOSE = 1e-13  # of the step: one more correction after this leaves nothing
ROUGH = 0.1  # each correction at least this much smaller than the one before, or the slopes are taken anew
PROBE = 1e-7  # of a radian, or of the way: how far to go for a slope


class Midpoint(Integrator):
    """Finds the ξ of a step from p₀(ξ) = 𝓜 v, by Newton's method with slopes kept as long as they serve."""

    order = 2

    def __init__(self, flow):
        super().__init__(flow)
        how = {"friction": flow.friction}
        self.residual = kernel(self.robot, variational.midpoint_residual, *flow.options, **how)
        self.end = kernel(self.robot, variational.midpoint_end, *flow.options, **how)
        self.momentum = kernel(self.robot, variational.momentum)
        self.middle = kernel(self.robot, variational.midpoint_state)
        self.restart()

    def restart(self):
        self.inverse = None
        self.length = None

    def step(self, t, q, v, vdot, h):
        if h != self.length:
            self.restart()
        self.length, p = h, self.momentum(q, v)
        xi = self._solved(t, q, p, h * v + h * h / 2 * vdot, np.float64(h))
        q1, v1 = self.end(q, xi, *self._forces(t, q, xi, h), h, *self._wrenches)
        if (stops := self.flow.stops) is not None and stops.held:
            v1 = self._at_rest(q1, v1, stops.rows)
        return Step(h, q, q1, v1, lambda x: bridge(self.robot, x, h, self.robot.difference(q, q1), v, vdot, v1))

    def _forces(self, t, q, xi, h):
        """τ at the midpoint; the wrenches there are kept beside it."""
        middle = self.middle(q, xi, h) if self.flow.reacts else (q, xi)
        tau, *self._wrenches = self.flow.forces(t + h / 2, *middle)
        return (tau,)

    def _value(self, t, q, p, xi, h):
        self.flow.evaluations += 1
        r = self.residual(q, p, xi, *self._forces(t, q, xi, h), h, *self._wrenches)
        if (stops := self.flow.stops) is not None and stops.held:
            r[stops.rows] = xi[stops.rows]
        return r

    def _solved(self, t, q, p, xi, h):
        smallest, last = 0.0, np.inf
        fresh = self.inverse is None
        for _ in range(50):
            if self.inverse is None:
                self.inverse = np.linalg.pinv(self._slopes(t, q, p, xi, h))
            change = self.inverse @ self._value(t, q, p, xi, h)
            xi = xi - change
            size = np.abs(change).max(initial=0.0)
            smallest = CLOSE * np.abs(xi).max(initial=0.0)
            if size <= smallest:
                return xi
            if not np.isfinite(size):
                raise Failure("the midpoint equations have no finite solution: take a smaller dt.")
            if size > ROUGH * last:
                if size < 1e3 * smallest:
                    return xi  # rounding is all that is left
                if fresh and size > 0.9 * last:
                    raise Failure("the midpoint equations do not converge: take a smaller dt, or method=\"stiff\".")
                self.inverse, fresh, last = None, True, np.inf
                continue
            last = size
        raise Failure("the midpoint equations do not converge: take a smaller dt, or method=\"stiff\".")

    def _slopes(self, t, q, p, xi, h):
        """∂p₀/∂ξ by differences, one column for each velocity."""
        d = PROBE * np.maximum(np.abs(xi), np.abs(xi).max(initial=0.0) or 1.0)
        here = self._value(t, q, p, xi, h)
        columns = [(self._value(t, q, p, xi + step, h) - here) / e for step, e in zip(np.diag(d), d)]
        return np.stack(columns, -1) if columns else np.zeros((0, 0))

    def _at_rest(self, q, v, rows):
        """v with the joints at rest at rest, by an impulse along them."""
        inverse = self.robot.mass_matrix_inverse(q)
        v = v - inverse[:, rows] @ np.linalg.solve(inverse[np.ix_(rows, rows)], v[rows])
        v[rows] = 0.0
        return v
