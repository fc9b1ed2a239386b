"""A rolled program as PTX: one thread for each sample, its scratch memory side by side with its neighbours'."""

from . import rolled_llvm
from .llvm import Kind, needed_functions
from .ptx import BLOCK, OWN, THREADS, defined, module
from .rolled_program import RolledProgram


def text(program: RolledProgram, dtype: str, layouts: tuple[str, ...]) -> str:
    """The module of @kernel(n, data, work, (pointer, step)...): layouts and steps as of any kernel; `data` points to the
    tables; `work` is scratch memory for all threads, which may be fewer than the samples."""
    kind, count = Kind(dtype, 1), len(layouts)
    arguments = ", ".join(f"ptr %b{j}, i64 %s{j}" for j in range(count))
    head = f"(i64 %n, ptr %data, ptr %room, {arguments}) {BLOCK}"
    body = rolled_llvm.function(program, kind, "one", "", strided=True)
    return module(kind, needed_functions(program), body, defined("kernel", head, _lines(kind, layouts)))


def _lines(kind: Kind, layouts: tuple[str, ...]) -> list[str]:
    """Samples from the thread's own, on by the number of threads."""
    size, ways = kind.bytes, list(enumerate(layouts))
    lines = [
        OWN,
        "%blocks = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()\n%blocks64 = zext i32 %blocks to i64",
        f"%threads = mul i64 %blocks64, {THREADS}\n%on.work = mul i64 %threads, {size}\n%mine = mul i64 %own, {size}",
        "%work = getelementptr i8, ptr %room, i64 %mine",
        *(f"%bytes{j} = mul i64 %s{j}, {size}" for j, _ in ways),
        "br label %each\neach:\n%i = phi i64 [ %own, %0 ], [ %then, %go ]\n%inside = icmp slt i64 %i, %n",
        "br i1 %inside, label %go, label %end\ngo:",
    ]
    for j, layout in ways:
        lines.append(f"%skip{j} = mul i64 %i, {f'%bytes{j}' if layout == 'rows' else size}")
        lines.append(f"%a{j} = getelementptr i8, ptr %b{j}, i64 %skip{j}")
    given = ", ".join(f"ptr %a{j}" for j, _ in ways)
    strides = ", ".join(f"i64 {size if layout == 'rows' else f'%bytes{j}'}" for j, layout in ways)
    lines.append(f"call void @one({given}, ptr %work, ptr %data, i64 %on.work, {strides})")
    return [*lines, "%then = add i64 %i, %threads\nbr label %each\nend:\nret void"]
