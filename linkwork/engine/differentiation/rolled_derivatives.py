"""Derivatives of rolled programs, which are rolled programs: as many loops again over the same groups, O(N) in time and memory.

Forwards, each step of a loop computes the rates of its values beside them; what is stored for a parent, for children or for a later
loop has its rate stored too. Backwards, the loops come once more in the opposite order and direction, each with the transposed
steps. Weights go the other way: what a group had read from its parent gets a weight that the parent adds up over its children, and
what it had summed over its children gets a weight that it gives to each of them. A transposed step loads or computes again the
values of its own step.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ...errors import TraceError
from ..tracing.array import Traced
from ..tracing.operations import ZERO, operands
from ..tracing.residues import drawn
from ..tracing.rolled import OWN, PARENT, Argument, ClassStep, Columns, Handle, Joined, Pattern, Segment, Slot
from ..tracing.rolled_program import RolledProgram


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


class Derivative:
    """What both ways need: which values depend on the inputs that move, and how to write into a step of the program."""

    def __init__(self, program: RolledProgram, moving: Sequence[Moving]):
        """The program is used up."""
        if program.tree.turn is not None:
            raise TraceError(f"{program.name} is a gradient by loops over all nodes, which has no derivative yet: take kernel.jvp.vjp.")
        if not program.tree.groups.are_chains:
            raise TraceError(f"{program.name} loops over groups that are no chains, which have no derivatives yet: take differences.")
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

    def total(self, refs: Iterable[int]) -> int:
        out = ZERO
        for ref in refs:
            out = self.trace.add(out, ref)
        return out
