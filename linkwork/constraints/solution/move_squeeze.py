"""Forces that move a constrained mechanism, and forces that only squeeze it (Jain, 11.2)."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ...errors import ConstraintError, ShapeError
from ...lie.scalars import numbers
from ..rows.rank import Factored
from ..rows.set import ConstraintSet
from .at_state import FORCES, AtState

RCOND = 1e-9  # of the motors' effects: what is below is none


def move_squeeze(set_: ConstraintSet, q, tau, W=None, t=0.0):
    """τ = move + squeeze: the squeezing part is carried by the constraints and moves nothing.

        squeeze = Jc* (Jc W Jc*)⁻¹ Jc W τ,   move = τ − squeeze                             Jain (11.13) to (11.15)

    W is the metric in which the moving part is the smallest of all forces with the same effect; 𝓜⁻¹ if not given.
    """
    q, tau = np.asarray(q, float), np.asarray(tau, float)
    Jc = set_.rows(q, t=t).Jc
    W = set_.robot.mass_matrix_inverse(q) if W is None else metric(W, tau.shape[-1])
    L = np.linalg.cholesky(W)
    lam, _ = Factored(Jc @ L).solve(np.matvec(Jc @ W, tau))
    squeeze = np.matvec(Jc.mT, lam)
    return tau - squeeze, squeeze


@dataclass(frozen=True)
class Actuation:
    """What motors can do at a configuration; print it."""

    name: str
    motors: int  # velocities that have a motor
    mobility: int
    rank: int  # how many of the motions they can force, each by itself

    @property
    def complete(self) -> bool:
        """Can they make every motion that the constraints allow?"""
        return self.rank == self.mobility

    @property
    def redundancy(self) -> int:
        """In how many ways they can squeeze without moving anything: 0 where the forces of a motion are unique."""
        return self.motors - self.rank

    def __str__(self) -> str:
        said = f"{self.name}: {self.motors} motors on {self.mobility} degrees of freedom, "
        said += "which they can all move" if self.complete else f"of which they can move {self.rank}"
        squeeze = f"redundantly actuated by {self.redundancy}: of the forces that make a motion, the least are taken"
        return f"{said}; {squeeze if self.redundancy else 'the forces of a motion are unique'}"


def metric(W, n: int) -> np.ndarray:
    """W (..., n, n), symmetric and positive, or an error."""
    found = numbers(W)
    if found.shape[-2:] != (n, n) or not np.isfinite(found).all():
        raise ShapeError(f"W has shape {found.shape}; it takes ({n}, {n}) finite numbers.")
    if np.abs(found - found.mT).max() > 1e-9 * np.abs(found).max() or not (np.linalg.eigvalsh(found) > 0).all():
        raise ShapeError("W is not symmetric and positive, so that it measures no forces.")
    return found


def least_forces(set_: ConstraintSet, free, force, may):
    """(τ, what is left): of all τ (..., nv), zero where `may` is zero, with the effect of a force (..., nv) the least one; forces count
    as moments, at a distance that is the size of the mechanism.

        F (τ − force) = 0,   τ = (F B)⁺ F force                                       B picks where forces may act
    """
    effect = np.matvec(free, set_.reach * force)
    acting = free * may[..., None, :]
    tau = np.matvec(np.linalg.pinv(acting, rcond=RCOND), effect) * may
    return tau / set_.reach, (effect - np.matvec(acting, tau)) / set_.reach


def motor_velocities(robot, motors) -> np.ndarray:
    """The numbers of the velocities of joints with motors; of None, all."""
    if motors is None:
        return np.arange(robot.nv)
    names = tuple(motors) if isinstance(motors, Iterable) and not isinstance(motors, str) else (motors,)
    return np.unique(np.concatenate([np.zeros(0, int), *(np.arange(robot.nv)[robot.v_index(x)] for x in names)]).astype(int))


def motor_forces(set_: ConstraintSet, q, v, vdot, motors=None, external=None, W=None, t=0.0, kind=np.float64):
    """Inverse dynamics with given motors: the forces (..., nv), zero at joints without one, of least W-norm, that make v̇.

        X* B u = X* (𝓜 v̇ + 𝓒),   u = W⁻¹ B* X (X* B W⁻¹ B* X)⁺ ...         redundant motors share by W
    """
    at, on = AtState.of(set_, q, v, t), motor_velocities(set_.robot, motors)
    at.check_possible(vdot, kind)
    force, free = at.needed(vdot, external), at.free
    if W is None:
        tau, left = least_forces(set_, free, force, np.isin(np.arange(set_.robot.nv), on).astype(float))
    else:
        tau, left = _least_in_metric(set_, free, force, on, W)
    size = (np.abs(force) * set_.reach).max(-1, initial=0.0)
    allowed = at.allowance(FORCES, kind) * size
    if not (np.abs(left * set_.reach).max(-1, initial=0.0) <= allowed).all():
        named = ", ".join(set_.robot.joints if motors is None else (motors,) if isinstance(motors, str) else motors) or "(none)"
        raise ConstraintError(
            f"the motors {named} of {set_.robot.model.name} cannot make this motion: forces along its velocities are off by "
            f"{np.abs(left).max():.3g}. Name more motors; print(robot.constraints.actuation(q, motors)) says what they can move."
        )
    return tau


def _least_in_metric(set_: ConstraintSet, free, force, on, W):
    """The same with the least W-norm."""
    root = np.linalg.inv(np.linalg.cholesky(metric(W, len(on)))).mT
    effect = np.matvec(free, set_.reach * force)
    acting = (free * set_.reach)[..., on] @ root
    u = np.matvec(np.linalg.pinv(acting, rcond=RCOND), effect)
    tau = np.zeros((*u.shape[:-1], set_.robot.nv))
    tau[..., on] = np.matvec(root, u)
    return tau, (effect - np.matvec(acting, u)) / set_.reach


def actuation(set_: ConstraintSet, q, motors=None, t=0.0) -> Actuation:
    """At one configuration."""
    on, free = motor_velocities(set_.robot, motors), AtState(set_, q, None, set_.rows(q, t=t)).free
    rank = int(np.linalg.matrix_rank(free[:, on], tol=RCOND)) if len(on) else 0
    return Actuation(set_.robot.model.name, len(on), round(float(np.trace(free))), rank)
