"""A march (see march.py) as PTX: one thread for each sample, its state in registers for all steps."""

from .llvm import Kind, needed_functions
from .order import fewest_spills
from .program import Program
from .ptx import BLOCK, GLOBAL, INDEX, REGISTERS, ThreadCode, defined, module


def text(program: Program, dtype: str, layouts: tuple[str, ...], streams: int) -> str:
    """The module of @kernel(n, steps, every, (pointer, step)..., on...): layouts and steps as of any kernel; `on` is from
    one step to the next of each stream, then from one kept row to the next of each state, counted in numbers."""
    march = _March(program, Kind(dtype, 1), layouts, streams)
    count = len(program.inputs) + len(program.outputs)
    arguments = [f"{GLOBAL} noalias %a{j}, i64 %s{j}" for j in range(count)] + [f"i64 %on{j}" for j in march.moving]
    head = f'(i64 %n, i64 %steps, i64 %every, {", ".join(arguments)}) {BLOCK}'
    return module(march.body.kind, needed_functions(program), defined("kernel", head, march.lines()))


class _March:
    def __init__(self, program: Program, kind: Kind, layouts: tuple[str, ...], streams: int):
        n_in, states = len(program.inputs), len(program.outputs)
        self.body = ThreadCode(program, kind, layouts, frozenset())
        self.states = range(states)
        self.streamed = range(states, states + streams)
        self.kept = range(n_in, n_in + states)
        self.moving = [*self.streamed, *self.kept]  # arguments that are elsewhere at each step

    def lines(self) -> list[str]:
        body, do = self.body, self.body.writer.lines.append
        do("entry:\n" + INDEX)
        body.head()
        entries = [(j, e) for j in self.states for e in range(body.program.inputs[j].size)]
        first = {(j, e): body.load(body.writer.emit, body.program.inputs[j].name, e) for j, e in entries}
        do("br label %step\nstep:")
        phis = len(body.writer.lines)
        for j, e in entries:
            body.known[body.program.inputs[j].name, e] = f"%x{j}.{e}"
        for j in self.streamed:
            self._move(j, "%now")
        body.run(fewest_spills(body.program, REGISTERS[body.kind.dtype]), {})
        new = {(j, e): body.writer.at(body.program.outputs[j].refs[e]) for j, e in entries}
        do("br label %tail\ntail:\n%done = add i64 %now, 1\n%wait = sub i64 %left, 1\n%keep = icmp eq i64 %wait, 0")
        do("br i1 %keep, label %write, label %next\nwrite:\n%below = add i64 %row, 1")
        for j in self.states:
            self._move(self.kept[j], "%below")
            for e in range(body.program.outputs[j].size):
                body.store(new[j, e], body.place(body.writer.emit, self.kept[j], e))
        do("br label %next\nnext:")
        do("%wait1 = phi i64 [ %wait, %tail ], [ %every, %write ]\n%row1 = phi i64 [ %row, %tail ], [ %below, %write ]")
        do("%more = icmp slt i64 %done, %steps\nbr i1 %more, label %step, label %end\nend:\nret void")
        loop = [("i64", "now", "0", "%done"), ("i64", "left", "%every", "%wait1"), ("i64", "row", "0", "%row1")]
        loop += [(body.kind.dtype, f"x{j}.{e}", first[j, e], new[j, e]) for j, e in entries]
        body.writer.lines[phis:phis] = [f"%{name} = phi {kind} [ {a}, %entry ], [ {b}, %next ]" for kind, name, a, b in loop]
        return body.writer.lines

    def _move(self, j: int, times: str) -> None:
        """Where an argument is at a step."""
        emit = self.body.writer.emit
        offset = emit(f"mul i64 %on{j}, {times}")
        self.body.here[j] = emit(f"getelementptr {self.body.kind.dtype}, {GLOBAL} %here{j}, i64 {offset}")
