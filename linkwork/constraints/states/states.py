"""States that keep constraints: whether one does, and the way back to one that does. Methods of `Constrained`."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ConstraintError, ModelError, OptionError, ShapeError, deprecated
from ...lie.scalars import numbers
from ...model.coordinates import generator
from ..solution.arguments import fitting, with_arrays
from ..solution.at_state import OPEN, check_closed
from ..systems.choice_kernels import Pick
from . import assembly, projection

if TYPE_CHECKING:
    from ..constrained import Constrained

PUT_BACK = 100 * assembly.CLOSED  # what may be left of c where a state was put back on the constraints
CLOSE_ENOUGH = 1e-6  # of the mechanism's size, or of its speed: what a state may be off where one is given


@with_arrays(finite=True)
def assemble(self: "Constrained", q, hold: Iterable[str | int] = (), t=None, tolerance: float | None = None) -> np.ndarray:
    """The q nearest to a guess in which every loop is closed; `hold` names joints that stay as they are. With a tolerance,
    constraints that contradict each other are met in the least-squares sense, up to that."""
    tolerance = self.may_be_open(assembly.CLOSED) if tolerance is None else checked_tolerance(tolerance)
    if self.rolled is not None and not len(listed(hold)):
        return assembly.each_loop(self.set, self.rolled.local, q, tolerance)
    return assembly.assemble(self.set, q, hold=listed(hold), t=self.time(t), tolerance=tolerance)


@with_arrays
def check(self: "Constrained", q, v, t=None) -> None:
    """(q, v) keeps the constraints, but for rounding; or it is said which it breaks, and what to do."""
    close = self.may_be_open(CLOSE_ENOUGH)
    if self.rolled is not None and q.ndim == v.ndim == 1:
        c, off, size, most = self.rolled.local.along(q, v)
        U, size, most = np.zeros(len(c)), (size / self.set.scale).max(initial=0.0), most.max(initial=0.0)
    else:
        rows = self.set.rows(q, t=self.time(t))
        c, U, off = rows.c, rows.U, np.matvec(rows.Jc, v) - rows.U
        size = (np.matvec(np.abs(rows.Jc), np.abs(v)) / self.set.scale).max(-1, keepdims=True, initial=0.0)
        most = np.abs(self.set.without_units(rows.Jc)).max((-2, -1), initial=0.0)[..., None]
    check_closed(self.set, c, close)
    rounding = 1e-13 * most * np.abs(v / self.set.reach).max(-1, keepdims=True, initial=0.0)
    wrong = np.abs(off) / self.set.scale
    if (wrong > close * (size + np.abs(U) / self.set.scale) + rounding).any():
        name, row = self.set.labels[int(np.argmax(wrong.reshape(-1, len(self)).max(0)))]
        raise ConstraintError(
            f'the velocities break "{name}" of {self.robot.model.name} by {np.abs(off).max():.3g} '
            f"({row}). robot.constraints.project(q, v) gives the nearest that keep the constraints."
        )


def contradiction(self: "Constrained", q, t=None) -> str:
    """What to say of constraints that contradict each other at q by less than the tolerance, if there is one; else nothing."""
    if self.tolerance is None or not self.set.misfit(c := self.set.residual(q, self.time(t))) > PUT_BACK:
        return ""
    return f"the constraints contradict each other and are met in the least-squares sense: open are {', '.join(self.set.bad(c, PUT_BACK))}"


@with_arrays
def tangent(self: "Constrained", q, w, t=None):
    """Of velocities w (m, nv) at one q the part that `project` would leave of them, drives at rest."""
    (q, w), _ = fitting(self.set, {"q": q, "v": w})
    if q.ndim != 1 or w.ndim != 2:
        raise ShapeError(f"tangent takes q ({self.robot.nq},) and w (m, {self.nv}); they have shapes {q.shape} and {w.shape}.")
    if self.set.massless or not len(w):
        return w
    if (kernel := self.returns("tangent")) is not None:
        (allowed,), bad = kernel(np.broadcast_to(q, (len(w), len(q))), w, t=self.time(t))
        if bad is None:
            return allowed
    return projection.tangent(self.set, q, w, self.time(t))


@with_arrays
def project(self: "Constrained", q, v, t=None, hold: Iterable[str | int] = (), fixed=None):
    """The nearest (q, v) that keeps the constraints, in the metric of the mass matrix:

        𝓜(q) log(q⁻¹ ∘ q₀) = Jc* λ,   𝓜(q) (v₀ − v) = Jc* μ          c(q) = 0,  Jc v = U

    the way back to (q₀, v₀), which was given, is orthogonal to every motion that the constraints allow. Where a joint moves nothing
    with inertia there is no such metric: radians, and lengths against the size of the mechanism, take its place.

    `hold` names joints (or numbers velocities) that stay as they are: the others alone take the correction.
    """
    if fixed is not None:
        if listed(hold):
            raise OptionError("project was given hold= and fixed=, the old and the new name of one thing; give hold= alone.")
        deprecated("project(fixed=...)", "project(hold=...)")
        hold = fixed
    plain = partial(projection.project, self.set, t=self.time(t), hold=listed(hold), tolerance=self.may_be_open(PUT_BACK))
    if listed(hold):
        return plain(q, v)
    return _returned(self, "" if self.set.massless else "nearest", plain, q, v, self.time(t))[0]


def put_back(self: "Constrained", q, v, t=None, hold=()):
    """(q, v) on the constraints again, by steps that are each the shortest: what `project` gives, but for the square of how far it was.
    For states of a run. Where a joint moves nothing with inertia, by `lift`."""
    if self.set.massless and not len(hold):
        return lifted(self, q, v, t)[0]
    t, tolerance = self.time(t), self.may_be_open(PUT_BACK)
    plain = partial(projection.project, self.set, t=t, hold=hold, tolerance=tolerance, nearest=False)
    return plain(q, v) if len(hold) else _returned(self, "put_back", plain, q, v, t)[0]


@with_arrays
def lift(self: "Constrained", q, v, t=None):
    """(q, v) put back on the constraints by its dependent velocities alone, the independent ones as they are."""
    return lifted(self, q, v, t)[0]


def lifted(self: "Constrained", q, v, t, first: Pick | None = None):
    """The same with one choice of dependent velocities first, and how good that choice still is, 1 where it was made."""
    t = self.time(t)
    plain = partial(projection.lift, self.set, t=t, tolerance=self.may_be_open(PUT_BACK))
    return _returned(self, "lift", plain, q, v, t, first)


def _returned(self: "Constrained", name: str, plain: Callable, q, v, t: float, first: Pick | None = None):
    """The state that a return gives, and the quality of the choice: by a kernel; samples that no choice serves, or that do not get there,
    in NumPy, by singular values. NaN in, NaN out."""
    q, v = (np.asarray(x, float) for x in (q, v))
    kernel = self.returns(name) if name and np.size(q) else None
    if kernel is None:
        return plain(q, v), 1.0
    try:
        (here, slow, size, *quality), bad = kernel(q, v, t=t, first=first)
    except ValueError:
        fitting(self.set, {"q": q, "v": v})
        raise
    open_ = size > PUT_BACK if bad is None else bad | (size > PUT_BACK)
    if open_.any() or not np.isfinite(slow).all():
        open_ = (open_ | ~np.isfinite(slow).all(-1)) & np.isfinite(q).all(-1) & np.isfinite(v).all(-1)
        here, slow, start, fast = (np.broadcast_to(x, (*open_.shape, x.shape[-1])).copy() for x in (here, slow, q, v))
        here[open_], slow[open_] = plain(start[open_], fast[open_])
    return (here, slow), float(np.min(quality)) if quality else 1.0


def random_state(self: "Constrained", seed=None, reach=1.0, t=None):
    """A state that keeps the constraints, near the assembly closest to neutral."""
    if numbers(reach).ndim or not 0 <= numbers(reach) < np.inf:
        raise OptionError(f"reach is {reach!r}; it takes a number that is not negative, in radians or sizes of the mechanism.")
    rng, start = generator(seed), self.assemble(self.robot.neutral(), t=t)
    for share in (1, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 0.0):
        guess = self.robot.integrate(start, share * float(reach) * self.set.yielding * rng.uniform(-1, 1, self.nv))
        try:
            q = self.assemble(guess, t=t)
            break
        except ValueError:
            continue
    return self.project(q, rng.standard_normal(self.nv), t=t)


def checked_tolerance(tolerance) -> float:
    if numbers(tolerance).ndim or not 0 <= numbers(tolerance) <= OPEN:
        raise ModelError(f"tolerance is {tolerance!r}; it must be a number from 0 to {OPEN}, of a radian or of the mechanism's size.")
    return float(tolerance)


def listed(hold) -> tuple:
    """Joints or velocities to hold, one or several."""
    if hold is None:
        return ()
    return tuple(hold) if isinstance(hold, Iterable) and not isinstance(hold, str) else (hold,)
