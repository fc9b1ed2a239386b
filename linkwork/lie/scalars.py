"""Operations on scalars that differ between float arrays and traced arrays.

The same code runs on float arrays with leading batch axes and on traced arrays. Where the two must differ, the type of
the argument decides: `like.register`, `unit.register` and `opaque.register` add a type.
"""

from functools import singledispatch

import numpy as np


@singledispatch
def unit(q):
    """q / |q| over the last axis. A tracer that knows |q| = 1 must still normalise q, because of rounding."""
    return q / np.sqrt(dot(q, q))


@singledispatch
def opaque(x):
    """x itself. A tracer discards here what it knows about x, so that no simplification undoes a well-conditioned form."""
    return x


@singledispatch
def _like(constant, x):
    return np.asarray(constant, dtype=np.result_type(x, np.float16))


def like(constant, x):
    """A constant as an array with the scalars of x. Registered functions take (constant, x), chosen by the type of x."""
    return _like.dispatch(type(x))(constant, x)


like.register = _like.register  # type: ignore[attr-defined]


def dot(a, b):
    """a · b over the last axis, which is kept with length one."""
    return (a[..., None, :] @ b[..., :, None])[..., 0]


def numbers(x) -> np.ndarray:
    """x as an array of floats; of what holds no numbers, a NaN that no check of a user's input accepts."""
    try:
        return np.asarray(x, float)
    except (TypeError, ValueError, OverflowError):  # None, texts, lists of lists of different lengths, huge integers
        return np.array(np.nan)
