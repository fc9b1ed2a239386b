"""The nodes of a model as a rolled kernel sees them: constants in tables, one representative for each class of joint."""

from functools import partial

import numpy as np

from .engine.array import Traced, lift
from .engine.gufunc import put_into
from .engine.kernel import Kernel
from .engine.program import Input
from .engine.rolled import Argument, Columns, Groups, Joined, RolledTree, Table
from .engine.rolled_program import RolledProgram
from .engine.trace import Trace
from .lie.so3 import rotation_matrix
from .model import Nodes
from .quantity import REMEDY, Quantity, sweep
from .spatial import phi


def grouped(nodes: Nodes) -> Groups:
    """Each moving node with the nodes that only place it; groups of the same joints and placements are one class."""
    members, kinds, parent, q_start, v_start = [], [], [], [], []
    group_of: dict[int, int] = {-1: -1}
    row: list[int] = []
    for k, group in enumerate(nodes.groups):
        row.append(k)
        if group.nv:
            kinds.append(tuple((nodes.groups[i], _placing(nodes, i)) for i in row))
            parent.append(group_of[nodes.tree.parent[row[0]]])
            members.append(tuple(row))
            q_start.append(nodes.q_rows[k].start)
            v_start.append(nodes.tree.rows[k].start)
            group_of[k] = len(members) - 1
            row = []
    known = list(dict.fromkeys(kinds))
    classes = {kind: c for c, kind in enumerate(known)}
    return Groups(tuple(members), tuple(classes[k] for k in kinds), tuple(parent), tuple(q_start), tuple(v_start))


def _placing(nodes: Nodes, k: int) -> tuple[bool, tuple[bool, ...]]:
    """Does a node's fixed placement move, and about which axes does it turn? One alone makes a sparse rotation."""
    turning = nodes.quaternion[k][:3] != 0
    return bool(nodes.translation[k].any()), tuple(turning.tolist()) if turning.sum() < 2 else ()


class RolledNodes:
    """Looks like `Nodes` to the functions of `sweeps.quantities`."""

    def __init__(self, nodes: Nodes):
        self._nodes = nodes
        self.tree = tree = RolledTree(grouped(nodes), nodes.tree.widths)
        tree.trace.remedy = REMEDY
        self.groups, self.H = nodes.groups, nodes.H
        self.gravity = Traced(tree.trace, lift(tree.trace, nodes.gravity))
        self.fixed = Table(tree, "fixed", nodes.fixed, relation=_as_rotations)
        self.M = Table(tree, "M", nodes.M)
        self.J = Table(tree, "J", nodes.J)
        self.moment = Table(tree, "moment", nodes.moment, world=nodes.moment[-1])
        for name in ("armature", "damping", "friction", "stiffness", "rest"):
            setattr(self, name, Table(tree, name, getattr(nodes, name)))
        self.nq = nodes.nq
        self.zeros = self.argument(None, "v")

    still = Nodes.still
    falling = Nodes.falling

    def argument(self, name: str | None, which: str) -> Argument:
        """A vector of coordinates ("q"), of velocities ("v") or of wrenches ("w"), one for each moving node."""
        nodes = self._nodes
        if which == "q":
            units = {k: group.units for k, group in enumerate(nodes.groups)}
            return Argument(name, "q", nodes.nq, tuple(group.nq for group in nodes.groups), units)
        if which == "w":
            return Argument(name, 6, 6 * len(self.tree.groups.members), tuple(6 for _ in nodes.groups))
        return Argument(name, "v", nodes.tree.nv, nodes.tree.widths)

    def split(self, q: Argument):
        return Columns(self.tree, q, column=False)

    def join(self, slot) -> Joined:
        return Joined(slot, "q", self.nq)

    def wrenches(self, external: Argument):
        return self.tree.split(external)


def _as_rotations(key, rows):
    """Exact values for poses that turn: those of a rotation drawn at random, so that R R* = I can be proved."""
    turns = rows.reshape(-1, 4, 4)[:, :3, :3]
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
    residues[3, 3] = 1
    return residues.ravel().tolist()


def rolled_program(name: str, nodes: Nodes, function, inputs) -> RolledProgram:
    """A function of (nodes, arguments...) traced on rolled nodes."""
    rolled = RolledNodes(nodes)
    kinds = {"external": "w"}
    arguments = [rolled.argument(x.name, kinds.get(x.name, "q" if x.name[0] == "q" else "v")) for x in inputs]
    return RolledProgram(name, rolled.tree, tuple(inputs), function(rolled, *arguments))


PRODUCTS = {
    "mass_matrix": ("mass_matrix_times", "vdot"),
    "mass_matrix_inverse": ("mass_matrix_solve", "tau"),
    "coriolis_matrix": ("coriolis_matrix_times", "dv"),
}  # matrices that a rolled kernel multiplies with, and the name of the vector


def by_columns(product):
    """A matrix from its product with a vector: the columns of the identity are one more batch axis."""

    n = int(product.signature.split("->")[1].strip("()"))

    def run(*arrays, out=None):
        arrays = tuple(map(np.asarray, arrays))
        if not all(x.ndim for x in arrays):
            raise ValueError("the last axes do not fit")  # as a gufunc would say; Dynamics finds out which
        identity = np.eye(n, dtype=np.result_type(*arrays))
        columns = product(*(x[..., None, :] for x in arrays), identity).mT
        return columns if out is None else put_into(out, columns)

    return run


def with_wrenches_on_nodes(kernel, nodes: Nodes, groups: Groups, dtype: np.dtype):
    """A kernel whose last argument is a wrench for each moving node, called with one for each body."""
    group_of = {k: g for g, members in enumerate(groups.members) for k in members}
    moving = [i for i, k in enumerate(nodes.on) if k != nodes.tree.world]
    to = np.array([group_of[nodes.on[i]] for i in moving])
    shifts = np.array([phi(nodes.places[i]) for i in moving], dtype)

    def run(*arrays, out=None):
        *rest, external = map(np.asarray, arrays)
        if external.shape[-2:] != (len(nodes.on), 6):
            raise ValueError("the last axes do not fit")  # as a gufunc would say; Dynamics finds out which
        total = np.zeros((*external.shape[:-2], len(groups.members), 6), dtype)
        with np.errstate(all="ignore"):
            moved = (shifts @ external[..., moving, :, None].astype(dtype, casting="safe", copy=False))[..., 0]
            np.add.at(total, (..., to, slice(None)), moved)  # type: ignore[arg-type]
        flat = total.reshape(*total.shape[:-2], 6 * len(groups.members))
        return kernel(*rest, flat) if out is None else kernel(*rest, flat, out=out)

    return run


def rolled_run(quantity: Quantity, nodes: Nodes, dtype: np.dtype):
    """A quantity by a rolled kernel, called as a gufunc is; None where only straight-line code or a plain run will do."""
    name = quantity.name
    if quantity.options or name in STRAIGHT_ONLY:
        return None
    inputs, groups = quantity.inputs, grouped(nodes)
    if name in PRODUCTS:
        name, vector = PRODUCTS[name]
        inputs = (*inputs, Input(vector, (nodes.tree.nv,)))
    inputs = tuple(Input(x.name, (6 * len(groups.members),)) if x.name == "external" else x for x in inputs)
    kernel = Kernel(name, sweep(name), inputs, record=partial(_recorded, nodes))
    if quantity.name in PRODUCTS:
        return by_columns(kernel.gufunc(dtype.char))
    if inputs[-1].name == "external":
        return with_wrenches_on_nodes(kernel.gufunc(dtype.char), nodes, groups, dtype)
    return kernel.call(dtype.char)


def rolled_kernel(quantity: Quantity, nodes: Nodes) -> Kernel | None:
    """The rolled kernel that is this quantity by itself; None where there is none, or more is to be done around it."""
    name, last = quantity.name, quantity.inputs[-1].name
    if quantity.options or name in STRAIGHT_ONLY or name in PRODUCTS or last == "external":
        return None
    return Kernel(name, sweep(name), quantity.inputs, record=partial(_recorded, nodes))


def _recorded(nodes, name, function, inputs):
    return rolled_program(name, nodes, function, inputs)


STRAIGHT_ONLY = {"poses"}  # besides what concerns a few bodies: it lays out every one
