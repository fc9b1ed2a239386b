"""Rates of operators along a motion, as operators: the product rule, and a table of what each letter changes by (Jain, chapter 18).

Rates are those of the entries of the matrices, each node seen in its own axes. There H and M of a rigid mechanism are constant, and all
that changes is φ: the terms of the book that come from axes that turn are not there.

    φ̇ = φ~ Δ̄ φ,   Δ(k) = H*(k) v(k)                                           Lemma 18.3

A sensitivity is the rate along one velocity (18.26): its Δ̄ prints as H̄ with the name of the joint, its Ṗ as P with that name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any
from unicodedata import normalize

import numpy as np

from .. import sweeps
from ..errors import ModelError
from ..spatial import bar
from . import notation
from .leaves import Diagonal, InverseDiagonal, Kernel, Leaf, PickOff, SymmetricDiagonal
from .operator import Identity, Operator, Product, Space, Sum, product, total
from .rules import NoRuleError, of_diagonal
from .sko import SKO, Changes

RIGID = {  # of rigid mechanisms; Ṗ of Algorithm 18.1
    "φ":   "φ~ Δ̄ φ",                                                          # Lemma 18.3
    "φ~":  "φ~ Δ̄ φ",
    "𝓔φ":  "𝓔φ Δ̄",
    "R":   "Ṙ",
    "P":   "Ṗ",
    "P⁺":  "(I − G H) Ṗ (I − G H)*",                                          # Lemma 18.11
    "D":   "H Ṗ H*",
    "G":   "(I − G H) Ṗ H* D⁻¹",
    "K":   "𝓔φ Δ̄ G + 𝓔ψ Ṗ H* D⁻¹",
    "𝓔ψ":  "𝓔φ Δ̄ (I − G H) − 𝓔ψ Ṗ H* D⁻¹ H",
    "ψ":   "(ψ 𝓔φ Δ̄ (I − G H) − ψ~ Ṗ H* D⁻¹ H) ψ",
    "ψ~":  "(ψ 𝓔φ Δ̄ (I − G H) − ψ~ Ṗ H* D⁻¹ H) ψ",
    "Υ":   "Υ̇",
}  # fmt: skip

GENERAL = {  # of any blocks
    "H":   "Ḣ",
    "M":   "Ṁ",
    "φ":   "φ 𝓔̇φ φ",
    "φ~":  "φ 𝓔̇φ φ",
    "𝓔φ":  "𝓔̇φ",
    "R":   "Ṙ",
    "P":   "Ṗ",
    "P⁺":  "Ṗ⁺",
    "D":   "Ḋ",
    "G":   "Ġ",
    "K":   "𝓔̇φ G + 𝓔φ Ġ",
    "𝓔ψ":  "𝓔̇ψ",
    "ψ":   "ψ 𝓔̇ψ ψ",
    "ψ~":  "ψ 𝓔̇ψ ψ",
    "Υ":   "Υ̇",
}  # fmt: skip


class Zero(Operator):
    """0: what does not change."""

    def __init__(self, rows: Space, columns: Space, some):
        self._spaces, self._some = (rows, columns), some

    rows = property(lambda self: self._spaces[0])
    columns = property(lambda self: self._spaces[1])
    some = property(lambda self: self._some)
    leaves = property(lambda self: ())

    @property
    def T(self):
        return Zero(self.columns, self.rows, self.some)

    def apply(self, x):
        columns = next(iter(x.values())).shape[-1]
        return {k: np.zeros_like(self.some, shape=(n, columns)) for k, n in enumerate(self.rows.sizes)}

    def __str__(self) -> str:
        return "0"


def rate(A: Operator, v, index: str = "") -> Operator:
    """Ȧ along v; with an index, the sensitivity that is printed with it."""
    motions: dict[int, Motion] = {}

    def motion(home) -> Motion:
        if id(home) not in motions:
            motions[id(home)] = Motion(home, v, index)
        return motions[id(home)]

    found = changed(A, motion)
    return Zero(A.rows, A.columns, A.some) if found is None else found


# --- the product rule: each gives a rate, or None where nothing changes


def changed(A: Operator, motion: Callable) -> Operator | None:
    if isinstance(A, Identity | Zero):
        return None
    if isinstance(A, Sum):
        found = summed((c, changed(B, motion)) for c, B in A.terms)
        return found.T if found is not None and A.turned else found
    if isinstance(A, Product):
        return summed(replaced(A.factors, i, changed(B, motion)) for i, B in enumerate(A.factors))
    if not isinstance(A, Leaf):
        raise NoRuleError(f"the rate of {A}, a {type(A).__name__}, is not known; write it as sums and products of operators of a robot.")
    if A.turned:
        found = changed(A.T, motion)
        return None if found is None else found.T
    if isinstance(A, InverseDiagonal):  # (X⁻¹)˙ = −X⁻¹ Ẋ X⁻¹
        found = changed(of_diagonal(A), motion)
        return None if found is None else -product(product(A, found), A)
    return leaf_rate(A, motion)


def summed(parts) -> Operator | None:
    terms = [(c, A) for c, A in parts if A is not None]
    return total(*terms) if terms else None


def replaced(factors, i: int, new: Operator | None) -> tuple[float, Operator | None]:
    """The product with another factor i, and its number taken out of that."""
    if new is None:
        return 1, None
    c, new = new.terms[0] if isinstance(new, Sum) and len(new.terms) == 1 and not new.turned else (1, new)
    return c, reduce(product, [*factors[:i], new, *factors[i + 1 :]])


def leaf_rate(A: Leaf, motion: Callable) -> Operator | None:
    """By the table. Places on nodes, armatures, blocks of one's own, and Δ of a v that is held do not change."""
    if isinstance(A, PickOff | Turning):
        return None
    if isinstance(A, Moved):
        raise NoRuleError(
            f"{A} is a rate whose own rate no sweep gives. Second rates of expressions in H, φ and M have one; for others "
            "differentiate a program: robot.kernel(lambda q: ...).hessian()."
        )
    here = motion(A.home)
    return notation.read(here.table[A.name], here.symbol) if A.name in here.table and here.home.has_letter(A) else None


# --- the letters with a dot


@dataclass(frozen=True, eq=False, repr=False)
class Turning(Diagonal):
    """Δ̄ = diag{H*(k) v(k)} as forces feel it; v is held."""


class Moved:
    """A letter that is a rate."""


@dataclass(frozen=True, eq=False, repr=False)
class MovedDiagonal(Moved, Diagonal):
    pass


@dataclass(frozen=True, eq=False, repr=False)
class MovedInertia(Moved, SymmetricDiagonal):
    pass


@dataclass(frozen=True, eq=False, repr=False)
class MovedKernel(Moved, Kernel):
    pass


class Motion:
    """An SKO model that moves along v: rates of all its letters, computed when first needed."""

    def __init__(self, home, v, index: str):
        changes: Changes | None = home.sko.changes
        if changes is None:
            raise ModelError(
                "these operators do not say how their blocks change with the configuration, so they have no rates. Those of a robot do: "
                "robot.operators(q, v). For blocks of your own say it in SKO(..., changes=Changes(rates))."
            )
        self.home, self.changes, self.v, self.index = home, changes, v, index

    @property
    def sko(self) -> SKO:
        return self.home.sko

    @property
    def table(self) -> dict[str, str]:
        return RIGID if self.changes.is_rigid else GENERAL

    @cached_property
    def d(self) -> Any:
        return self.changes.rates(self.v)

    @cached_property
    def R(self):
        return sweeps.composite_rates(self.sko.blocks, self.d, self.sko.R)

    @cached_property
    def articulated(self):
        return sweeps.articulated_rates(self.sko.blocks, self.d, *self.sko.articulated)

    @cached_property
    def psi(self):
        return sweeps.transition_rates(self.sko.blocks, self.d, self.sko.G, self.articulated[2])

    @cached_property
    def Upsilon(self):
        s = self.sko
        zero = np.zeros_like(s.base, shape=(s.base.shape[-2],) * 2)
        return sweeps.compliance_rates(s.blocks, self.d, s.D, self.articulated[1], s.psi, self.psi, s.Upsilon, zero)

    def turning(self):
        """Δ̄(k)."""
        rate = self.sko.tree.split(self.v)
        return {k: bar((self.sko.H[k].mT @ rate[k])[..., 0]) for k in self.sko.tree.base_to_tips()}

    def each(self, of: Callable):
        return {k: of(k) for k in self.sko.tree.base_to_tips()}

    def symbol(self, name: str) -> Operator:
        """The operator of a letter in the tables."""
        nodes, velocities = self.home.nodes, self.home.velocities
        letters: dict[str, tuple] = {
            "Δ̄": (Turning, nodes, nodes, self.turning),
            "Ḣ": (MovedDiagonal, velocities, nodes, lambda: self.each(lambda k: self.d.H[k].mT)),
            "Ṁ": (MovedInertia, nodes, nodes, lambda: self.each(lambda k: self.d.N[k] + self.d.N[k].mT)),
            "Ṙ": (MovedInertia, nodes, nodes, lambda: self.R),
            "Ṗ": (MovedInertia, nodes, nodes, lambda: self.articulated[0]),
            "Ḋ": (MovedInertia, velocities, velocities, lambda: self.articulated[1]),
            "Ġ": (MovedDiagonal, nodes, velocities, lambda: self.articulated[2]),
            "Ṗ⁺": (MovedInertia, nodes, nodes, lambda: self.articulated[3]),
            "Υ̇": (MovedInertia, nodes, nodes, lambda: self.Upsilon),
            "𝓔̇φ": (MovedKernel, nodes, nodes, lambda: self.d.A),
            "𝓔̇ψ": (MovedKernel, nodes, nodes, lambda: self.psi),
        }
        if name not in letters:
            return self.home.symbol(name)
        kind, rows, columns, blocks = letters[name]
        return kind(self.printed(name), self.home, self.sko.tree, rows, columns, blocks)

    def printed(self, name: str) -> str:
        if not self.index:
            return name
        letter = "H̄" if name == "Δ̄" else normalize("NFD", name).replace(DOT, "")
        return f"{letter}_{self.index}"


DOT = "\u0307"
