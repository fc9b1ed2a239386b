"""LDL* factorization of small symmetric positive definite blocks, entry by entry, over any scalar."""

import numpy as np


def factor(A):
    """A = L diag(d) L* with unit lower L: rows of L as lists, pivots d, each of shape (..., 1)."""
    n = A.shape[-1]
    L: list[list] = [[] for _ in range(n)]
    d: list = []
    for i in range(n):
        w: list = []  # the row of L diag(d)
        for j in range(i):
            w.append(A[..., i, j, None] - _dot(w, L[j]))
            L[i].append(w[j] / d[j])
        d.append(A[..., i, i, None] - _dot(w, L[i]))
    return L, d


def solve(A, B):
    """A⁻¹ B for symmetric A (..., n, n) and a block of columns B (..., n, m)."""
    L, d = factor(A)
    n = len(d)
    if n == 0:
        return B
    y: list = []
    for i in range(n):
        y.append(B[..., i, :] - _dot(L[i], y))
    x: list = [None] * n
    for i in reversed(range(n)):
        x[i] = y[i] / d[i] - _dot([L[j][i] for j in range(i + 1, n)], x[i + 1 :])
    shape = np.broadcast_shapes(*(e.shape for e in x))
    return np.stack([np.broadcast_to(e, shape) for e in x], -2)


def logdet(A):
    """log det A = Σ log d for symmetric positive definite A."""
    _, d = factor(A)
    return sum((np.log(x[..., 0]) for x in d), 0.0)


def _dot(a, b):
    return sum((x * y for x, y in zip(a, b)), 0.0)
