"""Geared joints as SKO models: a node is a link and its motor (Jain, chapter 12).

A rotor is a tip of the tree, beside the joint that it drives. `gears` says which: {node k of the joint: (node m of its
rotor, ratio μ)}, as `model.gears` finds them. The nodes of rotors disappear; the others keep their order.
"""

import numpy as np

from ..errors import ModelError
from ..lie.scalars import like
from ..model.tree import concatenated
from ..spatial import blocks as four
from ..sweeps import BlockRates
from .sko import SKO, Changes


def geared(sko: SKO, gears) -> SKO:
    """Motor and link move together, the gear exact: nodes [V_m; V_l] with the velocities of the links.

        A = [φ_m, φ_l],   H = [μ H_m, H_l],   M = diag(M_m, M_l),   armature = μ² armature_m + armature_l   Jain (12.6) to (12.13)
    """
    return merged(
        sko, gears,
        lambda k, H_m, H_l: concatenated([gears[k][1] * H_m, H_l], -1),
        lambda k, motor, link: gears[k][1] ** 2 * motor + link,
        lambda: velocities_of_all(sko, gears),
    )  # fmt: skip


def with_elastic_gears(sko: SKO, gears) -> SKO:
    """Motor and link each with its own velocity, [θ̇_m, θ̇_l] at a geared joint: what is between them is a spring.

        A = [φ_m, φ_l],   H = diag(H_m, H_l),   M = diag(M_m, M_l),   armature = diag(armature_m, armature_l)   Jain (12.1) to (12.4)
    """
    both = lambda k, motor, link: diagonal(motor, link)
    return merged(sko, gears, both, both, lambda: reordered(sko, gears))


def merged(sko, gears, joined_H, joined_inertia, velocities):
    """The model with each rotor in one node with the link it drives; a child of such a node stands on its link. `velocities` gives
    X with v of the whole tree = X v."""
    tree = sko.tree
    check_gears(tree, gears)
    rotors = {m for m, _ in gears.values()}
    kept = [k for k in tree.base_to_tips() if k not in rotors]
    number = {tree.world: tree.world, **{k: i for i, k in enumerate(kept)}}

    def shifts(A):
        return [shift(A, k) for k in kept]

    def shift(A, k):
        own, p = concatenated([A[gears[k][0]], A[k]], -1) if k in gears else A[k], tree.parent[k]
        if p not in gears:
            return own
        motor = np.zeros_like(own, shape=(sko.M[gears[p][0]].shape[-1], own.shape[-1]))
        return concatenated([motor, own], -2)

    def joined(x, join):
        return [join(k, x[gears[k][0]], x[k]) if k in gears else x[k] for k in kept]

    both, stacked = lambda k, motor, link: diagonal(motor, link), lambda k, motor, link: concatenated([motor, link], -2)

    def rates(v):
        d = sko.changes.rates((velocities() @ v[..., None])[..., 0])
        H = joined({k: d.H[k].mT for k in tree.base_to_tips()}, joined_H)
        return BlockRates(shifts(d.A), [x.mT for x in H], joined(d.N, both))

    return SKO(
        [number[tree.parent[k]] for k in kept],
        shifts(sko.A), joined(sko.H, joined_H), joined(sko.M, both), joined(sko.armature, joined_inertia),
        joined(sko.a, stacked), joined(sko.b, stacked), sko.base, sko.changes and Changes(rates),
    )  # fmt: skip


def reordered(sko: SKO, gears):
    """X with v of the whole tree = X v, where v has the velocity of a rotor just before that of what it drives."""
    rows, rotors = sko.tree.rows, {m for m, _ in gears.values()}
    own = lambda k: np.arange(sko.nv)[rows[k]]
    order = [np.concatenate([own(gears[k][0]), own(k)] if k in gears else [own(k)]) for k in sko.tree.base_to_tips() if k not in rotors]
    return like(np.eye(sko.nv)[:, np.concatenate(order)], sko.base)


def velocities_of_all(sko: SKO, gears):
    """X with v of the whole tree = X v of the links: [μ; 1] at a geared joint (..., nv of all, nv of links)."""
    rows, of = sko.tree.rows, {m: (k, mu) for k, (m, mu) in gears.items()}
    kept = np.concatenate([np.zeros(0, int)] + [np.arange(sko.nv)[rows[k]] for k in sko.tree.base_to_tips() if k not in of])
    X = np.eye(sko.nv)
    for m, (k, mu) in of.items():
        X[rows[m], rows[k]] = mu * np.eye(rows[k].stop - rows[k].start)
    return like(X[:, kept], sko.base)


def diagonal(A, B):
    """diag(A, B)."""
    batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    A, B = (np.broadcast_to(x, batch + x.shape[-2:]) for x in (A, B))
    return four(
        A,
        np.zeros_like(A, shape=(*batch, A.shape[-2], B.shape[-1])),
        np.zeros_like(A, shape=(*batch, B.shape[-2], A.shape[-1])),
        B,
    )


def check_gears(tree, gears) -> None:
    for k, (m, _) in gears.items():
        if tree.parent[m] != tree.parent[k] or tree.children[m] or tree.widths[m] != tree.widths[k]:
            raise ModelError(
                f"node {m} cannot be the rotor of node {k}: a rotor stands on the same node, carries nothing, "
                "and has as many velocities as what it drives."
            )
