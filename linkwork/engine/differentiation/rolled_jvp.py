"""Rates of a rolled program: each step computes them beside its values (rolled_derivatives.py)."""

from collections.abc import Iterable, Sequence

import numpy as np

from ..tracing.array import Traced
from ..tracing.operations import ZERO, operands
from ..tracing.program import Input
from ..tracing.residues import drawn
from ..tracing.rolled import CHILD, OWN, PARENT, ClassStep, Joined, Segment
from ..tracing.rolled_program import RolledProgram
from .derivatives import along, rates
from .rolled_derivatives import Derivative, Moving


def jvp(program: RolledProgram, name: str, inputs: tuple[Input, ...], moving: Sequence[Moving]) -> RolledProgram:
    """The rates of the results of a program, of its inputs and their rates."""
    return RolledProgram(name, program.tree, inputs, _Rates(program, moving).results())


class _Rates(Derivative):
    def __init__(self, program, moving):
        super().__init__(program, moving)
        self.rate: dict[int, int] = {}  # of nodes that others need: references in the same segment
        self.totals: dict[int, int] = {}  # the number of a total -> that of its rate
        shared: dict[tuple[str, int], list[int]] = {}
        for role, number, index in program.shared:
            if any(abs(ref) in self.active for *_, ref in program.contributions(role, number, index)):
                shared.setdefault((role, number), []).append(index)
        self.shared = {key: (self.slot(key[0], len(some)), some) for key, some in shared.items()}

    def results(self) -> tuple:
        self._before_loops()
        for loop in self.loops:
            for step in loop.steps:
                self._step(step)
        self._share()
        finals = self._finals()
        out: list[Joined | Traced] = []
        for n, (result, written) in enumerate(zip(self.program.results, self.written)):
            if not written:
                found = [self.of(ref) for k, _, ref in finals if k == n]
                out.append(Traced(self.trace, np.array(found, np.int64).reshape(result.shape)))
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
                    wanted += [ref for index in some for k, _, ref in program.contributions(role, number, index) if k == c]
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
            self.rate[abs(leaf)] = self.trace.summed(sums, change, which)

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
                for c, _, ref in self.program.contributions(role, number, index):
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
