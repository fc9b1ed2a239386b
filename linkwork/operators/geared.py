"""Geared joints as SKO models: a node is a link and its motor (Jain, chapter 12).

A rotor is a tip of the tree, beside the joint that it drives. `gears` says which: {node k of the joint: (node m of its
rotor, ratio μ)}, as `model.gears` finds them. The nodes of rotors disappear; the others keep their order.
"""

import numpy as np

from ..errors import ModelError
from ..lie.scalars import like
from .aggregation import joined
from .sko import SKO, Changes


def geared(sko: SKO, gears) -> SKO:
    """Motor and link move together, the gear exact: nodes [V_m; V_l] with the velocities of the links.

        A = [φ_m, φ_l],   H = [μ H_m, H_l],   M = diag(M_m, M_l),   armature = μ² armature_m + armature_l   Jain (12.6) to (12.13)
    """
    elastic, identity = with_elastic_gears(sko, gears), lambda k: np.eye(sko.tree.widths[k])
    X = [np.concatenate([gears[k][1] * identity(k), identity(k)]) if k in gears else identity(k) for *_, k in pairs(sko.tree, gears)]
    return driven(elastic, [like(x, sko.base) for x in X])


def with_elastic_gears(sko: SKO, gears) -> SKO:
    """Motor and link each with its own velocity, [θ̇_m, θ̇_l] at a geared joint: what is between them is a spring.

        A = [φ_m, φ_l],   H = diag(H_m, H_l),   M = diag(M_m, M_l),   armature = diag(armature_m, armature_l)   Jain (12.1) to (12.4)
    """
    check_gears(sko.tree, gears)
    return joined(sko, pairs(sko.tree, gears))


def pairs(tree, gears) -> list[tuple[int, ...]]:
    """Nodes that become one: each rotor with the link that it drives, all others alone."""
    rotors = {m for m, _ in gears.values()}
    return [(gears[k][0], k) if k in gears else (k,) for k in tree.base_to_tips() if k not in rotors]


def driven(sko: SKO, X) -> SKO:
    """The model in fewer velocities u of its joints, v(k) = X(k) u(k):  H = X* H,   armature = X* armature X."""
    tree = sko.tree

    def rates(u):
        v, start = [], 0
        for k in tree.base_to_tips():
            v.append(X[k] @ u[..., start : start + X[k].shape[-1], None])
            start += X[k].shape[-1]
        d = sko.changes.rates(tree.join(dict(enumerate(v))))  # type: ignore[union-attr]
        return d._replace(H=[d.H[k] @ X[k] for k in tree.base_to_tips()])

    H, armature = tree.slots(2)
    for k in tree.base_to_tips():
        H[k], armature[k] = X[k].mT @ sko.H[k], X[k].mT @ sko.armature[k] @ X[k]
    return SKO(tree.parent, sko.A, H, sko.M, armature, sko.a, sko.b, sko.base, Changes(rates) if sko.changes else None)


def velocities_of_all(sko: SKO, gears):
    """X with v of the whole tree = X v of the links: [μ; 1] at a geared joint (..., nv of all, nv of links)."""
    rows, of = sko.tree.rows, {m: (k, mu) for k, (m, mu) in gears.items()}
    kept = np.concatenate([np.zeros(0, int)] + [np.arange(sko.nv)[rows[k]] for k in sko.tree.base_to_tips() if k not in of])
    X = np.eye(sko.nv)
    for m, (k, mu) in of.items():
        X[rows[m], rows[k]] = mu * np.eye(rows[k].stop - rows[k].start)
    return like(X[:, kept], sko.base)


def check_gears(tree, gears) -> None:
    for k, (m, _) in gears.items():
        if tree.parent[m] != tree.parent[k] or tree.children[m] or tree.widths[m] != tree.widths[k]:
            raise ModelError(
                f"node {m} cannot be the rotor of node {k}: a rotor stands on the same node, carries nothing, "
                "and has as many velocities as what it drives."
            )
