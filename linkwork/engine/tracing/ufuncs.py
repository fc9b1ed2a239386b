"""What NumPy's ufuncs do to the scalars of a trace: an operation's own ufunc is that operation, others are compositions.

Comparisons give truths, logic takes them; every other function takes and gives numbers.
"""

import math
from collections.abc import Callable

import numpy as np

from ...errors import TraceError
from .operations import OPERATIONS, ZERO, of_ufunc
from .trace import Trace


def either(t: Trace, truth: int, a: float, b: int) -> int:
    """The number a where it is true, else the scalar b."""
    return t.where(truth, t.constant(a), b)


def smaller(t, a, b):
    """What is not a number wins, as in NumPy: a where a ≤ b or a is none, else b. A constant takes one comparison."""
    a, b = sorted((a, b), key=lambda x: (t.value(x) is None, abs(x), x))
    if t.value(a) is not None and not math.isnan(t.value(a)):
        return t.where(t.compare("lt", a, b), a, b)
    return t.where(t.logic("or", t.compare("le", a, b), is_nan(t, a)), a, b)


def larger(t, a, b):
    return -smaller(t, -a, -b)


def sign(t, a):
    """1, −1, or 0, a constant each: there is no slope, at zero neither. What is no number stays it."""
    below, above, zero = t.compare("lt", a, ZERO), t.compare("lt", ZERO, a), t.compare("eq", a, ZERO)
    return either(t, above, 1.0, either(t, below, -1.0, either(t, zero, 0.0, t.constant(math.nan))))


def is_nan(t, a):
    return t.logic("not", t.compare("eq", a, a))


def is_infinite(t, a):
    return t.compare("eq", t.absolute(a), t.constant(math.inf))


def is_finite(t, a):
    return t.compare("lt", t.absolute(a), t.constant(math.inf))


def ceiling(t, a):
    return -t.function("floor", -a)


def truncated(t, a):
    return t.where(t.compare("lt", a, ZERO), ceiling(t, a), t.function("floor", a))


def remainder(t, a, b):
    """The remainder that has the sign of b: fmod, and b more where that has the other sign."""
    r = t.function("fmod", a, b)
    across = exclusive(t, t.compare("lt", r, ZERO), t.compare("lt", b, ZERO))
    return t.where(t.compare("eq", r, ZERO), ZERO, t.where(across, t.add(r, b), r))


def whole_quotient(t, a, b):
    """The nearest whole number to (a − remainder) / b."""
    ratio = t.div(t.sub(a, t.opaque(remainder(t, a, b))), b)
    below = t.function("floor", ratio)
    return t.add(below, t.where(t.compare("lt", t.constant(0.5), t.sub(ratio, below)), t.one, ZERO))


def hypotenuse(t, a, b):
    return t.function("sqrt", t.add(t.mul(a, a), t.mul(b, b)))


def exponential_less_one(t, x):
    """eˣ − 1 = (u − 1) x / log u with u = eˣ as it was rounded (Kahan); far from zero u − 1 itself."""
    u = t.function("exp", x)
    less = t.sub(u, t.one)
    near, same = t.compare("lt", t.absolute(x), t.one), t.compare("eq", u, t.one)
    safe = t.where(t.logic("and", near, t.logic("not", same)), u, t.constant(2.0))
    return t.where(same, x, t.where(near, t.div(t.mul(less, x), t.function("log", safe)), less))


def logarithm_of_one_more(t, x):
    """log(1 + x) = x log u / (u − 1) with u = 1 + x as it was rounded (Kahan); far from zero log u itself."""
    u = t.opaque(t.add(t.one, x))
    log = t.function("log", u)
    near, same = t.compare("lt", t.absolute(x), t.one), t.compare("eq", u, t.one)
    safe = t.where(t.logic("and", near, t.logic("not", same)), t.sub(u, t.one), t.one)
    return t.where(same, x, t.where(near, t.div(t.mul(log, x), safe), log))


def odd(function: Callable) -> Callable:
    """The odd function that is this one for x ≥ 0."""

    def whole(t, x):
        y = function(t, t.absolute(x))
        return t.where(t.compare("lt", x, ZERO), -y, y)

    return whole


@odd
def hyperbolic_sine(t, x):
    """(E + E / (E + 1)) / 2 with E = eˣ − 1."""
    E = exponential_less_one(t, x)
    inverse = t.where(t.compare("lt", x, t.constant(40.0)), t.div(E, t.add(E, t.one)), t.one)
    return t.mul(t.constant(0.5), t.add(E, inverse))


@odd
def hyperbolic_tangent(t, x):
    """−E / (E + 2) with E = e⁻²ˣ − 1."""
    E = exponential_less_one(t, -t.add(x, x))
    return t.div(-E, t.add(E, t.constant(2.0)))


def hyperbolic_cosine(t, x):
    e = t.function("exp", t.absolute(x))
    return t.mul(t.constant(0.5), t.add(e, t.reciprocal(e)))


def power(t, a, n):
    exponent = t.value(n)
    if exponent is None:
        raise TraceError("the exponent of a power must be a plain number; for a > 0 write np.exp(n * np.log(a)).")
    return t.power(a, exponent)


def scaled(factor: float) -> Callable:
    return lambda t, a: t.mul(a, t.constant(factor))


def exclusive(t, a, b):
    only_a = t.logic("and", a, t.logic("not", b))
    return t.logic("or", only_a, t.logic("and", b, t.logic("not", a)))


COMPOSITIONS: dict[np.ufunc, Callable] = {
    np.subtract: Trace.sub,
    np.true_divide: Trace.div,
    np.negative: lambda t, a: -a,
    np.positive: lambda t, a: a,
    np.conjugate: lambda t, a: a,
    np.square: lambda t, a: t.mul(a, a),
    np.power: power,
    np.float_power: power,
    np.tan: lambda t, a: t.div(*t.sin_cos(a)),
    np.arctan: lambda t, a: t.function("atan2", a, t.one),
    np.expm1: exponential_less_one,
    np.log1p: logarithm_of_one_more,
    np.sinh: hyperbolic_sine,
    np.cosh: hyperbolic_cosine,
    np.tanh: hyperbolic_tangent,
    np.hypot: hypotenuse,
    np.deg2rad: scaled(math.pi / 180),
    np.radians: scaled(math.pi / 180),
    np.rad2deg: scaled(180 / math.pi),
    np.degrees: scaled(180 / math.pi),
    np.fabs: Trace.absolute,
    np.sign: sign,
    np.ceil: ceiling,
    np.trunc: truncated,
    np.remainder: remainder,
    np.floor_divide: whole_quotient,
    np.minimum: smaller,
    np.maximum: larger,
    np.greater: lambda t, a, b: t.compare("lt", b, a),
    np.greater_equal: lambda t, a, b: t.compare("le", b, a),
    np.not_equal: lambda t, a, b: t.logic("not", t.compare("eq", a, b)),
    np.isnan: is_nan,
    np.isinf: is_infinite,
    np.isfinite: is_finite,
    np.logical_xor: exclusive,
}

LOGIC = {np.logical_and, np.logical_or, np.logical_xor, np.logical_not}  # of truths; a number is true where it is not zero

BITS = {
    np.bitwise_and: np.logical_and,
    np.bitwise_or: np.logical_or,
    np.bitwise_xor: np.logical_xor,
    np.invert: np.logical_not,
}  # the same for truths, and nothing for numbers

EMPTY = {np.add: 0.0, np.multiply: 1.0, np.logical_and: 1.0, np.logical_or: 0.0}  # what each makes of nothing
REDUCED = {*EMPTY, np.minimum, np.maximum}


def scalar(ufunc: np.ufunc) -> Callable | None:
    """What a ufunc does to the scalars of a trace, a function of (trace, scalars); None if it cannot be traced."""
    if ufunc in COMPOSITIONS:
        return COMPOSITIONS[ufunc]
    row = of_ufunc(ufunc)
    return row.make or row.traced if row else None


def known() -> list[np.ufunc]:
    """The ufuncs that can be traced."""
    return [u for u in (*COMPOSITIONS, *(row.value for row in OPERATIONS.values())) if isinstance(u, np.ufunc)]


def only_truths(trace: Trace, refs: np.ndarray, besides: tuple[float, ...] = ()) -> bool:
    """Is every entry, and there are some, a truth or one of these constants?"""
    entries = refs.ravel().tolist()
    return bool(entries) and all(trace.is_truth(a) or trace.value(a) in besides for a in entries)
