"""Linearization in minimal coordinates: small changes of a motion under constraints, by those of its independent velocities.

    δq = X̲ δs,    δv = X δu + h δq,    δṡ = (δv − ad(v) δq) of the independent positions,    δu̇ = δv̇ of the independent velocities

X̲ and X are the motions that rows allow, X̲ those that bind positions alone, with ones where s and u are; h δq, zero there, is the velocity
that the rows ask for at q ∘ exp δq. Under rolling and knife edges there are more positions than velocities.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ConstraintError
from ..model.coordinates import entry_names
from .choice.partition import projective
from .derivatives import Allowed, MotionSlopes
from .rows.rank import RANK
from .rows.set import ConstraintSet
from .solution.at_state import AtState
from .solution.reduced import independent


@dataclass(frozen=True, eq=False)
class Minimal:
    """A (..., n, n), B (..., n, nv) of x = (δs, δu), and the numbers in v of the independent positions and velocities."""

    A: Any
    B: Any
    positions: np.ndarray
    velocities: np.ndarray


def linearization(set_: ConstraintSet, q, v, tau, brackets, passive, external=None, t: float = 0.0, which=None) -> Minimal:
    """At states (..., nq), (..., nv). `which` are the independent positions and velocities, chosen at the first state if not given;
    `brackets` are ad(v), `passive` the slopes by q and v (..., nv, nv) of forces that are part of τ."""
    at = MotionSlopes.of(set_, q, v, tau, external, t)
    positions, velocities = which or chosen(set_, at, np.reshape(q, (-1, np.shape(q)[-1]))[0], t)
    along, X = (basis(set_, *x) for x in ((at.placed, positions, "positions"), (at.allowed, velocities, "velocities")))
    asked = at.v_q @ along
    asked = asked - X @ asked[..., velocities, :]
    spring, damper = (at.allowed.Y @ x for x in passive)
    pull, drag = at.by_q + spring, at.by_v + damper
    columns = [(along, asked), (np.zeros_like(X), X)]
    moved = np.concatenate([(dv - brackets @ dq)[..., positions, :] for dq, dv in columns], -1)
    bent = np.concatenate([(pull @ dq + drag @ dv)[..., velocities, :] for dq, dv in columns], -1)
    B = np.concatenate([np.zeros_like(at.allowed.Y)[..., positions, :], at.allowed.Y[..., velocities, :]], -2)
    return Minimal(np.concatenate([moved, bent], -2), B, positions, velocities)


def basis(set_: ConstraintSet, allowed: Allowed, which, what: str):
    """The motions that rows allow (..., nv, n), each of ones and zeros at n velocities."""
    columns, mobility = allowed.P[..., which], np.rint(np.trace(allowed.P, axis1=-2, axis2=-1))
    square = (columns * set_.reach[which] / set_.reach[:, None])[..., which, :]
    sigma = np.linalg.svd(square, compute_uv=False)
    if not (mobility == len(which)).all() or not (sigma > RANK).all():
        chosen = ", ".join(entry_names(set_.robot.model)[1][i] for i in which)
        raise ConstraintError(
            f"{set_.robot.model.name}: the {what} that were chosen as independent ({chosen}) do not decide the others in every state; "
            f"there are {int(mobility.min())} to {int(mobility.max())} independent ones. Linearize the states one by one, or name others."
        )
    return columns @ np.linalg.inv(columns[..., which, :])


def chosen(set_: ConstraintSet, at: MotionSlopes, q, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Independent positions and velocities at one state, the latter among the former."""
    first = lambda x: x.reshape(-1, *x.shape[-2:])[0]
    velocities = np.asarray(independent(AtState(set_, q, None, set_.rows(q, t=t)), t))
    if at.placed is at.allowed:
        return velocities, velocities
    U, s, _ = np.linalg.svd(first(at.placed.P) * set_.reach / set_.reach[:, None])
    T = U[:, s > 0.5]  # of a projector, whose singular values are 0, or 1 and more: orthonormal columns of what it leaves
    _, _, Vh = np.linalg.svd(T[velocities])
    more = projective(np.eye(len(T)), T @ Vh[len(velocities) :].T)
    return np.sort(np.concatenate([velocities, more])), velocities
