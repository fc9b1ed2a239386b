"""@range: a run of samples. Full vectors of them are computed by @wide, the rest by @one.

The kernel over lanes uses the short range reduction of sin and cos. A vector of samples with an angle too large for it is
computed sample by sample, which gives the same bits for the other samples.
"""

from . import pieces
from .driver import Text, core_dimensions, streamed, strided, transposed
from .functions_circular import LIMIT
from .llvm import Kind, plain_angles
from .program import Input, Output, Program
from .rolled_program import RolledProgram

LARGE = 1024  # bytes of a sample that are worth writing past the caches ...
PAST_CACHE = 24 << 20  # ... when a run of samples has so many


class Range:
    """The text of @range for one program."""

    def __init__(self, program: Program | RolledProgram, wide: Kind):
        self.program, self.wide, self.one = program, wide, Kind(wide.dtype, 1)
        self.t = Text()
        self.once = self._repeated()  # results that lie in lanes each different entry once
        self.arguments: list[Input | Output] = [*program.inputs, *program.outputs]
        self.user: list[str] = []  # pointers to the first sample
        self.outer: list[str] = []  # bytes from sample to sample
        self.core: list[str] = []  # sizes and strides of one sample, as arguments of @pack
        self.contiguous: list[str] = []
        self.places: list[int] = []  # of each argument in the lanes
        self.workspace = program.workspace if isinstance(program, RolledProgram) else pieces.workspace(program)
        self.loops = not isinstance(program, RolledProgram) and bool(program.loops)
        self.room = self.rows = 0  # bytes of all lanes; where there is room to lay samples of a result side by side
        self.buffer = self.work = ""

    def text(self) -> str:
        t, w = self.t, self.wide.width
        self._look_at_arguments()
        single = t.let(f"icmp slt i64 %count, {min(2, w)}")
        dense = single
        for truth in self.contiguous:
            dense = t.let(f"and i1 {dense}, {truth}")
        t.choose(dense, self._directly, self._in_lanes)
        return self._whole()

    def _repeated(self) -> dict[int, Output]:
        if isinstance(self.program, RolledProgram):
            return {}
        outputs = enumerate(self.program.outputs, len(self.program.inputs))
        return {j: x for j, x in outputs if len(x.distinct) < x.size}

    def _whole(self) -> str:
        """@range, with what moves samples to lanes and back."""
        dims, both = core_dimensions(self.program), (True, False)
        text = [f"@places{j} = private constant [{x.size} x i64] [{numbers(x.places)}]\n" for j, x in self.once.items()]
        text += [strided(self.wide, way, dims) for way in both] + [transposed(self.wide, way) for way in both] + [streamed(self.wide)]
        if self.once:
            text += [strided(self.wide, False, dims, True), transposed(self.wide, False, True), streamed(self.wide, True)]
        text += [strided(self.one, way, dims).replace("pack(", "pack_one(") for way in both]
        text += [self.t.function("range(ptr %args, ptr %steps, i64 %start, i64 %count, ptr %data) noinline nounwind")]
        return "".join(text)

    def _look_at_arguments(self) -> None:
        t, at, dims = self.t, len(self.arguments), core_dimensions(self.program)
        for j, argument in enumerate(self.arguments):
            self.outer.append(t.element("%steps", j))
            first = t.let(f"load ptr, ptr {t.at('%args', str(8 * j))}")
            self.user.append(t.at(first, t.times("%start", self.outer[j])))
            missing = dims - len(argument.shape)
            shape = (1,) * missing + argument.shape
            strides = ["0"] * missing + [t.element("%steps", at + i) for i in range(len(argument.shape))]
            at += len(argument.shape)
            self.core.append(", ".join([*(f"i64 {d}" for d in shape), *(f"i64 {s}" for s in strides)]))
            self.contiguous.append(self._dense(shape, strides))
            self.places.append(self.room)
            self.room += self._lane_bytes(argument)
        self.rows, self.room = self.room, self.room + max(self._lane_bytes(x) for x in self.program.outputs)

    def _lane_bytes(self, argument) -> int:
        return (argument.size * self.wide.width * self.wide.bytes + 63) // 64 * 64

    def _dense(self, shape, strides) -> str:
        """Do the numbers of a sample lie side by side?"""
        t, step, truth = self.t, self.wide.bytes, "true"
        for d, s in zip(reversed(shape), reversed(strides)):
            if d > 1:
                truth = t.let(f"and i1 {truth}, {t.let(f'icmp eq i64 {s}, {step}')}")
            step *= d
        return truth

    # --- two ways

    def _directly(self) -> None:
        """Samples one at a time, read and written in the caller's memory."""
        raw = self._take_work(1)
        with self.t.loop("%count") as i:
            pointers = [self.t.at(user, self.t.times(i, outer)) for user, outer in zip(self.user, self.outer)]
            self._call("one", pointers)
        self._give_work_back(raw, 1)

    def _in_lanes(self) -> None:
        t, w = self.t, self.wide.width
        work = self._take_work(w)
        raw = t.let(f"call ptr @malloc(i64 {self.room + 64})")
        self.buffer = aligned(t, raw)
        whole = t.let(f"and i64 %count, {-w}")
        with t.loop(whole, step=str(w)) as i:
            self._together(i, str(w), full=True)
        rest = t.let(f"sub i64 %count, {whole}")
        many = t.let(f"icmp sge i64 {rest}, {min(2, w)}")
        t.choose(many, lambda: self._together(whole, rest, full=False), lambda: self._one_by_one(whole, rest))
        t.do(f"call void @free(ptr {raw})")
        self._give_work_back(work, w)

    def _together(self, sample: str, count: str, full: bool) -> None:
        lanes = self._lanes()
        for j in range(len(self.program.inputs)):
            self._move("pack", j, lanes[j], sample, count, full)

        def at_once():
            self._call("wide", lanes)
            for j in range(len(self.program.inputs), len(self.arguments)):
                self._move("unpack", j, lanes[j], sample, count, full)

        large = self._has_large_angle(lanes)
        if large:
            self.t.choose(large, lambda: self._one_by_one(sample, count), at_once)
        else:
            at_once()

    def _one_by_one(self, sample: str, count: str) -> None:
        t, n_in = self.t, len(self.program.inputs)
        with t.loop(count) as i:
            lanes, at = self._lanes(), t.plus(sample, i)
            for j in range(n_in):
                self._move_one("pack", j, lanes[j], at)
            self._call("one", lanes)
            for j in range(n_in, len(self.arguments)):
                self._move_one("unpack", j, lanes[j], at)

    def _has_large_angle(self, lanes: list[str]) -> str:
        t, kind, program = self.t, self.wide, self.program
        if isinstance(program, RolledProgram):
            return ""
        number = {x.name: j for j, x in enumerate(program.inputs)}
        V, B, found = kind.vector, kind.of("i1"), ""
        for i in sorted(plain_angles(program)):
            _, name, index = program.trace.nodes[i]
            pointer = t.at(lanes[number[name]], str(index * kind.width * kind.bytes))
            size = t.let(f"call {V} @llvm.fabs.{kind.mangled}({V} {t.let(f'load {V}, ptr {pointer}')})")
            beyond = t.let(f"fcmp ogt {V} {size}, {kind.constant(LIMIT[kind.dtype])}")
            found = t.let(f"or {B} {found}, {beyond}") if found else beyond
        if found and kind.width > 1:
            bits = t.let(f"bitcast {B} {found} to i{kind.width}")
            found = t.let(f"icmp ne i{kind.width} {bits}, 0")
        return found

    # --- small things

    def _lanes(self) -> list[str]:
        return [self.t.at(self.buffer, str(place)) for place in self.places]

    def _call(self, kernel: str, pointers: list[str]) -> None:
        self.t.do(f"call void @{kernel}({', '.join(f'ptr {p}' for p in [*pointers, self.work, '%data'])})")

    def _move(self, way: str, j: int, lanes: str, sample: str, count: str, full: bool, beyond: str = "0") -> None:
        t, outer, entries = self.t, self.outer[j], self.arguments[j].size
        source = t.at(self.user[j], t.times(sample, outer), beyond)

        def by(name: str, *rest: str):
            first = ("_once", f"ptr @places{j}, ") if j in self.once else ("", "")
            t.do(f"call void @{name}{first[0]}({first[1]}ptr {lanes}, ptr {source}, i64 {outer}, {', '.join(rest)})")

        def by_strides():
            by(way, f"i64 {count}", self.core[j])

        def in_registers():
            by(f"{way}_contiguous", f"i64 {entries}")

        def past_caches():
            by(f"{way}_streamed", f"i64 {entries}", f"ptr {t.at(self.buffer, str(self.rows))}")

        def side_by_side():
            if way == "pack" or entries * self.wide.bytes < LARGE:
                in_registers()
            else:
                t.choose(t.let(f"icmp sgt i64 %count, {PAST_CACHE // (entries * self.wide.bytes)}"), past_caches, in_registers)

        if full:
            t.choose(self.contiguous[j], side_by_side, by_strides)
        else:
            by_strides()
        if not full and way == "pack" and self.loops:  # the other lanes are done when the first sample is
            rest, beside = t.let(f"sub i64 {self.wide.width}, {count}"), t.at(lanes, t.times(count, self.wide.bytes))
            t.do(f"call void @pack(ptr {beside}, ptr {source}, i64 0, i64 {rest}, {self.core[j]})")

    def _move_one(self, way: str, j: int, lanes: str, sample: str) -> None:
        source = self.t.at(self.user[j], self.t.times(sample, self.outer[j]))
        self.t.do(f"call void @{way}_one(ptr {lanes}, ptr {source}, i64 {self.outer[j]}, i64 1, {self.core[j]})")

    def _take_work(self, lanes: int) -> str:
        """Scratch memory for a kernel: that of an earlier call, or new."""
        t, numbers = self.t, self.workspace
        self.work = "null"
        if not numbers:
            return ""
        place = t.room("ptr")
        left = t.let(f"atomicrmw xchg ptr {t.at('%data', '8' if lanes == 1 else '16')}, ptr null acquire")
        t.do(f"store ptr {left}, ptr {place}")
        with t.when(t.let(f"icmp eq ptr {left}, null")):
            t.do(f"store ptr {t.let(f'call ptr @malloc(i64 {numbers * lanes * self.wide.bytes + 64})')}, ptr {place}")
        raw = t.let(f"load ptr, ptr {place}")
        self.work = aligned(t, raw)
        return raw

    def _give_work_back(self, raw: str, lanes: int) -> None:
        if raw:
            other = self.t.let(f"atomicrmw xchg ptr {self.t.at('%data', '8' if lanes == 1 else '16')}, ptr {raw} release")
            self.t.do(f"call void @free(ptr {other})")


class FedBack(Range):
    """@range for a kernel whose results are fed back: a vector of samples stays in its lanes for all its calls."""

    def _repeated(self) -> dict[int, Output]:
        return {}  # a new state lies in lanes like the old

    def text(self) -> str:
        t, w = self.t, self.wide.width
        self._look_at_arguments()
        self._prepare()
        raw = t.let(f"call ptr @malloc(i64 {self.room + self.workspace * w * self.wide.bytes + 64})")
        self.buffer = aligned(t, raw)
        self.work = t.at(self.buffer, str(self.room))
        whole = t.let(f"and i64 %count, {-w}")
        with t.loop(whole, step=str(w)) as i:
            self._group(i, str(w), full=True)
        rest = t.let(f"sub i64 %count, {whole}")
        with t.when(t.let(f"icmp sgt i64 {rest}, 0")):
            self._group(whole, rest, full=False)
        t.do(f"call void @free(ptr {raw})")
        return self._whole()

    def _prepare(self) -> None:
        """What is read before the first samples."""

    def _group(self, sample: str, count: str, full: bool) -> None:
        """All that is done with `count` samples from `sample` on."""
        raise NotImplementedError


def numbers(values) -> str:
    return ", ".join(f"i64 {x}" for x in values)


def aligned(t: Text, pointer: str) -> str:
    """The first multiple of 64 within 64 bytes."""
    return t.let(f"call ptr @llvm.ptrmask.p0.i64(ptr {t.at(pointer, '63')}, i64 -64)")
