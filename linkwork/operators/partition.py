"""A model in three: what a set S of nodes carries (C), S itself, and what carries it (P), with the edges between (Jain, section 14.1).

    𝒜 = [A_C, 0, 0;  A_S B_S A_C, A_S, 0;  A_P E_S A_S B_S A_C, A_P E_S A_S, A_P]             Jain (14.2) to (14.5), Lemma 14.2

B_S are the edges from C into S, E_S those from S into P. Nodes that neither carry S nor are carried by it count as P.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..errors import ModelError
from ..model.tree import Tree
from ..systems.grouping import between
from .aggregation import grid, substructured
from .sko import SKO


@dataclass(frozen=True, eq=False)
class Part:
    """Some nodes of a model as a model of their own, cut loose from the rest: node i of it is nodes[i]."""

    nodes: tuple[int, ...]
    sko: SKO
    rows: np.ndarray  # where its velocities are in those of the whole

    @property
    def A(self):
        """𝒜 of the part alone (..., n, n), its nodes one below the other."""
        return self.sko.operators.phi.dense()


@dataclass(frozen=True, eq=False)
class Partition:
    """The parts, and the edges that tie them: B (S from C) and E (P from S), by numbers of nodes in the whole {(parent, child): A}."""

    C: Part
    S: Part
    P: Part
    B: dict
    E: dict

    def dense(self, edges: dict, to: Part, of: Part):
        """Edges as a matrix, nodes one below the other: partition.dense(partition.B, partition.S, partition.C)."""
        at, own = to.nodes.index, of.nodes.index
        return grid({(at(p), own(k)): x for (p, k), x in edges.items()}, to.sko.heights, of.sko.heights, of.sko.M[0])


def partition(sko: SKO, inside: Iterable[int]) -> Partition:
    """The parts of a model that a set S of nodes cuts it into; S leaves out nothing that lies between two of its own."""
    parts = [part(sko, nodes) for nodes in substructured(sko, inside)]
    if empty := [name for name, each in zip("CSP", parts) if not each.nodes]:
        raise ModelError(f"the cut leaves {empty[0]} without nodes; S is to carry something and to stand on something, within the model.")
    C, S, P = parts
    edges = lambda above, below: {
        (sko.tree.parent[k], k): sko.A[k] for k in below.nodes if sko.tree.parent[k] in above.nodes
    }  # fmt: skip
    return Partition(C, S, P, edges(S, C), edges(P, S))


def part(sko: SKO, nodes: Iterable[int]) -> Part:
    """Some nodes of a model by themselves: those whose parents are not among them stand on the world, and do not feel it move."""
    nodes = tuple(sorted(nodes))
    number = {k: i for i, k in enumerate(nodes)}
    parent = [number.get(sko.tree.parent[k], sko.tree.world) for k in nodes]
    loose = [np.zeros_like(sko.A[k], shape=(sko.base.shape[-2], sko.heights[k])) for k in nodes]
    A = [free if p == sko.tree.world else sko.A[k] for k, p, free in zip(nodes, parent, loose)]
    of = lambda x: [x[k] for k in nodes]
    rows = np.concatenate([np.zeros(0, int), *(np.arange(sko.nv)[sko.tree.rows[k]] for k in nodes)])
    own = SKO(parent, A, of(sko.H), of(sko.M), of(sko.armature), of(sko.a), of(sko.b), sko.base) if nodes else sko
    return Part(nodes, own, rows)


def induced_edges(tree: Tree, nodes: Iterable[int]) -> list[tuple[int, int]]:
    """The edges (parent, child) of the sub-graph S_I that nodes induce                                        Jain (14.1)."""
    own = set(nodes)
    return [(tree.parent[k], k) for k in sorted(own) if tree.parent[k] in own]


def path_induced(tree: Tree, nodes: Iterable[int]) -> tuple[int, ...]:
    """S_P: the nodes and all that lie between two of them, one above the other                               Jain, section 14.1."""
    own = set(nodes)
    found = set(own)
    for k in own:
        way = [j for j, _ in tree.path(k, None, via=lambda j, x: x)]
        highest = max((i for i, j in enumerate(way) if j in own), default=0)
        found.update(way[: highest + 1])
    return tuple(sorted(found))


def aggregable(tree: Tree, nodes: Iterable[int]) -> tuple[int, ...]:
    """S_A: the least set with these nodes that can become one node, all carried by one node outside it       Jain (14.11), Lemma 14.5."""
    own = set(nodes)
    return tuple(sorted(own | between(tree, own)))
