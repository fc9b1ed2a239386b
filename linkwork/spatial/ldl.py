"""LDL* factorization of small symmetric positive definite blocks, entry by entry, over any scalar."""

import numpy as np

from ..lie.scalars import like, of_arrays

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


@of_arrays
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
    return _stacked(x, B)


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


@of_arrays
def logdet(A):
    """log det A = Σ log d for symmetric positive definite A."""
    _, d = factor(A)
    return sum((np.log(x[..., 0]) for x in d), 0.0)


@of_arrays
def root(A):
    """W (..., n, n), lower triangular with a positive diagonal, with W W* = A for symmetric positive definite A."""
    n = A.shape[-1]
    if n == 0:
        return A
    L, d = factor(A)
    scale = [np.sqrt(pivot) for pivot in d]
    zero = np.zeros_like(scale[0])
    rows = [[*(x * y for x, y in zip(L[i], scale)), scale[i], *[zero] * (n - 1 - i)] for i in range(n)]
    shape = np.broadcast_shapes(*(x.shape for row in rows for x in row))
    return np.stack([np.concatenate([np.broadcast_to(x, shape) for x in row], -1) for row in rows], -2)


@of_arrays
def root_solve(W, B):
    """W⁻¹ B for lower triangular W and a block of columns B (..., n, m)."""
    x: list = []
    for i in range(W.shape[-1]):
        x.append((B[..., i, :] - _dot([W[..., i, j, None] for j in range(i)], x)) / W[..., i, i, None])
    return _stacked(x, B)


@of_arrays
def root_transposed_solve(W, B):
    """W⁻* B for lower triangular W and a block of columns B (..., n, m)."""
    n = W.shape[-1]
    x: list = [None] * n
    for i in reversed(range(n)):
        x[i] = (B[..., i, :] - _dot([W[..., j, i, None] for j in range(i + 1, n)], x[i + 1 :])) / W[..., i, i, None]
    return _stacked(x, B)


def _stacked(rows, B):
    """Rows as a block; B where there are none."""
    if not rows:
        return B
    shape = np.broadcast_shapes(*(x.shape for x in rows))
    return np.stack([np.broadcast_to(x, shape) for x in rows], -2)


def _dot(a, b):
    return sum((x * y for x, y in zip(a, b)), 0.0)
