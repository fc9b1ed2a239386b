"""Arrays of torch and CuPy in, the same kind out: on the GPU by a kernel there, on the CPU through NumPy."""

import sys
from collections.abc import Callable

from ..engine.loading.cuda import DeviceError
from ..engine.loading.kernel import Kernel
from ..engine.running.checks import check_arrays
from ..engine.running.device import DeviceKernel, on_device


def is_foreign(x) -> bool:
    """Is this an array of torch or CuPy?"""
    return type(x).__module__.partition(".")[0] in ("torch", "cupy")


def is_tensor(x) -> bool:
    return is_foreign(x) and type(x).__module__.partition(".")[0] == "torch"


def wants_gradient(arrays, modules=()) -> bool:
    """Will torch ask for a gradient: does some tensor require grad, or some parameter of a module of torch?"""
    if "torch" not in sys.modules or not sys.modules["torch"].is_grad_enabled():
        return False
    module = sys.modules["torch"].nn.Module
    parameters = [p for x in modules if isinstance(x, module) for p in x.parameters()]
    return any(is_tensor(x) and x.requires_grad for x in (*arrays, *parameters))


def without_gradient(x):
    """A tensor without its history, also in a dictionary, where torch keeps none, as under torch.no_grad(); other things as they are."""
    if "torch" not in sys.modules or sys.modules["torch"].is_grad_enabled():
        return x
    if isinstance(x, dict):
        return {name: without_gradient(part) for name, part in x.items()}
    return x.detach() if is_tensor(x) else x


class ForeignRun:
    """A quantity on such arrays. Tensors have gradients."""

    def __init__(self, owner: str, what, inputs, kernel: Kernel | None, on_cpu: Callable, differentiated: Callable):
        """`on_cpu` takes (arrays, out) of NumPy; `differentiated` makes the RobotKernel whose derivatives are this quantity's."""
        self.owner, self.what, self.inputs, self.on_cpu = owner, what, inputs, on_cpu
        self.device = None if kernel is None else DeviceKernel(kernel)
        self.differentiated = differentiated

    def __call__(self, *arrays, out=None):
        check_arrays(self.owner, self.inputs, arrays)
        if not any(map(is_tensor, arrays)):
            return self.run(arrays, out)
        from .tensors import TensorCall, differentiable  # which imports torch

        return differentiable(TensorCall(self.run, self.differentiated), arrays, out)

    def run(self, arrays, out=None):
        """Of arrays that need no gradient."""
        return run_kernel(self._on_device, self.on_cpu, arrays, out)

    def _on_device(self, arrays) -> DeviceKernel:
        if self.device is None:
            said = f"{self.inputs[0].name} is on the GPU, where a rolled {self.what} does not run"
            raise DeviceError(f"{said}: use Dynamics(model, rolled=False), or arrays that live on the CPU.")
        return self.device


def kernel_on_foreign(kernel, arrays, out=None):
    """A RobotKernel on such arrays."""
    if not any(map(is_tensor, arrays)):
        return kernel.run_foreign(arrays, out)
    from .tensors import differentiable, kernel_call

    return differentiable(kernel_call(kernel), arrays, out)


def run_kernel(on_gpu: Callable, on_cpu: Callable, arrays, out=None):
    """A kernel on arrays that need no gradient: `on_gpu` makes the run there, `on_cpu` takes (arrays, out) of NumPy."""
    if any(on_device(x) for x in arrays):
        return on_gpu(arrays)(*arrays, out=out)
    from .tensors import through_numpy

    return through_numpy(on_cpu, arrays, out)
