"""Linear equations with a matrix that is not symmetric, over any scalar."""

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
        good = (np.isfinite(A).all((-1, -2)) & (np.linalg.slogdet(A)[0] != 0))[..., None, None]
        return np.where(good, np.linalg.solve(np.where(good, A, np.eye(A.shape[-1], dtype=A.dtype)), B), np.nan)


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
