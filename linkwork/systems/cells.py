"""Cells: a loop with all its members as one unit of a rolled kernel, so that mechanisms of many small loops and gears are loops over them.

Everything that is read from one cell to another has the height of a rigid body. A cell begins with a gate, a node of that height on
which the root of the loop stands (embedded.py); what stands on a member that holds velocities of others stands on an exit there, a
node of that height again. Both are without mass or motion.

    carrier → gate → root → members, exits → what stands on them
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from ..engine.tracing.rolled import OWN, Groups, Handle, RolledTree, Shape
from .embedded import Embedding, RootedLoop, with_inserted
from .node_groups import placing
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
        return _Building(nodes, loops, kinds).cells()


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


class _Building:
    def __init__(self, nodes: Nodes, loops: Sequence[Sequence[int]], kinds: Sequence[Hashable]):
        self.before, self.loops, self.kinds = nodes, loops, kinds
        self.loop = {k: g for g, members in enumerate(loops) for k in members}
        self.old: list[int | None] = []
        self.parent: list[int] = []
        self.cell: list[list[int]] = [[] for _ in loops]  # the nodes of each, in the new numbers
        self.root: dict[int, int] = {}
        self.exit: dict[int, int] = {}  # of a member, in the old numbers
        self.number = {nodes.tree.world: nodes.tree.world}
        for k, p in enumerate(nodes.tree.parent):
            self._insert(k, p)
        self.nodes = with_inserted(nodes, self.old, self.parent, self.number)

    def _insert(self, k: int, p: int) -> None:
        stands_on, g = self.exit.get(p, self.number[p]), self.loop.get(k)
        if g is None:
            self.number[k] = self._add(k, stands_on)
            return
        if self.loop.get(p) == g:
            stands_on = self.number[p]
        else:
            if g not in self.root:
                self.root[g] = self._add(None, self._add(None, stands_on, g), g)
            stands_on = self.root[g]
        self.number[k] = self._add(k, stands_on, g)
        where = [self.loop.get(c) == g for c in self.before.tree.children[k]]
        if any(where) and not all(where):
            self.exit[k] = self._add(None, self.number[k], g)

    def _add(self, k: int | None, stands_on: int, g: int | None = None) -> int:
        self.old.append(k)
        self.parent.append(stands_on)
        if g is not None:
            self.cell[g].append(len(self.old) - 1)
        return len(self.old) - 1

    def cells(self) -> Cells:
        """Groups in the order of their first nodes: a carrier comes before what it carries."""
        rows = sorted([(tuple(x), kind) for x, kind in zip(self.cell, self.kinds)] + [(x, None) for x in self._free_rows()])
        members = [row for row, _ in rows]
        place = {k: (g, m) for g, row in enumerate(members) for m, k in enumerate(row)}
        inner = [tuple(place[p][1] if p in place and place[p][0] == g else -1 for p in (self.parent[k] for k in row))
                 for g, row in enumerate(members)]  # fmt: skip
        alike = [(kind, inside, *((self.nodes.groups[k], placing(self.nodes, k)) for k in row)) for (row, kind), inside in zip(rows, inner)]
        known = {key: c for c, key in enumerate(dict.fromkeys(alike))}
        classes = [known[key] for key in alike]
        on = [place.get(self.parent[row[0]], (-1, 0)) for row in members]
        carrying: list[set[int]] = [set() for _ in known]
        for g, m in on:
            if g >= 0:
                carrying[classes[g]].add(m)
        first = [classes.index(c) for c in range(len(known))]
        shapes = tuple(self._shape(members[g], inner[g], carrying[classes[g]]) for g in first)
        port = tuple(0 if g < 0 else shapes[classes[g]].ports.index(m) for g, m in on)
        starts = [[tuple(at[row[m]].start for m in shapes[c].moving) for row, c in zip(members, classes)]
                  for at in (self.nodes.q_rows, self.nodes.tree.rows)]  # fmt: skip
        groups = Groups(tuple(members), tuple(classes), shapes, tuple(g for g, _ in on), port, *map(tuple, starts))
        loops = tuple((self.root[g], tuple(self.number[k] for k in x)) for g, x in enumerate(self.loops))
        return Cells(self.nodes, groups, loops)

    def _free_rows(self) -> list[tuple[int, ...]]:
        """Each moving node that is in no loop, after the nodes that only place it."""
        found, row = [], list[int]()
        for k in range(len(self.old)):
            if self.old[k] is not None and self.old[k] not in self.loop:
                row.append(k)
                if self.nodes.tree.widths[k]:
                    found.append(tuple(row))
                    row = []
        return found

    def _shape(self, row: tuple[int, ...], inner: tuple[int, ...], carrying: set[int]) -> Shape:
        moving = tuple(m for m, k in enumerate(row) if self.nodes.tree.widths[k])
        tips = [m for m in range(len(row)) if m not in inner]
        return Shape(inner, moving, tuple(sorted(carrying)) or (tips[-1],))


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


def moving_parts(members: Sequence[int], widths: Sequence[int], parts) -> np.ndarray:
    """The parts of a vector that belong to members that move, one after the other."""
    return np.concatenate([parts[k] for k in members if widths[k]], 0)
