"""Arguments of a constrained robot: arrays and one time, checked, functions of them over a batch, and their precision: constraints
compute in double precision whatever comes in, and answer in the precision of what came."""

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial, wraps
from inspect import signature
from math import isfinite
from typing import Any

import numpy as np

from ...engine.loading.gufunc import put_into
from ...engine.running.checks import array_of
from ...engine.running.device import on_device
from ...engine.tracing.array import Traced
from ...errors import ConstraintError, ModelError, ShapeError, TraceError
from ...lie.scalars import numbers, working_dtype
from ...quantities import ARRAYS
from ..rows.set import ConstraintSet

OF_VIEWS = {"u", "udot", "w"}  # arrays whose shapes the methods that take them check


def one_time(set_: ConstraintSet, t) -> float:
    """A time; None will do where no constraint moves in time."""
    if type(t) is float and isfinite(t):
        return t
    if t is None and set_.moving:
        raise ConstraintError(
            f'{set_.robot.model.name} has constraints that move in time ("{", ".join(set_.moving)}"): say when, t=0.5.'
        )
    if t is not None and (numbers(t).ndim or not np.isfinite(numbers(t))):
        raise ShapeError(f"t is {t!r}; it is one finite time for all samples. Call once for each time.")
    return 0.0 if t is None else float(t)


def some(**optional) -> dict[str, Any]:
    """Those of some optional arrays that are given."""
    return {name: x for name, x in optional.items() if x is not None}


def fitting(set_: ConstraintSet, given: dict[str, Any]) -> tuple[list[np.ndarray], np.dtype]:
    """Returns arguments, by name, as arrays of the right shapes, and the dtype of a result."""
    lowered = set_.robot.lowered
    return lowered.checked([lowered.input(name, ARRAYS[name]) for name in given], given.values())


def check_finite(set_: ConstraintSet, name: str, arrays: dict[str, Any]) -> None:
    """Raises where something that decides about ranks is no number."""
    for what, x in arrays.items():
        if not np.isfinite(x).all():
            raise ConstraintError(f"{name} of {set_.robot.model.name} takes finite numbers; {what} has {x[~np.isfinite(x)][0]}.")


def with_arrays(method: Callable | None = None, *, finite: bool = False):
    """Wraps a method of constraints, or of a view of them: arrays of states and forces come to it with the right shapes, in float64, with
    `finite` as numbers, or it is said what is wrong with which. Results have the precision of what came."""
    if method is None:
        return partial(with_arrays, finite=finite)
    parameters = dict(list(signature(method).parameters.items())[1:])
    names, name = list(parameters), method.__name__

    @wraps(method)
    def run(self, *given, **named):
        arguments = {**dict(zip(names, given)), **named}
        arrays = {key: x for key, x in arguments.items() if key in ARRAYS and (x is not None or parameters[key].default is not None)}
        others = {key: np.asarray(array_of(key, x)) for key, x in arguments.items() if key in OF_VIEWS}
        if len(given) > len(names) or not (arrays or others):
            return method(self, *given, **named)
        checked = dict(zip(arrays, arrays_of(self.set, name, arrays, kept=True)[0]))
        if finite:
            check_finite(self.set, name, checked)
        kind = working_dtype(*checked.values(), *others.values())
        wide = {key: x.astype(float, copy=False) if x.dtype.kind == "f" else x for key, x in (checked | others).items()}
        found = method(self, **(arguments | wide))
        return rounded(found, kind) if kind.itemsize < 8 else found

    return run


def rounded(found: Any, kind: np.dtype):
    """Arrays, and what is made of arrays, in another precision; what is no float array stays."""
    if isinstance(found, (np.ndarray, np.floating)):
        return found.astype(kind, copy=False) if found.dtype.kind == "f" else found
    if isinstance(found, tuple):
        return tuple(rounded(x, kind) for x in found)
    if isinstance(found, dict):
        return {name: rounded(x, kind) for name, x in found.items()}
    if is_dataclass(found) and not isinstance(found, type):
        return replace(found, **{f.name: rounded(getattr(found, f.name), kind) for f in fields(found)})
    return found


def finite_arrays(set_: ConstraintSet, name: str, given: dict[str, Any]) -> tuple[dict[str, np.ndarray], np.dtype]:
    """Returns the arguments of a quantity, by name, as finite arrays of float64, and the dtype of the result."""
    found, kind = arrays_of(set_, name, given)
    arrays = dict(zip(given, found))
    check_finite(set_, name, arrays)
    return arrays, kind


def one_batch(set_: ConstraintSet, name: str, given: dict[str, Any]) -> list[np.ndarray]:
    """Finite arrays of one batch of states, at least one, all with its axes."""
    arrays, _ = arrays_of(set_, name, given, kept=True)
    check_finite(set_, name, dict(zip(given, arrays)))
    batch, whole = one_for_all(arrays, [len(ARRAYS[x]) for x in given])
    if 0 in batch:
        raise ShapeError(f"{name} of {set_.robot.model.name} has no state: its batch has shape {batch}.")
    return whole


def one_configuration(set_: ConstraintSet, name: str, q) -> np.ndarray:
    """q (nq,) of what is about one configuration."""
    ((q,), _) = fitting(set_, {"q": q})
    if q.ndim > 1:
        raise ShapeError(f"{name} is about one configuration, but q has shape {q.shape}: call it for each of them.")
    check_finite(set_, name, {"q": q})
    return q.astype(float, copy=False)


def arrays_of(set_: ConstraintSet, name: str, given: dict[str, Any], *, kept: bool = False) -> tuple[list[np.ndarray], np.dtype]:
    """Returns the arguments of a quantity as arrays of the right shapes, float64 unless their precision is `kept`, and the dtype of the
    result."""
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
    return arrays if kept else [x.astype(float, copy=False) for x in arrays], kind


def check_no_kernel(set_: ConstraintSet, name: str, given) -> None:
    """Raises where a quantity is asked for inside of a user's kernel."""
    if any(isinstance(x, Traced) for x in given):
        raise TraceError(
            f"{name} of {set_.robot.model.name}, which has loops, couplings or constraints, cannot be part of another kernel: which "
            f"velocities depend on which is decided from numbers. Call robot.{name}(...) outside, and give the kernel its result."
        )


def one_for_all(arrays, cores) -> tuple[tuple[int, ...], list[np.ndarray]]:
    """The batch of some arrays, and each with all its axes; `cores` are the dimensions of one sample of each."""
    batch = np.broadcast_shapes(*(x.shape[: x.ndim - n] for x, n in zip(arrays, cores)))
    return batch, [np.broadcast_to(x, batch + x.shape[x.ndim - n :]) for x, n in zip(arrays, cores)]


def where_finite(arrays, cores, function: Callable) -> Any:
    """function(arrays...) over a batch, one result or several: NaN for a sample that is not finite."""
    batch, whole = one_for_all(arrays, cores)
    finite = np.logical_and.reduce([np.isfinite(x).all(tuple(range(len(batch), x.ndim))) for x in whole])
    if finite.all():
        fill = lambda x: x if x.shape[: len(batch)] == batch else np.broadcast_to(x, batch + x.shape[len(batch) :]).copy()
        found = function(*arrays)
    else:
        fill = lambda x: _among(x, finite)
        found = function(*(x[finite] for x in whole))
    return tuple(map(fill, found)) if isinstance(found, tuple) else fill(found)


def sample_by_sample(function: Callable, arrays, cores, like: Sequence[int]) -> list[np.ndarray]:
    """function(arrays...) of each sample by itself; its results have the shapes of the arrays with the numbers `like`."""
    batch, whole = one_for_all(arrays, cores)
    results = [np.zeros(whole[i].shape) for i in like]
    for at in np.ndindex(*batch):
        for out, found in zip(results, function(*(x[at] for x in whole))):
            out[at] = found
    return results


def _among(found, finite):
    """Results of the finite samples, NaN for the others."""
    result = np.full((*finite.shape, *found.shape[1:]), np.nan)
    result[finite] = found
    return result


def each(set_: ConstraintSet, name: str, function: Callable, given: dict[str, Any], t, out, **options):
    """function(set, arrays by name..., options..., t=, kind=), in NumPy, over a batch: a sample that is not finite gets NaN, and
    the others their results."""
    t = one_time(set_, t)
    arrays, kind = arrays_of(set_, name, given)
    run = lambda *arrays: function(set_, **dict(zip(given, arrays)), **options, t=t, kind=kind)
    found = where_finite(arrays, [len(ARRAYS[x]) for x in given], run)
    results = tuple(x.astype(kind) for x in (found if isinstance(found, tuple) else (found,)))
    if out is None:
        return results if isinstance(found, tuple) else results[0]
    into = out if isinstance(out, tuple) else (out,)
    if [np.shape(x) for x in into] != [x.shape for x in results]:
        said = ", ".join(str(np.shape(x)) for x in into), ", ".join(str(x.shape) for x in results)
        raise ShapeError(f"out has shape {said[0]}, but {name} of these arrays has {said[1]}.")
    return put_into(out, *results)
