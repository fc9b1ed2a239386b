"""Rows of one kind, as the solvers ask them."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...lie.scalars import still
from ..cone import flat, nonzero


class Piece(NamedTuple):
    """The share of the rows of a kind in a Newton step by the mass matrix, with D = dΠ, E = 1 + ε − D (1 − ρ r) and C = E⁻¹ D ρ."""

    inverse: Callable  # F -> E⁻¹ F
    answer: Callable  # x -> C x
    products: Callable  # J -> J* C J as a sum of products: a list of pairs (rows a, rows c) of a* c; all but the last are symmetric


@dataclass(frozen=True, eq=False)
class Kind(ABC):
    """Rows whose forces have one law, z in K:  z = Π(z − u/g),  Π the projection on K.

    Arrays of any scalar with leading batch axes; `each` rows belong together, and have one number g.
    """

    each: ClassVar[int] = 1
    used: ClassVar[tuple[int, ...]] = (0,)  # rows of a contact that they are, for solvers that know of contacts alone
    b: Any  # (..., each n) u where no forces act
    g: Any  # (..., n) the compliance of the rows, a scale: velocity for each unit of force

    @property
    @abstractmethod
    def size(self):
        """The velocity that residuals are relative to (...)."""

    @property
    def own(self):
        """The compliance of the rows themselves, on the diagonal of G."""
        return np.zeros_like(self.b)

    @property
    def middle(self):
        """Forces in the middle of what they may be, where that has one; else zero."""
        return np.zeros_like(self.b)

    def pressed(self, most):
        """As contacts: normal forces that press the used rows by themselves (..., n), which make velocities up to `most` if that is not
        None, and coefficients of friction."""
        none = np.zeros_like(self.g)
        return none, none

    @abstractmethod
    def project(self, z):
        """Π z: the force in K that is next to z."""

    @abstractmethod
    def derivative(self, z):
        """D = dΠ/dz, in the form that the kind has for it: with `times` (..., k, rows), D x of several x."""

    @abstractmethod
    def piece(self, z, eps) -> Piece:
        """Returns the share of these rows in a Newton step, z being λ − u/g."""

    @abstractmethod
    def alone(self, A, u, mine, force, steps: int):
        """The forces (..., each) of one item, number `mine`, with the others as they are: A (..., each, each) is its compliance, u what its
        velocity is without it, `force` where to start; `steps` are those of Newton's method, where it takes some."""

    @abstractmethod
    def free(self, z, force):
        """P (..., n, each, each): the directions in which forces may change and keep their velocities, z being λ − u/g."""

    def velocity(self, change, force):
        """u from the change of velocity that all forces make."""
        return change + self.b

    def left(self, u, force):
        """The largest residual, a velocity: zero in a solution and only there."""
        return (np.abs(force - self.project(force - u / nonzero(self.g))) * self.g).max(-1)

    def acts(self, u) -> np.ndarray:
        """Items (..., n) that may act where their velocities are u."""
        return np.ones(self.items(u).shape[:-1], bool)

    def selected(self, chosen: np.ndarray) -> "Kind":
        """Some of the items."""
        parts = {x.name: getattr(self, x.name)[..., chosen] for x in fields(self) if x.name != "b"}
        return replace(self, b=self.b[..., np.repeat(chosen, self.each)], **parts)

    @property
    def still(self) -> "Kind":
        """These rows as numbers without derivative."""
        return replace(self, **{x.name: still(getattr(self, x.name)) for x in fields(self)})

    def items(self, x):
        """(..., each n) as (..., n, each)."""
        return x.reshape(*x.shape[:-1], x.shape[-1] // self.each, self.each)

    def repeated(self, x):
        """A number of each item (..., n) at each of its rows."""
        return x if self.each == 1 else flat(np.stack([x] * self.each, -1))
