"""Programs as functions of CasADi's C interface: `casadi.external` finds them, their sparsity and their Jacobians in one library.

A function `name` has its Jacobian in `jac_name`, which takes the same inputs and an unused place for each result, and returns a block for
each result and input; `jac_jac_name` is that of the Jacobian. Matrices are stored column by column, and only entries that may not be zero.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ...errors import TraceError
from ..tracing.array import Traced
from ..tracing.program import Input, Program, record
from . import c

Wanted = tuple[str, tuple[tuple[int, ...], ...], tuple[int, int]]  # a block: name, shapes that its axes are made of, or none and its own

HEAD = """#include <math.h>

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
"""


@dataclass(frozen=True)
class Block:
    """A matrix that a function takes or returns, and which of its entries may not be zero."""

    name: str
    pattern: np.ndarray  # of truths (rows, columns)
    is_computed: bool = True  # is it a result of the program, or without entries?

    @property
    def sparsity(self) -> list[int]:
        """rows, columns, where each column starts, and the rows of its entries."""
        starts = np.concatenate([[0], np.cumsum(self.pattern.sum(0))])
        return [*self.pattern.shape, *starts.tolist(), *np.nonzero(self.pattern.T)[1].tolist()]

    @property
    def entries(self) -> int:
        return int(self.pattern.sum())


def matrix_shape(shape: Sequence[int]) -> tuple[int, int]:
    """A shape as that of a matrix: a number, a column, or all but the last axis as rows."""
    return (prod(shape[:-1]), shape[-1]) if len(shape) > 1 else (prod(shape), 1)


def dense(name: str, shape) -> Block:
    return Block(name, np.ones(matrix_shape(shape), bool))


def columns(x, groups: Sequence[tuple[int, ...]]):
    """A derivative (result..., input..., second input...) as a matrix: each group of axes is stored column by column."""
    shape = [prod(g) for g in groups]
    x = x.reshape(*(n for g in groups for n in matrix_shape(g)))
    axes = [a for k in range(len(groups)) for a in (2 * k + 1, 2 * k)]
    x = x.transpose(axes).reshape(shape)
    while x.ndim > 2:  # rows of the next are the entries of the last, column by column
        x = x.transpose((1, 0, *range(2, x.ndim))).reshape(x.shape[0] * x.shape[1], *x.shape[2:])
    return x


def recorded(name: str, function: Callable, inputs: Sequence[Input], groups: Sequence[Sequence[tuple[int, ...]]]):
    """The program whose results are the entries of each block that may not be zero, and the patterns of the blocks.

    `groups` are, for each result, the shapes that its axes are made of: (result,), (result, input), ...
    """
    given, patterns = [_by_columns(x) for x in inputs], list[np.ndarray]()

    def entries(*arguments):
        values = function(*(x.mT if len(own.shape) == 2 else x for x, own in zip(arguments, inputs)))
        out = []
        for y, parts in zip(values if isinstance(values, tuple) else (values,), groups, strict=True):
            refs = arguments[0].like(y).refs
            matrix = columns(refs, parts) if len(parts) > 1 else refs.reshape(matrix_shape(parts[0]))
            pattern = matrix != 0 if len(parts) > 1 else np.ones(matrix.shape, bool)
            patterns.append(pattern)
            out.append(Traced(arguments[0].trace, matrix.T[pattern.T]))
        return tuple(out)

    return record(name, entries, given), patterns[-len(groups) :]


def _by_columns(x: Input) -> Input:
    if len(x.shape) > 2:
        raise TraceError(f"{x.name} has shape {x.shape}; CasADi has vectors and matrices only.")
    return Input(x.name, x.shape[::-1]) if len(x.shape) == 2 else x


def family(name: str, functions: Sequence[Callable], operations: Program) -> list[tuple[str, Program, list[Block], list[Block]]]:
    """A function and its Jacobians of each order, as `source` takes them, from functions of one sample: the first is that of
    `operations`, each other has a result for each result and input of the one before."""
    inputs, count = operations.inputs, len(operations.inputs)
    given = [dense(own, x.shape) for own, x in zip(c.arguments(operations).values(), inputs)]
    wanted: list[Wanted] = [(own, (x.shape,), (0, 0)) for own, x in zip(c.results(operations), operations.outputs)]
    out = []
    for n, function in enumerate(functions):
        program, patterns = recorded(name, function, inputs, [groups for _, groups, _ in wanted if groups])
        found = iter(patterns)
        results = [Block(own, next(found)) if groups else Block(own, np.zeros(shape, bool), False) for own, groups, shape in wanted]
        out.append((f"{'jac_' * n}{name}", program, given, results))
        wanted = [
            (f"jac_{y.name}_{x.name}", (*groups, inputs[i].shape) if groups and i < count else (), (y.pattern.size, x.pattern.size))
            for y, (_, groups, _) in zip(results, wanted)
            for i, x in enumerate(given)
        ]
        given = [*given, *(Block(f"out_{x.name}", np.zeros(x.pattern.shape, bool)) for x in results)]
    return out


def source(functions: Iterable[tuple[str, Program, list[Block], list[Block]]], notes: Iterable[str] = ()) -> str:
    """The .c file of some functions: (name, program, what it takes, what it returns); inputs past those of the program are unused."""
    return "\n".join([c.comment(notes), HEAD, *(_function(*each) for each in functions)])


def _function(name: str, program: Program, given: list[Block], results: list[Block]) -> str:
    own = f"{name}_entries"
    room, calls, before = 0, list[str](), list[str]()
    for i, block in enumerate(given[: len(program.inputs)]):
        before.append(f"    if (!arg[{i}]) for (int i = 0; i < {block.entries}; ++i) w[{room} + i] = 0;")
        calls.append(f"arg[{i}] ? arg[{i}] : w + {room}")
        room += block.entries
    for i, block in ((i, block) for i, block in enumerate(results) if block.is_computed):
        calls.append(f"res[{i}] ? res[{i}] : w + {room}")
        room += block.entries
    nl = "\n"
    return f"""static {c.function(program, own, "float64")}
EXPORT int {name}(const double **arg, double **res, long long *iw, double *w, int mem)
{{
    (void)iw; (void)mem;
{nl.join(before)}
    {own}({f",{nl}        ".join(calls)});
    return 0;
}}

EXPORT long long {name}_n_in(void) {{ return {len(given)}; }}
EXPORT long long {name}_n_out(void) {{ return {len(results)}; }}
{_choice(name, "name_in", "const char *", [f'"{x.name}"' for x in given])}
{_choice(name, "name_out", "const char *", [f'"{x.name}"' for x in results])}
{_sparsities(name, "sparsity_in", given)}
{_sparsities(name, "sparsity_out", results)}
EXPORT int {name}_work(long long *sz_arg, long long *sz_res, long long *sz_iw, long long *sz_w)
{{
    if (sz_arg) *sz_arg = {len(given)};
    if (sz_res) *sz_res = {len(results)};
    if (sz_iw) *sz_iw = 0;
    if (sz_w) *sz_w = {room};
    return 0;
}}
"""


def _choice(name: str, what: str, kind: str, values: list[str]) -> str:
    cases = " ".join(f"case {i}: return {x};" for i, x in enumerate(values))
    return f"EXPORT {kind}{name}_{what}(long long i) {{ switch (i) {{ {cases} default: return 0; }} }}"


def _sparsities(name: str, what: str, blocks: list[Block]) -> str:
    tables = [f"static const long long {name}_{what}_{i}[] = {{{', '.join(map(str, x.sparsity))}}};" for i, x in enumerate(blocks)]
    return "\n".join([*tables, _choice(name, what, "const long long *", [f"{name}_{what}_{i}" for i in range(len(blocks))])])
