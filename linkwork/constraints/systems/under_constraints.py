"""Declared quantities under constraints: their functions of the embedded system, or functions that are declared here."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...engine.loading.gufunc import put_into
from ...engine.running.device import on_device
from ...engine.tracing.array import Traced
from ...quantities import Quantity
from ...quantities.bound import Bound
from ..solution.arguments import arrays_of, check_no_kernel, each, one_time
from .choice_kernels import complete
from .embedded_view import by_choice, check_loops, system_at
from .system import where_served

if TYPE_CHECKING:
    from ..constrained import Constrained

UNDER_CONSTRAINTS: dict[Quantity, Callable] = {}


def under_constraints(quantity: Quantity) -> Callable[[Callable], Callable]:
    """Declare the function below as how a quantity is computed under constraints, in NumPy: it takes (set, inputs..., options...,
    optional inputs by name, t=, kind=), kind the dtype of what came in. Others are their functions of the embedded system."""

    def declared(function: Callable) -> Callable:
        UNDER_CONSTRAINTS[quantity] = function
        return function

    return declared


def ask(self: "Constrained", bound: Bound, arrays, out=None, t=None):
    """A quantity that honours constraints, such as the compliance of a task; `forward_dynamics` has a way of its own."""
    if bound.quantity not in UNDER_CONSTRAINTS and any(isinstance(x, Traced) or on_device(x) for x in arrays):
        return self.formula(bound)(arrays, t, out)
    check_no_kernel(self.set, bound.name, arrays)
    given = {x.name: array for x, array in zip(bound.inputs, arrays)}
    if bound.quantity in UNDER_CONSTRAINTS:
        return each(self.set, bound.name, _in_order(bound), given, t, out)
    arrays, kind = arrays_of(self.set, bound.name, given)
    results = [np.asarray(x).astype(kind, copy=False) for x in _of_embedded(self, bound, arrays, one_time(self.set, t))]
    if out is not None:
        return put_into(out, *results)
    return tuple(results) if bound.quantity.several else results[0]


def _in_order(bound: Bound) -> Callable:
    """The function of a declared quantity with arrays by name: inputs and options in their order, optional inputs by name."""
    function, inputs = UNDER_CONSTRAINTS[bound.quantity], bound.quantity.inputs

    def run(set_, *, t, kind, **arrays):
        extra = {name: arrays[name] for name in bound.extra}
        return function(set_, *(arrays[name] for name in inputs), *bound.options, **extra, t=t, kind=kind)

    return run


def _of_embedded(self: "Constrained", bound: Bound, arrays, t: float):
    """The results of a quantity of the embedded system: by kernels, and what they do not serve in NumPy."""
    several, cores = bound.quantity.several, [len(x.shape) for x in bound.inputs]

    def function(system, *state):
        results = bound.of_system(system, state)
        return where_served(system.serves(state[0]), *(results if several else (results,)))

    def in_numpy(choices, *state):
        system = system_at(self.loops, choices, t)
        results = bound.of_system(system, state)
        check_loops(system, system.loops.misfit(system.rows(state[0]), state[0]), state[0], t)
        return results if several else (results,)

    if not (self.compiled and self.nv):
        return by_choice(self.loops, arrays, cores, t, in_numpy)
    kernels = self.function(f"constrained_{bound.name}", function, *(x.name for x in bound.inputs), bound=bound)
    results, bad = kernels(*arrays, t=t)
    if bad is not None:
        complete(results, bad, bound.inputs, arrays, lambda *state: by_choice(self.loops, state, cores, t, in_numpy))
    return results
