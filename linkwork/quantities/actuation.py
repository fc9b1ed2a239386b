"""Mechanisms some of whose joints have no motors: what moves by itself when the others are moved (Jain, chapter 16).

`prescribed` is 1 for velocities whose motion is given (active), 0 for those that follow (passive).
"""

import numpy as np

from .. import spatial, sweeps
from ..lie.scalars import like
from ..sweeps.blocks import at_rest
from ..systems import prescribed as prescribed_joints
from . import long
from .declaration import Honours, quantity
from .kinematics import in_axes
from .options import ones_and_zeros, place_and_axes

NOTHING = Honours.NOTHING
UNDER_CONSTRAINTS = "{name} is of the tree; robot.hybrid_dynamics(q, v, given, prescribed) keeps loops, couplings and drives"
ACTIVE_OR_PASSIVE = ones_and_zeros(1, "the motion is given", "follows")


@quantity(("nv",), NOTHING, of_joints=True, demands=ACTIVE_OR_PASSIVE, refuses=UNDER_CONSTRAINTS.format(name="hybrid_matrix_times"))
def hybrid_matrix_times(system, q, prescribed, given):
    """S x, by hybrid dynamics at rest."""
    s = system.blocks(q)
    r = at_rest(s, system.still, s.tree.split(given))
    return s.tree.join(prescribed_joints.dynamics(s, r, s.tree.split(prescribed)))


@quantity(
    ("nv", "nv"), NOTHING, of_joints=True, product=(hybrid_matrix_times, "given"), demands=ACTIVE_OR_PASSIVE,
    refuses=UNDER_CONSTRAINTS.format(name="hybrid_matrix"),
)  # fmt: skip
def hybrid_matrix(system, q, prescribed):
    """S: forces of active joints and accelerations of passive ones, from accelerations of active and forces of passive ones,

        (τ_a, v̇_p) = [S_aa, S_ap; −S_ap*, S_pp] (v̇_a, τ_p)           Jain (16.4), (16.11); no inverse is formed

    in the order of v. S_aa is the inertia that motors feel, S_pp = 𝓜_pp⁻¹, −S_ap* is called disturbance Jacobian, Jain (16.23)."""
    s = system.blocks(q)
    r = at_rest(s, system.still, s.tree.split_rows(like(np.eye(s.tree.nv), q)))
    return s.tree.join_rows(prescribed_joints.dynamics(s, r, s.tree.split(prescribed)))[..., : s.tree.nv]


@quantity(
    (6, "nv"), NOTHING, options=place_and_axes, rolls=False, long=long.generalized_jacobian, demands=ACTIVE_OR_PASSIVE,
    refuses=UNDER_CONSTRAINTS.format(name="generalized_jacobian"),
)  # fmt: skip
def generalized_jacobian(system, q, prescribed, body, place, axes="body"):
    """J_G = J_a + J_p J_D: acceleration of a frame from those of the active joints while the passive ones follow; for a base that
    floats freely and has no momentum, velocities alike. Columns of passive joints are zero                       Jain (16.21), (16.22)."""
    s, held = system.blocks(q), system.tree.split(prescribed)
    moved = s.tree.split_rows(prescribed[..., None] * like(np.eye(s.tree.nv), q))
    free, r = prescribed_joints.blocks(s, held), prescribed_joints.rates(s, at_rest(s, system.still, moved), held)
    P, D, G, _ = sweeps.articulated_inertia(free)
    _, alpha, _ = sweeps.forward_dynamics(free, P, D, G, r)
    k, T = system.on_node(body, place)
    return in_axes(system, q, body, place, axes, (spatial.phi(T).mT @ alpha[k])[..., : s.tree.nv])
