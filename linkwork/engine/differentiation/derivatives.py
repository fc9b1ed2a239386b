"""Derivatives of traced values, forwards and backwards. The rules are in the table of operations.

Forwards, rates ẋ of the inputs give rates of the results:  ẏ = Σ ∂y/∂x ẋ.  Backwards, weights on the results give weights on the
inputs:  x̄ = Σ ȳ ∂y/∂x.  Both are values of the same trace, which proves what is zero or equal; what is zero is not computed.

Two values that were found equal are equal for all inputs, also where inputs are bound by a relation (a unit quaternion): rates
that keep the relation are then the same. Weights on the entries of a bound input mean something only along such rates.

A loop has the rates of its rounds, which it carries along with its values.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import product

import numpy as np

from ...errors import TraceError
from ..tracing.array import Traced
from ..tracing.loops import Loop, Recorder, ordered
from ..tracing.operations import LEAVES, LOOPS, OPERATIONS, ZERO, operands
from ..tracing.trace import Trace

Parts = dict[int, int]  # references by the number of a direction or of a row; what is not there is zero


# --- forwards


def rate(y: Traced, moving: Mapping[int, int]) -> Traced:
    """ẏ, an array like y. `moving` gives the reference of ẋ for that of each x; every other input stands still."""
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
    return {(nodes[i][1], nodes[i][2]) for i in needed(y.trace, y.refs.ravel().tolist()) if nodes[i][0] == "in"}


def rates(trace: Trace, refs: list[int], directions: Sequence[Mapping[int, int]]) -> list[Parts]:
    """For each reference those of its rates that are not zero, by the number of the direction; from leaves to results."""
    found = dict[int, Parts]()
    for n, moving in enumerate(directions):
        for x, to in moving.items():
            if to:
                found.setdefault(x, {})[n] = to
    loops, leaves = dict[int, list[Parts]](), set().union(*directions)
    for i in needed(trace, refs, leaves):
        if i not in found and i not in leaves and (parts := _rates_of(trace, i, found, loops)):
            found[i] = parts
    return [signed(ref, found.get(abs(ref), {})) for ref in refs]


def _rates_of(trace: Trace, i: int, found: Mapping[int, Parts], loops: dict[int, list[Parts]]) -> Parts:
    """The rates of a node from those of its operands; `loops` keeps those of the results of loops."""
    name, *arguments = trace.nodes[i]
    if i in trace.moves_as:
        return signed(trace.moves_as[i], found.get(abs(trace.moves_as[i]), {}))
    if name in LEAVES or found.keys().isdisjoint(_below(trace, i)):
        return {}
    if name == "result":
        n, loop = arguments
        if loop not in loops:
            loops[loop] = loop_rates(trace, loop, [signed(a, found.get(abs(a), {})) for a in trace.nodes[loop][2:]])
        return loops[loop][n]
    row = OPERATIONS[name]
    changes = [signed(a, found.get(abs(a), {})) for a in arguments]
    moved = dict.fromkeys(n for each in changes for n in each)
    if row.change is not None:
        parts = {n: row.change(trace, *arguments, *(each.get(n, ZERO) for each in changes)) for n in moved}
    else:
        parts = _summed(trace, row.derivative(trace, i, *arguments) if row.derivative else (), changes)
    return {n: ref for n, ref in parts.items() if ref}


def _summed(trace: Trace, slopes: Iterable[int | None], changes: Iterable[Parts]) -> Parts:
    """Σ slope · change over the operands, direction by direction."""
    total: Parts = {}
    for slope, each in zip(slopes, changes):
        if slope is None:
            continue
        for n, to in each.items():
            total[n] = trace.add(total.get(n, ZERO), trace.mul(slope, to))
    return total


# --- backwards


def weighted(y: Sequence[Traced], weights: Sequence[Traced], x: Sequence[Traced]) -> list[Traced]:
    """x̄ = Σ ȳ ∂y/∂x for each of the inputs x, whose entries are leaves of the trace."""
    trace = x[0].trace
    refs, given = ([ref for each in side for ref in each.refs.ravel().tolist()] for side in (y, weights))
    found = backwards(trace, refs, [{0: weight} for weight in given], _entries(x))
    return [_gathered(each, found, 1).reshape(each.shape) for each in x]


def gradients(y: Traced, x: Sequence[Traced]) -> list[Traced]:
    """∂y/∂x (entries of y, entries of x) for each of the inputs x, row by row from one pass."""
    refs = y.refs.ravel().tolist()
    found = backwards(y.trace, refs, [{n: y.trace.one} for n in range(len(refs))], _entries(x))
    return [_gathered(each, found, len(refs)) for each in x]


def _entries(x: Iterable[Traced]) -> set[int]:
    return {ref for each in x for ref in each.refs.ravel().tolist()}


def _gathered(x: Traced, found: Mapping[int, Parts], count: int) -> Traced:
    rows = [[found.get(ref, {}).get(n, ZERO) for ref in x.refs.ravel().tolist()] for n in range(count)]
    return Traced(x.trace, np.array(rows, np.int64).reshape(count, x.size))


def backwards(
    trace: Trace, refs: list[int], weights: Sequence[Parts], leaves: Collection[int], at: Callable[[int], int] = lambda ref: ref
) -> dict[int, Parts]:
    """For each leaf the weights that are not zero, by the number of the row; from results to leaves.

    `weights` are those of each reference. A value that only a choice uses (np.where) has weights only where it is chosen: there
    may be no slope elsewhere. `at` gives the value of a reference where the weights are computed, if that is another place.
    """
    order = needed(trace, refs, leaves)
    depends = set(leaves)
    for i in order:
        if not depends.isdisjoint(_below(trace, i)):
            depends.add(i)
    found, when, loops = dict[int, Parts](), dict[int, frozenset[int]](), dict[int, list[Parts]]()

    def give(ref: int, parts: Mapping[int, int], truths: frozenset[int]) -> None:
        i = abs(ref)
        when[i] = when[i] & truths if i in when else truths
        mine = found.setdefault(i, {})
        for n, weight in signed(ref, parts).items():
            mine[n] = trace.add(mine.get(n, ZERO), weight)

    for ref, parts in zip(refs, weights):
        give(ref, parts, frozenset())
    for i in reversed(order):
        parts = {n: weight for n, weight in found.get(i, {}).items() if weight}
        if i in leaves or i not in depends or not parts:
            continue
        for ref, share, truths in _shares(trace, i, parts, when[i], depends, loops, at):
            give(ref, share, truths)
    return found


def _shares(trace: Trace, i: int, parts: Parts, truths: frozenset[int], depends: Collection[int], loops: dict[int, list[Parts]], at):
    """What the operands of a node get of the weights on it: (operand, weights, the truths under which they are not zero)."""
    if i in trace.moves_as:
        yield trace.moves_as[i], parts, truths
        return
    name, *arguments = trace.nodes[i]
    row = OPERATIONS[name]
    here = () if name == "result" else (at(i), *map(at, arguments))
    slopes: Iterable[int | None] = row.derivative(trace, *here) if row.derivative else ()
    chosen = row.when(trace, *here[1:]) if row.when else (None,) * len(arguments)
    if name == "result":
        n, loop = arguments
        arguments = trace.nodes[loop][2:]
        if loop not in loops:
            own = [{k: trace.one} if abs(a) in depends else {} for k, a in enumerate(arguments)]
            loops[loop] = loop_rates(trace, loop, own)
        slopes, chosen = [loops[loop][n].get(k) for k in range(len(arguments))], (None,) * len(arguments)
    for a, slope, choice in zip(arguments, slopes, chosen):
        if slope is None or abs(a) not in depends:
            continue
        if choice is not None and choice[1]:
            yield a, {n: _where_a_number(trace, choice[0], choice[1], weight) for n, weight in parts.items()}, truths
        elif choice is not None:
            yield a, {n: _where(trace, choice[0], weight) for n, weight in parts.items()}, truths | {choice[0]}
        elif trace.value(slope) is not None:
            yield a, {n: trace.mul(slope, weight) for n, weight in parts.items()}, truths
        else:
            yield a, {n: _all(trace, truths, trace.mul(slope, weight)) for n, weight in parts.items()}, truths


def _where(trace: Trace, truth: int, weight: int) -> int:
    """The weight where a truth holds, or where it does not if it is negative."""
    return trace.where(truth, weight, ZERO) if truth > 0 else trace.where(-truth, ZERO, weight)


def _where_a_number(trace: Trace, truth: int, none: int, weight: int) -> int:
    """The weight where a truth holds, and NaN where the value is none, unless nothing weighs it."""
    holds = truth if truth > 0 else trace.logic("not", -truth)
    return trace.where(trace.logic("or", holds, trace.compare("eq", weight, ZERO)), weight, none)


def _all(trace: Trace, truths: Iterable[int], weight: int) -> int:
    """The weight where all truths hold."""
    for truth in sorted(truths):
        weight = _where(trace, truth, weight)
    return weight


# --- loops


def loop_rates(trace: Trace, node: int, parts: Sequence[Parts]) -> list[Parts]:
    """The rates of each result of a loop, from those of its operands: of a loop that carries rates along.

    The operands are hidden from the trace, which may know them as other values with rates of their own.
    """
    loop, *given = trace.nodes[node][1:]
    count, numbers = len(loop.carried), list(dict.fromkeys(n for each in parts for n in each))
    hidden = [trace.opaque(a) for a in given]
    around = {abs(a): (b if a > 0 else -b, each) for a, b, each in zip(given[count:], hidden[count:], parts[count:])}

    def one_round(values: list[int]) -> tuple[list[int], int]:
        mine, rest = values[:count], values[count:]
        moving: list[dict[int, int]] = [{abs(ref): _signed(ref, each.get(n, ZERO)) for ref, each in around.values()} for n in numbers]
        for k, n in product(range(count), range(len(numbers))):
            if trace.value(mine[k]) is None:
                moving[n][abs(mine[k])] = _signed(mine[k], rest[n * count + k])
        *new, again = _one_more_round(trace, loop, dict(zip(loop.carried, mine)) | {a: ref for a, (ref, _) in around.items()})
        moved = rates(trace, new, moving)
        return [*new, *(each.get(n, ZERO) for n in range(len(numbers)) for each in moved)], trace.logic("not", again)

    start = [*hidden[:count], *(each.get(n, ZERO) for n in numbers for each in parts[:count])]
    unless = None
    if loop.before:
        k = [abs(a) for a in given].index(abs(loop.before))
        unless = trace.compare("le", hidden[k] if given[k] == loop.before else -hidden[k], trace.constant(loop.most))
    _, *found = np.array(Recorder(trace, loop.most).results(one_round, start, unless)[:-1]).reshape(-1, count).tolist()
    return [{n: ref for n, ref in zip(numbers, row) if ref} for row in zip(*found)] if numbers else [{} for _ in range(count)]


def _one_more_round(trace: Trace, loop: Loop, values: dict[int, int]) -> list[int]:
    """What a loop carries after a round and whether it goes on, with other values in place of those it carries and uses."""

    def at(ref: int) -> int:
        return _signed(ref, values.get(abs(ref), abs(ref)))

    for i in loop.body:
        name, *arguments = trace.nodes[i]
        if name in LOOPS:
            raise TraceError("a loop (iterate) inside a loop has no derivative yet. Write the rounds of one of them out with a for loop.")
        values[i] = OPERATIONS[name].traced(trace, *map(at, arguments))
    return [at(ref) for ref in (*loop.new, loop.again)]


def _signed(ref: int, other: int) -> int:
    return other if ref > 0 else -other


# --- what both need


def needed(trace: Trace, refs: Iterable[int], leaves: Collection[int] = ()) -> list[int]:
    """The nodes that derivatives of these references go through, each after its operands; nothing below the leaves."""
    return ordered(refs, lambda i: () if i in leaves else _below(trace, i))


def _below(trace: Trace, i: int) -> Iterable[int]:
    """The nodes from which a node has its derivative."""
    if i in trace.moves_as:
        return (abs(trace.moves_as[i]),)
    node = trace.nodes[i]
    if node[0] == "still":
        return ()
    return operands(trace.nodes[node[2]] if node[0] == "result" else node)


def signed(ref: int, parts: Mapping[int, int]) -> Parts:
    """The parts of a reference from those of its node."""
    return dict(parts) if ref > 0 else {n: -part for n, part in parts.items()}
