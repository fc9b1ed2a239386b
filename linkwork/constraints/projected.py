"""Constrained dynamics in independent velocities: Woronetz's equations, no multipliers.

    v  = X u + v_p,   Jc X = 0                     u some of the velocities, the others follow
    X* 𝓜 X u̇ = X* (τ − 𝓒 − 𝓜 (Ẋ u + v̇_p))                                         Jain, Algorithm 11.3, (11.37)

Which velocities are independent is decided by pivoting in the mass metric at the state: those along which the
mechanism can move most easily (Müller and Terze, the projective criterion).
"""

from dataclasses import dataclass

import numpy as np

from .augmented import check_closed, check_consistent, rank_tolerance
from .rank import Factored
from .set import ConstraintSet


@dataclass(frozen=True, eq=False)
class Partition:
    """v = X u + rest, u = v[independent]; of the constraint rows those in `used` are enough."""

    independent: np.ndarray
    dependent: np.ndarray
    used: np.ndarray
    X: np.ndarray  # (nv, r)


def partition(M, Jc, least, independent=None) -> Partition:
    """Independent velocities, chosen by pivoting unless given, and X."""
    from scipy.linalg import qr  # with pivoting

    n = Jc.shape[-1]
    L = np.linalg.cholesky(M)
    W = np.linalg.solve(L, Jc.T).T  # Jc L⁻*
    factored = Factored(W, least)
    rank = int(factored.rank)
    if independent is None:
        tangent = np.linalg.solve(L.T, factored.null())  # 𝓜-orthonormal
        order = qr((np.sqrt(np.diag(M))[:, None] * tangent).T, mode="r", pivoting=True)[1] if rank < n else np.arange(n)
        independent = np.sort(order[: n - rank])
    independent = np.asarray(independent, int)
    dependent = np.setdiff1d(np.arange(n), independent)
    used = np.sort(qr((W / factored.scale[:, None]).T, mode="r", pivoting=True)[1][:rank]) if rank else np.zeros(0, int)
    X = np.zeros((n, len(independent)))
    X[independent] = np.eye(len(independent))
    X[dependent] = -np.linalg.solve(Jc[np.ix_(used, dependent)], Jc[np.ix_(used, independent)])
    return Partition(independent, dependent, used, X)


def projected(set_: ConstraintSet, q, v, tau, external=None, t=0.0, independent=None):
    """v̇ and the multipliers (..., m) of given forces."""
    q, v, tau = (np.asarray(x, float) for x in (q, v, tau))
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], tau.shape[:-1], () if external is None else external.shape[:-2])
    whole = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in (q, v, tau)]
    wrench = None if external is None else np.broadcast_to(external, batch + external.shape[-2:])
    vdot, lam = np.zeros(whole[1].shape), np.zeros((*batch, len(set_)))
    for i in np.ndindex(*batch):
        one, push = [x[i] for x in whole], None if wrench is None else wrench[i]
        vdot[i], lam[i] = _projected(set_, one[0], one[1], one[2], push, t, independent)
    return vdot, lam


def _projected(set_, q, v, tau, external, t, independent):
    robot, rows = set_.robot, set_.rows(q, v, t)
    check_closed(set_, rows)
    M, Jc = robot.mass_matrix(q), rows.Jc
    p = partition(M, Jc, rank_tolerance(set_, rows), independent)
    bend = np.zeros(len(v))
    bend[p.dependent] = -np.linalg.solve(Jc[np.ix_(p.used, p.dependent)], rows.gamma[p.used])
    bias = robot.inverse_dynamics(q, v, bend, external) if external is not None else robot.inverse_dynamics(q, v, bend)
    u = np.linalg.solve(p.X.T @ M @ p.X, p.X.T @ (tau - bias))
    vdot = p.X @ u + bend
    # what no acceleration gives, but for the rounding of γ
    _, left = Factored(Jc * set_.reach, rank_tolerance(set_, rows)).solve(-rows.gamma)
    check_consistent(set_, rows, left, rows.gamma, np.abs(Jc) @ (np.abs(vdot) + v * v))
    lam = np.linalg.lstsq(Jc.T, M @ (vdot - bend) + bias - tau, rcond=float(rank_tolerance(set_, rows)))[0]
    return vdot, lam
