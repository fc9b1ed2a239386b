"""The mass matrix, its inverse, the Coriolis matrix, and their products with a vector."""

import numpy as np

from .. import sweeps
from ..lie.scalars import like
from ..sweeps.blocks import at_rest
from . import long
from .declaration import Honours, few_entries, quantity

NOTHING = Honours.NOTHING


@quantity(("nv",), NOTHING, of_joints=True, of_tree=True)
def mass_matrix_times(system, q, vdot):
    """𝓜 v̇ by inverse dynamics at rest."""
    s = system.blocks(q)
    tau, _, _ = sweeps.inverse_dynamics(s, at_rest(s, system.still), s.tree.split(vdot))
    return s.tree.join(tau)


@quantity(("nv", "nv"), NOTHING, of_joints=True, product=(mass_matrix_times, "vdot"), straight_up_to=few_entries, of_tree=True)
def mass_matrix(system, q):
    """𝓜, of the tree."""
    s = system.blocks(q)
    return sweeps.mass_matrix(s, sweeps.composite_inertia(s))


@quantity(("nv",), NOTHING, of_joints=True, of_tree=True)
def mass_matrix_solve(system, q, tau):
    """𝓜⁻¹ τ."""
    s = system.blocks(q)
    return s.tree.join(solved(s, system.still, s.tree.split(tau)))


@quantity(("nv", "nv"), NOTHING, of_joints=True, product=(mass_matrix_solve, "tau"), of_tree=True, divides_by_inertia=True)
def mass_matrix_inverse(system, q):
    """𝓜⁻¹, of the tree: its product with the identity."""
    s = system.blocks(q)
    columns = s.tree.join_rows(solved(s, system.still, s.tree.split_rows(like(np.eye(s.tree.nv), q))))
    return columns[..., : s.tree.nv]  # of nothing, nothing: 0 x 0, not 0 x 1


def solved(s, still, tau):
    """𝓜⁻¹ τ, slots, of columns."""
    r = at_rest(s, still, tau)
    P, D, G, _ = sweeps.articulated_inertia(s)
    vdot, _, _ = sweeps.forward_dynamics(s, P, D, G, r)
    return vdot


@quantity(("nv", "nv"), NOTHING, of_joints=True, rolls=False, long=long.inverse_mass_matrix, of_tree=True)
def explicit_mass_matrix_inverse(system, q):
    """𝓜⁻¹ entry by entry from the compliances of the nodes (Jain, Algorithm 10.4)."""
    s = system.blocks(q)
    _, D, G, _ = sweeps.articulated_inertia(s)
    Upsilon, L, U = sweeps.compliances(s, D, G, system.still @ system.still.mT)
    return sweeps.mass_matrix_inverse(s, G, sweeps.transitions(s, G), Upsilon, L, U)


@quantity(("nv",), NOTHING, of_tree=True)
def coriolis_matrix_times(system, q, v, dv):
    """C dv."""
    s = system.blocks(q)
    return s.tree.join(sweeps.coriolis_matrix_times(s, system.block_rates(s, v), s.tree.split(dv), system.still))


@quantity(("nv", "nv"), NOTHING, product=(coriolis_matrix_times, "dv"), straight_up_to=few_entries, of_tree=True)
def coriolis_matrix(system, q, v):
    """C of the tree, with C + C* the rate of the mass matrix."""
    s = system.blocks(q)
    return sweeps.coriolis_matrix(s, system.block_rates(s, v))
