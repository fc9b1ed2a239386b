"""Small square systems over any scalar, their pivots chosen beforehand from numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Eliminated:
    """A (..., n, n) by Gauss without exchanging rows: rows and columns come in a good order."""

    upper: list[list[Any]]  # entries of the triangle, each (..., 1); below the diagonal the factors

    @staticmethod
    def of(A) -> "Eliminated":
        n = A.shape[-1]
        rows = [[A[..., i, j, None] for j in range(n)] for i in range(n)]
        for k in range(n):
            for i in range(k + 1, n):
                rows[i][k] = rows[i][k] / rows[k][k]
                for j in range(k + 1, n):
                    rows[i][j] = rows[i][j] - rows[i][k] * rows[k][j]
        return Eliminated(rows)

    @property
    def pivots(self) -> list:
        """Each (...)."""
        return [row[i][..., 0] for i, row in enumerate(self.upper)]

    def solve(self, B):
        """A⁻¹ B of a block of columns (..., n, m)."""
        n, rows = len(self.upper), self.upper
        if not n:
            return B
        right = [B[..., i, :] for i in range(n)]
        for k in range(n):
            for i in range(k + 1, n):
                right[i] = right[i] - rows[i][k] * right[k]
        x: list = [None] * n
        for i in reversed(range(n)):
            left = sum((rows[i][j] * x[j] for j in range(i + 1, n)), 0.0)
            x[i] = (right[i] - left) / rows[i][i]
        shape = np.broadcast_shapes(*(e.shape for e in x))
        return np.stack([np.broadcast_to(e, shape) for e in x], -2)
