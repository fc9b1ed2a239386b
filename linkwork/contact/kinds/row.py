"""Single rows: one force along one row, between bounds."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...lie.scalars import like
from ..cone import nonzero
from .kind import Kind, Piece


class Within(NamedTuple):
    """dΠ of rows: 1 within the bounds, 0 beyond."""

    D: Any  # (..., n)

    def times(self, x):
        return self.D[..., None, :] * x


@dataclass(frozen=True, eq=False)
class Row(Kind):
    """Rows with z in an interval:  u = 0 within,  u ≥ 0 at the lower and u ≤ 0 at the upper bound."""

    @property
    @abstractmethod
    def bounds(self) -> tuple[Any, Any]:
        """The lower and the upper bound of z."""

    def project(self, z):
        lower, upper = self.bounds
        return np.minimum(np.maximum(z, lower), upper)

    def derivative(self, z) -> "Within":
        lower, upper = self.bounds
        return Within(np.where((z > lower) & (z < upper), like(1.0, z), 0.0))

    def piece(self, z, eps) -> Piece:
        D = self.derivative(z).D
        inverse = 1 / (1 + eps - D)
        C = inverse * D / nonzero(self.g)
        return Piece(lambda F: inverse * F, lambda x: C * x, lambda J: [(J, C[..., None] * J)])

    def alone(self, A, u, mine, force, steps):
        lower, upper = (x if np.ndim(x) == 0 else x[..., mine : mine + 1] for x in self.bounds)
        return np.minimum(np.maximum(-u / nonzero(A[..., 0]), lower), upper)

    def free(self, z, force):
        return self.derivative(z).D[..., None, None]
