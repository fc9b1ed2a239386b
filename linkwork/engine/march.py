"""A march: a kernel run step after step with its results fed back, the loop over time being part of the compiled code.

The kernel is of (states..., streams..., constants...) and returns the new states, entry for entry like the old. A stream
has a value for each step; the constants stay. A vector of samples stays in its lanes for all steps.
"""

import ctypes
from math import prod

import numpy as np

from . import cache, compiler
from .gufunc import LoopData
from .kernel import LLVM_NAMES, Kernel
from .llvm import Kind
from .notice import announced
from .program import Program
from .samples import FedBack

LEAST = 64  # samples that make a thread worth starting


class MarchRange(FedBack):
    """@range for a march. After the strides that NumPy would pass, `steps` holds the bytes from one step to the next of each
    stream, the bytes from one kept row to the next of each state, the number of steps, and after how many steps a row is kept."""

    def __init__(self, program: Program, wide: Kind, streams: int):
        super().__init__(program, wide)
        self.states = len(program.outputs)
        self.streamed = range(self.states, self.states + streams)

    def _prepare(self) -> None:
        t = self.t
        at = len(self.arguments) + sum(len(x.shape) for x in self.arguments)
        numbers = [t.element("%steps", at + j) for j in range(len(self.streamed) + self.states + 2)]
        self.anew = dict(zip(self.streamed, numbers))
        *self.onward, self.count, self.every = numbers[len(self.streamed) :]

    def _group(self, sample: str, count: str, full: bool) -> None:
        t, lanes, n_in = self.t, self._lanes(), len(self.program.inputs)
        for j in (j for j in range(n_in) if j not in self.anew):
            self._move("pack", j, lanes[j], sample, count, full)
        with t.loop(self.count) as step:
            for j, bytes_on in self.anew.items():
                self._move("pack", j, lanes[j], sample, count, full, t.times(step, bytes_on))
            self._call("wide", lanes)
            done = t.plus(step, 1)
            row = t.let(f"sdiv i64 {done}, {self.every}")
            kept = t.let(f"icmp eq i64 {t.times(row, self.every)}, {done}")
            for j in range(self.states):
                new, size = lanes[n_in + j], self.arguments[j].size * self.wide.width * self.wide.bytes
                t.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {lanes[j]}, ptr {new}, i64 {size}, i1 false)")
            with t.when(kept):
                for j in range(self.states):
                    self._move("unpack", n_in + j, lanes[n_in + j], sample, count, full, t.times(row, self.onward[j]))


class March:
    """The compiled march of a kernel for one dtype."""

    def __init__(self, kernel: Kernel, kind: str, streams: int):
        self.inputs, self.streams = kernel.inputs, streams
        with announced(kernel.name):
            self._code, self._data = compiler.Code(self._compiled(kernel, LLVM_NAMES[kind]), "loop"), LoopData()
        self._run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(self._code.addresses[0])

    def _compiled(self, kernel: Kernel, dtype: str) -> bytes:
        """The compiled loop, from the cache on disk or newly made."""
        streams = self.streams
        made_from = "march", kernel.name, kernel.inputs, streams, dtype, compiler.identity(), cache.source_digest()
        text = None
        if kernel.content is None:
            text = self._text(kernel, dtype)
        name = cache.key(text or kernel.content, *made_from)
        found = cache.get(name)
        if found is not None:
            return found[1]
        code = compiler.compiled(text or self._text(kernel, dtype))
        cache.put(name, {"name": f"{kernel.name} march", "dtype": dtype}, code)
        return code

    def _text(self, kernel: Kernel, dtype: str) -> str:
        program = kernel.program
        assert isinstance(program, Program)  # rolled kernels have no march
        return compiler.fed_back_text(program, dtype, lambda p, wide: MarchRange(p, wide, self.streams), LEAST)

    def __call__(self, arrays: list[np.ndarray], kept: list[np.ndarray], steps: int, every: int, backwards: bool = False) -> None:
        """Inputs as (batch..., shape...), streams as (batch..., steps, shape...); the states go to rows 1, 2 ... of `kept`,
        (rows, batch..., shape...). Backwards, streams are read from their last step to the first, and the states go to the last
        row, the last but one ..."""
        batch = kept[0].shape[1 : kept[0].ndim - len(self.inputs[0].shape)]
        count = prod(batch)
        arrays = [x.reshape(count, *x.shape[len(batch) :]) for x in arrays]
        kept = [x.reshape(len(x), count, *x.shape[1 + len(batch) :], copy=False) for x in kept]
        streamed = range(len(kept), len(kept) + self.streams)
        cores = [x.strides[2 if j in streamed else 1 :] for j, x in enumerate(arrays)] + [x.strides[2:] for x in kept]
        outer = [x.strides[0] for x in arrays] + [x.strides[1] for x in kept]
        onward = [*(arrays[j].strides[1] for j in streamed), *(x.strides[0] for x in kept)]
        starts = [x.ctypes.data for x in (*arrays, *kept)]
        if backwards:
            for j, bytes_on in zip((*streamed, *range(len(arrays), len(starts))), onward):
                starts[j] += bytes_on * (len(kept[j - len(arrays)]) if j >= len(arrays) else steps - 1)
            onward = [-bytes_on for bytes_on in onward]
        numbers = [*outer, *(s for core in cores for s in core), *onward, steps, every]
        pointers = (ctypes.c_void_p * len(starts))(*starts)
        self._run(pointers, (ctypes.c_int64 * 1)(count), (ctypes.c_int64 * len(numbers))(*numbers), self._data.address)
