"""What rows leave free: projectors, and the inertia of free motion; velocities without units."""

import numpy as np

from ..rows.rank import Factored
from ..rows.rows import Rows
from ..rows.set import ConstraintSet
from .multipliers import rank_tolerance


def free_directions(set_: ConstraintSet, rows: Rows):
    """F (..., nv, nv), which projects on what the constraints leave free."""
    return left_free(Factored(set_.without_units(rows.Jc), rank_tolerance(set_, rows)))


def left_free(factored: Factored):
    """F = I − B (..., nv, nv), B the projector on what some rows bind."""
    basis = factored.row_space()
    return np.eye(basis.shape[-1]) - basis.mT @ basis


def free_inertia(set_: ConstraintSet, q, free):
    """F 𝓜 F + s B (..., nv, nv), s any mass: its inverse is that of the inertia of free motion, where there is some."""
    M, nv = set_.robot.mass_matrix(q) * set_.reach[:, None] * set_.reach, set_.robot.nv
    s = np.trace(M, axis1=-2, axis2=-1)[..., None, None] / max(nv, 1)
    return free @ M @ free + s * (np.eye(nv) - free)
