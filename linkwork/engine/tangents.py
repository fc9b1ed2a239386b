"""Rates of traced values: how fast they change when the values they are made from do. The rules are in the table of operations."""

from collections.abc import Mapping, Sequence

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
    return directional(y, [moving])[..., 0]


def directional(y: Traced, directions: Sequence[Mapping[int, int]]) -> Traced:
    """The rates of y in several directions (..., n), from one pass over what y is made from."""
    found = rates(y.trace, y.refs.ravel().tolist(), directions)
    rows = [[each.get(n, ZERO) for n in range(len(directions))] for each in found]
    return Traced(y.trace, np.array(rows, np.int64).reshape(*y.shape, len(directions)))


def along(x: Traced, direction) -> dict[int, int]:
    """The scalars of x, each with its rate: an entry of `direction`."""
    to = x.like(direction).refs + np.zeros(x.shape, np.int64)
    return {abs(a): b if a > 0 else -b for a, b in zip(x.refs.ravel().tolist(), to.ravel().tolist()) if a}


def used(y: Traced) -> set[tuple[str, int]]:
    """The inputs that y depends on, as (name, entry)."""
    nodes = y.trace.nodes
    order = ordered(nodes, y.refs.ravel().tolist(), range(len(nodes)))
    return {(nodes[i][1], nodes[i][2]) for i in order if nodes[i][0] == "in"}


def rates(trace: Trace, refs: list[int], directions: Sequence[Mapping[int, int]]) -> list[dict[int, int]]:
    """For each reference those of its rates that are not zero, by the number of the direction; from leaves to results."""
    nodes, found = trace.nodes, dict[int, dict[int, int]]()
    for n, moving in enumerate(directions):
        for x, to in moving.items():
            if to:
                found.setdefault(x, {})[n] = to
    seeds = set().union(*directions) if directions else set[int]()
    for i in ordered(nodes, refs, range(len(nodes))):
        moved = {n for j in operands(nodes[i]) for n in found.get(j, ())}
        if i in seeds or nodes[i][0] in LEAVES or not moved:
            continue
        if nodes[i][0] in LOOPS:
            raise TraceError("a loop (iterate) has no derivative here.")
        row, arguments = OPERATIONS[nodes[i][0]], nodes[i][1:]
        if row.change is not None:
            each = {n: row.change(trace, *arguments, *(_along(found, a, n) for a in arguments)) for n in moved}
            found[i] = {n: ref for n, ref in each.items() if ref}
        elif row.derivative is not None:  # a truth has none
            found[i] = _summed(trace, arguments, row.derivative(trace, i, *arguments), found)
    return [{n: to if ref > 0 else -to for n, to in found.get(abs(ref), {}).items()} for ref in refs]


def _along(found, a: int, n: int) -> int:
    """The rate of an operand in direction n."""
    to = found.get(abs(a), {}).get(n, ZERO)
    return to if a > 0 else -to


def _summed(trace: Trace, arguments, partials, found) -> dict[int, int]:
    """Σ partial · rate over the operands of a node, direction by direction."""
    total: dict[int, int] = {}
    for a, partial in zip(arguments, partials):
        for n, to in found.get(abs(a), {}).items() if partial is not None else ():
            total[n] = trace.add(total.get(n, ZERO), trace.mul(partial, to if a > 0 else -to))
    return {n: ref for n, ref in total.items() if ref}
