"""Fit the polynomials and split the constants of `linkwork/engine/elementary/functions_tables.py`, and print that file.

    python tools/fit_functions.py > linkwork/engine/elementary/functions_tables.py

Each polynomial is the best one in the sense of Chebyshev (Remez exchange) for the relative error of the *function*,
not of the polynomial. Coefficients are then rounded to the target's format one after the other, lowest power first,
and the others fitted again, so that rounding costs next to nothing. Deterministic; needs mpmath; takes half a minute.
"""

import argparse
import re
from typing import NamedTuple

import numpy as np
from mpmath import mp, mpf

mp.prec = 160
DIGITS = {"double": 53, "float": 24}  # bits of a significand
GRID = 400  # points on which the error's extrema are looked for


class Fit(NamedTuple):
    """A polynomial p ~ f on [low, high]; weight * (p - f) is the relative error of the function it serves."""

    f: object
    weight: object
    low: object
    high: object
    terms: dict  # number of coefficients by dtype
    given: tuple = ()  # lowest coefficients, if they are not to be fitted


def fits(dtype):
    """The polynomials of `functions_*.py`, by name, with z the square of the argument.

        sin r  = r + r z S(z)                    |r| <= π/4, and what the rounding of 2x/π adds to it
        cos r  = 1 + z C(z),  C(0) = -1/2
        atan t = t + t z A(z)                    0 <= t <= 1
        asin t = t + t z B(z)                    0 <= t <= 1/2
        exp r  = 1 + r + r² E(r)                 |r| <= ln(2)/2
        log((1 + s)/(1 - s)) = 2s + s z L(z)     |s| <= (√2 - 1)/(√2 + 1)
    """
    eighth, slack = mp.pi / 4, mpf("1.000001") if dtype == "double" else mpf("1.004")
    half, third = mp.log(2) / 2 * mpf("1.0001"), 3 - 2 * mp.sqrt(2)
    quotient = lambda f: lambda z: (f(mp.sqrt(z)) / mp.sqrt(z) - 1) / z  # f(t) = t + t z q(z)
    relative = lambda f: lambda z: z * mp.sqrt(z) / f(mp.sqrt(z))
    twice_atanh = lambda s: 2 * mp.atanh(s)
    return {
        "sin": Fit(quotient(mp.sin), relative(mp.sin), 0, (eighth * slack) ** 2, {"double": 6, "float": 3}),
        "cos": Fit(lambda z: (mp.cos(mp.sqrt(z)) - 1) / z, lambda z: z / mp.cos(mp.sqrt(z)), 0, (eighth * slack) ** 2,
                   {"double": 7, "float": 4}, given=(mpf("-0.5"),)),
        "atan": Fit(quotient(mp.atan), relative(mp.atan), 0, 1, {"double": 20, "float": 9}),
        "asin": Fit(quotient(mp.asin), relative(mp.asin), 0, mpf("0.25"), {"double": 12, "float": 5}),
        "exp": Fit(lambda r: (mp.expm1(r) - r) / r**2, lambda r: half**2 / mp.exp(r), -half, half,
                   {"double": 11, "float": 5}),
        "log": Fit(lambda z: (twice_atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z,
                   lambda z: z * mp.sqrt(z) / twice_atanh(mp.sqrt(z)), 0, third**2, {"double": 7, "float": 3}),
    }


def to_format(x, dtype):
    """The number of that format nearest to x, exactly (no result here is near underflow)."""
    with mp.workprec(DIGITS[dtype]):
        return +mpf(x)


def polynomial(coefficients, x):
    return mp.polyval(list(coefficients)[::-1], x)


class Remez:
    """Best weighted approximation on a fixed grid, dense near the ends like Chebyshev's points."""

    def __init__(self, fit):
        middle, radius = (fit.low + fit.high) / mpf(2), (fit.high - fit.low) / mpf(2)
        self.x = [middle - radius * mp.cos(mp.pi * (i + mpf("0.5")) / GRID) for i in range(GRID)]
        self.f = [fit.f(x) for x in self.x]
        self.w = [fit.weight(x) for x in self.x]

    def error(self, coefficients):
        return [w * (polynomial(coefficients, x) - f) for x, f, w in zip(self.x, self.f, self.w)]

    def solve(self, points, given, free):
        """Coefficients whose weighted error is ±E, in turn, at free + 1 points, those in `given` held."""
        rows, right = [], []
        for i, j in enumerate(points):
            x, w = self.x[j], self.w[j]
            rows.append([x ** (len(given) + m) for m in range(free)] + [(-1) ** i / w])
            right.append(self.f[j] - (polynomial(given, x) if given else 0))
        return [*given, *mp.lu_solve(mp.matrix(rows), mp.matrix(right))[:free]]

    def fit(self, terms, given):
        """Exchange: solve on alternating points, move them to the extrema of the error; the best of what was met."""
        free = terms - len(given)
        points = [round(GRID / 2 * (1 - np.cos(np.pi * (i + 0.5) / (free + 1)))) for i in range(free + 1)]
        met = []
        for _ in range(12):
            found = self.solve(points, given, free)
            error = self.error(found)
            met.append((max(map(abs, error)), found))
            points = alternating(error, points)
        return min(met, key=lambda pair: pair[0])[1]


def alternating(error, points):
    """As many extrema of alternating sign as there are points, the largest ones; the points themselves if too few."""
    extrema = [0]
    for i, e in enumerate(error):
        if e * error[extrema[-1]] < 0:
            extrema.append(i)
        elif abs(e) > abs(error[extrema[-1]]):
            extrema[-1] = i
    while len(extrema) > len(points):
        extrema.pop(0 if abs(error[extrema[0]]) < abs(error[extrema[-1]]) else -1)
    return extrema if len(extrema) == len(points) else points


def coefficients(fit, dtype):
    """Coefficients in the format, and log2 of the largest relative error they leave."""
    remez, given, terms = Remez(fit), list(fit.given), fit.terms[dtype]
    best = remez.fit(terms, given)
    while len(given) < terms:
        given.append(to_format(best[len(given)], dtype))
        if fit.low >= 0 and len(given) < terms:  # with 0 inside the interval, higher powers alone are no Haar system
            best = remez.fit(terms, given)
    return given, float(mp.log(max(map(abs, remez.error(given))), 2))


def split(x, dtype, parts):
    """x as a sum of numbers of the format, each the nearest to what is left."""
    out = []
    for _ in range(parts):
        out.append(to_format(x, dtype))
        x = x - out[-1]
    return out


def constants(dtype):
    """Numbers that must be known to more than one word, as parts of falling size, and their likes."""
    return {
        "half_pi": split(mp.pi / 2, dtype, 3),
        "pi": split(mp.pi, dtype, 2),
        "two_over_pi": split(2 / mp.pi, dtype, 1),
        "ln2": split(mp.log(2), dtype, 2),
        "log2_e": split(1 / mp.log(2), dtype, 1),
        "sqrt_half": split(mp.sqrt(mpf("0.5")), dtype, 1),
    }


def two_over_pi_words(words=20):
    """2/π in fixed point behind 64 zero bits, in 64-bit words, the highest first."""
    with mp.workprec(64 * words + 64):
        digits = int(mp.floor(2 / mp.pi * mpf(2) ** (64 * (words - 1))))
    return [(digits >> 64 * (words - 1 - i)) & (2**64 - 1) for i in range(words)]


def rows(words, per_row, indent):
    """Words in lines of a few each."""
    lines = (" ".join(words[i : i + per_row]) for i in range(0, len(words), per_row))
    return "".join(f"\n{indent}{line}" for line in lines)


def entry(name, values):
    """One entry of a table, the numbers in hexadecimal without trailing zeros."""
    words = [re.sub(r"\.?0*p", "p", float(v).hex()) for v in values]
    text = f'"{" ".join(words)}"' if len(words) <= 4 else f'"""{rows(words, 4, " " * 8)}\n    """'
    return f'    "{name}": _floats({text}),'


HEAD = '''"""Coefficients and split constants of the elementary functions. Written by tools/fit_functions.py."""


def _floats(text):
    return tuple(float.fromhex(word) for word in text.split())
'''


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    print(HEAD)
    for dtype in DIGITS:
        print(f"\n{dtype.upper()} = {{")
        for name, fit in fits(dtype).items():
            values, error = coefficients(fit, dtype)
            print(f"{entry(name, values)}  # relative error 2^{error:.1f}")
        for name, values in constants(dtype).items():
            print(entry(name, values))
        print("}")
    print('\nTABLES = {"double": DOUBLE, "float": FLOAT}')
    words = [f"0x{word:016X}," for word in two_over_pi_words()]
    print("\n# 2/π in fixed point behind 64 zero bits, the highest word first")
    print(f"TWO_OVER_PI = ({rows(words, 5, '    ')}\n)")


if __name__ == "__main__":
    main()
