"""A trace: the scalar operations of a function, each one different from all others by proof.

Every scalar carries its exact value modulo a large prime at a random point. Two scalars with the same value are the
same function (Schwartz-Zippel: the chance of a mistake at a million operations is below 1e-25), so the second is never
made: symmetry, R R* = I, sin² + cos² = 1, zeros and constants disappear by themselves.
"""

import math
from hashlib import blake2b

from ..errors import TraceError

PRIME = (1 << 127) - 1
HALF = pow(2, -1, PRIME)
ZERO = 0  # the reference to the scalar 0; a reference is the number of a node, negative for its negative

UNARY = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "acos": math.acos,
    "asin": math.asin,
    "floor": math.floor,
}
TRUTHS = {"lt", "le", "eq", "and", "or", "not"}  # operations whose result is true or false, not a number


def drawn(*key) -> int:
    """A value that looks random and depends on nothing but the key."""
    return int.from_bytes(blake2b(repr(key).encode(), digest_size=24).digest()) % PRIME


def exact(x: float) -> int:
    """A float's value as a rational number, modulo the prime."""
    numerator, denominator = x.as_integer_ratio()
    return numerator * pow(HALF, denominator.bit_length() - 1, PRIME) % PRIME


class Trace:
    """Nodes (operation, operands...), their values modulo the prime, and which value is which node."""

    def __init__(self):
        self.nodes: list[tuple] = [("const", 0.0)]
        self.residue: list[int] = [0]
        self.seen: dict[int, int] = {0: ZERO}
        self.label = ""  # what is being traced, for messages
        self.truths = False  # is there any?
        self._constants: dict[float, int] = {0.0: ZERO}
        self.one = self.constant(1.0)

    # --- leaves

    def input(self, name: str, index: int, residue: int | None = None) -> int:
        return self._new(("in", name, index), drawn("in", name, index) if residue is None else residue)

    def constant(self, x: float, residue: int | None = None) -> int:
        """A known number. With a residue given, its exact value is not the float but what the float is rounded from."""
        x = float(x)
        if residue is None:
            if (ref := self._constants.get(x)) is not None:
                return ref
            if x == -math.inf:
                return -self.constant(math.inf)
            residue = exact(x) if math.isfinite(x) else drawn("const", str(x))
            ref = self._constants[x] = self._known(residue) or self._new(("const", x), residue)
            return ref
        return self._known(residue) or (self._new(("const", x), residue) if residue else ZERO)

    # --- arithmetic

    def add(self, a: int, b: int) -> int:
        if not a:
            return b
        if not b:
            return a
        if a < 0 and b < 0:
            return -self.add(-a, -b)
        residue = self.residue
        r = ((residue[a] if a > 0 else -residue[-a]) + (residue[b] if b > 0 else -residue[-b])) % PRIME
        ref = self.seen.get(r)
        if ref is not None:
            return ref
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self._new(("const", x + y), r)
        return self._new(("add", a, b), r)

    def sub(self, a: int, b: int) -> int:
        return self.add(a, -b)

    def mul(self, a: int, b: int) -> int:
        if not a or not b:
            return ZERO
        one = self.one
        if a == one:
            return b
        if b == one:
            return a
        if a < 0:
            return -self.mul(-a, b)
        if b < 0:
            return -self.mul(a, -b)
        r = self.residue[a] * self.residue[b] % PRIME
        ref = self.seen.get(r)
        if ref is not None:
            return ref
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self._new(("const", x * y), r)
        return self._new(("mul", a, b), r)

    def reciprocal(self, a: int) -> int:
        if not a:
            where = f" at {self.label}" if self.label else ""
            raise TraceError(
                f"division by a value that is zero for every input{where}. In a mechanism: nothing with mass moves "
                "along that joint; give the body it carries a mass or a tensor, or the joint an armature."
            )
        if a < 0:
            return -self.reciprocal(-a)
        r = pow(self.residue[a], -1, PRIME)
        known = self._known(r)
        if known:
            return known
        x = self.value(a)
        if x is None:
            return self._new(("rcp", a), r)
        return self._new(("const", 1 / x if x else math.inf), r)  # zero: a product of constants that underflowed

    def div(self, a: int, b: int) -> int:
        return self.mul(a, self.reciprocal(b))

    def power(self, a: int, exponent: float) -> int:
        """a to a whole power, or to a half of one."""
        if not math.isfinite(exponent) or 2 * exponent != int(2 * exponent):
            raise TraceError(f"a power of {exponent} cannot be traced; for a > 0 write np.exp({exponent} * np.log(a)).")
        n = abs(int(exponent))
        out = self.one if exponent == int(exponent) else self.function("sqrt", a)
        while n:
            out = self.mul(out, a) if n & 1 else out
            n >>= 1
            a = self.mul(a, a) if n else a
        return self.reciprocal(out) if exponent < 0 else out

    # --- functions: their exact value is a fresh one, drawn from those of their arguments

    def sin_cos(self, a: int) -> tuple[int, int]:
        """A point on the circle for each angle, so that sin² + cos² = 1."""
        if not a:
            return ZERO, self.one
        if a < 0:
            s, c = self.sin_cos(-a)
            return -s, c
        t = drawn("angle", self.residue[a])
        d = pow(1 + t * t, -1, PRIME)
        x = self.value(a)
        s, c = 2 * t * d % PRIME, (1 - t * t) * d % PRIME
        if x is not None:
            sine, cosine = (math.sin(x), math.cos(x)) if math.isfinite(x) else (math.nan, math.nan)
            return self.constant(sine, s), self.constant(cosine, c)
        return self._known(s) or self._new(("sin", a), s), self._known(c) or self._new(("cos", a), c)

    def function(self, name: str, *operands: int) -> int:
        """atan2, or one of UNARY."""
        a = operands[0]
        values = [x for x in map(self.value, operands) if x is not None]
        y = _fold(name, values) if len(values) == len(operands) else None
        if y is not None and self._exactly(name, a, y):
            return self.constant(y)
        r = drawn(name, *map(self._residue, operands))
        return self._known(r) or (self._new((name, *operands), r) if y is None else self.constant(y, r))

    def _exactly(self, name: str, a: int, y: float) -> bool:
        """Is the number y the function's very value, not rounded to it?"""
        if name == "sqrt":
            return math.isfinite(y) and exact(y) ** 2 % PRIME == self._residue(a)
        if name in ("exp", "asin", "atan2"):
            return a == ZERO and y in (0.0, 1.0)
        return name == "floor" or (name in ("log", "acos") and a == self.one)

    def absolute(self, a: int) -> int:
        x = self.value(a)
        if x is not None:
            return a if x >= 0 else -a
        a = abs(a)
        if self.nodes[a][0] in ("abs", "sqrt", "exp"):
            return a
        r = drawn("abs", self.residue[a])
        return self._known(r) or self._new(("abs", a), r)

    def compare(self, name: str, a: int, b: int) -> int:
        """A truth: lt, le or eq of two scalars. Nothing equals what is not a number, itself neither."""
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self.constant(float({"lt": x < y, "le": x <= y, "eq": x == y}[name]))
        if a == b:
            return ZERO if name == "lt" else self._truth("eq", abs(a), abs(a))
        return self._truth(name, a, b)

    def logic(self, name: str, *operands: int) -> int:
        """and, or, not of truths."""
        values = [self.value(a) for a in operands]
        if name == "not":
            return self._truth(name, *operands) if values[0] is None else self.constant(1.0 - values[0])
        absorbing = 0.0 if name == "and" else 1.0
        if absorbing in values:
            return self.constant(absorbing)
        left = list(dict.fromkeys(a for a, x in zip(operands, values) if x is None))
        return self._truth(name, *left) if len(left) == 2 else left[0] if left else self.constant(1.0 - absorbing)

    def truth(self, a: int) -> int:
        """Whether a number is not zero; a truth as it is."""
        x = self.value(a)
        if x is not None:
            return self.constant(float(x != 0.0))
        return a if self.nodes[abs(a)][0] in TRUTHS else self.logic("not", self.compare("eq", a, ZERO))

    def number(self, a: int) -> int:
        """1 or 0 for a truth; a number as it is."""
        return self.where(a, self.one, ZERO) if self.nodes[abs(a)][0] in TRUTHS else a

    def where(self, truth: int, a: int, b: int) -> int:
        if a == b:
            return a
        x = self.value(truth)
        if x is not None:
            return a if x else b
        if a <= 0 and b <= 0:
            return -self.where(truth, -a, -b)
        r = drawn("where", self.residue[truth], self._residue(a), self._residue(b))
        return self._known(r) or self._new(("where", truth, a, b), r)

    def opaque(self, a: int) -> int:
        """The same number, with nothing known about it."""
        if not a or self.value(a) is not None:
            return a
        if a < 0:
            return -self.opaque(-a)
        r = drawn("opaque", self.residue[a])
        return self._known(r) or self._new(("opaque", a), r)

    def unit(self, q: list[int]) -> list[int]:
        """q / |q|, computed though it may be provable that nothing changes; the result lies on the sphere."""
        q = [self.opaque(a) for a in q]
        square = ZERO
        for a in q:
            square = self.add(square, self.mul(a, a))
        scale = self.reciprocal(self.function("sqrt", square))
        some = [a for a in q if a]
        if len(some) == 1 or self.value(scale) is not None:
            return [self.mul(a, scale) for a in q]
        residues = iter(sphere(len(some), "unit", *map(self._residue, some)))
        return [self._scaled(a, scale, next(residues)) if a else ZERO for a in q]

    def _scaled(self, a: int, scale: int, r: int) -> int:
        """The product of a and a scale, whose residue is r."""
        if known := self._known(r):
            return known
        return self._new(("mul", a, scale), r) if a > 0 else -self._new(("mul", -a, scale), PRIME - r)

    # --- what is known

    def value(self, a: int) -> float | None:
        """The number a constant is, None for everything else."""
        node = self.nodes[a] if a >= 0 else self.nodes[-a]
        if node[0] != "const":
            return None
        return node[1] if a >= 0 else -node[1]

    def _residue(self, a: int) -> int:
        return self.residue[a] if a >= 0 else PRIME - self.residue[-a]

    def _known(self, residue: int) -> int | None:
        return self.seen.get(residue)

    def _truth(self, name, *operands):
        self.truths = True
        r = drawn(name, *(self._residue(a) for a in operands))
        return self._known(r) or self._new((name, *operands), r)

    def _new(self, node: tuple, residue: int) -> int:
        ref = len(self.nodes)
        self.nodes.append(node)
        self.residue.append(residue)
        self.seen[residue] = ref
        self.seen[PRIME - residue] = -ref
        return ref


def sphere(n: int, *key) -> list[int]:
    """A point of the unit sphere in n dimensions, modulo the prime."""
    t = [drawn("sphere", i, *key) for i in range(n - 1)]
    s = sum(x * x for x in t)
    d = pow(1 + s, -1, PRIME)
    return [2 * x * d % PRIME for x in t] + [(1 - s) * d % PRIME]


def _fold(name: str, values: list[float]) -> float | None:
    try:
        return math.atan2(*values) if name == "atan2" else UNARY[name](*values)
    except (ValueError, OverflowError):
        return None  # left to the kernel, which answers NaN or infinity as NumPy does
