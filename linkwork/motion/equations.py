"""The equations of motion in the form integrators use: one text over any scalar, compiled to kernels.

Within a step the configuration is q ∘ exp ξ, joint by joint, q being that at its start. ξ and v are vectors, to whose
rates a Runge-Kutta method applies (Munthe-Kaas 1998):

    ξ̇ = S⁻¹(ξ) v,    v̇ = 𝓜⁻¹ (τ + τ passive − C v − g + J* external)     at q ∘ exp ξ
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from .. import quantities
from ..model.tree import concatenated
from ..systems.system import System
from .rotation_translation import by_joint, drift, kick
from .runge_kutta import RK4


class Motion(ABC):
    """What the equations of motion ask of a mechanism."""

    @abstractmethod
    def integrate(self, q, xi):
        """q ∘ exp ξ."""

    @abstractmethod
    def local_velocity(self, xi, v):
        """ξ̇ = S⁻¹(ξ) v."""

    @abstractmethod
    def passive_force(self, q, v):
        """The springs, damping and friction of the joints."""

    @abstractmethod
    def forward_dynamics(self, q, v, tau, external=None):
        """v̇ of forces τ; not a number where constraints have no answer."""


class OfSystem(Motion):
    """The motion of a system, by sweeps over any scalar."""

    def __init__(self, system: System):
        self.system, self.nodes = system, system.kinematic

    def integrate(self, q, xi):
        return quantities.integrate(self.nodes, q, xi)

    def local_velocity(self, xi, v):
        return local_velocity(self.nodes, xi, v)

    def passive_force(self, q, v):
        return quantities.passive_force(self.nodes, q, v)

    def forward_dynamics(self, q, v, tau, external=None):
        return quantities.forward_dynamics(self.system, q, v, tau, external)


# --- the equations


def rates(of: Motion, q, xi, v, tau, external=None):
    """ξ̇ and v̇ at q ∘ exp ξ."""
    return of.local_velocity(xi, v), acceleration(of, of.integrate(q, xi), v, tau, external)


def acceleration(of: Motion, q, v, tau, external=None):
    """v̇ with the springs, damping and friction of the joints."""
    return of.forward_dynamics(q, v, tau + of.passive_force(q, v), external)


def rates_with_rest(system, q, xi, v, tau, rests, external=None):
    """ξ̇ and v̇ where the joints with `rests` = 1 have no acceleration                                                   Jain (16.15)

    Also the accelerations that these would have if let go, and the forces that hold them; both are zero for other joints.
    """
    of = OfSystem(system)
    xi_rate, free = rates(of, q, xi, v, tau, external)
    there = of.integrate(q, xi)
    total = tau + of.passive_force(there, v)
    found = quantities.hybrid_dynamics(system, there, v, np.where(rests > 0, 0.0, total), rests, external)
    return xi_rate, np.where(rests > 0, 0.0, found), np.where(rests > 0, free, 0.0), np.where(rests > 0, found - total, 0.0)


def local_rates(system, q, xi, v, tau, external=None):
    """ξ̇ and v̇ at q ∘ exp ξ."""
    return rates(OfSystem(system), q, xi, v, tau, external)


# --- coordinates within a step


def local_velocity(nodes, xi, v):
    """ξ̇ = S⁻¹(ξ) v."""
    return by_joint(nodes, lambda group, xi, v: (group.dexp_inverse(xi, side="right") @ v[..., None])[..., 0], xi, v)


def body_velocity(nodes, xi, rate):
    """v = S(ξ) ξ̇."""
    return by_joint(nodes, lambda group, xi, rate: (group.dexp(xi, side="right") @ rate[..., None])[..., 0], xi, rate)


# --- whole steps


def euler_step(system, q, v, tau, h, external=None):
    """The state after a semi-implicit Euler step with constant τ."""
    return euler_end(system, q, v, acceleration(OfSystem(system), q, v, tau, external), h)


def euler_end(nodes, q, v, vdot, h):
    """The state after h at acceleration v̇; the position changes with the new velocity."""
    return drift(nodes, q, kick(nodes, v, v, vdot, h), h)


def rk4_step(system, q, v, tau, h, external=None):
    """The state after a classical Runge-Kutta step in local coordinates, with constant τ and constant wrenches."""
    of = OfSystem(system)
    first = v, acceleration(of, q, v, tau, external)
    return runge_kutta_step(of.integrate, lambda c, xi, v: rates(of, q, xi, v, tau, external), first, q, v, h)


def runge_kutta_step(integrate: Callable, rates: Callable, first, q, v, h):
    """The state after a classical Runge-Kutta step in local coordinates; `rates(c, ξ, v)` gives ξ̇ and v̇ at a fraction c of it, `first`
    are those at its start."""
    n = v.shape[-1]
    start, stage = one_vector(np.zeros_like(v), v), lambda c, y: one_vector(*rates(c, y[..., :n], y[..., n:]))
    y = RK4.end(stage, one_vector(*first), start, h[..., None])
    return integrate(q, y[..., :n]), y[..., n:]


def one_vector(*parts):
    """Vectors (..., n) one after the other, their batch axes broadcast."""
    return concatenated([x[..., None] for x in parts], -2)[..., 0]


STEPS = {"euler": euler_step, "rk4": rk4_step}
