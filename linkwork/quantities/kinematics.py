"""Where bodies are and how they move; the coordinates on their groups."""

import numpy as np

from .. import spatial, sweeps
from ..lie.scalars import like
from ..systems.rigid import placements
from .declaration import Honours, quantity
from .options import one_place, place_and_axes

NOTHING = Honours.NOTHING


@quantity(("nb", 4, 4), NOTHING, rolls=False)
def poses(system, q):
    """World from body for every body."""
    T = sweeps.poses(system.tree, placements(system, q), like(np.eye(4), q))
    return system.stack([T[k] @ place for k, place in zip(system.on, system.places)])


@quantity((4, 4), NOTHING, options=one_place, rolls=False)
def pose(system, q, body, place):
    """World from a frame placed on a body: carried to the world by the poses of the nodes on the way."""
    k, T = system.on_node(body, place)
    X = placements(system, q)
    return system.tree.carried(k, T, via=lambda j, T: X[j] @ T)


@quantity((6, "nv"), NOTHING, options=place_and_axes, rolls=False)
def jacobian(system, q, body, place, axes="body"):
    """Spatial velocity of a frame on a body from v, in its own axes or in the world's, at its origin."""
    k, T = system.on_node(body, place)
    J = sweeps.jacobian(system.blocks(q), k, spatial.phi(T))
    if axes == "world":
        R = pose(system, q, body, place)[..., :3, :3]
        J = spatial.blocks(R, np.zeros_like(R), np.zeros_like(R), R) @ J
    return J


@quantity(("nq",), NOTHING)
def integrate(system, q, dv):
    """q moved along dv on the group, joint by joint:  q ∘ exp(dv)."""
    return _each_group(system, q, dv, lambda group, q, dv: group.compose(q, group.exp(dv)))


@quantity(("nv",), NOTHING)
def difference(system, q0, q1):
    """The dv that takes q0 to q1:  log(q0⁻¹ ∘ q1)."""
    parts = system.split(q0), system.split(q1)
    dv = system.tree.slots()
    for k in system.tree.base_to_tips():
        group = system.groups[k]
        dv[k] = group.log(group.compose(group.inverse(parts[0][k]), parts[1][k]))[..., None]
    return system.tree.join(dv)


@quantity(("nq",), NOTHING)
def qdot(system, q, v):
    """The rate of the coordinates at velocity v."""
    return _each_group(system, q, v, lambda group, q, v: group.rate(q, v))


def _each_group(system, q, v, fn):
    tree, q, v = system.tree, system.split(q), system.tree.split(v)
    out = tree.slots()
    for k in tree.base_to_tips():
        out[k] = fn(system.groups[k], q[k], v[k][..., 0])
    return system.join(out)
