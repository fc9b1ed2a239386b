"""Derivatives of rolled programs, which are rolled programs: as many loops again over the same groups, O(N) in time and memory.

Forwards, each step of a loop computes the rates of its values beside them; what is stored for a parent, for children or for a later
loop has its rate stored too. Backwards, the loops come once more in the opposite order and direction, each with the transposed
steps. Weights go the other way: what a group had read from its parent gets a weight that the parent adds up over its children, and
what it had summed over its children gets a weight that it gives to each of them. A transposed step loads or computes again the
values of its own step.
"""

from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ..errors import TraceError
from .array import Traced
from .derivatives import along, backwards, rates
from .loops import ordered
from .operations import OPERATIONS, ZERO, operands
from .program import Input
from .residues import drawn
from .rolled import CHILD, OWN, PARENT, Argument, ClassStep, Columns, Handle, Joined, NodeLoop, Pattern, RolledTrace, Segment, Slot
from .rolled_program import RolledProgram

SLOW = "rcp", "sqrt"  # and all of the library: these are kept, not computed again


@dataclass(frozen=True)
class Moving:
    """An input by which derivatives are taken, and its directions: an argument of as many numbers as the input moves in.

    `matrix` gives the rates of its entries along each direction, (entries, directions), of (a class of group, the group's part of the
    input); None where it moves as its entries do.
    """

    argument: Argument
    direction: Argument
    matrix: Callable | None = None
    shape: tuple[int, ...] | None = None  # of an input that is the same for all groups


class _Derivative:
    """What both ways need: which values depend on the inputs that move, and how to write into a step of the program."""

    def __init__(self, program: RolledProgram, moving: Sequence[Moving]):
        """The program is used up."""
        if program.tree.turn is not None:
            raise TraceError(f"{program.name} is a gradient by loops over all nodes, which has no derivative yet: take kernel.jvp.vjp instead.")
        self.program, self.tree, self.trace = program, program.tree, program.trace
        self.moving = {x.argument.name: x for x in moving}
        self.loops = list(self.tree.loops)
        self.written = [{c: result.slot.stored[c, self.last(c)] for c in self.tree.kinds} if isinstance(result, Joined) else {}
                        for result in program.results]  # fmt: skip
        for step in program.steps:
            step.results.clear()
        self.active = self._active()
        self.for_all = [i for i in self.leaves(None) if self.source(i)[0][0] == "arg"]  # inputs that are the same for all groups

    def last(self, c: int) -> int:
        """The last member of a class of group: the one that moves, and that others stand on."""
        return len(self.tree.representative[c]) - 1

    def member(self, role: str, c: int) -> int:
        """The member whose values others read in this role."""
        return self.last(c) if role == PARENT else 0

    def _active(self) -> set[int]:
        """The live nodes that depend on what moves."""
        nodes, active = self.trace.nodes, set[int]()
        waiting: dict[int, list[int]] = {}
        for i in self.program.live:
            leaf = nodes[i][0] == "in"
            for j in self.program.origins(i) if leaf else operands(nodes[i]):
                waiting.setdefault(j, []).append(i)
        stack = [i for i in self.program.live if nodes[i][0] == "in" and nodes[i][1][0] == "arg" and nodes[i][1][1] in self.moving]
        while stack:
            i = stack.pop()
            if i not in active:
                active.add(i)
                stack.extend(waiting.get(i, ()))
        return active

    def leaves(self, segment: Segment | None) -> list[int]:
        """The leaves of a segment that depend on what moves."""
        nodes = self.trace.nodes
        return [i for i in self.program.order(segment) if nodes[i][0] == "in" and i in self.active]

    def source(self, leaf: int) -> tuple[tuple, int]:
        _, source, index = self.trace.nodes[leaf]
        return source, index

    def same_for_all(self, x: Argument, index: int) -> int:
        """An entry of an argument that is the same for all groups."""
        return self.trace.leaf(("arg", x.name, 0), index, drawn("arg", x.name, index))

    @contextmanager
    def inside(self, step: ClassStep, segment: Segment):
        """What is traced here is code of a segment of a step."""
        before = self.trace.enter(segment, segment.seen)
        self.tree.current = step
        yield
        self.tree.current = None
        self.trace.enter(*before)

    def part(self, x: Argument) -> Traced:
        """The part of an argument for the group at hand."""
        c = self.tree.step.group_class
        return Columns(self.tree, x, column=False)[Handle(self.tree.representative[c][-1], OWN, self.last(c))]

    def matrix(self, x: Moving, c: int) -> Traced | None:
        return None if x.matrix is None else x.matrix(c, self.part(x.argument))

    def slot(self, role: str, size: int) -> Slot:
        """Room for so many different numbers, that others read in this role."""
        slot = self.tree.slots()
        self.tree.patterns[slot.number, role] = Pattern((size,), tuple((i, 1) for i in range(size)))
        return slot

    def put(self, slot: Slot, c: int, member: int, step: ClassStep, refs: Sequence[int]) -> None:
        """Store these numbers for a class of group in a step."""
        step.values[slot, member] = np.array(refs, np.int64)
        slot.stored[c, member] = step, step.values[slot, member]

    def loaded(self, role: str, slot: Slot, place: int) -> int:
        return self.trace.leaf((role, slot.number), place, drawn("load", role, slot.number, place))

    def summed(self, sums: dict[int, int], which: str, term: int) -> int:
        """The sum over children of a term, as a leaf of the segment at hand."""
        a = abs(term)
        if a not in sums:
            sums[a] = self.trace.leaf(("sum", which, a), 0, drawn("sum", which, self.trace.residue[a]))
        return sums[a] if term > 0 else -sums[a]

    def total(self, refs: Iterable[int]) -> int:
        out = ZERO
        for ref in refs:
            out = self.trace.add(out, ref)
        return out


# --- forwards


def jvp(program: RolledProgram, name: str, inputs: tuple[Input, ...], moving: Sequence[Moving]) -> RolledProgram:
    """The rates of the results of a program, of its inputs and their rates."""
    return RolledProgram(name, program.tree, inputs, _Rates(program, moving).results())


class _Rates(_Derivative):
    def __init__(self, program, moving):
        super().__init__(program, moving)
        self.rate: dict[int, int] = {}  # of nodes that others need: references in the same segment
        self.totals: dict[int, int] = {}  # the number of a total -> that of its rate
        shared: dict[tuple[str, int], list[int]] = {}
        for role, number, index in program.shared:
            if any(abs(ref) in self.active for _, ref in program.contributions(role, number, index)):
                shared.setdefault((role, number), []).append(index)
        self.shared = {key: (self.slot(key[0], len(some)), some) for key, some in shared.items()}

    def results(self) -> tuple:
        self._before_loops()
        for loop in self.loops:
            for step in loop.steps:
                self._step(step)
        self._share()
        finals = self._finals()
        out = []
        for n, (result, written) in enumerate(zip(self.program.results, self.written)):
            if not written:
                refs = [self.of(ref) for k, _, ref in finals if k == n]
                out.append(Traced(self.trace, np.array(refs, np.int64).reshape(result.shape)))
                continue
            slot = self.tree.slots()
            for c, (step, refs) in written.items():
                self.put(slot, c, self.last(c), step, [self.of(ref) for ref in refs.ravel().tolist()])
            out.append(Joined(slot, result.which, result.size, result.after))
        return tuple(out)

    def of(self, ref: int) -> int:
        """The rate of a value."""
        found = self.rate.get(abs(ref), ZERO)
        return found if ref > 0 else -found

    def _before_loops(self) -> None:
        """The rates of what is the same for all groups."""
        trace, moving = self.trace, dict[int, int]()
        for i in self.for_all:
            (_, name, _), index = self.source(i)
            moving[i] = self.same_for_all(self.moving[name].direction, index)
        known = set(self.for_all)
        for i in self.program.order(None):
            below = [j for j in operands(trace.nodes[i]) if j in self.active]
            if below and known.issuperset(below):
                known.add(i)
        refs = sorted(known)
        self.rate |= {i: each[0] for i, each in zip(refs, rates(trace, refs, [moving])) if each}
        self.known = {i: self.rate[i] for i in refs if i in self.rate}

    def _step(self, step: ClassStep) -> None:
        program = self.program
        with self.inside(step, step.children):
            self._find(step.children, step.sums)
        with self.inside(step, step.body):
            for a, leaf in list(step.sums.items()):
                self._sum_rate(step.sums, "step", a, leaf)
            wanted = [i for i in program.own if self.trace.home[i] is step.body]
            for (role, number), (_, some) in self.shared.items():
                c = step.group_class
                if program.slots[number].stored[c, self.member(role, c)][0] is step:
                    wanted += [ref for index in some for k, ref in program.contributions(role, number, index) if k == c]
            wanted += [ref for number, refs in step.totals for e, ref in enumerate(refs) if (number, e) in program.totals]
            wanted += [ref for written in self.written for c, (at, refs) in written.items() if at is step for ref in refs.ravel().tolist()]
            self._find(step.body, wanted)
        for number, refs in list(step.totals):
            if number not in self.totals:
                self.totals[number] = self.tree.new_total()
            step.totals.append((self.totals[number], [self.of(ref) for ref in refs]))

    def _sum_rate(self, sums: dict[int, int], which: str, a: int, leaf: int) -> None:
        """The rate of a sum over children is the sum of the rates of its terms."""
        if change := self.rate.get(a, ZERO):
            self.rate[abs(leaf)] = self.summed(sums, which, change)

    def _find(self, segment: Segment | None, wanted: Iterable[int]) -> None:
        """The rates of some nodes of a segment."""
        refs = [i for i in dict.fromkeys(map(abs, wanted)) if i in self.active and i not in self.known]
        found = rates(self.trace, refs, [self._moving(segment)]) if refs else []
        self.rate |= {i: each[0] for i, each in zip(refs, found) if each}

    def _moving(self, segment: Segment | None) -> dict[int, int]:
        """The leaves of a segment, each with its rate."""
        out, names = dict(self.known), dict[str, None]()
        for i in self.leaves(segment):
            (kind, *what), index = self.source(i)
            if i in out:
                continue
            if kind == "arg":
                names[what[0]] = None
            elif kind == OWN and what[0] in self.rate:
                out[i] = self.trace.again(self.rate[what[0]])
            elif kind in (PARENT, CHILD) and (kind, what[0]) in self.shared:
                slot, some = self.shared[kind, what[0]]
                out[i] = self.loaded(kind, slot, some.index(index)) if index in some else ZERO
            elif kind == "total" and what[0] in self.totals:
                number = self.totals[what[0]]
                out[i] = self.trace.leaf(("total", number), index, drawn("total", number, index))
            elif i in self.rate:
                out[i] = self.rate[i]
        for name in names:
            x = self.moving[name]
            matrix, direction = self.matrix(x, self.tree.step.group_class), self.part(x.direction)
            out |= along(self.part(x.argument), direction if matrix is None else matrix @ direction)
        return out

    def _share(self) -> None:
        """Store the rates of what parents and children read."""
        for (role, number), (slot, some) in self.shared.items():
            primal = self.program.slots[number]
            if role == PARENT and primal.world is not None:
                slot.world = np.zeros(len(some), np.int64)
            found: dict[int, list[int]] = {c: [] for c in self.tree.kinds}
            for index in some:
                for c, ref in self.program.contributions(role, number, index):
                    if c is not None:
                        found[c].append(self.of(ref))
            for c, refs in found.items():
                member = self.member(role, c)
                self.put(slot, c, member, primal.stored[c, member][0], refs)

    def _finals(self) -> list[tuple[int, int, int]]:
        tree, trace = self.tree, self.trace
        before = trace.enter(tree.root_segment, tree.root_segment.seen)
        self._find(tree.root_segment, tree.root_sums)
        trace.enter(*before)
        for a, leaf in list(tree.root_sums.items()):
            self._sum_rate(tree.root_sums, "root", a, leaf)
        self._find(None, [ref for *_, ref in self.program.finals])
        return self.program.finals


# --- backwards


def vjp(
    program: RolledProgram, name: str, inputs: tuple[Input, ...], weights: Sequence[str], moving: Sequence[Moving]
) -> RolledProgram:
    """Weights on the directions of each input, of the inputs of a program and weights on its results, which are inputs of these names."""
    return RolledProgram(name, program.tree, inputs, _Weights(program, weights, moving).results())


class _Weights(_Derivative):
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
        found = {(source[1], index) for segment in segments for source, index in map(self.source, self.leaves(segment)) if source[0] == role}
        return sorted(found)

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
                    out.append((ref, self.summed(mine.sums, "step", term)))
        for name in self.from_parent:
            if (ref := self._made_here(step, CHILD, *name[1:])) is not None:
                out.append((ref, trace.leaf(("given", *name), 0, drawn("given", *name))))
        return [(ref, weight) for ref, weight in out if abs(ref) in self.active]

    def _made_here(self, step: ClassStep, role: str, number: int, index: int) -> int | None:
        """What a step has stored as entry `index` of a slot, for others to read in this role."""
        c = step.group_class
        if self.program.slots[number].stored[c, self.member(role, c)][0] is not step:
            return None
        return next(ref for k, ref in self.program.contributions(role, number, index) if k == c)

    def _given(self, n: int, terms_in: Segment, giving: Segment, of_terms: dict[int, int], read: list[tuple[int, int]]) -> dict[tuple, int]:
        """What a group gives to each child: the weights on the child's values, from those on the terms that were summed."""
        trace = self.trace
        before = trace.enter(giving, giving.seen)
        leaves = self.leaves(terms_in)
        if of_terms:
            found = backwards(trace, list(of_terms), [{0: w} for w in of_terms.values()], leaves, _Again(trace, None))
        else:
            found = {}
        trace.enter(*before)
        out = {(n, *key): ZERO for key in read}
        for i in leaves:
            source, index = self.source(i)
            if weight := found.get(i, {}).get(0):
                if source[0] != CHILD:
                    raise TraceError("a sum over children has values of the parent in it, which has no gradient yet: multiply the sum by them.")
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
