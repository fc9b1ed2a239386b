"""Groups of nodes: what a loop of a rolled kernel goes over."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from ..engine.tracing.rolled import Groups, Shape

if TYPE_CHECKING:
    from .nodes import Nodes


def grouped(nodes: "Nodes", units: Sequence[tuple[tuple[int, ...], Hashable]] = ()) -> Groups:
    """Each moving node with the nodes that only place it, and each unit of nodes, given with its kind, as a group. Groups of the same
    kind, joints and placements are one class. They are in the order of their first nodes: a carrier comes before what it carries."""
    tree = nodes.tree
    groups: list[tuple[tuple[int, ...], Hashable]] = [*units, *((row, None) for row in _chains(nodes, units))]
    members = [row for row, _ in sorted(groups, key=lambda group: group[0])]
    kinds = dict(groups)
    place = {k: (g, m) for g, row in enumerate(members) for m, k in enumerate(row)}
    inner = [tuple(place[tree.parent[k]][1] if place.get(tree.parent[k], (-1, 0))[0] == g else -1 for k in row)
             for g, row in enumerate(members)]  # fmt: skip
    alike = [(kinds[row], inside, *((nodes.groups[k], placing(nodes, k)) for k in row)) for row, inside in zip(members, inner)]
    known = {key: c for c, key in enumerate(dict.fromkeys(alike))}
    classes = [known[key] for key in alike]
    on = [place.get(tree.parent[row[0]], (-1, 0)) for row in members]
    carrying: list[set[int]] = [set() for _ in known]
    for g, m in on:
        if g >= 0:
            carrying[classes[g]].add(m)
    first = [classes.index(c) for c in range(len(known))]
    shapes = tuple(_shape(nodes, members[g], inner[g], carrying[classes[g]]) for g in first)
    port = tuple(0 if g < 0 else shapes[classes[g]].ports.index(m) for g, m in on)
    starts = (tuple(tuple(rows[row[m]].start for m in shapes[c].moving) for row, c in zip(members, classes))
              for rows in (nodes.q_rows, tree.rows))  # fmt: skip
    return Groups(tuple(members), tuple(classes), shapes, tuple(g for g, _ in on), port, *starts)


def _chains(nodes: "Nodes", units) -> list[tuple[int, ...]]:
    """Each moving node that is in no unit, after the nodes that only place it."""
    taken, chains, row = {k for members, _ in units for k in members}, [], list[int]()
    for k, width in enumerate(nodes.tree.widths):
        if k not in taken:
            row.append(k)
            if width:
                chains.append(tuple(row))
                row = []
    return chains


def _shape(nodes: "Nodes", row: tuple[int, ...], inner: tuple[int, ...], carrying: set[int]) -> Shape:
    moving = tuple(m for m, k in enumerate(row) if nodes.tree.widths[k])
    tips = [m for m in range(len(row)) if m not in inner]
    return Shape(inner, moving, tuple(sorted(carrying)) or (tips[-1],))


def placing(nodes: "Nodes", k: int) -> tuple[bool, tuple[bool, ...]]:
    """Does a node's fixed placement move, and about which axes does it turn? One alone makes a sparse rotation."""
    turning = nodes.quaternion[k][:3] != 0
    return bool(nodes.translation[k].any()), tuple(turning.tolist()) if turning.sum() < 2 else ()
