"""Constrained dynamics in independent velocities: Woronetz's equations, no multipliers.

    v  = X u + v_p,   Jc X = 0                     u some of the velocities, the others follow
    X* 𝓜 X u̇ = X* (τ − 𝓒 − 𝓜 (Ẋ u + v̇_p))                                         Jain, Algorithm 11.3, (11.33), (11.36)

Which velocities are independent is decided at the state by the projective criterion (`partition`).
"""

import numpy as np

from ..choice.partition import partition
from ..rows.rank import Factored
from ..rows.set import ConstraintSet
from .augmented import check_closed, check_consistent
from .multipliers import needed, rank_tolerance


def projected(set_: ConstraintSet, q, v, tau, external=None, t=0.0, independent=None):
    """v̇ (..., nv) of given forces."""
    q, v, tau = (np.asarray(x, float) for x in (q, v, tau))
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], tau.shape[:-1], () if external is None else external.shape[:-2])
    whole = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in (q, v, tau)]
    wrench = None if external is None else np.broadcast_to(external, batch + external.shape[-2:])
    vdot = np.zeros(whole[1].shape)
    for i in np.ndindex(*batch):
        one, push = [x[i] for x in whole], None if wrench is None else wrench[i]
        vdot[i] = _projected(set_, one[0], one[1], one[2], push, t, independent)
    return vdot


def _projected(set_, q, v, tau, external, t, independent):
    robot, rows = set_.robot, set_.rows(q, v, t)
    check_closed(set_, rows)
    M, Jc = robot.mass_matrix(q), rows.Jc
    p = partition(M, Jc, rank_tolerance(set_, rows), independent)
    bend = np.zeros(len(v))
    bend[p.dependent] = -np.linalg.solve(Jc[np.ix_(p.used, p.dependent)], rows.gamma[p.used])
    u = np.linalg.solve(p.X.T @ M @ p.X, p.X.T @ (tau - needed(set_, q, v, bend, external)))
    vdot = p.X @ u + bend
    # what no acceleration gives, but for the rounding of γ
    _, left = Factored(Jc * set_.reach, rank_tolerance(set_, rows)).solve(-rows.gamma)
    check_consistent(set_, rows, left, rows.gamma, np.abs(Jc) @ (np.abs(vdot) + v * v / set_.reach))
    return vdot
