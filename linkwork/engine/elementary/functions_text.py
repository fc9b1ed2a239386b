"""LLVM IR as text, written with Python operators.

A `FunctionBody` collects the instructions of one function; each operation on a `Value` adds one of them. All arithmetic is
plain IEEE (no `contract`, no fast flags), and multiply-adds are explicit, so that a result does not depend on the width
or on the target.
"""

import struct
from typing import NamedTuple

import numpy as np

SELDOM = '!prof !{!"branch_weights", i32 1, i32 100000}'


class Format(NamedTuple):
    """A binary floating-point format and the integer of its size."""

    suffix: str
    integer: str
    bits: int
    mantissa: int
    bias: int

    @property
    def sign(self):
        return 1 << (self.bits - 1)

    @property
    def magic(self):
        """Added to a number below 2^(mantissa - 1), it leaves the nearest integer in the low bits."""
        return 1.5 * 2.0**self.mantissa


FORMATS = {"double": Format("f64", "i64", 64, 52, 1023), "float": Format("f32", "i32", 32, 23, 127)}


def pattern(number, dtype):
    """The bits of a number, as an integer."""
    real, word = {"double": ("d", "Q"), "float": ("f", "I")}[dtype]
    return struct.unpack(f"<{word}", struct.pack(f"<{real}", number))[0]


def rounded(number, dtype):
    """The nearest number that a dtype has; one past all of them is infinite."""
    with np.errstate(over="ignore"):
        return float(number) if dtype == "double" else float(np.float32(number))


def lanes(element, width):
    """The type of `width` elements: the element's own if there is one."""
    return element if width == 1 else f"<{width} x {element}>"


def parts(type_):
    """Element and width of a type; the inverse of `lanes`."""
    if not type_.startswith("<"):
        return type_, 1
    width, element = type_[1:-1].split(" x ")
    return element, int(width)


def mangled(type_):
    """A type as intrinsics spell it: v8f64 for <8 x double>."""
    element, width = parts(type_)
    name = FORMATS[element].suffix if element in FORMATS else element
    return name if width == 1 else f"v{width}{name}"


class Value:
    """The result of an instruction, or a literal. Numbers met in an operation become literals of the same type."""

    __slots__ = ("body", "name", "type")

    def __init__(self, body, type_, name):
        self.body, self.type, self.name = body, type_, name

    def __str__(self):
        return self.name

    @property
    def real(self):
        return parts(self.type)[0] in FORMATS

    def _binary(self, op, a, b):
        a, b = self.body.literal(self.type, a), self.body.literal(self.type, b)
        return self.body.emit(self.type, f"{op} {self.type} {a}, {b}")

    def _arithmetic(self, op, a, b):
        return self._binary(f"f{op}" if self.real else op, a, b)

    def __add__(self, other):      return self._arithmetic("add", self, other)
    def __radd__(self, other):     return self._arithmetic("add", other, self)
    def __sub__(self, other):      return self._arithmetic("sub", self, other)
    def __rsub__(self, other):     return self._arithmetic("sub", other, self)
    def __mul__(self, other):      return self._arithmetic("mul", self, other)
    def __rmul__(self, other):     return self._arithmetic("mul", other, self)
    def __truediv__(self, other):  return self._binary("fdiv", self, other)
    def __rtruediv__(self, other): return self._binary("fdiv", other, self)
    def __and__(self, other):      return self._binary("and", self, other)
    def __or__(self, other):       return self._binary("or", self, other)
    def __xor__(self, other):      return self._binary("xor", self, other)
    def __lshift__(self, other):   return self._binary("shl", self, other)
    def __rshift__(self, other):   return self._binary("lshr", self, other)

    def __neg__(self):
        return self.body.emit(self.type, f"fneg {self.type} {self}")

    def signed_shift(self, other):
        """Shift right that repeats the sign."""
        return self._binary("ashr", self, other)

    def _compare(self, relation, other):
        bools = lanes("i1", parts(self.type)[1])
        other = self.body.literal(self.type, other)
        return self.body.emit(bools, f"{'fcmp o' if self.real else 'icmp '}{relation} {self.type} {self}, {other}")

    def __gt__(self, other): return self._compare("gt", other)  # of reals only, as below: false if one is NaN
    def __lt__(self, other): return self._compare("lt", other)
    def equals(self, other): return self._compare("eq", other)
    def negative(self):      return self._compare("slt", 0)     # of integers
    def nonzero(self):       return self._compare("ne", 0)

    def convert(self, op, type_):
        return self.body.emit(type_, f"{op} {self.type} {self} to {type_}")


class Function(NamedTuple):
    """A finished function, and the text of all it calls by symbol: definitions, declarations, tables."""

    symbol: str
    results: tuple  # their types
    text: str
    calls: dict

    @property
    def returns(self):
        """The type returned: of one result its own, of several a record."""
        return self.results[0] if len(self.results) == 1 else f"{{{', '.join(self.results)}}}"


class FunctionBody:
    """The instructions of one function on numbers of one dtype, `width` at a time."""

    def __init__(self, dtype, width):
        self.dtype, self.width = dtype, width
        self.format = FORMATS[dtype]
        self.real   = lanes(dtype, width)
        self.int    = lanes(self.format.integer, width)
        self.lines  = ["entry:"]
        self.block  = "entry"
        self.calls  = {}
        self.count  = 0

    def fresh(self):
        self.count += 1
        return f"v{self.count}"

    def line(self, text):
        self.lines.append(f"  {text}")

    def emit(self, type_, text):
        """One instruction with a result."""
        name = f"%{self.fresh()}"
        self.line(f"{name} = {text}")
        return Value(self, type_, name)

    def start(self, label):
        """Begin a block."""
        self.block = label
        self.lines.append(f"{label}:")

    def argument(self, name):
        return Value(self, self.real, f"%{name}")

    def literal(self, type_, number):
        """A number, rounded to the element's precision, in every lane; what is a Value already stays itself."""
        if isinstance(number, Value):
            return number
        element, width = parts(type_)
        text = f"0x{pattern(rounded(number, element), 'double'):016X}" if element in FORMATS else str(number)
        return Value(self, type_, text if width == 1 else f"<{', '.join([f'{element} {text}'] * width)}>")

    def call(self, symbol, returns, arguments):
        types = ", ".join(a.type for a in arguments)
        given = ", ".join(f"{a.type} {a}" for a in arguments)
        self.calls.setdefault(symbol, f"declare {returns} @{symbol}({types})\n")
        return self.emit(returns, f"call {returns} @{symbol}({given})")

    def invoke(self, function, *arguments):
        """Call a `Function`; its results."""
        self.calls |= function.calls | {function.symbol: function.text}
        record = self.call(function.symbol, function.returns, arguments)
        if len(function.results) == 1:
            return [record]
        return [self.emit(t, f"extractvalue {record.type} {record}, {i}") for i, t in enumerate(function.results)]

    def entry(self, symbol, table, index):
        """table[index] of a constant table of 64-bit words."""
        words = ", ".join(f"i64 {word}" for word in table)
        self.calls[symbol] = f"@{symbol} = internal constant [{len(table)} x i64] [{words}]\n"
        place = self.emit("ptr", f"getelementptr i64, ptr @{symbol}, i64 {index}")
        return self.emit("i64", f"load i64, ptr {place}")

    def lane(self, vector, i):
        return self.emit(parts(vector.type)[0], f"extractelement {vector.type} {vector}, i32 {i}")

    def vector(self, values):
        """Lanes put together."""
        element = values[0].type
        type_   = lanes(element, len(values))
        whole   = Value(self, type_, "poison")
        for i, v in enumerate(values):
            whole = self.emit(type_, f"insertelement {type_} {whole}, {element} {v}, i32 {i}")
        return whole

    def unless(self, condition, values, otherwise):
        """`values`; but if the condition holds in any lane, what `otherwise()` gives, in a branch seldom taken."""
        if self.width > 1:
            condition = self.call(f"llvm.vector.reduce.or.{mangled(condition.type)}", "i1", [condition])
        before, rare, after = self.block, self.fresh(), self.fresh()
        self.line(f"br i1 {condition}, label %{rare}, label %{after}, {SELDOM}")
        self.start(rare)
        others = otherwise()
        self.line(f"br label %{after}")
        self.start(after)
        return [self.emit(v.type, f"phi {v.type} [{v}, %{before}], [{o}, %{rare}]") for v, o in zip(values, others)]

    def define(self, symbol, arguments, results, attributes):
        """Return the results: the finished function."""
        function = Function(symbol, tuple(v.type for v in results), "", self.calls)
        returns, returned = function.returns, results[0]
        if len(results) > 1:
            returned = Value(self, returns, "poison")
            for i, v in enumerate(results):
                returned = self.emit(returns, f"insertvalue {returns} {returned}, {v.type} {v}, {i}")
        self.line(f"ret {returns} {returned}")
        given = ", ".join(f"{a.type} {a}" for a in arguments)
        lines = [f"define internal {returns} @{symbol}({given}) {attributes} {{", *self.lines, "}\n"]
        return function._replace(text="\n".join(lines))


def _intrinsic(name, *arguments):
    first = next(a for a in arguments if isinstance(a, Value))
    given = [first.body.literal(first.type, a) for a in arguments]
    return first.body.call(f"llvm.{name}.{mangled(first.type)}", first.type, given)


def fma(a, b, c):
    """a b + c, rounded once."""
    return _intrinsic("fma", a, b, c)


def sqrt(x):
    return _intrinsic("sqrt", x)


def fabs(x):
    return _intrinsic("fabs", x)


def floor(x):
    return _intrinsic("floor", x)


def funnel_shift(high, low, shift):
    """The upper half of (high, low) << shift."""
    return _intrinsic("fshl", high, low, shift)


def leading_zeros(n):
    """Of an integer that is not 0."""
    name = f"llvm.ctlz.{mangled(n.type)}"
    return n.body.call(name, n.type, [n, Value(n.body, "i1", "true")])


def select(condition, a, b):
    """Lane by lane, a where the condition holds and b elsewhere; two numbers are reals."""
    body  = condition.body
    type_ = next((v.type for v in (a, b) if isinstance(v, Value)), body.real)
    a, b  = body.literal(type_, a), body.literal(type_, b)
    return body.emit(type_, f"select {condition.type} {condition}, {type_} {a}, {type_} {b}")


def bits(x):
    """A real's bits as an integer."""
    return x.convert("bitcast", x.body.int)


def real(n):
    """The real with these bits."""
    return n.convert("bitcast", n.body.real)


def with_sign(x, source):
    """x with its sign turned where the top bit of the integer `source` is set."""
    return real(bits(x) ^ (source & x.body.format.sign))


def polynomial(coefficients, x):
    """Horner's rule, lowest power first; in pairs a + b x if it is long, to halve the chain of dependent operations."""
    if len(coefficients) <= 8:
        return horner(coefficients, x)
    pairs = [fma(b, x, a) for a, b in zip(coefficients[0::2], coefficients[1::2])]
    last  = coefficients[2 * len(pairs) :]
    return horner([*pairs, *last], x * x)


def horner(coefficients, x):
    total = fma(coefficients[-1], x, coefficients[-2])
    for c in coefficients[-3::-1]:
        total = fma(total, x, c)
    return total
