"""Arrays of other libraries: torch tensors and CuPy arrays in, the same kind out."""

import sys
from collections.abc import Callable

import numpy as np

from ..engine.checks import check_arrays
from ..engine.cuda import DeviceError
from ..engine.device import DeviceKernel, on_device
from ..engine.kernel import Kernel


def is_foreign(x) -> bool:
    """Is this an array of torch or CuPy?"""
    return type(x).__module__.partition(".")[0] in ("torch", "cupy")


class ForeignRun:
    """A quantity on such arrays: on the GPU by a kernel there, on the CPU through NumPy."""

    def __init__(self, owner: str, what, inputs, kernel: Kernel | None, on_cpu: Callable):
        """`on_cpu` takes (arrays, out) of NumPy."""
        self.owner, self.what, self.inputs, self.on_cpu = owner, what, inputs, on_cpu
        self.device = None if kernel is None else DeviceKernel(kernel)

    def __call__(self, *arrays, out=None):
        check_arrays(self.owner, self.inputs, arrays)
        if any(on_device(x) for x in arrays):
            if self.device is None:
                said = f"{self.inputs[0].name} is on the GPU, where a rolled {self.what} does not run"
                raise DeviceError(f"{said}: use Dynamics(model, rolled=False), or arrays that live on the CPU.")
            return self.device(*arrays, out=out)
        return self._through_numpy(arrays, out)

    def _through_numpy(self, arrays, out):
        torch = sys.modules["torch"]
        if any(isinstance(x, torch.Tensor) and x.requires_grad for x in arrays):
            raise DeviceError("a tensor requires grad, and kernels have no gradients yet: pass x.detach().")
        plain = [x.numpy() if isinstance(x, torch.Tensor) else np.asarray(x) for x in arrays]
        result = self.on_cpu(tuple(plain), None if out is None else out.numpy())
        if out is not None:
            return out
        several = isinstance(result, tuple)
        return tuple(map(torch.from_numpy, result)) if several else torch.from_numpy(np.asarray(result))
