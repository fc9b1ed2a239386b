"""Small systems whose pivots are chosen by the numbers of each sample, without a branch: an exchange is a row of selects. Or once for all
samples, beforehand.

    W y = b,   W = L [U₁ U₂],   y = Π [U₁⁻¹ (L⁻¹ b − U₂ u); u]                    u any values of the independent unknowns

One text serves samples with different choices: which unknowns depend on the others is data.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...lie.scalars import is_zero
from ...model.tree import concatenated
from .partition import TIE


class Pivoted:
    """W (..., m, n) of a rank that is known, by Gauss. Where rows are as many as the rank, each in its turn takes the column in which
    it is largest; where there are more, the largest entry of all that are left decides row and column. Columns that are given in an `order`
    stay in it, and nothing is exchanged: the first ones are dependent."""

    def __init__(self, W, rank: int, order: Sequence[int] | None = None):
        m, n = W.shape[-2:]
        self.rank, self.width, self.order = rank, n, range(n) if order is None else order
        self.rows = [[W[..., i, j, None] for j in self.order] for i in range(m)]
        self.sizes = [_largest(row) for row in self.rows]  # of each row before anything is done to it
        self.row_swaps: list[tuple[int, int, Any]] = []  # (k, i, is it so?)
        self.swaps: list[tuple[int, int, Any]] = []  # the same of columns
        for k in range(rank):
            if order is None:
                self._exchange(k, m)
            self._eliminate(k, m)

    def _exchange(self, k: int, m: int) -> None:
        rows = self.rows
        places = [(i, j) for i in ([k] if m == self.rank else range(k, m)) for j in range(k, self.width) if not is_zero(rows[i][j])]
        if not places:
            return
        at, best = places[0], np.abs(rows[places[0][0]][places[0][1]])
        row, column = np.zeros_like(best) + at[0], np.zeros_like(best) + at[1]
        for i, j in places[1:]:
            size = np.abs(rows[i][j])
            better = size > (1 + TIE) * best
            best = np.where(better, size, best)
            row, column = np.where(better, float(i), row), np.where(better, float(j), column)
        for i in sorted({i for i, _ in places} - {k}):
            here = row == i
            rows[k], rows[i] = (list(x) for x in zip(*(_swapped(here, x, y) for x, y in zip(rows[k], rows[i]))))
            self.sizes[k], self.sizes[i] = _swapped(here, self.sizes[k], self.sizes[i])
            self.row_swaps.append((k, i, here))
        for j in sorted({j for _, j in places} - {k}):
            here = column == j
            for line in rows:
                line[k], line[j] = _swapped(here, line[k], line[j])
            self.swaps.append((k, j, here))

    def _eliminate(self, k: int, m: int) -> None:
        rows = self.rows
        for i in range(k + 1, m):
            if is_zero(rows[i][k]):
                continue
            rows[i][k] = rows[i][k] / rows[k][k]
            for j in range(k + 1, self.width):
                rows[i][j] = rows[i][j] - rows[i][k] * rows[k][j]

    @property
    def pivots(self) -> list:
        """Each (...), against the largest entry of its row; in a given order as they are."""
        given = not isinstance(self.order, range)
        return [np.abs(self.rows[k][k] if given else self.rows[k][k] / self.sizes[k])[..., 0] for k in range(self.rank)]

    def motions(self, some):
        """Y (..., n, n − rank) with W Y = 0: independent unknowns one after the other are 1."""
        free = range(self.rank, self.width)
        one, zero = np.zeros_like(some[..., :1]) + 1.0, np.zeros_like(some[..., :1])
        columns = []
        for c in free:
            upper = self._substituted([-self.rows[k][c] for k in range(self.rank)])
            columns.append(self._in_order([*upper, *(one if j == c else zero for j in free)]))
        if not columns:
            return np.zeros_like(some, shape=(*some.shape[:-1], self.width, 0))
        return concatenated([concatenated([column[j][..., None, :] for column in columns], -1) for j in range(self.width)], -2)

    def taken(self, b):
        """The rows (..., rank, k) of b (..., m, k) that pivots were taken from."""
        return b if b.shape[-2] == self.rank else concatenated([x[..., None, :] for x in self._exchanged(b)[: self.rank]], -2)

    def _exchanged(self, b) -> list:
        """The rows of b in the order of the pivots."""
        rows = [b[..., i, :] for i in range(b.shape[-2])]
        for k, i, here in self.row_swaps:
            rows[k], rows[i] = _swapped(here, rows[k], rows[i])
        return rows

    def particular(self, b):
        """y (..., n, k) with W y = b (..., m, k), its independent unknowns zero."""
        right = self._exchanged(b)
        for k in range(self.rank):
            for i in range(k + 1, self.rank):
                right[i] = right[i] - self.rows[i][k] * right[k]
        free = [np.zeros_like(b[..., 0, :])] * (self.width - self.rank)
        return concatenated([x[..., None, :] for x in self._in_order([*self._substituted(right[: self.rank]), *free])], -2)

    def _substituted(self, right: list) -> list:
        """U₁⁻¹ of a list of rows."""
        x: list = [None] * self.rank
        for i in reversed(range(self.rank)):
            left = sum((self.rows[i][j] * x[j] for j in range(i + 1, self.rank)), 0.0)
            x[i] = (right[i] - left) / self.rows[i][i]
        return x

    def _in_order(self, rows: list) -> list:
        """Rows in the order that the unknowns were given in."""
        for k, j, here in reversed(self.swaps):
            rows[k], rows[j] = _swapped(here, rows[k], rows[j])
        place = {j: i for i, j in enumerate(self.order)}
        return [rows[place[j]] for j in range(self.width)]


def _swapped(here, x, y) -> tuple[Any, Any]:
    """(y, x) where it is so, else (x, y)."""
    if is_zero(x) and is_zero(y):
        return x, y
    return np.where(here, y, x), np.where(here, x, y)


def _largest(entries):
    found = np.abs(entries[0])
    for x in entries[1:]:
        size = np.abs(x)
        found = np.where(size > found, size, found)
    return found
