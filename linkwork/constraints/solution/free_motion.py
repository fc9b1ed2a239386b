"""Free motion: projectors on what rows leave free, its inertia and compliance; velocities without units."""

import numpy as np

from ..rows.rank import Factored
from ..rows.rows import Rows
from ..rows.set import ConstraintSet
from .augmented import check_closed
from .multipliers import rank_tolerance


def free_directions(set_: ConstraintSet, rows: Rows):
    """F (..., nv, nv), which projects on what the constraints leave free."""
    return left_free(Factored(set_.without_units(rows.Jc), rank_tolerance(set_, rows)))


def left_free(factored: Factored):
    """F = I − B (..., nv, nv), B the projector on what some rows bind."""
    basis = factored.row_space()
    return np.eye(basis.shape[-1]) - basis.mT @ basis


def free_inertia(set_: ConstraintSet, M, free):
    """F 𝓜 F + s B (..., nv, nv), s any mass: its inverse is that of the inertia of free motion, where there is some."""
    M, nv = M * set_.reach[:, None] * set_.reach, M.shape[-1]
    s = np.trace(M, axis1=-2, axis2=-1)[..., None, None] / max(nv, 1)
    return free @ M @ free + s * (np.eye(nv) - free)


def compliance_root(set_: ConstraintSet, q, t: float) -> np.ndarray:
    """R (..., nv, nv) with Y = R R*, the accelerations that unit forces make: of J Y J* = (J R) (J R)* it keeps the rank, and every
    digit of what hardly moves.

        R = F L⁻*,   F 𝓜 F + s B = L L*        B and F = I − B project on what Jc binds, and what it leaves free; s any mass
    """
    rows = set_.rows(q, t=t)
    check_closed(set_, rows)
    free = free_directions(set_, rows)
    L = np.linalg.cholesky(free_inertia(set_, set_.robot.mass_matrix(q), free))
    return set_.reach[:, None] * np.linalg.solve(L, free).mT
