"""Rolled tracing: a function that loops over the nodes of a tree is traced once per class of node, whatever their number.

To the function, a rolled tree looks like a tree. Its loops yield one representative node per class; values kept in slots
become loads and stores; the sum over children becomes a loop over them. What holds for a stored value at every node
(zeros, equal entries, opposite ones) is found by tracing the loop again until nothing changes, starting from a tree
without children, so that symmetry survives the store and only distinct numbers take memory.

Nodes come in groups that always occur together, such as one that moves with those that place it. A group is the unit of
the loop, a small tree of its own. It stands on one node of another group, and others stand on some of its nodes, its ports.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import TraceError
from .array import Traced, lift
from .operations import ZERO
from .residues import PRIME, drawn, sphere
from .trace import Trace

OWN, PARENT, CHILD, WORLD = "own", "parent", "child", "world"


@dataclass(frozen=True)
class Shape:
    """What the groups of a class have in common, as positions among their members."""

    parent: tuple[int, ...]  # of each member; -1 for those that stand on what the group stands on
    moving: tuple[int, ...]  # those that have entries in the vectors
    ports: tuple[int, ...]  # those that other groups stand on

    @staticmethod
    def chain(length: int) -> "Shape":
        """One member on the other: the last moves, and others stand on it."""
        return Shape(tuple(range(-1, length - 1)), (length - 1,), (length - 1,))

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The members that stand on each."""
        return tuple(tuple(m for m, p in enumerate(self.parent) if p == i) for i in range(len(self.parent)))


@dataclass(frozen=True)
class Groups:
    """A tree of groups: members of each (node numbers), its class, and the group it stands on (-1: world) with the number of the port
    there; and where the entries of its moving members begin in vectors."""

    members: tuple[tuple[int, ...], ...]
    classes: tuple[int, ...]
    shapes: tuple[Shape, ...]  # of each class
    parent: tuple[int, ...]
    port: tuple[int, ...]
    q_start: tuple[tuple[int, ...], ...]
    v_start: tuple[tuple[int, ...], ...]

    def of_class(self, c: int) -> list[int]:
        return self._of_class[c]

    @cached_property
    def _of_class(self) -> list[list[int]]:
        out: list[list[int]] = [[] for _ in self.shapes]
        for g, c in enumerate(self.classes):
            out[c].append(g)
        return out

    @property
    def are_chains(self) -> bool:
        """Is every group a chain, whose last member moves and carries others?"""
        return all(shape == Shape.chain(len(shape.parent)) for shape in self.shapes)

    @cached_property
    def stride(self) -> int:
        """The most members that move in one group: numbers that all moving nodes have are laid out so many to a group."""
        return max((len(shape.moving) for shape in self.shapes), default=1)

    @cached_property
    def number(self) -> dict[int, int]:
        """The place of each moving node in that layout."""
        out: dict[int, int] = {}
        for g, (row, c) in enumerate(zip(self.members, self.classes)):
            out |= {row[m]: g * self.stride + j for j, m in enumerate(self.shapes[c].moving)}
        return out

    @property
    def count(self) -> int:
        """The length of that layout. Of a result, what no node has is not written."""
        return len(self.members) * self.stride

    @cached_property
    def record(self) -> list[int]:
        """The number of each group's first port among all ports, and last the count of these: where values are kept in memory."""
        return [0, *np.cumsum([len(self.shapes[c].ports) for c in self.classes]).tolist()]


class Handle(int):
    """A node as a sweep sees it: the number of a representative, and whose it is."""

    role: str
    member: int  # of a child: the number of the port it stands on

    def __new__(cls, number: int, role: str, member: int = -1):
        self = super().__new__(cls, number)
        self.role, self.member = role, member
        return self


class RolledTrace(Trace):
    """A trace in segments: values are merged only within a segment, because code of one cannot use values of another."""

    may_loop = False

    def __init__(self):
        self.home: list[object] = [None]
        self.segment: object = None
        self.trying = False  # in a loop that may be traced again
        self.failed = False  # did it divide by zero?
        super().__init__()

    def reciprocal(self, a):
        """While nothing is stored for children yet, a value may be zero only because they are missing: continue with 1."""
        if a or not self.trying:
            return super().reciprocal(a)
        self.failed = True
        return self.one

    def _new(self, node, residue, terms=1.0):
        ref = super()._new(node, residue, terms)
        self.home.append(self.segment)
        return ref

    def enter(self, segment: "Segment | None", seen: dict[int, int]) -> tuple:
        before = self.segment, self.seen
        self.segment, self.seen = segment, seen
        return before

    def leaf(self, source: tuple, index: int, residue: int) -> int:
        """A value from memory; the same one twice is one."""
        return self.seen.get(residue) or self._new(("in", source, index), residue)

    def summed(self, sums: dict[int, int], term: int, *where) -> int:
        """The sum of a term over children. A term that was made though an equal one was known, because it rounds less, has its own."""
        a = abs(term)
        if a not in sums:
            sums[a] = self._new(("in", ("sum", where[0], a, *where[1:]), 0), drawn("sum", *where, self.residue[a]))
        return sums[a] if term > 0 else -sums[a]

    def repeat(self, node: tuple, like: int) -> int:
        """A node that computes once more what another one has computed."""
        return self._new(node, self.residue[like], self.terms[like])

    def again(self, ref: int) -> int:
        """A value that the same group has computed in an earlier segment, with all that is known of it."""
        a, sign = abs(ref), 1 if ref > 0 else -1
        node = self.nodes[a]
        if node[0] == "const" or self.home[a] in (None, self.segment):
            return ref
        if node[0] == "in" and node[1][0] in ("table", "arg"):
            return sign * self.leaf(node[1], node[2], self.residue[a])
        return sign * self.leaf((OWN, a), 0, self.residue[a])


@dataclass(eq=False)
class Segment:
    """Straight-line code in one place of a loop."""

    seen: dict[int, int]


@dataclass(eq=False)
class PortSum:
    """Terms that are summed over the children that stand on one port."""

    segment: Segment
    sums: dict[int, int] = field(default_factory=dict)  # term -> its sum over the children


@dataclass(eq=False)
class ClassStep:
    """What one class of group does in one loop: terms summed over its children, the rest, and last what it gives to its children."""

    group_class: int
    body: Segment
    ports: list[PortSum]
    giving: Segment = field(default_factory=lambda: Segment({}))
    given: dict[tuple, int] = field(default_factory=dict)  # a name -> what each child gets under it
    values: dict = field(default_factory=dict)  # (slot, member) -> references
    totals: list = field(default_factory=list)  # (number of a total, references)
    results: list = field(default_factory=list)  # (output, entry, which start, number of the moving member, reference)

    @property
    def children(self) -> Segment:
        """Where terms of children are computed, in a group with one port."""
        return self.ports[0].segment

    @property
    def sums(self) -> dict[int, int]:
        """The sums over children, in a group with one port."""
        return self.ports[0].sums

    def snapshot(self) -> tuple:
        kept = self.body.seen, self.values, self.totals, self.results
        return tuple(type(x)(x) for x in kept), [(dict(x.segment.seen), dict(x.sums)) for x in self.ports]

    def restore(self, snapshot: tuple) -> None:
        kept, ports = snapshot
        self.body.seen, self.values, self.totals, self.results = (type(x)(x) for x in kept)
        for x, (seen, sums) in zip(self.ports, ports):
            x.segment.seen, x.sums = dict(seen), dict(sums)


@dataclass(eq=False)
class NodeLoop:
    outward: bool
    steps: list[ClassStep]


class NoChildren(Exception):
    """Asked of a tree in which nothing has been stored for children yet."""


class Slot:
    """Room for one value per node, in memory."""

    def __init__(self, tree: "RolledTree", number: int):
        self.tree, self.number = tree, number
        self.world: np.ndarray | None = None
        self.stored: dict[tuple[int, int], tuple[ClassStep, np.ndarray]] = {}

    def __setitem__(self, k, value):
        refs = lift(self.tree.trace, value)
        if k == self.tree.world:
            self.world = refs
            self.tree.patterns.pop((self.number, PARENT), None)
            return
        step = self.tree.step
        step.values[self, k.member] = refs
        self.stored[step.group_class, k.member] = step, refs
        self.tree.touched.add(self)

    def __getitem__(self, k):
        tree = self.tree
        if k == tree.world:
            return Traced(tree.trace, self.world)
        if k.role == OWN:
            refs = tree.step.values.get((self, k.member))
            return Traced(tree.trace, self._own(k.member) if refs is None else refs)
        pattern = tree.pattern(self, k.role)
        if pattern is None:
            raise NoChildren
        if pattern is MIXED:
            raise TraceError("a sweep reads from its neighbours what is not of one size for all nodes; it cannot be rolled.")
        return tree.loaded((k.role, self.number), pattern)

    def _own(self, member):
        """What an earlier loop stored for this node, with all that is known of it."""
        tree = self.tree
        c = tree.step.group_class
        if (c, member) not in self.stored:
            raise TraceError("a value was asked of a node before it was put there.")
        _, refs = self.stored[c, member]
        return np.array([tree.trace.again(ref) for ref in refs.ravel().tolist()], np.int64).reshape(refs.shape)


@dataclass(frozen=True)
class Pattern:
    """How an array is stored: entry e is sign * number `index`, a constant, or zero."""

    shape: tuple[int, ...]
    entries: tuple[tuple, ...]  # (index, sign), or (None, value)

    @property
    def size(self) -> int:
        return 1 + max((i for i, _ in self.entries if i is not None), default=-1)


MIXED = Pattern((), ())  # of a slot whose values differ in shape: nobody else may read them


class RolledTree:
    """A tree to a sweep; a recorder of loops to the engine."""

    world = -1

    def __init__(self, groups: Groups, widths: Sequence[int]):
        self.groups, self.widths = groups, widths
        self.trace = RolledTrace()
        self.kinds = sorted(set(groups.classes))
        self.representative = {c: groups.members[groups.classes.index(c)] for c in self.kinds}
        self.loops: list[NodeLoop] = []
        self.patterns: dict[tuple[int, str], Pattern] = {}
        self.touched: set[Slot] = set()
        self.tables: dict[int, list[np.ndarray]] = {c: [] for c in self.kinds}
        self.current: ClassStep | None = None
        self.root_sums: dict[int, int] = {}
        self.root_segment = Segment({})
        self.root_giving = Segment({})
        self.root_given: dict[tuple, int] = {}
        self.turn: int | None = None  # the number of loops after which roots are summed and given to; all of them if None
        self.asked: tuple[Handle, ...] = ()  # the children that were asked for last
        self._slots = self._totals = 0
        self.parent, self.children = Nodewise(self._parent), Nodewise(self._children)
        self.nv = sum(widths)

    @property
    def step(self) -> ClassStep:
        """The step being traced."""
        if self.current is None:
            raise TraceError("a value of one node was asked for outside of every loop over nodes.")
        return self.current

    # --- travel

    def base_to_tips(self) -> Iterator[Handle]:
        return self._travel(outward=True)

    def tips_to_base(self) -> Iterator[Handle]:
        return self._travel(outward=False)

    def _travel(self, outward: bool):
        if not self.loops or self.loops[-1].outward != outward:
            self.new_loop(outward)
        steps = self.loops[-1].steps  # a loop in the same direction as the one before is the same loop
        start = [step.snapshot() for step in steps]
        while True:
            self.touched = set()
            self.trace.trying, self.trace.failed = True, False
            known = dict(self.patterns)
            for step, snapshot in zip(steps, start):
                step.restore(snapshot)
            for step in steps:
                members = self.representative[step.group_class]
                before = self.trace.enter(step.body, step.body.seen)
                self.current = step
                for m in range(len(members)) if outward else reversed(range(len(members))):
                    yield Handle(members[m], OWN, m)
                self.current = None
                self.trace.enter(*before)
            for slot in self.touched:
                for role in (PARENT, CHILD):
                    self.patterns.pop((slot.number, role), None)
                    self.pattern(slot, role, fresh=True)
            self.trace.trying = False
            if self.patterns == known:
                if self.trace.failed:
                    self.trace.reciprocal(ZERO)
                return

    def _parent(self, k: Handle) -> Handle:
        c = self.step.group_class
        p = self.groups.shapes[c].parent[k.member]
        return Handle(0, PARENT) if p < 0 else Handle(self.representative[c][p], OWN, p)

    def _children(self, k) -> tuple[Handle, ...]:
        """The members of the same group that stand on k, and one that stands for all groups that do."""
        if k == self.world:
            self.asked = (Handle(0, CHILD, 0),)
        else:
            c = self.step.group_class
            shape, members = self.groups.shapes[c], self.representative[c]
            inside = (Handle(members[m], OWN, m) for m in shape.children[k.member])
            self.asked = *inside, *(Handle(0, CHILD, j) for j, m in enumerate(shape.ports) if m == k.member)
        return self.asked

    def new_loop(self, outward: bool) -> NodeLoop:
        """One more loop over all groups."""
        seen = self.trace.seen
        ports = {c: len(self.groups.shapes[c].ports) for c in self.kinds}
        steps = [ClassStep(c, Segment(dict(seen)), [PortSum(Segment(dict(seen))) for _ in range(ports[c])]) for c in self.kinds]
        self.loops.append(NodeLoop(outward, steps))
        return self.loops[-1]

    # --- slots and what is known of them

    def slots(self, count: int = 1):
        made = []
        for _ in range(count):
            made.append(Slot(self, self._slots))
            self._slots += 1
        return made[0] if count == 1 else tuple(made)

    def pattern(self, slot: Slot, role: str, fresh: bool = False) -> Pattern | None:
        """What is true of the slot's value for every node that can be a parent, or a child, of another."""
        key = slot.number, role
        if key in self.patterns:
            return self.patterns[key]
        given = [] if role == CHILD or slot.world is None else [slot.world]
        if fresh or slot not in self.touched:
            read = (key for c in self.kinds for key in self.read(c, role))
            given += [slot.stored[key][1] for key in read if key in slot.stored]
        if not given:
            return None
        alike = len({refs.shape for refs in given}) == 1
        pattern = Pattern(given[0].shape, self._merged([refs.ravel().tolist() for refs in given])) if alike else MIXED
        if fresh or slot not in self.touched:
            self.patterns[key] = pattern
        return pattern

    def read(self, c: int, role: str) -> list[tuple[int, int]]:
        """(class, member) of the members whose values other groups read in this role: as their parent's, or as their child's."""
        return [(c, m) for m in (self.groups.shapes[c].ports if role == PARENT else (0,))]

    def _merged(self, given: list[list[int]]) -> tuple:
        """Entries equal, opposite, constant or zero in every one of the given arrays."""
        trace, out = self.trace, list[tuple]()
        found: dict[tuple, int] = {}
        for refs in zip(*given):
            values = [trace.value(ref) for ref in refs]
            if values[0] is not None and all(x == values[0] for x in values):
                out.append((None, values[0]))
                continue
            vector = tuple(trace.residue_of(ref) if ref else 0 for ref in refs)
            opposite = tuple((PRIME - r) % PRIME for r in vector)
            if opposite in found:
                out.append((found[opposite], -1))
            else:
                out.append((found.setdefault(vector, len(found)), 1))
        return tuple(out)

    def loaded(self, source: tuple, pattern: Pattern) -> Traced:
        trace, refs = self.trace, []
        for index, sign in pattern.entries:
            if index is None:
                refs.append(trace.constant(sign))
            else:
                refs.append(sign * trace.leaf(source, index, drawn("load", source, index, pattern)))
        return Traced(trace, np.array(refs, np.int64).reshape(pattern.shape))

    # --- sums

    def sum(self, terms):
        """Σ over the children of the node at hand, those in its own group first, or over the roots."""
        terms, asked = iter(terms), self.asked
        out: Any = 0.0
        for child in asked:
            out = out + (next(terms) if child.role == OWN else self._summed(terms, child.member))
        return out

    def _summed(self, terms: Iterator, port: int):
        """The next term, summed over the children that stand on a port of the group at hand."""
        step, trace = self.current, self.trace
        if step is None:
            segment, sums = self.root_segment, self.root_sums
            segment.seen = segment.seen or dict(trace.seen)
        else:
            segment, sums = step.ports[port].segment, step.ports[port].sums
        before = trace.enter(segment, segment.seen)
        try:
            term = next(terms)
        except NoChildren:
            return 0.0
        finally:
            trace.enter(*before)
        where = ("root",) if step is None else ("step", port) if port else ("step",)
        out = [trace.summed(sums, ref, *where) if ref else ZERO for ref in term.refs.ravel().tolist()]
        return Traced(trace, np.array(out, np.int64).reshape(term.shape))

    def total(self, x):
        """Σ over all nodes."""
        number = self.new_total()
        shape, size = None, 0
        for step in self.loops[-1].steps:
            parts = [refs for (slot, _), refs in step.values.items() if slot is x]
            before = self.trace.enter(step.body, step.body.seen)
            term: Traced = sum((Traced(self.trace, refs) for refs in parts[1:]), Traced(self.trace, parts[0]))
            self.trace.enter(*before)
            shape, size = term.shape, term.size
            step.totals.append((number, term.refs.ravel().tolist()))
        leaves = [self.trace.leaf(("total", number), e, drawn("total", number, e)) for e in range(size)]
        return Traced(self.trace, np.array(leaves, np.int64).reshape(shape))

    def new_total(self) -> int:
        self._totals += 1
        return self._totals - 1

    # --- in and out

    def constant(self, x):
        return Nodewise(lambda k: x)

    def split(self, x):
        return x.parts(self, column=True)

    def join(self, x: Slot):
        return Joined(x, "v", self.nv)


class Nodewise:
    """A function of nodes, as sweeps ask for its values."""

    def __init__(self, function: Callable):
        self.function = function

    def __getitem__(self, k):
        return self.function(k)


@dataclass(frozen=True)
class Argument:
    """A vector that is passed in, with a part for each group; without a name, it is zero."""

    name: str | None
    which: str | int  # parts begin at q_start ("q") or v_start ("v"), or all moving nodes have this many numbers; 0: one part for all
    size: int
    widths: tuple[int, ...]  # per node
    units: dict[int, tuple[slice, ...]] = field(default_factory=dict, compare=False)  # per node

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.size,)

    def parts(self, tree: RolledTree, column: bool) -> "Columns":
        return Columns(tree, self, column)

    def __array_function__(self, function, types, args, kwargs):
        if function is np.zeros_like:
            return Argument(None, self.which, self.size, self.widths)
        raise TraceError(f"np.{function.__name__} of a whole vector is not possible in a rolled kernel; use it node by node.")

    def __getitem__(self, key):
        raise TraceError("an entry of a whole vector is not possible in a rolled kernel; take it node by node, or declare rolls=False.")


class Columns:
    """The parts of an argument, node by node."""

    def __init__(self, tree: RolledTree, argument: Argument, column: bool):
        self.tree, self.argument, self.column = tree, argument, column

    def __getitem__(self, k: Handle):
        x, trace = self.argument, self.tree.trace
        width = x.widths[k]
        if x.name is None or not self.tree.widths[k]:
            refs = [ZERO] * width
        else:
            c = self.tree.step.group_class
            number = self.tree.groups.shapes[c].moving.index(k.member)
            whose = (c, number) if number else (c,)
            residues = [drawn("arg", x.name, *whose, j) for j in range(width)]
            for rows in x.units.get(int(k), ()):
                residues[rows] = sphere(rows.stop - rows.start, x.name, *whose, rows.start)
            source = ("arg", x.name, x.which, number) if number else ("arg", x.name, x.which)
            refs = [trace.leaf(source, j, r) for j, r in enumerate(residues)]
        shape = (width, 1) if self.column else (width,)
        return Traced(trace, np.array(refs, np.int64).reshape(shape))


class Table:
    """A constant of each node, in memory where it differs within a class.

    `relation` gives exact values that obey what the numbers obey (a rotation's, say), from a key.
    """

    def __init__(self, tree: RolledTree, name: str, arrays: Sequence | Mapping[int, Any], world=None, relation: Callable | None = None):
        self.tree, self.name, self.arrays, self.world, self.relation = tree, name, arrays, world, relation
        self._made: dict = {}

    def __getitem__(self, k):
        tree, trace = self.tree, self.tree.trace
        if k == tree.world:
            return Traced(trace, lift(trace, self.world))
        c = tree.step.group_class
        if (c, k.member) not in self._made:
            self._made[c, k.member] = self._columns(c, k.member)
        shape, entries = self._made[c, k.member]
        refs = []
        for index, sign, residue in entries:
            refs.append(trace.constant(sign) if index is None else int(sign) * trace.leaf(("table", c), index, residue))
        return Traced(trace, np.array(refs, np.int64).reshape(shape))

    def _columns(self, c, member):
        tree = self.tree
        stack = np.stack([np.asarray(self.arrays[tree.groups.members[g][member]], float) for g in tree.groups.of_class(c)])
        rows = stack.reshape(len(stack), -1)
        exact = None
        if self.relation is not None:
            exact = self.relation((self.name, c, member), rows)
        entries: list[tuple[int | None, float, int]] = []
        known = tree.tables[c]
        for e in range(rows.shape[1]):
            column = rows[:, e]
            if exact is None and (column == column[0]).all():
                entries.append((None, float(column[0]), 0))
                continue
            sign = 1
            index = next((i for i, x in enumerate(known) if (x == column).all()), None)
            if index is None and exact is None:
                index = next((i for i, x in enumerate(known) if (x == -column).all()), None)
                sign = 1 if index is None else -1
            if index is None:
                index = len(known)
                known.append(column)
            residue = drawn("table", c, index) if exact is None else exact[e]
            if exact is not None and residue in (0, 1, PRIME - 1):
                entries.append((None, {0: 0.0, 1: 1.0}.get(residue, -1.0), 0))
            else:
                entries.append((index, sign, residue))
        return stack.shape[1:], entries


@dataclass(frozen=True)
class Joined:
    """A vector that is returned: the parts that the moving nodes of each group hold in a slot."""

    slot: Slot
    which: str | int  # where parts begin, as of an argument
    size: int
    after: Callable | None = None  # what makes of this vector (..., size) what is to be returned

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.size,)

    def parts(self, tree: RolledTree, column: bool) -> Slot:
        """Its columns, node by node: a vector that was joined can be split again."""
        return self.slot
