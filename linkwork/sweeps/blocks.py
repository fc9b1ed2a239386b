"""The one input of every sweep: the blocks of a system at a state (the SKO model of Jain, chapter 9).

A system is a tree of nodes whose velocities follow from their parents', of any sizes, which may differ within one tree:

    V(k) = A*(p,k) V(p) + H*(k) v(k),   α(k) = A*(p,k) α(p) + H*(k) v̇(k) + a(k)
    f(k) = M(k) α(k) + b(k) + Σ A(k,j) f(j),   τ(k) = H(k) f(k) + armature(k) v̇(k)                Jain (9.1) to (9.3)

Rigid trees, gears, prescribed joints and embedded loops are producers of blocks (`linkwork.systems`). Each field is indexed
by node. Blocks have leading batch axes or none: what does not depend on the state is a constant, which tracing folds.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np


@dataclass(frozen=True, eq=False, slots=True)
class Blocks:
    """What the configuration decides; it unpacks as the five letters of these equations."""

    tree: Any
    A: Any  # A(p,k), from node k to its parent; for a root, to the world
    H: Any  # one row per velocity; a node may have none
    M: Any  # inertia of the node
    armature: Any  # inertia that sits in the joint, (velocities, velocities)
    q: Any = None  # the configuration
    own: Any = None  # what the system that made them knows there

    def __iter__(self) -> Iterator:
        return iter((self.tree, self.A, self.H, self.M, self.armature))

    def _replace(self, **others) -> "Blocks":
        """These blocks with others in the place of some."""
        return replace(self, **others)


@dataclass(frozen=True, eq=False, slots=True)
class Rates:
    """What velocities and forces add, columns; it unpacks as the four letters."""

    a: Any  # Coriolis acceleration
    b: Any  # gyroscopic force, less the forces that act on the node from outside
    base: Any  # acceleration of the world: minus gravity
    tau: Any = None  # generalized force, where forces are given
    own: Any = None  # what the system that made them knows there

    def __iter__(self) -> Iterator:
        return iter((self.a, self.b, self.base, self.tau))

    def _replace(self, **others) -> "Rates":
        """These rates with others in the place of some."""
        return replace(self, **others)


def shapes(s: Blocks, world: int) -> Iterator[tuple]:
    """(node, name of its block, shape that it has, shape that fits its neighbours) of all blocks; `world` is the height of the world."""
    for k, p in enumerate(s.tree.parent):
        n, r = s.M[k].shape[-1], s.tree.widths[k]
        above = s.M[p].shape[-1] if p != s.tree.world else world
        for name, fitting in (("A", (above, n)), ("H", (r, n)), ("M", (n, n)), ("armature", (r, r))):
            yield k, name, getattr(s, name)[k].shape, fitting


class BlockRates(NamedTuple):
    """How the blocks change along a motion: J̊(k) = A* J̊(p) + Å* J(p) + H̊ is the rate of V(k) per velocity, and
    M J̊ + N J has the velocity-dependent forces, with N + N* the rate of M."""

    A: Any  # Å(p,k)
    H: Any  # H̊(k), one column per velocity
    N: Any


def at_rest(s: Blocks, base, tau=None) -> Rates:
    """Rates of a system without velocities: a = b = 0."""
    still = s.tree.slots()
    for k in s.tree.base_to_tips():
        still[k] = np.zeros_like(s.M[k], shape=(s.M[k].shape[-1], 1))
    return Rates(still, still, base, tau)
