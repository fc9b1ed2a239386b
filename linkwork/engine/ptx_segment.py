"""A segment (see segments.py) as PTX: one thread for each sample, its state in registers until it leaves."""

from .llvm import Kind, needed_functions
from .order import fewest_spills
from .program import Program
from .ptx import BLOCK, GLOBAL, INDEX, REGISTERS, ThreadCode, defined, module


def text(program: Program, dtype: str, layouts: tuple[str, ...], states: int) -> str:
    """The module of @kernel(n, rounds, capacity, goes, (pointer, step)..., on...).

    A sample leaves when it is done, when it has `capacity` rows, or after so many rounds; one whose number in `goes` is zero keeps
    its state. Layouts and steps are as of any kernel, of the inputs, the new states, the entries of a row, and the number of rows, which
    goes where the kernel has its `keep`; `on` is from one row to the next of each entry, counted in numbers.
    """
    segment = _Segment(program, Kind(dtype, 1), layouts, states)
    count = len(program.inputs) + len(program.outputs) - 1
    arguments = [f"{GLOBAL} noalias %a{j}, i64 %s{j}" for j in range(count)] + [f"i64 %on{j}" for j in segment.entries]
    head = f'(i64 %n, i64 %rounds, i64 %capacity, {GLOBAL} noalias %goes, {", ".join(arguments)}) {BLOCK}'
    return module(segment.body.kind, needed_functions(program), defined("kernel", head, segment.lines()))


class _Segment:
    def __init__(self, program: Program, kind: Kind, layouts: tuple[str, ...], states: int):
        n_in, n_out = len(program.inputs), len(program.outputs)
        self.body = ThreadCode(program, kind, layouts, frozenset())
        self.states, self.new = range(states), range(n_in, n_in + states)
        self.entries = range(n_in + states, n_in + n_out - 2)
        self.rows = n_in + n_out - 2  # the number of rows

    def lines(self) -> list[str]:
        body, T = self.body, self.body.kind.dtype
        do, emit, outputs = body.writer.lines.append, body.writer.emit, body.program.outputs
        do("entry:\n" + INDEX)
        body.head()
        entries = [(j, e) for j in self.states for e in range(body.program.inputs[j].size)]
        first = {(j, e): body.load(emit, body.program.inputs[j].name, e) for j, e in entries}
        do(f"%flag = getelementptr {T}, {GLOBAL} %goes, i64 %i\n%going = load {T}, {GLOBAL} %flag, align {body.kind.bytes}")
        do(f"%moves = fcmp une {T} %going, {body.kind.constant(0.0)}\nbr i1 %moves, label %step, label %end\nstep:")
        phis = len(body.writer.lines)
        for j, e in entries:
            body.known[body.program.inputs[j].name, e] = f"%x{j}.{e}"
        body.run(fewest_spills(body.program, REGISTERS[T]), {})
        new = {(j, e): body.writer.at(outputs[j].refs[e]) for j, e in entries}
        keep, done = (body.writer.at(x.refs[0]) for x in outputs[-2:])
        do(f"br label %tail\ntail:\n%keep = fcmp une {T} {keep}, {body.kind.constant(0.0)}")
        do("br i1 %keep, label %write, label %next\nwrite:\n%below = add i64 %row, 1")
        for j in self.entries:
            offset = emit(f"mul i64 %on{j}, %row")
            body.here[j] = emit(f"getelementptr {T}, {GLOBAL} %here{j}, i64 {offset}")
            for e, ref in enumerate(outputs[j - len(body.program.inputs)].refs):
                body.store(body.writer.at(ref), body.place(emit, j, e))
        do("br label %next\nnext:\n%row1 = phi i64 [ %row, %tail ], [ %below, %write ]\n%now1 = add i64 %now, 1")
        do("%full = icmp sge i64 %row1, %capacity\n%late = icmp sge i64 %now1, %rounds")
        do(f"%ready = fcmp une {T} {done}, {body.kind.constant(0.0)}")
        do("%leaves = or i1 %full, %late\n%stops = or i1 %leaves, %ready\nbr i1 %stops, label %end, label %step\nend:")
        do("%count = phi i64 [ 0, %entry ], [ %row1, %next ]")
        for j, e in entries:
            do(f"%y{j}.{e} = phi {T} [ {first[j, e]}, %entry ], [ {new[j, e]}, %next ]")
        for j, e in entries:
            body.store(f"%y{j}.{e}", body.place(emit, self.new[j], e))
        body.store(emit(f"sitofp i64 %count to {T}"), body.place(emit, self.rows, 0))
        do("ret void")
        loop = [("i64", "now", "0", "%now1"), ("i64", "row", "0", "%row1")]
        loop += [(T, f"x{j}.{e}", first[j, e], new[j, e]) for j, e in entries]
        body.writer.lines[phis:phis] = [f"%{name} = phi {kind} [ {a}, %entry ], [ {b}, %next ]" for kind, name, a, b in loop]
        return body.writer.lines
