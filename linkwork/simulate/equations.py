"""The equations of motion as integrators ask for them: functions of the nodes and one sample, kernels in the making.

Within a step the configuration is q ∘ exp ξ, joint by joint, q the one the step began with. ξ and v are vectors, and
their rates are what Runge and Kutta average (Munthe-Kaas 1998):

    ξ̇ = S⁻¹(ξ) v,    v̇ = 𝓜⁻¹ (τ + τ passive − C v − g + J* external)     at q ∘ exp ξ
"""

import numpy as np

from ..sweeps import quantities
from ..sweeps.kinematics import placements, shifts
from ..sweeps.lagrangian import kinetic_slopes


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
    """Semi-implicit: v' = v + h v̇(q, v),  q' = q ∘ exp(h v')."""
    v = v + h[..., None] * acceleration(nodes, q, v, tau)
    return quantities.integrate(nodes, q, h[..., None] * v), v


def rk4_step(nodes, q, v, tau, h):
    """Runge and Kutta's classical step in local coordinates, τ held."""
    h = h[..., None]
    x1, a1 = v, acceleration(nodes, q, v, tau)
    x2, a2 = local_rates(nodes, q, h / 2 * x1, v + h / 2 * a1, tau)
    x3, a3 = local_rates(nodes, q, h / 2 * x2, v + h / 2 * a2, tau)
    x4, a4 = local_rates(nodes, q, h * x3, v + h * a3, tau)
    xi = h / 6 * (x1 + 2 * x2 + 2 * x3 + x4)
    return quantities.integrate(nodes, q, xi), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


# --- the variational midpoint rule


def momentum(nodes, q, v):
    """p = 𝓜 v."""
    p, _ = _slopes(nodes, q, v)
    return nodes.tree.join(p)


def midpoint_residual(nodes, q, p, xi, tau, h, external=None):
    """p₀(ξ) − p: zero for the ξ that a step of length h covers."""
    before, _ = _discrete_momenta(nodes, q, xi, tau, h, external)
    return before - p


def midpoint_end(nodes, q, xi, tau, h, external=None):
    """q ∘ exp ξ, and the velocity there, 𝓜⁻¹ p₁(ξ)."""
    _, after = _discrete_momenta(nodes, q, xi, tau, h, external)
    q = quantities.integrate(nodes, q, xi)
    return q, quantities.mass_matrix_solve(nodes, q, after)


def _discrete_momenta(nodes, q, xi, tau, h, external):
    """The momenta at both ends of the discrete Lagrangian h L(q ∘ exp(ξ/2), ξ/h), and of the force beside it:

        p₀ = S⁻*(−ξ) (p − h/2 S*(−ξ/2) f)
        p₁ = S⁻*(ξ)  (p + h/2 S*(ξ/2)  f)             p = ∂L/∂v, f = ∂L/∂q + force, both at the midpoint

    (Marsden and West 2001, section 1.5, with the variations of q on the group; S(−ξ) is S on the left.) Rotors add to p
    but do not turn with their joint, so their gyroscopic force is taken out of f.
    """
    tree, h = nodes.tree, h[..., None]
    middle, v = quantities.integrate(nodes, q, xi / 2), xi / h
    p, slope = _slopes(nodes, middle, v)
    still = np.zeros_like(v)
    weight = quantities.inverse_dynamics(nodes, middle, still, still, external)
    outer = tree.split(tau + quantities.passive_force(nodes, middle, v) - weight)
    rates, steps, h = tree.split(v), tree.split(xi), h[..., None]
    before, after = tree.slots(2)
    for k in tree.base_to_tips():
        group, step, rate = nodes.groups[k], steps[k][..., 0], rates[k][..., 0]
        f         = slope[k] + outer[k] - group.ad(rate).mT @ (nodes.J[k] @ rates[k])
        before[k] = group.dexp_inverse(step, "left").mT @ (p[k] - h / 2 * (group.dexp(step / 2, "left").mT @ f))
        after[k]  = group.dexp_inverse(step, "right").mT @ (p[k] + h / 2 * (group.dexp(step / 2, "right").mT @ f))
    return tree.join(before), tree.join(after)


def _slopes(nodes, q, v):
    tree = nodes.tree
    phi = shifts(tree, placements(nodes, q))
    return kinetic_slopes(tree, phi, nodes.H, nodes.M, nodes.J, tree.split(v), nodes.still)


def _each(nodes, fn, xi, v):
    tree, xi, v = nodes.tree, nodes.tree.split(xi), nodes.tree.split(v)
    out = tree.slots()
    for k in tree.base_to_tips():
        out[k] = fn(nodes.groups[k], xi[k][..., 0], v[k])
    return tree.join(out)
