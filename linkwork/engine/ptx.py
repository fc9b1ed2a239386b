"""A program as PTX for NVIDIA GPUs: one thread for each sample, from the same LLVM that writes for the CPU.

Two layouts of memory have kernels of their own: "rows", where the numbers of a sample lie side by side (what people
have), and "columns", where the samples of a number do (what a GPU likes best).
"""

from functools import cache

import llvmlite.binding as llvm

from . import functions
from .compiler import _lock
from .functions_circular import LIMIT
from .llvm import Kind, Writer, intrinsics, needed_functions, plain_angles, uses_of
from .program import Program

GLOBAL = "ptr addrspace(1)"
SHARED = "ptr addrspace(3)"
THREADS = 64  # in a block
STAGED = 32  # entries of a result that a block writes together

INDEX = """%thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
%block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
%thread64 = zext i32 %thread to i64
%block64 = zext i32 %block to i64
%first = mul i64 %block64, {threads}
%own = add i64 %first, %thread64
%inside = icmp slt i64 %own, %n
%last = sub i64 %n, 1
%i = select i1 %inside, i64 %own, i64 %last"""

DECLARATIONS = (
    "".join(f"declare i32 @llvm.nvvm.read.ptx.sreg.{r}.x()\n" for r in ("tid", "ctaid"))
    + "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\ndeclare i64 @llvm.smin.i64(i64, i64)\n"
)


def text(program: Program, dtype: str, layouts: tuple[str, ...]) -> str:
    """The module of @kernel(n, flag, (pointer, step)...): each argument has a layout; the step is from sample to sample in
    rows, from number to number in columns, counted in numbers.

    Angles too large for the short way to sin and cos are rare: a sample that has one sets the flag, and @far, launched
    behind @kernel, does it again with the long way. So the kernel has no branches, and @far is over at once while the
    flag is not set.
    """
    kind, count = Kind(dtype, 1), len(program.inputs) + len(program.outputs)
    near = plain_angles(program)
    calls = {(f, dtype, 1) for f in needed_functions(program)} | ({("sincos_near", dtype, 1)} if near else set())
    library = functions.library(sorted(calls))
    declared = "".join(line for line in intrinsics(kind).values() if line not in library)
    arguments = ", ".join(f"{GLOBAL} noalias %a{j}, i64 %s{j}" for j in range(count))
    head = f'(i64 %n, {GLOBAL} %flag, {arguments}) "nvvm.maxntid"="{THREADS}"'
    staged = [j for j in range(len(program.inputs), count) if layouts[j] == "rows" and _size(program, j) > STAGED]
    room = f"@stage = internal addrspace(3) global [{STAGED * (THREADS + 1)} x {dtype}] undef, align 16\n" if staged else ""
    short = _Body(program, kind, layouts, near, staged)
    guard = short.guard()
    lines = [INDEX.format(threads=THREADS), *short.head(), *guard]
    if guard:
        lines += [f"br i1 {short.large}, label %mark, label %near", "mark:", f"store i32 1, {GLOBAL} %flag"]
        lines += ["br label %near", "near:"]
    main = "\n".join([*lines, *short.body(), "ret void"])
    return (
        f'target triple = "nvptx64-nvidia-cuda"\n{room}{library}{declared}{DECLARATIONS}'
        f"define ptx_kernel void @kernel{head} {{\n{main}\n}}\n" + (_far(program, kind, layouts, near, head) if guard else "")
    )


def _size(program: Program, j: int) -> int:
    return program.outputs[j - len(program.inputs)].size


def _far(program: Program, kind: Kind, layouts: tuple[str, ...], near: frozenset[int], head: str) -> str:
    """@far: the samples with large angles, once the flag is set."""
    long = _Body(program, kind, layouts, frozenset(), [])
    long.near = near
    start = [
        INDEX.format(threads=THREADS),
        f"%marked = load i32, {GLOBAL} %flag",
        "%some = icmp ne i32 %marked, 0",
        "%wanted = and i1 %some, %inside",
        "br i1 %wanted, label %look, label %end\nlook:",
        *long.head(),
        *long.guard(),
    ]
    lines = [*start, f"br i1 {long.large}, label %go, label %end\ngo:", *long.body(), "br label %end\nend:\nret void"]
    return f"define ptx_kernel void @far{head} {{\n" + "\n".join(lines) + "\n}\n"


class _Body:
    """The instructions for sample %i."""

    def __init__(self, program: Program, kind: Kind, layouts: tuple[str, ...], near: frozenset[int], staged: list[int]):
        self.program, self.kind, self.layouts, self.near, self.staged = program, kind, layouts, near, staged
        self.number = {x.name: j for j, x in enumerate(program.inputs)}
        self.writer = Writer(program.trace.nodes, kind, self.load, near)
        self.large = ""

    def place(self, emit, j: int, index: int) -> str:
        offset = str(index) if self.layouts[j] == "rows" else emit(f"mul i64 %s{j}, {index}")
        return emit(f"getelementptr {self.kind.dtype}, {GLOBAL} %here{j}, i64 {offset}")

    def load(self, emit, argument: str, index: int) -> str:
        pointer = self.place(emit, self.number[argument], index)
        return emit(f"load {self.kind.dtype}, {GLOBAL} {pointer}, align {self.kind.bytes}")

    def head(self) -> list[str]:
        """Where each argument's sample begins."""
        lines = []
        for j, layout in enumerate(self.layouts):
            if layout == "rows":
                lines.append(f"%step{j} = mul i64 %i, %s{j}")
            step = f"%step{j}" if layout == "rows" else "%i"
            lines.append(f"%here{j} = getelementptr {self.kind.dtype}, {GLOBAL} %a{j}, i64 {step}")
        return lines

    def guard(self) -> list[str]:
        """Is any angle too large?"""
        nodes, T, writer = self.program.trace.nodes, self.kind.dtype, self.writer
        largest = ""
        for i in sorted(self.near):
            size = writer.emit(f"call {T} @llvm.fabs.{self.kind.mangled}({T} {self.load(writer.emit, *nodes[i][1:])})")
            beyond = writer.emit(f"fcmp ogt {T} {size}, {self.kind.constant(LIMIT[T])}")
            largest = writer.emit(f"or i1 {largest}, {beyond}") if largest else beyond
        self.large = largest
        lines, writer.lines = writer.lines, []
        return lines

    def body(self) -> list[str]:
        program, writer, n_in = self.program, self.writer, len(self.program.inputs)
        results = [ref for output in program.outputs for ref in output.refs]
        writer.run(program.live, uses_of(program.trace.nodes, program.live, results))
        for n, output in enumerate(program.outputs):
            whole = output.size // STAGED * STAGED if n_in + n in self.staged else 0
            for start in range(0, whole, STAGED):
                self._together(n_in + n, start, output.refs[start : start + STAGED])
            for index in range(whole, output.size):
                self._store(writer.at(output.refs[index]), self.place(writer.emit, n_in + n, index))
        return writer.lines

    def _store(self, value: str, pointer: str, space: str = GLOBAL) -> None:
        self.writer.lines.append(f"store {self.kind.dtype} {value}, {space} {pointer}, align {self.kind.bytes}")

    def _together(self, j: int, start: int, refs) -> None:
        """Entries of a result through shared memory, so that neighbours in memory are written by neighbouring threads."""
        emit, T, lines = self.writer.emit, self.kind.dtype, self.writer.lines
        barrier = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
        lines.append(barrier)
        for k, ref in enumerate(refs):
            at = emit(f"add i64 %thread64, {k * (THREADS + 1)}")
            self._store(self.writer.at(ref), emit(f"getelementptr {T}, {SHARED} @stage, i64 {at}"), SHARED)
        lines.append(barrier)
        entry = emit(f"and i64 %thread64, {STAGED - 1}")
        sample = emit(f"lshr i64 %thread64, {STAGED.bit_length() - 1}")
        from_row = emit(f"mul i64 {entry}, {THREADS + 1}")
        per = THREADS // STAGED
        for turn in range(STAGED):
            s = emit(f"add i64 {sample}, {turn * per}")
            at = emit(f"add i64 {from_row}, {s}")
            source = emit(f"getelementptr {T}, {SHARED} @stage, i64 {at}")
            value = emit(f"load {T}, {SHARED} {source}, align {self.kind.bytes}")
            row = emit(f"call i64 @llvm.smin.i64(i64 {emit(f'add i64 %first, {s}')}, i64 %last)")  # beyond: the last again
            offset = emit(f"add i64 {emit(f'mul i64 {row}, %s{j}')}, {emit(f'add i64 {entry}, {start}')}")
            self._store(value, emit(f"getelementptr {T}, {GLOBAL} %a{j}, i64 {offset}"))


@cache
def _machine(chip: str):
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu=chip, opt=3)


def ptx(text: str, chip: str) -> str:
    """The assembly of a module for a chip such as sm_90."""
    with _lock:
        machine = _machine(chip)
        module = llvm.parse_assembly(text)
        module.verify()
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()
        passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1)))
        return machine.emit_assembly(module)
