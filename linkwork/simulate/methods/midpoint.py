"""The variational midpoint rule as an integrator: symplectic and symmetric, so that energy does not drift."""

import numpy as np

from ..rates.compliance import tree_compliance
from ..rates.kernels import kernel, slopes_of
from ..state import Midpoints, State
from . import variational
from .interpolate import through
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

    Memory = (Midpoints,)

    def __init__(self, flow):
        super().__init__(flow)
        robot, options, friction = self.robot, flow.options, flow.friction
        self.correction = kernel(robot, variational.midpoint_correction, *options, friction=friction)
        self.end = kernel(robot, variational.midpoint_end, *options, friction=friction)
        self.momentum = kernel(robot, variational.momentum)
        self.middle = kernel(robot, variational.midpoint_state)
        self.options, self.friction = options, friction

    def restarted(self, memory, *, jump):
        return self._begun(np.nan, memory is not None and memory.stiff)

    def _begun(self, h: float, stiff: bool) -> Midpoints:
        """The memory of steps of another length, or with other forces: no more than whether they take Newton's method."""
        return Midpoints(h, stiff, np.zeros((0, self.n)), None)

    def step(self, s, h):
        known = s.memory or self._begun(h, False)
        if h != known.h:
            known = self._begun(h, known.stiff)
        problem, n = _Problem(self, s, h), min(len(known.past), len(HISTORY))
        guess = HISTORY[n - 1, :n] @ known.past[:n] if n > 1 else h * s.v + h * h / 2 * s.vdot
        stiff, inverse, rests = known.stiff, known.inverse, self.rests
        xi = None if stiff or rests else problem.by_mass(guess)
        if xi is None:
            stiff = stiff or not rests
            xi, inverse = problem.by_newton(guess, inverse)
        q1, v1 = self.end(s.q, xi, *problem.forces(xi))
        if rests:
            v1 = self._at_rest(q1, v1, rests)
        memory = Midpoints(h, stiff, np.concatenate([xi[None], known.past[:3]]), inverse)
        within = through(self.robot, h, s.q, q1, s.v, s.vdot, v1)
        return Step(h, s.q, q1, v1, within, memory=memory)

    @property
    def rests(self) -> list[int]:
        """The rows of v of joints at rest."""
        stops = self.flow.stops
        return [] if stops is None else list(stops.rows)

    def _at_rest(self, q, v, rows):
        """v after an impulse along the joints at rest that makes their velocities zero."""
        inverse = tree_compliance(self.robot, q)
        v = v - inverse[:, rows] @ np.linalg.solve(inverse[np.ix_(rows, rows)], v[rows])
        v[rows] = 0.0
        return v


class _Problem:
    """The equations of one step."""

    def __init__(self, of: Midpoint, s: State, h: float):
        self.of, self.flow, self.robot = of, of.flow, of.robot
        self.t, self.q, self.p, self.h = s.t, s.q, of.momentum(s.q, s.v), np.array(h)

    def forces(self, xi):
        """τ, h and the wrenches at the midpoint."""
        middle = self.of.middle(self.q, xi, self.h) if self.flow.reacts else (self.q, xi)
        tau, *wrenches = self.flow.forces(self.t + float(self.h) / 2, *middle)
        return tau, self.h, *wrenches

    def by_mass(self, xi):
        """ξ by corrections h 𝓜⁻¹ (p₀(ξ) − p), or None if they do not shrink fast enough."""
        last = np.inf
        while True:
            self.flow.evaluations += 1
            better = self.of.correction(self.q, self.p, xi, *self.forces(xi))
            change = better - xi
            size, xi = change @ change, better
            if _done(size, last, xi):
                return xi
            if not size < SLOW * last:
                return None
            last = size

    def by_newton(self, xi, inverse):
        """ξ, and the inverse of the Jacobian; that of an earlier step comes in, or None."""
        last, fresh = np.inf, inverse is None
        for _ in range(50):
            if inverse is None:
                inverse = np.linalg.pinv(self._jacobian(xi))
            change = inverse @ self._residual(xi)
            size, xi = change @ change, xi - change
            if _done(size, last, xi):
                return xi, inverse
            if not np.isfinite(size):
                break
            if size > SLOW * last:
                if fresh and size > 0.8 * last:
                    break
                inverse, fresh, last = None, True, np.inf
            else:
                last = size
        raise Failure('the midpoint equations do not converge: take a smaller dt, or method="stiff"')

    def _residual(self, xi):
        self.flow.evaluations += 1
        residual = kernel(self.robot, variational.midpoint_residual, *self.of.options, friction=self.of.friction)
        r = residual(self.q, self.p, xi, *self.forces(xi))
        rows = self.of.rests
        r[rows] = xi[rows]
        return r

    def _jacobian(self, xi):
        """∂p₀/∂ξ; by differences, one column for each velocity, where functions of the user take part."""
        if self.flow.reacts or self.robot.long:
            return self._differences(xi)
        slopes = slopes_of(self.robot, variational.midpoint_residual, "xi", *self.of.options, friction=self.of.friction)
        J = slopes(self.q, self.p, xi, *self.forces(xi))
        J[self.of.rests] = np.eye(len(xi))[self.of.rests]
        return J

    def _differences(self, xi):
        d = PROBE * np.maximum(np.abs(xi), np.abs(xi).max(initial=0.0) or 1.0)
        here = self._residual(xi)
        columns = [(self._residual(xi + step) - here) / e for step, e in zip(np.diag(d), d)]
        return np.stack(columns, -1) if columns else np.zeros((0, 0))


def _done(size, last, xi) -> bool:
    """Is the next correction negligible, or this one rounding? `size` and `last` are squared norms of corrections."""
    scale = xi @ xi
    if size < ROUNDING * scale and size > SLOW * last:
        return True
    return bool(size * (size / last if last < np.inf else 1.0) <= CLOSE * scale)
