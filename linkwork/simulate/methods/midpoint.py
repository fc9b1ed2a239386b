"""The variational midpoint rule as an integrator: symplectic and symmetric, so that energy does not drift."""

import numpy as np

from ..rates.compliance import tree_compliance
from ..rates.kernels import kernel, slopes_of
from ..rates.memory import remembered
from . import variational
from .interpolate import Quartic
from .step import Failure, Integrator, Step

CLOSE = 1e-15**2  # (correction / step)² at which the iteration has converged
ROUNDING = 1e-10**2  # a correction smaller than this that grows again is rounding
SLOW = 0.3**2  # convergence slower than this factor, squared, is given up
PROBE = 1e-7  # increment of differences, relative to the step, where functions of the user take part
HISTORY = np.array([[1, 0, 0, 0], [2, -1, 0, 0], [3, -3, 1, 0], [4, -6, 4, -1]])  # extrapolation of equal steps


class Midpoint(Integrator):
    """Solves p₀(ξ) = 𝓜 v for the ξ of a step.

    First with the approximate Jacobian 𝓜/h, which suffices unless forces are stiff; else by Newton's method with the
    Jacobian of an earlier step, until convergence slows.
    """

    order = 2

    def __init__(self, flow):
        super().__init__(flow)
        robot, options, friction = self.robot, flow.options, flow.friction
        self.correction = kernel(robot, variational.midpoint_correction, *options, friction=friction)
        self.end = kernel(robot, variational.midpoint_end, *options, friction=friction)
        self.momentum = kernel(robot, variational.momentum)
        self.middle = kernel(robot, variational.midpoint_state)
        self.options, self.friction = options, friction
        self.stiff = False
        self.restart(jump=True)

    def restart(self, *, jump):
        self.h = np.array(np.nan)
        self.inverse = None
        self.past: list[np.ndarray] = []

    @property
    def memory(self):
        memory = {"h": float(self.h), "stiff": self.stiff, "past": [x.tolist() for x in self.past]}
        return memory if self.inverse is None else memory | {"inverse": self.inverse.tolist()}

    def remember(self, memory):
        count = len(memory["past"]) if isinstance(memory, dict) and isinstance(memory.get("past"), list) else 0
        shapes: dict = {"h": (), "stiff": (), "past": (count, self.n) if count else (0,), "inverse": (self.n, self.n)}
        if count > len(HISTORY) or (m := remembered(memory, shapes, optional=("inverse",))) is None:
            return
        self.h, self.stiff, self.past, self.inverse = m["h"], bool(m["stiff"]), list(m["past"]), m.get("inverse")

    def step(self, t, q, v, vdot, h):
        if h != self.h:
            self.restart(jump=False)
            self.h = np.array(h)
        self.t, self.q, self.p = t, q, self.momentum(q, v)
        n = len(self.past)
        guess = HISTORY[n - 1, :n] @ np.array(self.past) if n > 1 else h * v + h * h / 2 * vdot
        stops = self.flow.stops
        held = stops is not None and stops.held
        xi = self._by_mass(guess) if not (self.stiff or held) else None
        xi = self._by_newton(guess) if xi is None else xi
        self.past = [xi, *self.past[:3]]
        q1, v1 = self.end(q, xi, *self._forces(xi))
        if stops is not None and stops.held:
            v1 = self._at_rest(q1, v1, stops.rows)
        return Step(h, q, q1, v1, Quartic(self.robot, h, self.robot.difference(q, q1), v, vdot, v1))

    def _forces(self, xi):
        """τ, h and the wrenches at the midpoint."""
        middle = self.middle(self.q, xi, self.h) if self.flow.reacts else (self.q, xi)
        tau, *wrenches = self.flow.forces(self.t + float(self.h) / 2, *middle)
        return tau, self.h, *wrenches

    def _by_mass(self, xi):
        """ξ by corrections h 𝓜⁻¹ (p₀(ξ) − p), or None if they do not shrink fast enough."""
        last, q, p, correction = np.inf, self.q, self.p, self.correction
        while True:
            self.flow.evaluations += 1
            better = correction(q, p, xi, *self._forces(xi))
            change = better - xi
            size, xi = change @ change, better
            if _done(size, last, xi):
                return xi
            if not size < SLOW * last:
                self.stiff = True
                return None
            last = size

    def _by_newton(self, xi):
        last, fresh = np.inf, self.inverse is None
        for _ in range(50):
            if self.inverse is None:
                self.inverse = np.linalg.pinv(self._jacobian(xi))
            change = self.inverse @ self._residual(xi)
            size, xi = change @ change, xi - change
            if _done(size, last, xi):
                return xi
            if not np.isfinite(size):
                break
            if size > SLOW * last:
                if fresh and size > 0.8 * last:
                    break
                self.inverse, fresh, last = None, True, np.inf
            else:
                last = size
        raise Failure('the midpoint equations do not converge: take a smaller dt, or method="stiff"')

    def _residual(self, xi):
        self.flow.evaluations += 1
        residual = kernel(self.robot, variational.midpoint_residual, *self.options, friction=self.friction)
        r = residual(self.q, self.p, xi, *self._forces(xi))
        if self.flow.stops is not None and self.flow.stops.held:
            rows = self.flow.stops.rows
            r[rows] = xi[rows]
        return r

    def _jacobian(self, xi):
        """∂p₀/∂ξ; by differences, one column for each velocity, where functions of the user take part."""
        if self.flow.reacts or self.robot.long:
            return self._differences(xi)
        slopes = slopes_of(self.robot, variational.midpoint_residual, "xi", *self.options, friction=self.friction)
        J = slopes(self.q, self.p, xi, *self._forces(xi))
        if self.flow.stops is not None and self.flow.stops.held:
            J[self.flow.stops.rows] = np.eye(self.n)[self.flow.stops.rows]
        return J

    def _differences(self, xi):
        d = PROBE * np.maximum(np.abs(xi), np.abs(xi).max(initial=0.0) or 1.0)
        here = self._residual(xi)
        columns = [(self._residual(xi + step) - here) / e for step, e in zip(np.diag(d), d)]
        return np.stack(columns, -1) if columns else np.zeros((0, 0))

    def _at_rest(self, q, v, rows):
        """v after an impulse along the joints at rest that makes their velocities zero."""
        inverse = tree_compliance(self.robot, q)
        v = v - inverse[:, rows] @ np.linalg.solve(inverse[np.ix_(rows, rows)], v[rows])
        v[rows] = 0.0
        return v


def _done(size, last, xi) -> bool:
    """Is the next correction negligible, or this one rounding? `size` and `last` are squared norms of corrections."""
    scale = xi @ xi
    if size < ROUNDING * scale and size > SLOW * last:
        return True
    return bool(size * (size / last if last < np.inf else 1.0) <= CLOSE * scale)
