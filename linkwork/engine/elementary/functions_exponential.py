"""The exponential and the natural logarithm."""

from math import inf, nan

from .functions_tables import TABLES
from .functions_text import bits, fma, pattern, polynomial, real, select

REACH = {"double": (-746.0, 710.0), "float": (-104.0, 89.0)}  # below, exp is 0; above, infinite
LIFT  = {"double": 54, "float": 25}  # a power of two that makes subnormal numbers normal


def exp(x):
    """exp x = 2^k exp r, to 1.1 ulp; infinite above the range, subnormal and then 0 below.

        x     = k ln 2 + r               |r| <= ln(2)/2
        exp r = 1 + (r + r² E(r))
    """
    body, table = x.body, TABLES[x.body.dtype]
    low, high   = REACH[body.dtype]
    magic       = body.format.magic
    x = select(x < low, low, x)
    x = select(x > high, high, x)
    t = fma(x, table["log2_e"][0], magic)
    k = t - magic
    r = fma(k, -table["ln2"][1], fma(k, -table["ln2"][0], x))
    y = 1.0 + fma(r * r, polynomial(table["exp"], r), r)
    n = bits(t) - pattern(magic, body.dtype)
    half = n.signed_shift(1)  # 2^k itself may be out of range
    return y * power_of_two(half) * power_of_two(n - half)


def log(x):
    """log x = k ln 2 + log m, to 1 ulp; -∞ at 0, NaN below.

        x          = 2^k m               √½ <= m < √2
        log(1 + f) = f - (h - s (h + z L(z)))      f = m - 1, h = f²/2, s = f/(2 + f), z = s²

    The form of log(1 + f) is fdlibm's: f is exact, and what is added to it is small.
    """
    table = TABLES[x.body.dtype]
    k, m = exponent_and_fraction(x)
    f = m - 1.0
    h = 0.5 * f * f
    s = f / (2.0 + f)
    z = s * s
    R = z * polynomial(table["log"], z)
    ln2, ln2_low = table["ln2"]
    y = fma(k, ln2, f - (h - fma(s, h + R, k * ln2_low)))
    outside = select(x.equals(0.0), -inf, nan)
    return select(x > 0.0, select(x < inf, y, x), outside)


def exponent_and_fraction(x):
    """k, as a real, and m in [√½, √2) with x = 2^k m, for x positive and finite."""
    body, (_, _, _, mantissa, bias) = x.body, x.body.format
    lift   = LIFT[body.dtype]
    tiny   = x < 2.0 ** (1 - bias)
    number = bits(select(tiny, x * 2.0**lift, x))
    n      = (number - pattern(TABLES[body.dtype]["sqrt_half"][0], body.dtype)).signed_shift(mantissa)
    magic  = body.format.magic
    k      = real(n + pattern(magic, body.dtype)) - select(tiny, magic + lift, magic)
    return k, real(number - (n << mantissa))


def power_of_two(n):
    """2^n for an integer n in the range of exponents."""
    return real((n + n.body.format.bias) << n.body.format.mantissa)
