"""Which velocities are independent, decided from numbers at a configuration.

`independent_velocities` sees the whole mass matrix and follows the projective criterion; views and projection in NumPy use it.
`pivoted` sees the rows of one loop and the diagonal of the mass matrix, and takes the rows that are enough with it; embedding uses it,
whose cost stays linear in the number of loops.
"""

import numpy as np

from ..rows.rank import Factored

TIE = 1e-6  # of the best: what is nearer is as good, and the first one is taken, whatever rounding says
MOVES = 1e-3  # of the one that moves most: a velocity that moves less is a bad one to follow


def independent_velocities(M, Jc, least) -> np.ndarray:
    """The numbers of as many velocities as the rows leave free, from which the others follow: chosen by `projective`."""
    L = np.linalg.cholesky(M)
    motions = Factored(np.linalg.solve(L, Jc.T).T, least).null()  # of Jc L⁻*
    return np.sort(projective(M, np.linalg.solve(L.T, motions)))


def projective(M, T) -> np.ndarray:
    """The velocities that are nearest to the motions T (n, r) that constraints allow, one for each motion.

        share(i) = ‖(𝓜 T)_i‖² / 𝓜_ii,   T* 𝓜 T = I                                            Müller and Terze (68)

    This is the squared cosine between e_i and those motions in the metric of the mass matrix. After each choice T is deflated:
    what is left are the motions in which that velocity is zero. A velocity that hardly moves is not chosen, whatever its share.
    """
    chosen: list[int] = []
    while T.shape[-1]:
        share = ((M @ T) ** 2).sum(-1) / np.diag(M)
        moves = np.sqrt(np.diag(M) * (T**2).sum(-1))
        share = np.where(moves > MOVES * moves.max(), share, 0.0)
        i = int(np.argmax(share >= (1 - TIE) * share.max()))
        chosen.append(i)
        T = T @ np.linalg.svd(T[i : i + 1])[2][1:].T
    return np.array(chosen, int)


def pivoted(A, scale, least: float, first):
    """Rows and columns of A (m, n) in the order of complete pivoting, columns weighted by 1/scale; as many as its rank: a pivot
    of `least` of the first one or less is nothing.

    Rows in `first` (a mask) come before the others.
    """
    W = np.array(A / scale, float)
    size = np.abs(W).max(-1, initial=0.0)
    W = W / np.where(size > 1e-12 * size.max(initial=0.0), size, size.max(initial=0.0) or 1.0)[:, None]
    start = np.abs(W).max(initial=0.0)
    rows: list[int] = []
    columns: list[int] = []
    for allowed in (np.flatnonzero(first), np.arange(len(W))):
        while W.size and len(allowed):
            at = np.abs(W[allowed])
            if not at.max() > least * start:
                break
            i, j = np.unravel_index(int(np.argmax(at >= (1 - TIE) * at.max())), at.shape)
            i = allowed[i]
            rows.append(int(i))
            columns.append(int(j))
            W = W - np.outer(W[:, j] / W[i, j], W[i])
            W[i], W[:, j] = 0.0, 0.0
    return rows, columns
