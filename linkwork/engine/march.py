"""A kernel run step after step, its results fed back: the loop over time inside the compiled code.

The kernel is of (state..., given, constants...) and returns the new state, entry for entry like the old. `given` comes
anew for each step; the constants stay. A vector of samples stays in its lanes for all steps.
"""

import ctypes

import numpy as np

from . import cache, compiler
from .gufunc import _threads
from .kernel import LLVM_NAMES, Kernel
from .llvm import Kind
from .program import Output, Program
from .samples import Range, aligned

LEAST = 64  # samples that make a thread worth starting


class MarchRange(Range):
    """@range for a march: after the steps NumPy would pass come, in `steps`, the bytes from one step's given to the next,
    from one kept row of each state to the next, how many steps there are, and each how many are kept."""

    def __init__(self, program: Program, wide: Kind, states: int):
        super().__init__(program, wide)
        self.states = states

    def _repeated(self) -> dict[int, Output]:
        return {}  # a new state lies in lanes like the old

    def text(self) -> str:
        t = self.t
        self._look_at_arguments()
        at = len(self.arguments) + sum(len(x.shape) for x in self.arguments)
        self.given = t.element("%steps", at)
        self.rows = [t.element("%steps", at + 1 + j) for j in range(self.states)]
        self.count, self.every = t.element("%steps", at + 1 + self.states), t.element("%steps", at + 2 + self.states)
        w = self.wide.width
        raw = t.let(f"call ptr @malloc(i64 {self.room + 64})")
        self.buffer, self.work = aligned(t, raw), "null"
        whole = t.let(f"and i64 %count, {-w}")
        with t.loop(whole, step=str(w)) as i:
            self._march(i, str(w), full=True)
        rest = t.let(f"sub i64 %count, {whole}")
        with t.when(t.let(f"icmp sgt i64 {rest}, 0")):
            self._march(whole, rest, full=False)
        t.do(f"call void @free(ptr {raw})")
        return self._whole()

    def _march(self, sample: str, count: str, full: bool) -> None:
        t, lanes, n_in = self.t, self._lanes(), len(self.program.inputs)
        for j in (j for j in range(n_in) if j != self.states):
            self._move("pack", j, lanes[j], sample, count, full)
        with t.loop(self.count) as step:
            self._move("pack", self.states, lanes[self.states], sample, count, full, t.times(step, self.given))
            self._call("wide", lanes)
            done = t.plus(step, 1)
            row = t.let(f"sdiv i64 {done}, {self.every}")
            kept = t.let(f"icmp eq i64 {t.times(row, self.every)}, {done}")
            for j in range(self.states):
                new, size = lanes[n_in + j], self.arguments[j].size * self.wide.width * self.wide.bytes
                t.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {lanes[j]}, ptr {new}, i64 {size}, i1 false)")
            with t.when(kept):
                for j in range(self.states):
                    self._move("unpack", n_in + j, lanes[n_in + j], sample, count, full, t.times(row, self.rows[j]))


class March:
    """The compiled march of a kernel for one dtype."""

    def __init__(self, kernel: Kernel, kind: str, states: int):
        self.states, self.inputs, self.dtype = states, kernel.inputs, np.dtype(kind)
        dtype = LLVM_NAMES[kind]
        name = cache.key("march", kernel.content, kernel.name, kernel.inputs, dtype, compiler.identity(), cache.source_digest())
        found = cache.get(name)
        if found is None:
            program = kernel.program
            assert isinstance(program, Program)  # rolled kernels have no march
            code = compiler.compiled(compiler.march_text(program, dtype, lambda p, wide: MarchRange(p, wide, states), LEAST))
            cache.put(name, {"name": f"{kernel.name} march", "dtype": dtype}, code)
        else:
            code = found[1]
        self._run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(compiler.loaded(code, "loop")[0])
        self._data = (ctypes.c_void_p * 3)(ctypes.addressof(_threads), None, None)

    def __call__(self, arguments: list[np.ndarray], kept: list[np.ndarray], steps: int, every: int) -> None:
        """Inputs as (samples, ...) arrays, the given one as (samples, steps, ...); states go to rows 1, 2 ... of `kept`."""
        arrays = [*arguments, *kept]
        outer = [x.strides[0] for x in arguments] + [x.strides[1] for x in kept]
        cores = [x.strides[2:] if j == self.states else x.strides[1:] for j, x in enumerate(arguments)]
        cores += [x.strides[2:] for x in kept]
        tail = [arguments[self.states].strides[1], *(x.strides[0] for x in kept), steps, every]
        numbers = [*outer, *(s for core in cores for s in core), *tail]
        pointers = (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))
        dims, strides = (ctypes.c_int64 * 1)(len(arguments[0])), (ctypes.c_int64 * len(numbers))(*numbers)
        self._run(pointers, dims, strides, self._data)
