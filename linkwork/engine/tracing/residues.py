"""Exact arithmetic modulo a large prime: the values by which a trace proves that two scalars are equal.

The prime is a safe one, p = 2 r + 1 with r prime, and p ≡ 3 modulo 8, so that 2 is no square and generates all p − 1 residues:
floats are whole numbers times powers of two, and no two powers of two in their range may meet. It is the first such number from
⌊(π − 3) 2¹²⁹⌋ upwards, found with the test of Miller and Rabin; near a power of two, 2¹²⁷ − c, the float 2¹²⁷ would meet the float
c. No two finite floats have residues that are equal or opposite, unless the floats are: tests/engine/test_residues.py proves it.
"""

from hashlib import blake2b

PRIME = 0x487ED5110B4611A62633145C06E0F613
HALF = pow(2, -1, PRIME)


def drawn(*key) -> int:
    """A value that looks random and depends on nothing but the key."""
    return int.from_bytes(blake2b(repr(key).encode(), digest_size=24).digest()) % PRIME


def exact(x: float) -> int:
    """A float's value as a rational number, modulo the prime."""
    numerator, denominator = x.as_integer_ratio()
    return numerator * pow(HALF, denominator.bit_length() - 1, PRIME) % PRIME


def total(a: int, b: int) -> int:
    return (a + b) % PRIME


def product(a: int, b: int) -> int:
    return a * b % PRIME


def inverse(a: int) -> int:
    return pow(a, -1, PRIME)


def sine(angle: int) -> int:
    """2 t / (1 + t²): with `cosine` a point of the unit circle, drawn for each angle, so that sin² + cos² = 1."""
    t = drawn("angle", angle)
    return 2 * t * inverse(1 + t * t) % PRIME


def cosine(angle: int) -> int:
    """(1 − t²) / (1 + t²)."""
    t = drawn("angle", angle)
    return (1 - t * t) * inverse(1 + t * t) % PRIME


def sphere(n: int, *key) -> list[int]:
    """A point of the unit sphere in n dimensions, modulo the prime."""
    t = [drawn("sphere", i, *key) for i in range(n - 1)]
    s = sum(x * x for x in t)
    d = inverse(1 + s)
    return [2 * x * d % PRIME for x in t] + [(1 - s) * d % PRIME]
