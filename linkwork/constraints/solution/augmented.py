"""Constrained forward dynamics on the tree, by correction: the mass matrix is never formed.

    v̇_f = 𝓜⁻¹ (τ − 𝓒)                          free acceleration, by articulated bodies
    W   = D^(−½) (I − HψK) Jc*                   half a sweep
    Jc 𝓜⁻¹ Jc* = W* W,   𝓜⁻¹ = (I − HψK)* D⁻¹ (I − HψK)                                  Jain (7.44), (11.20), (11.21)
    λ   = −(W* W)⁻¹ (Jc v̇_f + γ)
    v̇   = v̇_f + 𝓜⁻¹ Jc* λ                                                                 Jain, Algorithm 11.2

Rows that are next to nothing are what a file's rounding makes, and are zero. The product W* W is not formed either: rows that follow from
others are found in the singular values of W at each state. λ is then the one of least length, v̇ does not depend on the choice. What no λ
can give is an inconsistent set, and raises.
"""

from dataclasses import dataclass

import numpy as np

from ...errors import ConstraintError, ModelError, old_name
from ...operators.rigid import rigid
from ...operators.sko import SKO
from ...sweeps import at_rest, innovations
from ..rows.rank import Factored
from ..rows.set import ConstraintSet
from .multipliers import multipliers, rank_tolerance

OPEN = 1e-2  # of a radian or of the size of the mechanism: a loop as open as that is not a state of it
INCONSISTENT = 1e-6  # of the accelerations: what is left of them after the best λ


@dataclass(frozen=True, eq=False)
class Solution:
    """Accelerations, multipliers and how they were found."""

    vdot: np.ndarray  # (..., nv)
    lam: np.ndarray  # (..., m)
    rank: np.ndarray  # (...)
    Jc: np.ndarray  # (..., m, nv)

    G = old_name("Solution.G", "Solution.Jc", "Jc")


def square_root(sko: SKO, Jc):
    """W* (..., m, nv) with W* W = Jc 𝓜⁻¹ Jc*:  W = D^(−½) (I − HψK) Jc*."""
    P, D, G, _ = sko.articulated
    r = at_rest(sko.blocks, np.zeros_like(sko.base, shape=(sko.base.shape[-2], Jc.shape[-2])), sko.tree.split_rows(Jc.mT))
    eps = innovations(sko.blocks, P, D, G, r)[1]
    half = {k: np.linalg.solve(np.linalg.cholesky(D[k]), e) if D[k].size else e for k, e in eps.items()}
    return sko.tree.join_rows(half).mT


def check_closed(set_: ConstraintSet, rows, tolerance: float = OPEN) -> None:
    """The loops are closed, but for what an integrator leaves; or it is said which are not."""
    if not (set_.misfit(rows.c) <= tolerance).all() and np.isfinite(rows.c).all():
        raise ConstraintError(
            f"this is no state of {set_.robot.model.name}: open are {', '.join(set_.bad(rows.c, tolerance))}. "
            "robot.assemble(q) closes them."
        )


def augmented(set_: ConstraintSet, q, v, tau, external=None, t=0.0, stabilization=None) -> Solution:
    """v̇ and λ of given forces; `stabilization` (ω, ζ) asks for c̈ + 2ζω ċ + ω² c = 0 (Baumgarte) in place of c̈ = 0."""
    q, v, tau = (np.asarray(x, float) for x in (q, v, tau))
    rows = set_.rows(q, v, t)
    check_closed(set_, rows)
    sko = rigid(set_.system, q, v, external)
    check_inertia(set_, sko)
    free, Jc = sko.forward_dynamics(tau), rows.Jc
    gamma = rows.gamma if stabilization is None else rows.gamma + baumgarte(rows, np.matvec(Jc, v), *stabilization)
    wanted = np.matvec(Jc, free)
    factored = Factored(square_root(sko, Jc), rank_tolerance(set_, rows))
    lam, left = factored.solve(-(wanted + gamma))
    check_consistent(set_, rows, left, wanted + gamma, np.abs(gamma) + np.abs(wanted))
    force = np.matvec(Jc.mT, lam)
    if (factored.rank < len(set_)).any():  # rows share a load in many ways
        lam, _, _ = multipliers(set_, rows, force)
    return Solution(free + sko.solve(force[..., None])[..., 0], lam, factored.rank, Jc)


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


def baumgarte(rows, speed, omega, zeta):
    """2ζω (Jc v − U) + ω² c, with Jc v the speed of the constraints."""
    return 2 * zeta * omega * (speed - rows.U) + omega**2 * rows.c


def check_consistent(set_: ConstraintSet, rows, left, d, scale) -> None:
    """What is left of the constraints' accelerations must be rounding, or what open loops make of it."""
    size = ((np.abs(d) + scale) / set_.scale).max(-1, initial=0.0)
    allowed = np.maximum(INCONSISTENT, 100 * set_.misfit(rows.c)) * size
    wrong = np.abs(left) / set_.scale > np.asarray(allowed)[..., None]
    if wrong.any():
        raise ConstraintError(
            f"{set_.robot.model.name}: the constraints {set_.names_of(wrong)} contradict each other in this state: no acceleration keeps "
            f"them all (off by {np.abs(left).max():.3g}). robot.constraint_report(q) shows which rows repeat others."
        )
