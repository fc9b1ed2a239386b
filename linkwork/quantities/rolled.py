"""Quantities by rolled kernels: a loop over the nodes, constants in tables. Matrices come column by column from products."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..engine.gufunc import put_into
from ..engine.kernel import Kernel
from ..engine.program import Input
from ..spatial import phi
from ..systems import Nodes
from ..systems.rolled import grouped, rolled_program

if TYPE_CHECKING:
    from .bound import Bound


def possible(bound: "Bound") -> bool:
    """Can the sweep be rolled? What concerns a few bodies, springs between points, or blocks that somebody else makes, is not
    the same for every node."""
    return bound.quantity.rolls and not bound.options and not bound.lowered.model.forces and not bound.lowered.producers


def kernel(bound: "Bound") -> Kernel | None:
    """The rolled kernel that is this quantity by itself; None where there is none, or more is to be done around it."""
    if not possible(bound) or bound.quantity.product is not None or "external" in bound.extra:
        return None
    return _kernel(bound.quantity, bound.lowered.nodes, bound.inputs)


def run(bound: "Bound", dtype: np.dtype):
    """A quantity by a rolled kernel, called as a gufunc is; None where only straight-line code or a plain run will do."""
    if not possible(bound):
        return None
    nodes, inputs = bound.lowered.nodes, bound.inputs
    if bound.quantity.product is not None:
        product, vector = bound.quantity.product
        return by_columns(_kernel(product, nodes, (*inputs, Input(vector, (nodes.tree.nv,)))).gufunc(dtype.char))
    if "external" in bound.extra:
        groups = grouped(nodes)
        on_nodes = (*inputs[:-1], Input("external", (6 * len(groups.members),)))
        return with_wrenches_on_nodes(_kernel(bound.quantity, nodes, on_nodes).gufunc(dtype.char), nodes, groups, dtype)
    return _kernel(bound.quantity, nodes, inputs).call(dtype.char)


def _kernel(quantity, nodes: Nodes, inputs) -> Kernel:
    return Kernel(quantity.name, quantity.function, inputs, record=partial(_recorded, nodes))


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
    shifts = np.array([phi(nodes.places[i]) for i in moving], dtype)

    def run(*arrays, out=None):
        *rest, external = map(np.asarray, arrays)
        if external.shape[-2:] != (len(nodes.on), 6):
            raise ValueError("the last axes do not fit")  # as a gufunc would say; the caller finds out which
        total = np.zeros((*external.shape[:-2], len(groups.members), 6), dtype)
        with np.errstate(all="ignore"):
            moved = (shifts @ external[..., moving, :, None].astype(dtype, casting="safe", copy=False))[..., 0]
            np.add.at(total, (..., to, slice(None)), moved)  # type: ignore[arg-type]
        flat = total.reshape(*total.shape[:-2], 6 * len(groups.members))
        return kernel(*rest, flat) if out is None else kernel(*rest, flat, out=out)

    return run
