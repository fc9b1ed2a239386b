"""The loop over time where the control or the reset is any function of the whole batch: a few calls for each step."""

from collections.abc import Callable

import numpy as np

from ..engine.cuda import DeviceError
from ..engine.device import DeviceKernel
from ..errors import ShapeError
from ..kernels import UserKernel
from ..varying import Varying
from .given import Given
from .kernels import cache_of, kernel
from .whole_step import LENGTH, TAU, whole_step


class Stepwise:
    """A rollout's loop; arrays and functions may live on a GPU."""

    def __init__(self, robot, method: Callable, controls, reset, given: Given, dt: float):
        self.robot, self.method, self.controls, self.reset = robot, method, controls, reset
        self.given, self.library, self.dt = given, given.library, dt
        self.h = self.library.full((), dt, given.Q)
        self._run = self._step()

    def __call__(self, q, v, every: int) -> None:
        """From the first rows of q and v, each n-th state to the rows behind."""
        Q, V = q[0], v[0]
        between = [(self.library.empty(Q.shape, Q), self.library.empty(V.shape, V)) for _ in range(2 if every > 1 else 0)]
        for i in range(1, self.given.steps + 1):
            row, rest = divmod(i, every)
            at, out = self.given.at(i - 1), between[i % 2] if rest else (q[row], v[row])
            tau = at[TAU] if TAU in at else self._asked("controls", self.controls, (i - 1) * self.dt, at, Q, V, V)[0]
            Q, V = self._run(Q, V, tau, self.h, *(at[name] for name in self._varied(at)), out=out)
            if self.reset is not None:
                Q[...], V[...] = self._asked("reset", self.reset, i * self.dt, at, Q, V, Q, V)

    def _varied(self, at) -> list[str]:
        return [name for name in self.robot.names if name in at] if isinstance(self.robot, Varying) else []

    def _step(self) -> Callable:
        """(q, v, tau, h, what varies...) -> (q, v)."""
        robot, dtype = self.robot, self.given.Q.dtype
        if not isinstance(robot, Varying):
            if self.library.host:
                return kernel(robot, self.method, dtype=dtype)
            if not robot.compiled or robot.rolled:
                raise DeviceError(f"{robot.model.name} runs in plain NumPy or rolled, on the CPU only: Dynamics(model, rolled=False).")
        at, batch = self.given.at(0), len(self.given.batch)
        shapes = {TAU: tuple(self.given.V.shape)[batch:], LENGTH: ()}
        shapes |= {name: tuple(at[name].shape)[batch:] for name in self._varied(at)}
        key, ready = ("step", self.method.__name__, str(dtype), repr(shapes)), cache_of(robot)
        if key not in ready:
            made = whole_step(robot, self.method, None, None, shapes)
            ready[key] = made.runner(dtype.char) if self.library.host else DeviceKernel(made)
        return ready[key]

    def _asked(self, what: str, function, t: float, at: dict, Q, V, *like) -> tuple:
        """What a function, or a kernel, says at time t: arrays of the shapes of those in `like`."""
        if isinstance(function, UserKernel):
            at = at | {"t": self.library.full((), t, Q), "q": Q, "v": V}
            results = function(*(at[name] for name in function.names))
        else:
            results = function(t, Q, V)
        results = results if isinstance(results, tuple) else (results,)
        if self.library.host:
            results = tuple(np.asarray(x, Q.dtype) for x in results)
        for result, x in zip(results, like, strict=True):
            if tuple(result.shape) != tuple(x.shape):
                shape, wanted = tuple(result.shape), tuple(x.shape)
                raise ShapeError(f"{what} returned an array of shape {shape}; it must have shape {wanted}.")
        return results
