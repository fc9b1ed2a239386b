"""States of mechanisms whose constants vary from sample to sample, on the constraints of each: over any scalar, and compiled.

A sample that has no such state gets NaN: its bars do not reach each other, or the configuration is singular.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from ...engine.loading.kernel import Kernel
from ...engine.tracing.program import Input
from ...lie.iteration import iterate
from ...lie.scalars import rounding
from ...quantities import difference, integrate
from ...systems import Mechanism
from ..systems.formula import ByNumbers, LoopBinding
from ..systems.system import LoopSystem, largest
from .assembly import CLOSED, STEPS, TURN
from .return_to import ROUNDING, along_constraints, returned
from .returning import Nearest, nearest_step, slide
from .states import PUT_BACK

SHORTEST = 1e-6  # of a step to the constraints


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
            return function(lambda q: self.mechanism.at(q, constants, list(values[first:last])), *values[:first])

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

        def function(system_at, q, v):
            here, _, fits = put_back(system_at, q, v)
            there = nearest(system_at, q, here)
            system = system_at(there)
            _, slow, size = nearest_step(system, there, v)
            fits = fits & is_finite(slow) & (size <= np.maximum(PUT_BACK, 64 * rounding(q)))
            return np.where(fits, there, np.nan), np.where(fits, slow, np.nan)

        return self._kernel("projected", function, *self._inputs("q", "v"))


def assembled(system_at: Callable[..., LoopSystem], q):
    """q with c(q) = 0, near the guess, by Newton steps of least length, halved while they do not help; NaN if there is none."""

    def towards(q):
        """The step to the constraints, at most so long, and how far they are."""
        system = system_at(q)
        loops, nodes = system.loops, system.nodes
        rows, step = loops.all_rows(nodes, q, drive=system.drive), np.zeros_like(q, shape=(nodes.tree.nv,))
        for known, x, columns in zip(system.choices, rows, loops.columns):
            step[columns] = Nearest(known, x.Jc, q).makes(x.c)[..., 0]
        size = loops.misfit(rows, q)
        length = largest([np.abs(x) / float(reach) for x, reach in zip(step, loops.set.reach)], q)
        return step * np.minimum(1.0, TURN / np.where(length > 0, length, 1.0)), size

    def closer(q, step, share, size):
        there = integrate(system_at(q).nodes, q, -share * step)
        further, less = towards(there)
        better = less < (1 - 1e-4 * share) * size
        new = (there, q), (further, step), (1.0 + 0.0 * share, 0.5 * share), (less, size)
        after = tuple(np.where(better, x, old) for x, old in new)
        return *after, (after[3] <= ROUNDING) | (after[2] <= SHORTEST)

    step, size = towards(q)
    (found, _, _, left), _ = iterate(closer, (q, step, 1.0 + 0.0 * size, size), most=STEPS)
    return np.where(left <= CLOSED, found, np.nan)


def put_back(system_at: Callable[..., LoopSystem], q, v):
    """The nearest state on the constraints but for the square of how far it was, and whether it was found."""
    here, slow, size = returned(lambda q, v: nearest_step(system_at(q), q, v), q, v)
    return here, slow, is_finite(slow) & (size <= np.maximum(PUT_BACK, 64 * rounding(q)))


def is_finite(x):
    """Are all entries of a vector (..., n) numbers?"""
    return sum((np.abs(x[..., i]) for i in range(x.shape[-1])), 0.0) < np.inf


def nearest(system_at: Callable[..., LoopSystem], start, q):
    """From q on the constraints to the configuration there that is nearest to `start`."""
    system, move = system_at(q), lambda q, w: slide(system_at(q), q, w)
    group = partial(integrate, system.nodes), partial(difference, system.nodes)
    return along_constraints(move, *group, system.loops.set.yielding, start, q)[0]


def off(system: LoopSystem, q, v):
    """How far a state is from the constraints: the largest entry of c against its scale, and of Jc v − U against what it is made of."""
    rows = system.loops.all_rows(system.nodes, q, drive=system.drive)
    sizes, left = [], []
    for g, (x, at) in enumerate(zip(rows, system.loops.columns)):
        scales = map(float, system.loops.scales(g))
        for size, off, scale in zip((np.abs(x.Jc) @ np.abs(v[at, None]) + np.abs(x.U))[:, 0], (x.Jc @ v[at, None] - x.U)[:, 0], scales):
            sizes.append(size / scale)
            left.append(np.abs(off) / scale)
    size = largest(sizes, q)
    return system.loops.misfit(rows, q), largest(left, q) / np.where(size > 0, size, 1.0)
