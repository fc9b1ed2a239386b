"""Loops in a program: `iterate` on traced arrays.

The body is traced once, on values that stand for what is carried from round to round. Values of the code around it may be used
inside; what does not depend on a carried value is computed outside, before the loop. What does depend on one is not seen from
outside. A loop is a node ("loop", Loop, starts..., values used inside...), its results are nodes ("result", number, loop).
"""

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass

import numpy as np

from ...errors import TraceError
from ...lie.iteration import iteration, taken
from .array import Traced, lift, truths
from .operations import ZERO, operands
from .residues import drawn
from .trace import Trace


@dataclass(frozen=True, eq=False)
class Loop:
    """Runs its body, at least once, as long as any sample of the group goes on; with `before`, not at all unless that is larger than
    `most` for some sample."""

    most: int  # rounds
    carried: tuple[int, ...]  # nodes that stand for the carried values
    new: tuple[int, ...]  # what they are after a round
    again: int  # the truth of a sample that goes on
    body: tuple[int, ...]  # nodes, each after its operands
    before: int = 0  # a number of each sample: the round in which it is done, or `most` + 1


@iteration.register(Traced)
def iterated(step: Callable, start: tuple, most: int, unless=None):
    """The results and the number of rounds, as traced arrays."""
    trace = next((x.trace for x in (*start, unless) if isinstance(x, Traced)), None) or _trace_of(step, start)
    arrays = [lift(trace, x) for x in start]
    if not trace.may_loop:
        raise TraceError("iterate cannot be used inside a rolled kernel: iterate around it, or unroll it (rolled=False).")

    def shaped(refs: list[int]) -> list[Traced]:
        parts = np.split(np.array(refs, np.int64), np.cumsum([x.size for x in arrays])[:-1])
        return [Traced(trace, part.reshape(x.shape)) for part, x in zip(parts, arrays)]

    def one_round(refs: list[int]) -> tuple[list[int], int]:
        new, done = taken(step, shaped(refs))
        return _checked(trace, new, arrays), _one_truth(trace, done)

    refs = [ref for x in arrays for ref in x.ravel().tolist()]
    *found, rounds = Recorder(trace, most).results(one_round, refs, None if unless is None else _one_truth(trace, unless))
    return shaped(found), Traced(trace, rounds)


def _trace_of(step, start) -> Trace:
    new, done = taken(step, start)
    return next(x.trace for x in (*new, done) if isinstance(x, Traced))


def _checked(trace: Trace, new: list, arrays: list[np.ndarray]) -> list[int]:
    """The references of what a step returns, which has the shapes it was given."""
    out: list[int] = []
    for n, (value, old) in enumerate(zip(new, arrays)):
        refs = lift(trace, value)
        if refs.shape != old.shape:
            raise TraceError(f"carried value {n} starts with shape {old.shape}, but the step returns it with shape {refs.shape}.")
        out += refs.ravel().tolist()
    return out


def _one_truth(trace: Trace, done) -> int:
    refs = truths(trace, done)
    if refs.shape:
        raise TraceError(f"done has shape {refs.shape}; a kernel needs one truth for each sample, such as np.all(done, -1).")
    return int(refs)


class Recorder:
    """Traces one loop.

    Besides the values that are carried, it carries the number of the round and the round in which the sample was done, which
    is most + 1 until then.
    """

    def __init__(self, trace: Trace, most: int):
        self.trace, self.most = trace, most

    def results(self, one_round: Callable, start: list[int], unless: int | None = None) -> list[int]:
        """References to the carried values after the loop, and to the number of rounds; samples of which `unless` is true make none."""
        trace, most = self.trace, self.most
        never = trace.constant(most + 1)
        when = never if unless is None else trace.where(unless, ZERO, never)
        self.tested = trace.value(when) is None  # may all samples be done before?
        if not most or when == ZERO:
            return [*start, when]
        if most == 1 and not self.tested:
            new, done = one_round(start)
            return [*new, trace.where(done, trace.one, never)]
        self.start, self.depth = [*start, ZERO, when], trace.depth
        steady = {k: ref for k, ref in enumerate(start) if trace.value(ref) is not None}  # what no round changes, as far as is known
        while True:
            leaves = self._leaves(steady)
            values = [{**steady, **leaves}[k] for k in range(len(self.start))]
            try:
                new, done, finished = self._round(one_round, values)
            except TraceError:  # a constant may have been the reason: a division by what is zero in the first round only
                if not steady:
                    raise
                self._leave(leaves)
                steady = {}
                continue
            after = self._still(steady, leaves, new)
            if after == steady:
                break
            self._leave(leaves)
            steady = after
        if trace.value(done) == 1.0 and not self.tested:
            self._leave(leaves)
            return [*one_round(start)[0], trace.one]
        return self._made(leaves, new, done, finished)

    def _still(self, steady: dict[int, int], leaves: dict[int, int], new: list[int]) -> dict[int, int]:
        """What no round changes, after a look at one: first constants are given up that do not stay, then others are found."""
        stay = {k: ref for k, ref in steady.items() if new[k] == ref}
        return stay if len(stay) < len(steady) else stay | {k: self.start[k] for k, leaf in leaves.items() if new[k] == leaf}

    def _leaves(self, steady: dict[int, int]) -> dict[int, int]:
        """Nodes for the carried values that are not steady, by number."""
        trace = self.trace
        trace.depth = self.depth + 1
        key = "carried", trace.depth, self.most, *map(trace.residue_of, self.start)
        return {k: trace.node(("carried", k), drawn(*key, k)) for k in range(len(self.start)) if k not in steady}

    def _round(self, one_round, values: list[int]):
        """One round: new values, whether the step is done, and whether the sample was done before."""
        trace = self.trace
        *mine, count, when = values
        finished = trace.compare("le", when, trace.constant(self.most))
        new, done = one_round(mine)
        count = trace.add(count, trace.one)
        return [*new, count, trace.where(done, count, when)], done, finished

    def _made(self, leaves: dict[int, int], new, done, finished) -> list[int]:
        """The node of the loop and those of its results."""
        trace, counter = self.trace, len(self.start) - 2
        kept = {k: new[k] if k == counter else trace.where(finished, leaf, new[k]) for k, leaf in leaves.items()}
        again = trace.logic("not", trace.logic("or", finished, done))
        again = trace.logic("and", again, trace.compare("lt", kept[counter], trace.constant(self.most)))
        inside = self._dependent(leaves.values())
        body = self._ordered([*kept.values(), again], inside - set(leaves.values()))
        before = self.start[-1] if self.tested else ZERO
        loop = Loop(self.most, tuple(leaves.values()), tuple(kept.values()), again, tuple(body), before)
        starts = [self.start[k] for k in leaves]
        key = "loop", self.most, *map(trace.residue_of, (*starts, *leaves.values(), *loop.new, again, before))
        self._leave(leaves)
        node = trace.node(("loop", loop, *starts, *_captured(trace.nodes, loop, inside)), drawn(*key))
        out = {}
        for n, k in enumerate(leaves):
            r = drawn("result", n, *key)
            constant = trace.value(new[k]) is not None and not self.tested  # after one round and ever after
            out[k] = new[k] if constant else trace.node(("result", n, node), r)
        return [out.get(k, self.start[k]) for k in range(len(self.start)) if k != counter]

    def _dependent(self, leaves: Iterable[int]) -> set[int]:
        """The nodes that depend on what is carried."""
        nodes, out = self.trace.nodes, set(leaves)
        for i in range(min(out), len(nodes)):
            if not out.isdisjoint(operands(nodes[i])):
                out.add(i)
        return out

    def _ordered(self, refs: Iterable[int], among: Container[int]) -> list[int]:
        """The nodes that these references need `among` some, each after its operands."""
        nodes = self.trace.nodes
        return ordered((ref for ref in refs if abs(ref) in among), lambda i: (j for j in operands(nodes[i]) if j in among))

    def _leave(self, leaves: dict[int, int]) -> None:
        """What depends on a carried value is not seen from outside."""
        self.trace.depth = self.depth
        self.trace.forget(self._dependent(leaves.values()))


def ordered(refs: Iterable[int], below: Callable[[int], Iterable[int]]) -> list[int]:
    """The nodes of these references and all below them, each after those that are below it, of which the last come first."""
    order, done = list[int](), set[int]()
    for ref in refs:
        stack = [abs(ref)]
        while stack:
            i = stack.pop()
            if i < 0:  # all below ~i is there
                order.append(~i)
            elif i not in done:
                done.add(i)
                stack.append(~i)
                stack.extend(below(i))
    return order


def _captured(nodes: list[tuple], loop: Loop, inside: set[int]) -> list[int]:
    """What a loop uses of the code around it."""
    used = dict.fromkeys([*(j for i in loop.body for j in operands(nodes[i])), *map(abs, (*loop.new, loop.before))])
    return [j for j in used if j not in inside and nodes[j][0] != "const"]
