"""Energies, the centre of mass, and the forces that a mechanism exerts on itself."""

import numpy as np

from .. import sweeps
from ..sweeps.momentum import moment_of_mass
from ..systems.rigid import placements
from . import long
from .declaration import Honours, quantity
from .point_forces import point_energy, point_force


@quantity((), Honours.NOTHING, of_joints=True)
def kinetic_energy(system, q, v):
    s, rates = system.blocks(q), system.tree.split(v)
    return sweeps.kinetic_energy(s, sweeps.velocities(s, rates, system.still), rates)


@quantity((), Honours.GRAVITY | Honours.JOINT_SPRINGS | Honours.POINT_FORCES, long=long.potential_energy)
def potential_energy(system, q):
    """−g · Σ m c in the world, ½ ξ* k ξ of the springs of the joints, and the energy of springs between points."""
    tree, coordinates = system.tree, system.split(q)
    moment = moment_of_mass(tree, placements(system, q), system.weights(q))[..., :3, :]
    energy = tree.slots()
    for k in tree.base_to_tips():
        away = from_rest(system.groups[k], coordinates[k], system.rest[k])[..., None]
        energy[k] = 0.5 * (away.mT @ (system.stiffness[k][..., None] * away))
    total = (tree.total(energy) - system.gravity[..., None, :] @ moment)[..., 0, 0]
    return point_energy(system, q, total + system.strain_energy(q))


@quantity(("nv",), Honours.PASSIVE, long=long.passive_force)
def passive_force(system, q, v):
    """−S⁻*(ξ) k ξ − d v − c sign(v): springs pull back along ξ, the way from rest in exponential coordinates; and what
    springs and pushes between points do along each velocity."""
    tree, coordinates, rates = system.tree, system.split(q), system.tree.split(v)
    tau = tree.slots()
    for k in tree.base_to_tips():
        spring, c = joint_spring(system.groups[k], coordinates[k], system.stiffness[k], system.rest[k]), system.friction[k][..., None]
        tau[k] = -spring - system.damping[k][..., None] * rates[k] - c * np.sign(rates[k])
    return point_force(system, q, v, tree.join(tau))


def joint_spring(group, q, stiffness, rest):
    """S⁻*(ξ) k ξ, a column: the force that holds the spring of a joint, the gradient of ½ ξ* k ξ along the group."""
    away = from_rest(group, q, rest)
    return group.dexp_inverse(away, side="right").mT @ (stiffness * away)[..., None]


def from_rest(group, q, rest):
    """ξ, the way of a joint from where its spring rests, in exponential coordinates."""
    return group.log(group.compose(group.inverse(rest), q))


@quantity((3,), Honours.NOTHING)
def center_of_mass(system, q):
    """In the world."""
    total = moment_of_mass(system.tree, placements(system, q), system.moments(q))
    return total[..., :3, 0] / total[..., 3, :]
