"""A segment: a kernel repeated on its own results, each sample as often as it asks, some of its results kept as rows.

The kernel is of (states..., constants...) and returns (new states..., entries..., keep, done): states entry for entry like the old;
entries of a row, which is kept where `keep` is not zero; `done` is not zero where the sample leaves. A sample leaves also when
it has as many rows as there is room for. Samples stay in lanes; a lane whose sample leaves takes the next one, so that samples that
need few rounds do not wait for those that need many. A sample's results do not depend on its lane, nor on those beside it.
"""

import ctypes

import numpy as np

from . import compiler
from .compiled import compiled
from .gufunc import LoopData
from .kernel import LLVM_NAMES, Kernel
from .llvm import Kind
from .program import Program
from .samples import Range, aligned

LEAST = 16  # samples that make a thread worth starting


class SegmentRange(Range):
    """@range for segments. After the strides that NumPy would pass, `steps` holds the bytes from one row to the next of each entry
    of a row, and the number of rows there is room for. New states go out where the old came from; the number of rows goes out
    where the kernel has its `keep`."""

    def __init__(self, program: Program, wide: Kind, states: int):
        super().__init__(program, wide)
        n_in, n_out = len(program.inputs), len(program.outputs)
        self.states, self.loops = states, True
        self.entries = range(n_in + states, n_in + n_out - 2)
        self.keep, self.done = n_in + n_out - 2, n_in + n_out - 1

    def _repeated(self):
        return {}  # a new state lies in lanes like the old

    def text(self) -> str:
        t, w = self.t, self.wide.width
        self._look_at_arguments()
        at = len(self.arguments) + sum(len(x.shape) for x in self.arguments)
        *onward, self.capacity = [t.element("%steps", at + j) for j in range(len(self.entries) + 1)]
        self.onward = dict(zip(self.entries, onward))
        raw = t.let(f"call ptr @malloc(i64 {self.room + self.workspace * w * self.wide.bytes + 64})")
        self.buffer = aligned(t, raw)
        self.work = t.at(self.buffer, str(self.room))
        self.sample, self.filled = t.room(f"[{w} x i64]"), t.room(f"[{w} x i64]")
        self.next, self.active = t.room("i64"), t.room("i64")
        self._segments(self._lanes())
        t.do(f"call void @free(ptr {raw})")
        return self._whole()

    def _segments(self, lanes: list[str]) -> None:
        t, n_in = self.t, len(self.program.inputs)
        for place in (self.next, self.active):
            t.do(f"store i64 0, ptr {place}")
        with t.loop(str(self.wide.width)) as lane:
            for j in range(n_in):  # a lane without a sample computes something, too
                self._lane("pack", j, lanes[j], lane, "0")
            self._take(lanes, lane)
        with t.forever():
            t.leave(t.let(f"icmp eq i64 {t.let(f'load i64, ptr {self.active}')}, 0"))
            self._call("wide", lanes)
            for j in range(self.states):
                size = self.arguments[j].size * self.wide.width * self.wide.bytes
                t.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {lanes[j]}, ptr {lanes[n_in + j]}, i64 {size}, i1 false)")
            with t.when(self._any(lanes)), t.loop(str(self.wide.width)) as lane:
                self._look(lanes, lane)

    def _any(self, lanes: list[str]) -> str:
        """Is there a lane with something to do besides the next round?"""
        t, kind, w = self.t, self.wide, self.wide.width
        V, B = kind.vector, kind.of("i1")
        truths = [t.let(f"fcmp une {V} {t.let(f'load {V}, ptr {lanes[j]}')}, {kind.constant(0.0)}") for j in (self.keep, self.done)]
        either = t.let(f"or {B} {truths[0]}, {truths[1]}")
        return either if w == 1 else t.let(f"icmp ne i{w} {t.let(f'bitcast {B} {either} to i{w}')}, 0")

    def _look(self, lanes: list[str], lane: str) -> None:
        """Keep the row of one lane, and let its sample go if it is done."""
        t = self.t
        here, count = (t.at(x, t.times(lane, 8)) for x in (self.sample, self.filled))
        sample = t.let(f"load i64, ptr {here}")
        with t.when(t.let(f"icmp sge i64 {sample}, 0")):
            with t.when(self._is_set(lanes[self.keep], lane)):
                row = t.let(f"load i64, ptr {count}")
                for j in self.entries:
                    self._lane("unpack", j, lanes[j], lane, sample, t.times(row, self.onward[j]))
                t.do(f"store i64 {t.plus(row, 1)}, ptr {count}")
            full = t.let(f"icmp sge i64 {t.let(f'load i64, ptr {count}')}, {self.capacity}")
            with t.when(t.let(f"or i1 {full}, {self._is_set(lanes[self.done], lane)}")):
                self._give(lanes, lane, sample, count)
                self._take(lanes, lane)

    def _is_set(self, lanes: str, lane: str) -> str:
        t, T = self.t, self.wide.dtype
        value = t.let(f"load {T}, ptr {t.at(lanes, t.times(lane, self.wide.bytes))}")
        return t.let(f"fcmp une {T} {value}, {Kind(T, 1).constant(0.0)}")

    def _give(self, lanes: list[str], lane: str, sample: str, count: str) -> None:
        """Write the states of a sample that leaves, and how many rows it has."""
        t, n_in, T = self.t, len(self.program.inputs), self.wide.dtype
        for j in range(self.states):
            self._lane("unpack", n_in + j, lanes[j], lane, sample)
        number = t.let(f"sitofp i64 {t.let(f'load i64, ptr {count}')} to {T}")
        t.do(f"store {T} {number}, ptr {t.at(self.user[self.keep], t.times(sample, self.outer[self.keep]))}")
        t.do(f"store i64 {t.plus(t.let(f'load i64, ptr {self.active}'), -1)}, ptr {self.active}")

    def _take(self, lanes: list[str], lane: str) -> None:
        """Put the next sample into a lane, if there is one."""
        t = self.t
        here, count = (t.at(x, t.times(lane, 8)) for x in (self.sample, self.filled))
        sample = t.let(f"load i64, ptr {self.next}")
        t.do(f"store i64 -1, ptr {here}\nstore i64 0, ptr {count}")
        with t.when(t.let(f"icmp slt i64 {sample}, %count")):
            t.do(f"store i64 {sample}, ptr {here}")
            t.do(f"store i64 {t.plus(sample, 1)}, ptr {self.next}")
            t.do(f"store i64 {t.plus(t.let(f'load i64, ptr {self.active}'), 1)}, ptr {self.active}")
            for j in range(len(self.program.inputs)):
                self._lane("pack", j, lanes[j], lane, sample)

    def _lane(self, way: str, j: int, lanes: str, lane: str, sample: str, beyond: str = "0") -> None:
        """Move one sample's argument to or from one lane."""
        t = self.t
        user, place = t.at(self.user[j], t.times(sample, self.outer[j]), beyond), t.at(lanes, t.times(lane, self.wide.bytes))
        t.do(f"call void @{way}(ptr {place}, ptr {user}, i64 0, i64 1, {self.core[j]})")


class Segment:
    """The compiled segments of a kernel for one dtype: over lanes, or of one sample after another."""

    def __init__(self, kernel: Kernel, kind: str, states: int, entries: int, wide: bool):
        self.inputs, self.states, self.entries, self.wide = kernel.inputs, states, entries, wide
        dtype = LLVM_NAMES[kind]

        def text(program) -> str:
            assert isinstance(program, Program)  # rolled kernels have no segments
            return compiler.fed_back_text(program, dtype, lambda p, kind: SegmentRange(p, kind, states), LEAST, wide)

        made = compiled(kernel, ("segment", states, wide), dtype, text)
        self._code, self._data = compiler.Code(made.code, "loop"), LoopData()
        self._run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(self._code.addresses[0])

    def __call__(self, arrays: list[np.ndarray], rows: list[np.ndarray], counts: np.ndarray, capacity: int) -> None:
        """Inputs (samples, shape...), of which the states are overwritten; rows (samples, capacity, shape...); the number of rows
        of each sample goes to `counts`."""
        changed = arrays[: self.states]
        outputs = [*changed, *rows, counts, counts]
        cores = [x.strides[1:] for x in (*arrays, *changed)] + [x.strides[2:] for x in rows] + [(), ()]
        outer = [x.strides[0] for x in (*arrays, *outputs)]
        numbers = [*outer, *(s for core in cores for s in core), *(x.strides[1] for x in rows), capacity]
        pointers = [x.ctypes.data for x in (*arrays, *outputs)]
        self._run(
            (ctypes.c_void_p * len(pointers))(*pointers), (ctypes.c_int64 * 1)(len(counts)),
            (ctypes.c_int64 * len(numbers))(*numbers), self._data.address,
        )  # fmt: skip
