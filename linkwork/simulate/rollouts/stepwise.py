"""A rollout's loop over time in Python, for controls or resets that are functions of the whole batch."""

from collections.abc import Callable

import numpy as np

from ...engine.loading.interpreter import called
from ...engine.running.checks import array_of
from ...engine.running.device import DeviceKernel, Library
from ...errors import ShapeError
from ...kernels import UserKernel
from ...lie.scalars import check_real
from ...varying import Varying
from ..rates.control import read_only
from ..rates.kernels import cache_of, kernel
from ..rates.whole_step import DRIVE, LENGTH, TAU, whole_step
from .rollout_inputs import RolloutInputs


class Stepwise:
    """Calls the controls, the step and the reset once for each step; arrays may be on a GPU."""

    def __init__(self, robot, method: Callable, controls, reset, inputs: RolloutInputs, dt: float):
        self.robot, self.method, self.controls, self.reset = robot, method, controls, reset
        self.inputs, self.library, self.dt = inputs, inputs.library, dt
        self.h = self.library.full((), dt, inputs.Q)
        self._run = self._step()

    def __call__(self, q, v, every: int) -> None:
        """Start from the first rows of q and v, and write each n-th state to the rows after them."""
        Q, V = q[0], v[0]
        between = [(self.library.empty(Q.shape, Q), self.library.empty(V.shape, V)) for _ in range(2 if every > 1 else 0)]
        for i in range(1, self.inputs.steps + 1):
            row, rest = divmod(i, every)
            at, out = self.inputs.at(i - 1), between[i % 2] if rest else (q[row], v[row])
            before = self.inputs.start + (i - 1) * self.dt
            tau = at[TAU] if TAU in at else results_of("controls", self.controls, self.library, before, at, Q, V, V)[0]
            Q, V = self._run(Q, V, tau, self.h, *(at[name] for name in self._more(at)), out=out)
            if self.reset is not None:
                Q[...], V[...] = results_of("reset", self.reset, self.library, self.inputs.start + i * self.dt, at, Q, V, Q, V)

    def _more(self, at) -> list[str]:
        """What a step takes besides the state, τ and its length: constants that vary, and drives."""
        varied = [name for name in self.robot.names if name in at] if isinstance(self.robot, Varying) else []
        return varied + [DRIVE] * (DRIVE in at)

    def _step(self) -> Callable:
        """The function (q, v, tau, h, varying constants...) -> (q, v) of one step."""
        robot, dtype = self.robot, self.inputs.Q.dtype
        if not isinstance(robot, Varying) and self.library.host and robot.constraints is None:
            return kernel(robot, self.method, dtype=dtype)
        at, batch = self.inputs.at(0), len(self.inputs.batch)
        shapes = {TAU: tuple(self.inputs.V.shape)[batch:], LENGTH: ()}
        shapes |= {name: tuple(at[name].shape)[batch:] for name in self._more(at)}

        def make() -> Callable:
            made = whole_step(robot, self.method, None, None, shapes)
            plain = not isinstance(robot, Varying) and not robot.compiled
            return DeviceKernel(made) if not self.library.host else called(made.program) if plain else made.runner(dtype.char)

        return cache_of(robot).once(make, self.method, self.library.host, str(dtype), repr(shapes))


def results_of(what: str, function, library: Library, t: float, at: dict, Q, V, *like) -> tuple:
    """Those of the controls or the reset, a function or a kernel, at time t: they must have the shapes of the arrays in `like`."""
    if isinstance(function, UserKernel):
        at = at | {"t": library.full((), t, Q), "q": Q, "v": V}
        results = function(*(at[name] for name in function.names))
    else:
        own = read_only(Q, V) if library.host and what == "controls" else (library.copy(Q), library.copy(V))
        results = function(t, *own)
    results = results if isinstance(results, tuple) else (results,)
    results = tuple(check_real(array_of(f"what {what} returned", x), f"what {what} returned") for x in results)
    if library.host:
        results = tuple(np.asarray(x, Q.dtype) for x in results)
    shapes, wanted = ([tuple(x.shape) for x in some] for some in (results, like))
    if shapes != wanted:
        came, must = (" and ".join(map(str, some)) or "none" for some in (shapes, wanted))
        raise ShapeError(f"{what} returned an array of shape {came}; it must have shape {must}.")
    return results
