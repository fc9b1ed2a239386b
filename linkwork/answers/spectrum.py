"""Eigenvalues of a matrix with many zeros among them, which are found as such: a mechanism that floats or slides has them in pairs."""

import numpy as np


def spectrum(A, zero: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(directions N with A N = 0, the other eigenvalues, their vectors), columns (n, ...); singular values below `zero` of the
    largest count as zero.

    Zeros of which there are fewer directions than values would come out of an eigenvalue solver as the root of rounding. They are
    taken out first, step by step: with W orthogonal to N,

        A (N, W) = (N, W) [0, N*AW; 0, W*AW],      a vector y of W*AW, λ ≠ 0, is one of A:  W y + N (N*AW) y / λ
    """
    n = len(A)
    if not n:
        return np.zeros((0, 0)), np.zeros(0, complex), np.zeros((0, 0), complex)
    return _deflated(np.asarray(A, float), zero * float(np.linalg.norm(A, 2)))


def _deflated(A, least: float):
    n = len(A)
    _, s, Vh = np.linalg.svd(A)
    rank = int((s > least).sum())
    if rank == n:
        values, vectors = np.linalg.eig(A)
        return np.zeros((n, 0)), values.astype(complex), vectors.astype(complex)
    N, W = Vh[rank:].T, Vh[:rank].T
    if not rank:
        return N, np.zeros(0, complex), np.zeros((n, 0), complex)
    _, values, Y = _deflated(W.T @ A @ W, least)
    return N, values, W @ Y + N @ (N.T @ A @ W @ Y) / values
