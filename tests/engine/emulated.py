"""A GPU kernel's own text run on the CPU, thread after thread. Threads of a block that wait for each other cannot be."""

import ctypes
import re

from linkwork.engine.loading import compiler
from linkwork.engine.running import ptx

THREAD = {"tid": "@thread", "ctaid": "@block", "nctaid": "@blocks"}


def emulated(text: str, name: str = "kernel"):
    """A function of (samples, ctypes arguments...) that does what launching the kernel does."""
    assert "barrier.cta.sync" not in text.replace(ptx.DECLARATIONS, ""), "threads that wait for each other"
    text = text.replace('target triple = "nvptx64-nvidia-cuda"\n', "").replace("ptx_kernel ", "").replace("ptr addrspace(1)", "ptr")
    for register, place in THREAD.items():
        text = text.replace(f"declare i32 @llvm.nvvm.read.ptx.sreg.{register}.x()\n", f"{place} = internal global i32 0\n")
        text = text.replace(f"call i32 @llvm.nvvm.read.ptx.sreg.{register}.x()", f"load i32, ptr {place}")
    kinds = re.findall(r"(i64|ptr)(?: noalias)? %\w+", re.search(rf"@{name}\((.*?)\) \"", text)[1])
    text = text.replace("declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n", "") + _launch(name, kinds)
    code = compiler.Code(compiler.compiled(text), "launch")
    run = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_int64 if k == "i64" else ctypes.c_void_p for k in kinds])(code.addresses[0])
    return lambda samples, *arguments, held=code: run(-(-samples // ptx.THREADS), *arguments)


def _launch(name: str, kinds: list[str]) -> str:
    arguments = ", ".join(f"{kind} %a{j}" for j, kind in enumerate(kinds))
    return f"""define void @launch(i64 %blocks, {arguments}) {{
entry:
%all = trunc i64 %blocks to i32
store i32 %all, ptr @blocks
%count = mul i64 %blocks, {ptx.THREADS}
br label %each
each:
%i = phi i64 [ 0, %entry ], [ %next, %each ]
%block = udiv i64 %i, {ptx.THREADS}
%thread = urem i64 %i, {ptx.THREADS}
%b = trunc i64 %block to i32
%t = trunc i64 %thread to i32
store i32 %b, ptr @block
store i32 %t, ptr @thread
call void @{name}({arguments})
%next = add i64 %i, 1
%more = icmp slt i64 %next, %count
br i1 %more, label %each, label %end
end:
ret void
}}
"""
