"""A user's own function as a gufunc."""

from collections.abc import Callable, Sequence
from inspect import Parameter, signature
from operator import index
from typing import Any

import numpy as np

from .engine.array import Traced
from .engine.checks import array_of, checked, run_into
from .engine.device import DeviceKernel, on_device
from .engine.kernel import Kernel
from .errors import ShapeError, TraceError
from .quantities import SIZES


class UserKernel:
    """A function of one sample, written with NumPy and the robot's methods, called on any batch of samples.

    Arguments called q, v, vdot, tau, dv, external are the robot's; the others have the shapes given, or the shapes they
    have in the first call, less the batch axes that q (or v ...) has there. What the function takes from around it is read once,
    when it is traced.
    """

    def __init__(self, robot, function: Callable, shapes: dict):
        self.robot, self.function = robot, function
        self.__name__, self.__doc__ = getattr(function, "__name__", "kernel"), function.__doc__
        self.names: list[str] = []
        for name, parameter in signature(function).parameters.items():
            if parameter.kind not in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
                raise TraceError(f"{self.__name__}: a kernel takes plain arguments, not *{name} or keyword-only ones.")
            self.names.append(name)
        known = {name: robot.lowered.shape(SIZES[name]) for name in self.names if name in SIZES}
        if strangers := set(shapes) - set(self.names):
            raise TraceError(f"{self.__name__} has no argument {min(strangers)}; its arguments are {', '.join(self.names)}.")
        self.shapes: dict[str, tuple[int, ...]] = {**known, **{name: as_shape(name, shape) for name, shape in shapes.items()}}
        self.ready: dict[Any, Any] = {}
        self._kernel: Kernel | None = None

    def __call__(self, *arguments, out=None):
        try:
            run = self.ready[arguments[0].dtype]
            return run(*arguments) if out is None else run(*arguments, out=out)
        except (KeyError, IndexError, AttributeError, TypeError, ValueError):
            return self._call_checked(arguments, out)

    def _call_checked(self, arguments, out):
        """The slow way: checks the arguments, compiles at the first call, or raises."""
        if len(arguments) != len(self.names):
            raise TypeError(f"{self.__name__} takes {len(self.names)} arguments ({', '.join(self.names)}); got {len(arguments)}.")
        if any(isinstance(x, Traced) for x in arguments):
            return self.function(*arguments)
        if any(on_device(x) for x in arguments):
            return self._on_device(arguments)(*arguments, out=out)
        arrays = [np.asarray(array_of(name, x)) for name, x in zip(self.names, arguments)]
        kernel = self.kernel(arrays)
        arrays, dtype = checked(self.__name__, kernel.inputs, arrays)
        if dtype not in self.ready:
            self.ready[dtype] = kernel.runner(dtype.char)
        run = self.ready[dtype]
        return run_into(run, arrays, out, self.__name__)

    def _on_device(self, arrays) -> DeviceKernel:
        if "GPU" not in self.ready:
            self.ready["GPU"] = DeviceKernel(self.kernel(arrays))
        return self.ready["GPU"]

    def kernel(self, arrays=None) -> Kernel:
        """The kernel, made when the shapes of all arguments are known."""
        if self._kernel is None:
            shapes = {**self.shapes, **self._seen(arrays)}
            inputs = tuple(self.robot.lowered.input(n, shapes[n]) for n in self.names)
            kernel = Kernel(self.__name__, self.function, inputs)
            try:
                results = kernel.program.outputs
            except Exception as error:
                said = ", ".join(f"{x.name} {x.shape}" for x in inputs)
                error.add_note(f"{self.__name__} was being traced for one sample: {said}.")
                raise
            if not results:
                raise TraceError(f"{self.__name__} returns nothing; a kernel returns an array, or a tuple of arrays.")
            self._kernel = kernel
        return self._kernel

    def _seen(self, arrays) -> dict[str, tuple[int, ...]]:
        """Shapes of arguments that were not declared, from the arrays of a call."""
        unknown = [name for name in self.names if name not in self.shapes]
        if not unknown:
            return {}
        shapes = dict(zip(self.names, [x.shape for x in arrays])) if arrays is not None else {}
        batch = next((len(shapes[n]) - len(self.shapes[n]) for n in self.names if n in self.shapes and n in shapes), -1)
        if batch < 0:
            raise TraceError(
                f"{self.__name__}: the shape of {unknown[0]} is not known. "
                f"Say it, for a vector of 3: robot.kernel({unknown[0]}=3)(fn)."
            )
        return {name: shapes[name][batch:] for name in unknown}

    @property
    def program(self):
        """What the kernel does, operation by operation; print it to read it."""
        return self.kernel().program

    def gufunc(self, dtype=np.float64) -> np.ufunc:
        """The NumPy gufunc itself."""
        dtype = np.dtype(dtype)
        if dtype not in (np.float64, np.float32):
            raise TraceError(f"{self.__name__}: kernels are made for float64 and float32, not for {dtype}.")
        return self.kernel().gufunc(dtype.char)

    def __repr__(self):
        return f"<kernel {self.__name__}({', '.join(self.names)}) of {self.robot.model.name}>"


def as_shape(name: str, shape) -> tuple[int, ...]:
    """A shape as the user may say it: 3, or (2, 3)."""
    try:
        sizes = tuple(map(index, shape)) if isinstance(shape, Sequence) else (index(shape),)
    except TypeError:
        sizes = (-1,)
    if any(n < 0 for n in sizes):
        raise ShapeError(f"{name} was said to have shape {shape!r}; a shape is a whole number, or several: 3, (2, 3) or ().")
    return sizes
