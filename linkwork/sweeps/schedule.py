"""In which order the joints of a tree are merged by divide and conquer, so that few steps must follow one another.

The tree is cut into paths: from each node its path goes on with the child that has the most nodes, and a path begins at every other child.
A path that is done is absorbed by the node it begins at; pieces of one path are joined by halves, those that are done late near the top. On
the way from a tip to the root there are at most log₂ N paths, and the halves are weighted, so that the levels grow as log N for every tree.
"""

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby
from math import ceil, log2
from typing import NamedTuple

Ends = tuple[int, int]  # first and last node of a piece, which is part of a path


class Merge(NamedTuple):
    """The joint of node k merges the piece outside it with the one inside, or with its parent alone (`inner` None)."""

    level: int
    joint: int
    inner: Ends | None
    outer: Ends


@dataclass(frozen=True)
class Schedule:
    """Merges by level: those of one level do not depend on each other, and may be done at once."""

    nodes: int
    merges: tuple[Merge, ...]  # in the order of levels
    whole: dict[int, Ends]  # for each root the piece that is all of its tree, after everything was absorbed
    depth: int  # levels, sums of what one node absorbs among them

    @cached_property
    def levels(self) -> tuple[tuple[Merge, ...], ...]:
        return tuple(tuple(group) for _, group in groupby(self.merges, key=lambda merge: merge.level))

    @property
    def steps(self) -> int:
        """How many follow one another: the levels up, the ground, the same back."""
        return 2 * (self.depth + 1)

    def __str__(self) -> str:
        widest = max(map(len, self.levels), default=0)
        levels = f"{self.depth} levels of merges and back; at most {widest} merges at once"
        return f"{self.nodes} nodes: {self.steps} steps follow one another, {levels}"


def schedule(tree) -> Schedule:
    """The merges of a tree, from its shape alone."""
    merges: list[Merge] = []
    heavy = heaviest_children(tree)
    ready = tree.slots()  # of each node: the level at which it has absorbed its side branches
    done = tree.slots()  # of each node that a path begins at: the level at which the path is one piece, and its ends

    def halved(path, first: int, last: int) -> int:
        """The level at which nodes first ... last of a path are one piece."""
        if first == last:
            return ready[path[first]]
        weights = list(accumulate(2.0 ** ready[k] for k in path[first : last + 1]))
        middle = first + min(bisect_left(weights, weights[-1] / 2) + 1, last - first)
        level = 1 + max(halved(path, first, middle - 1), halved(path, middle, last))
        merges.append(Merge(level, path[middle], (path[first], path[middle - 1]), (path[middle], path[last])))
        return level

    for k in tree.tips_to_base():
        absorbed = [j for j in tree.children[k] if j != heavy[k]]
        merges += (Merge(done[j][0] + 1, j, None, done[j][1]) for j in absorbed)
        latest = max((done[j][0] + 1 for j in absorbed), default=0)
        ready[k] = latest + ceil(log2(max(len(absorbed), 1)))  # terms of a sum are added two by two
        if heavy[tree.parent[k]] != k:
            path = [k]
            while heavy[path[-1]] is not None:
                path.append(heavy[path[-1]])
            done[k] = halved(path, 0, len(path) - 1), (k, path[-1])
    roots = tree.children[tree.world]
    depth = max((done[k][0] for k in roots), default=0)
    return Schedule(len(tree), tuple(sorted(merges)), {k: done[k][1] for k in roots}, depth)


def heaviest_children(tree) -> dict:
    """Of each node the child with the most nodes outside it, None at a tip; the world has none."""
    sizes, heavy = tree.slots(2)
    for k in tree.tips_to_base():
        sizes[k] = 1 + sum(sizes[j] for j in tree.children[k])
        heavy[k] = max(tree.children[k], key=sizes.__getitem__, default=None)
    return heavy | {tree.world: None}
