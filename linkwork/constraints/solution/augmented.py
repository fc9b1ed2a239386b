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

from ...errors import ModelError, old_name
from ...operators.rigid import rigid
from ...operators.sko import SKO
from ...sweeps import at_rest, innovations
from ..rows.rank import Factored
from ..rows.set import ConstraintSet
from .at_state import AtState


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


def augmented(set_: ConstraintSet, q, v, tau, external=None, t=0.0, stabilization=None) -> Solution:
    """v̇ and λ of given forces; `stabilization` (ω, ζ) asks for c̈ + 2ζω ċ + ω² c = 0 (Baumgarte) in place of c̈ = 0."""
    q, v, tau = (np.asarray(x, float) for x in (q, v, tau))
    at = AtState.of(set_, q, v, t)
    rows, sko = at.rows, rigid(set_.system, q, v, external)
    check_inertia(set_, sko)
    free, Jc = sko.forward_dynamics(tau), rows.Jc
    gamma = rows.gamma
    if stabilization is not None:
        omega, zeta = stabilization
        gamma = gamma + (2 * zeta * omega * (np.matvec(Jc, v) - rows.U) + omega**2 * rows.c)
    wanted = np.matvec(Jc, free)
    factored = Factored(square_root(sko, Jc), at.least)
    lam, left = factored.solve(-(wanted + gamma))
    at.check_consistent(left, wanted + gamma, np.abs(gamma) + np.abs(wanted))
    force = np.matvec(Jc.mT, lam)
    if (factored.rank < len(set_)).any():  # rows share a load in many ways
        lam, _, _ = at.multipliers(force)
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
