"""NumPy's linear algebra of small matrices on traced arrays: elimination whose pivots each sample chooses by itself.

What NumPy raises an error for, a matrix that is singular or not positive definite, is infinite or not a number in that sample alone.
"""

import numpy as np

from ...errors import TraceError
from ...lie.scalars import is_zero


def square(name: str, A, B=None):
    """A matrix, checked; and B, of as many rows."""
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise TraceError(f"np.linalg.{name} takes square matrices (..., n, n), not an array of shape {A.shape}.")
    if B is not None and (B.ndim < 2 or B.shape[-2] != A.shape[-1]):
        raise TraceError(f"np.linalg.{name}: the right side of shape {B.shape} does not go with a matrix of shape {A.shape}.")
    return A


def eliminated(name: str, A, B):
    """(rows [U, L⁻¹ P B], sign of P) with P A = L U: of each column the largest entry goes first, sample by sample."""
    n, sign = square(name, A, B).shape[-1], np.ones(())
    batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    whole = np.concatenate([np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (A, B)], -1)
    rows = [whole[..., i, :] for i in range(n)]
    for k in range(n):
        for i in range(k + 1, n):
            mine, other = rows[k][..., k, None], rows[i][..., k, None]
            if is_zero(other):
                continue
            if is_zero(mine):
                rows[k], rows[i], sign = rows[i], rows[k], -sign
                continue
            swap = np.abs(other) > np.abs(mine)
            rows[k], rows[i] = np.where(swap, rows[i], rows[k]), np.where(swap, rows[k], rows[i])
            sign = np.where(swap[..., 0], -sign, sign)
        pivot = rows[k][..., k, None]
        if name in ("det", "slogdet"):
            pivot = np.where(pivot == 0.0, 1.0, pivot)  # where it is zero, so is what it is to eliminate
        elif is_zero(pivot):
            raise TraceError(f"np.linalg.{name}: the matrix of shape {A.shape} is singular, whatever the inputs are.")
        for i in range(k + 1, n):
            if not is_zero(rows[i][..., k]):
                rows[i] = rows[i] - rows[i][..., k, None] / pivot * rows[k]
    return rows, sign


def solve(traced, a, b):
    """A⁻¹ B; b is a vector where it has one axis."""
    A, B = traced(a), traced(b)
    if B.ndim == 1:
        return solve(traced, A, B[:, None])[..., 0]
    n = A.shape[-1]
    rows, _ = eliminated("solve", A, B)
    x: list = [None] * n
    for i in reversed(range(n)):
        rest = sum((rows[i][..., j, None] * x[j] for j in range(i + 1, n)), 0.0)
        x[i] = (rows[i][..., n:] - rest) / rows[i][..., i, None]
    return np.stack(x, -2) if n else B


def inv(traced, a):
    A = square("inv", traced(a))
    return solve(traced, A, np.eye(A.shape[-1]))


def pivots(traced, name: str, a):
    """(sign, pivots): det A = sign Π pivots."""
    A = square(name, traced(a))
    rows, sign = eliminated(name, A, traced(np.zeros((A.shape[-1], 0))))
    one = traced(np.ones(A.shape[:-2]))
    return one * sign, [one * row[..., k] for k, row in enumerate(rows)]


def det(traced, a):
    out, each = pivots(traced, "det", a)
    for x in each:
        out = out * x
    return out


def slogdet(traced, a):
    sign, each = pivots(traced, "slogdet", a)
    for x in each:
        sign = sign * np.sign(x)
    return type(np.linalg.slogdet(np.eye(1)))(sign, sum((np.log(np.abs(x)) for x in each), 0.0 * sign))


def cholesky(traced, a, *, upper=False):
    """L with L L* = A from the lower triangle of A; `upper`: U with U* U = A from the upper one."""
    A = square("cholesky", traced(a))
    A, L = (A.mT if upper else A), np.zeros_like(A)
    for i in range(A.shape[-1]):
        for j in range(i):
            L[..., i, j] = (A[..., i, j] - np.vecdot(L[..., i, :j], L[..., j, :j])) / L[..., j, j]
        L[..., i, i] = np.sqrt(A[..., i, i] - np.vecdot(L[..., i, :i], L[..., i, :i]))
    return L.mT if upper else L


LINALG = {getattr(np.linalg, f.__name__): f for f in (solve, inv, det, slogdet, cholesky)}
