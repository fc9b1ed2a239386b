"""The dense equations with multipliers, as the books print them: for tests, and for reading."""

import numpy as np

from .augmented import check_closed
from .set import ConstraintSet


def kkt(set_: ConstraintSet, q, v, tau, t=0.0):
    """[[𝓜, −G*], [G, 0]] [v̇; λ] = [τ − 𝓒; −γ], one state, the solution of least length   Jain (11.6)."""
    robot, rows = set_.robot, set_.rows(q, v, t)
    check_closed(set_, rows)
    M, G = robot.mass_matrix(q), rows.G
    m, n = G.shape
    A = np.block([[M, -G.T], [G, np.zeros((m, m))]])
    x = np.linalg.lstsq(A, np.concatenate([tau - robot.bias(q, v), -rows.gamma]), rcond=1e-13)[0]
    return x[:n], x[n:]
