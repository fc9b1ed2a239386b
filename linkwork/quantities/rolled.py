"""Quantities by rolled kernels: a loop over the nodes, constants in tables. Matrices come column by column from products."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..engine.loading.gufunc import put_into
from ..engine.loading.kernel import Kernel
from ..engine.tracing.program import Input
from ..engine.tracing.rolled import Groups, Joined
from ..errors import TraceError
from ..spatial import phi
from ..systems import Nodes
from ..systems.rolled import RolledFunction
from ..systems.rolled_vectors import Whole, rolled_function
from .declaration import QUANTITIES, Honours
from .kinematics import group_rates
from .options import Weld, some_bodies

if TYPE_CHECKING:
    from .bound import Bound


def possible(bound: "Bound") -> bool:
    """Can the sweep be rolled? Springs between points, or blocks that somebody else makes, are not the same for every node."""
    between_points = bound.lowered.model.forces and bound.quantity.honours & Honours.POINT_FORCES
    welds = bound.quantity.options is some_bodies and any(isinstance(x, Weld) for x in bound.options[0])
    return bound.quantity.rolls and not between_points and not welds and bound.lowered.is_rigid


def whole(bound: "Bound") -> "Rolled | None":
    """This quantity by one rolled kernel, or None: a matrix comes column by column."""
    return Rolled.of(bound) if possible(bound) and bound.quantity.product is None else None


def run(bound: "Bound", dtype: np.dtype) -> Callable | None:
    """A quantity by rolled kernels, called as a gufunc is; None where only straight-line code or a plain run will do."""
    if possible(bound):
        return rolled(bound, dtype)
    if bound.quantity.long is not None and bound.lowered.is_rigid:
        return composed(bound, bound.quantity.long, dtype)
    return None


def rolled(bound: "Bound", dtype: np.dtype) -> Callable:
    """A quantity by its own rolled kernel; springs between points are not in it."""
    if bound.quantity.product is not None:
        product, vector = bound.quantity.product
        inputs = (*bound.inputs, Input(vector, (bound.lowered.nv,)))
        return by_columns(_function(replace(bound, quantity=product), inputs).kernel.gufunc(dtype.char))
    return Rolled.of(bound).run(dtype)


def _function(bound: "Bound", inputs) -> RolledFunction:
    return RolledFunction.of(bound.name, bound.lowered.nodes, lambda system, *arrays: bound.of_system(system, arrays), inputs)


@dataclass(frozen=True, eq=False)
class Rolled:
    """A rolled kernel, what is done before it with arrays that it does not take as they are, and what after it with its results;
    and its derivatives, which are the same kind of thing.

    What is done before is linear, what is done after has a linear `rate`; both can be `transposed`. None: nothing is done.
    """

    function: RolledFunction
    inputs: tuple[Input, ...]  # as they are given
    before: tuple[Callable | None, ...]
    after: tuple[Callable | None, ...]

    @staticmethod
    def of(bound: "Bound") -> "Rolled":
        """A quantity that can be rolled."""
        inputs, before = bound.inputs, [None for _ in bound.inputs]
        if inputs[-1].name == "external":
            before[-1] = WrenchesOnNodes(bound.lowered.nodes)  # type: ignore[call-overload]
            inputs = (*inputs[:-1], Input("external", (6 * before[-1].count,)))  # type: ignore[attr-defined]
        function = _function(bound, inputs)
        return Rolled(function, bound.inputs, tuple(before), function.kernel.program.after)  # type: ignore[union-attr]

    @staticmethod
    def of_function(name: str, nodes: Nodes, function: Callable, inputs: tuple[Input, ...]) -> "Rolled":
        """A user's function of vectors over all nodes."""
        made = rolled_function(name, nodes, function, inputs)
        return Rolled(made, inputs, (None,) * len(inputs), (None,) * len(made.results))

    @property
    def differentiable(self) -> bool:
        """Has it derivatives by loops over the nodes? A gradient has none: take the gradient of a rate."""
        return self.function.kernel.program.tree.turn is None  # type: ignore[union-attr]

    @property
    def kernel(self) -> Kernel | None:
        """The kernel that is all of it, or None."""
        return None if any((*self.before, *self.after)) else self.function.kernel

    @cached_property
    def results(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of its results."""
        return tuple(shape if after is None else after(np.zeros(shape)).shape for shape, after in zip(self.function.results, self.after))

    def run(self, dtype: np.dtype) -> Callable:
        """Called as a gufunc is."""
        run = self.function.kernel.call(dtype.char)
        if self.kernel is not None:
            return run

        def around(*arrays, out=None):
            with np.errstate(all="ignore"):
                numbers = (np.asarray(x).astype(dtype, casting="safe", copy=False) for x in arrays)
                given = [x if f is None else f(x) for x, f in zip(numbers, self.before)]
                found = run(*given)
                several = found if isinstance(found, tuple) else (found,)
                several = tuple(x if f is None else f(x) for x, f in zip(several, self.after))
            return put_into(out, *several) if out is not None else several if len(several) > 1 else several[0]

        return around

    def jvp(self) -> "Rolled":
        """The rates of its results."""
        function = self.function.jvp(group_rates)
        rates = function.inputs[len(self.inputs) :]
        given = tuple(rate if f is None else Input(rate.name, x.shape) for rate, x, f in zip(rates, self.inputs, self.before))
        after = tuple(None if f is None else Linear(getattr(f, "rate", f), f.transposed) for f in self.after)  # type: ignore[attr-defined]
        return Rolled(function, (*self.inputs, *given), (*self.before, *self.before), after)

    def vjp(self) -> "Rolled":
        """Weights on the directions of its inputs."""
        function = self.function.vjp(group_rates)
        weights = function.inputs[len(self.inputs) :]
        given = tuple(Input(x.name, shape) for x, shape in zip(weights, self.results))
        back = tuple(None if f is None else Linear(f.transposed, f) for f in self.after)  # type: ignore[attr-defined]
        ahead = tuple(None if f is None else Linear(f.transposed, f) for f in self.before)  # type: ignore[attr-defined]
        return Rolled(function, (*self.inputs, *given), (*self.before, *back), ahead)


def of_whole(bound: "Bound", arguments):
    """A quantity inside a user's function that is traced as loops over the nodes."""
    system = next(x.system for x in arguments if isinstance(x, Whole))
    if not possible(bound) or bound.quantity.product is not None or not all(isinstance(x, Whole) for x in arguments):
        raise TraceError(f"{bound.name} is not one loop over the joints, or not of vectors over all of them.")
    found = bound.of_system(system, arguments)
    several = found if isinstance(found, tuple) else (found,)
    if any(isinstance(x, Joined) and x.which not in ("q", "v") for x in several):
        raise TraceError(f"{bound.name} is of bodies, which a kernel that loops over the joints does not return.")
    several = tuple(Whole(system, str(x.which), x.slot) if isinstance(x, Joined) else x for x in several)
    return several if isinstance(found, tuple) else several[0]


@dataclass(frozen=True)
class Linear:
    """A linear function of arrays, and its transposed."""

    function: Callable
    transposed: Callable

    def __call__(self, x):
        return self.function(x)


class Others:
    """Quantities of one mechanism by their names, each by its rolled kernel, without springs between points: what long.py composes."""

    def __init__(self, bound: "Bound", dtype: np.dtype):
        self.bound, self.dtype = bound, dtype
        self.nb, self.nv, self.nodes, self.forces = bound.lowered.nb, bound.lowered.nv, bound.lowered.nodes, bound.lowered.nodes.forces
        self.mass = float(sum(body.mass for body in bound.lowered.model.bodies))
        self._runs: dict[tuple[str, ...], Callable] = {}

    def __call__(self, name: str, *arrays, **extra):
        """Arrays that may be left out are given by name, or are None."""
        extra = {key: x for key, x in extra.items() if x is not None}
        key = name, *extra
        if key not in self._runs:
            self._runs[key] = rolled(replace(self.bound, quantity=QUANTITIES[name], options=(), extra=tuple(extra)), self.dtype)
        return self._runs[key](*arrays, *extra.values())

    def plain(self, name: str, *arrays):
        """In plain NumPy, for what is little work."""
        return replace(self.bound, quantity=QUANTITIES[name], options=(), extra=()).plain(self.dtype)(*arrays)


def composed(bound: "Bound", function: Callable, dtype: np.dtype) -> Callable:
    """A quantity of a few bodies from rolled kernels over all nodes, as its declaration says."""
    of = Others(bound, dtype)
    return bound.called(lambda *arrays: function(of, *arrays, *bound.options), dtype)


def by_columns(product):
    """A matrix from its product with a vector: the columns of the identity are one more batch axis."""

    n = int(product.signature.split("->")[1].strip("()"))

    def run(*arrays, out=None):
        arrays = tuple(map(np.asarray, arrays))
        if not all(x.ndim for x in arrays):
            raise ValueError("the last axes do not fit")  # as a gufunc would say; the caller finds out which
        identity = np.eye(n, dtype=np.result_type(*arrays))
        columns = product(*(x[..., None, :] for x in arrays), identity).mT
        return columns if out is None else put_into(out, columns)

    return run


class WrenchesOnNodes:
    """A wrench for each moving node from one for each body, flat."""

    def __init__(self, nodes: Nodes, groups: Groups | None = None):
        groups = nodes.moving if groups is None else groups
        self.bodies, self.count = len(nodes.on), groups.count
        self.moving = [i for i, k in enumerate(nodes.on) if k != nodes.tree.world]
        self.to = np.array([groups.number[nodes.on[i]] for i in self.moving])
        self.one_each = len(set(self.to.tolist())) == len(self.to)
        self.shifts = np.array([phi(nodes.places[i]) for i in self.moving])

    def __call__(self, external):
        if external.shape[-2:] != (self.bodies, 6):
            raise ValueError("the last axes do not fit")  # as a gufunc would say; the caller finds out which
        dtype = external.dtype
        total = np.zeros((*external.shape[:-2], self.count, 6), dtype)
        moved = (self.shifts.astype(dtype, copy=False) @ external[..., self.moving, :, None])[..., 0]
        if self.one_each:
            total[..., self.to, :] = moved
        else:
            np.add.at(total, (..., self.to, slice(None)), moved)  # type: ignore[arg-type]
        return total.reshape(*total.shape[:-2], 6 * self.count)

    def transposed(self, weights):
        """Weights on the wrenches of bodies from those on the wrenches of nodes."""
        rows = weights.reshape(*weights.shape[:-1], self.count, 6)[..., self.to, :, None]
        out = np.zeros((*weights.shape[:-1], self.bodies, 6), weights.dtype)
        out[..., self.moving, :] = (self.shifts.astype(weights.dtype, copy=False).mT @ rows)[..., 0]
        return out
