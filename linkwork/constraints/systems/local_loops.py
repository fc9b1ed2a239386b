"""Loops that are alike: one text of their rows for all of them, their lengths and places as data.

The loops of a long mechanism are sorted into kinds. A kind has the members of one loop as a small tree of its own, on the carrier as its
world, and the constraints of one loop on that tree. What the loops of a kind differ in are arrays: poses of joints, frames and numbers
of constraints. Over floats they are a batch of all loops at once; in a rolled kernel they are tables.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from ...lie import Group
from ...model.tree import Tree
from ...quantities import integrate
from ...systems import Nodes
from ...systems.cells import with_placing
from ...systems.rigid import RigidTree
from ..choice.loops import LEAST_WEIGHT, Loops, Ranked
from ..choice.partition import pivoted
from ..rows.kinematics import Kinematics
from ..rows.rank import LEFT, RANK, without_small_rows
from ..rows.rows import Constraint, Rows, stacked_columns
from ..solution.return_to import ROUNDING, closed
from .choice_kernels import NEAR, REACH

TURN = 0.5  # radians, or metres, that one step may go, so that a branch of assembly is kept
ROUNDS = 80  # of Gauss and Newton that close loops, and of steps that did not help
TRIES = 8  # guesses that loops are closed from
CLOSED = 1e-12
PICKS = 8  # configurations at which rows that are enough are looked for


class LocalNodes(RigidTree):
    """The members of a loop as nodes: what kinematics asks of them."""

    bonds = None
    split, join = Nodes.split, Nodes.join

    def __init__(self, tree: Tree, groups: Sequence[Group], q_rows: Sequence[slice], fixed, still):
        self.tree, self.groups, self.q_rows, self.fixed, self.still = tree, groups, q_rows, fixed, still

    @cached_property
    def H(self):
        return [group.basis for group in self.groups]


@dataclass(frozen=True, eq=False)
class LocalKinematics(Kinematics):
    """The motion of one loop seen from its carrier; places are frames by their numbers."""

    frames: Any = ()  # (node, pose on it) of each
    constants: Any = None  # {(name, number of the constraint): value}

    def varied(self, name: str, number: int | None):
        return (self.constants or {}).get((name, number))

    def _on_node(self, body, pose, shift):
        return self.frames[body]


@dataclass(frozen=True, eq=False)
class Kind:
    """Loops that are alike: the tree and the constraints of one of them, and what each of them has of its own."""

    tree: Tree
    groups: tuple[Group, ...]
    constraints: tuple[Constraint, ...]
    on: tuple[int, ...]  # the node of each frame, -1 for the carrier
    scales: np.ndarray  # of its rows
    reach: np.ndarray  # of its velocities

    @cached_property
    def q_rows(self) -> tuple[slice, ...]:
        ends = np.cumsum([0, *(group.nq for group in self.groups)])
        return tuple(slice(int(a), int(b)) for a, b in pairwise(ends))

    def nodes(self, fixed, still) -> Any:
        return LocalNodes(self.tree, self.groups, self.q_rows, fixed, still)

    def rows(self, nodes, frames, constants: Mapping, q, v=None) -> Rows:
        """All rows over the velocities of the loop, c and U as columns; γ with v only."""
        members = tuple(range(len(self.groups)))
        here = LocalKinematics(nodes, q, v, members=members, carrier=-1, frames=list(zip(self.on, frames)), constants=constants)
        return stacked_columns([x.rows(here) for x in self.constraints], here)


@dataclass(frozen=True, eq=False)
class LocalLoop:
    """The numbers that one loop has of its own."""

    members: tuple[int, ...]  # nodes, those that only place one among them
    fixed: tuple[np.ndarray, ...]  # of each member
    frames: tuple[np.ndarray, ...]  # poses on their nodes
    constants: dict[tuple[str, int], np.ndarray]


class Batch:
    """Loops of one kind, all at once in NumPy: arrays have an axis for the loops first."""

    def __init__(self, kind: Kind, loops: list[LocalLoop]):
        self.kind = kind
        stack = lambda arrays: [np.array(x) for x in zip(*arrays)]
        self.nodes = kind.nodes(stack([x.fixed for x in loops]), np.zeros((6, 1)))
        self.frames = stack([x.frames for x in loops])
        self.constants = {key: np.array([x.constants[key] for x in loops]) for key in loops[0].constants}

    def rows(self, q) -> Rows:
        """Without velocities."""
        with np.errstate(all="ignore"):
            return self.kind.rows(self.nodes, self.frames, self.constants, q)

    def misfit(self, rows: Rows):
        return (np.abs(rows.c[..., 0]) / self.kind.scales).max(-1, initial=0.0)

    def closed(self, q):
        """Configurations near q in which the loops are closed, where there are some, by Gauss and Newton."""

        def towards(q):
            rows = self.rows(q)
            size = np.linalg.norm(rows.c[..., 0] / self.kind.scales, axis=-1)
            J = np.where(np.isfinite(rows.Jc), rows.Jc, 0.0) / self.kind.scales[:, None] * self.kind.reach
            c = np.where(np.isfinite(rows.c), rows.c, 0.0) / self.kind.scales[:, None]
            step = (np.linalg.pinv(J, np.maximum(RANK, np.minimum(1e-3, 10 * np.nan_to_num(size)))) @ c)[..., 0]
            longest = np.maximum(np.abs(step).max(-1, keepdims=True), 1e-300)
            return step * self.kind.reach * np.minimum(1.0, TURN / longest), size, ROUNDING

        return closed(towards, partial(integrate, self.nodes), q, ROUNDS)[0]

    def enough(self, start, weights) -> list[tuple[tuple[int, ...], int]]:
        """Rows of each loop that are enough between them, and its rank, from configurations that it can have around `start`."""
        rng, reach = np.random.default_rng(0), self.kind.reach
        away = lambda q, by: integrate(self.nodes, q, by * reach * rng.uniform(-1, 1, (len(q), len(reach))))
        q = self.closed(start)
        for _ in range(TRIES):
            if (good := self.misfit(self.rows(q)) <= CLOSED).all():
                break
            q = np.where(good[:, None], q, self.closed(away(start, REACH)))
        if not (self.misfit(self.rows(q)) <= CLOSED).any():
            return [(x or (), len(x or ())) for x in self._chosen(start, weights, np.inf)]  # as if they were closed there
        picks = [self._chosen(x, weights) for x in (q, self.closed(away(q, NEAR)))]
        m = len(self.kind.scales)
        if any(len(x or ()) < m for x in picks[0]):
            picks += [self._chosen(self.closed(away(q, REACH)), weights) for _ in range(PICKS)]
        out = []
        for each, other in zip(zip(*picks), self._chosen(start, weights, np.inf)):
            found = [x for x in each if x is not None] or [other or ()]
            rank = max(map(len, found[:2]))
            out.append((tuple(dict.fromkeys(i for x in found if len(x) == rank for i in x)), rank))
        return out

    def _chosen(self, q, weights, closed: float = CLOSED) -> list[tuple[int, ...] | None]:
        """Rows that are enough for each loop; None where it is open by more than that."""
        rows = self.rows(q)
        misfit = self.misfit(rows)
        Jc = without_small_rows(rows.Jc / self.kind.scales[:, None], 1.0, self.kind.reach)
        first = np.ones(Jc.shape[-2], bool)
        return [tuple(pivoted(J, w, LEFT, first)[0]) if x <= closed and np.isfinite(J).all() else None
                for J, w, x in zip(Jc, weights, misfit)]  # fmt: skip


class LocalLoops:
    """All loops of a mechanism by kinds."""

    def __init__(self, loops: Loops):
        self.loops, self.nodes = loops, loops.nodes
        self.kinds: dict[Hashable, Kind] = {}
        self.members: list[LocalLoop] = []
        self.kind_of: list[Hashable] = []
        self.of_kind: dict[Hashable, list[int]] = {}
        for g, members in enumerate(with_placing(self.nodes, loops.groups)):
            self._sort(g, members)

    def _sort(self, g: int, members: tuple[int, ...]) -> None:
        nodes, set_ = self.nodes, self.loops.set
        tree, at = nodes.tree, {k: m for m, k in enumerate(members)}
        ports = [x for x in (set_.constraints[i].portable for i in self.loops.constraints[g]) if x is not None]
        parent = tuple(at.get(tree.parent[k], -1) for k in members)
        groups = tuple(nodes.groups[k] for k in members)
        q_at, v_at = self._starts(members, nodes.q_rows), self._starts(members, tree.rows)
        places = [[nodes.on_node(body, pose) if body is not None else (tree.world, pose.matrix) for body, pose in x.frames] for x in ports]
        on = tuple(at.get(k, -1) for each in places for k, _ in each)
        local = [tuple((q_at[i], v_at[j]) for i, j in x.coordinates) for x in ports]
        columns = self.loops.columns[g]
        key = (tuple((x.kind, len(x.frames), where) for x, where in zip(ports, local)), on, parent, groups)
        if key not in self.kinds:
            placed, number = [], 0
            for i, (x, where) in enumerate(zip(ports, local)):
                placed.append(x.placed(i, tuple(range(number, number + len(x.frames))), where))
                number += len(x.frames)
            own = Tree(parent, [group.nv for group in groups])
            self.kinds[key] = Kind(own, groups, tuple(placed), on, self.loops.scales(g), set_.reach[columns])
        constants = {(name, i): np.asarray(x, float) for i, port in enumerate(ports) for name, x in port.constants.items()}
        fixed = tuple(nodes.fixed[k] for k in members)
        self.members.append(LocalLoop(members, fixed, tuple(pose for each in places for _, pose in each), constants))
        self.kind_of.append(key)
        self.of_kind.setdefault(key, []).append(g)

    @staticmethod
    def _starts(members, rows) -> dict[int, int]:
        """Numbers of entries of a whole vector as those of the loop's own."""
        own = (i for k in members for i in range(rows[k].start, rows[k].stop))
        return {i: n for n, i in enumerate(own)}

    # --- rows that are enough, and their rank

    def ranked(self, q, weights) -> list[Ranked]:
        """Of each loop what is known beforehand for a choice by the numbers of each sample, from configurations that it can have around
        q (nq,); `weights` (nv,) are those of velocities."""
        out: list[Ranked] = [Ranked((), 0, (), (), ())] * len(self.members)
        for key, kind in self.kinds.items():
            which = self.of_kind[key]
            own = np.array([weights[self.loops.columns[g]] for g in which]) * kind.reach
            own = own / own.max(-1, keepdims=True, initial=1e-300)
            own = 2.0 ** np.round(np.log2(np.maximum(own, LEAST_WEIGHT) / kind.reach))
            for g, weight, (rows, rank) in zip(which, own, self._enough(kind, which, q[self.coordinates[key]], own)):
                out[g] = Ranked.of(rows, rank, kind.scales, weight, kind.reach)
        return out

    @cached_property
    def coordinates(self) -> dict[Hashable, np.ndarray]:
        """The numbers in q of the coordinates of the loops of each kind (loops, coordinates)."""
        rows = self.nodes.q_rows
        each = lambda g: [i for k in self.members[g].members for i in range(rows[k].start, rows[k].stop)]
        return {key: np.array([each(g) for g in which], int).reshape(len(which), -1) for key, which in self.of_kind.items()}

    # --- all loops in NumPy

    @cached_property
    def batches(self) -> dict[Hashable, Batch]:
        return {key: Batch(kind, [self.members[g] for g in self.of_kind[key]]) for key, kind in self.kinds.items()}

    def closed(self, q):
        """q (nq,) with the loops closed that can be near it: each by steps of least length of its own joints."""
        q = np.array(q, float)
        for key, batch in self.batches.items():
            at = self.coordinates[key]
            q[at] = batch.closed(q[at])
        return q

    def along(self, q, v):
        """c, Jc v, |Jc| |v| and the largest entries of Jc, these without units, of each row of the set (m,), at one state."""
        out = np.zeros((4, len(self.loops.set)))
        for key, batch in self.batches.items():
            found, which = batch.rows(q[self.coordinates[key]]), self.of_kind[key]
            own = v[np.array([self.loops.columns[g] for g in which])][..., None]
            largest = (np.abs(found.Jc) * batch.kind.reach / batch.kind.scales[:, None]).max(-1, keepdims=True, initial=0.0)
            parts = found.c, found.Jc @ own, np.abs(found.Jc) @ np.abs(own), largest
            out[:, np.array([self.loops.numbers[g] for g in which])] = np.array([x[..., 0] for x in parts])
        return out

    def _enough(self, kind: Kind, which: list[int], start, weights) -> list[tuple[tuple[int, ...], int]]:
        """Rows that are enough between them and the rank of each loop; loops with the same numbers are looked at once."""
        some = [self.members[g] for g in which]
        flat = [np.concatenate([np.ravel(a) for a in (*x.fixed, *x.frames, *x.constants.values(), q, w)])
                for x, q, w in zip(some, start, weights)]  # fmt: skip
        _, first, back = np.unique(np.array(flat), axis=0, return_index=True, return_inverse=True)
        found = Batch(kind, [some[i] for i in first]).enough(start[first], weights[first])
        return [found[i] for i in back.ravel()]
