"""Small square systems over any scalar, their pivots chosen beforehand from numbers."""

import numpy as np


def eliminated(A, B):
    """A⁻¹ B and the pivots, each (...), by Gauss without exchanging rows: rows and columns come in a good order.

    A (..., n, n), B (..., n, m).
    """
    n = A.shape[-1]
    rows = [[A[..., i, j, None] for j in range(n)] for i in range(n)]
    right = [B[..., i, :] for i in range(n)]
    pivots = []
    for k in range(n):
        pivots.append(rows[k][k][..., 0])
        for i in range(k + 1, n):
            factor = rows[i][k] / rows[k][k]
            for j in range(k + 1, n):
                rows[i][j] = rows[i][j] - factor * rows[k][j]
            right[i] = right[i] - factor * right[k]
    x: list = [None] * n
    for i in reversed(range(n)):
        left = sum((rows[i][j] * x[j] for j in range(i + 1, n)), 0.0)
        x[i] = (right[i] - left) / rows[i][i]
    if not n:
        return B, pivots
    shape = np.broadcast_shapes(*(e.shape for e in x))
    return np.stack([np.broadcast_to(e, shape) for e in x], -2), pivots


def pivoted(G, scale, least: float, first):
    """Rows and columns of G (m, n) in the order of complete pivoting, columns weighted by 1/scale; as many as its rank.

    Rows in `first` (a mask) come before the others.
    """
    W = np.array(G / scale, float)
    size = np.abs(W).max(-1, initial=0.0)
    W = W / np.where(size > 1e-12 * size.max(initial=0.0), size, size.max(initial=0.0) or 1.0)[:, None]
    start = np.abs(W).max(initial=0.0)
    rows: list[int] = []
    columns: list[int] = []
    for allowed in (np.flatnonzero(first), np.arange(len(W))):
        while W.size and len(allowed):
            at = np.abs(W[allowed])
            i, j = np.unravel_index(int(np.argmax(at)), at.shape)
            i = allowed[i]
            if not at.max() > 100 * least * start:
                break
            rows.append(int(i))
            columns.append(int(j))
            W = W - np.outer(W[:, j] / W[i, j], W[i])
            W[i], W[:, j] = 0.0, 0.0
    return rows, columns
