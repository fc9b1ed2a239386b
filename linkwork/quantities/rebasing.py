"""The same state, and the same forces, with another body as root (Jain, section 17.4)."""

from .. import spatial
from ..systems.rigid import placements
from . import long
from .declaration import Honours, quantity
from .kinematics import FAR
from .roots import rearranged, rearranged_forces, to_root


@quantity((("nq",), ("nv",)), Honours.NOTHING, options=to_root, rolls=False, long=long.rebase, straight_up_to=FAR)
def rebase(system, q, v, way):
    """(q, v) of the model with another root in the same state: v_new = J_RG v                            Jain, Lemma 17.2."""
    moving, own, rates = moving_nodes(system), system.split(q), system.tree.split(v)
    root = None
    if way.base is not None:
        base = moving[way.base]
        steps, T = places(system, q, base, *way.roots[1])
        V = sum((spatial.phi(there).mT @ (system.H[j].mT @ rates[j]) for j, there in steps), spatial.phi(T).mT @ rates[base])
        root = T, V
    return rearranged(way, [(system.groups[k], own[k], rates[k]) for k in moving], root)


@quantity(("nv",), Honours.NOTHING, options=to_root, rolls=False, long=long.rebase_force, straight_up_to=FAR)
def rebase_force(system, q, tau, way):
    """The forces of the model with another root that do the same: τ = J_RG* τ_new. What pushes the old base pushes the new one
    and the joints between."""
    moving, own, force = moving_nodes(system), system.split(q), system.tree.split(tau)
    if way.base is not None:
        base = moving[way.base]
        steps, T = places(system, q, base, *way.roots[1])
        force[base] = spatial.phi_inverse(T) @ force[base]
        for j, there in steps:
            force[j] = force[j] - system.H[j] @ (spatial.phi(there) @ force[base])
    return rearranged_forces(way, [(system.groups[k], own[k], force[k]) for k in moving])


def moving_nodes(system):
    """The nodes of joints that move, in the order of the joints."""
    return [k for k in range(len(system.tree)) if system.tree.widths[k]]


def places(system, q, base, body, place):
    """The frame `place` of a body on each node of its way to node `base`, which is left out, and its pose on that."""
    k, T = system.on_node(body, place)
    X = placements(system, q)
    steps = list(system.tree.path(k, T, via=lambda j, T: X[j] @ T, until=base))
    for j, there in steps:
        T = X[j] @ there
    return steps, T
