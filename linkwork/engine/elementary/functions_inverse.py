"""The inverse circular functions: a polynomial on a short interval, the rest of the circle by symmetry.

    atan t = t + t z A(z)            z = t², 0 <= t <= 1
    asin t = t + t z B(z)            z = t², 0 <= t <= 1/2

Every result is base + t + tail, the base one of 0, π/2, π in two parts.
"""

from .functions_tables import TABLES
from .functions_text import bits, fabs, fma, polynomial, select, sqrt, with_sign


def atan2(y, x):
    """The angle of the point (x, y) in [-π, π], for zeros and infinities as in C99, annex F; to 1.6 ulp.

        |x| >= |y|:   atan |y/x|,          π   - atan |y/x| if x < 0
        |x| <  |y|:   π/2 - atan |x/y|,    π/2 + atan |x/y| if x < 0
    """
    ax, ay, left  = fabs(x), fabs(y), bits(x).negative()
    steep         = ay > ax
    short, long   = select(steep, ax, ay), select(steep, ay, ax)
    diagonal      = select(short.equals(0.0), 0.0, 1.0)
    ratio         = select(short.equals(long), diagonal, short / long)
    t             = select(steep ^ left, -ratio, ratio)
    base          = [select(steep, quarter, select(left, half, 0.0))
                     for quarter, half in zip(parts_of("half_pi", x), parts_of("pi", x))]
    return with_sign(added(base, t, tail("atan", t, t * t)), bits(y))


def asin(x):
    """asin x = π/2 - 2 asin √((1 - x)/2) for x >= 1/2; to 1.3 ulp; NaN outside [-1, 1]."""
    near, t, t_tail = chord(x)
    factor = select(near, 1.0, -2.0)
    base   = [select(near, 0.0, quarter) for quarter in parts_of("half_pi", x)]
    return with_sign(added(base, factor * t, factor * t_tail), bits(x))


def acos(x):
    """acos x; to 1.3 ulp; NaN outside [-1, 1].

        |x| < 1/2:    π/2 - asin x
        |x| >= 1/2:   2 asin √((1 - |x|)/2),    π - that if x < 0
    """
    near, t, t_tail = chord(x)
    factor = with_sign(select(near, -1.0, 2.0), bits(x))
    base   = [select(near, quarter, select(x < 0.0, half, 0.0))
              for quarter, half in zip(parts_of("half_pi", x), parts_of("pi", x))]
    return added(base, factor * t, factor * t_tail)


def chord(x):
    """Whether |x| < 1/2, and t, tail of asin t = t + tail, where t is |x| if so, otherwise √((1 - |x|)/2)."""
    a    = fabs(x)
    near = a < 0.5
    z    = select(near, a * a, fma(a, -0.5, 0.5))
    t    = select(near, a, sqrt(z))
    return near, t, tail("asin", t, z)


def tail(name, t, z):
    """t z p(z), for z = t²."""
    return t * z * polynomial(TABLES[t.body.dtype][name], z)


def added(base, t, t_tail):
    """base + t + tail; the rounding of base + t is not lost, for |base| >= |t| or base = 0 (Dekker)."""
    high, low = base
    total     = high + t
    return total + (((high - total) + t) + (t_tail + low))


def parts_of(name, x):
    """The first two parts of a constant."""
    return TABLES[x.body.dtype][name][:2]
