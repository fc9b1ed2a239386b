"""Tensors of torch: kernels as functions that torch differentiates, on the CPU and on a GPU, backwards, forwards, under vmap, any order.

Backwards a kernel is its `vjp`, forwards its `jvp`, which are kernels and go the same way. Derivatives by q are by its components.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from ..errors import OptionError


class TensorCall(NamedTuple):
    """How something is run on tensors without gradients, and the kernel that its derivatives are those of."""

    run: Callable  # of (tensors, out)
    kernel: Callable[[], Any]  # makes a RobotKernel

    def derivative(self, what: str, by: tuple[int, ...]) -> "TensorCall":
        return kernel_call(self.kernel().by_components(what, by))


def kernel_call(kernel) -> TensorCall:
    """The call of a RobotKernel."""
    return TensorCall(kernel.run_foreign, lambda: kernel)


def through_numpy(run: Callable, tensors, out):
    """Run a function of (arrays, out) of NumPy on the numbers of tensors."""
    found = run(tuple(x.numpy() for x in tensors), None if out is None else _numpy(out))
    if out is not None:
        return out
    return tuple(map(_tensor, found)) if isinstance(found, tuple) else _tensor(found)


def _numpy(out):
    return tuple(x.numpy() for x in out) if isinstance(out, (tuple, list)) else out.numpy()


def _tensor(x) -> torch.Tensor:
    return torch.from_numpy(np.asarray(x))


def differentiable(call: TensorCall, arrays, out=None):
    """The results for tensors, as a function that torch can differentiate."""
    tensors = [x if isinstance(x, torch.Tensor) else torch.as_tensor(x) for x in arrays]
    if out is None:
        found = KernelFunction.apply(call, *tensors)
        return found[0] if len(found) == 1 else found
    if torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
        raise OptionError("a tensor requires grad, and what is written into out= has no gradient: leave out= away, or pass x.detach().")
    return call.run([x.detach() for x in tensors], out)


class KernelFunction(torch.autograd.Function):
    """A kernel as torch differentiates it; its results are a tuple always."""

    @staticmethod
    def forward(call: TensorCall, *tensors):
        found = call.run([x.detach() for x in tensors], None)
        return found if isinstance(found, tuple) else (found,)

    @staticmethod
    def setup_context(context, inputs, output):
        context.call = inputs[0]
        context.save_for_backward(*inputs[1:])
        context.save_for_forward(*inputs[1:])

    @staticmethod
    def backward(context, *weights):
        tensors, call = context.saved_tensors, context.call
        by = tuple(i for i, needed in enumerate(context.needs_input_grad[1:]) if needed)
        found = dict(zip(by, KernelFunction.apply(call.derivative("vjp", by), *tensors, *weights)))
        return None, *(found[i].sum_to_size(x.shape).to(x.dtype) if i in found else None for i, x in enumerate(tensors))

    @staticmethod
    def jvp(context, _, *rates):
        by = tuple(i for i, rate in enumerate(rates) if rate is not None)
        return KernelFunction.apply(context.call.derivative("jvp", by), *context.saved_tensors, *(rates[i] for i in by))

    @staticmethod
    def vmap(info, axes, call: TensorCall, *tensors):
        """The mapped axis becomes the first batch axis, of those that have it."""
        cores = [len(x.shape) for x in call.kernel().kernel(tensors).inputs]
        most = max(x.ndim - (axis is not None) - n for x, axis, n in zip(tensors, axes[1:], cores))
        moved = []
        for x, axis, core in zip(tensors, axes[1:], cores):
            if axis is not None:
                x = x.movedim(axis, 0)
                x = x.reshape(x.shape[0], *(1,) * (most + 1 + core - x.ndim), *x.shape[1:])
            moved.append(x)
        found = KernelFunction.apply(call, *moved)
        return found, (0,) * len(found)
