"""Sine and cosine of angles of any size.

An angle is reduced to r + lo in [-π/4, π/4] by whole quarter turns, then two short polynomials give everything:

    x              = k π/2 + r + lo           k modulo 4 is in the two low bits of an integer n
    sin (r + lo)   = r + (lo + r z S(z))      z = r²
    cos (r + lo)   = 1 + (z C(z) - r lo)
"""

from functools import cache

from .functions_tables import TABLES, TWO_OVER_PI
from .functions_text import FunctionBody, bits, fabs, fma, funnel_shift, leading_zeros, polynomial, real, select, with_sign

LIMIT = {"double": 2.0**30, "float": 2.0**16}  # up to here 2x/π, found from a rounded 2/π, is good to 1/500


def sincos(x):
    """sin x and cos x, to 1.2 ulp for every finite x; NaN for an infinite one."""
    return from_turns(x, *quarter_turns(fabs(x)))


def sincos_near(x):
    """The same bits as sincos up to LIMIT, without a branch; beyond, nothing useful."""
    return from_turns(x, *near_turns(fabs(x)))


def from_turns(x, n, r, lo):
    s_tail, c_tail = tails(r, lo)
    s, c = r + s_tail, 1.0 + c_tail
    odd, top = (n & 1).nonzero(), x.body.format.bits - 2
    return (with_sign(select(odd, c, s), (n << top) ^ bits(x)),
            with_sign(select(odd, s, c), (n + 1) << top))


def tails(r, lo):
    """sin(r + lo) - r and cos(r + lo) - 1, for lo of the size of r's rounding."""
    table, z = TABLES[r.body.dtype], r * r
    return (fma(r * z, polynomial(table["sin"], z), lo),
            fma(z, polynomial(table["cos"], z), -(r * lo)))


def fast_sum(a, b):
    """a + b and the error of its rounding, for |a| >= |b| (Dekker)."""
    total = a + b
    return total, (a - total) + b


def quarter_turns(a):
    """n, r, lo for a >= 0: a = k π/2 + r + lo, where k = n modulo 4.

    Cody and Waite, with π/2 = P1 + P2 + P3. The difference r0 = a - k P1 is exact: for a >= 1 it is below 1 and a
    multiple of P1's last bit, for a < 1 the terms are near each other. It is also a multiple of the last bit of k P2,
    so r0 - r is exact as well (Dekker), and one multiply-add recovers what k P2 and r were rounded by. Only lo is
    rounded then: enough where r all but vanishes, at the numbers next to multiples of π/2.
    """
    near  = near_turns(a)
    large = a > LIMIT[a.body.dtype]
    return a.body.unless(large, near, lambda: [select(large, f, v) for f, v in zip(far_turns(a), near)])


def near_turns(a):
    """n, r, lo up to LIMIT."""
    body, table = a.body, TABLES[a.body.dtype]
    P1, P2, P3 = table["half_pi"]
    magic = body.format.magic
    t     = fma(a, table["two_over_pi"][0], magic)
    k     = t - magic
    r0    = fma(k, -P1, a)
    r     = r0 - k * P2
    lo    = fma(k, -P3, fma(k, -P2, r0 - r))
    return bits(t), r, lo


def far_turns(a):
    """n, r, lo of the lanes past LIMIT (of others, nothing useful), by a call, to take no room in a kernel."""
    return a.body.invoke(far_function(a.body.dtype, a.body.width), a)


@cache
def far_function(dtype, width):
    """What `far_turns` calls: Payne and Hanek's reduction of one number, lane after lane for several."""
    body = FunctionBody(dtype, width)
    a    = body.argument("a")
    if width > 1:
        results = lane_by_lane(far_function(dtype, 1), select(a > LIMIT[dtype], a, LIMIT[dtype]))
    elif dtype == "float":
        results = in_double(a)
    else:
        results = payne_hanek(a)
    return body.define(f"lw.far_turns.{body.format.suffix}.v{width}", [a], results, "noinline cold nounwind")


def lane_by_lane(function, a):
    """A function of one number on each lane of a."""
    body = a.body
    rows = [body.invoke(function, body.lane(a, i)) for i in range(body.width)]
    return [body.vector(column) for column in zip(*rows)]


def in_double(a):
    """n, r, lo of a float32 number, through float64."""
    n, r, lo = a.body.invoke(far_function("double", 1), a.convert("fpext", "double"))
    high = r.convert("fptrunc", "float")
    low  = (r - high.convert("fpext", "double")) + lo
    return n.convert("trunc", "i32"), high, low.convert("fptrunc", "float")


def payne_hanek(a):
    """n, r, lo of one float64 number above 1, to 2^-60 of r.

        a      = m 2^e                m an integer of 53 bits
        2a/π   = m (2/π) 2^e          modulo 4

    Bits of (2/π) 2^e of weight 4 and more do not matter, and of those below 192 are enough: no float64 number is nearer
    than 2^-62 to a multiple of π/2. m times them is a fixed-point number of three words; its two highest bits count the
    quarter turns, and the rest, taken as a signed number, is what remains.
    """
    body    = a.body
    word    = lambda v: v.convert("trunc", "i64")
    wide    = lambda v: v.convert("zext", "i128")
    m       = (bits(a) & (2**52 - 1)) | 2**52
    first   = (bits(a) >> 52) - 1013  # where the bit of weight 2 is in the table
    w       = [body.entry("lw.two_over_pi", TWO_OVER_PI, (first >> 6) + i) for i in range(4)]
    w0, w1, w2 = (funnel_shift(w[i], w[i + 1], first & 63) for i in range(3))
    middle  = wide(m) * wide(w1) + (wide(m) * wide(w2) >> 64)
    top     = m * w0 + word(middle >> 64)
    rest    = (wide(top) << 66) | (wide(word(middle)) << 2)
    r, lo   = as_angle(rest)
    return (top + 2**61) >> 62, r + (a - a), lo  # a - a is NaN if a is infinite


def as_angle(rest):
    """r + lo = rest π/2, for a signed number of 2^-128 quarter turns: its first 53 bits and the next 64, times π/2."""
    P1, P2, _ = TABLES["double"]["half_pi"]
    word  = lambda v: v.convert("trunc", "i64")
    sign  = rest.signed_shift(127)
    size  = (rest ^ sign) - sign
    zeros = leading_zeros(size)
    size  = size << zeros
    scale = real(((1023 - 53 - word(zeros)) << 52) | (word(sign) << 63))
    high  = word(size >> 75).convert("uitofp", "double") * scale
    low   = word(size >> 11).convert("uitofp", "double") * (scale * 2.0**-64)
    r     = high * P1
    return fast_sum(r, fma(high, P2, fma(low, P1, fma(high, P1, -r))))
