"""Kernels as functions that XLA calls (its foreign function interface): a handler reads XLA's call frame and enters the kernel.

A handler is a few lines of LLVM IR made for one kernel in this process. It takes any leading axes: an argument has as many samples as the
first result, or one that serves all. Offsets are those of xla/ffi/api/c_api.h, whose layout XLA keeps within a major version.
"""

import ctypes
from collections.abc import Sequence
from math import prod

import numpy as np

from ..loading import cache, compiler, cuda
from ..loading.cuda import DeviceError
from ..loading.kernel import LLVM_NAMES, Kernel
from ..tracing.program import Program
from ..writers.llvm_text import Text
from . import ptx
from .device import loaded

MAJOR, MINOR = 0, 1  # of the interface; what is used here is in its first version
EXTENSION, API, CONTEXT, ARGUMENTS, RESULTS = 8, 16, 24, 72, 112  # bytes in XLA_FFI_CallFrame
TYPE, METADATA, VERSION, TRAITS = 8, 24, 24, 32  # in XLA_FFI_Metadata_Extension and XLA_FFI_Metadata
DATA, RANK, SIZES = 24, 32, 40  # in XLA_FFI_Buffer
STREAM_GET, STREAM = 80, 24  # in XLA_FFI_Api, and in XLA_FFI_Stream_Get_Args, of STREAM_ARGS bytes
STREAM_ARGS = 32
ERROR_CREATE, ERROR_ARGS, INTERNAL = 48, 28, 13  # in XLA_FFI_Api; bytes of XLA_FFI_Error_Create_Args; an error code
REPEATABLE = 1  # XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE

_held: list = []  # XLA keeps pointers to handlers until the process ends


def cpu(kernel: Kernel, kind: str) -> tuple[str, object]:
    """A name that no other kernel has, in any process, and a capsule with the handler."""
    entry, size = kernel.entry(kind), np.dtype(kind).itemsize
    t, cores = Text(), [x.shape for x in kernel.inputs] + entry.outputs
    pointers, steps, count = _arguments(t, len(kernel.inputs), cores)
    inner = [size * s for core in cores for s in np.empty(core, np.int8).strides]
    args, dims, outer = t.room(f"[{len(cores)} x ptr]"), t.room("i64"), t.room(f"[{len(cores) + len(inner)} x i64]")
    for j, (pointer, step) in enumerate(zip(pointers, steps)):
        t.do(f"store ptr {pointer}, ptr {t.at(args, str(8 * j))}")
        t.do(f"store i64 {t.times(step, size)}, ptr {t.at(outer, str(8 * j))}")
    for j, step in enumerate(inner, len(cores)):
        t.do(f"store i64 {step}, ptr {t.at(outer, str(8 * j))}")
    t.do(f"store i64 {count}, ptr {dims}")
    loop, data = (t.let(f"inttoptr i64 {x} to ptr") for x in (entry.loop, entry.data))
    t.do(f"call void {loop}(ptr {args}, ptr {dims}, ptr {outer}, ptr {data})")
    return f"linkwork_{kernel.name}_{entry.key[:32]}_{kind}", _capsule(t, entry.held)


def gpu(kernel: Kernel, kind: str) -> tuple[str, object]:
    """The same for the first GPU: the handler launches the kernel on XLA's stream."""
    program, dtype = kernel.program, LLVM_NAMES[kind]
    if not isinstance(program, Program):
        raise DeviceError(f"a rolled {kernel.name} is not for XLA on a GPU: use Dynamics(model, rolled=False).")
    cuda.enter(0)
    text, flag = ptx.text(program, dtype, ("rows",) * (len(program.inputs) + len(program.outputs))), cuda.flag()
    functions = loaded(kernel, ("XLA",), lambda program: text, dtype, 0)
    t, cores = Text(), [x.shape for x in program.inputs] + [x.shape for x in program.outputs]
    pointers, steps, count = _arguments(t, len(program.inputs), cores)
    stream = _stream(t)
    given = [count, str(flag), *(x for pair in zip((t.let(f"ptrtoint ptr {p} to i64") for p in pointers), steps) for x in pair)]
    values, places = t.room(f"[{len(given)} x i64]"), t.room(f"[{len(given)} x ptr]")
    for j, value in enumerate(given):
        t.do(f"store i64 {value}, ptr {t.at(values, str(8 * j))}")
        t.do(f"store ptr {t.at(values, str(8 * j))}, ptr {t.at(places, str(8 * j))}")
    launch = t.let(f"inttoptr i64 {cuda.launcher()} to ptr")
    with t.when(t.let(f"icmp sgt i64 {count}, 0")):
        for function, most in zip(functions, ((1 << 31) - 1, ptx.FAR_BLOCKS)):
            blocks = t.let(f"udiv i64 {t.plus(count, ptx.THREADS - 1)}, {ptx.THREADS}")
            blocks = t.let(f"trunc i64 {t.let(f'call i64 @llvm.smin.i64(i64 {blocks}, i64 {most})')} to i32")
            handle = t.let(f"inttoptr i64 {function.handle} to ptr")
            sizes = f"i32 {blocks}, i32 1, i32 1, i32 {ptx.THREADS}, i32 1, i32 1, i32 0"
            code = t.let(f"call i32 {launch}(ptr {handle}, {sizes}, ptr {stream}, ptr {places}, ptr null)")
            with t.when(t.let(f"icmp ne i32 {code}, 0")):
                _fail(t)
    name = f"linkwork_{kernel.name}_{cache.key(text)[:32]}_{kind}"
    said = f"{kernel.name} could not be launched; kernels of linkwork run on the first GPU."
    return name, _capsule(t, functions, traits=REPEATABLE, said=said)


def _stream(t: Text) -> str:
    """The stream on which XLA works."""
    args = t.room(f"[{STREAM_ARGS} x i8], align 8")
    for offset, value in ((0, f"i64 {STREAM_ARGS}"), (8, "ptr null"), (16, f"ptr {t.word('%frame', CONTEXT)}"), (STREAM, "ptr null")):
        t.do(f"store {value}, ptr {t.at(args, str(offset))}")
    t.let(f"call ptr {t.word(t.word('%frame', API), STREAM_GET)}(ptr {args})")
    return t.word(args, STREAM)


def _fail(t: Text) -> None:
    """Return an error with the text @said."""
    args = t.room(f"[{ERROR_ARGS + 4} x i8], align 8")
    for offset, value in ((0, f"i64 {ERROR_ARGS}"), (8, "ptr null"), (16, "ptr @said"), (24, f"i32 {INTERNAL}")):
        t.do(f"store {value}, ptr {t.at(args, str(offset))}")
    create = t.word(t.word("%frame", API), ERROR_CREATE)
    t.do(f"ret ptr {t.let(f'call ptr {create}(ptr {args})')}")
    t.do(f"{t.name('never')}:")


def _arguments(t: Text, inputs: int, cores: Sequence[tuple[int, ...]]):
    """Pointers to the buffers, numbers from sample to sample, and the number of samples."""
    buffers = [t.word(t.word("%frame", ARGUMENTS), 8 * j) for j in range(inputs)]
    buffers += [t.word(t.word("%frame", RESULTS), 8 * j) for j in range(len(cores) - inputs)]
    counts = [_samples(t, buffer, len(core)) for buffer, core in zip(buffers, cores)]
    count, steps = counts[inputs], []
    for own, core in zip(counts, cores):
        steps.append(t.let(f"select i1 {t.let(f'icmp eq i64 {own}, {count}')}, i64 {prod(core)}, i64 0"))
    return [t.word(buffer, DATA) for buffer in buffers], steps, count


def _samples(t: Text, buffer: str, core: int) -> str:
    """The product of the leading sizes."""
    rank, sizes, total = t.word(buffer, RANK, "i64"), t.word(buffer, SIZES), t.room("i64")
    t.do(f"store i64 1, ptr {total}")
    with t.loop(t.let(f"sub i64 {rank}, {core}")) as i:
        size = t.let(f"load i64, ptr {t.at(sizes, t.times(i, 8))}")
        t.do(f"store i64 {t.times(t.let(f'load i64, ptr {total}'), size)}, ptr {total}")
    return t.let(f"load i64, ptr {total}")


def _capsule(t: Text, *held, traits: int = 0, said: str = ""):
    """The handler with this body, which first answers XLA's question for its version; `said` is the text of its error."""
    q = Text()
    extension = q.word("%frame", EXTENSION)
    q.do(f"%asked = icmp ne ptr {extension}, null\nbr i1 %asked, label %question, label %run\nquestion:")
    q.do(f"%metadata = icmp eq i32 {q.word(extension, TYPE, 'i32')}, 1\nbr i1 %metadata, label %answer, label %run\nanswer:")
    metadata = q.word(extension, METADATA)
    for offset, value in ((VERSION, MAJOR), (VERSION + 4, MINOR), (TRAITS, traits)):
        q.do(f"store i32 {value}, ptr {q.at(metadata, str(offset))}")
    lines = [*t.entry, *(x.replace("%v", "%q") for x in q.lines), "ret ptr null\nrun:", *t.lines]
    told = said.encode("ascii", "replace")
    text = "declare i64 @llvm.smin.i64(i64, i64)\n@said = private constant [" + f'{len(told) + 1} x i8] c"{told.decode()}\\00"\n'
    text += "define ptr @handler(ptr %frame) nounwind {\n" + "\n".join(lines) + "\nret ptr null\n}\n"
    code = compiler.Code(compiler.compiled(text), "handler")
    _held.append((code, held))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return new(code.addresses[0], None, None)
