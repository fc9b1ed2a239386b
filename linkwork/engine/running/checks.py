"""The one check of arrays that users give: numbers, of the shape of a sample, whose batch axes go together."""

from collections.abc import Callable

import numpy as np

from ...errors import LinkworkError, ShapeError
from ...lie.scalars import working_dtype
from ..tracing.program import Input


def array_of(name: str, x):
    """What a user gives, as an array; what is an array of some kind already, unchanged."""
    if hasattr(type(x), "shape"):
        return x
    try:
        return np.asarray(x)
    except (ValueError, TypeError, OverflowError) as error:
        why = "its rows have different lengths" if "inhomogeneous" in str(error) else str(error)
        said = repr(x)
        raise ShapeError(f"{name} is {said if len(said) < 100 else f'{said[:90]} ...'}, which is not an array: {why}.") from None


def run_into(run: Callable, arrays, out, name: str):
    """run(*arrays, out=out); an `out` that does not fit is an error of its own."""
    if out is None:
        return run(*arrays)
    try:
        return run(*arrays, out=out)
    except LinkworkError:
        raise
    except (TypeError, ValueError) as error:
        raise ShapeError(f"out does not fit {name}: {error}. It takes a writable float array of the result's shape.") from error


def checked(owner: str, inputs, given, expected: Callable[[Input], str] | None = None) -> tuple[list[np.ndarray], np.dtype]:
    """What a user gives for these inputs as arrays that pass `check_arrays`, and the dtype to compute in."""
    arrays = [np.asarray(array_of(x.name, array)) for x, array in zip(inputs, given)]
    check_arrays(owner, inputs, arrays, expected)
    return arrays, working_dtype(*arrays)


def check_arrays(owner: str, inputs, arrays, expected: Callable[[Input], str] | None = None) -> None:
    """Raises with the name of the array, what came and what was expected. `owner` is who takes the arrays; `expected` says of
    an input what the owner has, such as "panda has nv = 7"."""
    for x, array in zip(inputs, arrays):
        if isinstance(array, np.ndarray) and (array.dtype.kind not in "fiub" or array.dtype.itemsize > 8):
            raise ShapeError(f"{x.name} has dtype {array.dtype}; {owner} takes float64 or float32.")
        shape = tuple(array.shape)
        if shape[max(0, len(shape) - len(x.shape)) :] != x.shape:
            takes = f"{owner} takes {x.shape} for each sample" if expected is None else expected(x)
            raise ShapeError(f"{x.name} has shape {shape}, but {takes}.")
    axes = {x.name: tuple(array.shape)[: len(array.shape) - len(x.shape)] for x, array in zip(inputs, arrays)}
    try:
        np.broadcast_shapes(*axes.values())
    except ValueError:
        said = ", ".join(f"{name} {shape}" for name, shape in axes.items())
        raise ShapeError(f"the batch axes do not go together: {said}; each pair must be equal, or one of them 1.") from None
