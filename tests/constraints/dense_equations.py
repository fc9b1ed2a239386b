"""The dense equations with multipliers, as the books print them."""

import numpy as np

from linkwork.constraints.rows.rank import row_scale
from linkwork.constraints.rows.set import ConstraintSet
from linkwork.constraints.solution.arguments import fitting
from linkwork.constraints.solution.at_state import check_closed


def kkt(set_: ConstraintSet, q, v, tau, t=0.0):
    """[[𝓜, −Jc*], [Jc, 0]] [v̇; λ] = [τ − 𝓒; −γ], one state, the solution of least length   Jain (11.6)."""
    ((q, v, tau), _), robot = fitting(set_, {"q": q, "v": v, "tau": tau}), set_.robot
    rows = set_.rows(q, v, t)
    check_closed(set_, rows.c)
    M, Jc = robot.mass_matrix(q), rows.Jc
    m, n = Jc.shape
    s = np.concatenate([1 / np.sqrt(np.diag(M)), np.ones(m)])  # so that masses of all sizes are seen
    A = np.block([[M, -Jc.T], [Jc, np.zeros((m, m))]]) * s[:, None] * s
    r = np.concatenate([np.ones(n), 1 / row_scale(A[n:, :n])])
    right = np.concatenate([tau - robot.bias(q, v), -rows.gamma])
    x = r * s * np.linalg.lstsq(A * r[:, None] * r, r * s * right, rcond=1e-13)[0]
    return x[:n], x[n:]
