"""@range: a run of samples. Vectors of them are computed by @wide, a sample that lies in one piece and comes alone by @one."""

from ..tracing.program import Input, Output, Program
from ..tracing.rolled_program import RolledProgram
from ..writers import assembly, pieces
from ..writers.driver import core_dimensions, lane_bytes, lane_places, streamed, strided, transposed
from ..writers.llvm import Kind
from ..writers.llvm_text import Text

LARGE = 1024  # bytes of a sample that are worth writing past the caches ...
PAST_CACHE = 24 << 20  # ... when a run of samples has so many
FILLED = 12 << 20  # bytes of all results of a run that are worth writing while the next are computed


class Range:
    """The text of @range for one program."""

    def __init__(self, program: Program | RolledProgram, wide: Kind):
        self.program, self.wide = program, wide
        self.t = Text()
        self.once = self._repeated()  # results that lie in lanes each different entry once
        self.arguments: list[Input | Output] = [*program.inputs, *program.outputs]
        self.user: list[str] = []  # pointers to the first sample
        self.outer: list[str] = []  # bytes from sample to sample
        self.core: list[str] = []  # sizes and strides of one sample, as arguments of @pack
        self.contiguous: list[str] = []
        *self.places, self.rows = lane_places(program, wide)  # of arguments in the lanes; of room to lay samples of a result side by side
        self.workspace = program.workspace if isinstance(program, RolledProgram) else pieces.workspace(program)
        self.room = self.rows + max(lane_bytes(x, wide) for x in program.outputs)  # bytes of all lanes
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
        self._rest(whole)
        t.do(f"call void @free(ptr {raw})")
        self._give_work_back(work, w)

    def _rest(self, whole: str) -> None:
        """The samples behind whole vectors."""
        rest = self.t.let(f"sub i64 %count, {whole}")
        with self.t.when(self.t.let(f"icmp sgt i64 {rest}, 0")):
            self._together(whole, rest, full=False)

    def _together(self, sample: str, count: str, full: bool) -> None:
        lanes = self._lanes()
        for j in range(len(self.program.inputs)):
            self._move("pack", j, lanes[j], sample, count, full)
        self._call("wide", lanes)
        for j in range(len(self.program.inputs), len(self.arguments)):
            self._move("unpack", j, lanes[j], sample, count, full)

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
        if not full and way == "pack":  # the other lanes repeat the first sample: their loops are done when its are
            rest, beside = t.let(f"sub i64 {self.wide.width}, {count}"), t.at(lanes, t.times(count, self.wide.bytes))
            t.do(f"call void @pack(ptr {beside}, ptr {source}, i64 0, i64 {rest}, {self.core[j]})")

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


class Overlapped(Range):
    """@range for a kernel of assembly with large results: it writes out those of a vector of samples while it computes the next, past the
    caches, so that memory and arithmetic take their time together. There are two sets of lanes for results, which take turns.

    This is for results that fill a cache, and begin at the same place of a short vector in every sample.
    """

    program: Program
    shift = "0"  # bytes from the first set to the one in use

    def _in_lanes(self) -> None:
        t, outputs = self.t, range(len(self.program.inputs), len(self.arguments))
        size = sum(x.size for x in self.program.outputs) * self.wide.bytes
        possible = t.let(f"icmp sgt i64 %count, {FILLED // size}")
        for j in outputs:
            apart = t.let(f"icmp eq i64 {t.let(f'and i64 {self.outer[j]}, 31')}, 0")
            address = t.let(f"ptrtoint ptr {self.user[j]} to i64")
            for truth in (self.contiguous[j], apart, t.let(f"icmp eq i64 {t.let(f'and i64 {address}, 15')}, 0")):
                possible = t.let(f"and i1 {possible}, {truth}")
        t.choose(possible, self._in_turns, self._each)

    def _each(self) -> None:
        """Results are written vector by vector."""
        super()._in_lanes()

    def _in_turns(self) -> None:
        t, w, n_in = self.t, self.wide.width, len(self.program.inputs)
        work = self._take_work(w)
        raw = t.let(f"call ptr @malloc(i64 {2 * self.room + 64})")
        self.buffer = aligned(t, raw)
        shift, waiting = t.room("i64"), t.room("i64")
        t.do(f"store i64 0, ptr {shift}\nstore i64 -1, ptr {waiting}")
        whole = t.let(f"and i64 %count, {-w}")
        with t.loop(whole, step=str(w)) as i:
            self.shift = t.let(f"load i64, ptr {shift}")
            lanes = self._lanes()
            for j in range(n_in):
                self._move("pack", j, lanes[j], i, str(w), True)
            before, other = t.let(f"load i64, ptr {waiting}"), t.let(f"sub i64 {self.room}, {self.shift}")
            self._tell(before, t.at(self.buffer, other))
            super()._call("wide", lanes)
            t.do(f"store i64 {i}, ptr {waiting}\nstore i64 {other}, ptr {shift}")
        last = t.let(f"load i64, ptr {waiting}")
        with t.when(t.let(f"icmp sge i64 {last}, 0")):
            self.shift = t.let(f"sub i64 {self.room}, {t.let(f'load i64, ptr {shift}')}")
            lanes = self._lanes()
            for j in range(n_in, len(self.arguments)):
                self._move("unpack", j, lanes[j], last, str(w), True)
        self.shift = "0"
        self._rest(whole)
        t.do(f"call void @llvm.x86.sse.sfence()\ncall void @free(ptr {raw})")
        self._give_work_back(work, w)

    def _lanes(self) -> list[str]:
        n_in, moved = len(self.program.inputs), self.t.at(self.buffer, self.shift)
        return [self.t.at(self.buffer if j < n_in else moved, str(place)) for j, place in enumerate(self.places)]

    def _tell(self, sample: str, lanes: str) -> None:
        """Tell the kernel where results wait, where those of each output go, how far samples are apart, which strips suit."""
        t, at = self.t, assembly.message(self.program) * self.wide.size
        some = t.let(f"icmp sge i64 {sample}, 0")
        t.do(f"store ptr {t.let(f'select i1 {some}, ptr {lanes}, ptr null')}, ptr {t.at(self.work, str(at))}")
        for n, j in enumerate(range(len(self.program.inputs), len(self.arguments))):
            user = t.at(self.user[j], t.times(sample, self.outer[j]))
            address = t.let(f"ptrtoint ptr {user} to i64")
            off = t.let(f"lshr i64 {t.let(f'and i64 {address}, 16')}, 4")  # is it between two borders of short vectors?
            strips = t.times(off, assembly.bytes_of_strips(self.program))
            for k, value in enumerate((f"ptr {user}", f"i64 {self.outer[j]}", f"i64 {strips}")):
                t.do(f"store {value}, ptr {t.at(self.work, str(at + 8 + 24 * n + 8 * k))}")

    def _call(self, kernel: str, pointers: list[str]) -> None:
        if kernel == "wide":  # no results wait
            place = assembly.message(self.program) * self.wide.size
            self.t.do(f"store ptr null, ptr {self.t.at(self.work, str(place))}")
        super()._call(kernel, pointers)

    def _whole(self) -> str:
        return "declare void @llvm.x86.sse.sfence()\n" + super()._whole()


def numbers(values) -> str:
    return ", ".join(f"i64 {x}" for x in values)


def aligned(t: Text, pointer: str) -> str:
    """The first multiple of 64 within 64 bytes."""
    return t.let(f"call ptr @llvm.ptrmask.p0.i64(ptr {t.at(pointer, '63')}, i64 -64)")
