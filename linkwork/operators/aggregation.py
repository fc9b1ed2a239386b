"""SKO models with several nodes taken as one (Jain, chapter 14): the same mass matrix, fewer and larger nodes.

Nodes S of a tree may become one node if exactly one node outside carries them: whatever lies between two of them and
that node is in S too (Lemmas 14.4 to 14.6).

    V_S = A_S* (E_S* V(p) + H_S* v_S + a_S)                     A_S what S passes on within itself
    A(p,S) = E_S A_S,   H = H_S A_S,   M = diag M(j),   a = A_S* a_S,   b = stacked b(j)          Jain (14.12) to (14.24)
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import ModelError
from ..lie.scalars import like
from ..model.tree import concatenated
from ..sweeps import BlockRates
from ..systems.grouping import group_parents
from .sko import SKO, Changes


@dataclass(frozen=True, eq=False)
class Aggregate:
    """An SKO model whose node g is made of the nodes `groups[g]` of another; its velocities are v[order]."""

    sko: SKO
    groups: tuple[tuple[int, ...], ...]
    order: np.ndarray


def aggregated(sko: SKO, groups: Sequence[Sequence[int]]) -> Aggregate:
    """The model with each group of nodes as one node. Groups are numbered base first, and every node is in one."""
    if sorted(k for x in groups for k in x) != list(range(len(sko.tree))):
        raise ModelError(f"the groups leave out nodes, or have some twice; there are {len(sko.tree)}, each in one group.")
    ordered = tuple(tuple(sorted(x)) for x in groups)
    return Aggregate(joined(sko, ordered), ordered, order_of(sko.tree, ordered))


def order_of(tree, groups) -> np.ndarray:
    """The numbers of the velocities of each group, one after the other."""
    return np.concatenate([np.zeros(0, int), *(np.arange(tree.nv)[tree.rows[k]] for members in groups for k in members)])


def joined(sko: SKO, groups) -> SKO:
    """The model with each group as one node, its members in their order: what stands on another of them comes after it."""
    tree, heights = sko.tree, sko.heights
    parents = group_parents(tree, groups)
    home = {k: g for g, members in enumerate(groups) for k in members}
    reaches, outs = zip(*(inner(sko, members) for members in groups)) if groups else ((), ())

    def blocks(out, H, M):
        """A, H and M of the groups: `out` leads from each member to the node outside."""
        found: tuple[list, ...] = ([], [], [])
        for members, p, reach in zip(groups, parents, reaches):
            sizes, rows = [heights[k] for k in members], [tree.widths[k] for k in members]
            carrier = (p,) if p == tree.world else groups[home[p]]
            above = [sko.base.shape[-2]] if p == tree.world else [heights[k] for k in carrier]
            maps = {(members.index(i), j): H[i] @ reach[k][i] for j, k in enumerate(members) for i in reach[k]}
            found[0].append(grid({(carrier.index(p), j): out[k] for j, k in enumerate(members)}, above, sizes, sko.A[0]))
            found[1].append(grid(maps, rows, sizes, sko.A[0]))
            found[2].append(grid({(j, j): M[k] for j, k in enumerate(members)}, sizes, sizes, sko.A[0]))
        return found

    def rates(v):
        d = sko.changes.rates(v[..., np.argsort(order_of(tree, groups))])  # type: ignore[union-attr]
        A, H, N = blocks(d.A, {k: d.H[k].mT for k in tree.base_to_tips()}, d.N)
        return BlockRates(A, [x.mT for x in H], N)

    armature, a, b = ([] for _ in range(3))
    for members, reach in zip(groups, reaches):
        rows = [tree.widths[k] for k in members]
        armature.append(grid({(j, j): sko.armature[k] for j, k in enumerate(members)}, rows, rows, sko.A[0]))
        a.append(concatenated([sum(reach[k][i].mT @ sko.a[i] for i in reach[k]) for k in members], -2))
        b.append(concatenated([sko.b[k] for k in members], -2))
    flat = all(len(above) == 1 for reach in reaches for above in reach.values())  # does no member stand on another?
    parent = [tree.world if p == tree.world else home[p] for p in parents]
    changes = Changes(rates) if flat and sko.changes else None
    A, H, M = blocks({k: x for out in outs for k, x in out.items()}, sko.H, sko.M)
    return SKO(parent, A, H, M, armature, a, b, sko.base, changes)


def massive(sko: SKO, tau) -> tuple[SKO, Any, np.ndarray]:
    """The model with each node without inertia merged into its only child, with forces τ, and which of the old velocities it has.

        A(p,k) = A(p,j) A(j,k),   H = [H(j) A(j,k); H(k)],   a = A*(j,k) a(j) + a(k)          Jain (14.12) to (14.24)

    A force b(j) on a node without inertia goes to its joint and its parent:  τ(j) − H(j) b(j),   b(p) + A(p,j) b(j).
    """
    tree, b, tau = sko.tree, {k: sko.b[k] for k in sko.tree.base_to_tips()}, sko.tree.split(tau)
    for j in tree.tips_to_base():
        if not np.any(sko.M[j]):
            check_between(sko, j)
            tau[j] = tau[j] - sko.H[j] @ b[j]
            if (p := tree.parent[j]) != tree.world:
                b[p] = b[p] + sko.A[j] @ b[j]
    groups, waiting = list[tuple[int, ...]](), dict[int, tuple[int, ...]]({tree.world: ()})  # nodes that wait for one with inertia
    for k, p in enumerate(tree.parent):
        waiting[k] = (*waiting[p], k)
        if np.any(sko.M[k]):
            groups.append(waiting[k])
            waiting[k] = ()
    whole = joined(replace(sko, b=b), groups)
    n = dict(enumerate(sko.heights[members[-1]] for members in groups)) | {tree.world: sko.base.shape[-2]}
    A = [x[..., -n[p] :, -n[k] :] for k, (p, x) in enumerate(zip(whole.tree.parent, whole.A))]
    H, M = [x[..., -n[k] :] for k, x in enumerate(whole.H)], [x[..., -n[k] :, -n[k] :] for k, x in enumerate(whole.M)]
    bias, rest = ([x[..., -n[k] :, :] for k, x in enumerate(own)] for own in (whole.a, whole.b))
    order = order_of(tree, groups)
    return SKO(whole.tree.parent, A, H, M, whole.armature, bias, rest, sko.base), tree.join(tau)[..., order], order


def check_between(sko: SKO, k: int) -> None:
    """A node without inertia carries one node."""
    if len(sko.tree.children[k]) != 1:
        where = "forks" if sko.tree.children[k] else "is a tip"
        raise ModelError(f"divide and conquer needs nodes with mass; node {k} has none and {where}. Use forward_dynamics.")


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
