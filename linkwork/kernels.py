"""A user's own function as a gufunc."""

from collections.abc import Callable
from inspect import Parameter, signature

import numpy as np

from .engine.kernel import Kernel
from .engine.program import Input
from .errors import TraceError

SIZES = {"q": "nq", "q0": "nq", "q1": "nq", "v": "nv", "vdot": "nv", "tau": "nv", "dv": "nv"}


class UserKernel:
    """A function of one sample, written with NumPy and the robot's methods, called on any batch of samples.

    Arguments called q, v, vdot, tau, dv are the robot's; the others have the shapes given, or the shapes they have in
    the first call, less the batch axes that q (or v ...) has there.
    """

    def __init__(self, robot, function: Callable, shapes: dict):
        self.robot, self.function = robot, function
        self.__name__, self.__doc__ = getattr(function, "__name__", "kernel"), function.__doc__
        self._names = []
        for name, parameter in signature(function).parameters.items():
            if parameter.kind not in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
                raise TraceError(f"{self.__name__}: a kernel takes plain arguments, not *{name} or keyword-only ones.")
            self._names.append(name)
        known: dict[str, tuple[int, ...]] = {name: (getattr(robot, SIZES[name]),) for name in self._names if name in SIZES}
        if "external" in self._names:
            known["external"] = (len(robot.bodies), 6)
        given = {name: (shape,) if isinstance(shape, int) else tuple(shape) for name, shape in shapes.items()}
        if strangers := set(given) - set(self._names):
            raise TraceError(f"{self.__name__} has no argument {min(strangers)}; its arguments are {', '.join(self._names)}.")
        self._shapes = {**known, **given}
        self._ready: dict[np.dtype, np.ufunc] = {}
        self._kernel: Kernel | None = None

    def __call__(self, *arguments, out=None):
        arrays = [np.asarray(x) for x in arguments]
        if len(arrays) != len(self._names):
            raise TypeError(f"{self.__name__} takes {len(self._names)} arguments ({', '.join(self._names)}); got {len(arrays)}.")
        dtype = np.result_type(*arrays, np.float32)
        if dtype not in self._ready:
            self._ready[dtype] = self.kernel(arrays).gufunc(dtype.char)
        return self._ready[dtype](*arrays, out=out)

    def kernel(self, arrays=None) -> Kernel:
        """The kernel, made when the shapes of all arguments are known."""
        if self._kernel is None:
            unknown = [name for name in self._names if name not in self._shapes]
            if unknown:
                shapes = dict(zip(self._names, [x.shape for x in arrays])) if arrays is not None else {}
                both = [n for n in self._names if n in self._shapes and n in shapes]
                batch = next((len(shapes[n]) - len(self._shapes[n]) for n in both), None)
                if batch is None:
                    raise TraceError(
                        f"{self.__name__}: the shape of {unknown[0]} is not known. "
                        f"Say it, for a vector of 3: robot.kernel({unknown[0]}=3)(fn)."
                    )
                self._shapes.update({name: shapes[name][batch:] for name in unknown})
            units = self.robot._units
            inputs = tuple(Input(n, self._shapes[n], units if n in ("q", "q0", "q1") else ()) for n in self._names)
            self._kernel = Kernel(self.__name__, self.function, inputs)
        return self._kernel

    @property
    def program(self):
        """What the kernel does, operation by operation; print it to read it."""
        return self.kernel().program

    def gufunc(self, dtype=np.float64) -> np.ufunc:
        """The NumPy gufunc itself."""
        dtype = np.dtype(dtype)
        if dtype not in self._ready:
            self._ready[dtype] = self.kernel().gufunc(dtype.char)
        return self._ready[dtype]

    def __repr__(self):
        return f"<kernel {self.__name__}({', '.join(self._names)}) of {self.robot.model.name}>"
