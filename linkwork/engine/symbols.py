"""A program as SymPy expressions: the same operations on symbols."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from .program import Output, Program, evaluate

DENOMINATOR = 10_000  # a float that a fraction up to this one rounds to was meant as that fraction: 1/3, 9.81


def expressions(program: Program, names: Mapping[str, Sequence] | None = None) -> list:
    """The outputs in symbols q0, q1 ... for the entries of each input: a scalar, a matrix (vectors are columns) or an
    array each.

    `names` gives other symbols, or names for them, by input: {"q": ["theta", "x"]}.
    """
    results = evaluate(program, symbols(program, names or {}), _scalar(), number)
    return [_shaped(entries, output) for entries, output in zip(results, program.outputs)]


def symbols(program: Program, names: Mapping[str, Sequence]) -> dict[str, list]:
    """The symbols of each input, all real."""
    sympy = _sympy()
    out = {}
    for x in program.inputs:
        stem = f"{x.name}_" if x.name[-1].isdigit() else x.name
        given = names.get(x.name) or [f"{stem}{i}" for i in range(x.size)]
        if len(given) != x.size:
            raise ValueError(f"{x.name} has {x.size} entries, but {len(given)} names: {', '.join(map(str, given))}.")
        out[x.name] = [sympy.Symbol(s, real=True) if isinstance(s, str) else s for s in given]
    return out


def number(x: float):
    """A constant: whole or a fraction where it was surely meant as one, else a float."""
    sympy = _sympy()
    if x - x != 0:
        return sympy.nan if x != x else sympy.oo if x > 0 else -sympy.oo
    fraction = Fraction(x).limit_denominator(DENOMINATOR)
    return sympy.Rational(fraction) if float(fraction) == x else sympy.Float(x)


def _scalar() -> dict:
    """What each operation is in SymPy."""
    s = _sympy()
    return {
        "add": lambda a, b: a + b,
        "mul": lambda a, b: a * b,
        "rcp": lambda a: 1 / a,
        "sin": s.sin,
        "cos": s.cos,
        "sqrt": s.sqrt,
        "exp": s.exp,
        "log": s.log,
        "acos": s.acos,
        "asin": s.asin,
        "atan2": s.atan2,
        "floor": s.floor,
        "abs": s.Abs,
        "lt": s.StrictLessThan,
        "le": s.LessThan,
        "eq": s.Eq,
        "and": s.And,
        "or": s.Or,
        "not": s.Not,
        "where": lambda truth, a, b: s.Piecewise((a, truth), (b, True)),
    }


def _shaped(entries: list, output: Output):
    sympy = _sympy()
    if not output.shape:
        return entries[0]
    if len(output.shape) > 2:
        return sympy.ImmutableDenseNDimArray(entries, output.shape)
    return sympy.ImmutableMatrix(*output.shape, *(1,) * (2 - len(output.shape)), entries)


def _sympy():
    try:
        import sympy
    except ImportError as error:
        raise ImportError("symbols are SymPy's, which is missing: pip install linkwork[symbolic].") from error
    return sympy
