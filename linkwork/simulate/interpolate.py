"""Interpolation between two states: a polynomial with both velocities and the acceleration of the first."""

import numpy as np

from . import equations
from .kernels import kernel


def quartic(robot, x, h, xi, v0, a0, v1):
    """ξ and v at the fractions x (..., 1) of a step of length h to ξ = `xi`: a quartic in local coordinates.

        ξ(x) = h v₀ x + h² v̇₀ x²/2 + c₃ x³ + c₄ x⁴        ξ(1) = ξ,  ξ̇(1) = S⁻¹(ξ) v₁

    The acceleration at the end is not used: if a controller switches there, it belongs to the next step.
    """
    w1 = kernel(robot, equations.local_velocity)(xi, v1)
    r  = xi - h * v0 - h * h / 2 * a0
    s  = h * (w1 - v0) - h * h * a0
    c3, c4 = 4 * r - s, s - 3 * r
    local = x * (h * v0 + x * (h * h / 2 * a0 + x * (c3 + x * c4)))
    rate  = v0 + x * (h * a0 + x / h * (3 * c3 + 4 * x * c4))
    return local, kernel(robot, equations.body_velocity)(local, rate)


def interpolated(trajectory, t):
    """q and v of a trajectory at times t (...) between its first and its last."""
    robot, times = trajectory.robot, trajectory.t
    i  = np.clip(np.searchsorted(times, t, side="right") - 1, 0, max(len(times) - 2, 0))
    j  = np.minimum(i + 1, len(times) - 1)
    h  = (times[j] - times[i])[..., None]
    x  = np.where(h > 0, (t - times[i])[..., None] / np.where(h > 0, h, 1.0), 1.0)
    q0, q1 = trajectory.q[i], trajectory.q[j]
    xi = robot.difference(q0, q1)
    local, v = quartic(robot, x, np.where(h > 0, h, 1.0), xi, trajectory.v[i], trajectory.vdot[i], trajectory.v[j])
    at_end = x >= 1
    return np.where(at_end, q1, robot.integrate(q0, local)), np.where(at_end, trajectory.v[j], v)
