"""The equations of motion in the form integrators use: functions of the nodes and one sample, compiled to kernels.

Within a step the configuration is q ∘ exp ξ, joint by joint, q being that at its start. ξ and v are vectors, to whose
rates a Runge-Kutta method applies (Munthe-Kaas 1998):

    ξ̇ = S⁻¹(ξ) v,    v̇ = 𝓜⁻¹ (τ + τ passive − C v − g + J* external)     at q ∘ exp ξ
"""

from dataclasses import replace

import numpy as np

from .. import quantities
from .rotation_translation import cross_product, element, rotated, rotations


def acceleration(nodes, q, v, tau, external=None):
    """v̇ with the springs, damping and friction of the joints."""
    return quantities.forward_dynamics(nodes, q, v, tau + quantities.passive_force(nodes, q, v), external)


def local_rates(nodes, q, xi, v, tau, external=None):
    """ξ̇ and v̇ at q ∘ exp ξ."""
    return local_velocity(nodes, xi, v), acceleration(nodes, quantities.integrate(nodes, q, xi), v, tau, external)


def without_friction(nodes):
    """The nodes of joints without dry friction."""
    return replace(nodes, friction=tuple(np.zeros_like(x) for x in nodes.friction))


def local_velocity(nodes, xi, v):
    """ξ̇ = S⁻¹(ξ) v."""
    return _each(nodes, lambda group, xi, v: group.dexp_inverse(xi, side="right") @ v, xi, v)


def body_velocity(nodes, xi, rate):
    """v = S(ξ) ξ̇."""
    return _each(nodes, lambda group, xi, rate: group.dexp(xi, side="right") @ rate, xi, rate)


# --- whole steps


def euler_step(nodes, q, v, tau, h, external=None):
    """The state after a semi-implicit Euler step with constant τ."""
    return euler_end(nodes, q, v, acceleration(nodes, q, v, tau, external), h)


def euler_end(nodes, q, v, vdot, h):
    """The state after h at acceleration v̇; the position changes with the new velocity:

        ω' = ω + h ω̇                    R' = R exp(h ω')
        u  = v + h (v̇ + ω × v)          x' = x + h R u,  v' = R'* R u

    The linear velocity is updated in axes that do not rotate; in rotating ones the angular velocity would add energy.
    """
    tree, h = nodes.tree, h[..., None]
    q, v, vdot = nodes.split(q), tree.split(v), tree.split(vdot)
    q1, v1 = tree.slots(2)
    for k in tree.base_to_tips():
        group, now, rate = nodes.groups[k], v[k][..., 0], vdot[k][..., 0]
        a, b = now[..., : rotations(group)], now[..., rotations(group) :]
        a1 = a + h * rate[..., : rotations(group)]
        u = b + h * (rate[..., rotations(group) :] + cross_product(group, a, b))
        q1[k] = group.compose(q[k], element(group, h * a1, h * u))
        v1[k] = np.concatenate([a1, rotated(group, -h * a1, u)], -1)[..., None]
    return nodes.join(q1), tree.join(v1)


def rk4_step(nodes, q, v, tau, h, external=None):
    """The state after a classical Runge-Kutta step in local coordinates, with constant τ and constant wrenches."""
    h = h[..., None]
    x1, a1 = v, acceleration(nodes, q, v, tau, external)
    x2, a2 = local_rates(nodes, q, h / 2 * x1, v + h / 2 * a1, tau, external)
    x3, a3 = local_rates(nodes, q, h / 2 * x2, v + h / 2 * a2, tau, external)
    x4, a4 = local_rates(nodes, q, h * x3, v + h * a3, tau, external)
    xi = h / 6 * (x1 + 2 * x2 + 2 * x3 + x4)
    return quantities.integrate(nodes, q, xi), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


STEPS = {"euler": euler_step, "rk4": rk4_step}


def _each(nodes, function, xi, v):
    tree, xi, v = nodes.tree, nodes.tree.split(xi), nodes.tree.split(v)
    out = tree.slots()
    for k in tree.base_to_tips():
        out[k] = function(nodes.groups[k], xi[k][..., 0], v[k])
    return tree.join(out)
