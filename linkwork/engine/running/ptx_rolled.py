"""A rolled program as PTX: one thread for each sample, its scratch memory side by side with its neighbours'."""

from itertools import accumulate

from ..tracing.rolled_program import RolledProgram
from ..writers import rolled_llvm
from ..writers.driver import Text
from ..writers.llvm import Kind, needed_functions
from .ptx import BLOCK, OWN, THREADS, defined, module


def text(program: RolledProgram, dtype: str, layouts: tuple[str, ...], most: int | None = None) -> str:
    """The module of @kernel(n, data, work, (pointer, step)...): layouts and steps as of any kernel; `data` points to the
    tables; `work` is scratch memory for all threads, which may be fewer than the samples. With `most`, the program is repeated
    for so many rounds, or until it is done, as repeat.py says."""
    kind, count = Kind(dtype, 1), len(layouts)
    arguments = ", ".join(f"ptr %b{j}, i64 %s{j}" for j in range(count))
    head = f"(i64 %n, ptr %data, ptr %room, {arguments}) {BLOCK}"
    body = rolled_llvm.function(program, kind, "one", "", strided=True)
    return module(kind, needed_functions(program), body, defined("kernel", head, _Samples(program, kind, layouts).lines(most)))


def workspace(program: RolledProgram, most: int | None) -> int:
    """Numbers of scratch memory for each thread: the program's, and its results while it is repeated."""
    return program.workspace + (0 if most is None else sum(x.size for x in program.outputs))


class _Samples:
    """Samples from the thread's own, on by the number of threads."""

    def __init__(self, program: RolledProgram, kind: Kind, layouts: tuple[str, ...]):
        self.program, self.kind, self.layouts, self.t = program, kind, layouts, Text()
        self.strides = [str(kind.bytes) if layout == "rows" else f"%bytes{j}" for j, layout in enumerate(layouts)]

    def lines(self, most: int | None) -> list[str]:
        t, size = self.t, self.kind.bytes
        t.do(f"{OWN}\n%blocks = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()\n%blocks64 = zext i32 %blocks to i64")
        t.do(f"%threads = mul i64 %blocks64, {THREADS}\n%on.work = mul i64 %threads, {size}\n%mine = mul i64 %own, {size}")
        t.do("%work = getelementptr i8, ptr %room, i64 %mine")
        for j in range(len(self.layouts)):
            t.do(f"%bytes{j} = mul i64 %s{j}, {size}")
        with t.loop("%n", start="%own", step="%threads") as i:
            steps = (f"%bytes{j}" if layout == "rows" else size for j, layout in enumerate(self.layouts))
            places = [t.at(f"%b{j}", t.times(i, step)) for j, step in enumerate(steps)]
            if most is None:
                self._call(places, self.strides)
            else:
                self._rounds(places, most)
        return [*t.entry, *t.lines, "ret void"]

    def _call(self, places: list[str], strides: list[str]) -> None:
        given = [*(f"ptr {x}" for x in (*places, "%work", "%data")), *(f"i64 {x}" for x in ("%on.work", *strides))]
        self.t.do(f"call void @one({', '.join(given)})")

    def _rounds(self, places: list[str], most: int) -> None:
        """States are kept where they will be results; those of a round go to scratch memory first."""
        t, T, outputs, n_in = self.t, self.kind.dtype, self.program.outputs, len(self.program.inputs)
        starts = accumulate((x.size for x in outputs), initial=self.program.workspace)
        new = [t.at("%work", t.times("%on.work", start)) for start, _ in zip(starts, outputs)]
        states = range(len(outputs) - 1)
        for j in states:
            self._copy(outputs[j].size, places[j], self.strides[j], places[n_in + j], self.strides[n_in + j])
        t.do(f"store {T} {self.kind.constant(most + 1)}, ptr {places[-1]}")
        kept = [*places[n_in:-1], *places[len(states) : n_in]], [*self.strides[n_in:-1], *self.strides[len(states) : n_in]]
        with t.loop(str(most)) as i:
            self._call([*kept[0], *new], [*kept[1], *("%on.work" for _ in new)])
            for j in states:
                self._copy(outputs[j].size, new[j], "%on.work", places[n_in + j], self.strides[n_in + j])
            done = t.let(f"fcmp une {T} {t.let(f'load {T}, ptr {new[-1]}')}, {self.kind.constant(0.0)}")
            with t.when(done):
                t.do(f"store {T} {t.let(f'sitofp i64 {t.plus(i, 1)} to {T}')}, ptr {places[-1]}")
            t.leave(done)

    def _copy(self, size: int, source: str, from_stride: str, target: str, to_stride: str) -> None:
        t, T = self.t, self.kind.dtype
        with t.loop(str(size)) as e:
            value = t.let(f"load {T}, ptr {t.at(source, t.times(e, from_stride))}")
            t.do(f"store {T} {value}, ptr {t.at(target, t.times(e, to_stride))}")
