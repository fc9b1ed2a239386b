"""A trace: the scalar operations of a function, each one different from all others by proof.

Every scalar carries its exact value modulo a large prime at a random point. Two scalars with the same value are the
same function (Schwartz-Zippel: the chance of a mistake at a million operations is below 1e-25), so the second is never
made: symmetry, R R* = I, sin² + cos² = 1, zeros and constants disappear by themselves.

Equal functions may differ in rounding: 1 + 2 q + q² has no correct digit near q = −1, where (1 + q)² has all. So a scalar is replaced
by an equal one only if that adds up no more terms; else it is made, and found from then on.
"""

import math
from collections.abc import Iterable

from ...errors import TraceError
from .operations import OPERATIONS, ZERO
from .residues import PRIME, drawn, exact, product, sphere, total

NORMAL = 2.0**-1022  # the smallest float with all its digits
MOST = 1_000_000  # operations of a trace: it takes seconds, and minutes to compile


class Trace:
    """Nodes (operation, operands...), their values modulo the prime, and which value is which node."""

    may_loop = True  # is there a place for loops (loops.py)?

    def __init__(self):
        self.nodes: list[tuple] = [("const", 0.0)]
        self.residue: list[int] = [0]
        self.terms: list[float] = [1.0]  # how many terms a node adds up, a product in the longer of its factors
        self.seen: dict[int, int] = {0: ZERO}
        self.label = ""  # what is being traced, for messages
        self.remedy = ""  # what to do about a division by zero there, a sentence of the caller's
        self.truths = False  # is there any?
        self.moves_as: dict[int, int] = {}  # nodes whose derivatives are those of another: a unit vector that is made one again
        self.depth = 0  # of loops around what is being traced
        self._constants: dict[float, int] = {0.0: ZERO}
        self._not_finite: set[int] = set()  # constants that are infinite or no number
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
            if not math.isfinite(x):
                return self._unbounded(x)
            residue = exact(x)
            ref = self._known(residue)
            if ref is None or self.value(ref) != x:  # the float itself, not what is rounded to another float or computed
                ref = self._new(("const", x), residue)
            self._constants[x] = ref
            return ref
        return self._known(residue) or (self._new(("const", x), residue) if residue else ZERO)

    def _unbounded(self, x: float) -> int:
        """The constant ∞, −∞ or NaN."""
        if x == -math.inf:
            return -self._unbounded(math.inf)
        ref = self.node(("const", x), drawn("const", str(x)))
        self._not_finite.add(ref)
        return ref

    # --- arithmetic

    def add(self, a: int, b: int) -> int:
        if self._not_finite and self._is_unbounded(a, b):
            return self._beyond("add", a, b)
        if not a:
            return b
        if not b:
            return a
        if a < 0 and b < 0:
            return -self.add(-a, -b)
        residue = self.residue
        r = total(residue[a] if a > 0 else -residue[-a], residue[b] if b > 0 else -residue[-b])
        ref = self.seen.get(r)
        terms = self.terms[abs(a)] + self.terms[abs(b)]
        if ref is not None and self.terms[abs(ref)] <= terms:
            return ref
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self._constant_of("add", x, y, r)
        return self._new(("add", a, b), r, terms)

    def sub(self, a: int, b: int) -> int:
        return self.add(a, -b)

    def mul(self, a: int, b: int) -> int:
        if self._not_finite and self._is_unbounded(a, b):
            return self._beyond("mul", a, b)
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
        r = product(self.residue[a], self.residue[b])
        ref = self.seen.get(r)
        terms = max(self.terms[a], self.terms[b])
        if ref is not None and self.terms[abs(ref)] + self._is_sum(ref) <= terms:
            return ref
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self._constant_of("mul", x, y, r)
        return self._new(("mul", a, b), r, terms)

    def _is_sum(self, a: int) -> bool:
        """A sum may cancel where an equal product of sums does not: a² − b², (a − b) (a + b)."""
        return self.nodes[abs(a)][0] == "add"

    def _constant_of(self, name: str, x: float, y: float, residue: int) -> int:
        """The sum or product of two numbers; one that is past all floats is infinite from here on."""
        value = self._folded(name, x, y)
        return self._new(("const", value), residue) if math.isfinite(value) else self.constant(value)

    def _is_unbounded(self, a: int, b: int) -> bool:
        return abs(a) in self._not_finite or abs(b) in self._not_finite

    def _beyond(self, name: str, a: int, b: int) -> int:
        """A sum or product with ∞ or NaN, of which nothing is known but itself: ∞ − ∞ is not 0."""
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self.constant(self._folded(name, x, y))
        a, b = sorted((a, b))
        residue = drawn(name, self.residue_of(a), self.residue_of(b))
        return self.constant(math.nan) if x != x or y != y else self.node((name, a, b), residue)

    def reciprocal(self, a: int) -> int:
        if not a:
            where = f" at {self.label}" if self.label else ""
            raise TraceError(f"division by a value that is zero for every input{where}. {self.remedy}".rstrip())
        if a < 0:
            return -self.reciprocal(-a)
        x = self.value(a)
        value = None if x is None else self._folded("rcp", x)
        if value is not None and (a in self._not_finite or not math.isfinite(value)):
            return self.constant(value)
        r = OPERATIONS["rcp"].residue_of(self.residue[a])
        return self._known(r) or (self._new(("rcp", a), r, self.terms[a]) if value is None else self._new(("const", value), r))

    def div(self, a: int, b: int) -> int:
        x = self.value(b)
        if x and math.isfinite(x) and not NORMAL <= abs(1 / x) < math.inf:  # the quotient may be normal all the same: a / b = a s / (b s)
            scale = self.constant(2.0 ** (600 if abs(x) < 1 else -600))
            return self.mul(self.mul(a, scale), self.reciprocal(self.mul(b, scale)))
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
        return self._circular("sin", a), self._circular("cos", a)

    def _circular(self, name: str, a: int) -> int:
        x, r = self.value(a), OPERATIONS[name].residue_of(self.residue[a])
        if x is not None:
            return self.constant(self._folded(name, x), r)
        return self._known(r) or self._new((name, a), r)

    def function(self, name: str, *operands: int) -> int:
        """An operation of numbers that has no rules of its own; of constants, its value."""
        row, residues = OPERATIONS[name], [self.residue_of(a) for a in operands]
        values = [x for x in map(self.value, operands) if x is not None]
        y = row.folded(*values) if len(values) == len(operands) else None
        if y is not None and row.is_exact(y, *residues):
            return self.constant(y)
        r = row.residue_of(*residues)
        return self._known(r) or (self._new((name, *operands), r) if y is None else self.constant(y, r))

    def absolute(self, a: int) -> int:
        x = self.value(a)
        if x is not None:
            return a if x >= 0 else -a
        a = abs(a)
        if self.nodes[a][0] in ("abs", "sqrt", "exp"):
            return a
        return self._made("abs", a)

    def compare(self, name: str, a: int, b: int) -> int:
        """A truth: lt, le or eq of two scalars. Nothing equals what is not a number, itself neither."""
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self.constant(self._folded(name, x, y))
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
        return a if self.is_truth(a) else self.logic("not", self.compare("eq", a, ZERO))

    def number(self, a: int) -> int:
        """1 or 0 for a truth; a number as it is."""
        return self.where(a, self.one, ZERO) if self.is_truth(a) else a

    def where(self, truth: int, a: int, b: int) -> int:
        if a == b:
            return a
        x = self.value(truth)
        if x is not None:
            return a if x else b
        if a <= 0 and b <= 0:
            return -self.where(truth, -a, -b)
        return self._made("where", truth, a, b)

    def opaque(self, a: int) -> int:
        """The same number, with nothing known about it."""
        if not a or self.value(a) is not None:
            return a
        if a < 0:
            return -self.opaque(-a)
        return self._made("opaque", a)

    def still(self, a: int) -> int:
        """The same number, which has no derivative."""
        if not a or self.value(a) is not None:
            return a
        return -self.still(-a) if a < 0 else self._made("still", a)

    def unit(self, q: list[int]) -> list[int]:
        """q / |q|, computed though it may be provable that nothing changes; the result lies on the sphere."""
        normalised = self._normalised([self.opaque(a) for a in q])
        if sum(r * r for r in map(self.residue_of, q)) % PRIME == 1:  # |q| = 1 by proof, however q moves
            self.moves_as |= {abs(u): a if u > 0 else -a for u, a in zip(normalised, q) if u and self.value(u) is None}
        return normalised

    def _normalised(self, q: list[int]) -> list[int]:
        some = [a for a in q if a]
        length = self._sum(self.absolute(a) for a in some)  # first to this length: squares may be past all floats
        if len(some) == 1:
            return [self.mul(a, self.reciprocal(length)) if a else ZERO for a in q]
        nearly = self.reciprocal(length)
        scaled = [self.mul(a, nearly) for a in q]
        scale = self.reciprocal(self.function("sqrt", self._sum(self.mul(a, a) for a in scaled)))
        if self.value(scale) is not None:
            return [self.mul(a, scale) for a in scaled]
        residues = iter(sphere(len(some), "unit", *map(self.residue_of, some)))
        return [self._scaled(a, scale, next(residues)) if a else ZERO for a in scaled]

    def _sum(self, terms: Iterable[int]) -> int:
        out = ZERO
        for a in terms:
            out = self.add(out, a)
        return out

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

    def is_truth(self, a: int) -> bool:
        """Is it true or false, not a number?"""
        return OPERATIONS[self.nodes[abs(a)][0]].truth

    def residue_of(self, a: int) -> int:
        """The exact value of a reference, modulo the prime."""
        return self.residue[a] if a >= 0 else PRIME - self.residue[-a]

    def node(self, node: tuple, residue: int) -> int:
        """The node with this residue: the one that is known, or a new one."""
        return self._known(residue) or self._new(node, residue)

    def forget(self, nodes: Iterable[int]) -> None:
        """Let nothing that follows be found equal to these nodes."""
        for i in nodes:
            for r, ref in ((self.residue[i], i), (PRIME - self.residue[i], -i)):
                if self.seen.get(r) == ref:
                    del self.seen[r]

    def _known(self, residue: int) -> int | None:
        return self.seen.get(residue)

    def _too_long(self) -> TraceError:
        where = f" at {self.label}" if self.label else ""
        return TraceError(
            f"the trace has {len(self.nodes):,} operations{where}, the most that are compiled as straight-line code. Write repeated "
            "steps with lw.iterate, sum over samples outside the kernel, or take a rolled kernel (Dynamics(model, rolled=True))."
        )

    def _truth(self, name, *operands):
        self.truths = True
        return self._made(name, *operands)

    def _folded(self, name: str, *values: float) -> float:
        """The value of an operation of constants, where there is one; else NaN."""
        y = OPERATIONS[name].folded(*values)
        return math.nan if y is None else y

    def _made(self, name: str, *operands: int) -> int:
        """The node of an operation that no rule simplifies."""
        r = OPERATIONS[name].residue_of(*map(self.residue_of, operands))
        return self._known(r) or self._new((name, *operands), r)

    def _new(self, node: tuple, residue: int, terms: float = 1.0) -> int:
        ref = len(self.nodes)
        if ref >= MOST:
            raise self._too_long()
        self.nodes.append(node)
        self.residue.append(residue)
        self.terms.append(terms)
        self.seen[residue] = ref
        self.seen[PRIME - residue] = -ref
        return ref
