"""Interpolants of one step: ξ and v at fractions x (m, 1) of it, the configuration there being base ∘ exp ξ."""

from collections.abc import Callable
from functools import cache, cached_property

import numpy as np

from ...motion import equations
from ..rates.kernels import kernel


class Polynomial:
    """A polynomial of (ξ, v) in x, made when it is first needed: row k of `coefficients` (degree + 1, 2 nv) belongs to x^k."""

    def __init__(self, make: Callable[[], np.ndarray]):
        self.make = make

    @cached_property
    def coefficients(self) -> np.ndarray:
        return self.make()

    def __call__(self, x) -> tuple[np.ndarray, np.ndarray]:
        y, n = self.value(self.coefficients, x), self.coefficients.shape[1] // 2
        return y[:, :n], y[:, n:]

    @staticmethod
    def value(c, x):
        """Σ c[..., k, :] x^k, with the same bits for one fraction and for many (Horner)."""
        y = c[..., -1, :] + 0.0 * x
        for k in range(c.shape[-2] - 2, -1, -1):
            y = y * x + c[..., k, :]
        return y


def through(robot, h, q0, q1, v0, a0, v1) -> Callable:
    """The `quartic` through both ends of a step of length h; the way from one to the other is looked for when it is first asked."""
    way = cache(lambda: robot.difference(q0, q1))
    return lambda x: quartic(robot, h, way(), v0, a0, v1, x)


def quartic(robot, h, xi, v0, a0, v1, x):
    """ξ and v at the fractions x (..., 1) of a step of length h to ξ = `xi`: a quartic in local coordinates, for methods without an
    interpolant of their own.

        ξ(x) = h v₀ x + h² v̇₀ x²/2 + c₃ x³ + c₄ x⁴        ξ(1) = ξ,  ξ̇(1) = S⁻¹(ξ) v₁

    The acceleration at the end is not used: if a controller switches there, it belongs to the next step.
    """
    w1 = kernel(robot, equations.local_velocity)(xi, v1)
    r = xi - h * v0 - h * h / 2 * a0
    s = h * (w1 - v0) - h * h * a0
    c3, c4 = 4 * r - s, s - 3 * r
    local = x * (h * v0 + x * (h * h / 2 * a0 + x * (c3 + x * c4)))
    rate = v0 + x * (h * a0 + x / h * (3 * c3 + 4 * x * c4))
    return local, kernel(robot, equations.body_velocity)(local, rate)
