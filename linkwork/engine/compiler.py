"""Compile LLVM IR text to machine code for this computer, and load machine code as functions that can be called."""

import threading
from collections.abc import Callable
from functools import cache

import llvmlite.binding as llvm

from . import call, driver, functions, rolled_llvm
from .llvm import Kind, Writer, intrinsics, needed_functions, plain_angles, uses_of
from .program import Program
from .rolled_program import RolledProgram
from .samples import Range

WIDE = ' "prefer-vector-width"="512" "min-legal-vector-width"="512"'
LLVM_LOCK = threading.RLock()  # LLVM is entered by one thread at a time


@cache
def target():
    """The machine of this computer: its target machine, and how many bytes a vector register holds."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features.flatten(), opt=2, reloc="pic", codemodel="jitdefault", jit=True
    )
    return machine, 64 if features.get("avx512f") else 32 if features.get("avx") else 16


def identity() -> str:
    """The processor and the version of LLVM, on which compiled code depends besides its text."""
    version = ".".join(map(str, llvm.llvm_version_info))
    return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()} {version}"


def straight(program: Program, kind: Kind, name: str, any_angle: bool = False, once: bool = False) -> str:
    """The function @name(inputs..., outputs...) of a program, all arguments in lanes; with `once`, an entry that occurs several
    times in a result is written once."""
    V, size = kind.vector, kind.bytes * kind.width
    n_in = len(program.inputs)
    number = {x.name: j for j, x in enumerate(program.inputs)}
    align = size if kind.width > 1 else kind.bytes

    def load(emit, argument, index):
        pointer = emit(f"getelementptr i8, ptr %a{number[argument]}, i64 {index * size}")
        return emit(f"load {V}, ptr {pointer}, align {align}")

    nodes = program.trace.nodes
    near = plain_angles(program) if kind.width > 1 and not any_angle else frozenset[int]()  # @range leaves large angles to width 1
    writer = Writer(nodes, kind, load, near)
    results = [ref for output in program.outputs for ref in output.refs]
    writer.run(program.live, uses_of(nodes, program.live, results))
    for n, output in enumerate(program.outputs):
        for j, ref in enumerate(output.distinct if once else output.refs):
            value = writer.at(ref)
            pointer = writer.emit(f"getelementptr i8, ptr %a{n_in + n}, i64 {j * size}")
            writer.lines.append(f"store {V} {value}, ptr {pointer}, align {align}")
    arguments = ", ".join(f"{kind.pointer} %a{j}" for j in range(n_in + len(program.outputs)))
    head = f"define internal void @{name}({arguments}, ptr %work, ptr %data) noinline nounwind{WIDE}"
    return head + " {\n" + "\n".join([*writer.lines, "ret void", "}"]) + "\n"


def kernel(program: Program | RolledProgram, kind: Kind, name: str) -> str:
    if isinstance(program, RolledProgram):
        return rolled_llvm.function(program, kind, name, WIDE)
    return straight(program, kind, name, once=kind.width > 1)


def module_text(program: Program | RolledProgram, dtype: str) -> str:
    """The whole module of a gufunc: the kernel for one sample and for a vector of them, and the loop around both."""
    wide, one = _kinds(dtype)
    kernels = [kernel(program, wide, "wide"), kernel(program, one, "one")]
    return _module(program, wide, one, {"sincos_near"}, [*kernels, Range(program, wide).text(), call.text(program, one)], driver.LEAST)


def march_text(program: Program, dtype: str, samples: Callable, least: int) -> str:
    """The module of a march: the kernel over lanes, able to take any angle, and the loops over time and samples."""
    wide, one = _kinds(dtype)
    return _module(program, wide, one, set(), [straight(program, wide, "wide", any_angle=True), samples(program, wide).text()], least)


def _kinds(dtype: str) -> tuple[Kind, Kind]:
    _, register = target()
    return Kind(dtype, register // (8 if dtype == "double" else 4)), Kind(dtype, 1)


def _module(program, wide: Kind, one: Kind, more: set[str], kernels: list[str], least: int) -> str:
    machine, _ = target()
    x86 = machine.triple.startswith(("x86_64", "i686"))
    names = sorted(needed_functions(program) | more)
    library = functions.library([(f, kind.dtype, kind.width) for f in names for kind in (wide, one)])
    declared = {k: v for kind in (wide, one) for k, v in intrinsics(kind).items() if v not in library}
    return "".join(
        [
            library,
            *declared.values(),
            driver.DECLARATIONS,
            driver.FLAGS[x86],
            *kernels,
            driver.JOB,
            driver.split(),
            driver.loop(x86, least),
        ]
    )


def compiled(text: str) -> bytes:
    """Machine code of a module, as an object file."""
    with LLVM_LOCK:
        machine, _ = target()
        module = llvm.parse_assembly(text)
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
        passes.run(module, builder)
        return machine.emit_object(module)


_alive: list = []  # loaded code is never freed: NumPy holds pointers to it


def loaded(code: bytes, *symbols: str) -> list[int]:
    """The addresses of functions in an object file; 0 for a function that it does not contain."""
    with LLVM_LOCK:
        machine, _ = target()
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        _alive.append((engine, machine))
        return [engine.get_function_address(symbol) for symbol in symbols]
