"""Derivatives of motion under constraints, along them.

The equations 𝓜 v̇ + 𝓒 = τ + Jc* λ, Jc v̇ + γ = 0 change with a change (δq, δv, δτ, δt) that keeps the constraints by

    𝓜 δv̇ − Jc* δλ = f,     f = δτ − ∂(𝓜 v̇ + 𝓒 − Jc* λ) along (δq, δv, δt), v̇ and λ as they are
          Jc δv̇   = −e,    e = ∂(Jc v̇ + γ)          along (δq, δv, δt)
             δv̇   = Y f − J⁺ e,                     Y the compliance under the constraints,  J⁺ = (I − Y 𝓜) Jc⁻

Any other change (dq, dv, dt) means nothing: it is put back on the constraints first, as `project` does, nearest in the metric of the mass
matrix. Of positions, only the rows Jʰ count that bind them:

    δq = Yʰ 𝓜 dq + Jʰ⁺ U dt,    δv = Y 𝓜 dv − J⁺ (∂(Jc v − U)/∂q δq + ∂(Jc v − U)/∂t dt)
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .. import quantities
from .rows.rank import Factored
from .rows.set import ConstraintSet
from .rows.slopes import Slopes
from .solution.arguments import rounded
from .solution.at_state import AtState, free_inertia, left_free
from .solution.sharing import Sharing
from .systems.under_constraints import under_constraints


@dataclass(frozen=True, eq=False)
class By:
    """The derivatives of one thing by q along the group, by v and by τ (..., n, nv), and by time (..., n)."""

    q: Any
    v: Any
    tau: Any
    t: Any


@dataclass(frozen=True, eq=False)
class Allowed:
    """What some rows allow: the compliance Y (..., nv, nv) under them, the projector Y 𝓜, and J⁺ (..., nv, m)."""

    Y: Any
    P: Any
    inverse: Any

    @staticmethod
    def of(set_: ConstraintSet, Jc, scale, least, M) -> "Allowed":
        reach, m = set_.reach, Jc.shape[-2]
        factored = Factored(Jc * reach / scale[:, None], least)
        free = left_free(factored)
        Y = free @ np.linalg.solve(free_inertia(set_, M, free), free)
        Y = (Y + Y.mT) / 2 * reach[:, None] * reach
        each = Factored(factored.W[..., None, :, :], np.asarray(least)[..., None])
        some = reach[:, None] * each.preimage(np.eye(m) / scale)[0].mT
        return Allowed(Y, Y @ M, some - Y @ (M @ some))


@dataclass(frozen=True, eq=False)
class MotionSlopes:
    """How a motion under constraints changes with its state, its forces and time."""

    at: AtState
    t: float
    M: Any
    vdot: Any
    lam: Any
    allowed: Allowed  # under all rows
    placed: Allowed  # under those that bind positions
    slopes: Slopes
    needed_q: Any  # ∂(𝓜 v̇ + 𝓒)
    needed_v: Any

    @staticmethod
    def of(set_: ConstraintSet, q, v, tau, external=None, t: float = 0.0) -> "MotionSlopes":
        robot, at, bound = set_.robot, AtState.of(set_, q, v, t), set_.holonomic
        rows, M, least = at.rows, robot.mass_matrix(q), at.least
        allowed = Allowed.of(set_, rows.Jc, set_.scale, least, M)
        placed = allowed if bound.all() else Allowed.of(set_, rows.Jc[..., bound, :], set_.scale[bound], least, M)
        still = at.needed(np.zeros_like(v), external)
        vdot = np.matvec(allowed.Y, tau - still) - np.matvec(allowed.inverse, rows.gamma)
        lam, _, _ = at.multipliers(at.needed(vdot, external) - tau)
        slopes = set_.slopes(q, v, vdot, lam, t)
        push = () if external is None else (external,)
        needed_q, needed_v, _ = robot.inverse_dynamics_derivatives(q, v, vdot, *push)
        return MotionSlopes(at, t, M, vdot, lam, allowed, placed, slopes, needed_q, needed_v)

    # --- along changes that keep the constraints

    @cached_property
    def by_q(self):
        """δv̇ of δq."""
        return self.allowed.Y @ (self.slopes.pull - self.needed_q) - self.allowed.inverse @ self.slopes.turn_q

    @cached_property
    def by_v(self):
        """δv̇ of δv."""
        return -self.allowed.Y @ self.needed_v - self.allowed.inverse @ self.slopes.turn_v

    @cached_property
    def by_t(self):
        """δv̇ of δt."""
        return np.matvec(self.allowed.Y, self.slopes.pull_t) - np.matvec(self.allowed.inverse, self.slopes.turn_t)

    # --- any change, put back on them

    @cached_property
    def v_q(self):
        """The δv that δq asks for."""
        return -self.allowed.inverse @ self.slopes.speed_q

    @cached_property
    def q_t(self):
        """The δq that time asks for."""
        return np.matvec(self.placed.inverse, self.at.rows.U[..., self.at.set.holonomic])

    @cached_property
    def v_t(self):
        return np.matvec(self.v_q, self.q_t) - np.matvec(self.allowed.inverse, self.slopes.speed_t)

    @cached_property
    def vdot_by(self) -> By:
        """δv̇ of any change."""
        q = (self.by_q + self.by_v @ self.v_q) @ self.placed.P
        t = self.by_t + np.matvec(self.by_q, self.q_t) + np.matvec(self.by_v, self.v_t)
        return By(q, self.by_v @ self.allowed.P, self.allowed.Y, t)

    @cached_property
    def force_by(self) -> By:
        """δ(Jc* λ) of any change: what the constraints add to the forces of the joints."""
        whole, a, eye = self.M, self.vdot_by, np.eye(self.at.set.robot.nv)
        q = whole @ a.q + (self.needed_q + self.needed_v @ self.v_q) @ self.placed.P
        t = np.matvec(whole, a.t) + np.matvec(self.needed_q, self.q_t) + np.matvec(self.needed_v, self.v_t)
        return By(q, whole @ a.v + self.needed_v @ self.allowed.P, whole @ a.tau - eye, t)

    @cached_property
    def multipliers_by(self) -> By:
        """δλ of any change (..., m, nv), λ of least length where rows are redundant, as in `constraint_forces`."""
        pull, force, placed, time = self.slopes.pull, self.force_by, self.placed.P, self.q_t[..., None]
        shared = Sharing.of(self.at, self.lam, self.t)
        left_t = force.t[..., None] - pull @ time - self.slopes.pull_t[..., None]
        q, t = shared.change(force.q - pull @ placed, placed), shared.change(left_t, time, 1.0)[..., 0]
        return By(q, shared.change(force.v), shared.change(force.tau), t)


def _rounded(name: str) -> Any:
    """A property of the slopes, in the precision of what came."""
    return property(lambda self: rounded(getattr(self.slopes, name), self.kind))


class Derivatives:
    """What a user asks of them, in the precision of what came: how v̇, the force Jc* λ and λ change with q, v, τ and t, each a `By`."""

    def __init__(self, slopes: MotionSlopes, kind: np.dtype):
        self.slopes, self.kind = slopes, kind

    vdot, lam = _rounded("vdot"), _rounded("lam")
    vdot_by, force_by, multipliers_by = map(_rounded, ("vdot_by", "force_by", "multipliers_by"))


# --- as declared quantities


@under_constraints(quantities.forward_dynamics_derivatives)
def forward_dynamics_derivatives(set_: ConstraintSet, q, v, tau, external=None, t=0.0, kind=np.float64):
    """∂v̇/∂q, ∂v̇/∂v and ∂v̇/∂τ of any change, put back on the constraints."""
    found = MotionSlopes.of(set_, q, v, tau, external, t).vdot_by
    return found.q, found.v, found.tau


@under_constraints(quantities.forward_dynamics_rate)
def forward_dynamics_rate(set_: ConstraintSet, q, v, tau, dq, dv, dtau, external=None, t=0.0, kind=np.float64):
    """The rate of v̇ along rates of q, v and τ."""
    parts = forward_dynamics_derivatives(set_, q, v, tau, external, t)
    return sum(np.matvec(x, along) for x, along in zip(parts, (dq, dv, dtau)))


@under_constraints(quantities.forward_dynamics_gradient)
def forward_dynamics_gradient(set_: ConstraintSet, q, v, tau, weight, external=None, t=0.0, kind=np.float64):
    """weight · ∂v̇ by q, v and τ."""
    return tuple(np.vecmat(weight, x) for x in forward_dynamics_derivatives(set_, q, v, tau, external, t))
