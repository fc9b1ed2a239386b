"""The operations of a trace: one row each, with all that the trace and the writers know about it.

To add an operation, add a row. A row gives its meaning to the interpreter (`value`), to the trace (`fold`, `residue`,
`exact`), to LLVM and PTX (`instruction`, `intrinsic` or `library`), to C, SymPy and CasADi, and its derivative. If `value` is
a ufunc of NumPy, that ufunc becomes this operation when a function is traced.

What can be made of other operations is no operation but a composition (sinh, hypot, minimum ...): a function of a trace and
its scalars, listed by its ufunc in ufuncs.py.

Some operations are known to the writers themselves, because their text depends on what is around them: the leaves `in` and
`const`, `opaque` and `still`, which are their operand, `add`, which may absorb a product or become a difference, loops (loops.py) with the
leaves of their bodies, calls of routines (routines.py), and the results of both.
"""

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..elementary.functions_circular import sincos
from ..elementary.functions_exponential import exp, log
from ..elementary.functions_inverse import acos, asin, atan2
from ..elementary.functions_remainder import fmod
from . import residues

ZERO = 0  # the reference to the scalar 0; a reference is the number of a node, negative for its negative
LEAVES = "in", "const", "carried"  # nodes without operands
SAME = "opaque", "still"  # nodes that are their operand
LOOPS = "loop", "call", "result"  # nodes whose operands come after something else: the loop or routine itself, or which of its results


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A row. References to operands may be negative; `t` is the trace."""

    name: str
    arity: int
    value: Callable | None = None  # of NumPy arrays
    truth: bool = False  # is its result true or false, not a number?
    free: bool = False  # does it take no time?

    # the trace
    fold: Callable | None = None  # of Python floats: the value of constants, by default that of `value`
    residue: Callable | None = None  # of the operands' residues; by default a fresh one is drawn from them
    exact: Callable | None = None  # (folded value, residues): is the float exactly the value? By default it is rounded
    make: Callable | None = None  # (t, operands): the method of the trace that simplifies it, by default Trace.function

    # the writers
    instruction: str = ""  # LLVM, with {0} {1} {2} for operands, {V} and {B} for the types of numbers and truths, {one}, {true}
    intrinsic: str = ""  # of LLVM, on every target and without a mathematical library: "sqrt" for llvm.sqrt
    library: Callable | None = None  # writes the function with the operators of functions_text.py
    part: int | None = None  # which of the library function's results it is, where there are several
    c: str = ""  # a function of math.h, or an expression; {0:product} and {0:atom} ask for parentheses around a sum, any expression
    sympy: str | Callable = ""  # a function of the module, or of its expressions
    casadi: str | Callable = ""

    derivative: Callable | None = None  # (t, result, operands): partial derivatives; None for an operand that has none
    change: Callable | None = None  # (t, operands, their changes): that of the result, by default Σ partial derivative times change
    when: Callable | None = None  # (t, operands): of each None, or the truth of which it is chosen (−truth: not) and the slope elsewhere

    def folded(self, *values: float) -> float | None:
        """The value for constants; None is left to the kernel, which answers NaN or infinity as NumPy does."""
        try:
            if self.fold is not None:
                return float(self.fold(*values))
            with np.errstate(divide="raise", over="raise", invalid="raise"):
                return float(self.value(*map(np.float64, values)))  # type: ignore[misc]
        except (ValueError, OverflowError, FloatingPointError):
            return None

    def residue_of(self, *operands: int) -> int:
        return residues.drawn(self.name, *operands) if self.residue is None else self.residue(*operands)

    def is_exact(self, y: float, *operands: int) -> bool:
        return self.exact is not None and self.exact(y, *operands)

    def changed(self, t, result: int, operands: Sequence[int], changes: Sequence[int]) -> int:
        """The change of the result for changes of its operands, to first order."""
        if self.change is not None:
            return self.change(t, *operands, *changes)
        total, slopes = ZERO, () if self.derivative is None else self.derivative(t, result, *operands)
        for slope, d in zip(slopes, changes):
            total = total if slope is None else t.add(total, t.mul(slope, d))
        return total

    def traced(self, t, *operands: int) -> int:
        """The reference to this operation of these scalars, simplified where something is known."""
        return t.function(self.name, *operands) if self.make is None else self.make(t, *operands)


def _same(x):
    return x


def _piecewise(truth, a, b):
    from sympy import Piecewise

    return Piecewise((a, truth), (b, True))


def _fmod(a, b):
    from sympy import Abs, Mod, sign

    return sign(a) * Mod(Abs(a), Abs(b))


def _arc_slope(t, a: int) -> int:
    """1 / √(1 − a²)."""
    return t.reciprocal(t.function("sqrt", t.sub(t.one, t.mul(a, a))))


def _atan2_slopes(t, _, y: int, x: int) -> tuple[int, int]:
    """x / (x² + y²) and −y / (x² + y²)."""
    square = t.add(t.mul(x, x), t.mul(y, y))
    return t.div(x, square), -t.div(y, square)


def _none(t, a: int) -> int:
    """NaN where a choice is NaN, which has no slope either; else zero."""
    x = t.value(a)
    return a if x is not None and x != x else ZERO


ROWS = [
    Operation(name="in", arity=0, free=True),
    Operation(name="const", arity=0, free=True),
    Operation(
        name="add", arity=2, value=np.add, fold=operator.add, residue=residues.total, make=lambda t, a, b: t.add(a, b),
        instruction="fadd {V} {0}, {1}", c="{0} + {1:product}", sympy=operator.add, casadi=operator.add,
        derivative=lambda t, _, a, b: (t.one, t.one),
    ),
    Operation(
        name="mul", arity=2, value=np.multiply, fold=operator.mul, residue=residues.product, make=lambda t, a, b: t.mul(a, b),
        instruction="fmul {V} {0}, {1}", c="{0:product}*{1:atom}", sympy=operator.mul, casadi=operator.mul,
        derivative=lambda t, _, a, b: (b, a),
    ),
    Operation(
        name="rcp", arity=1, value=np.reciprocal, residue=residues.inverse, make=lambda t, a: t.reciprocal(a),
        fold=lambda x: 1 / x if x else math.inf,  # zero: a product of constants that underflowed
        instruction="fdiv {V} {one}, {0}", c="{one}/{0:atom}", sympy=lambda a: 1 / a, casadi=lambda a: 1 / a,
        derivative=lambda t, y, a: (-t.mul(y, y),),
    ),
    Operation(
        name="sin", arity=1, value=np.sin, fold=math.sin, residue=residues.sine, make=lambda t, a: t.sin_cos(a)[0],
        library=sincos, part=0, c="sin", sympy="sin", casadi="sin", derivative=lambda t, _, a: (t.sin_cos(a)[1],),
    ),
    Operation(
        name="cos", arity=1, value=np.cos, fold=math.cos, residue=residues.cosine, make=lambda t, a: t.sin_cos(a)[1],
        library=sincos, part=1, c="cos", sympy="cos", casadi="cos", derivative=lambda t, _, a: (-t.sin_cos(a)[0],),
    ),
    Operation(
        name="sqrt", arity=1, value=np.sqrt, fold=math.sqrt,
        exact=lambda y, a: math.isfinite(y) and residues.exact(y) ** 2 % residues.PRIME == a,
        intrinsic="sqrt", c="sqrt", sympy="sqrt", casadi="sqrt", derivative=lambda t, y, a: (t.div(t.constant(0.5), y),),
    ),
    Operation(
        name="exp", arity=1, value=np.exp, fold=math.exp, exact=lambda y, a: a == 0,
        library=exp, c="exp", sympy="exp", casadi="exp", derivative=lambda t, y, a: (y,),
    ),
    Operation(
        name="log", arity=1, value=np.log, fold=math.log, exact=lambda y, a: a == 1,
        library=log, c="log", sympy="log", casadi="log", derivative=lambda t, _, a: (t.reciprocal(a),),
    ),
    Operation(
        name="acos", arity=1, value=np.arccos, fold=math.acos, exact=lambda y, a: a == 1,
        library=acos, c="acos", sympy="acos", casadi="acos", derivative=lambda t, _, a: (-_arc_slope(t, a),),
    ),
    Operation(
        name="asin", arity=1, value=np.arcsin, fold=math.asin, exact=lambda y, a: a == 0,
        library=asin, c="asin", sympy="asin", casadi="asin", derivative=lambda t, _, a: (_arc_slope(t, a),),
    ),
    Operation(
        name="atan2", arity=2, value=np.arctan2, fold=math.atan2, exact=lambda angle, y, x: y == 0 and angle == 0,
        library=atan2, c="atan2", sympy="atan2", casadi="atan2", derivative=_atan2_slopes,
    ),
    Operation(
        name="floor", arity=1, value=np.floor, fold=math.floor, exact=lambda y, a: True,
        intrinsic="floor", c="floor", sympy="floor", casadi="floor", derivative=lambda t, _, a: (ZERO,),
    ),
    Operation(
        name="fmod", arity=2, value=np.fmod, fold=math.fmod, library=fmod, c="fmod", sympy=_fmod, casadi="fmod",
        derivative=lambda t, y, a, b: (t.one, t.div(t.sub(t.still(y), t.still(a)), b)),
    ),
    Operation(
        name="abs", arity=1, value=np.absolute, fold=abs, make=lambda t, a: t.absolute(a),
        intrinsic="fabs", c="fabs", sympy="Abs", casadi="fabs",
        derivative=lambda t, _, a: (t.where(t.compare("lt", a, ZERO), -t.one, t.one),),
    ),
    Operation(
        name="lt", arity=2, value=np.less, fold=operator.lt, truth=True, make=lambda t, a, b: t.compare("lt", a, b),
        instruction="fcmp olt {V} {0}, {1}", c="{0} < {1}", sympy="StrictLessThan", casadi=operator.lt,
    ),
    Operation(
        name="le", arity=2, value=np.less_equal, fold=operator.le, truth=True, make=lambda t, a, b: t.compare("le", a, b),
        instruction="fcmp ole {V} {0}, {1}", c="{0} <= {1}", sympy="LessThan", casadi=operator.le,
    ),
    Operation(
        name="eq", arity=2, value=np.equal, fold=operator.eq, truth=True, make=lambda t, a, b: t.compare("eq", a, b),
        instruction="fcmp oeq {V} {0}, {1}", c="{0} == {1}", sympy="Eq", casadi=operator.eq,
    ),
    Operation(
        name="and", arity=2, value=np.logical_and, truth=True, make=lambda t, a, b: t.logic("and", a, b),
        instruction="and {B} {0}, {1}", c="{0} && {1}", sympy="And", casadi="logic_and",
    ),
    Operation(
        name="or", arity=2, value=np.logical_or, truth=True, make=lambda t, a, b: t.logic("or", a, b),
        instruction="or {B} {0}, {1}", c="{0} || {1}", sympy="Or", casadi="logic_or",
    ),
    Operation(
        name="not", arity=1, value=np.logical_not, truth=True, make=lambda t, a: t.logic("not", a),
        instruction="xor {B} {0}, {true}", c="!{0}", sympy="Not", casadi="logic_not",
    ),
    Operation(
        name="where", arity=3, value=np.where, make=lambda t, truth, a, b: t.where(truth, a, b),
        instruction="select {B} {0}, {V} {1}, {V} {2}", c="{0} ? {1} : {2}", sympy=_piecewise, casadi="if_else",
        derivative=lambda t, _, truth, a, b: (None, t.number(truth), t.where(truth, ZERO, t.one)),
        change=lambda t, truth, a, b, d, da, db: t.where(truth, _none(t, a) or da, _none(t, b) or db),  # the other may have no slope
        when=lambda t, truth, a, b: (None, (truth, _none(t, b)), (-truth, _none(t, a))),
    ),
    Operation(
        name="opaque", arity=1, value=_same, free=True, make=lambda t, a: t.opaque(a),
        sympy=_same, casadi=_same, derivative=lambda t, _, a: (t.one,),
    ),
    Operation(
        name="still", arity=1, value=_same, free=True, make=lambda t, a: t.still(a),
        sympy=_same, casadi=_same, derivative=lambda t, _, a: (ZERO,),
    ),
    Operation(name="loop", arity=0, value=np.any, free=True),  # the value of all samples' truths: does the group go on?
    Operation(name="call", arity=0, free=True),  # of a routine (routines.py)
    Operation(name="carried", arity=0, free=True),
    Operation(name="result", arity=1, free=True),
]  # fmt: skip
OPERATIONS: dict[str, Operation] = {row.name: row for row in ROWS}


def operands(node: tuple) -> Iterable[int]:
    """The nodes a node is made from."""
    name = node[0]
    return () if name in LEAVES else map(abs, node[2:] if name in LOOPS else node[1:])


def made_by(nodes: list[tuple], i: int) -> tuple:
    """What makes a value: the sine and the cosine of an angle are made together, and the results of a loop or a call."""
    node = nodes[i]
    if node[0] == "result":
        return nodes[node[2]][0], node[2]
    return ("angle", node[1]) if OPERATIONS[node[0]].library is sincos else (node[0], i)


def of_ufunc(ufunc: np.ufunc) -> Operation | None:
    """The operation that a ufunc of NumPy is."""
    return next((row for row in OPERATIONS.values() if row.value is ufunc), None)


def meanings(column: str, module: Any = None) -> dict[str, Callable]:
    """What each operation is for other scalars: a column of the table, in which names stand for functions of a module."""
    cells = {name: getattr(row, column) for name, row in OPERATIONS.items() if name not in LEAVES}
    return {name: getattr(module, cell) if isinstance(cell, str) else cell for name, cell in cells.items() if cell}
