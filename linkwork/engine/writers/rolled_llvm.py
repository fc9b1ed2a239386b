"""A rolled program as LLVM IR: loops over groups of nodes, one block of straight-line code per class of group."""

from ..tracing.operations import operands
from ..tracing.rolled import CHILD, OWN, PARENT, ClassStep
from ..tracing.rolled_program import RolledProgram
from .llvm import Kind, Writer, uses_of

POINTERS = ("n", "record", "parent", "class", "first", "list", "q", "v", "row")  # what data holds after its own three, then the tables


class _Function(Writer):
    def __init__(self, program: RolledProgram, kind: Kind, strided: bool):
        """Where memory is `strided`, the function is told how far apart the numbers of each argument and of its own are."""
        super().__init__(program.trace.nodes, kind, self.load_leaf)
        self.program, self.strided = program, strided
        self.number = {x.name: j for j, x in enumerate(program.inputs)}
        self.sums: dict[tuple, str] = {}  # (term, port) -> its sum
        self.here = self.above = self.below = self.row = self.group = ""

    # --- small things

    def number_at(self, array: str, index: str) -> str:
        """array[index] of 64-bit integers."""
        return self.let(f"load i64, ptr {self.let(f'getelementptr i64, ptr {array}, i64 {index}')}")

    def offset(self, of: str, index: str) -> str:
        return self.times(index, f"%on.{of}" if self.strided else self.kind.size)

    def record_of(self, group: str) -> str:
        return self.at("%work", self.offset("work", self.times(group, max(1, self.program.record))))

    def place(self, record: str, place: int) -> str:
        return self.at(record, self.offset("work", str(place)))

    def argument(self, number: int, start: str, index: int) -> str:
        return self.at(f"%a{number}", self.offset(str(number), self.plus(start, index)))

    # --- leaves

    def load_leaf(self, source, index) -> str:
        program, what = self.program, source[0]
        if what == "arg":
            return self.get(self.argument(self.number[source[1]], self.start(*source[2:]), index))
        if what == "table":
            return self.splat(self.row, index)
        if what == OWN:
            return self.get(self.place(self.here, program.own[source[1]]))
        if what in (PARENT, CHILD):
            record = self.above if what == PARENT else self.below
            return self.get(self.place(record, program.shared[what, source[1], index]))
        if what == "sum":
            return self.sums[source[2:]]
        if what == "given":
            return self.get(self.place(self.here, program.given[source[1:]]))
        return self.get(self.place(self.world, program.totals[source[1], index]))

    def start(self, which: str | int, number: int = 0) -> str:
        """Where the part of an argument for a moving member of this group begins; one of size 0 is the same for all groups."""
        if which == 0:
            return "0"
        stride = self.program.tree.groups.stride
        at = self.group if stride == 1 else self.times(self.group, stride)
        at = self.plus(at, number) if number else at
        return self.times(at, which) if isinstance(which, int) else self.number_at(f"%d.{which}", at)

    def splat(self, row: str, index: int) -> str:
        T, w, V = self.kind.dtype, self.kind.width, self.kind.vector
        value = self.let(f"load {T}, ptr {self.let(f'getelementptr {T}, ptr {row}, i64 {index}')}")
        if w == 1:
            return value
        first = self.let(f"insertelement {V} poison, {T} {value}, i64 0")
        return self.let(f"shufflevector {V} {first}, {V} poison, <{w} x i32> zeroinitializer")

    # --- the function

    def text(self, name: str, attributes: str) -> str:
        program = self.program
        for i, pointer in enumerate(POINTERS):
            self.do(f"%d.{pointer} = load ptr, ptr {self.at('%data', str(8 * (3 + i)))}")
        self.do("%n = load i64, ptr %d.n")
        self.do(f"%world = load i64, ptr {self.let('getelementptr i64, ptr %d.record, i64 %n')}")
        self.world = self.record_of("%world")
        levels, turn = self._levels(), self.turn
        stored = [ref for given in (program.tree.root_given, *(s.given for s in program.steps)) for ref in given.values()]
        uses = uses_of(program.trace.nodes, program.live, [*(ref for *_, ref in program.finals), *stored])
        self.run([i for i, level in levels.items() if level == 0], uses)
        self._world()
        for n, loop in enumerate(program.tree.loops, 1):
            self._loop(loop)
            if n == turn and program.tree.root_sums:
                self._sum(program.tree.root_segment, program.tree.root_sums, "%world")
            self.run([i for i, level in levels.items() if level == n], uses)
            if n == turn:
                self._give(program.tree.root_giving, program.tree.root_given, "%world")
        n_in = len(program.inputs)
        for n, j, ref in program.finals:
            self.put(self.value(ref), self.argument(n_in + n, "0", j))
        count = n_in + len(program.outputs)
        arguments = ", ".join(f"{self.kind.pointer} %a{j}" for j in range(count))
        strides = "".join(f", i64 %on.{of}" for of in ("work", *range(count)) if self.strided)
        head = f"define internal void @{name}({arguments}, ptr %work, ptr %data{strides}) noinline nounwind{attributes}"
        return head + " {\nentry:\n" + "\n".join([*self.body, "ret void", "}"]) + "\n"

    @property
    def turn(self) -> int:
        """The number of loops after which roots are summed and given to."""
        tree = self.program.tree
        return len(tree.loops) if tree.turn is None else tree.turn

    def _levels(self) -> dict[int, int]:
        """Global values, each with the number of loops after which it is known."""
        program, out = self.program, dict[int, int]()
        last = {number: n for n, loop in enumerate(program.tree.loops, 1) for step in loop.steps for number, _ in step.totals}
        for i in program.order(None):
            name, *args = program.trace.nodes[i]
            if name == "in":
                out[i] = {"sum": self.turn, "total": last.get(args[0][1], 0)}.get(args[0][0], 0)
            else:
                out[i] = max((out[j] for j in operands(program.trace.nodes[i]) if j in out), default=0)
        return out

    def _world(self) -> None:
        for (role, number, index), place in self.program.shared.items():
            for c, _, ref in self.program.contributions(role, number, index):
                if c is None:
                    self.put(self.value(ref), self.place(self.world, place))
        for place in self.program.totals.values():
            self.put(self.kind.constant(0.0), self.place(self.world, place))
        self._clear_given()

    def _clear_given(self) -> None:
        """What nobody gives is zero: to roots what groups give, to other groups what the world gives."""
        program, zero = self.program, self.kind.constant(0.0)
        by_world = [place for name, place in program.given.items() if name in program.tree.root_given]
        by_groups = [place for name, place in program.given.items() if name not in program.tree.root_given]
        if by_groups:
            with self._children("%world") as j:
                record = self.record_of(self.number_at("%d.list", j))
                for place in by_groups:
                    self.put(zero, self.place(record, place))
        if by_world:
            with self.loop("%world") as j:
                record = self.record_of(j)
                for place in by_world:
                    self.put(zero, self.place(record, place))

    def _loop(self, loop) -> None:
        name, steps = self.name("loop"), loop.steps
        with self.loop("%n") as i:
            self.group = i if loop.outward else self.let(f"sub i64 {self.let('sub i64 %n, 1')}, {i}")
            self.number_here = self.number_at("%d.record", self.group)
            self.here = self.record_of(self.number_here)
            self.above = self.record_of(self.number_at("%d.parent", self.group))
            self.at_row = self.number_at("%d.row", self.group)
            kind = self.number_at("%d.class", self.group)
            cases = " ".join(f"i64 {s.group_class}, label %{name}.c{s.group_class}" for s in steps[1:])
            self.do(f"switch i64 {kind}, label %{name}.c{steps[0].group_class} [ {cases} ]")
            for step in steps:
                self.do(f"{name}.c{step.group_class}:")
                self._step(step)
                self.do(f"br label %{name}.done")
            self.do(f"{name}.done:")

    def _step(self, step: ClassStep) -> None:
        program, tree = self.program, self.program.tree
        c = step.group_class
        table = self.word("%data", 8 * (3 + len(POINTERS) + tree.kinds.index(c)))
        self.row = self.at(table, self.times(self.at_row, max(1, len(tree.tables[c])) * self.kind.bytes))
        ports = [self.number_here, *(self.plus(self.number_here, p) for p in range(1, len(step.ports)))]
        for p, x in enumerate(step.ports):
            if x.sums:
                self._sum(x.segment, x.sums, ports[p], (p,) if p else ())
        order = program.order(step.body)
        mine = set(order)
        stores = [(0, place, i) for i, place in program.own.items() if i in mine]
        latest = {(slot.number, member) for slot, member in step.values}
        for (role, number, index), place in program.shared.items():
            if any((number, member) in latest for _, member in tree.read(c, role)):
                stores += [(port, place, ref) for k, port, ref in program.contributions(role, number, index) if k == c]
        found = [((number, e), ref) for number, refs in step.totals for e, ref in enumerate(refs)]
        totals = [(program.totals[key], ref) for key, ref in found if key in program.totals]
        wanted = [ref for *_, ref in stores] + [ref for _, ref in totals] + [ref for *_, ref in step.results] + [*step.given.values()]
        self.run(order, uses_of(program.trace.nodes, [*order, *program.order(step.giving)], wanted))
        records = [self.here, *map(self.record_of, ports[1:])]
        for port, place, ref in stores:
            self.put(self.value(ref), self.place(records[port], place))
        for place, ref in totals:
            pointer = self.place(self.world, place)
            self.put(self.let(f"fadd {self.kind.vector} {self.get(pointer)}, {self.value(ref)}"), pointer)
        for n, j, which, number, ref in step.results:
            self.put(self.value(ref), self.argument(len(program.inputs) + n, self.start(which, number), j))
        self._give(step.giving, step.given, self.number_here)

    # --- children

    def _children(self, port: str):
        """A loop over the places of the children on a port in the list of all."""
        return self.loop(self.number_at("%d.first", self.plus(port, 1)), self.number_at("%d.first", port))

    def _sum(self, segment, sums: dict[int, int], port: str, number: tuple[int, ...] = ()) -> None:
        """Σ over the children on a port, all sums of a step in one loop."""
        program = self.program
        rooms = {a: self.room(self.kind.vector) for a, leaf in sums.items() if leaf in program.alive or -leaf in program.alive}
        if not rooms:
            return
        for room in rooms.values():
            self.put(self.kind.constant(0.0), room)
        with self._children(port) as j:
            self.below = self.record_of(self.number_at("%d.list", j))
            order = program.order(segment)
            self.run(order, uses_of(program.trace.nodes, order, rooms))
            for a, room in rooms.items():
                self.put(self.let(f"fadd {self.kind.vector} {self.get(room)}, {self.value(a)}"), room)
        self.sums |= {(a, *number): self.get(room) for a, room in rooms.items()}

    def _give(self, segment, given: dict[tuple, int], port: str) -> None:
        """What a group with one port computes for each of its children, in their records."""
        program = self.program
        wanted = [(program.given[name], ref) for name, ref in given.items() if name in program.given]
        if not wanted:
            return
        with self._children(port) as j:
            self.below = self.record_of(self.number_at("%d.list", j))
            order = program.order(segment)
            self.run(order, uses_of(program.trace.nodes, order, [ref for _, ref in wanted]))
            for place, ref in wanted:
                self.put(self.value(ref), self.place(self.below, place))


def function(program: RolledProgram, kind: Kind, name: str, attributes: str, strided: bool = False) -> str:
    """The function @name(inputs..., outputs..., work, data); where memory is strided, then bytes from number to number of
    work, inputs, outputs."""
    return _Function(program, kind, strided).text(name, attributes)
