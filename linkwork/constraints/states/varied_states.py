"""States of mechanisms whose constants vary from sample to sample, on the constraints of each: over any scalar, and compiled.

A sample that has no such state gets NaN: its bars do not reach each other, or the configuration is singular.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import cast

import numpy as np

from ...engine.loading.kernel import Kernel
from ...engine.tracing.program import Input
from ...lie.scalars import rounding
from ...quantities import integrate
from ...systems import Mechanism
from ..solution.return_to import ROUNDING, closed
from ..systems.loop_binding import ByNumbers, LoopBinding
from ..systems.system import LoopSystem, largest
from .assembly import CLOSED, STEPS, TURN
from .returns import Nearest, nearest
from .states import PUT_BACK


class VariedStates:
    """Functions of (q, ..., constants) that put states on the constraints."""

    def __init__(self, by_numbers: ByNumbers, mechanism: Mechanism, own: Mapping[str, np.ndarray], content: object):
        """`own` are the model's own constants."""
        self.by_numbers, self.own, self.varied = by_numbers, own, content
        self.mechanism = replace(mechanism, binding=LoopBinding(by_numbers, mechanism.nodes))

    def _kernel(self, name: str, function: Callable, *state: Input) -> Kernel:
        """Of (state..., drive, constants...)."""
        by_numbers, moving = self.by_numbers, self.by_numbers.set.inputs
        inputs = *state, *moving, *(Input(key, x.shape) for key, x in self.own.items())
        first, last = len(state), len(state) + len(moving)

        def traced(*values):
            constants = dict(zip(self.own, values[last:]))
            return function(cast(LoopSystem, self.mechanism.at(values[0], constants, list(values[first:last]))), *values[:first])

        return Kernel(name, traced, inputs, content=(by_numbers, self.varied))

    def _inputs(self, *names: str) -> list[Input]:
        lowered = self.by_numbers.set.robot.lowered
        return [lowered.input(name, (f"n{name}",)) for name in names]

    @cached_property
    def assembled(self) -> Kernel:
        """(q, drive, constants...) -> the q nearest to a guess in which every loop is closed."""
        return self._kernel("assembled", assembled, *self._inputs("q"))

    @cached_property
    def projected(self) -> Kernel:
        """(q, v, drive, constants...) -> the nearest (q, v) on the constraints."""
        return self._kernel("projected", projected, *self._inputs("q", "v"))


def assembled(system: LoopSystem, q):
    """q with c(q) = 0, near the guess, by Newton steps of least length; NaN if there is none."""
    loops, nodes = system.loops, system.nodes

    def towards(q):
        rows, step = system.rows(q), np.zeros_like(q, shape=(nodes.tree.nv,))
        for known, x, columns in zip(system.choices, rows, loops.columns):
            step[columns] = Nearest(known, x.Jc, q).makes(x.c)[..., 0]
        length = largest([np.abs(x) / float(reach) for x, reach in zip(step, loops.set.reach)], q)
        return step * np.minimum(1.0, TURN / np.where(length > 0, length, 1.0)), loops.misfit(rows, q), ROUNDING

    there, left = closed(towards, partial(integrate, nodes), q, STEPS)
    return np.where(left <= CLOSED, there, np.nan)


def projected(system: LoopSystem, q, v):
    """The nearest (q, v) on the constraints; NaN if there is none."""
    here, slow, size = nearest(system, q, v)
    fits = fit(q, slow, size)[..., None]
    return np.where(fits, here, np.nan), np.where(fits, slow, np.nan)


def fit(q, v, size):
    """Has a return found the state?"""
    return is_finite(v) & (size <= np.maximum(PUT_BACK, 64 * rounding(q)))


def is_finite(x):
    """Are all entries of a vector (..., n) numbers?"""
    return sum((np.abs(x[..., i]) for i in range(x.shape[-1])), 0.0) < np.inf


def off(system: LoopSystem, q, v):
    """How far a state is from the constraints: the largest entry of c against its scale, and of Jc v − U against what it is made of."""
    rows = system.rows(q)
    sizes, left = [], []
    for g, (x, at) in enumerate(zip(rows, system.loops.columns)):
        scales = map(float, system.loops.scales(g))
        for size, off, scale in zip((np.abs(x.Jc) @ np.abs(v[at, None]) + np.abs(x.U))[:, 0], (x.Jc @ v[at, None] - x.U)[:, 0], scales):
            sizes.append(size / scale)
            left.append(np.abs(off) / scale)
    size = largest(sizes, q)
    return system.loops.misfit(rows, q), largest(left, q) / np.where(size > 0, size, 1.0)
