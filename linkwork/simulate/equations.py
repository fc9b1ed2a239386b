"""The equations of motion as integrators ask for them: functions of the nodes and one sample, kernels in the making.

Within a step the configuration is q ∘ exp ξ, joint by joint, q the one the step began with. ξ and v are vectors, and
their rates are what Runge and Kutta average (Munthe-Kaas 1998):

    ξ̇ = S⁻¹(ξ) v,    v̇ = 𝓜⁻¹ (τ + τ passive − C v − g + J* external)     at q ∘ exp ξ
"""

import numpy as np

from .. import quantities
from .halves import across, placed, turned, turns


def acceleration(nodes, q, v, tau, external=None):
    """v̇ with the springs, damping and friction of the joints."""
    return quantities.forward_dynamics(nodes, q, v, tau + quantities.passive_force(nodes, q, v), external)


def local_rates(nodes, q, xi, v, tau, external=None):
    """ξ̇ and v̇ at q ∘ exp ξ."""
    return local_velocity(nodes, xi, v), acceleration(nodes, quantities.integrate(nodes, q, xi), v, tau, external)


def local_velocity(nodes, xi, v):
    """ξ̇ = S⁻¹(ξ) v."""
    return _each(nodes, lambda group, xi, v: group.dexp_inverse(xi, side="right") @ v, xi, v)


def body_velocity(nodes, xi, rate):
    """v = S(ξ) ξ̇."""
    return _each(nodes, lambda group, xi, rate: group.dexp(xi, side="right") @ rate, xi, rate)


# --- whole steps


def euler_step(nodes, q, v, tau, h):
    """Semi-implicit Euler with τ held."""
    return euler_end(nodes, q, v, acceleration(nodes, q, v, tau), h)


def euler_end(nodes, q, v, vdot, h):
    """The state after h at acceleration v̇, position moving with the new velocity:

        ω' = ω + h ω̇                    R' = R exp(h ω')
        u  = v + h (v̇ + ω × v)          x' = x + h R u,  v' = R'* R u

    A joint that turns and shifts has its velocity updated in axes that do not turn; otherwise its spin would speed it up.
    """
    tree, h = nodes.tree, h[..., None]
    q, v, vdot = nodes.split(q), tree.split(v), tree.split(vdot)
    there, fast = tree.slots(2)
    for k in tree.base_to_tips():
        group, now, rate = nodes.groups[k], v[k][..., 0], vdot[k][..., 0]
        a, b = now[..., : turns(group)], now[..., turns(group) :]
        a1 = a + h * rate[..., : turns(group)]
        u  = b + h * (rate[..., turns(group) :] + across(group, a, b))
        there[k] = group.compose(q[k], placed(group, h * a1, h * u))
        fast[k]  = np.concatenate([a1, turned(group, -h * a1, u)], -1)[..., None]
    return nodes.join(there), tree.join(fast)


def rk4_step(nodes, q, v, tau, h):
    """Runge and Kutta's classical step in local coordinates, τ held."""
    h = h[..., None]
    x1, a1 = v, acceleration(nodes, q, v, tau)
    x2, a2 = local_rates(nodes, q, h / 2 * x1, v + h / 2 * a1, tau)
    x3, a3 = local_rates(nodes, q, h / 2 * x2, v + h / 2 * a2, tau)
    x4, a4 = local_rates(nodes, q, h * x3, v + h * a3, tau)
    xi = h / 6 * (x1 + 2 * x2 + 2 * x3 + x4)
    return quantities.integrate(nodes, q, xi), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def _each(nodes, fn, xi, v):
    tree, xi, v = nodes.tree, nodes.tree.split(xi), nodes.tree.split(v)
    out = tree.slots()
    for k in tree.base_to_tips():
        out[k] = fn(nodes.groups[k], xi[k][..., 0], v[k])
    return tree.join(out)
