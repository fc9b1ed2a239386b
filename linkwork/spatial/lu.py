"""Linear equations with a matrix that is not symmetric, over any scalar."""

from contextlib import suppress

import numpy as np


def solve(A, B):
    """A⁻¹ B for A (..., n, n) and columns B (..., n, m); not numbers in samples where A is singular.

    Of numbers by LAPACK; of other scalars, whose sizes are not known while this runs, by elimination without exchange of rows.
    """
    if not isinstance(A, np.ndarray):
        return eliminated(A, B)
    try:
        return np.linalg.solve(A, B)
    except np.linalg.LinAlgError:
        batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
        A, B = np.broadcast_to(A, (*batch, *A.shape[-2:])), np.broadcast_to(B, (*batch, *B.shape[-2:]))
        out = np.full_like(B, np.nan, dtype=np.result_type(A, B))
        for i in np.ndindex(batch):
            with suppress(np.linalg.LinAlgError):
                out[i] = np.linalg.solve(A[i], B[i])
        return out


def eliminated(A, B):
    """A⁻¹ B by elimination without exchange of rows."""
    upper, right = [], []
    for _ in range(A.shape[-1]):
        row, first, below = A[..., :1, 1:] / A[..., :1, :1], B[..., :1, :] / A[..., :1, :1], A[..., 1:, :1]
        A, B = A[..., 1:, 1:] - below @ row, B[..., 1:, :] - below @ first
        upper.append(row)
        right.append(first)
    x = right.pop()
    for row, first in zip(reversed(upper[:-1]), reversed(right)):
        x = np.concatenate([first - row @ x, x], -2)
    return x
