"""Derivatives by the components of coordinates, for libraries that know no groups: torch, JAX, CasADi.

Coordinates move along their group: q̇ = E v, E = `coordinate_rates`. Weights w on the velocities become weights on the components of q
that are the least with E* q̄ = w, and rates of the components become the nearest velocities:

    q̄ = E (E* E)⁻¹ w,        v = (E* E)⁻¹ E* q̇

so the four components of a quaternion have a gradient with q · q̄ = 0, and a rate along q itself moves nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..engine.differentiation.derived import Derived, unpacked
from ..engine.tracing.program import Input
from ..lie.scalars import like
from .kinematics import coordinate_velocities, coordinate_weights


@dataclass(frozen=True)
class ByComponents:
    """Derivatives of a function by some of its inputs, `by` their numbers, as functions of one sample; coordinates by components."""

    derived: Derived
    system: object
    by: tuple[int, ...]

    @cached_property
    def rates(self) -> tuple[Input, ...]:
        """The further inputs of `jvp`: like the inputs that move."""
        return tuple(Input(self.derived.rates[i].name, self.derived.inputs[i].shape) for i in self.by)

    @property
    def weights(self) -> tuple[Input, ...]:
        return self.derived.weights

    def jvp(self, *arguments):
        """The rates of the results, of arguments and the rates of those that move."""
        count = len(self.derived.inputs)
        x, given = arguments[:count], dict(zip(self.by, arguments[count:]))
        rates = [self._rate(i, x[i], given[i]) if i in given else like(np.zeros(n), x[0]) for i, n in enumerate(self.derived.directions)]
        return self.derived.jvp(*x, *rates)

    def vjp(self, *arguments):
        """Weights on the results become weights on the inputs of `by`."""
        found = self.derived.vjp(*arguments)
        each = found if isinstance(found, tuple) else (found,)
        return unpacked([self._weight(i, arguments[i], each[i]) for i in self.by])

    def jacobian(self, *x):
        """Each result by each input of `by`, (result, input) arrays, `by` running faster."""
        results = range(len(self.derived.results))
        found = self.derived.jacobian(tuple(results), self.by, *x)
        each = found if isinstance(found, tuple) else (found,)
        return unpacked([self._rows(i, x[i], y) for i, y in zip(list(self.by) * len(results), each)])

    def _rows(self, i: int, x, y):
        if not self._on_group(i):
            return y
        rows = y.reshape(-1, y.shape[-1])
        lifted = [coordinate_weights(self.system, x, row) for row in rows]
        return np.stack(lifted, 0).reshape(*y.shape[:-1], x.shape[-1]) if lifted else np.zeros_like(y, shape=(*y.shape[:-1], x.shape[-1]))

    def _rate(self, i: int, x, rate):
        return coordinate_velocities(self.system, x, rate) if self._on_group(i) else rate

    def _weight(self, i: int, x, weight):
        return coordinate_weights(self.system, x, weight) if self._on_group(i) else weight

    def _on_group(self, i: int) -> bool:
        return self.derived.inputs[i].name in self.derived.moves

    def function(self, what: str) -> Callable:
        return {"jvp": self.jvp, "vjp": self.vjp, "jacobian": self.jacobian}[what]

    def more(self, what: str) -> tuple[Input, ...]:
        """What each takes besides the inputs."""
        return {"jvp": self.rates, "vjp": self.weights, "jacobian": ()}[what]
