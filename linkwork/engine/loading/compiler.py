"""Compile LLVM IR text to machine code for this computer, and load machine code as functions that can be called."""

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, wraps
from queue import Empty, Queue

import llvmlite.binding as llvm

from ..tracing.program import Program
from ..tracing.rolled_program import RolledProgram
from ..writers import assembly, driver, pieces, rolled_llvm, straight
from ..writers.llvm import Kind, calls, library, needed_functions
from ..writers.processor import forced_width, writes_assembly
from . import call
from .samples import Overlapped, Range

WIDE = ' "prefer-vector-width"="512" "min-legal-vector-width"="512"'
INLINED = 64  # calls of elementary functions that are written in place; of more, each is a call, which compiles in a tenth of the time
LLVM_LOCK = threading.RLock()  # LLVM is entered by one thread at a time


@cache
def target():
    """The machine of this computer: its target machine, and how many bytes a vector register holds."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    features = llvm.get_host_cpu_features()
    return _machine(), 8 * forced_width() or (64 if features.get("avx512f") else 32 if features.get("avx") else 16)


def _machine():
    features = llvm.get_host_cpu_features().flatten()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=1, reloc="pic", codemodel="jitdefault", jit=True
    )


def identity() -> str:
    """The processor and the version of LLVM, on which compiled code depends besides its text."""
    version = ".".join(map(str, llvm.llvm_version_info))
    forced = f"{forced_width()} {writes_assembly()}"
    return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()} {version} {forced}"


def module_text(program: Program | RolledProgram, dtype: str) -> str:
    """The whole module of a gufunc: the kernel for one sample and for a vector of them, and the loop around both."""
    wide, one = kinds(dtype)
    kernels = [_kernel(program, wide, "wide", once=True), _kernel(program, one, "one")]
    samples = Overlapped if isinstance(program, Program) and assembly.overlaps(program, wide) else Range
    quick = call.DECLARATIONS + call.text(program, one)
    return _module(program, wide, one, [*kernels, samples(program, wide).text(), quick], driver.LEAST)


def calls_text(programs: Sequence[Program], places: Sequence[tuple[int, int] | None], dtype: str) -> str:
    """The module of some programs for one sample, which Python calls: @call0, @call1 ..., each with its loop (call.py). Each returns one
    array; what else it makes goes to a place in one of its inputs."""
    _, one = kinds(dtype)
    text = [_library(programs, (one,)), driver.DECLARATIONS, call.DECLARATIONS]
    for k, (program, place) in enumerate(zip(programs, places)):
        text += [straight.functions(program, one, f"part{k}", WIDE)]
        text += [call.loop_of_one(program, one, str(k), pieces.workspace(program), place)]
        text += [call.text(replace(program, outputs=program.outputs[:1]), one, str(k))]
        straight.forget(program)
    return "".join(text)


def fed_back_text(program: Program | RolledProgram, dtype: str, samples: Callable, least: int, lanes: bool = True) -> str:
    """The module of a kernel whose results are fed back: the kernel over lanes, and the loops around it. Without `lanes` there is one,
    for a single sample."""
    wide, one = kinds(dtype)
    wide = wide if lanes else one
    return _module(program, wide, one, [_kernel(program, wide, "wide"), samples(program, wide).text()], least)


def _kernel(program: Program | RolledProgram, kind: Kind, name: str, **options) -> str:
    if isinstance(program, RolledProgram):
        return rolled_llvm.function(program, kind, name, WIDE)
    return straight.functions(program, kind, name, WIDE, **options)


def kinds(dtype: str) -> tuple[Kind, Kind]:
    _, register = target()
    return Kind(dtype, register // (8 if dtype == "double" else 4)), Kind(dtype, 1)


def _module(program, wide: Kind, one: Kind, kernels: list[str], least: int) -> str:
    machine, _ = target()
    x86 = machine.triple.startswith(("x86_64", "i686"))
    called = _library([program], dict.fromkeys((wide, one)))
    if isinstance(program, Program):
        straight.forget(program)
    return "".join([called, driver.DECLARATIONS, driver.FLAGS[x86], *kernels, driver.job(), driver.split(), driver.loop(x86, least)])


def _library(programs: Sequence[Program | RolledProgram], kinds: Iterable[Kind]) -> str:
    """What some programs call."""
    text = library(set().union(*map(needed_functions, programs)), kinds)
    return text.replace("alwaysinline", "noinline" + WIDE) if sum(map(calls, programs)) > INLINED else text


def interruptible(work: Callable) -> Callable:
    """Let Ctrl-C interrupt the wait for a function that enters LLVM.

    Python answers Ctrl-C in its main thread, between two instructions. So LLVM works in another thread while the main thread waits;
    what has been interrupted there is finished and forgotten, before the process ends at the latest.
    """

    @wraps(work)
    def waited(*arguments):
        if threading.current_thread() is not threading.main_thread():
            return work(*arguments)
        results: Queue = Queue()

        def run():
            try:
                results.put((work(*arguments), None))
            except BaseException as error:
                results.put((None, error))

        threading.Thread(target=run, name="linkwork compiles").start()
        while True:
            try:
                result, error = results.get(timeout=0.5)  # where a wait cannot be interrupted, it ends by itself
                break
            except Empty:
                continue
        if error is not None:
            raise error
        return result

    return waited


@interruptible
def compiled(text: str) -> bytes:
    """Machine code of a module, as an object file."""
    with LLVM_LOCK:
        machine, _ = target()
        return machine.emit_object(optimized(llvm.parse_assembly(text), machine))


def optimized(module, machine):
    """The module after the few passes that pay: calls written in place, values in registers, shorter expressions."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1)))
    return module


_unused: list = []  # loaded code that nothing runs any more, to be freed by the next that enters LLVM


class Code:
    """Machine code in memory: the addresses of some of its functions, 0 for one that it does not contain.

    It is freed when this object is, so whatever may call the code must hold it.
    """

    _engine = None  # where making one failed

    def __init__(self, code: bytes, *symbols: str):
        with LLVM_LOCK:
            _free_unused()
            target()
            self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())  # the engine frees its machine too
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self._engine.finalize_object()
            self.addresses = [self._engine.get_function_address(symbol) for symbol in symbols]

    def __del__(self, unused=_unused):
        if self._engine is not None:
            unused.append(self._engine)


def _free_unused() -> None:
    while _unused:
        _unused.pop().close()
