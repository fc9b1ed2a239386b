"""The variational midpoint rule, from the discrete Lagrangian h L(q at the midpoint, ξ/h) (Marsden and West 2001).

A step ξ = (a, b) of a joint rotates by exp(a) and translates by b in the axes of the midpoint:

    R₁ = R₀ exp(a),   x₁ = x₀ + R b,      R = R₀ exp(a/2),   x = (x₀ + x₁)/2

so that the path of a free body does not depend on its rotation. Momenta of symmetries are conserved exactly.
"""

import numpy as np

from ... import quantities
from ...lie import SO3
from ...lie.scalars import dot, like
from ...motion.rotation_translation import angular_velocity, cross_product, element, rotated, rotations
from ...sweeps import each, kinetic_energy_gradient


def momentum(nodes, q, v):
    """p = 𝓜 v."""
    return nodes.tree.join(_slopes(nodes, q, v)[1])


def midpoint_state(nodes, q, xi, h):
    """q and v at the midpoint of a step."""
    return _moved(nodes, q, xi, 0.5), xi / h[..., None]


def midpoint_residual(nodes, q, p, xi, tau, h, external=None):
    """p₀(ξ) − p, which is zero for the ξ of a step of length h."""
    before, _ = _discrete_momenta(nodes, q, xi, tau, h, external)
    return before - p


def midpoint_correction(nodes, q, p, xi, tau, h, external=None):
    """ξ − h 𝓜⁻¹ (p₀(ξ) − p), the mass matrix at the midpoint: a fixed-point iteration, which converges unless forces are stiff."""
    residual = midpoint_residual(nodes, q, p, xi, tau, h, external)
    return xi - h[..., None] * quantities.mass_matrix_solve(nodes, _moved(nodes, q, xi, 0.5), residual)


def midpoint_end(nodes, q, xi, tau, h, external=None):
    """q after the step, and the velocity there, 𝓜⁻¹ p₁(ξ)."""
    _, after = _discrete_momenta(nodes, q, xi, tau, h, external)
    q = _moved(nodes, q, xi, 1.0)
    return q, quantities.mass_matrix_solve(nodes, q, after)


def _discrete_momenta(nodes, q, xi, tau, h, external):
    """The momenta at both ends of a step, from p = ∂L/∂v and f = ∂L/∂q + force at the midpoint, both (rotation, translation):

        m  = h f + p × b                              rotational part: translation changes the lever arms
        p₀ = (S⁻*(−a) (p − S*(−a/2) m/2),  exp(a/2)  (p − h f/2))
        p₁ = (S⁻*(a)  (p + S*(a/2)  m/2),  exp(−a/2) (p + h f/2))

    Rotors add to p but do not rotate with their joint: their gyroscopic force is subtracted from f.
    """
    tree, h = nodes.tree, h[..., None]
    middle, v = _moved(nodes, q, xi, 0.5), xi / h
    slope, p = _slopes(nodes, middle, v)
    still = np.zeros_like(v)
    weight = quantities.inverse_dynamics(nodes, middle, still, still, external)
    outer = tree.split(tau + quantities.passive_force(nodes, middle, v) - weight)
    rates, steps = tree.split(v), tree.split(xi)
    before, after = tree.slots(2)
    for k in tree.base_to_tips():
        group, rate = nodes.groups[k], rates[k][..., 0]
        rotor = group.ad(rate).mT @ (nodes.joint_inertias[k] @ rates[k])
        force = h * (slope[k] + outer[k] - rotor)[..., 0]
        before[k], after[k] = _ends(group, steps[k][..., 0], p[k][..., 0], force)
    return tree.join(before), tree.join(after)


def _ends(group, xi, p, f):
    n = rotations(group)
    a, b = xi[..., :n], xi[..., n:]
    m = f[..., :n] + _lever(group, p[..., n:], b)
    low = _pulled(group, a, "left", p[..., :n], -m / 2)
    high = _pulled(group, a, "right", p[..., :n], m / 2)
    push, shift = f[..., n:] / 2, p[..., n:]
    before = np.concatenate([low, rotated(group, a / 2, shift - push)], -1)
    after = np.concatenate([high, rotated(group, -a / 2, shift + push)], -1)
    return before[..., None], after[..., None]


def _pulled(group, a, side, p, m):
    """S⁻*(±a) (p + S*(±a/2) m): plain sums where rotations add."""
    if rotations(group) < 3 or not group.units:
        return p + m
    w = angular_velocity(group, a)
    return (SO3.dexp_inverse(w, side).mT @ (p[..., None] + SO3.dexp(w / 2, side).mT @ m[..., None]))[..., 0]


def _lever(group, p, b):
    """p × b along the axes of rotation:  (p × b) · axis = −p · (axis × b)."""
    if rotations(group) == group.nv:
        return 0.0
    axes = [like(axis, b) for axis in np.eye(rotations(group))]
    return np.concatenate([-dot(p, cross_product(group, axis, b)) for axis in axes], -1)


def _moved(nodes, q, xi, part):
    """q after a fraction `part`, 1/2 or 1, of the step."""

    def moved(group, q, step):
        a, b = step[..., : rotations(group), 0], step[..., rotations(group) :, 0]
        return group.compose(q, element(group, part * a, part * rotated(group, a / 2, b)))

    return nodes.join(each(nodes.tree, moved, nodes.groups, nodes.split(q), nodes.tree.split(xi)))


def _slopes(nodes, q, v):
    return kinetic_energy_gradient(nodes.blocks(q), nodes.tree.split(v), nodes.still)
