"""Constrained forward dynamics on the tree, by correction: the mass matrix is never formed.

    v̇_f = 𝓜⁻¹ (τ − 𝓒)                          free acceleration, by articulated bodies
    W   = D^(−½) (I − HψK) Jc*,   Jc 𝓜⁻¹ Jc* = W* W   half a sweep                               Jain (11.8), Lemma 11.2
    λ   = −(W* W)⁻¹ (Jc v̇_f + γ)
    v̇   = v̇_f + 𝓜⁻¹ Jc* λ                                                             Jain, Algorithm 11.2

Rows that follow from others are found in the singular values of W at each state: λ is then the one of least length, v̇
does not depend on the choice. What no λ can give is an inconsistent set, and raises.
"""

from dataclasses import dataclass

import numpy as np

from ..errors import ConstraintError, ModelError, deprecated
from ..operators.rigid import rigid
from ..operators.sko import SKO
from .rank import RANK, Factored
from .set import ConstraintSet

OPEN = 1e-2  # of a radian or of the size of the mechanism: a loop as open as that is not a state of it
INCONSISTENT = 1e-6  # of the accelerations: what is left of them after the best λ


@dataclass(frozen=True, eq=False)
class Solution:
    """Accelerations, multipliers and how they were found."""

    vdot: np.ndarray  # (..., nv)
    lam: np.ndarray  # (..., m)
    rank: np.ndarray  # (...)
    Jc: np.ndarray  # (..., m, nv)

    @property
    def G(self):
        """The old name of `Jc`."""
        deprecated("Solution.G", "Solution.Jc")
        return self.Jc


def square_root(sko: SKO, Jc):
    """W* (..., m, nv) with W* W = Jc 𝓜⁻¹ Jc*."""
    eps = sko.innovations(Jc.mT)
    for k in sko.tree.base_to_tips():
        if sko.D[k].size:
            eps[k] = np.linalg.solve(np.linalg.cholesky(sko.D[k]), eps[k])
    return sko.tree.join_rows(eps).mT


def check_closed(set_: ConstraintSet, rows, tolerance: float = OPEN) -> None:
    """The loops are closed, but for what an integrator leaves; or it is said which are not."""
    if not (set_.misfit(rows.c) <= tolerance).all() and np.isfinite(rows.c).all():
        raise ConstraintError(
            f"this is no state of {set_.robot.model.name}: open are {', '.join(set_.bad(rows.c, tolerance))}. "
            "robot.assemble(q) closes them."
        )


def augmented(set_: ConstraintSet, q, v, tau, external=None, t=0.0, stabilization=None) -> Solution:
    """v̇ and λ of given forces; `stabilization` (ω, ζ) asks for c̈ + 2ζω ċ + ω² c = 0 (Baumgarte) in place of c̈ = 0."""
    rows = set_.rows(q, v, t)
    check_closed(set_, rows)
    sko = rigid(set_.system, np.asarray(q, float), np.asarray(v, float), external)
    check_inertia(set_, sko)
    free = sko.forward_dynamics(np.asarray(tau, float))
    gamma = rows.gamma if stabilization is None else rows.gamma + baumgarte(rows, v, *stabilization)
    d = np.matvec(rows.Jc, free) + gamma
    factored = Factored(square_root(sko, rows.Jc), rank_tolerance(set_, rows))
    lam, left = factored.solve(-d)
    check_consistent(set_, rows, left, d, np.abs(gamma) + np.abs(np.matvec(rows.Jc, free)))
    pull = np.matvec(rows.Jc.mT, lam)
    vdot = free + sko.solve(pull[..., None])[..., 0]
    return Solution(vdot, lam, factored.rank, rows.Jc)


def check_inertia(set_: ConstraintSet, sko: SKO) -> None:
    """Every joint of the tree moves something: otherwise it has no free acceleration to correct."""
    with np.errstate(all="ignore"):  # what moves nothing divides by zero
        composite, _ = sko.R, sko.D
    for k in sko.tree.base_to_tips():
        if sko.tree.widths[k]:
            D, whole = sko.D[k], sko.H[k] @ composite[k] @ sko.H[k].mT + sko.armature[k]
            if (np.linalg.eigvalsh(D)[..., 0] <= 1e-13 * np.trace(whole, axis1=-2, axis2=-1)).any():
                raise ModelError(
                    f'{set_.robot.model.name}: joint "{set_.nodes.labels[k]}" moves nothing that has inertia along it, so it has no '
                    'acceleration without the constraints. Use method="embedded", or give what it carries a mass.'
                )


def rank_tolerance(set_: ConstraintSet, rows):
    """The least singular value that says something: where the loops are not quite closed, rows that follow from others
    seem not to, by as much."""
    return np.maximum(RANK, 10 * set_.misfit(rows.c))


def baumgarte(rows, v, omega, zeta):
    return 2 * zeta * omega * (np.matvec(rows.Jc, np.asarray(v, float)) - rows.U) + omega**2 * rows.c


def check_consistent(set_: ConstraintSet, rows, left, d, scale) -> None:
    """What is left of the constraints' accelerations must be rounding, or what open loops make of it."""
    size = np.abs(d).max(-1, initial=0.0) + scale.max(-1, initial=0.0)
    allowed = np.maximum(INCONSISTENT, 100 * set_.misfit(rows.c)) * size
    wrong = np.abs(left) > np.asarray(allowed)[..., None]
    if wrong.any():
        which = np.flatnonzero(wrong.reshape(-1, len(set_)).any(0))
        names = dict.fromkeys(f'"{set_.labels[i][0]}"' for i in which)
        raise ConstraintError(
            f"{set_.robot.model.name}: the constraints {', '.join(names)} contradict each other in this state: no acceleration keeps "
            f"them all (off by {np.abs(left).max():.3g}). robot.constraint_report(q) shows which rows repeat others."
        )
