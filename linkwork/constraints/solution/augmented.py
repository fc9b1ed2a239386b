"""Constrained forward dynamics on the tree, by correction: the mass matrix is never formed, and W not from a dense Jacobian.

    v̇_f = 𝓜⁻¹ (τ − 𝓒)                          free acceleration, by articulated bodies
    W   = D^(−½) H ψ B Q*                        half a sweep, from forces on the nodes that constraints hold on to
    Jc 𝓜⁻¹ Jc* = Q B* Ω B Q* = W* W,   Ω = ψ* H* D⁻¹ H ψ                        Jain (11.20), (11.21), (10.12), Algorithm 10.2
    λ   = −(W* W)⁻¹ (Jc v̇_f + γ)
    v̇   = v̇_f + (I − HψK)* D⁻¹ H ψ B Q* λ                                        Jain (7.44), Algorithms 7.3 and 11.2

Jc = Q B* φ* H*: Q has a few numbers for each row, over the velocities of nodes. Rows of couplings, which are over velocities of
joints, enter as forces of joints. Rows whose forces the joints do not feel, Jc* = H φ B Q* next to nothing, are left out: they
are what a file's rounding makes. The product W* W is not formed either: rows that follow from others are found in the singular
values of W at each state. λ is then the one of least length, v̇ does not depend on the choice. What no λ can give is an
inconsistent set, and raises.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import ConstraintError, ModelError, deprecated
from ...operators.rigid import rigid
from ...operators.sko import SKO
from ...sweeps import accelerations, at_rest, innovations
from ..rows.rank import Factored, without_small_rows
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

    @property
    def G(self):
        """The old name of `Jc`."""
        deprecated("Solution.G", "Solution.Jc")
        return self.Jc


@dataclass(frozen=True, eq=False)
class Pulls:
    """What the constraints' forces do in the tree, one column for each row: Jc* = H φ B Q* + joint forces."""

    sko: SKO
    places: list[tuple[int, Any]]  # nodes with B Q*, (..., height, m)
    tau: Any  # (..., nv, m), of rows over velocities of joints

    @staticmethod
    def of(set_: ConstraintSet, sko: SKO, Q, nodes) -> "Pulls":
        """`Q` (..., m, 6 n + nv) is over the velocities of n nodes and those of the joints."""
        found = [set_.system.place(k, Q[..., 6 * i : 6 * i + 6].mT) for i, k in enumerate(nodes)]
        return Pulls(sko, found, Q[..., 6 * len(nodes) :].mT)

    def times(self, v):
        """Jc v (..., m) by way of the nodes' velocities."""
        V = self.sko.velocities(v)
        total = np.vecmat(v, self.tau)
        for k, B in self.places:
            total = total + (B.mT @ V[k])[..., 0]
        return total

    def joint_forces(self):
        """Jc* = H φ B Q* + joint forces (..., nv, m), by one sweep."""
        sko, m = self.sko, self.tau.shape[-1]
        f = {k: np.zeros((n, m)) for k, n in enumerate(sko.heights)}
        for k, B in self.places:
            f[k] = f[k] + B
        f = sko.gather(f)
        return self.tau + sko.tree.join_rows({k: sko.H[k] @ f[k] for k in sko.tree.base_to_tips()})

    @cached_property
    def eps(self):
        """ε = H ψ B Q* + (I − HψK) of the joint forces, slots with a column for each row."""
        sko, m = self.sko, self.tau.shape[-1]
        P, D, G, _ = sko.articulated
        r = at_rest(sko.blocks, np.zeros_like(sko.base, shape=(sko.base.shape[-2], m)), sko.tree.split_rows(self.tau))
        b = dict(r.b)
        for k, B in self.places:
            b[k] = b[k] - B
        return innovations(sko.blocks, P, D, G, r._replace(b=b))[1]

    def square_root(self):
        """W* (..., m, nv) with W* W = Jc 𝓜⁻¹ Jc*."""
        tree, D = self.sko.tree, self.sko.D
        half = {k: np.linalg.solve(np.linalg.cholesky(D[k]), e) if D[k].size else e for k, e in self.eps.items()}
        return tree.join_rows(half).mT

    def corrections(self, lam):
        """𝓜⁻¹ Jc* λ (..., nv): outward from ε λ."""
        sko = self.sko
        nu = {k: np.linalg.solve(sko.D[k], e @ lam[..., None]) if sko.D[k].size else e @ lam[..., None] for k, e in self.eps.items()}
        still = at_rest(sko.blocks, np.zeros_like(sko.base))
        return sko.tree.join(accelerations(sko.blocks, sko.G, still, nu)[0])


def square_root(sko: SKO, Jc):
    """W* (..., m, nv) with W* W = Jc 𝓜⁻¹ Jc*, of rows over velocities of joints."""
    return Pulls(sko, [], Jc.mT).square_root()


def check_closed(set_: ConstraintSet, rows, tolerance: float = OPEN) -> None:
    """The loops are closed, but for what an integrator leaves; or it is said which are not."""
    if not (set_.misfit(rows.c) <= tolerance).all() and np.isfinite(rows.c).all():
        raise ConstraintError(
            f"this is no state of {set_.robot.model.name}: open are {', '.join(set_.bad(rows.c, tolerance))}. "
            "robot.assemble(q) closes them."
        )


def augmented(set_: ConstraintSet, q, v, tau, external=None, t=0.0, stabilization=None) -> Solution:
    """v̇ and λ of given forces; `stabilization` (ω, ζ) asks for c̈ + 2ζω ċ + ω² c = 0 (Baumgarte) in place of c̈ = 0."""
    rows, nodes = set_.node_rows(q, v, t)
    check_closed(set_, rows)
    sko = rigid(set_.system, np.asarray(q, float), np.asarray(v, float), external)
    check_inertia(set_, sko)
    free = sko.forward_dynamics(np.asarray(tau, float))
    pulls = Pulls.of(set_, sko, rows.Jc, nodes)
    Jc = pulls.joint_forces().mT
    noise = ~without_small_rows(Jc, set_.scale, set_.reach).any(-1)
    pulls = Pulls.of(set_, sko, np.where(noise[..., None], 0.0, rows.Jc), nodes)
    gamma = rows.gamma if stabilization is None else rows.gamma + baumgarte(rows, pulls.times(np.asarray(v, float)), *stabilization)
    wanted = pulls.times(free)
    factored = Factored(pulls.square_root(), rank_tolerance(set_, rows))
    lam, left = factored.solve(-(wanted + gamma))
    check_consistent(set_, rows, left, wanted + gamma, np.abs(gamma) + np.abs(wanted))
    vdot, Jc = free + pulls.corrections(lam), np.where(noise[..., None], 0.0, Jc)
    if (factored.rank < len(set_)).any():  # rows share a load in many ways
        lam, _, _ = multipliers(set_, replace(rows, Jc=Jc), np.matvec(Jc.mT, lam))
    return Solution(vdot, lam, factored.rank, Jc)


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
        which = np.flatnonzero(wrong.reshape(-1, len(set_)).any(0))
        names = dict.fromkeys(f'"{set_.labels[i][0]}"' for i in which)
        raise ConstraintError(
            f"{set_.robot.model.name}: the constraints {', '.join(names)} contradict each other in this state: no acceleration keeps "
            f"them all (off by {np.abs(left).max():.3g}). robot.constraint_report(q) shows which rows repeat others."
        )
