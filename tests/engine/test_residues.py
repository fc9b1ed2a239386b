"""The prime of the trace: no two floats may meet modulo it, and constants that meet are the numbers that NumPy has."""

import math

import numpy as np
import pytest

import linkwork as lw
from linkwork.engine.loading import interpreter
from linkwork.engine.tracing.program import Input, record
from linkwork.engine.tracing.residues import PRIME
from linkwork.engine.tracing.trace import Trace

TINIEST, LARGEST = -1074, 1023  # powers of two that are floats
HALVES = 53  # bits of a float's whole number


def is_prime(n: int) -> bool:
    """Miller and Rabin, with the first 40 primes as bases."""
    bases = [b for b in range(2, 174) if all(b % d for d in range(2, b))]
    d, s = n - 1, 0
    while d % 2 == 0:
        d, s = d // 2, s + 1
    for base in bases:
        x = pow(base, d, n)
        if x not in (1, n - 1) and not any((x := x * x % n) == n - 1 for _ in range(s - 1)):
            return False
    return True


def shortest(k: int) -> tuple[int, int]:
    """The shortest (m, n) ≠ 0 with m k ≡ n modulo the prime (Lagrange and Gauss)."""
    u, v = (0, PRIME), (1, k)
    if u[0] ** 2 + u[1] ** 2 < v[0] ** 2 + v[1] ** 2:
        u, v = v, u
    while True:
        square = v[0] ** 2 + v[1] ** 2
        n = (2 * (u[0] * v[0] + u[1] * v[1]) + square) // (2 * square)
        u, v = v, (u[0] - n * v[0], u[1] - n * v[1])
        if v[0] ** 2 + v[1] ** 2 >= u[0] ** 2 + u[1] ** 2:
            return u


def test_the_prime_is_safe_and_two_generates_all_residues():
    """p = 2 r + 1, both prime; the order of 2 divides 2 r, and is neither 1, 2 nor r."""
    r = (PRIME - 1) // 2
    assert is_prime(PRIME) and is_prime(r)
    assert pow(2, r, PRIME) == PRIME - 1 and pow(2, 2, PRIME) != 1


def test_no_two_floats_have_the_same_residue():
    """m 2ᵉ ≡ ± n for whole m, n < 2⁵³ only where m 2ᵉ = n: of each e, the shortest such pair is (1, 2ᵉ) or too long to be floats."""
    for e in range(LARGEST - HALVES + 1 - TINIEST + 1):
        m, n = map(abs, shortest(pow(2, e, PRIME)))
        assert (m, n) == (1, 2**e) if e < HALVES else max(m, n) >= 2**HALVES, e


def test_all_powers_of_two_are_different_constants():
    trace = Trace()
    powers = [math.ldexp(1.0, e) for e in range(TINIEST, LARGEST + 1)]
    refs = [trace.constant(x) for x in powers]
    assert len({*refs, *(-ref for ref in refs)}) == 2 * len(powers)
    assert [trace.value(ref) for ref in refs] == powers


def test_a_product_with_any_power_of_two_is_numpys():
    """q 2ᵉ, whatever e: subnormal, and past the size of the prime."""
    scales = np.ldexp(1.0, np.arange(TINIEST, LARGEST + 1))
    program = record("scaled", lambda q: q[0] * scales, (Input("q", (1,)),))
    (found,) = interpreter.run(program, {"q": np.array([0.7])})
    np.testing.assert_array_equal(found, 0.7 * scales)


def test_a_quotient_by_any_power_of_two_is_numpys():
    """q / 2ᵉ is finite where q is small, though 1 / 2ᵉ may be past all floats."""
    scales = np.ldexp(1.0, np.arange(TINIEST, LARGEST + 1))
    program = record("divided", lambda q: q[0] / scales, (Input("q", (1,)),))
    for q in (0.7, 0.7 * 2.0**-900, 2.0**-1060, 0.7 * 2.0**1000):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(interpreter.run(program, {"q": np.array([q])})[0], q / scales)


@pytest.mark.parametrize("tiny", [float(np.finfo(np.float32).tiny), float(np.finfo(np.float64).tiny), 5e-324, 2.0**-127])
def test_a_guard_against_division_by_zero_is_only_a_guard(tiny):
    """2 q / max(|q|, tiny): 2¹²⁷ and 1 are different numbers."""
    program = record("unit", lambda q: 2.0 * q / np.maximum(np.sqrt(q @ q), tiny), (Input("q", (2,)),))
    (found,) = interpreter.run(program, {"q": np.array([0.3, 0.4])})
    np.testing.assert_allclose(found, [1.2, 1.6], rtol=1e-15)


EDGES = [0.0, 5e-324, 3e-310, 2.0**-1022, 1e-160, 0.1, 1.0, 3.0, 1e160, 2.0**127, 2.0**1023, np.finfo(float).max, np.inf, np.nan]


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.less, np.less_equal, np.equal])
def test_constants_that_meet_give_what_numpy_gives(ufunc):
    """Signs, infinities, what is no number, and results past all floats."""
    numbers = np.array([*EDGES, *(-x for x in EDGES)])
    divisors = numbers[numbers != 0] if ufunc is np.divide else numbers  # by a constant zero: an error
    for a in numbers:

        def both(q, a=a):
            return np.where(True, ufunc(q.like(a), q.like(divisors)), 0.0)  # truths as numbers

        (found,) = interpreter.run(record("both", both, (Input("q", (1,)),)), {"q": np.zeros(1)})
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(found, ufunc(a, divisors).astype(float), rtol=3e-16, atol=1e-323)


def test_what_meets_an_infinite_constant_is_not_proved_to_be_something_else():
    """(q + ∞) − ∞ and q NaN are no numbers."""
    program = record("beyond", lambda q: np.stack([(q + np.inf) - np.inf, q * np.nan, np.minimum(q, np.inf)]), (Input("q", ()),))
    (found,) = interpreter.run(program, {"q": np.array(0.7)})
    np.testing.assert_array_equal(found, [np.nan, np.nan, 0.7])


def test_a_mass_of_any_power_of_two_weighs_what_it_weighs():
    """The mass matrix of a slider is its mass."""
    for e in (-300, -127, 127, 254, 300):
        b = lw.Builder("slider")
        b.body("s", joint=lw.Prismatic(), mass=2.0**e)
        robot = lw.Dynamics(b.model())
        (found,) = interpreter.run(robot.program("mass_matrix"), {"q": np.zeros(1)})
        assert found == [[2.0**e]]
