"""A kernel repeated on its own results, the loop being part of the compiled code.

The kernel is of (states..., streams..., constants...) and returns (new states..., entries..., keep, done): states entry for entry like
the old; a stream has a value for each round, the constants stay. A `Form` says what of this there is:

    neither       all samples make the same number of rounds, and every n-th new state is a row. A vector of samples stays in its lanes
    done          a sample leaves when `done` is not zero, and the number of its rounds comes out
    keep and done entries are kept as a row where `keep` is not zero; a sample leaves also when there is no room for more rows

Where samples leave, the lane of each takes the next one, so that samples that need few rounds do not wait for those that need many. A
sample's results do not depend on its lane, nor on those beside it.
"""

import ctypes
from math import prod
from time import monotonic
from typing import NamedTuple

import numpy as np

from ...errors import TraceError
from ..loading import compiler
from ..loading.compiled import compiled
from ..loading.gufunc import LoopData
from ..loading.kernel import LLVM_NAMES, Kernel
from ..loading.samples import Range, aligned
from ..tracing.program import Program
from ..tracing.rolled_program import RolledProgram
from ..writers.llvm import Kind

LEAST = {False: 64, True: 16}  # samples that make a thread worth starting: where all make the same steps, and where they leave
FIRST_PART = 4096  # steps of samples in the first part of those that all make
SECONDS = 0.2  # that later parts take


class Form(NamedTuple):
    """What a kernel that is repeated takes and returns."""

    states: int
    streams: int = 0
    keeps: bool = False  # does it return entries of a row, and `keep`?
    leaves: bool = False  # does it return `done`?

    def rows(self, inputs: int, outputs: int) -> range:
        """The numbers of the arguments that go to rows, results counted after the inputs."""
        return range(inputs + self.states, inputs + outputs - 2) if self.keeps else range(inputs, inputs + self.states * (not self.leaves))


class RepeatRange(Range):
    """@range of a repeated kernel. After the strides that NumPy would pass, `steps` holds the bytes from one round to the next of each
    stream, the bytes from one row to the next of what goes to rows, the number of rounds at most, and after how many of them there is a
    row, or for how many rows there is room. Of samples that leave, new states go out as results; the number of rows, or of rounds, goes
    out where the kernel has its `keep`, or its `done`."""

    def __init__(self, program: Program | RolledProgram, wide: Kind, form: Form):
        super().__init__(program, wide)
        n_in, n_out = len(program.inputs), len(program.outputs)
        self.form = form
        self.streamed, self.kept = range(form.states, form.states + form.streams), form.rows(n_in, n_out)
        self.keep, self.done = n_in + n_out - 2, n_in + n_out - 1
        self.counted = self.keep if form.keeps else self.done

    def _repeated(self):
        return {}  # a new state lies in lanes like the old

    def text(self) -> str:
        t, w = self.t, self.wide.width
        self._look_at_arguments()
        at, moving = len(self.arguments) + sum(len(x.shape) for x in self.arguments), (*self.streamed, *self.kept)
        *onward, self.most, self.every = [t.element("%steps", at + j) for j in range(len(moving) + 2)]
        self.onward = dict(zip(moving, onward))
        raw = t.let(f"call ptr @malloc(i64 {self.room + self.workspace * w * self.wide.bytes + 64})")
        self.buffer = aligned(t, raw)
        self.work = t.at(self.buffer, str(self.room))
        if self.form.leaves:
            self._leaving(self._lanes())
        else:
            whole = t.let(f"and i64 %count, {-w}")
            with t.loop(whole, step=str(w)) as i:
                self._together(i, str(w), full=True)
            rest = t.let(f"sub i64 %count, {whole}")
            with t.when(t.let(f"icmp sgt i64 {rest}, 0")):
                self._together(whole, rest, full=False)
        t.do(f"call void @free(ptr {raw})")
        return self._whole()

    def _go(self, lanes: list[str]) -> None:
        """One round: new states take the place of the old."""
        self._call("wide", lanes)
        for j in range(self.form.states):
            new, size = lanes[len(self.program.inputs) + j], self.arguments[j].size * self.wide.width * self.wide.bytes
            self.t.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {lanes[j]}, ptr {new}, i64 {size}, i1 false)")

    # --- all rounds of a vector of samples

    def _together(self, sample: str, count: str, full: bool) -> None:
        t, lanes = self.t, self._lanes()
        for j in (j for j in range(len(self.program.inputs)) if j not in self.streamed):
            self._move("pack", j, lanes[j], sample, count, full)
        with t.loop(self.most) as step:
            for j in self.streamed:
                self._move("pack", j, lanes[j], sample, count, full, t.times(step, self.onward[j]))
            self._go(lanes)
            done = t.plus(step, 1)
            row = t.let(f"sdiv i64 {done}, {self.every}")
            with t.when(t.let(f"icmp eq i64 {t.times(row, self.every)}, {done}")):
                for j in self.kept:
                    self._move("unpack", j, lanes[j], sample, count, full, t.times(row, self.onward[j]))

    # --- each sample as many rounds as it asks for

    def _leaving(self, lanes: list[str]) -> None:
        t, w = self.t, self.wide.width
        self.sample, self.filled, self.began = (t.room(f"[{w} x i64]") for _ in range(3))
        self.next, self.active, self.now, self.deadline = (t.room("i64") for _ in range(4))
        for place, value in ((self.next, "0"), (self.active, "0"), (self.now, "0"), (self.deadline, self.most)):
            t.do(f"store i64 {value}, ptr {place}")
        with t.loop(str(w)) as lane:
            for j in range(len(self.program.inputs)):  # a lane without a sample computes something, too
                self._lane("pack", j, lanes[j], lane, "0")
            self._take(lanes, lane)
        with t.forever():
            t.leave(t.let(f"icmp eq i64 {self._read(self.active)}, 0"))
            if self.streamed:
                with t.loop(str(w)) as lane:
                    self._stream(lanes, lane)
            self._go(lanes)
            now = t.plus(self._read(self.now), 1)
            t.do(f"store i64 {now}, ptr {self.now}")
            late = t.let(f"icmp sge i64 {now}, {self._read(self.deadline)}")
            with t.when(t.let(f"or i1 {late}, {self._any(lanes)}")):
                t.do(f"store i64 {(1 << 63) - 1}, ptr {self.deadline}")
                with t.loop(str(w)) as lane:
                    self._look(lanes, lane)

    def _read(self, place: str) -> str:
        return self.t.let(f"load i64, ptr {place}")

    def _of_lane(self, lane: str) -> list[str]:
        """Where its sample, the number of rows of that, and the round in which it began are."""
        return [self.t.at(x, self.t.times(lane, 8)) for x in (self.sample, self.filled, self.began)]

    def _rounds(self, began: str) -> str:
        """How many the sample of a lane has made."""
        return self.t.let(f"sub i64 {self._read(self.now)}, {self._read(began)}")

    def _any(self, lanes: list[str]) -> str:
        """Is there a lane with something to do besides the next round?"""
        t, kind, w = self.t, self.wide, self.wide.width
        V, B, some = kind.vector, kind.of("i1"), (self.keep, self.done) if self.form.keeps else (self.done,)
        truths = [t.let(f"fcmp une {V} {t.let(f'load {V}, ptr {lanes[j]}')}, {kind.constant(0.0)}") for j in some]
        either = t.let(f"or {B} {truths[0]}, {truths[-1]}")
        return either if w == 1 else t.let(f"icmp ne i{w} {t.let(f'bitcast {B} {either} to i{w}')}, 0")

    def _stream(self, lanes: list[str], lane: str) -> None:
        """The values of streams for the next round of one lane."""
        t, (here, _, began) = self.t, self._of_lane(lane)
        sample = self._read(here)
        with t.when(t.let(f"icmp sge i64 {sample}, 0")):
            for j in self.streamed:
                self._lane("pack", j, lanes[j], lane, sample, t.times(self._rounds(began), self.onward[j]))

    def _look(self, lanes: list[str], lane: str) -> None:
        """Keep the row of one lane, and let its sample go if it is done."""
        t, (here, count, began) = self.t, self._of_lane(lane)
        sample = self._read(here)
        with t.when(t.let(f"icmp sge i64 {sample}, 0")):
            if self.form.keeps:
                with t.when(self._is_set(lanes[self.keep], lane)):
                    row = self._read(count)
                    for j in self.kept:
                        self._lane("unpack", j, lanes[j], lane, sample, t.times(row, self.onward[j]))
                    t.do(f"store i64 {t.plus(row, 1)}, ptr {count}")
            done, rounds = self._is_set(lanes[self.done], lane), self._rounds(began)
            goes = t.let(f"or i1 {done}, {t.let(f'icmp sge i64 {rounds}, {self.most}')}")
            if self.form.keeps:
                goes = t.let(f"or i1 {goes}, {t.let(f'icmp sge i64 {self._read(count)}, {self.every}')}")
            with t.when(goes):
                number = self._read(count) if self.form.keeps else t.let(f"select i1 {done}, i64 {rounds}, i64 {t.plus(self.most, 1)}")
                self._give(lanes, lane, sample, number)
                self._take(lanes, lane)
            until = t.plus(self._read(began), self.most)
            sooner = t.let(f"call i64 @llvm.smin.i64(i64 {until}, i64 {self._read(self.deadline)})")
            t.do(f"store i64 {sooner}, ptr {self.deadline}")

    def _is_set(self, lanes: str, lane: str) -> str:
        t, T = self.t, self.wide.dtype
        value = t.let(f"load {T}, ptr {t.at(lanes, t.times(lane, self.wide.bytes))}")
        return t.let(f"fcmp une {T} {value}, {Kind(T, 1).constant(0.0)}")

    def _give(self, lanes: list[str], lane: str, sample: str, number: str) -> None:
        """Write the states of a sample that leaves, and its number of rows or rounds."""
        t, T = self.t, self.wide.dtype
        for j in range(self.form.states):
            self._lane("unpack", len(self.program.inputs) + j, lanes[j], lane, sample)
        value = t.let(f"sitofp i64 {number} to {T}")
        t.do(f"store {T} {value}, ptr {t.at(self.user[self.counted], t.times(sample, self.outer[self.counted]))}")
        t.do(f"store i64 {t.plus(self._read(self.active), -1)}, ptr {self.active}")

    def _take(self, lanes: list[str], lane: str) -> None:
        """Put the next sample into a lane, if there is one."""
        t, (here, count, began) = self.t, self._of_lane(lane)
        sample = self._read(self.next)
        t.do(f"store i64 -1, ptr {here}\nstore i64 0, ptr {count}\nstore i64 {self._read(self.now)}, ptr {began}")
        with t.when(t.let(f"icmp slt i64 {sample}, %count")):
            t.do(f"store i64 {sample}, ptr {here}")
            t.do(f"store i64 {t.plus(sample, 1)}, ptr {self.next}")
            t.do(f"store i64 {t.plus(self._read(self.active), 1)}, ptr {self.active}")
            for j in range(len(self.program.inputs)):
                self._lane("pack", j, lanes[j], lane, sample)

    def _lane(self, way: str, j: int, lanes: str, lane: str, sample: str, beyond: str = "0") -> None:
        """Move one sample's argument to or from one lane."""
        t = self.t
        user, place = t.at(self.user[j], t.times(sample, self.outer[j]), beyond), t.at(lanes, t.times(lane, self.wide.bytes))
        t.do(f"call void @{way}(ptr {place}, ptr {user}, i64 0, i64 1, {self.core[j]})")


class Repeat:
    """A repeated kernel, compiled for one dtype: over lanes, or, where samples leave, of one sample after another."""

    def __init__(self, kernel: Kernel, kind: str, form: Form, wide: bool = True):
        self.inputs, self.form, dtype = kernel.inputs, form, LLVM_NAMES[kind]

        def text(program: Program | RolledProgram) -> str:
            check_form(program, form)
            return compiler.fed_back_text(program, dtype, lambda x, kind: RepeatRange(x, kind, form), LEAST[form.leaves], wide)

        made = compiled(kernel, ("repeat", *form, wide), dtype, text)
        self._code, self._data = compiler.Code(made.code, "loop"), LoopData(kernel.tables(dtype))
        self._run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(self._code.addresses[0])

    def rounds(self, arrays: list[np.ndarray], rows: list[np.ndarray], counts: np.ndarray, capacity: int = 1, most: int = 1 << 62) -> None:
        """As many rounds as each sample asks for, and `most` at most. Inputs (samples, shape...), of which the states are overwritten,
        streams (samples, rounds, shape...), rows (samples, capacity, shape...). The number of rows of each sample goes to `counts`; where
        no rows are kept that of its rounds, which is `most` + 1 if it is not done."""
        if not most:
            counts[...] = 0 if self.form.keeps else 1
            return
        changed, streamed = arrays[: self.form.states], range(self.form.states, self.form.states + self.form.streams)
        outputs = [*changed, *rows, *[counts] * (1 + self.form.keeps)]
        cores = [x.strides[1 + (j in streamed) :] for j, x in enumerate(arrays)] + [x.strides[1:] for x in changed]
        cores += [x.strides[2:] for x in rows] + [()] * (1 + self.form.keeps)
        onward = [x.strides[1] for x in (*(arrays[j] for j in streamed), *rows)]
        outer = [x.strides[0] for x in (*arrays, *outputs)]
        numbers = [*outer, *(s for core in cores for s in core), *onward, most, capacity]
        self._start([x.__array_interface__["data"][0] for x in (*arrays, *outputs)], len(counts), numbers)

    def steps(self, arrays: list[np.ndarray], kept: list[np.ndarray], steps: int, every: int, backwards: bool = False) -> None:
        """So many rounds of all samples. Inputs (batch..., shape...), streams (batch..., steps, shape...); each n-th state goes to rows 1,
        2 ... of `kept`, (rows, batch..., shape...). Backwards, streams are read from their last step to the first, and the states go to
        the last row, the last but one ...

        They are made in parts that take SECONDS each, of some samples and steps, so that Ctrl-C is served between two."""
        batch = kept[0].shape[1 : kept[0].ndim - len(self.inputs[0].shape)]
        count, part, streamed = prod(batch), FIRST_PART, range(len(kept), len(kept) + self.form.streams)
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
        streamed = range(len(rows), len(rows) + self.form.streams)
        cores = [x.strides[2 if j in streamed else 1 :] for j, x in enumerate(arrays)] + [x.strides[2:] for x in rows]
        outer = [x.strides[0] for x in arrays] + [x.strides[1] for x in rows]
        onward = [*(arrays[j].strides[1] for j in streamed), *(x.strides[0] for x in rows)]
        starts = [*(x.ctypes.data for x in arrays), *(x.ctypes.data - x.strides[0] for x in rows)]  # the first row is number 1
        self._start(starts, len(arrays[0]), [*outer, *(s for core in cores for s in core), *onward, steps, every])

    def _start(self, starts: list[int], count: int, numbers: list[int]) -> None:
        pointers = (ctypes.c_void_p * len(starts))(*starts)
        self._run(pointers, (ctypes.c_int64 * 1)(count), (ctypes.c_int64 * len(numbers))(*numbers), self._data.address)


def check_form(program: Program | RolledProgram, form: Form) -> None:
    """Raises where a kernel does not return what it is said to."""
    shapes = [x.shape for x in program.outputs]
    signs, rest = shapes[len(shapes) - form.keeps - form.leaves :], shapes[: len(shapes) - form.keeps - form.leaves]
    fits = rest[: form.states] == [x.shape for x in program.inputs[: form.states]] and (form.keeps or len(rest) == form.states)
    if not fits or any(signs):
        more = ", entries of a row, whether it is kept" * form.keeps + ", and done, a number" * form.leaves
        raise TraceError(f"{program.name} cannot be repeated: it returns its first {form.states} arguments anew{more}.")
