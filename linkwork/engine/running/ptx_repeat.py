"""A repeated kernel (see repeat.py) as PTX: one thread for each sample, its state in registers until it leaves."""

from ..tracing.program import Program
from ..writers.llvm import Kind, needed_functions
from ..writers.order import fewest_spills
from .ptx import BLOCK, GLOBAL, INDEX, REGISTERS, ThreadCode, defined, module
from .repeat import Form, check_form


def text(program: Program, dtype: str, layouts: tuple[str, ...], form: Form) -> str:
    """The module of @kernel(n, rounds, every, goes, (pointer, step)..., on...): layouts and steps as of any kernel, of the inputs, the new
    states if samples leave, what goes to rows, and then the number of rows or rounds. `on` is from one step to the next of each
    stream, then from one row to the next of what goes to rows, counted in numbers.

    `every` is after how many rounds there is a row, the first being number 1; or, where samples leave, for how many rows there is room.
    There `goes` has a number for each sample: one for which it is zero keeps its state.
    """
    check_form(program, form)
    repeated = _Repeated(program, Kind(dtype, 1), layouts, form)
    arguments = [f"{GLOBAL} noalias %a{j}, i64 %s{j}" for j in range(repeated.count)] + [f"i64 %on{j}" for j in repeated.moving]
    goes = f"{GLOBAL} noalias %goes, " if form.leaves else ""
    head = f'(i64 %n, i64 %rounds, i64 %every, {goes}{", ".join(arguments)}) {BLOCK}'
    return module(repeated.body.kind, needed_functions(program), defined("kernel", head, repeated.lines()))


class _Repeated:
    def __init__(self, program: Program, kind: Kind, layouts: tuple[str, ...], form: Form):
        n_in, n_out = len(program.inputs), len(program.outputs)
        self.program, self.form, self.body = program, form, ThreadCode(program, kind, layouts, frozenset())
        self.streamed, self.kept = range(form.states, form.states + form.streams), form.rows(n_in, n_out)
        self.moving = [*self.streamed, *self.kept]  # arguments that are elsewhere at each step
        self.count = n_in + n_out - form.keeps  # pointers: the number of rows stands for `keep` and `done`
        self.entries = [(j, e) for j in range(form.states) for e in range(program.inputs[j].size)]

    def lines(self) -> list[str]:
        body, form, T, outputs = self.body, self.form, self.body.kind.dtype, self.program.outputs
        do = body.do
        do("entry:")
        do(INDEX)
        body.head("%i")
        first = {(j, e): body.load(self.program.inputs[j].name, e) for j, e in self.entries}
        if form.leaves:
            do(f"%flag = getelementptr {T}, {GLOBAL} %goes, i64 %i\n%going = load {T}, {GLOBAL} %flag, align {body.kind.bytes}")
            do(f"%moves = fcmp une {T} %going, {body.kind.constant(0.0)}\nbr i1 %moves, label %step, label %end\nstep:")
        else:
            do("br label %step\nstep:")
        phis = len(body.lines)
        body.known |= {(self.program.inputs[j].name, e): f"%x{j}.{e}" for j, e in self.entries}
        for j in self.streamed:
            self._move(j, "%now")
        body.write_all(fewest_spills(self.program, REGISTERS[T]), {})
        new = {(j, e): body.value(outputs[j].refs[e]) for j, e in self.entries}
        keep, done = (body.value(outputs[k].refs[0]) if has else "" for k, has in ((-2, form.keeps), (-1, form.leaves)))
        do("br label %tail\ntail:\n%done = add i64 %now, 1\n%below = add i64 %row, 1")
        loop = [("i64", "now", "0", "%done"), ("i64", "row", "0", "%row1")]
        if form.keeps or not form.leaves:
            self._keep(keep)
        else:
            do("br label %next\nnext:\n%row1 = add i64 %row, 1")
        if not form.leaves:
            loop.append(("i64", "left", "%every", "%wait1"))
            do("%more = icmp slt i64 %done, %rounds\nbr i1 %more, label %step, label %end\nend:")
        else:
            self._leave(done, first, new)
        do("ret void")
        loop += [(T, f"x{j}.{e}", first[j, e], new[j, e]) for j, e in self.entries]
        body.lines[phis:phis] = [f"%{name} = phi {kind} [ {a}, %entry ], [ {b}, %next ]" for kind, name, a, b in loop]
        body.lines[1:1] = body.entry
        return body.lines

    def _keep(self, keep: str) -> None:
        """Write a row, if it is to be kept, or if it is time."""
        body, do = self.body, self.body.do
        if keep:
            do(f"%keep = fcmp une {body.kind.dtype} {keep}, {body.kind.constant(0.0)}")
        else:
            do("%wait = sub i64 %left, 1\n%keep = icmp eq i64 %wait, 0")
        do("br i1 %keep, label %write, label %next\nwrite:")
        for j in self.kept:
            self._move(j, "%row" if self.form.leaves else "%below")
            for e, ref in enumerate(self.program.outputs[j - len(self.program.inputs)].refs):
                body.store(body.value(ref), body.place(j, e))
        do("br label %next\nnext:\n%row1 = phi i64 [ %row, %tail ], [ %below, %write ]")
        if not keep:
            do("%wait1 = phi i64 [ %wait, %tail ], [ %every, %write ]")

    def _leave(self, done: str, first: dict, new: dict) -> None:
        """Go on, or write the states and the number of rows or rounds."""
        body, T, n_in = self.body, self.body.kind.dtype, len(self.program.inputs)
        do, emit = body.do, body.let
        do(f"%late = icmp sge i64 %done, %rounds\n%ready = fcmp une {T} {done}, {body.kind.constant(0.0)}\n%over = or i1 %late, %ready")
        if self.form.keeps:
            do("%full = icmp sge i64 %row1, %every\n%stops = or i1 %full, %over\n%number = add i64 %row1, 0")
        else:
            do("%stops = or i1 %over, %over\n%beyond = add i64 %rounds, 1\n%number = select i1 %ready, i64 %done, i64 %beyond")
        do("br i1 %stops, label %end, label %step\nend:\n%count = phi i64 [ 0, %entry ], [ %number, %next ]")
        for j, e in self.entries:
            do(f"%y{j}.{e} = phi {T} [ {first[j, e]}, %entry ], [ {new[j, e]}, %next ]")
        for j, e in self.entries:
            body.store(f"%y{j}.{e}", body.place(n_in + j, e))
        body.store(emit(f"sitofp i64 %count to {T}"), body.place(self.count - 1, 0))

    def _move(self, j: int, times: str) -> None:
        """Where an argument is at a step, or a row."""
        emit = self.body.let
        offset = emit(f"mul i64 %on{j}, {times}")
        self.body.here[j] = emit(f"getelementptr {self.body.kind.dtype}, {GLOBAL} %here{j}, i64 {offset}")
