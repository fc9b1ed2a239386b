"""Rates of traced values: how fast they change when the values they are made from do. The rules are in the table of operations."""

from collections.abc import Mapping

import numpy as np

from ..errors import TraceError
from .array import Traced
from .loops import ordered
from .operations import LEAVES, LOOPS, OPERATIONS, ZERO, operands
from .trace import Trace


def rate(y: Traced, moving: Mapping[int, int]) -> Traced:
    """ẏ, an array like y:  Σ ∂y/∂x ẋ over the scalars x that move.

    `moving` gives the reference of ẋ for that of each x; every other input stands still. A value that was found equal to
    another for all inputs has the same rate, also where they are bound by a relation (a unit quaternion), as long as ẋ keeps it.
    """
    found = rates(y.trace, y.refs.ravel().tolist(), moving)
    return Traced(y.trace, np.array(found, np.int64).reshape(y.shape))


def along(x: Traced, direction) -> dict[int, int]:
    """The scalars of x, each with its rate: an entry of `direction`."""
    to = x.like(direction).refs + np.zeros(x.shape, np.int64)
    return {abs(a): b if a > 0 else -b for a, b in zip(x.refs.ravel().tolist(), to.ravel().tolist()) if a}


def used(y: Traced) -> set[tuple[str, int]]:
    """The inputs that y depends on, as (name, entry)."""
    nodes = y.trace.nodes
    order = ordered(nodes, y.refs.ravel().tolist(), range(len(nodes)))
    return {(nodes[i][1], nodes[i][2]) for i in order if nodes[i][0] == "in"}


def rates(trace: Trace, refs: list[int], moving: Mapping[int, int]) -> list[int]:
    """References of the rates, from leaves to results."""
    nodes, found = trace.nodes, dict(moving)

    def of(ref: int) -> int:
        x = found.get(abs(ref), ZERO)
        return x if ref >= 0 else -x

    for i in ordered(nodes, refs, range(len(nodes))):
        if i in found or nodes[i][0] in LEAVES or not any(map(of, operands(nodes[i]))):
            continue
        if nodes[i][0] in LOOPS:
            raise TraceError("a loop (iterate) has no derivative here.")
        row, arguments = OPERATIONS[nodes[i][0]], nodes[i][1:]
        if row.derivative is None:  # a truth
            continue
        total = ZERO
        for a, partial in zip(arguments, row.derivative(trace, i, *arguments)):
            if partial is not None and of(a):
                total = trace.add(total, trace.mul(partial, of(a)))
        found[i] = total
    return [of(ref) for ref in refs]
