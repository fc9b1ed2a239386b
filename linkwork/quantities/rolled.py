"""Quantities by rolled kernels: a loop over the nodes, constants in tables. Matrices come column by column from products."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..engine.gufunc import put_into
from ..engine.kernel import Kernel
from ..engine.program import Input
from ..spatial import phi
from ..systems import Nodes
from ..systems.rolled import grouped, rolled_program
from .declaration import QUANTITIES, Honours
from .options import Weld, some_bodies

if TYPE_CHECKING:
    from .bound import Bound


def possible(bound: "Bound") -> bool:
    """Can the sweep be rolled? Springs between points, or blocks that somebody else makes, are not the same for every node."""
    between_points = bound.lowered.model.forces and bound.quantity.honours & Honours.POINT_FORCES
    welds = bound.quantity.options is some_bodies and any(isinstance(x, Weld) for x in bound.options[0])
    return bound.quantity.rolls and not between_points and not welds and not bound.lowered.producers


def kernel(bound: "Bound") -> Kernel | None:
    """The rolled kernel that is this quantity by itself; None where there is none, or more is to be done around it."""
    if not possible(bound) or bound.quantity.product is not None or bound.inputs[-1].name == "external":
        return None
    made = _kernel(bound)
    return None if any(made.program.after) else made  # type: ignore[union-attr]


def run(bound: "Bound", dtype: np.dtype) -> Callable | None:
    """A quantity by rolled kernels, called as a gufunc is; None where only straight-line code or a plain run will do."""
    if possible(bound):
        return rolled(bound, dtype)
    if bound.quantity.long is not None and not bound.lowered.producers:
        return composed(bound, bound.quantity.long, dtype)
    return None


def rolled(bound: "Bound", dtype: np.dtype) -> Callable:
    """A quantity by its own rolled kernel; springs between points are not in it."""
    if bound.quantity.product is not None:
        product, vector = bound.quantity.product
        inputs = (*bound.inputs, Input(vector, (bound.lowered.nv,)))
        return by_columns(_kernel(replace(bound, quantity=product), inputs).gufunc(dtype.char))
    if bound.inputs[-1].name == "external":
        groups = grouped(bound.lowered.nodes)
        made = _kernel(bound, (*bound.inputs[:-1], Input("external", (6 * len(groups.members),))))
        return _finished(made, with_wrenches_on_nodes(made.gufunc(dtype.char), bound.lowered.nodes, groups, dtype))
    made = _kernel(bound)
    return _finished(made, made.call(dtype.char))


def _kernel(bound: "Bound", inputs=None) -> Kernel:
    def function(system, *arrays):
        return bound.of_system(system, arrays)

    return Kernel(bound.name, function, bound.inputs if inputs is None else inputs, record=partial(_recorded, bound.lowered.nodes))


def _finished(made: Kernel, run: Callable) -> Callable:
    """The run of a kernel, and what is to be done with its result."""
    after = next(filter(None, made.program.after), None)  # type: ignore[union-attr]
    if after is None:
        return run

    def finished(*arrays, out=None):
        found = after(run(*arrays))
        return found if out is None else put_into(out, found)

    return finished


class Others:
    """Quantities of one mechanism by their names, each by its rolled kernel, without springs between points: what long.py composes."""

    def __init__(self, bound: "Bound", dtype: np.dtype):
        self.bound, self.dtype = bound, dtype
        self.nb, self.nv, self.nodes, self.forces = bound.lowered.nb, bound.lowered.nv, bound.lowered.nodes, bound.lowered.nodes.forces
        self.mass = float(sum(body.mass for body in bound.lowered.model.bodies))
        self._runs: dict[tuple[str, ...], Callable] = {}

    def __call__(self, name: str, *arrays, **extra):
        """Arrays that may be left out are given by name."""
        key = name, *extra
        if key not in self._runs:
            self._runs[key] = rolled(replace(self.bound, quantity=QUANTITIES[name], options=(), extra=tuple(extra)), self.dtype)
        return self._runs[key](*arrays, *extra.values())

    def plain(self, name: str, *arrays):
        """In plain NumPy, for what is little work."""
        return replace(self.bound, quantity=QUANTITIES[name], options=(), extra=()).plain(self.dtype)(*arrays)


def composed(bound: "Bound", function: Callable, dtype: np.dtype) -> Callable:
    """A quantity of a few bodies from rolled kernels over all nodes, as its declaration says."""
    of, several = Others(bound, dtype), bound.quantity.several

    def run(*arrays, out=None):
        arrays = tuple(np.asarray(x).astype(dtype, casting="safe", copy=False) for x in arrays)
        if any(x.shape[x.ndim - len(i.shape) :] != i.shape for x, i in zip(arrays, bound.inputs)):
            raise ValueError("the last axes do not fit")  # as a gufunc would say; the caller finds out which
        with np.errstate(all="ignore"):
            found = function(of, *arrays, *bound.options)
        found = tuple(np.asarray(x, dtype) for x in (found if several else (found,)))
        return put_into(out, *found) if out is not None else found if several else found[0]

    return run


def _recorded(nodes, name, function, inputs):
    return rolled_program(name, nodes, function, inputs)


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


def with_wrenches_on_nodes(kernel, nodes: Nodes, groups, dtype: np.dtype):
    """A kernel whose last argument is a wrench for each moving node, called with one for each body."""
    group_of = {k: g for g, members in enumerate(groups.members) for k in members}
    moving = [i for i, k in enumerate(nodes.on) if k != nodes.tree.world]
    to = np.array([group_of[nodes.on[i]] for i in moving])
    one_each = len(set(to.tolist())) == len(to)
    shifts = np.array([phi(nodes.places[i]) for i in moving], dtype)

    def run(*arrays, out=None):
        *rest, external = map(np.asarray, arrays)
        if external.shape[-2:] != (len(nodes.on), 6):
            raise ValueError("the last axes do not fit")  # as a gufunc would say; the caller finds out which
        total = np.zeros((*external.shape[:-2], len(groups.members), 6), dtype)
        with np.errstate(all="ignore"):
            moved = (shifts @ external[..., moving, :, None].astype(dtype, casting="safe", copy=False))[..., 0]
            if one_each:
                total[..., to, :] = moved
            else:
                np.add.at(total, (..., to, slice(None)), moved)  # type: ignore[arg-type]
        flat = total.reshape(*total.shape[:-2], 6 * len(groups.members))
        return kernel(*rest, flat) if out is None else kernel(*rest, flat, out=out)

    return run
