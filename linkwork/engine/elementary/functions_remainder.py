"""The remainder of a division, exact as that of C: every step of a long division in floats is."""

from functools import cache

from .functions_text import FunctionBody, bits, fabs, floor, fma, select, with_sign

ROUNDS = {"double": 20, "float": 6}  # that any quotient takes, at 52 bits in each


def fmod(a, b):
    """a − b trunc(a/b), exact; NaN where b is zero or a infinite, and in float64 for quotients past all numbers.

    The remainder of a rounded quotient, x − q y, has no more digits than y, so that one multiply-add gives it; a quotient
    of up to `mantissa` bits leaves one in (−y, y), a longer one is divided on.
    """
    body, x, y = a.body, fabs(a), fabs(b)
    large, near = x / y > 2.0**body.format.mantissa, left(x, y)
    far = lambda: body.invoke(far_function(body.dtype, body.width), x, y)[0]
    (r,) = body.unless(large, [near], lambda: [select(large, far(), near)])
    return with_sign(select(y > x, x, select(r < 0.0, r + y, r)), bits(a))


def left(x, y):
    return fma(-floor(x / y), y, x)


@cache
def far_function(dtype, width):
    """Long division, by a call, to take no room in a kernel; that of float32 is done in float64."""
    body = FunctionBody(dtype, width)
    x, y = arguments = [body.argument("x"), body.argument("y")]
    if dtype == "float":
        x, y = (v.convert("fpext", v.type.replace("float", "double")) for v in arguments)
    for _ in range(ROUNDS[dtype]):
        x = left(x, y)
    if dtype == "float":
        x = x.convert("fptrunc", body.real)
    return body.define(f"lw.far_remainder.{body.format.suffix}.v{width}", arguments, [x], "noinline cold nounwind")
