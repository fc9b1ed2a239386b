"""A tree, or forest, of numbered nodes and the two directions of travel over it."""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np


class Tree:
    """Nodes 0 ... n-1 with parent[k] < k; the world is the parent of the roots.

    Sweeps know nothing else of a mechanism's shape. They keep their values in slots, indexed by node (and by the world).
    """

    world = -1

    def __init__(self, parent: Iterable[int], widths: Iterable[int]):
        self.parent = tuple(parent)
        self.widths = tuple(widths)  # velocities of each node
        ends = np.cumsum([0, *self.widths])
        self.rows = tuple(slice(int(a), int(b)) for a, b in pairwise(ends))
        self.nv = int(ends[-1])

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def decided_by(self) -> tuple:
        """What tells it from other trees."""
        return self.parent, self.widths

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Of each node, and last of the world: children[world] are the roots."""
        out: list[list[int]] = [[] for _ in range(len(self.parent) + 1)]
        for k, p in enumerate(self.parent):
            out[p].append(k)
        return tuple(map(tuple, out))

    def base_to_tips(self) -> Iterator[int]:
        return iter(range(len(self.parent)))

    def tips_to_base(self) -> Iterator[int]:
        return iter(reversed(range(len(self.parent))))

    def path(self, k: int, X, via: Callable, until: int = -1) -> Iterator[tuple]:
        """From node k to its root, or to the last node before `until`: (node, X there), X going from a node j to its parent as
        via(j, X)."""
        while k != until:
            yield k, X
            X, k = via(k, X), self.parent[k]

    def carried(self, k: int, X, via: Callable, until: int = -1):
        """X taken from node k all the way to the world, or to the node `until` on that way."""
        for j, at in self.path(k, X, via, until):
            X = via(j, at)
        return X

    def meeting(self, i: int, j: int) -> int:
        """The node where the ways of two nodes to the world meet, or the world."""
        while i != j:
            i, j = min(i, j), self.parent[max(i, j)]
        return i

    def slots(self, count: int = 1):
        """Room for one value per node; several rooms at once if asked."""
        return {} if count == 1 else tuple({} for _ in range(count))

    def sum(self, terms: Iterable):
        """Σ over children: the one place where a node meets them."""
        return sum(terms, 0.0)

    def total(self, x):
        """Σ over all nodes."""
        return sum((x[k] for k in self.base_to_tips()), 0.0)

    def constant(self, x):
        """The same value at every node."""
        return dict.fromkeys(self.base_to_tips(), x)

    def split(self, x):
        """The columns x(k) of a vector (..., nv)."""
        return self.split_rows(x[..., None])

    def split_rows(self, x):
        """The rows x(k) of a block of columns (..., nv, m)."""
        return {k: x[..., rows, :] for k, rows in enumerate(self.rows)}

    def join(self, x):
        """The vector (..., nv) of columns x(k)."""
        return self.join_rows(x)[..., 0]

    def join_rows(self, x):
        """The block (..., nv, m) of blocks of rows x(k)."""
        return concatenated([x[k] for k in self.base_to_tips()], -2)

    def matrix(self, blocks: dict, height: int | None = None):
        """The matrix (..., nv, nv) of blocks (i, j); blocks that are not there are zero. With a height, one row of blocks k."""
        some = next(iter(blocks.values()), np.zeros((0, 0)))
        batch = np.broadcast_shapes(*(b.shape[:-2] for b in blocks.values()))
        out = np.zeros_like(some, shape=(*batch, self.nv if height is None else height, self.nv))
        for key, block in blocks.items():
            rows, columns = (self.rows[key[0]], self.rows[key[1]]) if height is None else (slice(None), self.rows[key])
            out[..., rows, columns] = block
        return out


def concatenated(parts, axis):
    """np.concatenate over one axis, the axes before the last two broadcast."""
    if not parts:
        return np.zeros((0, 1))
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in parts))
    return np.concatenate([np.broadcast_to(x, batch + x.shape[-2:]) for x in parts], axis)
