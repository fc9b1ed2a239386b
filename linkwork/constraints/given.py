"""What users give to a constrained robot: arrays and one time, checked, and functions of them over a batch."""

from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np

from ..engine.array import Traced
from ..engine.device import on_device
from ..engine.gufunc import put_into
from ..errors import ConstraintError, ModelError, ShapeError, TraceError
from ..lie.scalars import numbers
from ..quantities import ARRAYS
from .set import ConstraintSet


def one_time(set_: ConstraintSet, t) -> float:
    """A time; None will do where no constraint moves in time."""
    if type(t) is float and isfinite(t):
        return t
    if t is None and set_.moving:
        raise ConstraintError(
            f'{set_.robot.model.name} has constraints that move in time ("{", ".join(set_.moving)}"): say when, t=0.5.'
        )
    if t is not None and ((not np.isscalar(t) and np.shape(t) != ()) or not np.isfinite(numbers(t)).all()):
        raise ShapeError(f"t is {t!r}; it is one finite time for all samples. Call once for each time.")
    return 0.0 if t is None else float(t)


def some(**optional) -> dict[str, Any]:
    """Those of some optional arrays that are given."""
    return {name: x for name, x in optional.items() if x is not None}


def fitting(set_: ConstraintSet, given: dict[str, Any]) -> tuple[list[np.ndarray], np.dtype]:
    """What was given, by name, as arrays of the right shapes, and the dtype of a result."""
    lowered = set_.robot.lowered
    return lowered.checked([lowered.input(name, ARRAYS[name]) for name in given], given.values())


def one_configuration(set_: ConstraintSet, name: str, q) -> np.ndarray:
    """q (nq,) of what is about one configuration."""
    ((q,), _) = fitting(set_, {"q": q})
    if q.ndim > 1:
        raise ShapeError(f"{name} is about one configuration, but q has shape {q.shape}: call it for each of them.")
    return q.astype(float, copy=False)


def arrays_of(set_: ConstraintSet, name: str, given: dict[str, Any]) -> tuple[list[np.ndarray], np.dtype]:
    """What was given for a quantity, as float64 arrays of the right shapes, and the dtype of the result."""
    check_no_kernel(set_, name, given.values())
    if any(on_device(x) for x in given.values()):
        raise ModelError(
            f"{name} of {set_.robot.model.name}, which has loops, couplings or constraints, runs on the CPU: "
            "give it NumPy arrays, such as x.cpu().numpy()."
        )
    if any(getattr(x, "requires_grad", False) for x in given.values()):
        raise ModelError(
            f"{name} of {set_.robot.model.name}, which has loops, couplings or constraints, has no gradient for torch: which velocities "
            "depend on which is decided from numbers. Pass x.detach(); derivatives are those of robot.constraints."
        )
    arrays, kind = fitting(set_, given)
    return [x.astype(float, copy=False) for x in arrays], kind


def check_no_kernel(set_: ConstraintSet, name: str, given) -> None:
    """Raises where a quantity is asked for inside of a user's kernel."""
    if any(isinstance(x, Traced) for x in given):
        raise TraceError(
            f"{name} of {set_.robot.model.name}, which has loops, couplings or constraints, cannot be part of another kernel: which "
            f"velocities depend on which is decided from numbers. Call robot.{name}(...) outside, and give the kernel its result."
        )


def where_finite(arrays, cores, function: Callable) -> np.ndarray:
    """function(arrays...) over a batch: NaN for a sample that is not finite. `cores` are the dimensions of one sample of each array."""
    batch = np.broadcast_shapes(*(x.shape[: x.ndim - n] for x, n in zip(arrays, cores)))
    finite = np.ones(batch, bool)
    for x, n in zip(arrays, cores):
        finite &= np.isfinite(x).all(tuple(range(x.ndim - n, x.ndim)))
    if finite.all():
        result = function(*arrays)
        return result if result.shape[: len(batch)] == batch else np.broadcast_to(result, batch + result.shape[len(batch) :]).copy()
    found = function(*(np.broadcast_to(x, batch + x.shape[x.ndim - n :])[finite] for x, n in zip(arrays, cores)))
    result = np.full((*batch, *found.shape[1:]), np.nan)
    result[finite] = found
    return result


def each(set_: ConstraintSet, name: str, function: Callable, given: dict[str, Any], t, out, **options):
    """function(set, arrays by name..., options..., t=, kind=), in NumPy, over a batch: a sample that is not finite gets NaN, and
    the others their results."""
    t = one_time(set_, t)
    arrays, kind = arrays_of(set_, name, given)
    run = lambda *arrays: function(set_, **dict(zip(given, arrays)), **options, t=t, kind=kind)
    result = where_finite(arrays, [len(ARRAYS[x]) for x in given], run).astype(kind)
    if out is not None and np.shape(out) != result.shape:
        raise ShapeError(f"out has shape {np.shape(out)}, but {name} of these arrays has {result.shape}.")
    return result if out is None else put_into(out, result)
