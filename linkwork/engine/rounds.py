"""A whole kernel repeated until it is done, its results fed back: the loop of `iterate` around a kernel, rolled or not.

The kernel is of (states..., constants...) and returns (new states..., done): states entry for entry like the old, done a
number, not zero where the sample is done. A vector of samples stays in its lanes for all rounds and leaves when all of it are
done; a sample that is done keeps its states. The states after that and the number of rounds come out, as of `iterate`.
"""

import numpy as np

from ..errors import TraceError
from . import compiler
from .compiled import compiled
from .gufunc import LoopData, gufunc
from .kernel import LLVM_NAMES, Kernel
from .llvm import Kind
from .program import Program
from .rolled_program import RolledProgram
from .samples import FedBack

LEAST = 64  # samples that make a thread worth starting


class RoundsRange(FedBack):
    """@range for rounds of a kernel. The number of rounds goes out where the kernel has its `done`."""

    def __init__(self, program: Program | RolledProgram, wide: Kind, most: int):
        super().__init__(program, wide)
        self.most, self.states, self.loops = most, len(program.outputs) - 1, True

    def _prepare(self) -> None:
        self.counted = self.t.room(f"{self.wide.vector}, align 64")  # the round in which each sample was done

    def _group(self, sample: str, count: str, full: bool) -> None:
        t, kind, V, lanes, n_in = self.t, self.wide, self.wide.vector, self._lanes(), len(self.program.inputs)
        for j in range(n_in):
            self._move("pack", j, lanes[j], sample, count, full)
        t.do(f"store {V} {kind.constant(self.most + 1)}, ptr {self.counted}")
        with t.loop(str(self.most)) as i:
            self._call("wide", lanes)
            before = t.let(f"load {V}, ptr {self.counted}")
            finished = t.let(f"fcmp ole {V} {before}, {kind.constant(self.most)}")
            for j in range(self.states):
                self._feed_back(finished, lanes[n_in + j], lanes[j], self.arguments[j].size)
            after = self._count(finished, before, lanes[n_in + self.states], t.plus(i, 1))
            t.leave(self._all(t.let(f"fcmp ole {V} {after}, {kind.constant(self.most)}")))
        for j in range(self.states):
            self._move("unpack", n_in + j, lanes[j], sample, count, full)
        self._move("unpack", n_in + self.states, self.counted, sample, count, full)

    def _feed_back(self, finished: str, new: str, old: str, size: int) -> None:
        t, V, B = self.t, self.wide.vector, self.wide.of("i1")
        with t.loop(str(size)) as e:
            source, target = (t.at(x, t.times(e, self.wide.width * self.wide.bytes)) for x in (new, old))
            a, b = (t.let(f"load {V}, ptr {x}") for x in (target, source))
            t.do(f"store {V} {t.let(f'select {B} {finished}, {V} {a}, {V} {b}')}, ptr {target}")

    def _count(self, finished: str, before: str, done: str, number: str) -> str:
        """The round in which each sample was done, after round `number`."""
        t, kind, V, B = self.t, self.wide, self.wide.vector, self.wide.of("i1")
        now = t.let(f"fcmp une {V} {t.let(f'load {V}, ptr {done}')}, {kind.constant(0.0)}")
        value = t.let(f"sitofp i64 {number} to {kind.dtype}")
        if kind.width > 1:
            first = t.let(f"insertelement {V} poison, {kind.dtype} {value}, i64 0")
            value = t.let(f"shufflevector {V} {first}, {V} poison, <{kind.width} x i32> zeroinitializer")
        found = t.let(f"select {B} {now}, {V} {value}, {V} {before}")
        after = t.let(f"select {B} {finished}, {V} {before}, {V} {found}")
        t.do(f"store {V} {after}, ptr {self.counted}")
        return after

    def _all(self, truths: str) -> str:
        w = self.wide.width
        return truths if w == 1 else self.t.let(f"icmp eq i{w} {self.t.let(f'bitcast <{w} x i1> {truths} to i{w}')}, -1")


def rounds(kernel: Kernel, kind: str, most: int) -> np.ufunc:
    """The gufunc of (states..., constants...) -> (states..., rounds)."""
    dtype = LLVM_NAMES[kind]

    def text(program) -> str:
        *states, done = (x.shape for x in program.outputs)
        if done or states != [x.shape for x in program.inputs[: len(states)]]:
            raise TraceError(f"{kernel.name} cannot be repeated: it returns its first arguments anew, and done, a number.")
        return compiler.fed_back_text(program, dtype, lambda p, wide: RoundsRange(p, wide, most), LEAST)

    made = compiled(kernel, ("rounds", most), dtype, text)
    data = LoopData(kernel.program.tables(dtype) if kernel.identity is None else ())
    code = compiler.Code(made.code, "loop")
    return gufunc(kernel.name, code.addresses[0], data, dtype, [x.shape for x in kernel.inputs], made.outputs, code)
