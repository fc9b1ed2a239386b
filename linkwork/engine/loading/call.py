"""A call with little overhead for one sample: NumPy takes longer to find the loop of a gufunc than most kernels run.

It serves contiguous arrays of the gufunc's own dtype and core shapes, without keyword arguments: the loop is called directly,
on a new array. All other calls are passed on to the gufunc.
"""

import ctypes
import sysconfig
from collections.abc import Callable
from functools import cache

import numpy as np

from ..tracing.program import Program
from ..tracing.rolled_program import RolledProgram
from ..writers.llvm import Kind
from ..writers.llvm_text import Text
from .gufunc import NUMBERS, LoopData, numpy_table

NEW_ARRAY = 93  # PyArray_New in NumPy's ARRAY_API
FAST_WITH_NAMES = 0x80 | 0x02  # METH_FASTCALL | METH_KEYWORDS
TYPE, DATA, DIMENSIONS, SIZES, DTYPE, FLAGS = 8, 16, 24, 32, 56, 64  # where an array has what, in bytes
PLAIN = 0x1 | 0x100  # flags: contiguous as C has it, aligned

DECLARATIONS = """declare ptr @PyCapsule_GetPointer(ptr, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
"""


def possible(inputs, outputs) -> bool:
    """One result, and arrays on both sides: NumPy makes scalars of what has no core dimension."""
    return len(outputs) == 1 and all([*inputs, *outputs])


def text(program: Program | RolledProgram, kind: Kind, number: str = "") -> str:
    """@call(self, arguments, count, names), as Python calls C; self holds the gufunc, the loop's data, PyArray_New, the type
    of arrays and the dtype. Of several functions in one module each has a `number` in its name."""
    inputs, outputs = ([x.shape for x in side] for side in (program.inputs, program.outputs))
    if not possible(inputs, outputs):
        return ""
    t = Text()
    n, (shape,) = len(inputs), outputs
    what = t.let("call ptr @PyCapsule_GetPointer(ptr %self, ptr null)")
    gufunc, data, new, array_type, dtype = (t.word(what, 8 * k) for k in range(5))

    def must(condition: str) -> None:
        label = t.name("so")
        t.do(f"br i1 {t.let(condition)}, label %{label}, label %general\n{label}:")

    must("icmp eq ptr %names, null")
    must(f"icmp eq i64 %count, {n}")
    pointers, samples = t.room(f"[{n + 1} x ptr]"), t.room("i64")
    for j, core in enumerate(inputs):
        array = t.word("%given", 8 * j)
        must(f"icmp eq ptr {t.word(array, TYPE)}, {array_type}")
        must(f"icmp eq ptr {t.word(array, DTYPE)}, {dtype}")
        must(f"icmp eq i32 {t.word(array, DIMENSIONS, 'i32')}, {len(core)}")
        flags, sizes = t.word(array, FLAGS, "i32"), t.word(array, SIZES)
        must(f"icmp eq i32 {t.let(f'and i32 {flags}, {PLAIN}')}, {PLAIN}")
        for i, size in enumerate(core):
            must(f"icmp eq i64 {t.word(sizes, 8 * i, 'i64')}, {size}")
        t.do(f"store ptr {t.word(array, DATA)}, ptr {t.at(pointers, str(8 * j))}")
    wanted = f"ptr {array_type}, i32 {len(shape)}, ptr @sizes{number}, i32 {NUMBERS[kind.dtype]}"
    made = t.let(f"call ptr {new}({wanted}, ptr null, ptr null, i32 0, i32 0, ptr null)")
    t.do(f"br i1 {t.let(f'icmp eq ptr {made}, null')}, label %end, label %run\nrun:")
    t.do(f"store ptr {t.word(made, DATA)}, ptr {t.at(pointers, str(8 * n))}")
    t.do(f"store i64 1, ptr {samples}")
    t.do(f"call void @loop{number}(ptr {pointers}, ptr {samples}, ptr @steps{number}, ptr {data})")
    t.do(f"br label %end\nend:\nret ptr {made}\ngeneral:")
    t.do(f"ret ptr {t.let(f'call ptr @PyObject_Vectorcall(ptr {gufunc}, ptr %given, i64 %count, ptr %names)')}")
    cores = [np.empty(core, np.int8).strides for core in [*inputs, *outputs]]
    steps = [0] * (n + 1) + [kind.bytes * s for core in cores for s in core]
    head = f"define ptr @call{number}(ptr %self, ptr %given, i64 %count, ptr %names) nounwind {{"
    constants = _constant(f"sizes{number}", shape), _constant(f"steps{number}", steps)
    return "\n".join([*constants, head, *t.entry, *t.lines, "}\n"])


def loop_of_one(program: Program, kind: Kind, number: str, workspace: int, place: tuple[int, int] | None) -> str:
    """@loop(args, dims, steps, data) for one sample, whose kernel is @part; both have a number in their names. Its last results go to a
    place in one of its inputs, given by its number and that of an entry, if there is one; else they are all in args."""
    t, count, work = Text(), len(program.inputs) + len(program.outputs) - (place is not None), "null"
    pointers = [t.word("%args", 8 * j) for j in range(count)]
    if place is not None:
        pointers.append(t.at(pointers[place[0]], str(place[1] * kind.bytes)))
    if workspace:
        raw = t.let(f"call ptr @malloc(i64 {workspace * kind.bytes + 64})")
        work = t.let(f"call ptr @llvm.ptrmask.p0.i64(ptr {t.at(raw, '63')}, i64 -64)")
    t.do(f"call void @part{number}({', '.join(f'ptr {x}' for x in (*pointers, work, '%data'))})")
    if workspace:
        t.do(f"call void @free(ptr {raw})")
    return t.function(f"loop{number}(ptr %args, ptr %dims, ptr %steps, ptr %data) nounwind").replace("define internal", "define")


def _constant(name: str, numbers) -> str:
    return f"@{name} = private constant [{len(numbers)} x i64] [{', '.join(f'i64 {x}' for x in numbers)}]"


class Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


def call(gufunc: Callable, address: int, data: LoopData, dtype: str):
    """The function at @call, which passes on to its gufunc, or to another function, what it does not serve. It holds that, which holds the
    code."""
    kind = np.dtype({"double": "d", "float": "f"}[dtype])
    words = id(gufunc), data.address, numpy_table("_ARRAY_API")[NEW_ARRAY], id(np.ndarray), id(kind)
    what = (ctypes.c_void_p * len(words))(*words)
    method = Method(gufunc.__name__.encode(), address, FAST_WITH_NAMES, b"A kernel of linkwork.")
    capsule, function = ctypes.pythonapi.PyCapsule_New, ctypes.pythonapi.PyCFunction_NewEx
    capsule.restype = function.restype = ctypes.py_object
    capsule.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
    function.argtypes = ctypes.c_void_p, ctypes.py_object, ctypes.py_object
    held = gufunc, kind, what, method  # in the place of its module, the one object besides self that such a function holds
    return function(ctypes.addressof(method), capsule(ctypes.addressof(what), None, None), held)


@cache
def arrays_are_as_known() -> bool:
    """Does this Python lay out arrays as described above? Builds without a global lock do not."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    x = np.zeros((2, 3))
    word = lambda offset, kind=ctypes.c_void_p: kind.from_address(id(x) + offset).value
    found = word(TYPE), word(DATA), word(DIMENSIONS, ctypes.c_int32), word(DTYPE), word(FLAGS, ctypes.c_int32)
    sizes = (ctypes.c_int64 * 2).from_address(word(SIZES))
    return found == (id(np.ndarray), x.ctypes.data, 2, id(x.dtype), x.flags.num) and tuple(sizes) == (2, 3)
