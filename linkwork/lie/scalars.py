"""Operations on scalars that differ between float arrays and traced arrays.

The same code runs on float arrays with leading batch axes and on traced arrays. Where the two must differ, the type of
the argument decides: `like.register`, `unit.register`, `opaque.register` and `still.register` add a type.
"""

from collections.abc import Callable
from functools import singledispatch, wraps
from typing import TypeVar

import numpy as np

from ..errors import ShapeError

Function = TypeVar("Function", bound=Callable)


def of_arrays(function: Function) -> Function:
    """The function with lists, tuples and plain numbers among its arguments made arrays of floats; all else is as it is."""

    @wraps(function)
    def run(*arguments, **named):
        return function(*map(_array, arguments), **{name: _array(x) for name, x in named.items()})

    return run  # type: ignore[return-value]


def _array(x):
    if type(x) not in (list, tuple, float, int):
        return x
    x = np.asarray(x)
    return x.astype(float) if x.dtype.kind in "iub" else x


@singledispatch
def unit(q):
    """q / |q| over the last axis. A tracer that knows |q| = 1 must still normalise q, because of rounding.

    Divided by Σ|qᵢ| first, so that no square is too large or too small for a float.
    """
    q = q * like(1.0, q)  # small integers would overflow
    q = q / (np.abs(q) @ like(np.ones((q.shape[-1], 1)), q))
    return q / np.sqrt(dot(q, q))


@singledispatch
def opaque(x):
    """x itself. A tracer discards here what it knows about x, so that no simplification undoes a well-conditioned form."""
    return x


@singledispatch
def still(x):
    """x itself. To a tracer it is a number without derivative, whatever it was made from: the solution of equations has theirs."""
    return x


@singledispatch
def is_zero(x) -> bool:
    """Is x known to be zero, whatever the inputs are? Only a tracer knows."""
    return False


def rounding(some):
    """The distance from 1 to the next number in the precision of the run, (...) of an array (..., n): (4/3 − 1) 3 − 1."""
    some = some[..., 0]
    one = opaque(np.where(some == some, 1.0 + np.zeros_like(some), 1.0 - some))  # which is 1, and no constant
    return np.abs((opaque(4.0 / 3.0 * one) - one) * 3.0 - one)


def working_dtype(*arrays) -> np.dtype:
    """What to compute in: float32 where the arrays are float32, with smaller numbers at most beside them; else float64."""
    kinds = [np.dtype(x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype).newbyteorder("=") for x in arrays]
    is_single = np.dtype(np.float32) in kinds and np.result_type(*kinds) == np.float32
    return np.dtype(np.float32 if is_single else np.float64)


@singledispatch
def _like(constant, x):
    return np.asarray(constant, dtype=np.result_type(x, np.float32 if getattr(x, "dtype", None) == np.float32 else np.float64))


def like(constant, x):
    """A constant as an array with the scalars of x. Registered functions take (constant, x), chosen by the type of x."""
    return _like.dispatch(type(x))(constant, x)


like.register = _like.register  # type: ignore[attr-defined]


def dot(a, b):
    """a · b over the last axis, which is kept with length one."""
    return (a[..., None, :] @ b[..., :, None])[..., 0]


def numbers(x, name: str = "an argument") -> np.ndarray:
    """x as an array of floats; of what holds no numbers, a NaN that no check of a user's input accepts. Complex numbers raise, by name."""
    try:
        found = np.asarray(x)
        if found.dtype.kind != "c":
            return np.asarray(found, float)
    except (TypeError, ValueError, OverflowError):  # None, texts, lists of lists of different lengths, huge integers
        return np.array(np.nan)
    return check_real(found, name)


def check_real(x, name: str):
    """The array x of any library, unless it is of complex numbers or of none."""
    kind = getattr(x.dtype, "kind", "")  # of NumPy's arrays and those like them
    if kind and kind in "biuf":
        return x
    if kind and kind in "OSUVMm":
        raise ShapeError(f"{name} has dtype {x.dtype}; it takes numbers.")
    if "complex" in str(x.dtype):
        raise ShapeError(f"{name} has complex numbers (dtype {x.dtype}); it must be real: take x.real where the rest is rounding.")
    return x
