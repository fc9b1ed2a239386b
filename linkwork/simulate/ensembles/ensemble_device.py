"""Ensembles on a GPU: one thread for each sample makes all its steps, the attempts of `segments` in a loop inside of one kernel.

In float64 they are those of the CPU. In float32 time is a sum of two numbers, so that short steps are not lost in it, and tolerances are
such as float32 can meet.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...engine.loading.cuda import DeviceError
from ...engine.loading.kernel import Kernel
from ...engine.running.device import DeviceKernel, DeviceRepeat, Library, name_of, on_device
from ...engine.running.repeat import Form
from ...quantities import integrate
from ..events.guard import Guard
from ..events.watch import Watch
from ..methods.interpolate import Polynomial
from ..methods.pairs import Pair
from ..runs.segments import POLYNOMIAL, Arguments, Equations, attempt, first
from .places import Place

if TYPE_CHECKING:
    from .ensemble_run import EnsembleRun

ATTEMPTS = 20_000  # of a sample in one launch


def is_on_device(state, given) -> bool:
    """Do the states of an ensemble live on a GPU?"""
    arrays = [*state, *(given or {}).values()] if isinstance(state, (tuple, list)) else []
    return any(on_device(x) for x in arrays)


def on_host(state, given: dict) -> tuple:
    """The states and what is given as arrays of NumPy, and an array on the GPU that says where they were."""
    like = next(x for x in (*state, *given.values()) if on_device(x))
    if len(kinds := {name_of(x.dtype) for x in (*state, *given.values()) if on_device(x)}) > 1:
        raise DeviceError(f"arrays on the GPU mix {' and '.join(sorted(kinds))}; convert them to one.")
    library = Library(like)
    return tuple(map(library.to_host, state)), {name: library.to_host(x) for name, x in given.items()}, like


class Threads(Place):
    """Arrays of a GPU: a thread for each sample."""

    ROOM, CAPACITY, in_blocks = 1 << 30, 256, False

    def compiled(self, kernel: Kernel) -> Callable:
        return DeviceKernel(kernel)

    def steps(self, of: Equations, pair: Pair, rows: tuple[str, ...], watch: Watch | None, guard: Guard | None, sparse: bool):
        return DeviceSteps(of, pair, rows, watch, guard, sparse)

    def once(self, kernel: Kernel, states: int) -> Callable[[list], list]:
        repeated = DeviceRepeat(kernel, Form(states, leaves=True))
        return lambda arrays: repeated.rounds(arrays, self.full((len(arrays[0]),), 1.0), 1, 1)[0]

    def advance(self, steps: "DeviceSteps", arrays: list, capacity: int, asked: Mapping) -> tuple[list, list, np.ndarray]:
        states, rows, counts = steps.repeated.rounds(arrays, self.full((len(arrays[0]),), 1.0), capacity, ATTEMPTS)
        return states, rows, self.library.to_host(counts).astype(int)

    def within(self, run: "EnsembleRun", t: np.ndarray, x: np.ndarray, q0, coefficients, varied: Mapping) -> tuple:
        return run.steps_of(False).within(self.put(t), self.put(x), q0, coefficients, *varied.values())


class DeviceSteps(Arguments):
    """As Segments, for arrays on a GPU."""

    def __init__(self, of: Equations, pair: Pair, rows: tuple[str, ...], watch: Watch | None, guard: Guard | None, sparse: bool):
        super().__init__(of, pair, watch, guard)
        self.of, self.rows, self.sparse, content = of, rows, sparse, (of, type(pair), rows, watch, guard, sparse)
        make = lambda *x: attempt(of, pair, rows, watch, self.by_name(x), guard, sparse=sparse)
        step = Kernel("ensemble", make, self.inputs, content)
        self.repeated = DeviceRepeat(step, Form(len(self.state), keeps=True, leaves=True))
        self.first = DeviceKernel(Kernel("first_step", lambda *x: first(of, pair, self.by_name(x)), self.inputs, content))
        shapes = {"t": (), "x": (), "q": (of.robot.nq,), POLYNOMIAL: self.shapes[POLYNOMIAL], **of.varied}
        inputs = tuple(of.robot.lowered.input(name, shape) for name, shape in shapes.items())
        self.within = DeviceKernel(Kernel("within_step", self._within, inputs, content))

    def _within(self, t, x, q, coefficients, *varied):
        """q and v at a fraction x of a step, at time t, on the constraints."""
        of, at = self.of, dict(zip(self.of.varied, varied))
        y, n = Polynomial.value(coefficients, x), of.robot.nv
        q1, v1 = integrate(of.mechanism.tree(q, at), q, y[:n]), y[n:]
        if of.constraints is None:
            return q1, v1
        q1, v1, fits = of.constraints.having(at).back(t, q1, v1)
        return np.where(fits, q1, np.nan), np.where(fits, v1, np.nan)
