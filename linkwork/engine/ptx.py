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
THREADS = 128  # in a block
LAYOUTS = ("rows", "columns")

INDEX = """%thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
%block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
%size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
%thread64 = zext i32 %thread to i64
%block64 = zext i32 %block to i64
%size64 = zext i32 %size to i64
%before = mul i64 %block64, %size64
%i = add i64 %before, %thread64
%inside = icmp slt i64 %i, %n
br i1 %inside, label %go, label %end
go:"""

DECLARATIONS = "".join(f"declare i32 @llvm.nvvm.read.ptx.sreg.{r}.x()\n" for r in ("tid", "ctaid", "ntid"))


def text(program: Program, dtype: str, layouts: tuple[str, ...]) -> str:
    """The module of @kernel(n, (pointer, step)...): each argument has a layout; the step is from sample to sample in rows,
    from number to number in columns, counted in numbers.

    Angles too large for the short way to sin and cos are rare: a sample that has one is left to @far, the same code with
    the long way in it, so that the kernel itself has no branches.
    """
    kind, count = Kind(dtype, 1), len(program.inputs) + len(program.outputs)
    near = plain_angles(program)
    calls = {(f, dtype, 1) for f in needed_functions(program)} | ({("sincos_near", dtype, 1)} if near else set())
    library = functions.library(sorted(calls))
    declared = "".join(line for line in intrinsics(kind).values() if line not in library)
    arguments = ", ".join(f"{GLOBAL} noalias %a{j}, i64 %s{j}" for j in range(count))
    given = ", ".join(f"{GLOBAL} %a{j}, i64 %s{j}" for j in range(count))
    short = _Body(program, kind, layouts, near)
    guard = short.guard()
    lines = [INDEX, *short.head(), *guard]
    if guard:
        lines += [f"br i1 {short.large}, label %far, label %near", "far:", f"call void @far(i64 %i, {given})"]
        lines += ["br label %end", "near:"]
    lines += [*short.body(), "br label %end", "end:", "ret void"]
    far = ""
    if guard:
        long = _Body(program, kind, layouts, frozenset())
        body = "\n".join([*long.head(), *long.body(), "ret void"])
        far = f"define internal void @far(i64 %i, {arguments}) noinline cold nounwind {{\n{body}\n}}\n"
    kernel = "\n".join(lines)
    return (
        f'target triple = "nvptx64-nvidia-cuda"\n{library}{declared}{DECLARATIONS}{far}'
        f'define ptx_kernel void @kernel(i64 %n, {arguments}) "nvvm.maxntid"="{THREADS}" {{\n{kernel}\n}}\n'
    )


class _Body:
    """The instructions for sample %i."""

    def __init__(self, program: Program, kind: Kind, layouts: tuple[str, ...], near: frozenset[int]):
        self.program, self.kind, self.layouts, self.near = program, kind, layouts, near
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
        program, writer, T = self.program, self.writer, self.kind.dtype
        results = [ref for output in program.outputs for ref in output.refs]
        writer.run(program.live, uses_of(program.trace.nodes, program.live, results))
        for n, output in enumerate(program.outputs):
            for j, ref in enumerate(output.refs):
                value, pointer = writer.at(ref), self.place(writer.emit, len(program.inputs) + n, j)
                writer.lines.append(f"store {T} {value}, {GLOBAL} {pointer}, align {self.kind.bytes}")
        return writer.lines


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
