"""A robot in velocities whose mass matrix is the identity, or block diagonal (Jain, chapter 19)."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ..errors import OptionError
from ..lie.scalars import numbers


class Factored:
    """What both forms have: 𝓜 = m N m* with N the mass matrix in the new velocities u = m* v, and forces m⁻¹ τ."""

    form = ""

    def __init__(self, robot):
        self.robot = robot

    def v(self, q: ArrayLike, u: ArrayLike) -> np.ndarray:
        """The robot's velocities v (..., nv) of the new ones."""
        return self._ask("velocity_of_diagonal", q, u)

    def tau(self, q: ArrayLike, force: ArrayLike) -> np.ndarray:
        """The robot's forces τ (..., nv) of the new ones."""
        return self._ask("force_of_diagonal", q, force)

    def coriolis(self, q: ArrayLike, u: ArrayLike) -> np.ndarray:
        """The velocity-dependent forces C(q, u) (..., nv) of N u̇ + C = m⁻¹ (τ − g), in O(N)."""
        return self._ask("diagonal_coriolis", q, u)

    def forward_dynamics(self, q: ArrayLike, u: ArrayLike, tau: ArrayLike, external: ArrayLike | None = None) -> np.ndarray:
        """u̇ (..., nv) of forces τ of the robot's joints, with gravity and `external` wrenches on its bodies, of a tree."""
        if external is None:
            return self._ask("diagonal_dynamics", q, u, tau)
        return self.robot.ask(("diagonal_dynamics", self.form, "external"), q, u, tau, external)

    def factor(self, q: ArrayLike) -> np.ndarray:
        """m (..., nv, nv)."""
        return self._ask("mass_matrix_root", q)

    def factor_inverse(self, q: ArrayLike) -> np.ndarray:
        """l = m⁻¹ (..., nv, nv)."""
        return self._ask("mass_matrix_root_inverse", q)

    def factor_rate(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """ṁ (..., nv, nv) while the robot moves with v                                               Jain, Lemma 19.7."""
        return self._ask("mass_matrix_root_rate", q, v)

    def factor_inverse_rate(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """l̇ = −l ṁ l (..., nv, nv)                                                                  Jain, Exercise 19.3."""
        l = self.factor_inverse(q)
        return -l @ self.factor_rate(q, v) @ l

    def factor_derivative(self, q: ArrayLike) -> np.ndarray:
        """∂m/∂q along each velocity (..., nv, nv, nv), the last axis the direction                   Jain, Exercise 19.2."""
        return self._along_each(self.factor_rate, q)

    def factor_inverse_derivative(self, q: ArrayLike) -> np.ndarray:
        """∂l/∂q along each velocity (..., nv, nv, nv), the last axis the direction                   Jain, Exercise 19.4."""
        return self._along_each(self.factor_inverse_rate, q)

    def _along_each(self, rate: Callable, q):
        q = np.asarray(q)
        return np.moveaxis(rate(q[..., None, :], np.eye(self.robot.nv, dtype=q.dtype)), -3, -1)

    def _ask(self, name: str, *arrays):
        return self.robot.ask((name, self.form), *arrays)

    def __repr__(self):
        return f"<{self.robot.model.name} in {self.form}>"


class Diagonal(Factored):
    """A robot in normalized quasi-velocities η = m* v, m m* = 𝓜: the mass matrix is the identity, and no force but ζ changes |η|.

        η̇ + C(q, η) = ζ,   ζ = m⁻¹ (τ − g),   η · C = 0,   kinetic energy ½ |η|²

        d   = robot.diagonal()
        eta = d.eta(q, v)
        d.v(q, eta)                                     # v again
        d.forward_dynamics(q, eta, tau)                 # η̇

    m = F W from the factorization 𝓜 = F D F* by articulated bodies, W(k) the lower triangular root of the block D(k) of a joint. Leading
    axes are batch axes. Loops, couplings and drives are not part of it: `forward_dynamics` refuses them.
    """

    form = "eta"

    def eta(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """η = m* v (..., nv), in O(N)."""
        return self._ask("diagonal_velocity", q, v)

    def zeta(self, q: ArrayLike, tau: ArrayLike) -> np.ndarray:
        """ζ = m⁻¹ τ (..., nv), in O(N): η · ζ = v · τ."""
        return self._ask("diagonal_force", q, tau)

    def rate_feedback(self, gain: ArrayLike) -> Callable:
        """A control (t, q, v) -> τ with ζ = −gain η, gain a number or one for each velocity, not negative: each η(k) is damped by itself,
        and the kinetic energy never grows by it                                                     Jain, Lemma 19.10.

            lw.simulate(robot, (q, v), until=5.0, control=robot.diagonal().rate_feedback(gain))
        """
        c = numbers(gain)
        if c.shape not in ((), (self.robot.nv,)) or not (c >= 0).all():
            raise OptionError(f"gain is {c}; it is a number, or {self.robot.nv} numbers, none of them negative, in 1/s.")
        return lambda t, q, v: self.tau(q, -c * self.eta(q, v))

    @cached_property
    def unnormalized(self) -> "Unnormalized":
        """The same without roots: ξ = F* v."""
        return Unnormalized(self.robot)


class Unnormalized(Factored):
    """A robot in quasi-velocities ξ = F* v, F D F* = 𝓜: the mass matrix D is block diagonal, one block for each joint.

        D ξ̇ + C(q, ξ) = ε,   ε = F⁻¹ (τ − g),   kinetic energy ½ ξ* D ξ                               Jain, Lemma 19.11

    Its ε are the innovations of forward dynamics; ξ · C is not zero, because D changes.
    """

    form = "xi"

    def xi(self, q: ArrayLike, v: ArrayLike) -> np.ndarray:
        """ξ = F* v (..., nv), in O(N)."""
        return self._ask("diagonal_velocity", q, v)

    def eps(self, q: ArrayLike, tau: ArrayLike) -> np.ndarray:
        """ε = F⁻¹ τ (..., nv), in O(N)."""
        return self._ask("diagonal_force", q, tau)

    def mass_matrix(self, q: ArrayLike) -> np.ndarray:
        """D (..., nv, nv), block diagonal."""
        return self.robot.ask("diagonal_mass", q)
