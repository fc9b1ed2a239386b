"""A program as SymPy expressions: the same operations on symbols."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from ...errors import OptionError, extra
from ..tracing.operations import meanings, operands
from ..tracing.program import Output, Program, evaluate

DENOMINATOR = 10_000  # a float that a fraction up to this one rounds to was meant as that fraction: 1/3, 9.81


def expressions(program: Program, names: Mapping[str, Sequence] | None = None) -> list:
    """The outputs in symbols q0, q1 ... for the entries of each input: a scalar, a matrix (vectors are columns) or an
    array each.

    `names` gives other symbols, or names for them, by input: {"q": ["theta", "x"]}.
    """
    results = evaluate(program, symbols(program, names or {}), meanings("sympy", sympy_module()), number)
    return [_shaped(entries, output) for entries, output in zip(results, program.outputs)]


def branches(program: Program, names: Mapping[str, Sequence] | None = None) -> int:
    """How many choices by symbols the expressions have, written out: what is used twice counts twice. Numbers choose at once."""
    nodes, entries = program.trace.nodes, symbols(program, names or {})
    symbolic, count = set[int](), dict[int, int]()
    for i in program.live:
        name, *args = nodes[i]
        below = list(operands(nodes[i]))
        if entries[args[0]][args[1]].free_symbols if name == "in" else not symbolic.isdisjoint(below):
            symbolic.add(i)
        count[i] = sum(count.get(j, 0) for j in below) + (name == "where" and abs(args[0]) in symbolic)
    return sum(count.get(abs(ref), 0) for output in program.outputs for ref in output.refs)


def symbols(program: Program, names: Mapping[str, Sequence]) -> dict[str, list]:
    """The symbols of each input, all real."""
    sympy = sympy_module()
    out = {}
    for x in program.inputs:
        stem = f"{x.name}_" if x.name[-1].isdigit() else x.name
        given = names[x.name] if x.name in names else [f"{stem}{i}" for i in range(x.size)]
        if len(given) != x.size:
            raise OptionError(f"{x.name} has {x.size} entries, but {len(given)} names: {', '.join(map(str, given))}.")
        out[x.name] = [sympy.Symbol(s, real=True) if isinstance(s, str) else sympy.sympify(s) for s in given]
    return out


def number(x: float):
    """A constant: whole or a fraction where it was surely meant as one, else a float."""
    sympy = sympy_module()
    if x - x != 0:
        return sympy.nan if x != x else sympy.oo if x > 0 else -sympy.oo
    fraction = Fraction(x).limit_denominator(DENOMINATOR)
    return sympy.Rational(fraction) if float(fraction) == x else sympy.Float(x)


def _shaped(entries: list, output: Output):
    sympy = sympy_module()
    if not output.shape:
        return entries[0]
    if len(output.shape) > 2:
        return sympy.ImmutableDenseNDimArray(entries, output.shape)
    return sympy.ImmutableMatrix(*output.shape, *(1,) * (2 - len(output.shape)), entries)


def sympy_module():
    """SymPy, imported when it is first needed."""
    return extra("sympy", "symbols need", "symbolic")
