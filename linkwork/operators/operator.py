"""Operators: they compose as the book composes them, and act by sweeps. Nothing is formed until `dense` is asked for.

A vector is a column of blocks, one for each node (or velocity, or place); an operator takes its slots to other slots.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Real

import numpy as np

from ..errors import ShapeError
from ..lie.scalars import like
from ..model.tree import concatenated


@dataclass(frozen=True)
class Space:
    """Stacked vectors of one kind: blocks of these sizes, one below the other."""

    kind: str
    sizes: tuple[int, ...]

    @cached_property
    def rows(self) -> tuple[slice, ...]:
        ends = np.cumsum([0, *self.sizes]).tolist()
        return tuple(slice(a, b) for a, b in pairwise(ends))

    @cached_property
    def size(self) -> int:
        return sum(self.sizes)

    def split(self, x):
        return {k: x[..., rows, :] for k, rows in enumerate(self.rows)}

    def join(self, x):
        return concatenated([x[k] for k in range(len(self.sizes))], -2)


class Operator(ABC):
    """A linear map between stacked vectors.

    `A @ x` takes a vector (n,) or a block of columns (..., n, m); `A.matvec(x)` takes vectors (..., n). `A @ B`,
    `A + B`, `A - B`, `2 * A`, `A.T` are operators again. `inv`, `solve` and `logdet` know the identities of the book.
    """

    __array_ufunc__ = None  # an array on the left leaves the product to us

    @property
    @abstractmethod
    def rows(self) -> Space:
        """Of A x."""

    @property
    @abstractmethod
    def columns(self) -> Space:
        """Of x."""

    @abstractmethod
    def apply(self, x):
        """The slots of A x from the slots of x: columns (..., size, m)."""

    @property
    @abstractmethod
    def T(self) -> "Operator":
        """A*."""

    @property
    @abstractmethod
    def leaves(self) -> "tuple[Operator, ...]":
        """The operators this one is written with."""

    @property
    @abstractmethod
    def some(self):
        """An array of the scalars this operator has."""

    # --- size

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.size, self.columns.size

    @property
    def dtype(self):
        return self.some.dtype

    ndim = 2

    def dense(self):
        """The matrix (..., rows, columns): a column for each unit vector. For looking at, and for small mechanisms."""
        return self @ like(np.eye(self.columns.size), self.some)

    # --- products with vectors

    def __matmul__(self, other):
        if isinstance(other, Operator):
            return product(self, other)
        x = as_array(other, self.some)
        if x.ndim == 1:
            return self._checked(x[..., None])[..., 0]
        return self._checked(x)

    def __rmatmul__(self, other):
        x = as_array(other, self.some)
        return self.T @ x if x.ndim == 1 else (self.T @ x.mT).mT

    def matvec(self, x):
        """A x for vectors (..., n), as SciPy calls it; one column (n, 1) stays a column."""
        x = as_array(x, self.some)
        if x.shape[-2:] == (self.columns.size, 1):
            return self._checked(x)
        return self._checked(x[..., None])[..., 0]

    def rmatvec(self, x):
        """A* x for vectors (..., n)."""
        return self.T.matvec(x)

    def matmat(self, X):
        """A X for columns (..., n, m)."""
        return self._checked(as_array(X, self.some))

    def rmatmat(self, X):
        return self.T.matmat(X)

    def _checked(self, x):
        n = self.columns.size
        if x.shape[-2] != n:
            raise ShapeError(
                f"{self} is {self.shape[0]} x {n}, but the vector has shape {x.shape}; `@` takes ({n},) or columns "
                f"(..., {n}, m), `matvec` takes (..., {n})."
            )
        return self.rows.join(self.apply(self.columns.split(x)))

    # --- algebra

    def __add__(self, other):
        return total((1, self), (1, other)) if isinstance(other, Operator) else NotImplemented

    def __sub__(self, other):
        return total((1, self), (-1, other)) if isinstance(other, Operator) else NotImplemented

    def __neg__(self):
        return total((-1, self))

    def __mul__(self, factor):
        return total((factor, self)) if is_number(factor) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, factor):
        return total((1 / factor, self)) if is_number(factor) else NotImplemented

    def inv(self) -> "Operator":
        """A⁻¹ by the identities of the book; an operator again, so that nothing is factored but the blocks."""
        from .rules import inverse

        return inverse(self)

    def solve(self, x):
        """A⁻¹ x, x as `@` takes it."""
        return self.inv() @ x

    def logdet(self):
        """log |det A| (...) by the identities of the book."""
        from .rules import log_determinant

        return log_determinant(self)

    def __repr__(self) -> str:
        return str(self)


class Identity(Operator):
    """I: of whatever space it meets, until it has met one."""

    def __init__(self, space: Space | None = None, some=None):
        self.space, self._some = space, some

    @property
    def rows(self):
        if self.space is None:
            raise ShapeError("I has no size by itself; it takes that of what it is added to or multiplied with.")
        return self.space

    columns = rows
    some = property(lambda self: self._some)
    leaves = property(lambda self: ())
    T = property(lambda self: self)

    def apply(self, x):
        return x

    def __matmul__(self, other):
        return other if isinstance(other, Operator) or self.space is None else super().__matmul__(other)

    def __str__(self) -> str:
        return "I"


class Product(Operator):
    """A B C ...: the last acts first."""

    def __init__(self, factors):
        self.factors = tuple(factors)

    rows = property(lambda self: self.factors[0].rows)
    columns = property(lambda self: self.factors[-1].columns)
    some = property(lambda self: self.factors[0].some)
    leaves = property(lambda self: tuple(leaf for factor in self.factors for leaf in factor.leaves))

    def apply(self, x):
        for factor in reversed(self.factors):
            x = factor.apply(x)
        return x

    @property
    def T(self):
        return Product(factor.T for factor in reversed(self.factors))

    def __str__(self) -> str:
        return " ".join(f"({f})" if isinstance(f, Sum) and not f.turned else str(f) for f in self.factors)


class Sum(Operator):
    """c A + d B + ..., each term with its number; transposed as a whole, (A + B)*, if so marked."""

    def __init__(self, terms, turned=False):
        self.terms, self.turned = tuple(terms), turned

    @cached_property
    def _terms(self):
        """The terms that act."""
        return tuple((c, A.T) for c, A in self.terms) if self.turned else self.terms

    rows = property(lambda self: self._terms[0][1].rows)
    columns = property(lambda self: self._terms[0][1].columns)
    leaves = property(lambda self: tuple(leaf for _, term in self.terms for leaf in term.leaves))

    @property
    def some(self):
        return next(A.some for _, A in self.terms if A.some is not None)

    def apply(self, x):
        parts = [scaled(c, A.apply(x)) for c, A in self._terms]
        return {k: sum((part[k] for part in parts[1:]), parts[0][k]) for k in parts[0]}

    @property
    def T(self):
        return Sum(self.terms, not self.turned)

    def __str__(self) -> str:
        text = ""
        for c, A in self.terms:
            sign = "−" if c < 0 else "+"
            size = "" if abs(c) == 1 else f"{abs(c):g} "
            term = f"({A})" if isinstance(A, Sum) and not A.turned else str(A)
            text += f" {sign} {size}{term}" if text else f"{'−' if c < 0 else ''}{size}{term}"
        return f"({text})*" if self.turned else text


def product(A: Operator, B: Operator) -> Operator:
    """A B, products in it written out, identities left away."""
    factors = [f for x in (A, B) for f in (x.factors if isinstance(x, Product) else [x]) if not isinstance(f, Identity)]
    if not factors:
        return B if isinstance(A, Identity) and A.space is None else A
    for left, right in pairwise(factors):
        if left.columns != right.rows:
            raise ShapeError(f"{described(left)} and {described(right)}: they cannot be multiplied.")
    return factors[0] if len(factors) == 1 else Product(factors)


def total(*parts) -> Operator:
    """Σ c A, sums in it written out, an identity bound to the space of the others."""
    terms = []
    for c, A in parts:
        inner = [(c * d, B) for d, B in A.terms] if isinstance(A, Sum) and not A.turned else [(c, A)]
        terms += inner
    known = next((A for _, A in terms if not (isinstance(A, Identity) and A.space is None)), None)
    if known is not None:
        terms = [(c, Identity(known.rows, known.some) if isinstance(A, Identity) else A) for c, A in terms]
        for _, A in terms:
            if (A.rows, A.columns) != (known.rows, known.columns):
                raise ShapeError(f"{described(known)} and {described(A)}: they cannot be added.")
    return terms[0][1] if len(terms) == 1 and is_one(terms[0][0]) else Sum(terms)


def described(A: Operator) -> str:
    return f"{A} is {A.shape[0]} x {A.shape[1]} ({A.rows.kind} from {A.columns.kind})"


def scaled(c, x):
    return x if is_one(c) else {k: c * x[k] for k in x}


def is_number(c) -> bool:
    return isinstance(c, Real) or (isinstance(c, np.ndarray) and c.ndim == 0)


def is_one(c) -> bool:
    return bool(c == 1)


def as_array(x, some):
    """x as it is if it has a shape, or as an array of numbers."""
    return x if type(x) is type(some) or isinstance(x, np.ndarray) else np.asarray(x)
