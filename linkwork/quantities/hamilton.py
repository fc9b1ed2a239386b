"""Lagrange's and Hamilton's forms of the equations of motion, of trees of any joints.

    L(q,v) = T − U,   p = ∂L/∂v = 𝓜 v,   H(q,p) = p · v − L = ½ p · 𝓜⁻¹ p + U                  Jain (4.24) to (4.32), (4.42), (4.43)
    ṗ = τ + ∂L/∂q + ad*(v) p                                                                   at v = 𝓜⁻¹ p

Slopes by q are along the group, as `integrate` moves; the last term, joint by joint, is that of velocities that are not rates of
coordinates: zero for joints whose velocities commute.
"""

from .. import sweeps
from . import by_program, long
from .declaration import Honours, quantity
from .energy import kinetic_energy, potential_energy
from .inertia import mass_matrix_solve, solved
from .passive_derivatives import weight_and_springs
from .point_forces import point_force
from .points import conservative

ENERGY = Honours.GRAVITY | Honours.JOINT_SPRINGS | Honours.POINT_FORCES


@quantity(("nv",), Honours.NOTHING, of_joints=True, of_tree=True, program=by_program.jacobian("kinetic_energy", "v"))
def generalized_momentum(system, q, v):
    """p = ∂T/∂v = 𝓜 v of the tree                                                                     Jain (4.30)."""
    s = system.blocks(q)
    _, p = sweeps.kinetic_energy_gradient(s, s.tree.split(v), system.still)
    return s.tree.join(p)


@quantity(("nv",), Honours.NOTHING, of_joints=True, of_tree=True, divides_by_inertia=True)
def velocity_of_momentum(system, q, p):
    """v = 𝓜⁻¹ p of the tree."""
    return mass_matrix_solve(system, q, p)


@quantity((), ENERGY, long=long.lagrangian)
def lagrangian(system, q, v):
    """L = T − U, with the energies of gravity and springs."""
    return kinetic_energy(system, q, v) - potential_energy(system, q)


@quantity((), ENERGY, of_tree=True, divides_by_inertia=True, long=long.hamiltonian)
def hamiltonian(system, q, p):
    """H = ½ p · 𝓜⁻¹ p + U of the tree: the energy as a function of momenta."""
    s = system.blocks(q)
    v = solved(s, system.still, s.tree.split(p))
    return sweeps.kinetic_energy(s, sweeps.velocities(s, v, system.still), v) + potential_energy(system, q)


@quantity(
    (("nv",), ("nv",)), ENERGY, divides_by_inertia=True, long=long.hamiltonian_dynamics,
    refuses="robot.forward_dynamics(q, v, tau) keeps them; robot.generalized_momentum(q, v) is that of the tree",
)  # fmt: skip
def hamiltonian_dynamics(system, q, p, tau):
    """v = ∂H/∂p, and ṗ = τ − ∂U/∂q + ∂T/∂q + ad*(v) p: Hamilton's equations; τ is all of the joint force that has no energy in U."""
    system.check_rigid("hamiltonian_dynamics")
    s = system.blocks(q)
    own, force = s.tree.split(p), s.tree.split(tau)
    v, pdot = solved(s, system.still, own), s.tree.slots()
    slope, _ = sweeps.kinetic_energy_gradient(s, v, system.still)
    hold = weight_and_springs(system, s, q)
    for k in s.tree.base_to_tips():
        of_bodies = own[k] - s.armature[k] @ v[k]  # armature is inertia along the velocities: it has no gyroscopic part
        pdot[k] = force[k] - hold[k] + slope[k] + system.groups[k].ad(v[k][..., 0]).mT @ of_bodies
    return s.tree.join(v), point_force(system, q, system.zeros, s.tree.join(pdot), conservative(system.forces))
