"""States that keep constraints: whether one does, and the way back to one that does."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ConstraintError
from ..solution.at_state import check_closed
from ..solution.given import fitting
from ..systems.kernels import Pick
from . import assembly, projection

if TYPE_CHECKING:
    from ..constrained import Constrained

PUT_BACK = 100 * assembly.CLOSED  # what may be left of c where a state was put back on the constraints
CLOSE_ENOUGH = 1e-6  # of the mechanism's size, or of its speed: what a state may be off where one is given


def check(held: "Constrained", q, v, t: float) -> None:
    """(q, v) keeps the constraints, but for rounding; or it is said which it breaks, and what to do."""
    q, v = np.asarray(q, float), np.asarray(v, float)
    close = held.may_be_open(CLOSE_ENOUGH)
    if held.rolled is not None and q.ndim == v.ndim == 1:
        c, off, size, most = held.rolled.local.along(q, v)
        U, size, most = np.zeros(len(c)), (size / held.set.scale).max(initial=0.0), most.max(initial=0.0)
    else:
        rows = held.set.rows(q, t=t)
        c, U, off = rows.c, rows.U, np.matvec(rows.Jc, v) - rows.U
        size = (np.matvec(np.abs(rows.Jc), np.abs(v)) / held.set.scale).max(-1, keepdims=True, initial=0.0)
        most = np.abs(held.set.without_units(rows.Jc)).max((-2, -1), initial=0.0)[..., None]
    check_closed(held.set, c, close)
    rounding = 1e-13 * most * np.abs(v / held.set.reach).max(-1, keepdims=True, initial=0.0)
    wrong = np.abs(off) / held.set.scale
    if (wrong > close * (size + np.abs(U) / held.set.scale) + rounding).any():
        name, row = held.set.labels[int(np.argmax(wrong.reshape(-1, len(held)).max(0)))]
        raise ConstraintError(
            f'the velocities break "{name}" of {held.robot.model.name} by {np.abs(off).max():.3g} '
            f"({row}). robot.constraints.project(q, v) gives the nearest that keep the constraints."
        )


def contradiction(held: "Constrained", q, t: float) -> str:
    """What to say of constraints that contradict each other at q by less than the tolerance, if there is one; else nothing."""
    if held.tolerance is None:
        return ""
    rows = held.set.rows(q, t=t)
    if not held.set.misfit(rows.c) > PUT_BACK:
        return ""
    return (
        "the constraints contradict each other and are met in the least-squares sense: "
        f"open are {', '.join(held.set.bad(rows.c, PUT_BACK))}"
    )


def tangent(held: "Constrained", q, w, t: float):
    """Of velocities w (m, nv) at one q the part that a return to the constraints would leave of them, drives at rest."""
    if held.set.massless or not len(w):
        return w
    if (kernel := held.returns("tangent")) is not None:
        (allowed,), bad = kernel(np.broadcast_to(q, (len(w), len(q))), w, t=t)
        if bad is None:
            return allowed
    return projection.tangent(held.set, q, w, t)


def nearest(held: "Constrained", q, v, t: float):
    """The nearest state on the constraints, as `projection.project` says."""
    plain = partial(projection.project, held.set, t=t, tolerance=held.may_be_open(PUT_BACK))
    return _returned(held, "" if held.set.massless else "nearest", plain, q, v, t)[0]


def put_back(held: "Constrained", q, v, t: float, dependent: bool, first: Pick | None = None):
    """The state on the constraints and the quality of the choice."""
    plain = projection.lift if dependent else partial(projection.project, nearest=False)
    plain = partial(plain, held.set, t=t, tolerance=held.may_be_open(PUT_BACK))
    return _returned(held, "lift" if dependent else "put_back", plain, q, v, t, first)


def _returned(held: "Constrained", name: str, plain: Callable, q, v, t: float, first: Pick | None = None):
    """The state that a return gives, and the quality of the choice: by a kernel; samples that no choice serves, or that do not get there,
    in NumPy, by singular values."""
    q, v = (np.asarray(x, float) for x in (q, v))
    kernel = held.returns(name) if name and np.size(q) else None
    if kernel is None:
        return plain(q, v), 1.0
    try:
        (here, slow, size, *quality), bad = kernel(q, v, t=t, first=first)
    except ValueError:
        fitting(held.set, {"q": q, "v": v})
        raise
    open_ = size > PUT_BACK if bad is None else bad | (size > PUT_BACK)
    return _others_in_numpy(plain, q, v, here, slow, open_), float(np.min(quality)) if quality else 1.0


def _others_in_numpy(plain: Callable, q, v, here, slow, open_):
    """States that were put back; those that are open, or have no velocities, are put back by `plain`. NaN in, NaN out."""
    if not open_.any() and np.isfinite(slow).all():
        return here, slow
    open_ = (open_ | ~np.isfinite(slow).all(-1)) & np.isfinite(q).all(-1) & np.isfinite(v).all(-1)
    if open_.any():
        here, slow, start, fast = (np.broadcast_to(x, (*open_.shape, x.shape[-1])).copy() for x in (here, slow, q, v))
        here[open_], slow[open_] = plain(start[open_], fast[open_])
    return here, slow


def random_state(held: "Constrained", rng: np.random.Generator, reach: float, t: float):
    """A state that keeps the constraints, near the assembly closest to neutral."""
    start = held.assemble(held.robot.neutral(), t=t)
    for scale in (reach, reach / 2, reach / 4, reach / 8, reach / 16, 0.0):
        guess = held.robot.integrate(start, scale * held.set.yielding * rng.uniform(-1, 1, held.nv))
        try:
            q = held.assemble(guess, t=t)
            break
        except ValueError:
            continue
    return held.project(q, rng.standard_normal(held.nv), t=t)
