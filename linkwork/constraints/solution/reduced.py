"""The minimal view: a constrained robot in as few velocities as it can move in, and its dynamics in them (Woronetz).

    v = X u + v_p,   Jc X = 0,   Jc v_p = U
    v̇ = X u̇ + h,     Jc h + γ = 0                      h and v_p are zero in the independent velocities
    X* 𝓜 X u̇ + X* (𝓜 h + 𝓒) = X* τ                                        Müller and Terze (55) to (59), Jain (11.33), (11.36)
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...errors import ConstraintError, ShapeError
from ...lie.scalars import numbers
from ..choice.loops import Loops
from ..choice.partition import independent_velocities
from ..rows.set import ConstraintSet
from .arguments import sample_by_sample, with_arrays
from .at_state import AtState


class Split(NamedTuple):
    """X, v_p and h at a state; h is None without velocities."""

    X: Any  # (..., nv, nu)
    moved: Any  # (..., nv)
    bend: Any  # (..., nv) or None


@dataclass(frozen=True, eq=False)
class Reduced:
    """A robot in the velocities u = v[independent], which were chosen at a configuration and stay so.

    A state in u is lifted to the tree's by the constraints: positions by assembly with the independent ones held, velocities by
    `velocity`, accelerations by `acceleration`. Arrays have any leading batch axes; drives are those of time t.
    """

    set: ConstraintSet
    independent: np.ndarray

    @staticmethod
    def of(set_: ConstraintSet, q, t=0.0) -> "Reduced":
        return Reduced(set_, np.asarray(independent(AtState.of(set_, q, t=t), t)))

    @cached_property
    def dependent(self) -> np.ndarray:
        return np.setdiff1d(np.arange(self.set.robot.nv), self.independent)

    # --- velocities and accelerations

    @with_arrays
    def X(self, q, t=0.0) -> np.ndarray:
        """v = X u + v_p (..., nv, nu)."""
        return self._split(q, t=t).X

    @with_arrays
    def velocity(self, q, u, t=0.0) -> np.ndarray:
        """v = X u + v_p of the tree."""
        s = self._split(q, t=t)
        return np.matvec(s.X, self._checked("u", u)) + s.moved

    @with_arrays
    def acceleration(self, q, u, udot, t=0.0) -> np.ndarray:
        """v̇ = X u̇ + h of the tree."""
        s = self._split(q, self.velocity(q, u, t), t)
        return np.matvec(s.X, self._checked("udot", udot)) + s.bend

    def _split(self, q, v=None, t=0.0) -> Split:
        return self.split(AtState.of(self.set, q, v, t))

    def split(self, at: AtState) -> Split:
        """X, v_p and h at a state."""
        n, least, rows = self.set.robot.nv, at.least, at.rows
        scaled, reach = self.set.without_units(rows.Jc), self.set.reach
        left, right = scaled[..., self.dependent], scaled[..., self.independent]
        sigma = np.linalg.svd(left, compute_uv=False)
        full = sigma.shape[-1] == len(self.dependent)
        if not full or (len(self.dependent) and not (sigma[..., -1] > least * sigma[..., 0]).all()):
            raise ConstraintError(
                f"{self.set.robot.model.name}: the velocities that were chosen as independent do not decide the others here. "
                "Choose again: robot.constraints.reduced(q) at this configuration."
            )
        inverse = reach[self.dependent][:, None] * np.linalg.pinv(left, rcond=least)
        X = np.zeros((*right.shape[:-2], n, len(self.independent)))
        X[..., self.independent, :] = np.eye(len(self.independent))
        X[..., self.dependent, :] = -inverse @ (right / reach[self.independent])
        bend = None if rows.gamma is None else self._spread(np.matvec(inverse, -rows.gamma / self.set.scale))
        return Split(X, self._spread(np.matvec(inverse, rows.U / self.set.scale)), bend)

    def _spread(self, x):
        """Numbers of the dependent velocities among zeros (..., nv)."""
        out = np.zeros((*x.shape[:-1], self.set.robot.nv))
        out[..., self.dependent] = x
        return out

    # --- dynamics in u

    @with_arrays
    def mass_matrix(self, q, t=0.0) -> np.ndarray:
        """X* 𝓜 X (..., nu, nu)."""
        X = self._split(q, t=t).X
        return X.mT @ self.set.robot.mass_matrix(q) @ X

    @with_arrays
    def force(self, q, tau, t=0.0) -> np.ndarray:
        """X* τ (..., nu)."""
        return np.vecmat(tau, self._split(q, t=t).X)

    @with_arrays
    def bias(self, q, u, external=None, t=0.0) -> np.ndarray:
        """X* (𝓜 h + 𝓒) (..., nu), gravity included: the force in u that keeps u̇ = 0."""
        return self.inverse_dynamics(q, u, np.zeros(len(self.independent)), external, t)

    @with_arrays
    def inverse_dynamics(self, q, u, udot, external=None, t=0.0) -> np.ndarray:
        """X* τ (..., nu) of the forces that make u̇."""
        at = self._at(q, u, t)
        s = self.split(at)
        return np.vecmat(at.needed(np.matvec(s.X, self._checked("udot", udot)) + s.bend, external), s.X)

    @with_arrays
    def forward_dynamics(self, q, u, tau, external=None, t=0.0) -> np.ndarray:
        """u̇ (..., nu) of forces τ (..., nv) in the joints."""
        at = self._at(q, u, t)
        return self.accelerated(at, self.split(at), tau, external)

    def accelerated(self, at: AtState, s: Split, tau, external=None):
        """u̇ at a state of the tree."""
        rest = np.vecmat(tau - at.needed(s.bend, external), s.X)
        M = s.X.mT @ self.set.robot.mass_matrix(at.q) @ s.X
        return np.linalg.solve(M, rest[..., None])[..., 0]

    def _at(self, q, u, t) -> AtState:
        return AtState.of(self.set, q, self.velocity(q, u, t), t)

    def _checked(self, name: str, x):
        x = numbers(x)
        if x.shape[-1:] != self.independent.shape:
            chosen = ", ".join(map(str, self.independent))
            raise ShapeError(f"{name} has shape {x.shape}, but the view has {len(self.independent)} velocities: numbers {chosen} of v.")
        return x


def independent(at: AtState, t=0.0) -> np.ndarray:
    """Velocities that the others follow from at one configuration; where there is no mass metric, as embedding chooses them."""
    if not at.set.massless:
        return independent_velocities(at.set.robot.mass_matrix(at.q), at.rows.Jc, float(at.least))
    loops = Loops(at.set, at.set.nodes)
    return loops.independent(loops.choose(at.q, at.set.driven_by_name(t)))


def projected(set_: ConstraintSet, q, v, tau, external=None, t=0.0):
    """v̇ (..., nv) of given forces, without multipliers: each sample in the velocities that are independent there."""
    arrays = [np.asarray(x, float) for x in (q, v, tau, external) if x is not None]
    (vdot,) = sample_by_sample(lambda *state: (_projected(set_, t, *state),), arrays, (1, 1, 1, 2), [1])
    return vdot


def _projected(set_: ConstraintSet, t, q, v, tau, external=None):
    at = AtState.of(set_, q, v, t)
    rows, view = at.rows, Reduced(set_, independent(at, t))
    s = view.split(at)
    vdot = s.X @ view.accelerated(at, s, tau, external) + s.bend
    left = rows.Jc @ vdot + rows.gamma  # what no acceleration gives, but for the rounding of γ
    at.check_consistent(left, rows.gamma, np.abs(rows.Jc) @ (np.abs(vdot) + v * v / set_.reach))
    return vdot
