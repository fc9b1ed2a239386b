"""Kernels on arrays that live on a GPU: the same kind of array out, on the caller's stream, nothing copied to the host."""

import ctypes
import sys
from math import prod

import numpy as np

from . import cache, cuda, ptx
from .cuda import DeviceError
from .kernel import Kernel
from .rolled_program import RolledProgram

NAMES = {"float64": "double", "float32": "float"}


def on_device(x) -> bool:
    """Does an array live on a GPU?"""
    return hasattr(x, "__cuda_array_interface__") if not _is_torch(x) else x.is_cuda


def _is_torch(x) -> bool:
    return type(x).__module__.partition(".")[0] == "torch"


class Library:
    """What torch and CuPy are asked for: room, views, the current stream."""

    def __init__(self, x):
        self.torch = _is_torch(x)
        self.module = sys.modules["torch" if self.torch else "cupy"]
        self.device = x.device.index or 0 if self.torch else x.device.id

    def stream(self) -> int:
        if self.torch:
            return self.module.cuda.current_stream(self.device).cuda_stream
        return self.module.cuda.get_current_stream().ptr

    def empty(self, shape, like):
        if self.torch:
            return self.module.empty(shape, dtype=like.dtype, device=like.device)
        return self.module.empty(shape, dtype=like.dtype)

    def whole(self, x, shape):
        """x with this shape, its samples evenly apart: a view where it can be, a copy where not."""
        return x if tuple(x.shape) == shape else self.module.broadcast_to(x, shape)

    def contiguous(self, x):
        return x.contiguous() if self.torch else self.module.ascontiguousarray(x)

    def strides(self, x) -> tuple[int, ...]:
        return tuple(x.stride()) if self.torch else tuple(s // x.itemsize for s in x.strides)

    def pointer(self, x) -> int:
        return x.data_ptr() if self.torch else x.data.ptr


def name_of(x) -> str:
    """The scalar type of an array, as LLVM calls it."""
    found = NAMES.get(str(x.dtype).removeprefix("torch."))
    if found is None:
        raise DeviceError(f"an array on the GPU has dtype {x.dtype}; kernels take float64 or float32.")
    return found


class DeviceKernel:
    """A kernel as a function of arrays on GPUs, made for each layout, type and device it meets."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self._ready: dict = {}

    def __call__(self, *arrays, out=None):
        if not all(on_device(x) for x in arrays):
            where = ", ".join(f"{i.name} on the {'GPU' if on_device(x) else 'CPU'}" for i, x in zip(self.kernel.inputs, arrays))
            raise DeviceError(f"arrays live in different places ({where}); move them to one: x.cuda(), cupy.asarray(x).")
        if any(_is_torch(x) and x.requires_grad for x in arrays):
            raise DeviceError("a tensor requires grad, and kernels have no gradients yet: pass x.detach().")
        library = Library(arrays[0])
        kinds = {name_of(x) for x in arrays}
        if len(kinds) > 1:
            raise DeviceError("arrays on the GPU mix float64 and float32; convert them to one.")
        cores = [x.shape for x in self.kernel.inputs]
        batches = [tuple(x.shape)[: len(x.shape) - len(core)] for x, core in zip(arrays, cores)]
        batch = np.broadcast_shapes(*batches)
        outputs = [x.shape for x in self.kernel.program.outputs]
        outs = [library.empty((*batch, *shape), arrays[0]) for shape in outputs] if out is None else _as_list(out)
        placed = [_placed(library, x, batch, core) for x, core in zip(arrays, cores)]
        targets = [_placed(library, x, batch, core, writable=True) for x, core in zip(outs, outputs)]
        count = prod(batch)
        if count:
            layouts = tuple(p[1] for p in (*placed, *targets))
            cuda.enter(library.device)
            flag, functions = self._functions(layouts, kinds.pop(), library.device)
            arguments: list = [ctypes.c_int64(count), ctypes.c_void_p(flag)]
            for x, _, step in (*placed, *targets):
                arguments += [ctypes.c_void_p(library.pointer(x)), ctypes.c_int64(step)]
            stream = library.stream()
            for function in functions:
                function.launch(count, ptx.THREADS, stream, arguments)
        return outs[0] if len(outs) == 1 and not isinstance(out, (list, tuple)) else tuple(outs)

    def _functions(self, layouts, dtype, device) -> tuple[int, list[cuda.Function]]:
        """The flag and the kernels to launch one behind the other."""
        key = layouts, dtype, device
        if key not in self._ready:
            chip = cuda.chip(device)
            program = self.kernel.program
            if isinstance(program, RolledProgram):
                raise DeviceError("rolled kernels run on the CPU only.")
            text = ptx.text(program, dtype, layouts)
            name = cache.key("ptx", text, chip, cuda.version(), cache.source_digest())
            found = cache.get(name)
            if found is None:
                image = cuda.linked(ptx.ptx(text, chip))
                cache.put(name, {"name": self.kernel.name, "dtype": dtype, "chip": chip}, image)
            else:
                image = found[1]
            names = ["kernel", "far"] if "@far" in text else ["kernel"]
            self._ready[key] = cuda.flag(), cuda.loaded(image, *names)
        return self._ready[key]


def _as_list(out):
    return list(out) if isinstance(out, (list, tuple)) else [out]


def _placed(library, x, batch, core, writable=False):
    """An array as a kernel takes it: (array, layout, step), its samples evenly apart."""
    shape = (*batch, *core)
    x = library.whole(x, shape)
    strides = library.strides(x)
    outer, inner = strides[: len(batch)], strides[len(batch) :]
    step = _even(batch, outer)
    if step is not None and _even(core, inner, 1) == 1:
        return x, "rows", step
    if _even(batch, outer, 1) == 1 and (entry := _even(core, inner)) is not None:
        return x, "columns", entry
    if writable:
        raise DeviceError("out= on the GPU must have its samples, or its entries, side by side in memory.")
    x = library.contiguous(x)
    return x, "rows", prod(core)


def _even(shape, strides, alone=0):
    """The one step that walks these axes in order, if there is one; `alone` where there is but one entry."""
    axes = [(n, s) for n, s in zip(shape, strides) if n != 1]
    if not axes:
        return alone
    step = axes[-1][1]
    expected = step
    for n, s in reversed(axes):
        if s != expected and not (s == 0 and step == 0):
            return None
        expected = s * n
    return step
