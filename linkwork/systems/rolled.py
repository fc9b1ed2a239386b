"""The nodes of a model as a rolled kernel sees them: constants in tables, one representative for each class of joint."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..engine.differentiation.derived import rate_inputs, weight_inputs
from ..engine.differentiation.rolled_derivatives import Moving
from ..engine.differentiation.rolled_jvp import jvp
from ..engine.differentiation.rolled_vjp import vjp
from ..engine.loading.kernel import Kernel
from ..engine.tracing.array import Traced, lift
from ..engine.tracing.program import Input
from ..engine.tracing.rolled import Argument, Groups, Joined, RolledTree, Slot, Table
from ..engine.tracing.rolled_program import RolledProgram
from ..engine.tracing.trace import Trace
from ..lie.so3 import rotation_matrix
from .labelled import REMEDY
from .nodes import Nodes, chosen, columns_as_vectors
from .rigid import RigidTree


class RolledNodes(RigidTree):
    """The nodes as a rolled kernel sees them: it has the tables of `Nodes` that sweeps over all nodes ask for."""

    forces = ()

    def __init__(self, nodes: Nodes, groups: Groups | None = None):
        """In groups of each joint with what places it, or in those given."""
        self._nodes = nodes
        self.tree = tree = RolledTree(nodes.moving if groups is None else groups, nodes.tree.widths)
        tree.trace.remedy = REMEDY
        self.groups, self.H = nodes.groups, nodes.H
        self.gravity = Traced(tree.trace, lift(tree.trace, nodes.gravity))
        self.fixed = Table(tree, "fixed", nodes.fixed, relation=as_rotations)
        self.M = Table(tree, "M", nodes.M)
        self.joint_inertias = Table(tree, "joint_inertias", nodes.joint_inertias)
        self.moment = Table(tree, "moment", nodes.moment, world=nodes.moment[-1])
        for name in ("armature", "damping", "friction", "stiffness", "rest"):
            setattr(self, name, Table(tree, name, getattr(nodes, name)))
        self.nq = nodes.nq
        self.zeros = self.argument(None, "v")

    still = Nodes.still
    falling = Nodes.falling

    def argument(self, name: str | None, kind: str | int, size: int = 0) -> Argument:
        """A vector of coordinates ("q"), of velocities ("v"), of so many numbers for each moving node, or with 0 one for all nodes."""
        nodes = self._nodes
        if kind == "q":
            units = {k: group.units for k, group in enumerate(nodes.groups)}
            return Argument(name, "q", nodes.nq, tuple(group.nq for group in nodes.groups), units)
        if kind == "v":
            return Argument(name, "v", nodes.tree.nv, nodes.tree.widths)
        return Argument(name, kind, int(kind) * self.tree.groups.count or size, tuple(int(kind) for _ in nodes.groups))

    def split(self, q):
        return q.parts(self.tree, column=False)

    def join(self, slot) -> Joined:
        return Joined(slot, "q", self.nq)

    def on_bodies(self, x, via: Callable, bodies=None) -> Joined:
        return on_bodies(x, self._nodes, via, chosen(self._nodes, bodies))

    def wrenches(self, external: Argument):
        return self.tree.split(external)


def on_bodies(slot: Slot, nodes: Nodes, via: Callable, bodies: list[int]) -> Joined:
    """The values that a slot holds for all groups; those of bodies are made of them when the kernel has run."""
    after = OnBodies(slot, nodes, via, bodies)
    return Joined(slot, after.count, after.count * after.groups, after)


class OnBodies:
    """What bodies have, of what the groups have that carry them: linear, but for bodies on the world."""

    def __init__(self, slot: Slot, nodes: Nodes, via: Callable, bodies: list[int]):
        self.via, self.groups = via, slot.tree.groups.count
        number = slot.tree.groups.number | {nodes.tree.world: -1}
        self.shape = next(iter(slot.stored.values()))[1].shape
        self.count = int(np.prod(self.shape))
        self.at = [number[nodes.on[i]] for i in bodies]
        self.places = np.array([nodes.places[i] for i in bodies])
        of_world = np.zeros(self.shape) if slot.world is None else np.vectorize(slot.tree.trace.value, otypes=[float])(slot.world)
        self.of_world = of_world

    def __call__(self, x):
        return self._on_bodies(x, self.of_world)

    def rate(self, x):
        return self._on_bodies(x, np.zeros(self.shape))

    def _on_bodies(self, x, of_world):
        rows = x.reshape(*x.shape[:-1], self.groups, *self.shape)
        if -1 in self.at:  # the world has the last row
            world = np.broadcast_to(of_world[None], (*rows.shape[:-3], 1, *self.shape)).astype(x.dtype)
            rows = np.concatenate([rows, world], -3)
        return columns_as_vectors(self.via(rows[..., self.at, :, :], self.places.astype(x.dtype)))

    def transposed(self, weights):
        """Weights on the values of groups from those on the values of bodies."""
        units = np.eye(self.count, dtype=weights.dtype).reshape(self.count, 1, *self.shape)
        columns = self.via(units, self.places.astype(weights.dtype))  # (count, bodies, rows, columns)
        whole = weights[..., None] if columns.shape[-1] == 1 else weights
        if whole.shape[-3:] != columns.shape[1:]:
            raise ValueError("the last axes do not fit")  # as a gufunc would say; the caller finds out which
        out = np.zeros((*whole.shape[:-3], self.groups + 1, self.count), weights.dtype)
        np.add.at(out, (..., self.at, slice(None)), np.einsum("kbij,...bij->...bk", columns, whole))  # type: ignore[arg-type]
        return out[..., :-1, :].reshape(*whole.shape[:-3], self.groups * self.count)


def as_rotations(key, rows):
    """Exact values for poses that turn: those of a rotation drawn at random, so that R R* = I can be proved; and of a translation,
    if they move too."""
    turns, moves = rows.reshape(-1, 4, 4)[:, :3, :3], rows.reshape(-1, 4, 4)[:, :3, 3]
    if (turns == turns[0]).all():
        return None
    trace = Trace()
    q = np.array([trace.input(repr(key), i) for i in range(4)])
    for i in range(3):
        if (turns[:, i, i] == 1).all():  # all are about this axis
            q[[j for j in range(3) if j != i]] = trace.constant(0)
    R = rotation_matrix(Traced(trace, q)).refs
    residues = np.zeros((4, 4), object)
    residues[:3, :3] = np.vectorize(trace.residue_of, otypes=[object])(R)
    for i in range(3):
        if moves[:, i].any():
            residues[i, 3] = trace.residue_of(trace.input(repr(key), 4 + i))
    residues[3, 3] = 1
    return residues.ravel().tolist()


def kind_of(x: Input) -> str | int:
    """What the numbers of an input are, for `RolledNodes.argument`."""
    return 6 if x.name == "external" else "q" if x.name[0] == "q" else "v"


@dataclass(frozen=True, eq=False)
class RolledFunction:
    """A function of one sample as a loop over nodes, and its derivatives, which are such functions again."""

    name: str
    inputs: tuple[Input, ...]
    kinds: tuple[str | int, ...]  # of each input, for `RolledNodes.argument`
    nv: int
    made: Callable[[], tuple[RolledNodes, RolledProgram]]  # anew each time

    @staticmethod
    def of(name: str, nodes: Nodes, function: Callable, inputs: Sequence[Input]) -> "RolledFunction":
        """A function of (nodes, arguments...)."""
        kinds = tuple(map(kind_of, inputs))

        def made():
            rolled = RolledNodes(nodes)
            arguments = [rolled.argument(x.name, kind) for x, kind in zip(inputs, kinds)]
            return rolled, RolledProgram(name, rolled.tree, tuple(inputs), function(rolled, *arguments))

        return RolledFunction(name, tuple(inputs), kinds, nodes.tree.nv, made)

    @cached_property
    def kernel(self) -> Kernel:
        return Kernel(self.name, self.made, self.inputs, record=lambda name, made, inputs: made()[1])

    @cached_property
    def results(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of its results."""
        return tuple(x.shape for x in self.kernel.program.outputs)

    def jvp(self, coordinate_rates: Callable) -> "RolledFunction":
        """The rates of its results, of the inputs and a rate for each; `coordinate_rates` gives, of a group and its coordinates, their
        rates along each velocity."""
        kinds = tuple("v" if kind == "q" else kind for kind in self.kinds)
        rates = rate_inputs(self.inputs, [(self.nv,) if kind == "q" else x.shape for x, kind in zip(self.inputs, self.kinds)])
        name, inputs = f"{self.name}_jvp", (*self.inputs, *rates)

        def made():
            rolled, program = self.made()
            return rolled, jvp(program, name, inputs, self._moving(rolled, rates, coordinate_rates))

        return RolledFunction(name, inputs, (*self.kinds, *kinds), self.nv, made)

    def vjp(self, coordinate_rates: Callable) -> "RolledFunction":
        """Weights on the directions of each input, of the inputs and a weight for each result."""
        weights = weight_inputs(self.inputs, self.results)
        results = self.kernel.program.results  # type: ignore[union-attr]
        kinds = tuple(x.which if isinstance(x, Joined) else 0 for x in results)
        name, inputs = f"{self.name}_vjp", (*self.inputs, *weights)

        def made():
            rolled, program = self.made()
            moving = self._moving(rolled, self.inputs, coordinate_rates)
            return rolled, vjp(program, name, inputs, [x.name for x in weights], moving)

        return RolledFunction(name, inputs, (*self.kinds, *kinds), self.nv, made)

    def _moving(self, rolled: RolledNodes, rates: Sequence[Input], coordinate_rates: Callable) -> list[Moving]:
        def along_group(c, x):
            return coordinate_rates(rolled.groups[rolled.tree.representative[c][-1]], x)

        out = []
        for x, kind, rate in zip(self.inputs, self.kinds, rates):
            direction = rolled.argument(rate.name, "v" if kind == "q" else kind, rate.size)
            along = along_group if kind == "q" else None
            out.append(Moving(rolled.argument(x.name, kind, x.size), direction, along, x.shape))
        return out
