"""Where the samples of an ensemble start: on their constraints, each with its own constants; a sample that cannot start is told apart."""

from collections.abc import Mapping

import numpy as np

from ...constraints.states.states import CLOSE_ENOUGH
from ...errors import ConstraintError, SimulationError
from ..rates.held import Keeper
from ..rates.on_constraints import OnConstraints
from .ensemble import NOT_FINITE, OPEN


def finite(Q, V, given: Mapping[str, np.ndarray]) -> np.ndarray:
    """The reason not to start of each sample: a state or constants that are no numbers, else 0. Raises if that is so of all of them."""
    arrays = {"q": Q, "v": V, **given}
    wrong = {name: ~np.isfinite(x).all(tuple(range(1, x.ndim))) for name, x in arrays.items()}
    reasons = np.where(np.any(list(wrong.values()), axis=0), NOT_FINITE, 0.0)
    if len(Q) and reasons.all():
        name = next(name for name, x in wrong.items() if x.any())
        raise SimulationError(f"{name} of {wrong[name].sum()} states has entries that are not finite, so that none of them can start.")
    return reasons


def on_constraints(keeper: Keeper, constraints: OnConstraints, t: float, Q, V, given: Mapping, reasons):
    """The states put on the constraints, and the reasons of those that are none of the mechanism. Raises if that is so of all of them."""
    Q, V, reasons, some = Q.copy(), V.copy(), reasons.copy(), np.flatnonzero(reasons == 0)
    if not len(some):
        return Q, V, reasons
    if constraints.varying is None:
        return _of_one_model(keeper, t, Q, V, reasons, some)
    q, v, is_open, is_fast = constraints.put_back(t, Q[some], V[some], {name: x[some] for name, x in given.items()})
    wrong = ~(is_open <= CLOSE_ENOUGH) | ~(is_fast <= CLOSE_ENOUGH) | np.isnan(q).any(-1)
    if wrong.all():
        raise ConstraintError(
            f"no sample starts on the constraints of {keeper.robot.model.name} with its constants: loops are open by {np.min(is_open):.3g} "
            f"of the size of the mechanism at least, velocities off by {np.min(is_fast):.3g}. Give each sample a state that closes its own "
            "loops: varying.assemble(q, ...) does, with the constants by name."
        )
    Q[some], V[some] = np.where(wrong[:, None], Q[some], q), np.where(wrong[:, None], V[some], v)
    reasons[some] = np.where(wrong, OPEN, 0.0)
    return Q, V, reasons


def _of_one_model(keeper: Keeper, t: float, Q, V, reasons, some):
    """The same where all samples are one mechanism: as single runs start."""
    held = keeper.held
    assert held is not None
    try:
        held.check(Q[some], V[some], t)
        Q[some], V[some] = held.put_back(Q[some], V[some], t)
        return Q, V, reasons
    except ConstraintError as error:
        first = error
    for i in some:  # one by one, to tell which
        try:
            held.check(Q[i], V[i], t)
            Q[i], V[i] = held.put_back(Q[i], V[i], t)
        except ConstraintError:
            reasons[i] = OPEN
    if reasons.all():
        raise first
    return Q, V, reasons
