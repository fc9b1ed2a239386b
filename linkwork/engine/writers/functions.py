"""Elementary functions for kernels, as LLVM IR text that needs no mathematical library.

They work on one number (width 1) or on `width` lanes, in float64 ("double") or float32 ("float"), on any target with a
fused multiply-add, and give the same bits for every width and target: nothing is left for the compiler to contract.
Every result is within 2 ulp of the true value, for every argument (each function's docstring says how far); a NaN, or
an argument out of the ordinary, touches its own lane only.

    text = library([("sincos", "double", 8), ("sincos", "double", 1), ("exp", "double", 8)])

is the text to put before one's own functions, which then write

    %sc = call {<8 x double>, <8 x double>} @lw.sincos.f64.v8(<8 x double> %x)
"""

from functools import cache
from inspect import signature

from ..elementary.functions_circular import sincos_near
from ..elementary.functions_text import FORMATS, FunctionBody
from ..tracing.operations import OPERATIONS


def writers():
    """By name, the functions that write these: those of the operations, and the short one of circles."""
    return {f.__name__: f for f in (sincos_near, *(row.library for row in OPERATIONS.values() if row.library))}


FUNCTIONS = {name: len(signature(f).parameters) for name, f in writers().items()}  # number of arguments, by name


def symbol(name, dtype, width):
    """The function's name in the IR, without @."""
    return f"lw.{name}.{FORMATS[dtype].suffix}.v{width}"


def library(functions):
    """The text of these functions, given as (name, dtype, width), and of what they call: internal, always inlined. sincos returns the
    record {sine, cosine}."""
    written, calls = [_written(*function) for function in dict.fromkeys(functions)], dict[str, str]()
    for function in written:
        calls |= function.calls
    return "".join([*calls.values(), *(function.text for function in written)])


@cache
def _written(name, dtype, width):
    body      = FunctionBody(dtype, width)
    writer    = writers()[name]
    arguments = [body.argument(f"x{i}") for i in range(len(signature(writer).parameters))]
    results   = writer(*arguments)
    results   = results if isinstance(results, tuple) else (results,)
    return body.define(symbol(name, dtype, width), arguments, results, "alwaysinline nounwind")
