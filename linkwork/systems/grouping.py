"""Which nodes of a tree a constraint ties together, and which node carries them (Jain, section 15.1)."""

from collections.abc import Iterable, Sequence

from ..errors import ModelError
from ..model.tree import Tree


def between(tree: Tree, nodes: Iterable[int]) -> set[int]:
    """The nodes on the ways between these, without the one that carries them all: the smallest set that can be one loop."""
    ends = list(nodes)
    if len(ends) == 1 and ends[0] != tree.world:
        return set(ends)
    here, inside = set(ends), set[int]()
    while len(here) > 1:  # the one that is farthest out goes on to its parent, until all are at one node
        k = max(here)
        inside.add(k)
        here = here - {k} | {tree.parent[k]}
    return inside


def merged(tree: Tree, sets: Iterable[set[int]]) -> tuple[tuple[int, ...], ...]:
    """Every node in one group: sets that share nodes together, the rest alone; base to tips by their first nodes."""
    group = list(range(len(tree)))

    def root(k):
        while group[k] != k:
            k = group[k]
        return k

    for nodes in sets:
        for k in nodes:
            a, b = root(k), root(min(nodes))
            group[max(a, b)] = min(a, b)
    found: dict[int, list[int]] = {}
    for k in range(len(tree)):
        found.setdefault(root(k), []).append(k)
    return tuple(tuple(x) for _, x in sorted(found.items()))


def group_parents(tree: Tree, groups: Sequence[Sequence[int]]) -> list[int]:
    """The node outside each group that carries it (or the world), or an error where there are several."""
    parents = []
    for members in groups:
        outside = {tree.parent[k] for k in members} - set(members)
        if len(outside) != 1:
            raise ModelError(
                f"nodes {', '.join(map(str, members))} cannot become one: they stand on "
                f"{len(outside)} nodes outside; take in those between too."
            )
        parents.append(outside.pop())
    return parents
