"""Forces and accelerations: inverse, forward and hybrid dynamics, and what the joints carry."""

import numpy as np

from .. import spatial, sweeps
from ..model.tree import concatenated
from ..systems import prescribed as prescribed_joints
from .declaration import Honours, quantity
from .options import Weld, ones_and_zeros, some_bodies

TREE = Honours.GRAVITY | Honours.EXTERNAL


@quantity(("nv",), TREE, of_joints=True, of_tree=True)
def inverse_dynamics(system, q, v, vdot, external=None):
    """τ = 𝓜 v̇ + C v + g − J* external, of the tree."""
    s = system.blocks(q)
    r = system.rates(s, v, external=external)
    tau, _, _ = sweeps.inverse_dynamics(s, r, s.tree.split(vdot))
    return s.tree.join(tau)


@quantity(("nv",), TREE | Honours.CONSTRAINTS, of_joints=True, divides_by_inertia=True)
def forward_dynamics(system, q, v, tau, external=None):
    """v̇ of forces τ, which are all of the joint force: passive forces are not part of it. Constraints are kept."""
    return system.whole(*accelerated(system, q, v, tau, external))


def accelerated(system, q, v, tau, external=None):
    """Blocks, rates, and the accelerations of the blocks that forces τ make."""
    s = system.blocks(q)
    r = system.rates(s, v, tau, external)  # outwards before inwards: rolled, both outward loops are one
    P, D, G, _ = sweeps.articulated_inertia(s)
    vdot, _, _ = sweeps.forward_dynamics(s, P, D, G, r)
    return s, r, vdot


@quantity(("nv",), Honours.GRAVITY, of_joints=True, of_tree=True)
def bias(system, q, v):
    """C v + g of the tree: the forces that keep v as it is."""
    return inverse_dynamics(system, q, v, np.zeros_like(v))


@quantity(("nv",), Honours.GRAVITY, of_joints=True, of_tree=True)
def gravity_force(system, q):
    """g of the tree: the forces that hold it still."""
    s = system.blocks(q)
    tau, _, _ = sweeps.inverse_dynamics(s, system.rates_at_rest(s), s.tree.split(system.zeros))
    return s.tree.join(tau)


@quantity(("nv",), TREE | Honours.CONSTRAINTS, of_joints=True, demands=ones_and_zeros(3, "given is an acceleration", "is a force"))
def hybrid_dynamics(system, q, v, given, prescribed, external=None):
    """Forces where `given` is an acceleration (prescribed = 1), accelerations where it is a force (0): forward dynamics of
    other blocks, then τ = H f + armature v̇ where accelerations were given                        Jain (16.15)."""
    s = system.blocks(q)
    held, r = s.tree.split(prescribed), system.rates(s, v, given, external)
    return s.tree.join(prescribed_joints.dynamics(s, r, held))


@quantity(("bodies", 6), (TREE | Honours.CONSTRAINTS) & ~Honours.DRIVES, options=some_bodies)  # a drive acts within its joint
def joint_wrenches(system, q, v, vdot, bodies, external=None):
    """What the joints of the given bodies (numbers) carry, gravity and forces from outside included: the wrench on each
    body, in its own axes, at its origin                                                 Jain (5.43), (7.34)."""
    s = system.blocks(q)
    r = system.rates(s, v, external=external)
    _, alpha, f = sweeps.inverse_dynamics(s, r, s.tree.split(vdot))
    if not any(isinstance(body, Weld) for body in bodies):
        return system.on_bodies(f, carried, bodies)
    V = sweeps.velocities(s, s.tree.split(v), system.still)
    rows = []
    for body in bodies:
        i = body.body if isinstance(body, Weld) else body
        whole = welded(system, s, V, alpha, f, body, external) if isinstance(body, Weld) else f[system.on[i]]
        rows.append(carried(whole, system.places[i])[..., 0][..., None, :])
    return concatenated(rows, -2)


def carried(f, place):
    """The wrench at a place on a node, in its axes, from that at the node."""
    return spatial.phi_inverse(place) @ f


def welded(system, s, V, alpha, f, weld: Weld, external):
    """What holds a body that is fixed to its parent, at the node that carries both: the forces that move it and all that hangs on it."""
    k = system.on[weld.body]
    M = system.inertia_of(weld.members)
    total = M @ alpha[k] + spatial.bar(V[k][..., 0]) @ (M @ V[k])
    for c in weld.children:
        j = next(j for j, _ in s.tree.path(system.on[c], None, via=lambda j, X: X) if s.tree.parent[j] == k)
        total = total + s.A[j] @ f[j]
    if external is not None:
        for d in weld.members:
            total = total - spatial.phi(system.places[d]) @ external[..., d, :, None]
    return total
