"""The nodes of a model as a rolled kernel sees them: constants in tables, one representative for each class of joint."""

from collections.abc import Callable

import numpy as np

from ..engine.array import Traced, lift
from ..engine.rolled import Argument, Columns, Groups, Joined, RolledTree, Slot, Table
from ..engine.rolled_program import RolledProgram
from ..engine.trace import Trace
from ..lie.so3 import rotation_matrix
from .labelled import REMEDY
from .nodes import Nodes, chosen, columns_as_vectors
from .rigid import RigidTree


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


class RolledNodes(RigidTree):
    """The nodes as a rolled kernel sees them: it has the tables of `Nodes` that sweeps over all nodes ask for."""

    forces = ()

    def __init__(self, nodes: Nodes):
        self._nodes = nodes
        self.tree = tree = RolledTree(grouped(nodes), nodes.tree.widths)
        tree.trace.remedy = REMEDY
        self.groups, self.H = nodes.groups, nodes.H
        self.gravity = Traced(tree.trace, lift(tree.trace, nodes.gravity))
        self.fixed = Table(tree, "fixed", nodes.fixed, relation=_as_rotations)
        self.M = Table(tree, "M", nodes.M)
        self.joint_inertias = Table(tree, "joint_inertias", nodes.joint_inertias)
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

    def on_bodies(self, x, via: Callable, bodies=None) -> Joined:
        return on_bodies(x, self._nodes, via, chosen(self._nodes, bodies))

    def wrenches(self, external: Argument):
        return self.tree.split(external)


def on_bodies(slot: Slot, nodes: Nodes, via: Callable, bodies: list[int]) -> Joined:
    """The values that a slot holds for all groups; those of bodies are made of them when the kernel has run."""
    members, world = grouped(nodes).members, nodes.tree.world
    shape = next(iter(slot.stored.values()))[1].shape
    group_of = {k: g for g, row in enumerate(members) for k in row} | {world: -1}
    at = [group_of[nodes.on[i]] for i in bodies]
    places = np.array([nodes.places[i] for i in bodies])
    of_world = np.zeros(shape) if slot.world is None else np.vectorize(slot.tree.trace.value, otypes=[float])(slot.world)

    def after(x):
        rows = x.reshape(*x.shape[:-1], len(members), *shape)
        if -1 in at:  # the world has the last row
            rows = np.concatenate([rows, np.broadcast_to(of_world[None], (*rows.shape[:-3], 1, *shape)).astype(x.dtype)], -3)
        return columns_as_vectors(via(rows[..., at, :, :], places.astype(x.dtype)))

    count = int(np.prod(shape))
    return Joined(slot, count, count * len(members), after)


def _as_rotations(key, rows):
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


def rolled_program(name: str, nodes: Nodes, function, inputs) -> RolledProgram:
    """A function of (nodes, arguments...) traced on rolled nodes."""
    rolled = RolledNodes(nodes)
    kinds = {"external": "w"}
    arguments = [rolled.argument(x.name, kinds.get(x.name, "q" if x.name[0] == "q" else "v")) for x in inputs]
    return RolledProgram(name, rolled.tree, tuple(inputs), function(rolled, *arguments))
