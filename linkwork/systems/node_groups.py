"""Groups of nodes: what a loop of a rolled kernel goes over."""

from typing import TYPE_CHECKING

from ..engine.tracing.rolled import Groups, Shape

if TYPE_CHECKING:
    from .nodes import Nodes


def grouped(nodes: "Nodes") -> Groups:
    """Each moving node with the nodes that only place it; groups of the same joints and placements are one class."""
    members, kinds, parent, q_start, v_start = [], [], [], [], []
    group_of: dict[int, int] = {-1: -1}
    row: list[int] = []
    for k, group in enumerate(nodes.groups):
        row.append(k)
        if group.nv:
            kinds.append(tuple((nodes.groups[i], placing(nodes, i)) for i in row))
            parent.append(group_of[nodes.tree.parent[row[0]]])
            members.append(tuple(row))
            q_start.append((nodes.q_rows[k].start,))
            v_start.append((nodes.tree.rows[k].start,))
            group_of[k] = len(members) - 1
            row = []
    known = list(dict.fromkeys(kinds))
    classes = {kind: c for c, kind in enumerate(known)}
    shapes = tuple(Shape.chain(len(kind)) for kind in known)
    numbers = tuple(classes[k] for k in kinds)
    return Groups(tuple(members), numbers, shapes, tuple(parent), (0,) * len(members), tuple(q_start), tuple(v_start))


def placing(nodes: "Nodes", k: int) -> tuple[bool, tuple[bool, ...]]:
    """Does a node's fixed placement move, and about which axes does it turn? One alone makes a sparse rotation."""
    turning = nodes.quaternion[k][:3] != 0
    return bool(nodes.translation[k].any()), tuple(turning.tolist()) if turning.sum() < 2 else ()
