"""LDL* factorization of small symmetric positive definite blocks, entry by entry, over any scalar."""

import numpy as np

from ..lie.scalars import like

ROUNDING = 1e-14


def factor(A, divide=lambda x, pivot: x / pivot, judged=lambda pivot, diagonal: pivot):
    """A = L diag(d) L* with unit lower L: rows of L as lists, pivots d, each of shape (..., 1). `judged` may take a pivot that is
    small beside its diagonal entry for zero; then `divide` must know what to do with it."""
    n = A.shape[-1]
    L: list[list] = [[] for _ in range(n)]
    d: list = []
    for i in range(n):
        w: list = []  # the row of L diag(d)
        for j in range(i):
            w.append(A[..., i, j, None] - _dot(w, L[j]))
            L[i].append(divide(w[j], d[j]))
        d.append(judged(A[..., i, i, None] - _dot(w, L[i]), A[..., i, i, None]))
    return L, d


def solve(A, B):
    """A⁻¹ B for symmetric A (..., n, n) and a block of columns B (..., n, m)."""
    L, d = factor(A)
    return substituted(L, d, B)


def substituted(L, d, B, divide=lambda x, pivot: x / pivot):
    """(L diag(d) L*)⁻¹ B."""
    n = len(d)
    if n == 0:
        return B
    y: list = []
    for i in range(n):
        y.append(B[..., i, :] - _dot(L[i], y))
    x: list = [None] * n
    for i in reversed(range(n)):
        x[i] = divide(y[i], d[i]) - _dot([L[j][i] for j in range(i + 1, n)], x[i + 1 :])
    shape = np.broadcast_shapes(*(e.shape for e in x))
    return np.stack([np.broadcast_to(e, shape) for e in x], -2)


def inverse(A):
    """(A⁻¹, independence) of a symmetric A without negative eigenvalues: independence (...) is the least pivot over its diagonal
    entry, 1 at best. A direction whose pivot is zero, but for rounding in double precision, follows from those before it and is left
    out: the inverse has zeros in its row and column, and inverts A on the other directions."""
    L, d = factor(A, _divide, lambda pivot, diagonal: np.where(pivot > ROUNDING * diagonal, pivot, 0.0))
    each = [_divide(pivot, A[..., i, i, None]) for i, pivot in enumerate(d)]
    least = each[0]
    for x in each[1:]:
        least = np.minimum(least, x)
    return substituted(L, d, like(np.eye(len(d)), A), _divide), least[..., 0]


def _divide(x, pivot):
    """x / pivot; zero where the pivot is."""
    is_there = pivot > 0
    return np.where(is_there, x / np.where(is_there, pivot, 1.0), 0.0)


def logdet(A):
    """log det A = Σ log d for symmetric positive definite A."""
    _, d = factor(A)
    return sum((np.log(x[..., 0]) for x in d), 0.0)


def _dot(a, b):
    return sum((x * y for x, y in zip(a, b)), 0.0)
