"""Vectors over all nodes in a user's function that is traced as loops over them.

Such a vector has arithmetic entry by entry, products with others, sums, and is what the robot's methods take and return. It has no
entries to take one by one: a function that does so is straight-line code.
"""

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from ..engine.tracing.array import Traced, Wider, lift
from ..engine.tracing.loops import ordered
from ..engine.tracing.operations import operands
from ..engine.tracing.program import Input
from ..engine.tracing.residues import drawn
from ..engine.tracing.rolled import Argument, Handle, Joined, RolledTree, Slot, Table
from ..engine.tracing.rolled_program import RolledProgram
from ..errors import TraceError
from .nodes import Nodes
from .rolled import RolledFunction, RolledNodes


class Whole(Wider):
    """A vector over all nodes: coordinates ("q") or velocities ("v")."""

    ndim = 1

    def __init__(self, system: RolledNodes, kind: str, source: Argument | Slot):
        self.system, self.kind, self.source = system, kind, source

    @property
    def widths(self) -> tuple[int, ...]:
        return self.system.argument(None, self.kind).widths

    @property
    def shape(self) -> tuple[int, ...]:
        return (sum(self.widths),)

    def parts(self, tree, column: bool) -> "Parts":
        return Parts(self, column)

    def sum(self):
        return total(self.system, self)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if method != "__call__" or options:
            raise refused(f"np.{ufunc.__name__}.{method}, or one with options,")
        return total(self.system, np.multiply(*inputs)) if ufunc is np.matmul else each(self.system, ufunc, inputs)

    def __array_function__(self, function, types, args, kwargs):
        if function is np.zeros_like:
            return Whole(self.system, self.kind, self.system.argument(None, self.kind))
        if function is np.sum and len(args) == 1 and not kwargs:
            return total(self.system, args[0])
        if function in (np.dot, np.vdot, np.inner) and not kwargs:
            return total(self.system, np.multiply(*args))
        raise refused(f"np.{function.__name__}")

    def __getitem__(self, key):
        raise refused("an entry, or a part,")

    def __len__(self):
        return self.shape[0]

    def __iter__(self):
        raise refused("an entry, or a part,")


class Parts:
    """The entries of a vector, node by node."""

    def __init__(self, whole: Whole, column: bool):
        self.whole, self.column = whole, column

    def __getitem__(self, k):
        source, width = self.whole.source, self.whole.widths[k]
        x = source.parts(self.whole.system.tree, False)[k] if isinstance(source, Argument) else source[k]
        return x.reshape((width, 1) if self.column else (width,))


def refused(what: str) -> TraceError:
    return TraceError(f"{what} of a vector over all joints is not possible in a kernel that loops over them.")


def each(system: RolledNodes, function: Callable, operands: Sequence) -> Whole:
    """A function of vectors, entry by entry."""
    tree = system.tree
    some = [x for x in operands if isinstance(x, Whole)]
    if any(x.widths != some[0].widths for x in some):
        raise refused("coordinates and velocities of joints that have not as many of both: arithmetic")
    given = [_each_part(system, some[0], x) for x in operands]
    out = tree.slots()
    for k in _onward(tree):
        found = function(*(x[k] for x in given))
        if any(tree.trace.is_truth(ref) for ref in found.refs.ravel().tolist()):
            raise refused("a comparison")
        out[k] = found
    return Whole(system, some[0].kind, out)


def _onward(tree: RolledTree) -> Iterator[Handle]:
    """All nodes, in the loop that is there already if there is one."""
    return tree.tips_to_base() if tree.loops and not tree.loops[-1].outward else tree.base_to_tips()


def _each_part(system: RolledNodes, like: Whole, x) -> Any:
    """An operand, node by node."""
    tree = system.tree
    if isinstance(x, Whole):
        return Parts(x, column=False)
    if isinstance(x, Traced):
        if x.shape or _is_late(tree.trace, x):
            raise refused("a sum over all joints, or an array of another shape, with an entry: arithmetic")
        return tree.constant(x)
    x = np.asarray(x, float)
    if not x.shape:
        return tree.constant(float(x))
    if x.shape != like.shape:
        raise refused("an array of another shape with an entry: arithmetic")
    ends = np.cumsum(like.widths)
    return Table(tree, f"given{tree.slots().number}", np.split(x, ends[:-1]))


def _is_late(trace, x: Traced) -> bool:
    """Does it depend on what is known after a loop only?"""
    below = ordered(x.refs.ravel().tolist(), lambda i: operands(trace.nodes[i]))
    return any(trace.nodes[i][0] == "in" and trace.nodes[i][1][0] != "arg" for i in below)


def total(system: RolledNodes, x: Whole) -> Traced:
    """The sum of all entries."""
    summed = system.tree.slots()
    parts = Parts(x, column=False)
    for k in _onward(system.tree):
        summed[k] = np.sum(parts[k]) if x.widths[k] else Traced(system.tree.trace, np.array(0))
    return system.tree.total(summed)


# --- a user's function


def rolled_function(name: str, nodes: Nodes, function: Callable, inputs: Sequence[Input]) -> RolledFunction:
    """A function of arguments, written with NumPy and the robot's methods."""
    kinds = tuple(_kind(x, nodes) for x in inputs)

    def made():
        rolled = RolledNodes(nodes)
        found = function(*(_argument(rolled, x, kind) for x, kind in zip(inputs, kinds)))
        results = tuple(_result(rolled, x) for x in (found if isinstance(found, tuple) else (found,)))
        return rolled, RolledProgram(name, rolled.tree, tuple(inputs), results)

    return RolledFunction(name, tuple(inputs), kinds, nodes.tree.nv, made)


def _kind(x: Input, nodes: Nodes) -> str | int:
    if x.name in ("q", "q0", "q1"):
        return "q"
    if x.name == "external":
        raise refused("wrenches on all bodies, as an argument,")
    return "v" if x.shape == (nodes.tree.nv,) else 0


def _argument(rolled: RolledNodes, x: Input, kind: str | int):
    if kind:
        return Whole(rolled, str(kind), rolled.argument(x.name, kind))
    leaves = [rolled.tree.trace.leaf(("arg", x.name, 0), j, drawn("arg", x.name, j)) for j in range(prod(x.shape))]
    return Traced(rolled.tree.trace, np.array(leaves, np.int64).reshape(x.shape))


def _result(rolled: RolledNodes, x) -> Joined | Traced:
    if not isinstance(x, Whole):
        return Traced(rolled.tree.trace, lift(rolled.tree.trace, x))
    if not isinstance(x.source, Slot):
        return _result(rolled, each(rolled, np.positive, (x,)))
    return Joined(x.source, x.kind, x.shape[0])
