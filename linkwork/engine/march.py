"""A march: a kernel run step after step with its results fed back, the loop over time being part of the compiled code.

The kernel is of (states..., streams..., constants...) and returns the new states, entry for entry like the old. A stream
has a value for each step; the constants stay. A vector of samples stays in its lanes for all steps.
"""

import ctypes
from math import prod
from time import monotonic

import numpy as np

from . import compiler
from .compiled import compiled
from .gufunc import LoopData
from .kernel import LLVM_NAMES, Kernel
from .llvm import Kind
from .program import Program
from .samples import FedBack

LEAST = 64  # samples that make a thread worth starting
FIRST_PART = 4096  # steps of samples in the first part of a march
SECONDS = 0.2  # that later parts take


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
        dtype = LLVM_NAMES[kind]

        def text(program) -> str:
            assert isinstance(program, Program)  # rolled kernels have no march
            return compiler.fed_back_text(program, dtype, lambda p, wide: MarchRange(p, wide, streams), LEAST)

        made = compiled(kernel, ("march", streams), dtype, text)
        self._code, self._data = compiler.Code(made.code, "loop"), LoopData()
        self._run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(self._code.addresses[0])

    def __call__(self, arrays: list[np.ndarray], kept: list[np.ndarray], steps: int, every: int, backwards: bool = False) -> None:
        """Inputs as (batch..., shape...), streams as (batch..., steps, shape...); the states go to rows 1, 2 ... of `kept`,
        (rows, batch..., shape...). Backwards, streams are read from their last step to the first, and the states go to the last
        row, the last but one ...

        The march is made in parts that take SECONDS each, of some samples and steps, so that Ctrl-C is served between two."""
        batch = kept[0].shape[1 : kept[0].ndim - len(self.inputs[0].shape)]
        count, part, streamed = prod(batch), FIRST_PART, range(len(kept), len(kept) + self.streams)
        arrays = [x.reshape(count, *x.shape[len(batch) :]) for x in arrays]
        rows = [x.reshape(len(x), count, *x.shape[1 + len(batch) :], copy=False)[:: -1 if backwards else 1] for x in kept]
        rows = rows if backwards else [x[1:] for x in rows]
        for j in streamed if backwards else ():
            arrays[j] = arrays[j][:, :steps][:, ::-1]
        first = 0
        while first < count:
            some, done = slice(first, first + max(part // max(steps, 1), FIRST_PART)), 0
            here, to = [x[some] for x in arrays], [x[:, some] for x in rows]
            n = len(here[0])
            while done + every - done % every <= steps:  # after the last row there is nothing to keep
                began, most = monotonic(), max(part // n, 1)
                made = min(most, steps - done) // every * every if most >= every and not done % every else min(most, every - done % every)
                row, rest = divmod(done + made, every)
                out = [np.empty((1, *x.shape[1:]), x.dtype) for x in to] if rest else [x[min(done // every, row - 1) :] for x in to]
                streams = [here[j][:, done:] for j in streamed]
                self._part([*here[: len(to)], *streams, *here[streamed.stop :]], out, made, min(every, made))
                here[: len(to)] = [x[0] if rest else x[row - 1] for x in (out if rest else to)]
                done += made
                part = int(np.clip(made * n * SECONDS / max(monotonic() - began, 1e-9), part / 4, part * 4)) + 1
            first += n

    def _part(self, arrays: list[np.ndarray], rows: list[np.ndarray], steps: int, every: int) -> None:
        """Inputs as (samples, shape...), streams as (samples, steps, shape...); each n-th state goes to the next row of `rows`."""
        streamed = range(len(rows), len(rows) + self.streams)
        cores = [x.strides[2 if j in streamed else 1 :] for j, x in enumerate(arrays)] + [x.strides[2:] for x in rows]
        outer = [x.strides[0] for x in arrays] + [x.strides[1] for x in rows]
        onward = [*(arrays[j].strides[1] for j in streamed), *(x.strides[0] for x in rows)]
        starts = [*(x.ctypes.data for x in arrays), *(x.ctypes.data - x.strides[0] for x in rows)]  # the first row is number 1
        numbers = [*outer, *(s for core in cores for s in core), *onward, steps, every]
        pointers = (ctypes.c_void_p * len(starts))(*starts)
        self._run(pointers, (ctypes.c_int64 * 1)(len(arrays[0])), (ctypes.c_int64 * len(numbers))(*numbers), self._data.address)
