"""A program as straight-line code for the CPU: the function @name(inputs..., outputs..., work, data), alone or in pieces.

All arguments are in lanes. Multiply-adds are chosen over the whole program, so that pieces give the same bits.
"""

from collections.abc import Callable, Iterable

from ..tracing.loops import Loop
from ..tracing.operations import OPERATIONS, SAME, operands
from ..tracing.program import Program
from ..tracing.routines import Routine
from . import allocation, assembly, pieces
from .allocation import Others
from .llvm import Kind, Writer, fused, uses_of
from .loop_bodies import bodies


def functions(program: Program, kind: Kind, name: str, attributes: str, once: bool = False) -> str:
    """@name, after the pieces it calls; of results each different entry `once`."""
    text = _Text(program, kind, name, attributes, once)
    called = [functions(x.program, kind, f"{name}.routine{k}", attributes) for k, x in enumerate(text.routines)]
    write = text.as_assembly if assembly.serves(program) else text.in_pieces if pieces.is_long(program) else text.whole
    return "".join([*called, write(name)])


def forget(program: Program) -> None:
    """Free what the text of a program was made of, which is larger than the text."""
    for x in (program, *(routine.program for routine in pieces.routines(program))):
        allocation.forget(x)


class _Text:
    def __init__(self, program: Program, kind: Kind, name: str, attributes: str, once: bool):
        self.name, self.routines, self.bodies = name, pieces.routines(program), bodies(program)
        self.beyond = pieces.own_workspace(program) if self.routines else 0
        self.program, self.kind, self.attributes, self.once = program, kind, attributes, once
        self.nodes, self.n_in = program.trace.nodes, len(program.inputs)
        self.number = {x.name: j for j, x in enumerate(program.inputs)}
        self.results = [
            (self.n_in + n, j, ref)
            for n, output in enumerate(program.outputs)
            for j, ref in enumerate(output.distinct if once else output.refs)
        ]
        self.uses = uses_of(self.nodes, program.live, [ref for output in program.outputs for ref in output.refs])
        at_once = kind.width > 1  # one sample is the user's memory, where an array may be input and result
        self.late: list[tuple] = []
        self.made: dict[int, list[tuple]] = {}  # results that are written as soon as their node is made, so that it need not be kept
        for x in self.results:
            (self.made.setdefault(abs(x[2]), []) if at_once and self.nodes[abs(x[2])][0] != "const" else self.late).append(x)

    def whole(self, name: str) -> str:
        writer = self._writer()

        def give(i: int) -> None:
            for result in self.made.get(i, ()):
                self._give(writer, *result)

        writer.run(self.program.live, self.uses, give)
        for result in self.late:
            self._give(writer, *result)
        return self._function(name, writer.body)

    def in_pieces(self, name: str) -> str:
        cut = pieces.cut(self.program, results_last=self.kind.width == 1)
        absorbs = fused(self.nodes, self.program.live, self.uses)
        bodies = [self._piece(piece, cut.reads.__getitem__, cut.places, absorbs, self.made) for piece in cut.pieces]
        bodies += [self._last(cut.places, self.late[k : k + pieces.PIECE]) for k in range(0, len(self.late), pieces.PIECE)]
        names = [f"{name}.{p}" for p in range(len(bodies))]
        calls = [f"call void @{each}({self._arguments()})" for each in names]
        return "".join(map(self._function, names, bodies)) + self._function(name, calls)

    def as_assembly(self, name: str) -> str:
        """@name calls stretches of assembly, and functions for what is not arithmetic. Of one sample it copies the inputs first."""
        places: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for j, index, ref in self.results:
            places.setdefault((j - self.n_in, ref), []).append((j, index))
        text, plan = assembly.Text(self.program, self.kind, name, places, self.once), assembly.planned(self.program)
        pointer, calls, bodies, arguments = self.kind.pointer, list[str](), list[str](), self._arguments()
        if self.kind.width == 1:
            calls, arguments = self._copied_inputs(plan.room)
        for p, stretch in enumerate(plan.stretches):
            calls.append(f"call void @{name}.{p}({arguments})")
            if isinstance(stretch, Others):
                lines = self._piece(stretch.nodes, lambda i: operands(self.nodes[i]), plan.places, {}, {})
                bodies.append(self._function(f"{name}.{p}", lines))
            else:
                bodies.append(f"declare void @{name}.{p}({self._arguments(pointer, named=False)})\n")
        return text.module_text() + "".join(bodies) + self._function(name, calls)

    def _copied_inputs(self, room: int) -> tuple[list[str], str]:
        """Copies of the inputs in the scratch memory, and the arguments of the stretches with these."""
        lines, arguments, place = [], self._arguments(), room * self.kind.bytes
        for j, x in enumerate(self.program.inputs):
            lines.append(f"%copy{j} = getelementptr i8, ptr %work, i64 {place}")
            lines.append(f"call void @llvm.memcpy.p0.p0.i64(ptr %copy{j}, ptr %a{j}, i64 {x.size * self.kind.bytes}, i1 false)")
            arguments = arguments.replace(f"%a{j},", f"%copy{j},")
            place += x.size * self.kind.bytes
        return lines, arguments

    def _piece(
        self, order: list[int], reads: Callable[[int], Iterable[int]], places: dict[int, int], absorbs: dict[int, int], made: dict
    ) -> list[str]:
        """The operations of one function: what they read of others is in the scratch memory, and what others read goes there."""
        writer = self._writer()
        for i in order:
            for j in reads(i):
                self._find(writer, j, places)
            writer.write(i, absorbs)
            if i in places:
                self._keep(writer, i, places[i])
            for result in made.get(i, ()):
                self._give(writer, *result)
        return writer.body

    def _last(self, places: dict[int, int], results) -> list[str]:
        """Results go out when all inputs have been read: an array may be both."""
        writer = self._writer()
        for j, index, ref in results:
            self._find(writer, abs(ref), places)
            self._give(writer, j, index, ref)
        return writer.body

    # --- memory

    def _find(self, writer: Writer, i: int, places: dict[int, int]) -> None:
        """A value that another function has made, or an input. A truth is kept as a number that is not zero."""
        name, *refs = self.nodes[i]
        if i in writer.names or name == "const":
            return
        if i not in places:
            if name in SAME:
                self._find(writer, abs(refs[0]), places)
            writer.write(i, {})
            return
        value = self._load(writer, "%work", places[i])
        if OPERATIONS[name].truth:
            value = writer.let(f"fcmp une {self.kind.vector} {value}, {self.kind.constant(0.0)}")
        writer.names[i] = value

    def _keep(self, writer: Writer, i: int, place: int) -> None:
        value, V, constant = writer.names[i], self.kind.vector, self.kind.constant
        if OPERATIONS[self.nodes[i][0]].truth:
            value = writer.let(f"select {self.kind.of('i1')} {value}, {V} {constant(1.0)}, {V} {constant(0.0)}")
        self._store(writer, value, "%work", place)

    def _give(self, writer: Writer, j: int, index: int, ref: int) -> None:
        self._store(writer, writer.value(ref), f"%a{j}", index)

    def _place(self, writer: Writer, array: str, index: int) -> str:
        return writer.at(array, str(index * self.kind.size))

    def _load(self, writer: Writer, array: str, index: int) -> str:
        return writer.get(self._place(writer, array, index))

    def _store(self, writer: Writer, value: str, array: str, index: int) -> None:
        writer.put(value, self._place(writer, array, index))

    # --- functions

    def _writer(self) -> Writer:
        def load(argument, index):
            return self._load(writer, f"%a{self.number[argument]}", index)

        writer = Writer(self.nodes, self.kind, load)
        writer.call = lambda routine, values: self._call(writer, routine, values)
        writer.repeat = lambda loop, *refs: self._repeat(writer, loop, refs)
        return writer

    def _call(self, writer: Writer, routine: Routine, values: list[str]) -> list[str]:
        """Call a routine: its arguments and results lie in the scratch memory, behind that of this program, its own behind them."""
        given, made = self._room(routine)
        for k, value in zip(given, values):
            self._store(writer, value, "%work", k)
        self._go(writer, routine)
        return [self._load(writer, "%work", k) for k in made]

    def _repeat(self, writer: Writer, loop: Loop, refs: tuple[int, ...]) -> list[str]:
        """The rounds of a loop; that of a long body calls it. The carried values are the arguments of each call."""
        if (routine := self.bodies.get(loop)) is None:
            return writer.rounds(loop, *refs)
        given, made = self._room(routine)
        for k, ref in zip(given, refs):
            self._store(writer, writer.value(ref), "%work", k)
        with writer.group_rounds(loop):
            self._go(writer, routine)
            for k, j in zip(given, made[:-1]):
                self._store(writer, self._load(writer, "%work", j), "%work", k)
            writer.go_on(writer.let(f"fcmp une {self.kind.vector} {self._load(writer, '%work', made[-1])}, {self.kind.constant(0.0)}"))
        return [self._load(writer, "%work", k) for k in given[: len(loop.carried)]]

    def _room(self, routine: Routine) -> tuple[range, range]:
        """Places of the arguments and the results of a routine."""
        first = self.beyond + sum(x.size for x in routine.program.inputs)
        return range(self.beyond, first), range(first, first + sum(x.size for x in routine.program.outputs))

    def _go(self, writer: Writer, routine: Routine) -> None:
        sizes = [*(x.size for x in routine.program.inputs), *(x.size for x in routine.program.outputs)]
        pointers = [self._place(writer, "%work", self.beyond + sum(sizes[:j])) for j in range(len(sizes) + 1)]
        name = f"{self.name}.routine{self.routines.index(routine)}"
        writer.do(f"call void @{name}({', '.join(f'ptr {p}' for p in pointers)}, ptr %data)")

    def _arguments(self, kind: str = "ptr", named: bool = True) -> str:
        names = [*(f"%a{j}" for j in range(self.n_in + len(self.program.outputs))), "%work"]
        return ", ".join([*(f"{kind} {x}" if named else kind for x in names), "ptr %data" if named else "ptr"])

    def _function(self, name: str, lines: list[str]) -> str:
        head = f"define internal void @{name}({self._arguments(self.kind.pointer)}) noinline nounwind{self.attributes}"
        return head + " {\n" + "\n".join([*lines, "ret void", "}"]) + "\n"
