"""Compliance under constraints: the accelerations that unit forces make."""

import numpy as np

from ..rows.set import ConstraintSet
from .augmented import check_closed
from .free_motion import free_directions, free_inertia


def compliance_root(set_: ConstraintSet, q, t: float) -> np.ndarray:
    """R (..., nv, nv) with Y = R R*: of J Y J* = (J R) (J R)* it keeps the rank, and every digit of what hardly moves.

        R = F L⁻*,   F 𝓜 F + s B = L L*        B and F = I − B project on what Jc binds, and what it leaves free; s any mass
    """
    rows = set_.rows(q, t=t)
    check_closed(set_, rows)
    free = free_directions(set_, rows)
    L = np.linalg.cholesky(free_inertia(set_, q, free))
    return set_.reach[:, None] * np.linalg.solve(L, free).mT
