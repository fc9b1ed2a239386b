"""A quantity of one model, its options filled in, and the ways to run it: plain NumPy, straight-line kernel, rolled kernel."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..engine.loading import interpreter
from ..engine.loading.gufunc import put_into
from ..engine.loading.kernel import Kernel
from ..engine.tracing.array import Traced
from ..engine.tracing.program import Input
from ..errors import ShapeError
from ..lie.scalars import like
from ..systems import Lowered, Mechanism, Nodes
from . import rolled
from .declaration import ARRAYS, Quantity


def scalars_of(arguments):
    """One of the arguments that is traced, or else the first: constants become scalars of its kind."""
    return next((x for x in arguments if isinstance(x, Traced)), arguments[0])


@dataclass(frozen=True)
class Bound:
    """A quantity of one model."""

    quantity: Quantity
    lowered: Lowered
    options: tuple = ()  # what the function takes after its inputs
    extra: tuple[str, ...] = ()  # optional inputs that are given

    @staticmethod
    def of(quantity: Quantity, lowered: Lowered, said: tuple = ()) -> "Bound":
        """`said` is what a user says after the name: options, and the names of optional inputs that are given."""
        extra = quantity.given(lowered.model, said)
        rest = tuple(x for x in said if not quantity.is_given(lowered.model, x)) if extra else said
        options = () if quantity.options is None else quantity.options(lowered.model, *rest)
        return Bound(quantity, lowered, options, extra)

    @property
    def name(self) -> str:
        return self.quantity.name

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        return tuple(self.lowered.input(name, ARRAYS[name]) for name in (*self.quantity.inputs, *self.extra))

    @property
    def nodes(self) -> Nodes:
        """The nodes that kernels are traced on."""
        return self.lowered.joint_space if self.quantity.of_joints else self.lowered.nodes

    def evaluated(self, nodes, arguments):
        """The quantity of the system that nodes are."""
        return self.of_system(self.lowered.system(nodes), arguments)

    def at(self, mechanism: Mechanism, some, constants, arguments):
        """The quantity of a mechanism of this model, over the scalars of `some`, with other constants."""
        return self.evaluated(mechanism.tree(some, constants), arguments)

    def of_system(self, system, arguments):
        """The quantity of a system: inputs, then options, then optional inputs by name."""
        given, extra = arguments[: len(self.quantity.inputs)], arguments[len(self.quantity.inputs) :]
        return self.quantity.function(system, *given, *self.options, **dict(zip(self.extra, extra)))

    def function(self, *arguments):
        """The quantity of one sample over any scalar."""
        some = scalars_of(arguments)
        if self.program is not None:
            return self.program(*(like(x, some) for x in arguments))
        nodes = self.nodes.over(some)
        if isinstance(some, Traced):
            arguments = tuple(like(x, some) if not isinstance(x, Traced) else x for x in arguments)
        results = self.evaluated(nodes, arguments)
        self.check_results(results if self.quantity.several else (results,))
        return results

    @cached_property
    def program(self) -> Callable | None:
        """The quantity as a derivative of another's program, where its sweep does not know how the blocks change."""
        return None if self.quantity.program is None or self.lowered.is_rigid else self.quantity.program(self)

    def check_results(self, results) -> None:
        """Results end in the shapes that the declaration says; sizes that it does not know may be any."""
        declared = self.quantity.result if self.quantity.several else (self.quantity.result,)
        for x, sizes in zip(results, declared):
            shape = np.shape(x)
            core = shape[len(shape) - len(sizes) :] if len(shape) >= len(sizes) else None
            wanted = [getattr(self.lowered, n) if n in ("nq", "nv", "nb") else n for n in sizes]
            if core is None or any(isinstance(n, int) and n != m for n, m in zip(wanted, core)):
                said = ", ".join(map(str, sizes))
                raise ShapeError(f"{self.name} returned an array of shape {shape}, but its declaration says ({said}).")

    # --- ways to run

    def kernel(self) -> Kernel:
        """Straight-line code."""
        return Kernel(self.name, self.function, self.inputs, content=self)

    def rolled_kernel(self) -> Kernel | None:
        """A loop over the nodes that is this quantity by itself, or None."""
        return None if (whole := self.rolled_whole()) is None else whole.kernel

    def rolled_whole(self) -> "rolled.Rolled | None":
        """The same with what is to be done around it, and with derivatives; None where it is not one loop."""
        return rolled.whole(self)

    def of_whole(self, arguments):
        """The quantity of vectors over all nodes, inside a function that is traced as loops over them."""
        return rolled.of_whole(self, arguments)

    def rolled(self, dtype: np.dtype) -> Callable | None:
        """A rolled run, called as a gufunc is; None where there is none."""
        return rolled.run(self, dtype)

    def plain(self, dtype: np.dtype) -> Callable:
        """In plain NumPy, called as a gufunc is."""
        if self.program is not None:
            return interpreter.called(self.kernel().program)
        nodes = self.lowered.plain(dtype)
        return self.called(lambda *arrays: self.evaluated(nodes, arrays), dtype)

    def called(self, function: Callable, dtype: np.dtype) -> Callable:
        """A function of arrays of NumPy that gives this quantity, to be called as a gufunc is."""
        cores = [len(x) for x in (self.quantity.result if self.quantity.several else (self.quantity.result,))]

        def run(*arrays, out=None):
            arrays = tuple(np.asarray(x).astype(dtype, "C", "safe", copy=False) for x in arrays)  # bits depend on the layout in NumPy
            if any(x.shape[x.ndim - len(i.shape) :] != i.shape for x, i in zip(arrays, self.inputs)):
                raise ValueError("the last axes do not fit")  # as a gufunc would say; the caller finds out which
            batch = np.broadcast_shapes(*(x.shape[: x.ndim - len(i.shape)] for x, i in zip(arrays, self.inputs)))
            with np.errstate(all="ignore"):
                results = function(*arrays)
            found = [np.asarray(x, dtype) for x in (results if self.quantity.several else (results,))]
            self.check_results(found)
            whole = [np.broadcast_to(x, batch + x.shape[x.ndim - n :]) for x, n in zip(found, cores)]
            if out is not None:
                return put_into(out, *whole)
            mine = tuple(x if x.flags.writeable else x.copy() for x in whole)
            return mine if self.quantity.several else mine[0]

        return run
