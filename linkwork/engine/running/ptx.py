"""A program as PTX for NVIDIA GPUs: one thread for each sample, from the same LLVM that writes for the CPU.

Two layouts of memory have kernels of their own: "rows", where the numbers of a sample lie side by side (what people
have), and "columns", where the samples of a number do (what a GPU likes best).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial

import llvmlite.binding as llvm

from ..elementary.functions_circular import LIMIT, sincos
from ..loading.compiler import LLVM_LOCK, interruptible, optimized
from ..tracing.operations import OPERATIONS
from ..tracing.program import Program
from ..writers.llvm import Kind, Writer, library, needed_functions, uses_of
from ..writers.order import fewest_spills

GLOBAL = "ptr addrspace(1)"
SHARED = "ptr addrspace(3)"
THREADS = 64  # in a block
REGISTERS = {"double": 110, "float": 220}  # for values of a thread
BLOCK = f'"nvvm.maxntid"="{THREADS}" "nvvm.minctasm"="1"'  # asking for one resident block lets a thread have all registers
FAR_BLOCKS = 512  # of @far, whatever the number of samples
STAGED = 32  # entries of a result that a block writes together

OWN = f"""%thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
%block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
%thread64 = zext i32 %thread to i64
%block64 = zext i32 %block to i64
%first = mul i64 %block64, {THREADS}
%own = add i64 %first, %thread64"""

SHARES = f"""{OWN}
%blocks = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
%blocks64 = zext i32 %blocks to i64
%threads = mul i64 %blocks64, {THREADS}"""

INDEX = f"""{OWN}
%inside = icmp slt i64 %own, %n
%last = sub i64 %n, 1
%i = select i1 %inside, i64 %own, i64 %last"""

DECLARATIONS = (
    "".join(f"declare i32 @llvm.nvvm.read.ptx.sreg.{r}.x()\n" for r in ("tid", "ctaid", "nctaid"))
    + "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\ndeclare i64 @llvm.smin.i64(i64, i64)\n"
)


def text(program: Program, dtype: str, layouts: tuple[str, ...]) -> str:
    """The module of @kernel(n, flag, (pointer, step)...): each argument has a layout; the step is from sample to sample in
    rows, from number to number in columns, counted in numbers.

    Angles too large for the short range reduction of sin and cos are rare: a sample that has one sets the flag, and @far,
    launched after @kernel, computes that sample again with the long one. So @kernel has no branches, and @far returns at
    once if the flag is not set.
    """
    kind, n_in, count = Kind(dtype, 1), len(program.inputs), len(program.inputs) + len(program.outputs)
    near = plain_angles(program)
    arguments = ", ".join(f"{GLOBAL} noalias %a{j}, i64 %s{j}" for j in range(count))
    head = f'(i64 %n, {GLOBAL} %flag, {arguments}) {BLOCK}'
    staged = [j for j in range(n_in, count) if layouts[j] == "rows" and program.outputs[j - n_in].size > STAGED]
    room = f"@stage = internal addrspace(3) global [{STAGED * (THREADS + 1)} x {dtype}] undef, align 16\n" if staged else ""
    kernels = [defined("kernel", head, _short(program, kind, layouts, near, staged))]
    if near:
        kernels.append(defined("far", head, _long(program, kind, layouts, near)))
    return module(kind, needed_functions(program) | ({"sincos_near"} if near else set()), room, *kernels)


def plain_angles(program) -> frozenset[int]:
    """The inputs whose sin or cos is taken."""
    nodes = program.trace.nodes
    turned = {nodes[i][1] for i in program.live if OPERATIONS[nodes[i][0]].library is sincos}
    return frozenset(i for i in turned if nodes[i][0] == "in")


def defined(name: str, head: str, lines: list[str]) -> str:
    return f"define ptx_kernel void @{name}{head} {{\n" + "\n".join(lines) + "\n}\n"


def module(kind: Kind, needed: set[str], *parts: str) -> str:
    """The text of a module: the functions that are called, then the parts."""
    return f'target triple = "nvptx64-nvidia-cuda"\n{library(needed, [kind])}{DECLARATIONS}' + "".join(parts)


def _short(program: Program, kind: Kind, layouts: tuple[str, ...], near: frozenset[int], staged: list[int]) -> list[str]:
    order = fewest_spills(program, REGISTERS[kind.dtype])
    code = ThreadCode(program, kind, layouts, near)
    code.do(INDEX)
    code.head("%i")
    if near:
        with code.when(code.large(near)):
            code.do(f"store i32 1, {GLOBAL} %flag")
    code.write_all(order, code.stores(order, staged))
    return [*code.body, "ret void"]


def _long(program: Program, kind: Kind, layouts: tuple[str, ...], near: frozenset[int]) -> list[str]:
    """@far: if the flag is set, the samples with large angles, found by a few threads that check all samples."""
    code = ThreadCode(program, kind, layouts, frozenset())
    code.do(f"{SHARES}\n%marked = load i32, {GLOBAL} %flag\n%some = icmp ne i32 %marked, 0")
    with code.when("%some"), code.loop("%n", start="%own", step="%threads") as i:
        code.head(i)
        with code.when(code.large(near)):
            code.write_all(program.live, code.stores(program.live, []))
    return [*code.body, "ret void"]


class ThreadCode(Writer):
    """The instructions for one sample."""

    def __init__(self, program: Program, kind: Kind, layouts: tuple[str, ...], near: frozenset[int]):
        super().__init__(program.trace.nodes, kind, self.load, near)
        self.program, self.layouts = program, layouts
        self.number = {x.name: j for j, x in enumerate(program.inputs)}
        self.here = {j: f"%here{j}" for j in range(len(layouts))}  # where each argument's sample begins
        self.known: dict[tuple[str, int], str] = {}  # entries of inputs that are not in memory

    def place(self, j: int, index: int) -> str:
        offset = str(index) if self.layouts[j] == "rows" else self.let(f"mul i64 %s{j}, {index}")
        return self.let(f"getelementptr {self.kind.dtype}, {GLOBAL} {self.here[j]}, i64 {offset}")

    def load(self, argument: str, index: int) -> str:
        if (argument, index) in self.known:
            return self.known[argument, index]
        pointer = self.place(self.number[argument], index)
        return self.let(f"load {self.kind.dtype}, {GLOBAL} {pointer}, align {self.kind.bytes}")

    def store(self, value: str, pointer: str, space: str = GLOBAL) -> None:
        self.do(f"store {self.kind.dtype} {value}, {space} {pointer}, align {self.kind.bytes}")

    def head(self, sample: str) -> None:
        """Where each argument has this sample."""
        for j, layout in enumerate(self.layouts):
            step = self.let(f"mul i64 {sample}, %s{j}") if layout == "rows" else sample
            self.do(f"%here{j} = getelementptr {self.kind.dtype}, {GLOBAL} %a{j}, i64 {step}")

    def large(self, near: frozenset[int]) -> str:
        """Is any of these angles too large?"""
        angles = [self.load(*self.program.trace.nodes[i][1:]) for i in sorted(near)]
        return self.beyond(angles, LIMIT[self.kind.dtype])

    def beyond(self, numbers: Iterable[str], limit: float) -> str:
        """Is any number larger than a limit?"""
        let, T, found = self.let, self.kind.dtype, ""
        for x in numbers:
            size = let(f"call {T} @llvm.fabs.{self.kind.mangled}({T} {x})")
            larger = let(f"fcmp ogt {T} {size}, {self.kind.constant(limit)}")
            found = let(f"or i1 {found}, {larger}") if found else larger
        return found

    def write_all(self, order: list[int], stores: Mapping[int, list[Callable]]) -> None:
        """The instructions of all nodes in order; `stores` has those that write results, by the node they follow."""
        results = [ref for output in self.program.outputs for ref in output.refs]

        def then(i):
            for write in stores.get(i, ()):
                write()

        self.run(order, uses_of(self.program.trace.nodes, order, results), then)

    def stores(self, order: list[int], staged: list[int]) -> dict[int, list[Callable]]:
        """Which results are written after which node. Entries of a matrix larger than the registers are written as soon as
        each is computed, all others at the end, because a vector may be written over an input."""
        stores: dict[int, list[Callable]] = defaultdict(list)
        for j, output in enumerate(self.program.outputs, len(self.program.inputs)):
            if j in staged:
                for start in (*range(0, output.size - STAGED, STAGED), output.size - STAGED):  # the last may write some again
                    stores[order[-1]].append(partial(self._together, j, start, output.refs[start : start + STAGED]))
                continue
            soon = len(output.shape) > 1 and output.size > REGISTERS[self.kind.dtype]
            for k, ref in enumerate(output.refs):
                stores[abs(ref) if soon else order[-1]].append(partial(self._alone, j, k, ref))
        return stores

    def _alone(self, j: int, index: int, ref: int) -> None:
        self.store(self.value(ref), self.place(j, index))

    def _together(self, j: int, start: int, refs) -> None:
        """Entries of a result through shared memory, so that neighbours in memory are written by neighbouring threads."""
        let, T = self.let, self.kind.dtype
        barrier = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
        self.do(barrier)
        for k, ref in enumerate(refs):
            at = let(f"add i64 %thread64, {k * (THREADS + 1)}")
            self.store(self.value(ref), let(f"getelementptr {T}, {SHARED} @stage, i64 {at}"), SHARED)
        self.do(barrier)
        entry = let(f"and i64 %thread64, {STAGED - 1}")
        sample = let(f"lshr i64 %thread64, {STAGED.bit_length() - 1}")
        from_row, column = let(f"mul i64 {entry}, {THREADS + 1}"), let(f"add i64 {entry}, {start}")
        per = THREADS // STAGED
        for turn in range(STAGED):
            s = let(f"add i64 {sample}, {turn * per}")
            source = let(f"getelementptr {T}, {SHARED} @stage, i64 {let(f'add i64 {from_row}, {s}')}")
            value = let(f"load {T}, {SHARED} {source}, align {self.kind.bytes}")
            row = let(f"call i64 @llvm.smin.i64(i64 {let(f'add i64 %first, {s}')}, i64 %last)")  # beyond: the last again
            offset = let(f"add i64 {let(f'mul i64 {row}, %s{j}')}, {column}")
            self.store(value, let(f"getelementptr {T}, {GLOBAL} %a{j}, i64 {offset}"))


@cache
def _machine(chip: str):
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu=chip, opt=3)


@interruptible
def ptx(text: str, chip: str) -> str:
    """The assembly of a module for a chip such as sm_90."""
    with LLVM_LOCK:
        machine = _machine(chip)
        module = llvm.parse_assembly(text)
        module.verify()
        return machine.emit_assembly(optimized(module, machine))
