"""Arrays of other libraries: torch tensors and CuPy arrays in, the same kind out."""

import sys

import numpy as np

from .engine.cuda import DeviceError
from .engine.device import DeviceKernel, on_device
from .engine.kernel import Kernel
from .errors import ShapeError
from .rolling import rolled_kernel


class ForeignRun:
    """A quantity of a robot on such arrays: on the GPU by a kernel there, on the CPU through NumPy."""

    def __init__(self, robot, what, quantity):
        self.robot, self.what, self.inputs = robot, what, quantity.inputs
        made = Kernel(quantity.name, quantity.function, quantity.inputs)
        kernel = rolled_kernel(quantity, robot._split) if robot.rolled else made
        self.device = None if kernel is None else DeviceKernel(kernel)

    def __call__(self, *arrays, out=None):
        for x, array in zip(self.inputs, arrays):
            shape = tuple(array.shape)
            if shape[max(0, len(shape) - len(x.shape)) :] != x.shape:
                wanted = ", ".join(map(str, x.shape))
                raise ShapeError(f"{x.name} has shape {shape}, but {self.robot.model.name} takes the shape (..., {wanted}).")
        if any(on_device(x) for x in arrays):
            if self.device is None:
                said = f"{self.inputs[0].name} is on the GPU, where a rolled {self.what} does not run"
                raise DeviceError(f"{said}: use Dynamics(model, rolled=False), or arrays that live on the CPU.")
            return self.device(*arrays, out=out)
        return self._on_cpu(arrays, out)

    def _on_cpu(self, arrays, out):
        torch = sys.modules["torch"]
        if any(isinstance(x, torch.Tensor) and x.requires_grad for x in arrays):
            raise DeviceError("a tensor requires grad, and kernels have no gradients yet: pass x.detach().")
        plain = [x.numpy() if isinstance(x, torch.Tensor) else np.asarray(x) for x in arrays]
        result = self.robot._run(self.what, tuple(plain), None if out is None else out.numpy())
        return torch.from_numpy(np.asarray(result)) if out is None else out
