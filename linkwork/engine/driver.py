"""The loop around a kernel that NumPy calls: it lays samples side by side, runs the kernel, and lays the results back.

    @loop    what NumPy calls; splits a long batch over threads
    @range   a run of samples: full vectors of them through @wide, the rest through @one
    @pack    core arrays of `width` samples, any strides, to lanes: entry e of sample l goes to lanes[e * width + l]
    @unpack  the way back

Strides are honoured everywhere; arrays whose core is contiguous are transposed in registers. Floating-point flags are
put back as they were, so that NumPy finds nothing to warn of.
"""

from contextlib import ExitStack, contextmanager

from .llvm import Kind
from .program import Input, Output, Program
from .rolled_program import RolledProgram

LEAST = 2048  # samples that make a thread worth starting


class Text:
    """Lines of one function, with fresh names and loops whose counters live on the stack until they are promoted."""

    def __init__(self):
        self.lines: list[str] = []
        self.count = 0

    def name(self, prefix: str = "v") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def do(self, text: str) -> None:
        self.lines.append(text)

    def let(self, text: str) -> str:
        name = f"%{self.name()}"
        self.lines.append(f"{name} = {text}")
        return name

    def at(self, base: str, *offsets: str) -> str:
        """A pointer moved by bytes."""
        for offset in offsets:
            base = self.let(f"getelementptr i8, ptr {base}, i64 {offset}")
        return base

    def times(self, a: str, b) -> str:
        return self.let(f"mul i64 {a}, {b}")

    def plus(self, a: str, b) -> str:
        return self.let(f"add i64 {a}, {b}")

    def element(self, array: str, index) -> str:
        return self.let(f"load i64, ptr {self.at(array, str(8 * index))}")

    @contextmanager
    def loop(self, count: str, start: str = "0", step: str = "1"):
        """for i in range(start, count, step), i a name."""
        label = self.name("loop")
        counter = self.let("alloca i64")
        self.do(f"store i64 {start}, ptr {counter}\nbr label %{label}head\n{label}head:")
        i = self.let(f"load i64, ptr {counter}")
        more = self.let(f"icmp slt i64 {i}, {count}")
        self.do(f"br i1 {more}, label %{label}body, label %{label}end\n{label}body:")
        yield i
        self.do(f"store i64 {self.plus(i, step)}, ptr {counter}\nbr label %{label}head\n{label}end:")

    @contextmanager
    def when(self, truth: str):
        label = self.name("if")
        self.do(f"br i1 {truth}, label %{label}then, label %{label}end\n{label}then:")
        yield
        self.do(f"br label %{label}end\n{label}end:")

    def choose(self, truth: str, then, otherwise) -> None:
        label = self.name("choice")
        self.do(f"br i1 {truth}, label %{label}then, label %{label}else\n{label}then:")
        then()
        self.do(f"br label %{label}end\n{label}else:")
        otherwise()
        self.do(f"br label %{label}end\n{label}end:")

    def function(self, head: str) -> str:
        return f"define internal void @{head} {{\n" + "\n".join([*self.lines, "ret void", "}"]) + "\n"


def core_dimensions(program: Program | RolledProgram) -> int:
    """How many core dimensions the arguments have at most."""
    arguments: list[Input | Output] = [*program.inputs, *program.outputs]
    return max(1, *(len(x.shape) for x in arguments))


def strided(kind: Kind, to_lanes: bool, dims: int) -> str:
    """Any strides, `count` samples: one entry after another."""
    t, T, size = Text(), kind.dtype, kind.bytes
    with ExitStack() as loops:
        lane = loops.enter_context(t.loop("%count"))
        user, e = t.at("%user", t.times(lane, "%outer")), "0"
        for n in range(dims):
            i = loops.enter_context(t.loop(f"%d{n}"))
            user, e = t.at(user, t.times(i, f"%s{n}")), t.plus(t.times(e, f"%d{n}"), i)
        place = t.at("%lanes", t.times(t.plus(t.times(e, kind.width), lane), size))
        source, target = (user, place) if to_lanes else (place, user)
        t.do(f"store {T} {t.let(f'load {T}, ptr {source}, align 1')}, ptr {target}, align 1")
    name = "pack" if to_lanes else "unpack"
    sizes = ", ".join(f"i64 %{letter}{n}" for letter in "ds" for n in range(dims))
    return t.function(f"{name}(ptr %lanes, ptr %user, i64 %outer, i64 %count, {sizes}) noinline nounwind")


def transposed(kind: Kind, to_lanes: bool) -> str:
    """Contiguous core of `m` entries, all lanes: squares of width x width turned in registers, the rest entry by entry."""
    t, T, V, w, size = Text(), kind.dtype, kind.vector, kind.width, kind.bytes
    whole = t.let(f"and i64 %m, {-w}")
    with t.loop(whole, step=str(w)) as e:
        user = t.at("%user", t.times(e, size))
        lanes = t.at("%lanes", t.times(e, size * w))
        users = [user]
        for _ in range(1, w):
            users.append(t.at(users[-1], "%outer"))
        places = [t.at(lanes, str(l * w * size)) for l in range(w)]
        sources, targets = (users, places) if to_lanes else (places, users)
        rows = [t.let(f"load {V}, ptr {p}, align {size}") for p in sources]
        for row, target in zip(_transpose(t, V, rows), targets):
            t.do(f"store {V} {row}, ptr {target}, align {size}")
    with t.loop("%m", start=whole) as e:
        user, lanes = t.at("%user", t.times(e, size)), t.at("%lanes", t.times(e, size * w))
        for lane in range(w):
            place = t.at(lanes, str(lane * size))
            source, target = (user, place) if to_lanes else (place, user)
            t.do(f"store {T} {t.let(f'load {T}, ptr {source}, align {size}')}, ptr {target}, align {size}")
            user = t.at(user, "%outer")
    name = "pack_contiguous" if to_lanes else "unpack_contiguous"
    return t.function(f"{name}(ptr %lanes, ptr %user, i64 %outer, i64 %m) noinline nounwind")


def _transpose(t: Text, V: str, rows: list[str]) -> list[str]:
    """Rows become columns in log₂ w rounds of shuffles, each swapping halves of twice the size of the round before."""
    w, half = len(rows), 1
    while half < w:
        out = list(rows)
        for i in range(w):
            if not i & half:
                a, b = rows[i], rows[i | half]
                low = [l if not l & half else w + (l ^ half) for l in range(w)]
                high = [(l | half) if not l & half else w + l for l in range(w)]
                for target, mask in ((i, low), (i | half, high)):
                    picks = ", ".join(f"i32 {l}" for l in mask)
                    out[target] = t.let(f"shufflevector {V} {a}, {V} {b}, <{w} x i32> <{picks}>")
        rows, half = out, half * 2
    return rows


def run(program: Program | RolledProgram, wide: Kind) -> str:
    """@range: `count` samples from sample `start` on."""
    t, size, w = Text(), wide.bytes, wide.width
    arguments: list[Input | Output] = [*program.inputs, *program.outputs]
    user, outer, core, contiguous, room = [], [], [], [], 0
    places: list[int] = []
    at, dims = len(arguments), core_dimensions(program)
    for j, argument in enumerate(arguments):
        outer.append(t.element("%steps", j))
        user.append(t.at(t.let(f"load ptr, ptr {t.at('%args', str(8 * j))}"), t.times("%start", outer[j])))
        shape = (1,) * (dims - len(argument.shape)) + argument.shape
        strides = ["0"] * (dims - len(argument.shape)) + [t.element("%steps", at + i) for i in range(len(argument.shape))]
        at += len(argument.shape)
        core.append(", ".join(f"i64 {d}" for d in shape) + ", " + ", ".join(f"i64 {s}" for s in strides))
        dense, truth = size, "true"
        for d, s in zip(reversed(shape), reversed(strides)):
            if d > 1:
                truth = t.let(f"and i1 {truth}, {t.let(f'icmp eq i64 {s}, {dense}')}")
            dense *= d
        contiguous.append(truth)
        places.append(room)
        room += (argument.size * w * size + 63) // 64 * 64
    dense_all = "true"
    for truth in contiguous:
        dense_all = t.let(f"and i1 {dense_all}, {truth}")
    n_in = len(program.inputs)
    buffer = ""

    def move(direction, j, lanes, sample, count, packed: Kind, full: bool):
        source = t.at(user[j], t.times(sample, outer[j]))

        def by_strides():
            name = direction if packed.width > 1 else f"{direction}_one"
            t.do(f"call void @{name}(ptr {lanes}, ptr {source}, i64 {outer[j]}, i64 {count}, {core[j]})")

        if full:
            m = arguments[j].size
            t.choose(
                contiguous[j],
                lambda: t.do(f"call void @{direction}_contiguous(ptr {lanes}, ptr {source}, i64 {outer[j]}, i64 {m})"),
                by_strides,
            )
        else:
            by_strides()

    def through(kernel, kind, sample, count, full, aligned):
        lanes = [t.at(buffer, str(p)) for p in places]
        for j in range(n_in):
            move("pack", j, lanes[j], sample, count, kind, full)
        t.do(f"call void @{kernel}({', '.join(f'ptr {p}' for p in [*lanes, aligned, '%data'])})")
        for j in range(n_in, len(arguments)):
            move("unpack", j, lanes[j], sample, count, kind, full)

    least = 2 if w > 2 else w
    work = program.workspace

    def scratch(lanes: int) -> tuple[str, str]:
        """Memory for a kernel to work in: what an earlier call left, or new."""
        if not work:
            return "null", "null"
        left = t.let(f"atomicrmw xchg ptr {t.at('%data', '8' if lanes == 1 else '16')}, ptr null acquire")
        place = t.let("alloca ptr")
        t.do(f"store ptr {left}, ptr {place}")
        with t.when(t.let(f"icmp eq ptr {left}, null")):
            t.do(f"store ptr {t.let(f'call ptr @malloc(i64 {work * lanes * size + 64})')}, ptr {place}")
        raw = t.let(f"load ptr, ptr {place}")
        return raw, _aligned(t, raw)

    def give_back(raw: str, lanes: int) -> None:
        if work:
            other = t.let(f"atomicrmw xchg ptr {t.at('%data', '8' if lanes == 1 else '16')}, ptr {raw} release")
            t.do(f"call void @free(ptr {other})")

    single = t.let(f"icmp slt i64 %count, {least}")
    alone = t.let(f"and i1 {single}, {dense_all}")

    def directly():
        raw, aligned = scratch(1)
        with t.loop("%count") as i:
            pointers = [t.at(user[j], t.times(i, outer[j])) for j in range(len(arguments))]
            t.do(f"call void @one({', '.join(f'ptr {p}' for p in [*pointers, aligned, '%data'])})")
        give_back(raw, 1)

    def in_lanes():
        nonlocal buffer
        room_for_work, aligned = scratch(w)
        raw = t.let(f"call ptr @malloc(i64 {room + 64})")
        buffer = _aligned(t, raw)
        whole = t.let(f"and i64 %count, {-w}")
        with t.loop(whole, step=str(w)) as i:
            through("wide", wide, i, str(w), True, aligned)
        rest = t.let(f"sub i64 %count, {whole}")
        many = t.let(f"icmp sge i64 {rest}, {least}")

        def together():
            through("wide", wide, whole, rest, False, aligned)

        def one_by_one():
            with t.loop("%count", start=whole) as i:
                through("one", Kind(wide.dtype, 1), i, "1", False, aligned)

        t.choose(many, together, one_by_one)
        t.do(f"call void @free(ptr {raw})")
        give_back(room_for_work, w)

    t.choose(alone, directly, in_lanes)
    return t.function("range(ptr %args, ptr %steps, i64 %start, i64 %count, ptr %data) noinline nounwind")


def _aligned(t: Text, pointer: str) -> str:
    """The first multiple of 64 within 64 bytes."""
    return t.let(f"call ptr @llvm.ptrmask.p0.i64(ptr {t.at(pointer, '63')}, i64 -64)")


def loop(x86: bool) -> str:
    """@loop(args, dims, steps, data): data begins with a pointer to the number of threads allowed."""
    t = Text()
    t.do("%n = load i64, ptr %dims")
    state = t.let("alloca [64 x i8], align 16")
    t.do(f"call void @llvm.x86.sse.stmxcsr(ptr {state})" if x86 else f"%kept = call i32 @fegetenv(ptr {state})")
    useful = t.let(f"sdiv i64 %n, {LEAST}")
    allowed = t.let(f"load i64, ptr {t.let('load ptr, ptr %data')}")
    team = t.let(f"call i64 @llvm.smin.i64(i64 {useful}, i64 {allowed})")
    team = t.let(f"call i64 @llvm.smin.i64(i64 {team}, i64 64)")
    alone = t.let(f"icmp slt i64 {team}, 2")
    t.choose(
        alone,
        lambda: t.do("call void @range(ptr %args, ptr %steps, i64 0, i64 %n, ptr %data)"),
        lambda: t.do(f"call void @split(ptr %args, ptr %steps, i64 %n, i64 {team}, ptr %data)"),
    )
    t.do(f"call void @llvm.x86.sse.ldmxcsr(ptr {state})" if x86 else f"%back = call i32 @fesetenv(ptr {state})")
    return t.function("loop(ptr %args, ptr %dims, ptr %steps, ptr %data) nounwind").replace("define internal", "define")


def split() -> str:
    """@split: a batch shared out over `team` threads, made and joined here, so that nothing outlives the call."""
    t = Text()
    jobs, ids = t.let("alloca [64 x [5 x i64]]"), t.let("alloca [64 x i64]")
    share = t.let("sdiv i64 %n, %team")
    with t.loop("%team") as i:
        job, start = t.at(jobs, t.times(i, 40)), t.times(i, share)
        last = t.let(f"icmp eq i64 {t.plus(i, 1)}, %team")
        count = t.let(f"select i1 {last}, i64 {t.let(f'sub i64 %n, {start}')}, i64 {share}")
        for k, value in enumerate(("ptr %args", "ptr %steps", f"i64 {start}", f"i64 {count}", "ptr %data")):
            t.do(f"store {value}, ptr {t.at(job, str(8 * k))}")
    with t.loop("%team", start="1") as i:
        slot, job = t.at(ids, t.times(i, 8)), t.at(jobs, t.times(i, 40))
        failed = t.let(f"call i32 @pthread_create(ptr {slot}, ptr null, ptr @job, ptr {job})")
        refused = t.let(f"icmp ne i32 {failed}, 0")

        def here(slot=slot, job=job):
            t.do(f"store i64 0, ptr {slot}")
            t.let(f"call ptr @job(ptr {job})")

        t.choose(refused, here, lambda: None)
    t.let(f"call ptr @job(ptr {jobs})")
    with t.loop("%team", start="1") as i:
        thread = t.let(f"load i64, ptr {t.at(ids, t.times(i, 8))}")
        with t.when(t.let(f"icmp ne i64 {thread}, 0")):
            t.let(f"call i32 @pthread_join(i64 {thread}, ptr null)")
    return t.function("split(ptr %args, ptr %steps, i64 %n, i64 %team, ptr %data) noinline nounwind")


# A job is {args, steps, start, count, data}.
JOB = """define internal ptr @job(ptr %j) nounwind {
%args = load ptr, ptr %j
%p1 = getelementptr i8, ptr %j, i64 8
%steps = load ptr, ptr %p1
%p2 = getelementptr i8, ptr %j, i64 16
%start = load i64, ptr %p2
%p3 = getelementptr i8, ptr %j, i64 24
%count = load i64, ptr %p3
%p4 = getelementptr i8, ptr %j, i64 32
%data = load ptr, ptr %p4
call void @range(ptr %args, ptr %steps, i64 %start, i64 %count, ptr %data)
ret ptr null
}
"""

FLAGS = {
    True: "declare void @llvm.x86.sse.stmxcsr(ptr)\ndeclare void @llvm.x86.sse.ldmxcsr(ptr)\n",
    False: "declare i32 @fegetenv(ptr)\ndeclare i32 @fesetenv(ptr)\n",
}  # how the floating-point flags are kept, on x86 and elsewhere

DECLARATIONS = """declare ptr @malloc(i64)
declare void @free(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare ptr @llvm.ptrmask.p0.i64(ptr, i64)
declare i64 @llvm.smin.i64(i64, i64)
"""
