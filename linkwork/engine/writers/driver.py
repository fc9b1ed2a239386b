"""The loop around a kernel that NumPy calls: it lays samples side by side, runs the kernel, and lays the results back.

    @loop    what NumPy calls; splits a long batch over threads
    @range   a run of samples (samples.py)
    @pack    core arrays of `width` samples, any strides, to lanes: entry e of sample l goes to lanes[e * width + l]
    @unpack  the way back; @unpack_once from lanes that hold each different entry once, e being at places[e]

Strides are honoured everywhere; arrays whose core is contiguous are transposed in registers. Floating-point flags are
restored at the end, so that NumPy issues no warnings.
"""

from contextlib import ExitStack

from ..tracing.program import Input, Output, Program
from ..tracing.rolled_program import RolledProgram
from .llvm import Kind
from .llvm_text import Text

LEAST = 2048  # samples that make a thread worth starting


def core_dimensions(program: Program | RolledProgram) -> int:
    """How many core dimensions the arguments have at most."""
    arguments: list[Input | Output] = [*program.inputs, *program.outputs]
    return max(1, *(len(x.shape) for x in arguments))


def lane_places(program: Program | RolledProgram, kind: Kind) -> list[int]:
    """Where in the lanes the arguments begin, and their end, in bytes."""
    places, arguments = [0], list[Input | Output]((*program.inputs, *program.outputs))
    for x in arguments:
        places.append(places[-1] + lane_bytes(x, kind))
    return places


def lane_bytes(argument: Input | Output, kind: Kind) -> int:
    return (argument.size * kind.size + 63) // 64 * 64


def strided(kind: Kind, to_lanes: bool, dims: int, once: bool = False) -> str:
    """Any strides, `count` samples: one entry after another."""
    t, T, size = Text(), kind.dtype, kind.bytes
    with ExitStack() as loops:
        lane = loops.enter_context(t.loop("%count"))
        user, e = t.at("%user", t.times(lane, "%outer")), "0"
        for n in range(dims):
            i = loops.enter_context(t.loop(f"%d{n}"))
            user, e = t.at(user, t.times(i, f"%s{n}")), t.plus(t.times(e, f"%d{n}"), i)
        place = t.at("%lanes", t.times(t.plus(t.times(_slot(t, e, once), kind.width), lane), size))
        source, target = (user, place) if to_lanes else (place, user)
        t.do(f"store {T} {t.let(f'load {T}, ptr {source}, align 1')}, ptr {target}, align 1")
    name = "pack" if to_lanes else "unpack"
    sizes = ", ".join(f"i64 %{letter}{n}" for letter in "ds" for n in range(dims))
    return t.function(f"{_named(name, once)}%lanes, ptr %user, i64 %outer, i64 %count, {sizes}) noinline nounwind")


def _named(name: str, once: bool) -> str:
    """The beginning of a function that finds entries in lanes."""
    return f"{name}_once(ptr %places, ptr " if once else f"{name}(ptr "


def _slot(t: Text, e: str, once: bool) -> str:
    """Where entry e is in the lanes."""
    return t.let(f"load i64, ptr {t.at('%places', t.times(e, 8))}") if once else e


def transposed(kind: Kind, to_lanes: bool, once: bool = False) -> str:
    """Contiguous core of `m` entries, all lanes: squares turned in registers, the rest entry by entry."""
    t, T, w, size = Text(), kind.dtype, kind.width, kind.bytes
    whole = t.let(f"and i64 %m, {-w}")
    with t.loop(whole, step=str(w)) as e:
        users = [t.at("%user", t.times(e, size))]
        for _ in range(1, w):
            users.append(t.at(users[-1], "%outer"))
        places = [t.at("%lanes", t.times(_slot(t, t.plus(e, l), once), size * w)) for l in range(w)]
        sources, targets = (users, places) if to_lanes else (places, users)
        found = [t.let(f"load {kind.vector}, ptr {p}, align {size}") for p in sources]
        for row, target in zip(_transpose(t, kind, found), targets):
            t.do(f"store {kind.vector} {row}, ptr {target}, align {size}")
    with t.loop("%m", start=whole) as e:
        user, lanes = t.at("%user", t.times(e, size)), t.at("%lanes", t.times(_slot(t, e, once), size * w))
        for lane in range(w):
            place = t.at(lanes, str(lane * size))
            source, target = (user, place) if to_lanes else (place, user)
            t.do(f"store {T} {t.let(f'load {T}, ptr {source}, align {size}')}, ptr {target}, align {size}")
            user = t.at(user, "%outer")
    name = "pack_contiguous" if to_lanes else "unpack_contiguous"
    return t.function(f"{_named(name, once)}%lanes, ptr %user, i64 %outer, i64 %m) noinline nounwind")


def streamed(kind: Kind, once: bool = False) -> str:
    """@unpack_streamed: as @unpack_contiguous, past the caches, for results larger than those: a sample's numbers are first
    laid side by side in `rows`, which stays in cache, then written in whole lines that are not read before."""
    t, T, V, w, size = Text(), kind.dtype, kind.vector, kind.width, kind.bytes
    length = t.times("%m", size)
    t.do(f"call void @{_named('unpack_contiguous', once)}%lanes, ptr %rows, i64 {length}, i64 %m)")
    with t.loop(str(w)) as lane:
        row, user = t.at("%rows", t.times(lane, length)), t.at("%user", t.times(lane, "%outer"))
        address = t.let(f"ptrtoint ptr {user} to i64")
        before = t.let(f"and i64 {t.let(f'sub i64 0, {address}')}, {w * size - 1}")
        head = t.let(f"call i64 @llvm.smin.i64(i64 {t.let(f'udiv i64 {before}, {size}')}, i64 %m)")
        whole = t.let(f"and i64 {t.let(f'sub i64 %m, {head}')}, {-w}")
        tail = t.plus(head, whole)
        for start, stop, step, kind_of in (("0", head, "1", T), (head, tail, str(w), V), (tail, "%m", "1", T)):
            with t.loop(stop, start, step) as e:
                source, target = (t.at(x, t.times(e, size)) for x in (row, user))
                align, hint = (w * size, ", !nontemporal !0") if kind_of == V else (size, "")
                t.do(f"store {kind_of} {t.let(f'load {kind_of}, ptr {source}, align {size}')}, ptr {target}, align {align}{hint}")
    return t.function(f"{_named('unpack_streamed', once)}%lanes, ptr %user, i64 %outer, i64 %m, ptr %rows) noinline nounwind")


def _transpose(t: Text, kind: Kind, rows: list[str]) -> list[str]:
    """Rows become columns in log₂ w rounds of shuffles, each swapping halves of twice the size of the round before."""
    w, V, half = kind.width, kind.vector, 1
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


def loop(x86: bool, least: int) -> str:
    """@loop(args, dims, steps, data): data begins with a pointer to the number of threads allowed."""
    t = Text()
    t.do("%n = load i64, ptr %dims")
    state = t.room("[64 x i8], align 16")
    t.do(f"call void @llvm.x86.sse.stmxcsr(ptr {state})" if x86 else f"%kept = call i32 @fegetenv(ptr {state})")
    useful = t.let(f"sdiv i64 %n, {least}")
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
    """@split: a batch divided among `team` threads, which are started and joined here."""
    t = Text()
    jobs, ids = t.room("[64 x [5 x i64]]"), t.room("[64 x i64]")
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


def job() -> str:
    """@job: what one thread does, {args, steps, start, count, data}."""
    t, kinds = Text(), ("ptr", "ptr", "i64", "i64", "ptr")
    words = ", ".join(f"{kind} {t.word('%j', 8 * k, kind)}" for k, kind in enumerate(kinds))
    lines = [*t.lines, f"call void @range({words})", "ret ptr null", "}\n"]
    return "\n".join(["define internal ptr @job(ptr %j) nounwind {", *lines])


FLAGS = {
    True: "declare void @llvm.x86.sse.stmxcsr(ptr)\ndeclare void @llvm.x86.sse.ldmxcsr(ptr)\n",
    False: "declare i32 @fegetenv(ptr)\ndeclare i32 @fesetenv(ptr)\n",
}  # how the floating-point flags are kept, on x86 and elsewhere

DECLARATIONS = """!0 = !{i32 1}
declare ptr @malloc(i64)
declare void @free(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare ptr @llvm.ptrmask.p0.i64(ptr, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""
