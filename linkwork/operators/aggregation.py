"""SKO models with several nodes taken as one (Jain, chapter 14): the same mass matrix, fewer and larger nodes.

Nodes S of a tree may become one node if exactly one node outside carries them: whatever lies between two of them and
that node is in S too (Lemmas 14.4 to 14.6).

    V_S = A_S* (E_S* V(p) + H_S* v_S + a_S)                     A_S what S passes on within itself
    A(p,S) = E_S A_S,   H = H_S A_S,   M = diag M(j),   a = A_S* a_S,   b = stacked b(j)          Jain (14.12) to (14.24)
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ModelError
from ..lie.scalars import like
from ..model.tree import concatenated
from ..systems.grouping import group_parents
from .sko import SKO


@dataclass(frozen=True, eq=False)
class Aggregate:
    """An SKO model whose node g is made of the nodes `groups[g]` of another; its velocities are v[order]."""

    sko: SKO
    groups: tuple[tuple[int, ...], ...]
    order: np.ndarray


def aggregated(sko: SKO, groups: Sequence[Sequence[int]]) -> Aggregate:
    """The model with each group of nodes as one node. Groups are numbered base first, and every node is in one."""
    tree, heights = sko.tree, sko.heights
    groups_: tuple[tuple[int, ...], ...] = tuple(tuple(sorted(x)) for x in groups)
    if sorted(k for x in groups for k in x) != list(range(len(tree))):
        raise ModelError(f"the groups leave out nodes, or have some twice; there are {len(tree)}, each in one group.")
    groups = groups_
    parents = group_parents(tree, groups)
    home = {k: g for g, members in enumerate(groups) for k in members}
    A, H, M, armature, a, b = ([] for _ in range(6))
    for members, p in zip(groups, parents):
        sizes, rows = [heights[k] for k in members], [tree.widths[k] for k in members]
        reach, out = inner(sko, members)
        carrier = (p,) if p == tree.world else groups[home[p]]
        above = [sko.base.shape[-2]] if p == tree.world else [heights[k] for k in carrier]
        slot = carrier.index(p)
        A.append(grid({(slot, j): out[k] for j, k in enumerate(members)}, above, sizes, sko.A[0]))
        maps = {(members.index(i), j): sko.H[i] @ reach[k][i] for j, k in enumerate(members) for i in reach[k]}
        H.append(grid(maps, rows, sizes, sko.A[0]))
        M.append(grid({(j, j): sko.M[k] for j, k in enumerate(members)}, sizes, sizes, sko.A[0]))
        armature.append(grid({(j, j): sko.armature[k] for j, k in enumerate(members)}, rows, rows, sko.A[0]))
        a.append(concatenated([sum(reach[k][i].mT @ sko.a[i] for i in reach[k]) for k in members], -2))
        b.append(concatenated([sko.b[k] for k in members], -2))
    parent = [tree.world if p == tree.world else home[p] for p in parents]
    order = np.concatenate([np.arange(tree.nv)[tree.rows[k]] for members in groups for k in members])
    return Aggregate(SKO(parent, A, H, M, armature, a, b, sko.base), groups_, order)


def inner(sko: SKO, members):
    """A(i,j) between members, for each j a dict over its ancestors i among them, and A(p,j) to the node outside."""
    reach: dict[int, dict] = {}
    out: dict = {}
    for k in members:
        p = sko.tree.parent[k]
        above = reach.get(p, {})
        reach[k] = {i: x @ sko.A[k] for i, x in above.items()} | {k: like(np.eye(sko.heights[k]), sko.A[k])}
        out[k] = out[p] @ sko.A[k] if p in out else sko.A[k]
    return reach, out


def grid(blocks: dict, rows, columns, some):
    """A matrix from blocks (i, j), zero elsewhere, with leading batch axes."""
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in blocks.values()))
    lines = []
    for i, m in enumerate(rows):
        line = [np.broadcast_to(blocks[i, j], (*batch, m, n)) if (i, j) in blocks else np.zeros_like(some, shape=(*batch, m, n))
                for j, n in enumerate(columns)]  # fmt: skip
        lines.append(np.concatenate(line, -1))
    return np.concatenate(lines, -2)


def substructured(sko: SKO, inside: Iterable[int]):
    """The model cut by a set S of nodes into what S carries (C), S itself and what carries S (P)  Jain, Lemma 14.1.

    S holds with two nodes all that lie between them, one above the other; it may stand on several nodes, and on several
    branches. Returns the nodes of C, S and P; the rest, which neither carries S nor is carried by it, counts as P.
    """
    tree, S = sko.tree, set(inside)
    if wrong := sorted(S - set(tree.base_to_tips())):
        raise ModelError(f"there are no nodes {', '.join(map(str, wrong))}; the model has {len(tree)}, numbered from 0.")
    C: set[int] = set()
    for k in tree.base_to_tips():
        if k not in S and (tree.parent[k] in S or tree.parent[k] in C):
            C.add(k)
    between = {j for k in S if tree.parent[k] in C for j, _ in tree.path(tree.parent[k], None, lambda j, x: None) if j in C}
    if between:
        left = ", ".join(map(str, sorted(between)))
        raise ModelError(f"the nodes {', '.join(map(str, sorted(S)))} leave out {left}, which lie between them: take those in too.")
    P = [k for k in tree.base_to_tips() if k not in S and k not in C]
    return sorted(C), sorted(S), P
