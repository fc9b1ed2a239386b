"""One quantity of one robot: a function of `sweeps.quantities` with its nodes and options filled in."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .engine.array import Traced
from .engine.gufunc import put_into
from .engine.program import Input
from .lie.scalars import like
from .model import Nodes, Tree
from .sweeps import more_quantities, quantities

CORE = {
    "mass_matrix": 2,
    "mass_matrix_inverse": 2,
    "coriolis_matrix": 2,
    "jacobian": 2,
    "pose": 2,
    "poses": 3,
    "kinetic_energy": 0,
    "potential_energy": 0,
    "task_compliance": 2,
    "task_jacobian": 2,
    "joint_response": 2,
    "joint_wrenches": 2,
}  # dimensions of one sample's result, where it is not a vector
IN_JOINT_SPACE = {
    "mass_matrix", "mass_matrix_inverse", "inverse_dynamics", "forward_dynamics", "hybrid_dynamics", "bias", "gravity_force",
    "kinetic_energy", "task_compliance", "task_inertia",
}  # fmt: skip  # what does not ask which body of a joint has which inertia
REMEDY = (
    "In a mechanism: nothing with mass moves along that joint; give the body it carries a mass or a tensor, or the joint an armature."
)  # for a division by zero in a sweep


def sweep(name: str):
    """The function of (nodes, inputs..., options...) that defines a quantity."""
    return getattr(quantities, name, None) or getattr(more_quantities, name)


class Named(Tree):
    """A tree that tells a trace, for messages, which joint a loop over its nodes is at."""

    def __init__(self, tree: Tree, labels, trace):
        super().__init__(tree.parent, tree.widths)
        self.labels, self.trace = labels, trace

    def base_to_tips(self):
        return self._labelled(super().base_to_tips())

    def tips_to_base(self):
        return self._labelled(super().tips_to_base())

    def _labelled(self, nodes):
        for k in nodes:
            self.trace.label, self.trace.remedy = f'joint "{self.labels[k]}"', REMEDY
            yield k
        self.trace.label = self.trace.remedy = ""


@dataclass(frozen=True)
class Quantity:
    what: object  # how it was asked for
    name: str
    inputs: tuple[Input, ...]
    options: tuple
    nodes: Callable[[], Nodes]  # asked only when it is traced

    def function(self, *arguments):
        """The quantity of one sample over any scalar: the constants of the nodes become scalars of the same kind."""
        some = next((x for x in arguments if isinstance(x, Traced)), arguments[0])
        nodes = self.nodes().mapped(lambda name, index, x: like(x, some))
        if isinstance(some, Traced):
            nodes = replace(nodes, tree=Named(nodes.tree, nodes.labels, some.trace))
            arguments = tuple(like(x, some) if not isinstance(x, Traced) else x for x in arguments)
        return sweep(self.name)(nodes, *arguments, *self.options)

    def plain(self, nodes: Nodes):
        """The quantity in plain NumPy, called as a gufunc is."""

        def run(*arrays, out=None):
            kind = nodes.gravity.dtype
            arrays = tuple(np.asarray(x).astype(kind, casting="safe", copy=False) for x in arrays)
            if any(x.shape[x.ndim - len(i.shape) :] != i.shape for x, i in zip(arrays, self.inputs)):
                raise ValueError("the last axes do not fit")  # as a gufunc would say; Dynamics finds out which
            batch = np.broadcast_shapes(*(x.shape[: x.ndim - len(i.shape)] for x, i in zip(arrays, self.inputs)))
            with np.errstate(all="ignore"):
                result = np.asarray(sweep(self.name)(nodes, *arrays, *self.options), kind)
            result = np.broadcast_to(result, batch + result.shape[result.ndim - CORE.get(self.name, 1) :])
            if out is not None:
                return put_into(out, result)
            return result if result.flags.writeable else result.copy()

        return run
