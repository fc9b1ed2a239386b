"""Compliance under constraints: the accelerations that unit forces make."""

import numpy as np

from .augmented import check_closed
from .move_squeeze import free_directions
from .set import ConstraintSet


def compliance_root(set_: ConstraintSet, q, t: float) -> np.ndarray:
    """R (..., nv, nv) with Y = R R*: of J Y J* = (J R) (J R)* it keeps the rank, and every digit of what hardly moves.

        R = F L⁻*,   F 𝓜 F + s B = L L*        B and F = I − B project on what Jc binds, and what it leaves free; s any mass
    """
    rows, reach, nv = set_.rows(q, t=t), set_.reach, set_.robot.nv
    check_closed(set_, rows)
    M = set_.robot.mass_matrix(q) * reach[:, None] * reach
    free, s = free_directions(set_, rows), np.trace(M, axis1=-2, axis2=-1)[..., None, None] / max(nv, 1)
    L = np.linalg.cholesky(free @ M @ free + s * (np.eye(nv) - free))
    return reach[:, None] * np.linalg.solve(L, free).mT
