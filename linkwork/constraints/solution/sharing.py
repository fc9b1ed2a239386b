"""How multipliers change. Where rows follow from others they share a load in the way of least length, which changes with the rows.

    λ = S⁻¹ A⁺ R f,    A = R Jc* S⁻¹                       f the force Jc* λ, S the lengths of the rows, R the reach of the velocities
    δλ = S⁻¹ (A⁺ R (δf − δJc* λ) + N (S⁻¹ δJc R y − 2 δS λ)),      N = I − A⁺ A,   y = A⁺* S λ
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..rows.rank import Factored
from ..rows.set import ConstraintSet
from .at_state import AtState


@dataclass(frozen=True, eq=False)
class Sharing:
    """The multipliers of one state, or a batch of them."""

    set: ConstraintSet
    factored: Factored  # of Jc without units
    turn: Any  # what N is applied to, for each δq (..., m, nv); None where no rows are redundant
    turn_t: Any  # and for time (..., m)

    @staticmethod
    def of(at: AtState, lam, t: float) -> "Sharing":
        set_, factored = at.set, at.factored
        if (factored.rank == len(set_)).all():
            return Sharing(set_, factored, None, None)
        S = factored.scale * set_.scale
        y, _ = factored.preimage(factored.scale * S * lam)
        product, length, product_t, length_t = set_.slopes.sharing(at.q, y, t)
        turn = (product - 2 * lam[..., None] * length) / S[..., None]
        return Sharing(set_, factored, turn, (product_t - 2 * lam * length_t) / S)

    def change(self, left, dq=None, dt: float = 0.0):
        """δλ (..., m, k) of forces δf − δJc* λ (..., nv, k), while q changes by dq (..., nv, k) and time by dt."""
        set_, columns = self.set, Factored(self.factored.W[..., None, :, :], np.asarray(self.factored.least)[..., None])
        lam = columns.combination((set_.reach[:, None] * left).mT).mT / set_.scale[:, None]
        if self.turn is None or dq is None:
            return lam
        more = self.turn @ dq + dt * self.turn_t[..., None]
        S = (self.factored.scale * set_.scale)[..., None]
        return lam + (more - self.factored.column_space() @ (self.factored.column_space().mT @ more)) / S
