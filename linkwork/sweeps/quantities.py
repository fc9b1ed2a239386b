"""Every public quantity of a rigid mechanism as a function of its nodes and state: the sweeps put together.

A function here is the whole definition of a method of `Dynamics`, for floats and for kernels alike.
"""

import numpy as np

from .. import spatial
from ..lie.embedding import tilde
from ..lie.scalars import like
from .articulated_inertia import articulated_inertia
from .composite_inertia import composite_inertia
from .coriolis_matrix import coriolis_matrix as _coriolis_matrix
from .coriolis_matrix import coriolis_matrix_times as _coriolis_matrix_times
from .forward_dynamics import forward_dynamics as _forward_dynamics
from .inverse_dynamics import inverse_dynamics as _inverse_dynamics
from .jacobian import jacobian as _jacobian
from .kinematics import coriolis_accelerations, gyroscopic_forces, placements, shifts, velocities, without
from .kinematics import poses as _poses
from .mass_matrix import mass_matrix as _mass_matrix
from .momentum import kinetic_energy as _kinetic_energy
from .momentum import moment_of_mass
from .momentum import momentum as _momentum


def mass_matrix(nodes, q):
    tree, H = nodes.tree, nodes.H
    phi = shifts(tree, placements(nodes, q))
    return _mass_matrix(tree, phi, H, nodes.J, composite_inertia(tree, phi, nodes.M))


def mass_matrix_inverse(nodes, q):
    """𝓜⁻¹: its product with the identity."""
    tree = nodes.tree
    columns = tree.join_rows(_solved(nodes, q, tree.split_rows(like(np.eye(tree.nv), q))))
    return columns[..., : tree.nv]  # of nothing, nothing: 0 x 0, not 0 x 1


def mass_matrix_solve(nodes, q, tau):
    """𝓜⁻¹ τ."""
    return nodes.tree.join(_solved(nodes, q, nodes.tree.split(tau)))


def _solved(nodes, q, tau):
    tree, H, still = nodes.tree, nodes.H, nodes.tree.constant(nodes.still)
    phi = shifts(tree, placements(nodes, q))
    P, D, G, _ = articulated_inertia(tree, phi, H, nodes.M, nodes.J)
    vdot, _, _ = _forward_dynamics(tree, phi, H, P, D, G, still, still, tau, nodes.still)
    return vdot


def motion(nodes, q, v, external=None):
    """What the state alone decides: φ, V, a, b, the forces from outside counted in b."""
    tree, H, v = nodes.tree, nodes.H, nodes.tree.split(v)
    phi = shifts(tree, placements(nodes, q))
    V = velocities(tree, phi, H, v, nodes.still)
    a = coriolis_accelerations(tree, H, V, v)
    b = gyroscopic_forces(tree, nodes.M, V)
    if external is not None:
        b = without(tree, b, nodes.wrenches(external))
    return phi, V, a, b


def inverse_dynamics(nodes, q, v, vdot, external=None):
    tree = nodes.tree
    phi, _, a, b = motion(nodes, q, v, external)
    tau, _, _ = _inverse_dynamics(tree, phi, nodes.H, nodes.M, nodes.J, a, b, tree.split(vdot), nodes.falling)
    return tree.join(tau)


def forward_dynamics(nodes, q, v, tau, external=None):
    tree, H = nodes.tree, nodes.H
    phi, _, a, b = motion(nodes, q, v, external)
    P, D, G, _ = articulated_inertia(tree, phi, H, nodes.M, nodes.J)
    vdot, _, _ = _forward_dynamics(tree, phi, H, P, D, G, a, b, tree.split(tau), nodes.falling)
    return tree.join(vdot)


def bias(nodes, q, v):
    """C v + g: the forces that keep v as it is."""
    return inverse_dynamics(nodes, q, v, np.zeros_like(v))


def gravity_force(nodes, q):
    return mass_matrix_times(nodes, q, nodes.zeros, nodes.falling)


def mass_matrix_times(nodes, q, vdot, base=None):
    """𝓜 v̇ by inverse dynamics at rest; with the world falling, gravity's part besides."""
    tree = nodes.tree
    phi, still = shifts(tree, placements(nodes, q)), tree.constant(nodes.still)
    base = nodes.still if base is None else base
    tau, _, _ = _inverse_dynamics(tree, phi, nodes.H, nodes.M, nodes.J, still, still, tree.split(vdot), base)
    return tree.join(tau)


def coriolis_matrix(nodes, q, v):
    tree, H = nodes.tree, nodes.H
    phi, V, _, _ = motion(nodes, q, v)
    return _coriolis_matrix(tree, phi, H, nodes.M, V)


def coriolis_matrix_times(nodes, q, v, dv):
    """C dv."""
    tree = nodes.tree
    phi, V, _, _ = motion(nodes, q, v)
    return tree.join(_coriolis_matrix_times(tree, phi, nodes.H, nodes.M, V, tree.split(dv), nodes.still))


def passive_force(nodes, q, v):
    """−S⁻*(φ) k φ − d v − c sign(v): springs pull back along φ, the way from rest in exponential coordinates."""
    tree, q, v = nodes.tree, nodes.split(q), nodes.tree.split(v)
    tau = tree.slots()
    for k in tree.base_to_tips():
        group, c = nodes.groups[k], nodes.friction[k][..., None]
        away   = _away(nodes, k, q[k])
        spring = group.dexp_inverse(away, side="right").mT @ (nodes.stiffness[k] * away)[..., None]
        tau[k] = -spring - nodes.damping[k][..., None] * v[k] - c * np.sign(v[k])
    return tree.join(tau)


def _away(nodes, k, q):
    """The way of a joint from where its spring rests, in exponential coordinates; where there is no spring, none."""
    group = nodes.groups[k]
    return np.where(nodes.stiffness[k] > 0, group.log(group.compose(group.inverse(nodes.rest[k]), q)), 0.0)


def kinetic_energy(nodes, q, v):
    tree, rates = nodes.tree, nodes.tree.split(v)
    V = velocities(tree, shifts(tree, placements(nodes, q)), nodes.H, rates, nodes.still)
    return _kinetic_energy(tree, nodes.M, nodes.J, V, rates)


def potential_energy(nodes, q):
    """−g · Σ m c in the world, and ½ φ* k φ of the springs."""
    tree, coordinates = nodes.tree, nodes.split(q)
    moment = moment_of_mass(tree, placements(nodes, q), nodes.moment)[..., :3, :]
    energy = tree.slots()
    for k in tree.base_to_tips():
        away      = _away(nodes, k, coordinates[k])[..., None]
        energy[k] = 0.5 * (away.mT @ (nodes.stiffness[k][..., None] * away))
    return (tree.total(energy) - nodes.gravity[..., None, :] @ moment)[..., 0, 0]


def center_of_mass(nodes, q):
    total = moment_of_mass(nodes.tree, placements(nodes, q), nodes.moment)
    return total[..., :3, 0] / total[..., 3, :]


def centroidal_momentum(nodes, q, v):
    """The momentum about the world's origin, moved to the centre of mass c:  [n − c × f; f]."""
    tree = nodes.tree
    X = placements(nodes, q)
    phi = shifts(tree, X)
    total = moment_of_mass(tree, X, nodes.moment)
    center = total[..., :3, 0] / total[..., 3, :]
    h = nodes.still + _momentum(tree, phi, nodes.M, velocities(tree, phi, nodes.H, tree.split(v), nodes.still))
    n, f = h[..., :3, :], h[..., 3:, :]
    return np.concatenate([n - tilde(center) @ f, f], -2)[..., 0]


def poses(nodes, q):
    """World from body for every body (..., nb, 4, 4)."""
    T = _poses(nodes.tree, placements(nodes, q), like(np.eye(4), q))
    return nodes.stack([T[k] @ place for k, place in zip(nodes.on, nodes.places)])


def pose(nodes, q, body, place):
    """World from a frame placed on a body: carried to the world by the poses of the nodes on the way."""
    k, T = nodes.on_node(body, place)
    X = placements(nodes, q)
    return nodes.tree.carried(k, T, via=lambda j, T: X[j] @ T)


def jacobian(nodes, q, body, place, axes="body"):
    """Spatial velocity of a frame on a body from v, in its own axes or in the world's, at its origin."""
    tree = nodes.tree
    k, T = nodes.on_node(body, place)
    J = _jacobian(tree, shifts(tree, placements(nodes, q)), nodes.H, k, spatial.phi(T))
    if axes == "world":
        R = pose(nodes, q, body, place)[..., :3, :3]
        J = spatial.blocks(R, np.zeros_like(R), np.zeros_like(R), R) @ J
    return J


def integrate(nodes, q, dv):
    """q moved along dv on the group, joint by joint:  q ∘ exp(dv)."""
    return _each_group(nodes, q, dv, lambda group, q, dv: group.compose(q, group.exp(dv)))


def difference(nodes, q0, q1):
    """The dv that takes q0 to q1:  log(q0⁻¹ ∘ q1)."""
    parts = nodes.split(q0), nodes.split(q1)
    dv = nodes.tree.slots()
    for k in nodes.tree.base_to_tips():
        group = nodes.groups[k]
        dv[k] = group.log(group.compose(group.inverse(parts[0][k]), parts[1][k]))[..., None]
    return nodes.tree.join(dv)


def qdot(nodes, q, v):
    """The rate of the coordinates at velocity v."""
    return _each_group(nodes, q, v, lambda group, q, v: group.rate(q, v))


def _each_group(nodes, q, v, fn):
    tree, q, v = nodes.tree, nodes.split(q), nodes.tree.split(v)
    out = tree.slots()
    for k in tree.base_to_tips():
        out[k] = fn(nodes.groups[k], q[k], v[k][..., 0])
    return nodes.join(out)
