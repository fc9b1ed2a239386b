"""Gradients by a rolled program: its loops once more, in the opposite order and direction, transposed (rolled_derivatives.py)."""

from collections.abc import Container, Iterable, Sequence

import numpy as np

from ...errors import TraceError
from ..tracing.array import Traced
from ..tracing.loops import ordered
from ..tracing.operations import OPERATIONS, ZERO, operands
from ..tracing.program import Input
from ..tracing.residues import drawn
from ..tracing.rolled import CHILD, OWN, PARENT, Argument, ClassStep, Joined, NodeLoop, RolledTrace, Segment, Slot
from ..tracing.rolled_program import RolledProgram
from .derivatives import backwards
from .rolled_derivatives import Derivative, Moving

SLOW = "rcp", "sqrt"  # and all of the library: these are kept, not computed again


def vjp(
    program: RolledProgram, name: str, inputs: tuple[Input, ...], weights: Sequence[str], moving: Sequence[Moving]
) -> RolledProgram:
    """Weights on the directions of each input, of the inputs of a program and weights on its results, which are inputs of these names."""
    return RolledProgram(name, program.tree, inputs, _Weights(program, weights, moving).results())


class _Weights(Derivative):
    def __init__(self, program, weights, moving):
        super().__init__(program, moving)
        self.weights = weights
        self.of_own: dict[int, list[int]] = {}  # node -> weights from later loops of the same group
        self.of_input: dict[tuple[int, str], list[tuple[int, int]]] = {}  # (class, name) -> (entry, weight)
        self.of_total: dict[tuple[int, int], int] = {}
        self.of_all: dict[tuple[str, int], int] = {}  # (name, entry) -> weight from after the loops
        self.from_children: list[tuple[Slot, list[tuple[int, int]]]] = []  # weights on what children read, and on which (slot, index)
        self.from_parent: list[tuple[int, int, int]] = []  # (loop, slot, index) of what a parent has summed up: names of what it gives
        self.last_steps: dict[int, ClassStep] = {}

    def results(self) -> tuple:
        self.tree.turn = len(self.loops)
        self._finals()
        for n in reversed(range(len(self.loops))):
            self._loop(n, self.loops[n])
        return tuple(self._gathered(x) if x.argument.which else self._added_up(x.argument).reshape(x.shape) for x in self.moving.values())

    def _finals(self) -> None:
        """After the loops: weights on totals, and those that the roots are given."""
        tree, trace, finals = self.tree, self.trace, self.program.finals
        leaves = self.leaves(None)
        given = [trace.leaf(("arg", self.weights[n], 0), j, drawn("arg", self.weights[n], j)) for n, j, _ in finals]
        found = backwards(trace, [ref for *_, ref in finals], [{0: weight} for weight in given], leaves) if leaves else {}
        of_terms: dict[int, int] = {}
        for i in leaves:
            (kind, *what), index = self.source(i)
            if weight := found.get(i, {}).get(0):
                if kind == "total":
                    self.of_total[what[0], index] = weight
                elif kind == "arg":
                    self.of_all[what[0], index] = weight
                else:
                    of_terms[what[1]] = weight
        tree.root_giving.seen, turn = dict(trace.seen), len(self.loops)
        tree.root_given = self._given(turn, tree.root_segment, tree.root_giving, of_terms, self._read([tree.root_segment], CHILD))
        self.from_parent += [(turn, *key) for key in self._read([tree.root_segment], CHILD)]

    def _read(self, segments: Iterable[Segment], role: str) -> list[tuple[int, int]]:
        """What is read of others in some segments: (slot, index)."""
        found = (self.source(i) for segment in segments for i in self.leaves(segment))
        return sorted({(source[1], index) for source, index in found if source[0] == role})

    def _loop(self, n: int, loop: NodeLoop) -> None:
        new = self.tree.new_loop(not loop.outward)
        above, below = self._read((s.body for s in loop.steps), PARENT), self._read((s.children for s in loop.steps), CHILD)
        if above:
            self.from_children.append((self.slot(CHILD, len(above)), above))
        self.from_parent += [(n, *key) for key in below]
        for step, mine in zip(loop.steps, new.steps):
            self.last_steps[step.group_class] = mine
            with self.inside(mine, mine.body):
                of_above, of_terms = self._step(step, mine)
            if above:
                self.put(self.from_children[-1][0], step.group_class, 0, mine, [of_above.get(key, ZERO) for key in above])
            mine.giving.seen = dict(mine.body.seen)
            mine.given = self._given(n, step.children, mine.giving, of_terms, below)

    def _step(self, step: ClassStep, mine: ClassStep) -> tuple[dict[tuple[int, int], int], dict[int, int]]:
        """The transposed step: weights on what it reads of its parent, and on the terms that it sums over its children."""
        trace, c = self.trace, step.group_class
        given = self._weights_on(step, mine)
        leaves = [*self.leaves(step.body), *self.for_all]
        at = _Again(trace, self.program.own)
        found = backwards(trace, [ref for ref, _ in given], [{0: weight} for _, weight in given], leaves, at) if leaves else {}
        of_above, of_terms = dict[tuple[int, int], int](), dict[int, int]()
        for i in leaves:
            (kind, *what), index = self.source(i)
            weight = found.get(i, {}).get(0, ZERO)
            if not weight:
                continue
            if kind == "arg":
                self.of_input.setdefault((c, what[0]), []).append((index, weight))
            elif kind == OWN:
                self.of_own.setdefault(what[0], []).append(weight)
            elif kind == PARENT:
                of_above[what[0], index] = weight
            else:
                of_terms[what[1]] = weight
        return of_above, of_terms

    def _weights_on(self, step: ClassStep, mine: ClassStep) -> list[tuple[int, int]]:
        """What a step has computed for others, each reference with a weight on it."""
        trace, program, c = self.trace, self.program, step.group_class
        out: list[tuple[int, int]] = []
        for n, (result, written) in enumerate(zip(program.results, self.written)):
            if written and written[c][0] is step:
                source = "arg", self.weights[n], result.which
                refs = written[c][1].ravel().tolist()
                out += [(ref, trace.leaf(source, j, drawn("arg", self.weights[n], c, j))) for j, ref in enumerate(refs)]
        for number, refs in step.totals:
            out += [(ref, self.of_total[number, e]) for e, ref in enumerate(refs) if (number, e) in self.of_total]
        for i, weights in self.of_own.items():
            if trace.home[i] is step.body:
                out += [(i, trace.again(weight)) for weight in weights]
        for slot, read in self.from_children:
            for place, (number, index) in enumerate(read):
                if (ref := self._made_here(step, PARENT, number, index)) is not None:
                    before = trace.enter(mine.children, mine.children.seen)
                    term = self.loaded(CHILD, slot, place)
                    trace.enter(*before)
                    out.append((ref, trace.summed(mine.sums, term, "step")))
        for name in self.from_parent:
            if (ref := self._made_here(step, CHILD, *name[1:])) is not None:
                out.append((ref, trace.leaf(("given", *name), 0, drawn("given", *name))))
        return [(ref, weight) for ref, weight in out if abs(ref) in self.active]

    def _made_here(self, step: ClassStep, role: str, number: int, index: int) -> int | None:
        """What a step has stored as entry `index` of a slot, for others to read in this role."""
        c = step.group_class
        if self.program.slots[number].stored[c, self.member(role, c)][0] is not step:
            return None
        return next(ref for k, _, ref in self.program.contributions(role, number, index) if k == c)

    def _given(self, n: int, terms_in: Segment, giving: Segment, of_terms: dict[int, int], read: list[tuple[int, int]]) -> dict[tuple, int]:
        """What a group gives to each child: the weights on the child's values, from those on the terms that were summed."""
        trace = self.trace
        before = trace.enter(giving, giving.seen)
        leaves = self.leaves(terms_in)
        found = backwards(trace, list(of_terms), [{0: w} for w in of_terms.values()], leaves, _Again(trace, None)) if of_terms else {}
        trace.enter(*before)
        out = {(n, *key): ZERO for key in read}
        for i in leaves:
            source, index = self.source(i)
            if weight := found.get(i, {}).get(0):
                if source[0] != CHILD:
                    raise TraceError("a sum over children has values of the parent in its terms, which has no gradient: put them outside.")
                out[n, source[1], index] = weight
        return out

    def _added_up(self, x: Argument) -> Traced:
        """The weights on an input that is the same for all groups: the sum of theirs, and what comes from after the loops."""
        number, trace = self.tree.new_total(), self.trace
        found = dict[int, None]()
        for c, step in self.last_steps.items():
            refs = [ZERO] * x.size
            with self.inside(step, step.body):
                for j, weight in self.of_input.get((c, x.name or ""), ()):
                    refs[j] = trace.add(refs[j], trace.again(weight))
            step.totals.append((number, refs))
            found |= dict.fromkeys(j for j, ref in enumerate(refs) if ref)
        out = [self.of_all.get((x.name or "", j), ZERO) for j in range(x.size)]
        for j in found:
            out[j] = trace.add(out[j], trace.leaf(("total", number), j, drawn("total", number, j)))
        return Traced(trace, np.array(out, np.int64))

    def _gathered(self, x: Moving) -> Joined:
        """The weights on the directions of an input, from all loops."""
        slot = self.tree.slots()
        for c, step in self.last_steps.items():
            with self.inside(step, step.body):
                width = self.part(x.argument).size
                entries = [ZERO] * width
                for j, weight in self.of_input.get((c, x.argument.name or ""), ()):
                    entries[j] = self.trace.add(entries[j], self.trace.again(weight))
                bar, matrix = Traced(self.trace, np.array(entries, np.int64)), self.matrix(x, c)
                refs = (bar if matrix is None else bar @ matrix).refs.ravel().tolist()
            self.put(slot, c, self.last(c), step, refs)
        return Joined(slot, x.direction.which, x.direction.size)


class _Again:
    """The values of a segment in another one, that runs later for the same group: loaded where they are in memory, else computed
    again."""

    def __init__(self, trace: RolledTrace, kept: Container[int] | None):
        """`kept` are nodes that are in memory already; None where nothing can be kept."""
        self.trace, self.kept = trace, kept
        self.made: dict[int, int] = {}

    def __call__(self, ref: int) -> int:
        for i in ordered([ref], self._below):
            if i not in self.made:
                self.made[i] = self._make(i)
        return self.made[ref] if ref > 0 else -self.made[-ref]

    def _is_kept(self, i: int) -> bool:
        name = self.trace.nodes[i][0]
        return self.kept is not None and (i in self.kept or name in SLOW or OPERATIONS[name].library is not None)

    def _below(self, i: int) -> Iterable[int]:
        node = self.trace.nodes[i]
        return () if i in self.made or self.trace.home[i] is None or node[0] == "in" or self._is_kept(i) else operands(node)

    def _make(self, i: int) -> int:
        trace = self.trace
        node, residue = trace.nodes[i], trace.residue[i]
        if node[0] == "const" or trace.home[i] is None:
            return i
        if node[0] == "in" and node[1][0] != "sum":
            return trace.leaf(node[1], node[2], residue)
        if node[0] == "in" or self._is_kept(i):
            return trace.leaf((OWN, i), 0, residue)
        mapped = (self.made[a] if a > 0 else -self.made[-a] for a in node[1:])
        return trace.seen.get(residue) or trace.repeat((node[0], *mapped), i)
