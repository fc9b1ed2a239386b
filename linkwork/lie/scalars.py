"""What the groups ask of a scalar beyond arithmetic.

The same text runs on float arrays with leading batch axes and on traced arrays. Where the two must differ, the type of
the argument that carries the scalars decides: `like.register`, `unit.register` and `opaque.register` add a type.
"""

from functools import singledispatch

import numpy as np


@singledispatch
def unit(q):
    """q / |q| over the last axis. A tracer that knows q to be a unit must still normalise it: the round-off is real."""
    return q / np.sqrt(dot(q, q))


@singledispatch
def opaque(x):
    """x itself. A tracer forgets here what it has proved about x, so that no algebra undoes a well-conditioned form."""
    return x


@singledispatch
def _like(constant, x):
    return np.asarray(constant, dtype=np.result_type(x, np.float16))


def like(constant, x):
    """A table of numbers as an array of the scalars of x. What is registered takes (constant, x), by the type of x."""
    return _like.dispatch(type(x))(constant, x)


like.register = _like.register  # type: ignore[attr-defined]


def dot(a, b):
    """a · b over the last axis, which is kept with length one."""
    return (a[..., None, :] @ b[..., :, None])[..., 0]
