"""Geared joints as SKO models: a node is a link and its motor (Jain, chapter 12).

A rotor is a tip of the tree, beside the joint that it drives. `gears` says which: {node k of the joint: (node m of its
rotor, ratio μ)}, as `model.gears` finds them. The nodes of rotors disappear; the others keep their order.
"""

import numpy as np

from ..errors import ModelError
from ..lie.scalars import like
from ..model.tree import concatenated
from ..spatial import blocks as four
from .sko import SKO


def geared(sko: SKO, gears) -> SKO:
    """Motor and link move together, the gear exact: nodes [V_m; V_l] with the velocities of the links.

        A = [φ_m, φ_l],   H = [μ H_m, H_l],   M = diag(M_m, M_l),   J = μ² J_m + J_l        Jain (12.6) to (12.13)
    """
    return merged(
        sko, gears,
        lambda k, H_m, H_l: concatenated([gears[k][1] * H_m, H_l], -1),
        lambda k, J_m, J_l: gears[k][1] ** 2 * J_m + J_l,
    )  # fmt: skip


def with_elastic_gears(sko: SKO, gears) -> SKO:
    """Motor and link each with its own velocity, [θ̇_m, θ̇_l] at a geared joint: what is between them is a spring.

        A = [φ_m, φ_l],   H = diag(H_m, H_l),   M = diag(M_m, M_l),   J = diag(J_m, J_l)      Jain (12.1) to (12.4)
    """
    return merged(sko, gears, lambda k, H_m, H_l: diagonal(H_m, H_l), lambda k, J_m, J_l: diagonal(J_m, J_l))


def merged(sko, gears, joined_H, joined_J):
    """The model with each rotor in one node with the link it drives; a child of such a node stands on its link."""
    tree = sko.tree
    check_gears(tree, gears)
    rotors = {m for m, _ in gears.values()}
    kept = [k for k in tree.base_to_tips() if k not in rotors]
    number = {tree.world: tree.world, **{k: i for i, k in enumerate(kept)}}
    rooms: tuple[list, ...] = tuple([] for _ in range(6))
    for k in kept:
        block = [sko.A[k], sko.H[k], sko.M[k], sko.J[k], sko.a[k], sko.b[k]]
        if k in gears:
            m, _ = gears[k]
            block = [
                concatenated([sko.A[m], sko.A[k]], -1),
                joined_H(k, sko.H[m], sko.H[k]),
                diagonal(sko.M[m], sko.M[k]),
                joined_J(k, sko.J[m], sko.J[k]),
                concatenated([sko.a[m], sko.a[k]], -2),
                concatenated([sko.b[m], sko.b[k]], -2),
            ]
        p = tree.parent[k]
        if p in gears:
            motor = np.zeros_like(block[0], shape=(sko.M[gears[p][0]].shape[-1], block[0].shape[-1]))
            block[0] = concatenated([motor, block[0]], -2)
        for room, x in zip(rooms, block):
            room.append(x)
    A, H, M, J, a, b = rooms
    return SKO([number[tree.parent[k]] for k in kept], A, H, M, J, a, b, sko.base)


def condensed(sko: SKO, gears):
    """The same with nodes no larger than the links, for `sweeps.geared`: the SKO model of the links with what rotors
    add to them, the coupling L, and the force that the motors take off τ, node by node.

        M(p) + Σ φ_m M_m φ_m*,   J + μ² (H_m M_m H_m* + J_m),   L = μ φ_m M_m H_m*
        b(p) + Σ φ_m z_m,   τ − μ H_m z_m,   z_m = M_m a_m + b_m                          Jain, Exercises 12.1 and 12.2
    """
    tree = sko.tree
    check_gears(tree, gears)
    rotors = {m for m, _ in gears.values()}
    kept = [k for k in tree.base_to_tips() if k not in rotors]
    number = {tree.world: tree.world, **{k: i for i, k in enumerate(kept)}}
    M, J, b = (dict(x) if isinstance(x, dict) else dict(enumerate(x)) for x in (sko.M, sko.J, sko.b))
    L, taken = tree.slots(2)
    for k in kept:
        L[k], taken[k] = np.zeros_like(sko.A[k] @ sko.H[k].mT), np.zeros_like(sko.H[k] @ sko.a[k])
        if k in gears:
            (m, mu), p = gears[k], tree.parent[k]
            phi, H_m, M_m = sko.A[m], sko.H[m], sko.M[m]
            z_m = M_m @ sko.a[m] + sko.b[m]
            J[k] = J[k] + mu**2 * (H_m @ M_m @ H_m.mT + sko.J[m])
            L[k], taken[k] = mu * (phi @ (M_m @ H_m.mT)), mu * (H_m @ z_m)
            if p != tree.world:
                M[p], b[p] = M[p] + phi @ M_m @ phi.mT, b[p] + phi @ z_m
    blocks = ([x[k] for k in kept] for x in (sko.A, sko.H, M, J, sko.a, b))
    links = SKO([number[tree.parent[k]] for k in kept], *blocks, sko.base)  # type: ignore[call-arg]
    return links, [L[k] for k in kept], [taken[k] for k in kept]


def velocities_of_all(sko: SKO, gears):
    """X with v of the whole tree = X v of the links: [μ; 1] at a geared joint (..., nv of all, nv of links)."""
    rows, of = sko.tree.rows, {m: (k, mu) for k, (m, mu) in gears.items()}
    kept = np.concatenate([np.arange(sko.nv)[rows[k]] for k in sko.tree.base_to_tips() if k not in of])
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
