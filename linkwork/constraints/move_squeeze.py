"""Forces that move a constrained mechanism, and forces that only squeeze it (Jain, 11.2)."""

import numpy as np

from ..errors import ShapeError
from .rank import Factored
from .set import ConstraintSet


def move_squeeze(set_: ConstraintSet, q, tau, W=None, t=0.0):
    """τ = move + squeeze: the squeezing part is carried by the constraints and moves nothing.

        squeeze = Jc* (Jc W Jc*)⁻¹ Jc W τ,   move = τ − squeeze                             Jain (11.13) to (11.15)

    W is the metric in which the moving part is the smallest of all forces with the same effect; 𝓜⁻¹ if not given.
    """
    q, tau = np.asarray(q, float), np.asarray(tau, float)
    Jc = set_.rows(q, t=t).Jc
    W = set_.robot.mass_matrix_inverse(q) if W is None else np.asarray(W, float)
    if W.shape[-2:] != (tau.shape[-1],) * 2:
        raise ShapeError(f"W has shape {W.shape}; it takes ({tau.shape[-1]}, {tau.shape[-1]}).")
    L = np.linalg.cholesky(W)
    lam, _ = Factored(Jc @ L).solve(np.matvec(Jc @ W, tau))
    squeeze = np.matvec(Jc.mT, lam)
    return tau - squeeze, squeeze


def motor_forces(set_: ConstraintSet, q, v, vdot, motors, external=None, W=None, t=0.0):
    """Inverse dynamics with given motors: the forces (..., nv), zero at joints without one, of least W-norm, that make v̇.

        X* B u = X* (𝓜 v̇ + 𝓒),   u = W⁻¹ B* X (X* B W⁻¹ B* X)⁺ ...         redundant motors share by W
    """
    robot = set_.robot
    q = np.asarray(q, float)
    needed = robot.inverse_dynamics(q, v, vdot) if external is None else robot.inverse_dynamics(q, v, vdot, external)
    Jc = set_.rows(q, t=t).Jc
    X = Factored(Jc).null()
    on = np.concatenate([np.arange(robot.nv)[robot.v_index(joint)] for joint in motors]).astype(int)
    root = np.eye(len(on)) if W is None else np.linalg.inv(np.linalg.cholesky(np.asarray(W, float))).T
    A = X[on].T @ root
    u, *_ = np.linalg.lstsq(A, X.T @ needed, rcond=1e-10)
    off = np.abs(A @ u - X.T @ needed).max(initial=0.0)
    if off > 1e-8 * max(1.0, np.abs(needed).max(initial=0.0)):
        raise ShapeError(f"the motors {', '.join(motors)} cannot make this motion: forces are off by {off:.3g}.")
    tau = np.zeros(robot.nv)
    tau[on] = root @ u
    return tau
