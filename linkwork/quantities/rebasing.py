"""The same state with another body as root (Jain, section 17.4)."""

from .. import spatial
from ..systems.rigid import placements
from . import long
from .declaration import Honours, quantity
from .kinematics import FAR
from .roots import rearranged, to_root


@quantity((("nq",), ("nv",)), Honours.NOTHING, options=to_root, rolls=False, long=long.rebase, straight_up_to=FAR)
def rebase(system, q, v, way):
    """(q, v) of the model with another root in the same state: v_new = J_RG v                            Jain, Lemma 17.2."""
    moving = [k for k in range(len(system.tree)) if system.tree.widths[k]]
    own, rates = system.split(q), system.tree.split(v)
    parts = [(system.groups[k], own[k], rates[k]) for k in moving]
    root = None if way.base is None else carried(system, q, rates, moving[way.base], *way.roots[1])
    return rearranged(way, parts, root)


def carried(system, q, rates, base, body, place):
    """Of the frame `place` on a body: its pose on node `base`, and its velocity relative to what that node stands on."""
    k, T = system.on_node(body, place)
    X, H = placements(system, q), system.H
    V = 0.0
    for j, there in system.tree.path(k, T, via=lambda j, T: X[j] @ T, until=base):
        V = V + spatial.phi(there).mT @ (H[j].mT @ rates[j])
        T = X[j] @ there
    return T, V + spatial.phi(T).mT @ rates[base]
