"""Kernels on arrays that live on a GPU: the same kind of array out, on the caller's stream, nothing copied to the host."""

import sys
from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..loading import cuda
from ..loading.compiled import Machine, Made, compiled, shapes
from ..loading.cuda import DeviceError
from ..loading.kernel import Kernel
from ..tracing.program import Program
from . import ptx, ptx_repeat, ptx_rolled
from .repeat import Form

WORKSPACE = 1 << 32  # bytes of scratch memory, at most
NAMES = {"float64": "double", "float32": "float"}


def on_device(x) -> bool:
    """Does an array live on a GPU?"""
    return hasattr(x, "__cuda_array_interface__") if not _is_torch(x) else x.is_cuda


def _is_torch(x) -> bool:
    return type(x).__module__.partition(".")[0] == "torch"


class Library:
    """What torch, CuPy and NumPy are asked for: room, views, the current stream."""

    def __init__(self, x):
        self.torch = _is_torch(x)
        self.module = sys.modules[type(x).__module__.partition(".")[0]] if on_device(x) or self.torch else np
        self.host = not on_device(x)
        self.device: int = 0 if self.host else x.device.index or 0 if self.torch else x.device.id

    def stream(self) -> int:
        if self.torch:
            return self.module.cuda.current_stream(self.device).cuda_stream
        return self.module.cuda.get_current_stream().ptr

    def empty(self, shape, like):
        return self.module.empty(shape, dtype=like.dtype, **self._there(like))

    def full(self, shape, value, like):
        return self.module.full(shape, value, dtype=like.dtype, **self._there(like))

    def multiples(self, step: float, count: int, like):
        """0, step, 2 step ... in float64."""
        return step * self.module.arange(count, dtype=self.module.float64, **self._there(like))

    def _there(self, like) -> dict:
        return {"device": like.device} if self.torch else {}

    def put(self, x: np.ndarray, like):
        """A copy of an array of NumPy where `like` lives."""
        return self.module.asarray(x, **self._there(like))

    def to_host(self, x) -> np.ndarray:
        """A copy of an array as one of NumPy."""
        if not on_device(x):
            return np.asarray(x)
        return x.detach().cpu().numpy() if self.torch else self.module.asnumpy(x)

    def cast(self, x, like):
        return x.to(like.dtype) if self.torch else x.astype(like.dtype, copy=False)

    def whole(self, x, shape):
        """x with this shape, its samples evenly apart: a view where it can be, a copy where not."""
        return x if tuple(x.shape) == shape else self.module.broadcast_to(x, shape)

    def contiguous(self, x):
        return x.contiguous() if self.torch else self.module.ascontiguousarray(x)

    def joined(self, parts):
        """Arrays one after another."""
        return self.module.cat(tuple(parts)) if self.torch else self.module.concatenate(tuple(parts))

    def copy(self, x):
        return x.clone() if self.torch else x.copy()

    def moved(self, x, source: int, target: int):
        """x with one axis elsewhere."""
        return x.movedim(source, target) if self.torch else self.module.moveaxis(x, source, target)

    def strides(self, x) -> tuple[int, ...]:
        return tuple(x.stride()) if self.torch else tuple(s // x.itemsize for s in x.strides)

    def pointer(self, x) -> int:
        return x.data_ptr() if self.torch else x.data.ptr


@lru_cache
def name_of(dtype) -> str:
    """A scalar type as LLVM calls it."""
    found = NAMES.get(str(dtype).removeprefix("torch."))
    if found is None:
        raise DeviceError(f"an array on the GPU has dtype {dtype}; kernels take float64 or float32.")
    return found


def check_place(names, arrays) -> None:
    """Raises unless all arrays are on GPUs and none requires a gradient."""
    if not all(on_device(x) for x in arrays):
        where = ", ".join(f"{name} on the {'GPU' if on_device(x) else 'CPU'}" for name, x in zip(names, arrays))
        raise DeviceError(f"arrays live in different places ({where}); move them to one: x.cuda(), cupy.asarray(x).")
    if any(_is_torch(x) and x.requires_grad for x in arrays):
        raise DeviceError("a tensor requires grad, and this has no gradient: pass x.detach().")


def same_place(names, arrays) -> tuple[Library, str]:
    """The library of arrays that live on one GPU, and their scalar type."""
    check_place(names, arrays)
    kinds = {name_of(x.dtype) for x in arrays}
    if len(kinds) > 1:
        raise DeviceError("arrays on the GPU mix float64 and float32; convert them to one.")
    return Library(arrays[0]), kinds.pop()


class Plan(NamedTuple):
    """How a kernel is launched for arrays of certain shapes, strides and types."""

    library: Library
    samples: int
    wholes: list  # the shape an input must be copied to, or None where it can be read as it is
    shapes: list  # of new results
    steps: list[int]
    launch: "Straight | Rolled | None"


class Straight(NamedTuple):
    """Straight-line code on a device: the kernel, then the one for large angles, which runs only if a flag is set."""

    flag: int
    functions: list[cuda.Function]

    def __call__(self, library: Library, like, count: int, arguments: list[int]) -> None:
        stream = library.stream()
        for function, most in zip(self.functions, (count, ptx.FAR_BLOCKS * ptx.THREADS)):
            function.launch(min(count, most), ptx.THREADS, stream, [count, self.flag, *arguments])


class Rolled(NamedTuple):
    """Rolled code and its tables on a device: as many threads as the scratch memory allows."""

    function: cuda.Function
    data: Any
    tables: list
    workspace: int  # numbers for each thread

    def __call__(self, library: Library, like, count: int, arguments: list[int]) -> None:
        most = max(1, WORKSPACE // (max(1, self.workspace) * like.itemsize * ptx.THREADS))
        threads = min(-(-count // ptx.THREADS), most) * ptx.THREADS
        work = library.empty((threads * max(1, self.workspace),), like)
        pointers = [library.pointer(x) for x in (self.data, work)]
        self.function.launch(threads, ptx.THREADS, library.stream(), [count, *pointers, *arguments])


class DeviceKernel:
    """A kernel as a function of arrays on GPUs, compiled for each combination of layout, type and device when first called."""

    def __init__(self, kernel: Kernel):
        self.kernel, self._made, self._plans = kernel, Made(), dict[tuple, Plan]()

    def __call__(self, *arrays, out=None):
        outs = [] if out is None else _as_list(out)
        seen = tuple(map(_seen, (*arrays, *outs)))
        plan = self._plans.get(seen)
        if plan is None:
            plan = self._plans[seen] = self._plan(arrays, outs)
        library = plan.library
        outs = outs or [library.empty(shape, arrays[0]) for shape in plan.shapes]
        taken = [library.pointer(x) for x in outs]
        given = [library.contiguous(library.whole(x, whole)) if whole else x for x, whole in zip(arrays, plan.wholes)]
        given = [library.copy(x) if library.pointer(x) in taken else x for x in given]
        pointers = [*map(library.pointer, given), *taken]
        if plan.launch is not None:
            cuda.enter(library.device)
            plan.launch(library, arrays[0], plan.samples, [x for pair in zip(pointers, plan.steps) for x in pair])
        return outs[0] if len(outs) == 1 and not isinstance(out, (list, tuple)) else tuple(outs)

    def _plan(self, arrays, outs) -> Plan:
        library, dtype = same_place([*(x.name for x in self.kernel.inputs), *("out" for _ in outs)], [*arrays, *outs])
        cores = [x.shape for x in self.kernel.inputs]
        batch = np.broadcast_shapes(*(tuple(x.shape)[: len(x.shape) - len(core)] for x, core in zip(arrays, cores)))
        results = shapes(self.kernel)
        whole = [(*batch, *shape) for shape in results]
        placed = [_placed(library, x, batch, core) for x, core in zip(arrays, cores)]
        wholes = [None if library.pointer(p.array) == library.pointer(x) else (*batch, *c) for p, x, c in zip(placed, arrays, cores)]
        outs = outs or [library.empty(shape, arrays[0]) for shape in whole]
        placed += [_placed(library, x, batch, core, writable=True) for x, core in zip(outs, results)]
        key, launch = (tuple(p.layout for p in placed), dtype, library.device), None
        if prod(batch):
            cuda.enter(library.device)
            launch = self._made.once(lambda: self._launch(library, arrays[0], *key), *key)
        return Plan(library, prod(batch), wholes, whole, [p.step for p in placed], launch)

    def _launch(self, library: Library, like, layouts, dtype: str, device: int) -> Straight | Rolled:
        kernel = self.kernel
        if kernel.identity is not None or isinstance(kernel.program, Program):  # rolled kernels have no identity
            return Straight(cuda.flag(), loaded(kernel, ("GPU", layouts), lambda x: ptx.text(x, dtype, layouts), dtype, device))
        tables = [library.put(x, like) for x in kernel.program.tables(dtype)]
        data = library.put(np.array([0, 0, 0, *map(library.pointer, tables)]), like)
        function = loaded(kernel, ("GPU", layouts), lambda x: ptx_rolled.text(x, dtype, layouts), dtype, device)[0]
        return Rolled(function, data, tables, kernel.program.workspace)


def _seen(x) -> tuple:
    """What a launch depends on besides the numbers in an array."""
    if _is_torch(x):
        return x.shape, x.stride(), x.dtype, x.device, x.requires_grad
    return x.shape, x.strides, x.dtype, x.device.id if on_device(x) else None


class DeviceRepeat:
    """A repeated kernel (repeat.py) on arrays on GPUs."""

    def __init__(self, kernel: Kernel, form: Form):
        self.kernel, self.form, self._made = kernel, form, Made()

    def _function(self, dtype: str, layouts: tuple[str, ...], library: Library) -> cuda.Function:
        cuda.enter(library.device)
        form, text = ("repeat", *self.form, layouts), lambda program: ptx_repeat.text(program, dtype, layouts, self.form)
        make = lambda: loaded(self.kernel, form, text, dtype, library.device)
        return self._made.once(make, dtype, layouts, library.device)[0]

    def steps(self, arrays: list, kept: list, steps: int, every: int, backwards: bool = False) -> None:
        """As of a Repeat."""
        library, dtype = same_place([x.name for x in self.kernel.inputs], arrays)
        cores = [x.shape for x in self.kernel.inputs]
        batch = tuple(kept[0].shape)[1 : kept[0].ndim - len(cores[0])]
        streamed = range(len(kept), len(kept) + self.form.streams)
        at_steps = [library.moved(x, len(batch), 0) if j in streamed else x for j, x in enumerate(arrays)]
        placed = [
            _placed_rows(library, x, batch, core) if j in streamed else (_placed(library, x, batch, core), 0)
            for j, (x, core) in enumerate(zip(at_steps, cores))
        ]
        placed += [_placed_rows(library, x, batch, core, writable=True) for x, core in zip(kept, cores)]
        function = self._function(dtype, tuple(p.layout for p, _ in placed), library)
        starts, onward = [library.pointer(p.array) for p, _ in placed], [on for _, on in placed]
        moving = *streamed, *range(len(arrays), len(placed))
        if backwards:
            for j in moving:
                rows = len(kept[j - len(arrays)]) if j >= len(arrays) else steps - 1
                starts[j] += onward[j] * rows * arrays[0].itemsize
                onward[j] = -onward[j]
        arguments = [prod(batch), steps, every, *(x for start, (p, _) in zip(starts, placed) for x in (start, p.step))]
        arguments += [onward[j] for j in moving]
        function.launch(prod(batch), ptx.THREADS, library.stream(), arguments)

    def rounds(self, arrays: list, goes, capacity: int, rounds: int) -> tuple[list, list, Any]:
        """The new states, the entries of rows (samples, capacity, shape...) and the number of rows of each sample, or of rounds, of inputs
        (samples, shape...) and streams (samples, rounds, shape...). Samples whose number in `goes` is zero stay as they are; the others
        make so many rounds at most."""
        form, outputs, n_in = self.form, shapes(self.kernel), len(self.kernel.inputs)
        library, dtype = same_place([*(x.name for x in self.kernel.inputs), "goes"], [*arrays, goes])
        samples, like = len(goes), arrays[0]
        entries = [outputs[j - n_in] for j in form.rows(n_in, len(outputs))]
        states = [library.empty((samples, *shape), like) for shape in outputs[: form.states]]
        rows, counts = [library.empty((samples, capacity, *shape), like) for shape in entries], library.empty((samples,), like)
        if not samples:
            return states, rows, counts
        streamed = range(form.states, form.states + form.streams)
        inputs = [(rounds, *x.shape) if j in streamed else x.shape for j, x in enumerate(self.kernel.inputs)]
        given = [library.contiguous(library.whole(x, (samples, *shape))) for x, shape in zip(arrays, inputs)]
        places = [*given, *states, *rows, counts]
        steps = [prod(tuple(x.shape)[1:]) for x in places]
        going = library.contiguous(goes)
        arguments = [samples, rounds, capacity, library.pointer(going)]
        arguments += [y for x, step in zip(places, steps) for y in (library.pointer(x), step)]
        arguments += [prod(self.kernel.inputs[j].shape) for j in streamed] + list(map(prod, entries))
        function = self._function(dtype, ("rows",) * len(places), library)
        function.launch(samples, ptx.THREADS, library.stream(), arguments)
        return states, rows, counts


def loaded(kernel: Kernel, form: tuple, text: Callable[[Any], str], dtype: str, device: int) -> list[cuda.Function]:
    """The functions of a form of a kernel on a device, from disk or assembled."""
    chip = cuda.chip(device)
    made = compiled(kernel, form, dtype, text, Machine(f"{chip} {cuda.version()}", lambda written: cuda.linked(ptx.ptx(written, chip))))
    return cuda.loaded(made.code, *made.header["functions"])


def _as_list(out):
    return list(out) if isinstance(out, (list, tuple)) else [out]


class Placed(NamedTuple):
    """An array as a kernel takes it, its samples evenly apart."""

    array: Any
    layout: str
    step: int


def _placed(library, x, batch, core, writable=False) -> Placed:
    x = library.whole(x, (*batch, *core))
    strides = library.strides(x)
    outer, inner = strides[: len(batch)], strides[len(batch) :]
    step = _even(batch, outer)
    if step is not None and _even(core, inner, 1) == 1:
        return Placed(x, "rows", step)
    if _even(batch, outer, 1) == 1 and (entry := _even(core, inner)) is not None:
        return Placed(x, "columns", entry)
    if writable:
        raise DeviceError("out= on the GPU must have its samples, or its entries, side by side in memory.")
    return Placed(library.contiguous(x), "rows", prod(core))


def _placed_rows(library, x, batch, core, writable=False) -> tuple[Placed, int]:
    """The first row of an array (rows, batch..., shape...), and how far it is to the next."""
    x = library.whole(x, (len(x), *batch, *core))
    first = _placed(library, x[0], batch, core, writable)
    if library.pointer(first.array) != library.pointer(x):
        x = library.contiguous(x)
        first = _placed(library, x[0], batch, core)
    return first, library.strides(x)[0]


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
