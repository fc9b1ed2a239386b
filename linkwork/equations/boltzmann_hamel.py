"""The Boltzmann-Hamel equations of a tree of joints on groups: M(Q) v̇ + C(Q, v) v + N(Q) = τ (From, part two)."""

import numpy as np

from ..lie.scalars import like
from ..quantities import potential_energy
from .algebra import Algebra
from .coriolis import mass_matrix, mass_matrix_derivatives, rotations, rotors
from .kinematic_derivatives import node_inertias, node_jacobians


def structure(nodes) -> np.ndarray:
    """[eᵢ, eⱼ] = Σₛ c[s, i, j] eₛ of all velocities: one block for each joint (nv, nv, nv)."""
    c = np.zeros((nodes.tree.nv,) * 3)
    for rows, group in zip(nodes.tree.rows, nodes.groups):
        c[rows, rows, rows] = Algebra.of(group).constants
    return c


def S(nodes, xi):
    """S of v = S ξ̇ in exponential coordinates about the present Q: block diagonal, a block S(ξ(k)) per joint (From, part two, 24)."""
    tree, parts = nodes.tree, nodes.tree.split(xi)
    return tree.matrix({(k, k): nodes.groups[k].S(parts[k][..., 0]) for k in tree.base_to_tips() if tree.widths[k]})


def coriolis(nodes, q, v):
    """C(Q, v) of Theorem 2.2 of From, part two, from derivatives along the group directions, all at ξ = 0 where S = I.

        C_ij = Σₖ (∂ₖM_ij - ½ ∂ᵢM_jk) vₖ + Σₖ (∂S_ki/∂ξⱼ - ∂S_kj/∂ξᵢ) (Mv)ₖ            From, part two (60)

    and the second sum is Σₖ c[k, i, j] (Mv)ₖ, block by block. Rotors are in M but not in the second sum.
    """
    dM = mass_matrix_derivatives(nodes, q)
    along = (dM @ v[..., None, :, None])[..., 0]
    across = (np.moveaxis(dM, -1, -3) @ v[..., None, :, None])[..., 0]
    p = ((mass_matrix(nodes, q) - rotors(nodes, q)) @ v[..., None])[..., 0]
    return along - across / 2 + np.einsum("kij,...k->...ij", like(structure(nodes), q), p)


def gravity_force(nodes, q):
    """N(Q) = ∂U/∂ξ at ξ = 0 for the potential of gravity: each node's weight mapped by its Jacobian (From, part two, 52)."""
    K, M = node_jacobians(nodes, q), node_inertias(nodes)
    up = -rotations(nodes, q).mT @ nodes.gravity[..., None, :, None]
    return (K.mT @ (M @ np.concatenate([np.zeros_like(up), up], -2))).sum(-3)[..., 0]


def inverse_dynamics(nodes, q, v, vdot):
    """τ = M(Q) v̇ + C(Q, v) v + N(Q)."""
    inertial = mass_matrix(nodes, q) @ vdot[..., None] + coriolis(nodes, q, v) @ v[..., None]
    return inertial[..., 0] + gravity_force(nodes, q)


def lagrangian(nodes, q, v):
    """L = ½ v* M v - U, with the springs of the joints in U."""
    kinetic = (v[..., None, :] @ (mass_matrix(nodes, q) @ v[..., None]))[..., 0, 0] / 2
    return kinetic - potential_energy(nodes, q)
