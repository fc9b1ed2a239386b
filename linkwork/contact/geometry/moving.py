"""Arrays that move: a value and its rate, through whatever a function does to them.

A function of poses that is written with NumPy gives its exact rate as well, on float arrays and while it is traced:

    touching(Moving(T, Tdot)).rate
"""

from typing import Any

import numpy as np

from ...engine.tracing.array import Traced, Wider
from ...lie.scalars import like, opaque, unit


class Moving(Wider):
    """An array and its rate, of one shape."""

    __slots__ = ("rate", "value")

    def __init__(self, value, rate):
        self.value, self.rate = value, rate

    shape = property(lambda self: self.value.shape)
    ndim  = property(lambda self: self.value.ndim)
    dtype = property(lambda self: self.value.dtype)
    mT    = property(lambda self: Moving(self.value.mT, self.rate.mT))

    def __len__(self):
        return len(self.value)

    def __getitem__(self, key):
        return Moving(self.value[key], self.rate[key])

    def reshape(self, *shape):
        return Moving(self.value.reshape(*shape), self.rate.reshape(*shape))

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if method != "__call__" or options or ufunc not in RULES:
            raise TypeError(f"np.{ufunc.__name__} has no rate here; linkwork/contact/geometry/moving.py lists what has.")
        values = [value_of(x) for x in inputs]
        found = ufunc(*values)
        rule = RULES[ufunc]
        return found if rule is None else Moving(found, rule(found, values, [rate_of(x) for x in inputs]))

    def __array_function__(self, function, types, args, kwargs):
        if function not in FUNCTIONS:
            raise TypeError(f"np.{function.__name__} has no rate here; linkwork/contact/geometry/moving.py lists what has.")
        return FUNCTIONS[function](*args, **kwargs)


def value_of(x):
    return x.value if isinstance(x, Moving) else x


def rate_of(x):
    """The rate, zero for what stands still."""
    if isinstance(x, Moving):
        return x.rate
    single = getattr(x, "dtype", None) == np.float32
    return np.zeros_like(x) if isinstance(x, Traced) else np.zeros(np.shape(x), np.float32 if single else np.float64)


def _divided(found, x, dx):
    return (dx[0] - found * dx[1]) / x[1]


def _chosen(test):
    return lambda found, x, dx: np.where(test(x[0], x[1]), dx[0], dx[1])


RULES: dict[Any, Any] = {
    np.add: lambda found, x, dx: dx[0] + dx[1],
    np.subtract: lambda found, x, dx: dx[0] - dx[1],
    np.negative: lambda found, x, dx: -dx[0],
    np.multiply: lambda found, x, dx: dx[0] * x[1] + x[0] * dx[1],
    np.divide: _divided,
    np.matmul: lambda found, x, dx: dx[0] @ x[1] + x[0] @ dx[1],
    np.sqrt: lambda found, x, dx: dx[0] / (2 * np.where(found > 0, found, 1.0)),  # at 0 no rate; 0 where the root stays 0
    np.absolute: lambda found, x, dx: np.where(x[0] < 0, -dx[0], dx[0]),
    np.minimum: _chosen(lambda a, b: a <= b),
    np.maximum: _chosen(lambda a, b: a >= b),
} | dict.fromkeys((np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal))


def both(function):
    """A function that moves entries, or is linear, on values and on rates."""

    def of(x, *args, **options):
        if isinstance(x, (tuple, list)):
            values, rates = [value_of(y) for y in x], [rate_of(y) for y in x]
        else:
            values, rates = value_of(x), rate_of(x)
        return Moving(function(values, *args, **options), function(rates, *args, **options))

    return of


def where(truth, x, y):
    return Moving(np.where(truth, value_of(x), value_of(y)), np.where(truth, rate_of(x), rate_of(y)))


def zeros_like(x, **options):
    return np.zeros_like(x.value, **options)


FUNCTIONS: dict[Any, Any] = {
    np.where: where,
    np.zeros_like: zeros_like,
    np.ones_like: lambda x, **options: np.ones_like(x.value, **options),
    **{each: both(each) for each in (np.stack, np.concatenate, np.broadcast_to, np.take, np.reshape, np.sum, np.moveaxis)},
}


@like.register(Moving)  # type: ignore[attr-defined]
def _(constant, x: Moving):
    return like(constant, x.value)


@opaque.register
def _(x: Moving):
    return Moving(opaque(x.value), opaque(x.rate))


@unit.register
def _(x: Moving):
    norm = np.sqrt((x[..., None, :] @ x[..., :, None])[..., 0])
    return x / norm
