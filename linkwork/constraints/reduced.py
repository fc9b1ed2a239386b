"""The minimal view: a constrained robot in as few velocities as it can move in."""

from dataclasses import dataclass

import numpy as np

from .partition import partition
from .set import ConstraintSet


@dataclass(frozen=True, eq=False)
class Reduced:
    """A robot in the velocities u = v[independent], which were chosen at a configuration and stay so.

    A state in u is lifted to the tree's by the constraints: positions by assembly with the independent ones held,
    velocities by v = X u (+ what moves in time).
    """

    set: ConstraintSet
    independent: np.ndarray

    @staticmethod
    def of(set_: ConstraintSet, q, t=0.0) -> "Reduced":
        M = set_.robot.mass_matrix(np.asarray(q, float))
        return Reduced(set_, partition(M, set_.rows(q, t=t).Jc, 1e-9).independent)

    def _partition(self, q, t):
        return partition(self.set.robot.mass_matrix(q), self.set.rows(q, t=t).Jc, 1e-9, self.independent)

    def X(self, q, t=0.0) -> np.ndarray:
        """v = X u (nv, nu)."""
        return self._partition(q, t).X

    def velocity(self, q, u, t=0.0) -> np.ndarray:
        """The tree's v."""
        p, rows = self._partition(q, t), self.set.rows(q, t=t)
        v = p.X @ u
        moved = rows.U[p.used]
        if moved.any():
            v[p.dependent] += np.linalg.solve(rows.Jc[np.ix_(p.used, p.dependent)], moved)
        return v

    def mass_matrix(self, q) -> np.ndarray:
        """X* 𝓜 X (nu, nu)."""
        X = self.X(q)
        return X.T @ self.set.robot.mass_matrix(q) @ X

    def force(self, q, tau) -> np.ndarray:
        """X* τ."""
        return self.X(q).T @ tau


