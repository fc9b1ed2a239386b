"""Prescribed joints: velocities whose accelerations are given, in a tree whose other joints move freely (Jain, 16.1).

`held` is a column for each node, one where the acceleration is given, zero where the force is: data, or constants that
tracing folds. With all zero the blocks are those of the system itself, with all one its subtrees are rigid.
"""

import numpy as np

from .. import sweeps
from ..lie.scalars import like
from ..sweeps.blocks import Blocks, Rates


def blocks(s: Blocks, held) -> Blocks:
    """H(k) loses the rows of what is held.

        H_free = (I − held) H,   armature_free = (I − held) armature (I − held) + held           Jain (16.6)
    """
    H, armature = s.tree.slots(2)
    for k in s.tree.base_to_tips():
        free        = 1 - held[k]
        H[k]        = free * s.H[k]
        armature[k] = free * s.armature[k] * free.mT + held[k] * like(np.eye(held[k].shape[-2]), held[k])
    return s._replace(H=H, armature=armature)


def rates(s: Blocks, r: Rates, held) -> Rates:
    """`r.tau` holds accelerations where held is one, forces elsewhere.

        ā = a + H* v̇_held,   τ_free = (I − held) (τ − armature v̇_held)                          Jain (16.15) corrected
    """
    a, tau = s.tree.slots(2)
    for k in s.tree.base_to_tips():
        given  = held[k] * r.tau[k]
        a[k]   = r.a[k] + s.H[k].mT @ given
        tau[k] = (1 - held[k]) * (r.tau[k] - s.armature[k] @ given)
    return r._replace(a=a, tau=tau)


def dynamics(s: Blocks, r: Rates, held):
    """Forces where accelerations are given, accelerations where forces are: forward dynamics of the other blocks, slots."""
    free, moved = blocks(s, held), rates(s, r, held)
    P, D, G, _ = sweeps.articulated_inertia(free)
    vdot, alpha, z = sweeps.forward_dynamics(free, P, D, G, moved)
    return completed(s, r, held, sweeps.interbody_forces(free, P, moved, alpha, z), vdot)


def completed(s: Blocks, r: Rates, held, f, vdot):
    """Forces where accelerations were given, accelerations where forces were: τ = H f + armature v̇."""
    other = s.tree.slots()
    for k in s.tree.base_to_tips():
        moved    = held[k] * r.tau[k] + vdot[k]
        tau      = s.H[k] @ f[k] + s.armature[k] @ moved
        other[k] = held[k] * tau + (1 - held[k]) * moved
    return other
