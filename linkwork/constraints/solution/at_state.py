"""Constraints at a state, by singular values: the motions that they leave, the forces that they carry. Velocities count without units,
forces as moments at a distance that is the size of the mechanism."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import ConstraintError
from ..rows.rank import RANK, Factored
from ..rows.rows import Rows
from ..rows.set import ConstraintSet

OPEN = 1e-2  # of a radian or of the size of the mechanism: a loop as open as that is not a state of it
INCONSISTENT = 1e-6  # of the accelerations: what is left of them after the best λ
FORCES = 1e-8  # of the forces: what may be left of them that nothing gives
SINGLE = 1e-3  # the same, of forces and of accelerations, where float32 came in
NOTHING = 1e-12  # radians, or sizes of the mechanism, a second squared: no acceleration


@dataclass(frozen=True, eq=False)
class AtState:
    """The rows of constraints at a state, or a batch of them."""

    set: ConstraintSet
    q: Any
    v: Any  # None where no velocities are asked for: rows have no γ
    rows: Rows

    @staticmethod
    def of(set_: ConstraintSet, q, v=None, t: float = 0.0) -> "AtState":
        """At a state whose loops are closed, but for what an integrator leaves."""
        rows = set_.rows(q, v, t)
        check_closed(set_, rows.c)
        return AtState(set_, q, v, rows)

    # --- motions

    @cached_property
    def least(self):
        return rank_tolerance(self.set, self.rows)

    @cached_property
    def factored(self) -> Factored:
        """Jc without units."""
        return Factored(self.set.without_units(self.rows.Jc), self.least)

    @cached_property
    def free(self):
        """F (..., nv, nv), which projects on what the constraints leave free."""
        return left_free(self.factored)

    def allowance(self, double: float, kind=np.float64):
        """Returns how much may be left of a balance, of its size: rounding, `double` in double precision, or what open loops make of it."""
        return np.maximum(SINGLE if kind == np.float32 else double, 100 * self.set.misfit(self.rows.c))

    def nearest(self, vdot):
        """The acceleration nearest to v̇ that keeps the constraints."""
        step, _ = self.factored.preimage((np.matvec(self.rows.Jc, vdot) + self.rows.gamma) / self.set.scale)
        return vdot - self.set.reach * step

    def check_possible(self, vdot, kind=np.float64) -> None:
        """v̇ keeps the constraints, but for rounding; or it is said by how much it does not."""
        set_, rows, v = self.set, self.rows, self.v
        Jc, left = set_.without_units(rows.Jc), (np.matvec(rows.Jc, vdot) + rows.gamma) / set_.scale
        speeds = (np.abs(vdot) + np.abs(v) * np.abs(v) / set_.reach) / set_.reach
        size = np.matvec(np.abs(Jc), speeds).max(-1, initial=0.0) + np.abs(rows.gamma / set_.scale).max(-1, initial=0.0) + NOTHING
        wrong = ~(np.abs(left) <= np.asarray(self.allowance(INCONSISTENT, kind) * size)[..., None])
        if wrong.any():
            many = f" (in {wrong.any(-1).sum()} of {wrong[..., 0].size} samples)" if wrong.ndim > 1 else ""
            raise ConstraintError(
                f"vdot is no acceleration of {set_.robot.model.name} in this state: it breaks {set_.names_of(wrong)} by "
                f"{np.abs(left * set_.scale).max():.3g}{many}. robot.constraints.possible(q, v, vdot) is the nearest that keeps them."
            )

    def check_consistent(self, left, d, scale) -> None:
        """Raises where more is left of the constraints' accelerations than rounding, or than open loops make of it."""
        set_ = self.set
        size = ((np.abs(d) + scale) / set_.scale).max(-1, initial=0.0)
        wrong = np.abs(left) / set_.scale > np.asarray(self.allowance(INCONSISTENT) * size)[..., None]
        if wrong.any():
            raise ConstraintError(
                f"{set_.robot.model.name}: the constraints {set_.names_of(wrong)} contradict each other in this state: no acceleration "
                f"keeps them all (off by {np.abs(left).max():.3g}). robot.constraint_report(q) shows which rows repeat others."
            )

    # --- forces

    def needed(self, vdot, external=None):
        """𝓜 v̇ + 𝓒 of the tree (..., nv): what its joints and its constraints exert together."""
        push = () if external is None else (external,)
        return self.set.robot.inverse_dynamics(self.q, self.v, vdot, *push)

    def multipliers(self, force):
        """(λ, what is left of the force, rank): Jc* λ is nearest to a generalized force (..., nv); where rows are redundant, λ is the
        sharing of least length."""
        lam = self.factored.combination(self.set.reach * force) / self.set.scale
        return lam, force - np.matvec(self.rows.Jc.mT, lam), self.factored.rank

    def compliance_root(self) -> np.ndarray:
        """R (..., nv, nv) with Y = R R*, the accelerations that unit forces make: of J Y J* = (J R) (J R)* it keeps the rank, and every
        digit of what hardly moves.

            R = F L⁻*,   F 𝓜 F + s B = L L*        B and F = I − B project on what Jc binds, and what it leaves free; s any mass
        """
        L = np.linalg.cholesky(free_inertia(self.set, self.set.robot.mass_matrix(self.q), self.free))
        return self.set.reach[:, None] * np.linalg.solve(L, self.free).mT


def check_closed(set_: ConstraintSet, c, tolerance: float = OPEN) -> None:
    """The loops are closed, but for what an integrator leaves; or it is said which are not."""
    if not (set_.misfit(c) <= tolerance).all() and np.isfinite(c).all():
        raise ConstraintError(
            f"this is no state of {set_.robot.model.name}: open are {', '.join(set_.bad(c, tolerance))}. robot.assemble(q) closes them."
        )


def rank_tolerance(set_: ConstraintSet, rows: Rows):
    """The least singular value that says something: where the loops are not quite closed, rows that follow from others
    seem not to, by as much."""
    return np.maximum(RANK, 10 * set_.misfit(rows.c))


def left_free(factored: Factored):
    """F = I − B (..., nv, nv), B the projector on what some rows bind."""
    basis = factored.row_space()
    return np.eye(basis.shape[-1]) - basis.mT @ basis


def free_inertia(set_: ConstraintSet, M, free):
    """F 𝓜 F + s B (..., nv, nv), s any mass: its inverse is that of the inertia of free motion, where there is some."""
    M, nv = M * set_.reach[:, None] * set_.reach, M.shape[-1]
    s = np.trace(M, axis1=-2, axis2=-1)[..., None, None] / max(nv, 1)
    return free @ M @ free + s * (np.eye(nv) - free)
