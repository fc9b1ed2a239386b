"""A rolled sweep, finished: which values live, where each is kept, what each loop does."""

from collections import Counter
from collections.abc import Callable
from functools import cached_property

import numpy as np

from ...errors import TraceError
from .array import Traced
from .operations import OPERATIONS, operands
from .program import Input, Output
from .rolled import CHILD, OWN, PARENT, Joined, RolledTree


class RolledProgram:
    """What a function of one sample does, step by step over groups of nodes."""

    def __init__(self, name: str, tree: RolledTree, inputs: tuple[Input, ...], results):
        self.name, self.tree, self.trace, self.inputs = name, tree, tree.trace, inputs
        self.results = results if isinstance(results, tuple) else (results,)
        self.finals: list[tuple[int, int, int]] = []  # (output, entry, reference) after all loops
        outputs = []
        self.after: tuple[Callable | None, ...] = ()  # for each result, what makes of it what is to be returned
        for n, result in enumerate(self.results):
            if isinstance(result, Joined):
                for c in tree.kinds:
                    for number, m in enumerate(tree.groups.shapes[c].moving):
                        step, refs = result.slot.stored[c, m]
                        step.results += [(n, j, result.which, number, ref) for j, ref in enumerate(refs.ravel().tolist())]
                outputs.append(Output((0,) * result.size, result.shape))
                self.after += (result.after,)
            elif isinstance(result, Traced):
                flat = result.refs.ravel().tolist()
                self.finals += [(n, j, ref) for j, ref in enumerate(flat)]
                outputs.append(Output(tuple(flat), result.shape))
                self.after += (None,)
            else:
                raise TraceError("a rolled kernel returns vectors over all nodes, or sums over them.")
        self.outputs = tuple(outputs)
        self.slots = {slot.number: slot for loop in tree.loops for step in loop.steps for slot, _ in step.values}
        self._find_live()

    def _find_live(self) -> None:
        self.steps = [step for loop in self.tree.loops for step in loop.steps]
        self.alive: set[int] = set()
        self.own: dict[int, int] = {}  # node -> its place in the record of its group
        self.shared: dict[tuple, int] = {}  # (role, slot, index) -> place
        self.totals: dict[tuple[int, int], int] = {}  # (total, entry) -> place
        self.given: dict[tuple, int] = {}  # what a group gets from its parent, by name -> place
        stack = [abs(ref) for step in self.steps for *_, ref in step.results] + [abs(ref) for *_, ref in self.finals]
        self.record = 0  # numbers kept for each group
        while stack:
            i = stack.pop()
            if i in self.alive:
                continue
            self.alive.add(i)
            name, *args = self.trace.nodes[i]
            if name != "in":
                stack.extend(operands(self.trace.nodes[i]))
                continue
            stack.extend(self.origins(i))
            source, index = args
            kind = source[0]
            if kind == OWN:
                self._place(self.own, source[1])
            elif kind in (PARENT, CHILD):
                self._place(self.shared, (kind, source[1], index))
            elif kind == "total":
                self._place(self.totals, (source[1], index))
            elif kind == "given":
                self._place(self.given, source[1:])

    def _place(self, places: dict, key) -> None:
        if key not in places:
            places[key] = self.record
            self.record += 1

    def origins(self, leaf: int) -> list[int]:
        """The nodes of other segments or steps that a leaf takes its value from."""
        _, (kind, *what), index = self.trace.nodes[leaf]
        if kind == OWN:
            return [what[0]]
        if kind in (PARENT, CHILD):
            return [abs(ref) for *_, ref in self.contributions(kind, what[0], index)]
        if kind == "sum":
            return [what[1]]
        if kind == "total":
            return [abs(refs[index]) for step in self.steps for number, refs in step.totals if number == what[0]]
        if kind == "given":
            return [abs(given[tuple(what)]) for given in (self.tree.root_given, *(s.given for s in self.steps)) if tuple(what) in given]
        return []

    def contributions(self, role: str, number: int, index: int):
        """Who stores entry `index` of a slot: (class, or None for the world, number of the port, signed reference)."""
        tree, slot = self.tree, self.slots[number]
        pattern = tree.patterns[number, role]
        e, sign = next((e, s) for e, (i, s) in enumerate(pattern.entries) if i == index)
        for c in tree.kinds:
            for port, key in enumerate(tree.read(c, role)):
                yield c, port, sign * int(slot.stored[key][1].flat[e])
        if role == PARENT and slot.world is not None:
            yield None, 0, sign * int(slot.world.flat[e])

    @property
    def live(self) -> list[int]:
        return sorted(self.alive)

    everything = live  # it has no loops of this kind
    routines = ()

    @property
    def workspace(self) -> int:
        """Numbers of scratch memory: a record for each port of each group and one for the world."""
        return self.record * (self.tree.groups.record[-1] + 1)

    @cached_property
    def operations(self) -> Counter:
        """How many of each operation one group of each class takes, all classes added up."""
        return Counter(name for i in self.alive if not OPERATIONS[name := self.trace.nodes[i][0]].free)

    def order(self, segment) -> list[int]:
        """The live nodes of a segment, in order."""
        return [i for i in self.live if self.trace.home[i] is segment]

    def tables(self, dtype: str) -> list[np.ndarray]:
        """What the kernel reads besides its arguments, in the order it expects."""
        groups = self.tree.groups
        n, record = len(groups.members), groups.record
        parent = np.array([record[-1] if p < 0 else record[p] + port for p, port in zip(groups.parent, groups.port)], np.int64)
        children: list[list[int]] = [[] for _ in range(record[-1] + 1)]
        for g, p in enumerate(parent.tolist()):
            children[p].append(record[g])
        starts = np.cumsum([0, *map(len, children)], dtype=np.int64)
        rows = np.zeros(n, np.int64)
        for c in self.tree.kinds:
            at = groups.of_class(c)
            rows[at] = np.arange(len(at))
        listed = np.array([g for part in children for g in part], np.int64)
        out = [np.array([n], np.int64), np.array(record, np.int64), parent, np.array(groups.classes, np.int64), starts, listed]
        filled = lambda rows: np.array([(*x, *(0,) * (groups.stride - len(x))) for x in rows], np.int64)
        out += [filled(groups.q_start), filled(groups.v_start), rows]
        kind = np.float64 if dtype == "double" else np.float32
        for c in self.tree.kinds:
            columns = self.tree.tables[c]
            stacked = np.stack(columns, -1) if columns else np.zeros((1, 1))
            out.append(np.ascontiguousarray(stacked, kind))
        return out
