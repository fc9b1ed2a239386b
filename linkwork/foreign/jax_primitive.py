"""A kernel inside JAX: one primitive, with rules for shapes, batches, rates, their transpose, and for XLA on the CPU and on a GPU.

The derivatives of a kernel are kernels, so each rule gives the same primitive again, and derivatives of any order follow.
"""

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ..engine.loading.cuda import DeviceError
from ..engine.loading.kernel import Kernel
from ..engine.running import xla
from ..errors import TraceError

HANDLERS = {"cpu": xla.cpu, "cuda": xla.gpu}
_known: set[tuple[str, str]] = set()  # names that XLA has, and where


@dataclass(frozen=True)
class Call:
    """A kernel, and of what it is the derivative: what `kernel.by_components(what, by)` of `of` is."""

    kernel: Any  # a RobotKernel
    of: "Call | None" = None
    what: str = ""
    by: tuple[int, ...] = ()

    @property
    def compiled(self) -> Kernel:
        return self.kernel.kernel()

    @property
    def cores(self) -> list[tuple[int, ...]]:
        return [x.shape for x in self.compiled.inputs]

    @property
    def results(self) -> list[tuple[int, ...]]:
        return [x.shape for x in self.compiled.program.outputs]

    @property
    def first_linear(self) -> int:
        """The results are linear in the arguments from this number on: in rates, or in weights."""
        return len(self.cores) if self.of is None else len(self.of.cores)

    def derivative(self, what: str, by) -> "Call":
        return Call(self.kernel.by_components(what, tuple(by)), self, what, tuple(by))


kernel_call = Primitive("linkwork_kernel")
kernel_call.multiple_results = True


def call(kernel, arrays) -> list:
    """The results of a kernel for arrays of JAX whose batch axes broadcast; one without any serves all samples."""
    made = Call(kernel)
    leading = [x.shape[: x.ndim - len(core)] for x, core in zip(arrays, made.cores)]
    batch = np.broadcast_shapes(*leading)
    whole = [x if own in ((), batch) else jnp.broadcast_to(x, batch + core) for x, own, core in zip(arrays, leading, made.cores)]
    return kernel_call.bind(*whole, call=made)


@cache
def _jitted(call: Call):
    return jax.jit(partial(kernel_call.bind, call=call))


@kernel_call.def_impl
def _run(*arrays, call: Call):
    return _jitted(call)(*arrays)


@kernel_call.def_abstract_eval
def _shapes(*arrays, call: Call):
    batch = max((x.shape[: x.ndim - len(core)] for x, core in zip(arrays, call.cores)), key=len)
    return [arrays[0].update(shape=batch + shape) for shape in call.results]


def _batched(arrays, axes, *, call: Call):
    size = next(x.shape[axis] for x, axis in zip(arrays, axes) if axis is not None)
    lead = max((_leading(x, axis, core) for x, axis, core in zip(arrays, axes, call.cores)), key=len)
    whole = []
    for x, axis, core in zip(arrays, axes, call.cores):
        if axis is None and x.ndim == len(core):
            whole.append(x)
            continue
        x = x[None] if axis is None else jnp.moveaxis(x, axis, 0)
        x = x.reshape(x.shape[0], *(1,) * (len(lead) + 1 + len(core) - x.ndim), *x.shape[1:])
        whole.append(jnp.broadcast_to(x, (size, *lead, *core)))
    return kernel_call.bind(*whole, call=call), [0] * len(call.results)


def _leading(x, axis, core) -> tuple[int, ...]:
    """The batch axes of an array besides the one that is mapped."""
    shape = list(x.shape)
    if axis is not None:
        del shape[axis]
    return tuple(shape[: len(shape) - len(core)])


def _rates(arrays, rates, *, call: Call):
    values = kernel_call.bind(*arrays, call=call)
    by = [i for i, rate in enumerate(rates) if not isinstance(rate, ad.Zero)]
    if by and by[0] >= call.first_linear:
        moved = [ad.instantiate_zeros(rate) for rate in rates[call.first_linear :]]
        return values, kernel_call.bind(*arrays[: call.first_linear], *moved, call=call)
    return values, kernel_call.bind(*arrays, *(rates[i] for i in by), call=call.derivative("jvp", by))


def _transposed(weights, *arrays, call: Call):
    unknown = [i for i, x in enumerate(arrays) if ad.is_undefined_primal(x)]
    if call.of is None or unknown[0] < call.first_linear:
        raise TraceError(f"{call.kernel.__name__} is not linear in its argument {unknown[0]}, so JAX cannot transpose it. Use jax.vjp.")
    count = call.first_linear
    weights = [ad.instantiate_zeros(x) for x in weights]
    if call.what == "jvp":
        numbers = [call.by[i - count] for i in unknown]
        found = kernel_call.bind(*arrays[:count], *weights, call=call.of.derivative("vjp", numbers))
    else:
        each = kernel_call.bind(*arrays[:count], *weights, call=call.of.derivative("jvp", call.by))
        found = [each[i - count] for i in unknown]
    given = dict(zip(unknown, found))
    return [_summed(given[i], x.aval.shape) if i in given else None for i, x in enumerate(arrays)]


def _summed(x, shape):
    """Of an array without batch axes, all samples have a part."""
    return x.sum(tuple(range(x.ndim - len(shape)))) if x.ndim > len(shape) else x


@cache
def _registered(kernel: Kernel, kind: str, platform: str) -> str:
    name, handler = HANDLERS[platform](kernel, kind)
    if (name, platform) not in _known:  # another kernel may have the same code
        jax.ffi.register_ffi_target(name, handler, platform={"cuda": "CUDA"}.get(platform, platform))
        _known.add((name, platform))
    return name


def _lowered(platform: str, context, *operands, call: Call):
    name = _registered(call.compiled, np.dtype(context.avals_in[0].dtype).char, platform)
    return jax.ffi.ffi_lowering(name)(context, *operands)


def _refused(context, *operands, call: Call):
    raise DeviceError(f"{call.kernel.__name__} runs in JAX on CPUs and on NVIDIA GPUs: put its arrays there, jax.device_put(x, device).")


batching.primitive_batchers[kernel_call] = _batched
ad.primitive_jvps[kernel_call] = _rates
ad.primitive_transposes[kernel_call] = _transposed
mlir.register_lowering(kernel_call, _refused)
for platform in HANDLERS:
    mlir.register_lowering(kernel_call, partial(_lowered, platform), platform=platform)
