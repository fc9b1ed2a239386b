"""A program evaluated by NumPy, one operation at a time: slow, needs no compiler, and the reference for every writer."""

from collections.abc import Callable, Mapping

import numpy as np

from ...lie.scalars import working_dtype
from ..tracing.operations import meanings
from ..tracing.program import Program, evaluate
from .gufunc import put_into


def run(program: Program, arrays: Mapping[str, object]) -> list[np.ndarray]:
    """The outputs of a program for its inputs by name, each with any batch axes before its own."""
    given = [np.asarray(arrays[x.name]) for x in program.inputs]
    kind = working_dtype(*given)
    batches = [a.shape[: a.ndim - len(x.shape)] for x, a in zip(program.inputs, given)]
    batch = np.broadcast_shapes(*batches)
    columns = {
        x.name: np.moveaxis(a.astype(kind).reshape(*axes, x.size), -1, 0)
        for x, a, axes in zip(program.inputs, given, batches)
    }
    with np.errstate(all="ignore"):
        results = evaluate(program, columns, meanings("value"), kind.type)
    entries = (np.array([np.broadcast_to(e, batch) for e in result], kind) for result in results)
    return [
        np.moveaxis(e.reshape(x.size, *batch), 0, -1).reshape(batch + x.shape)
        for e, x in zip(entries, program.outputs)
    ]


def called(program) -> Callable:
    """A program to be called as its gufunc is."""

    def call(*arrays, out=None):
        results = run(program, dict(zip((x.name for x in program.inputs), arrays, strict=True)))
        return put_into((None,) * len(results) if out is None else out, *results)

    return call
