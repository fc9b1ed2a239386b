"""A rolled program as PTX: one thread for each sample, its scratch memory side by side with its neighbours'."""

from ..tracing.rolled_program import RolledProgram
from ..writers import rolled_llvm
from ..writers.llvm import Kind, needed_functions
from ..writers.llvm_text import Text
from .ptx import BLOCK, SHARES, defined, module


def text(program: RolledProgram, dtype: str, layouts: tuple[str, ...]) -> str:
    """The module of @kernel(n, data, work, (pointer, step)...): layouts and steps as of any kernel; `data` points to the
    tables; `work` is scratch memory for all threads, which may be fewer than the samples."""
    kind, count = Kind(dtype, 1), len(layouts)
    arguments = ", ".join(f"ptr %b{j}, i64 %s{j}" for j in range(count))
    head = f"(i64 %n, ptr %data, ptr %room, {arguments}) {BLOCK}"
    body = rolled_llvm.function(program, kind, "one", "", strided=True)
    return module(kind, needed_functions(program), body, defined("kernel", head, _samples(kind, layouts)))


def _samples(kind: Kind, layouts: tuple[str, ...]) -> list[str]:
    """Samples from the thread's own, on by the number of threads."""
    t, size = Text(), kind.bytes
    t.do(f"{SHARES}\n%on.work = mul i64 %threads, {size}\n%mine = mul i64 %own, {size}")
    t.do("%work = getelementptr i8, ptr %room, i64 %mine")
    bytes_ = [f"%bytes{j}" for j in range(len(layouts))]
    for j, step in enumerate(bytes_):
        t.do(f"{step} = mul i64 %s{j}, {size}")
    strides = [size if layout == "rows" else step for layout, step in zip(layouts, bytes_)]
    with t.loop("%n", start="%own", step="%threads") as i:
        steps = [step if layout == "rows" else size for layout, step in zip(layouts, bytes_)]
        places = [t.at(f"%b{j}", t.times(i, step)) for j, step in enumerate(steps)]
        given = [*(f"ptr {x}" for x in (*places, "%work", "%data")), *(f"i64 {x}" for x in ("%on.work", *strides))]
        t.do(f"call void @one({', '.join(given)})")
    return [*t.body, "ret void"]
