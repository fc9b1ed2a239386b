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


TIE = 1e-6  # of a pivot: what is nearer is as large, and the first one is taken, whatever rounding says


def pivoted(A, scale, least: float, first):
    """Rows and columns of A (m, n) in the order of complete pivoting, columns weighted by 1/scale; as many as its rank.

    Rows in `first` (a mask) come before the others.
    """
    W = np.array(A / scale, float)
    size = np.abs(W).max(-1, initial=0.0)
    W = W / np.where(size > 1e-12 * size.max(initial=0.0), size, size.max(initial=0.0) or 1.0)[:, None]
    start = np.abs(W).max(initial=0.0)
    rows: list[int] = []
    columns: list[int] = []
    for allowed in (np.flatnonzero(first), np.arange(len(W))):
        while W.size and len(allowed):
            at = np.abs(W[allowed])
            if not at.max() > 100 * least * start:
                break
            i, j = np.unravel_index(int(np.argmax(at >= (1 - TIE) * at.max())), at.shape)
            i = allowed[i]
            rows.append(int(i))
            columns.append(int(j))
            W = W - np.outer(W[:, j] / W[i, j], W[i])
            W[i], W[:, j] = 0.0, 0.0
    return rows, columns
