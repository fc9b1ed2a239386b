"""How many rows of a matrix say something of their own, decided from numbers."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

RANK = 1e-9  # of the largest singular value, rows scaled to one: what is below is zero
LEFT = 100 * RANK  # of a row, or of the first pivot: what elimination leaves below that is zero
NOTHING = 1e-12  # of the longest row: one that is shorter is rounding, and is not scaled up


@dataclass(frozen=True, eq=False)
class Factored:
    """W* = U diag(σ) V*, rows of W scaled to length one: the scale s, and which σ count.

    Solves W W* λ = d for the λ of least length, and finds what of d no λ can give.
    """

    W: np.ndarray  # (..., m, n)
    least: np.ndarray | float = RANK  # what σ must exceed, against the largest

    @cached_property
    def scale(self):
        return row_scale(self.W)

    @cached_property
    def _svd(self):
        return np.linalg.svd(self.W / self.scale[..., None], full_matrices=False)  # of many rows, whole bases take far longer

    @cached_property
    def sigma(self):
        """Singular values, one for each row: zeros where there are more rows than columns."""
        s = self._svd[1]
        m = self.W.shape[-2]
        return np.concatenate([s, np.zeros((*s.shape[:-1], m - s.shape[-1]))], -1)

    @cached_property
    def counts(self):
        """Which σ count (..., m)."""
        largest = self.sigma[..., :1] if self.sigma.shape[-1] else self.sigma
        return (self.sigma > np.asarray(self.least)[..., None] * largest) & (self.sigma > 0)

    @property
    def rank(self):
        return self.counts.sum(-1)

    def solve(self, d):
        """λ (..., m) with W W* λ = d, of least length, and the part of d (..., m) that is left."""
        U, s, _ = self._svd
        counts, scaled = self.counts[..., : s.shape[-1]], d / self.scale
        kept = np.where(counts, np.vecmat(scaled, U), 0.0)
        lam = np.matvec(U, kept / np.where(counts, s, 1.0) ** 2) / self.scale
        return lam, self.scale * (scaled - np.matvec(U, kept))

    def combination(self, x):
        """λ (..., m) of least length, rows scaled to one, whose W* λ is nearest to x (..., n)."""
        U, s, Vh = self._svd
        count = s.shape[-1]
        part = np.matvec(Vh, x) / np.where(self.counts[..., :count], s, np.inf)
        return np.matvec(U, part) / self.scale

    def preimage(self, d):
        """x (..., n) of least length whose W x is nearest to d (..., m), rows scaled to one, and what is left of d."""
        U, s, Vh = self._svd
        count, scaled = s.shape[-1], d / self.scale
        kept = np.where(self.counts[..., :count], np.vecmat(scaled, U), 0.0)
        x = np.vecmat(kept / np.where(self.counts[..., :count], s, 1.0), Vh)
        return x, self.scale * (scaled - np.matvec(U, kept))

    def row_space(self):
        """Orthonormal rows that span those of W, and zeros: (..., min(m, n), n)."""
        count = min(self.W.shape[-2:])
        return np.where(self.counts[..., :count, None], self._svd[2], 0.0)

    def column_space(self):
        """Orthonormal columns that span those of W, rows scaled to one, and zeros: (..., m, min(m, n))."""
        return np.where(self.counts[..., None, : min(self.W.shape[-2:])], self._svd[0], 0.0)

    def null(self):
        """An orthonormal basis of the columns' null space, one sample: (n, n − rank)."""
        rank = int(self.rank)
        return np.linalg.qr(self._svd[2][:rank].T, mode="complete")[0][:, rank:]


def row_scale(W):
    """The length of each row; of one that is nothing but rounding, the longest."""
    size = np.linalg.norm(W, axis=-1)
    longest = size.max(-1, keepdims=True, initial=0.0)
    return np.where(size > NOTHING * longest, size, np.where(longest > 0, longest, 1.0))


def without_small_rows(Jc, scale, reach):
    """Jc with zeros for rows that are next to nothing, in units of `scale` for rows and `reach` for velocities: what a
    file's rounding (π/2 as 1.5708) makes of a row that forbids what cannot happen. A row that is no number stays, and makes no other
    one small."""
    size = np.linalg.norm(Jc * reach, axis=-1) / scale
    largest = np.where(np.isfinite(size), size, 0.0).max(-1, keepdims=True, initial=0.0)
    return np.where((size <= RANK * largest)[..., None], 0.0, Jc)


def dependent_rows(Jc, least: float = RANK) -> dict[int, np.ndarray]:
    """Rows of Jc (m, n) that follow from rows before them: {row: coefficients of the rows before, zero where not needed}."""
    found: dict[int, np.ndarray] = {}
    kept: list[int] = []
    unit = Jc / row_scale(Jc)[:, None]
    for i, row in enumerate(unit):
        base = unit[kept]
        x = np.linalg.lstsq(base.T, row, rcond=None)[0] if kept else np.zeros(0)
        if np.linalg.norm(row - x @ base) > max(LEFT, least):
            kept.append(i)
        else:
            found[i] = np.zeros(i)
            found[i][kept] = np.where(np.abs(x) > 1e-6, x, 0.0)
    return found
