"""Derivatives by the components of coordinates, for libraries that know no groups: torch, JAX, CasADi.

Coordinates move along their group: q̇ = S v, S = `coordinate_rates`. Weights w on the velocities become weights on the components of q
that are the least with S* q̄ = w, and rates of the components become the nearest velocities:

    q̄ = S (S* S)⁻¹ w,        v = (S* S)⁻¹ S* q̇

so the four components of a quaternion have a gradient with q · q̄ = 0, and a rate along q itself moves nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..engine.derived import Derived, unpacked
from ..engine.program import Input
from ..lie.scalars import like
from ..spatial import ldl
from .kinematics import unit_coordinates


def weights_on_components(system, q, weights):
    """S (S* S)⁻¹ w, joint by joint (..., nq)."""
    return _each(system, q, weights, True)


def velocities_of_components(system, q, rates):
    """(S* S)⁻¹ S* q̇, joint by joint (..., nv)."""
    return _each(system, q, rates, False)


def _each(system, q, x, to_components: bool):
    tree, parts = system.tree, system.split(q)
    given = system.tree.split(x) if to_components else system.split(x)
    out = tree.slots()
    for k in tree.base_to_tips():
        S = _directions(system.groups[k], parts[k])
        if to_components:
            out[k] = (S @ ldl.solve(S.mT @ S, given[k]))[..., 0]
        else:
            out[k] = ldl.solve(S.mT @ S, S.mT @ given[k][..., None])
    return system.join(out) if to_components else tree.join(out)


def _directions(group, q):
    """S of one joint (..., nq, nv), of q with its quaternions made unit."""
    q = unit_coordinates(group, q)
    return np.stack([group.rate(q, like(e, q)) for e in np.eye(group.nv)], -1) if group.nv else np.zeros_like(q, shape=(*q.shape, 0))


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
        lifted = [weights_on_components(self.system, x, row) for row in rows]
        return np.stack(lifted, 0).reshape(*y.shape[:-1], x.shape[-1]) if lifted else np.zeros_like(y, shape=(*y.shape[:-1], x.shape[-1]))

    def _rate(self, i: int, x, rate):
        return velocities_of_components(self.system, x, rate) if self._on_group(i) else rate

    def _weight(self, i: int, x, weight):
        return weights_on_components(self.system, x, weight) if self._on_group(i) else weight

    def _on_group(self, i: int) -> bool:
        return self.derived.inputs[i].name in self.derived.moves

    def function(self, what: str) -> Callable:
        return {"jvp": self.jvp, "vjp": self.vjp, "jacobian": self.jacobian}[what]

    def more(self, what: str) -> tuple[Input, ...]:
        """What each takes besides the inputs."""
        return {"jvp": self.rates, "vjp": self.weights, "jacobian": ()}[what]
