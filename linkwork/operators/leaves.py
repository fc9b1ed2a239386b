"""The operators that expressions are made of: block-diagonal, propagation, kernel and pick-off."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..model.tree import Tree
from ..spatial import solve
from ..sweeps.gather_scatter import gather, scatter
from ..sweeps.neighbours import from_children, from_parent
from .operator import Operator, Space


@dataclass(frozen=True, eq=False, repr=False)
class Leaf(Operator):
    """An operator with a name and blocks, or its transpose. `home` is the algebra it belongs to."""

    name: str
    home: Any
    tree: Tree
    left: Space
    right: Space
    blocks: Callable  # made when first needed
    turned: bool = False

    @property
    def rows(self):
        return self.right if self.turned else self.left

    @property
    def columns(self):
        return self.left if self.turned else self.right

    leaves = property(lambda self: (self,))
    some = property(lambda self: self.home.some)

    @property
    def T(self):
        return replace(self, turned=not self.turned)

    def is_transpose_of(self, other) -> bool:
        return isinstance(other, Leaf) and self.is_as(other) and self.turned != other.turned

    def is_as(self, other) -> bool:
        """Is it the same operator, transposed or not?"""
        return type(self) is type(other) and self.home is other.home and self.name == other.name

    @abstractmethod
    def apply(self, x): ...

    def __str__(self) -> str:
        return f"{self.name}*" if self.turned else self.name


@dataclass(frozen=True, eq=False, repr=False)
class Diagonal(Leaf):
    """diag{X(k)}, a block for each node."""

    def apply(self, x):
        X, y = self.blocks(), self.tree.slots()
        for k in self.tree.base_to_tips():
            y[k] = (X[k].mT if self.turned else X[k]) @ x[k]
        return y


@dataclass(frozen=True, eq=False, repr=False)
class SymmetricDiagonal(Diagonal):
    """The same with X(k) = X*(k): inertias."""

    @property
    def T(self):
        return self


@dataclass(frozen=True, eq=False, repr=False)
class InverseDiagonal(SymmetricDiagonal):
    """diag{X⁻¹(k)} of positive definite blocks, by LDL*."""

    def apply(self, x):
        X, y = self.blocks(), self.tree.slots()
        for k in self.tree.base_to_tips():
            y[k] = solve(X[k], x[k])
        return y

    def __str__(self) -> str:
        return f"{self.name}⁻¹"


@dataclass(frozen=True, eq=False, repr=False)
class Propagation(Leaf):
    """A = (I − 𝓔)⁻¹ = I + 𝓔 + 𝓔² + ...: gathers from tips to base, its transpose scatters (Jain, Lemmas 9.1, 9.2)."""

    def apply(self, x):
        A = self.blocks()
        return scatter(self.tree, A, x, nothing(A, x)) if self.turned else gather(self.tree, A, x)


@dataclass(frozen=True, eq=False, repr=False)
class Strict(Leaf):
    """A~ = A − I = 𝓔 A: the same without the own term (Jain, Lemma 8.6, Exercise 9.1)."""

    def apply(self, x):
        A = self.blocks()
        if self.turned:
            return from_parent(self.tree, A, scatter(self.tree, A, x, nothing(A, x)), nothing(A, x))
        return from_children(self.tree, A, gather(self.tree, A, x), self.left.sizes)


@dataclass(frozen=True, eq=False, repr=False)
class Kernel(Leaf):
    """𝓔: from each node to its parent only. K = 𝓔 G is one too, from velocities to nodes."""

    def apply(self, x):
        A = self.blocks()
        if self.turned:
            return from_parent(self.tree, A, x, nothing(A, x))
        return from_children(self.tree, A, x, self.left.sizes)


@dataclass(frozen=True, eq=False, repr=False)
class PickOff(Leaf):
    """B: forces on places (k, B(k,i)) to their nodes; B* picks their velocities off (Jain, 3.47)."""

    def apply(self, x):
        places = self.blocks()
        if self.turned:
            columns = next(iter(x.values())).shape[-1]
            return {
                i: B.mT @ x[k] if k != self.tree.world else np.zeros_like(B, shape=(B.shape[-1], columns))
                for i, (k, B) in enumerate(places)
            }
        columns = x[0].shape[-1]
        y = self.tree.slots()
        for k in self.tree.base_to_tips():
            own  = [B @ x[i] for i, (j, B) in enumerate(places) if j == k]
            y[k] = np.zeros_like(x[0], shape=(self.left.sizes[k], columns)) + sum(own, 0.0)
        return y


def nothing(A, x):
    """What the world holds: zero."""
    columns = next(iter(x.values())).shape[-1]
    return np.zeros_like(A[0], shape=(A[0].shape[-2], columns))
