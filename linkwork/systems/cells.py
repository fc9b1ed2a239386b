"""Cells: a loop with all its members as one unit of a rolled kernel, so that mechanisms of many small loops and gears are loops over them.

Everything that is read from one cell to another has the height of a rigid body. A cell begins with a gate, a node of that height on
which the root of the loop stands (embedded.py); what stands on a member that holds velocities of others stands on an exit there, a
node of that height again. Both are without mass or motion.

    carrier → gate → root → members, exits → what stands on them
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from ..engine.tracing.rolled import OWN, Groups, Handle, RolledTree
from .embedded import Embedding, RootedLoop, Rooting
from .node_groups import grouped
from .nodes import Nodes


@dataclass(frozen=True, eq=False)
class Cells:
    """Nodes with gates, roots and exits among them, the groups that they are, and the loops: (root, members)."""

    nodes: Nodes
    groups: Groups
    loops: tuple[RootedLoop, ...]

    @staticmethod
    def of(nodes: Nodes, loops: Sequence[Sequence[int]], kinds: Sequence[Hashable]) -> "Cells":
        """Of loops with all nodes that place their members (`with_placing`). Cells of one kind, whose members are alike, are one class."""
        rooting = Rooting(nodes, loops, gates=True)
        units = [(tuple(unit), kind) for unit, kind in zip(rooting.units, kinds)]
        return Cells(rooting.nodes, grouped(rooting.nodes, units), tuple(rooting.loops))


def with_placing(nodes: Nodes, loops: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Loops with the nodes that only place a member, which stand on a node that moves, or on the world."""
    tree, taken, out = nodes.tree, {k for members in loops for k in members}, []
    for members in loops:
        whole = set(members)
        for k in members:
            p = tree.parent[k]
            while p != tree.world and p not in taken and not tree.widths[p]:
                whole.add(p)
                p = tree.parent[p]
        out.append(tuple(sorted(whole)))
    return out


class RolledEmbedding(Embedding):
    """The tree of a system with loops as a rolled kernel sees it."""

    def __init__(self, cells: Cells, widths: Sequence[int], tree: RolledTree):
        """`widths` says how many velocities each loop keeps."""
        super().__init__(cells.nodes.tree, cells.loops, widths)
        handles = {k: Handle(k, OWN, m) for row in tree.representative.values() for m, k in enumerate(row)}
        self.members = {e: tuple(handles[k] for k in x) for e, x in cells.loops if e in handles}
        self.tree = tree  # type: ignore[assignment]

    def spread(self, e: int, column) -> dict:
        """Rows over all velocities of the loop of a root, as those of each member."""
        out, at = {}, 0
        for k in self.members[e]:
            out[k] = column[..., at : at + self.rigid.widths[k], :]
            at += self.rigid.widths[k]
        return out

    def whole(self, vdot, X, bend=None):
        """v̇ = X u̇ + Ẋu of all joints."""
        out = self.tree.slots()
        for k in self.tree.base_to_tips():
            if k in self.free:
                out[k] = vdot[k]
                continue
            if not self.rigid.widths[k]:
                out[k] = np.zeros((0, 1))
            if k in self.members:
                for i, x in self.spread(k, X[k] @ vdot[k]).items():
                    out[i] = x if bend is None else x + bend[i]
        return self.tree.join(out)
