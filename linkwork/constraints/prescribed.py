"""Prescribed joints under constraints: accelerations of some joints are given, and forces of the others."""

import numpy as np

from .. import quantities
from ..errors import ConstraintError, ModelError
from .rows.rank import Factored
from .rows.set import ConstraintSet
from .solution.at_state import INCONSISTENT, AtState, free_inertia, left_free
from .solution.move_squeeze import least_forces
from .systems.under_constraints import under_constraints


@under_constraints(quantities.hybrid_dynamics)
def hybrid_dynamics(set_: ConstraintSet, q, v, given, prescribed, external=None, t=0.0, kind=np.float64):
    """Forces where `given` is an acceleration (prescribed = 1), accelerations where it is a force (0): (..., nv).

    An acceleration that is given is one more row. With B and F = I − B the projectors on what the rows bind and on what they leave
    free, w any acceleration that keeps them, and s any mass,

        v̇ = w + F (F 𝓜 F + s B)⁻¹ F (τ − 𝓜 w − 𝓒)

    Where more is prescribed than can move by itself, the least forces are returned that make v̇.
    """
    quantities.hybrid_dynamics.demands(q, v, given, prescribed)
    held = prescribed * np.ones_like(given)
    at, robot, nv = AtState.of(set_, q, v, t), set_.robot, set_.robot.nv
    rows = at.rows
    told = held[..., :, None] * np.eye(nv)
    batch = np.broadcast_shapes(rows.Jc.shape[:-2], told.shape[:-2])
    stack = lambda parts, axis: np.concatenate([np.broadcast_to(x, batch + x.shape[axis:]) for x in parts], axis)
    factored = Factored(stack([set_.without_units(rows.Jc), told], -2), at.least)
    wanted = stack([-rows.gamma / set_.scale, held * given / set_.reach], -1)
    w, left = factored.preimage(wanted)
    _check_prescribed(at, left, wanted, kind)
    free, tau = left_free(factored), (1 - held) * given
    push = np.matvec(free, set_.reach * (tau - at.needed(set_.reach * w, external)))
    try:
        u = np.linalg.solve(free_inertia(set_, robot.mass_matrix(q), free), push[..., None])[..., 0]
    except np.linalg.LinAlgError:
        raise ModelError(
            f"{robot.model.name}: a motion that its constraints and the prescribed joints leave free moves nothing that has inertia. "
            "Prescribe more joints, or give what they carry a mass."
        ) from None
    vdot = set_.reach * (w + np.matvec(free, u))
    forces, _ = least_forces(set_, at.free, at.needed(vdot, external) - tau, held)
    return np.where(held != 0, forces, vdot)


def _check_prescribed(at: AtState, left, wanted, kind) -> None:
    """The given accelerations agree with the constraints, and with each other."""
    set_ = at.set
    size = np.abs(wanted).max(-1, initial=0.0) + np.abs(at.v / set_.reach).max(-1, initial=0.0) ** 2
    allowed = at.allowance(INCONSISTENT, kind) * size
    off = np.abs(left).max(-1, initial=0.0)
    if not (off <= allowed).all():
        robot, m = set_.robot, len(set_)
        broken = np.abs(left).reshape(-1, left.shape[-1]).max(0) > np.min(allowed)
        joints = [x for x in robot.joints if broken[m:][robot.v_index(x)].any()]
        names = dict.fromkeys(set_.labels[i][0] for i in np.flatnonzero(broken[:m]))
        raise ConstraintError(
            f"the accelerations prescribed for {', '.join(joints) or 'the joints'} of {robot.model.name} cannot all be: with "
            f"{', '.join(names) or 'the other joints'} they contradict each other by {off.max():.3g}. Prescribe as many joints as it has "
            "degrees of freedom, or accelerations that agree: robot.constraints.possible(q, v, vdot)."
        )
