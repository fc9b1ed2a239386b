"""Embedded loops and gears: ordinary nodes of other heights (Jain, chapters 12, 14 and 15).

The joints of a loop move as v_S = X u, with fewer velocities u than joints. One massless root e for each loop stands on the
node p that carries it and holds all velocities of the loop's joints. The loop's members have none of their own: the velocity
of a member's joint is part of the node it stands on, and a member holds what members beyond it need.

    V(e) = [V(p); v_S],   H(e) = [0, X*],                    M(e) = diag(0, armature_S),   b(e) = [0; armature_S Ẋu − τ_S]
    V(k) = [V_k; w_k],    A(p,k) = [[φ, 0], [E_own H, E]],   M(k) = diag(M_k, 0),          a(k) = [a_k + H* Ẋu; 0]

E are constant picks of zeros and ones. The articulated sweep then yields P(e) = [[R, N], [N*, 𝓜_S]], composite inertia,
columns and mass matrix of the loop's tree, and D(e) = X* (𝓜_S + armature_S) X, (15.16) to (15.23). A gear is a loop with
constant X = [μ; 1] and Ẋu = 0.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..lie import R as Reals
from ..lie.scalars import like
from ..model.tree import Tree, concatenated
from ..sweeps.blocks import BlockRates, Blocks, Rates
from .nodes import Nodes

RootedLoop = tuple[int, tuple[int, ...]]  # root and members, numbers of nodes


def with_roots(nodes: Nodes, loops: Sequence[Sequence[int]]) -> tuple[Nodes, list[RootedLoop]]:
    """The nodes with one more for each loop, its root: fixed on the carrier, without mass or motion; members stand on it.
    Also each loop as (root, members) in the new numbers."""
    rooting = Rooting(nodes, loops)
    return rooting.nodes, rooting.loops


class Rooting:
    """Nodes with others among them, without mass or motion, fixed where their parents are: a root for each loop, on which its members
    stand. With `gates` each root stands on a gate, and what stands on a member that others of its loop stand on too, on an exit there: a
    loop with these is a unit (cells.py)."""

    def __init__(self, nodes: Nodes, loops: Sequence[Sequence[int]], *, gates: bool = False):
        self.before, self.gates = nodes, gates
        self.loop = {k: g for g, members in enumerate(loops) for k in members}
        self.old: list[int | None] = []  # the number before of each node, None of new ones
        self.parent: list[int] = []
        self.units: list[list[int]] = [[] for _ in loops]  # the nodes of each loop, new ones among them
        self.root: dict[int, int] = {}
        self.exit: dict[int, int] = {}  # of a member, in the old numbers
        self.number = {nodes.tree.world: nodes.tree.world}
        for k, p in enumerate(nodes.tree.parent):
            self._insert(k, p)
        self.loops = [(self.root[g], tuple(self.number[k] for k in members)) for g, members in enumerate(loops)]

    def _insert(self, k: int, p: int) -> None:
        stands_on, g = self.exit.get(p, self.number[p]), self.loop.get(k)
        if g is not None and self.loop.get(p) == g:
            stands_on = self.number[p]
        elif g is not None:
            if g not in self.root:
                self.root[g] = self._add(None, self._add(None, stands_on, g) if self.gates else stands_on, g)
            stands_on = self.root[g]
        self.number[k] = self._add(k, stands_on, g)
        inside = [self.loop.get(c) == g for c in self.before.tree.children[k]]
        if self.gates and g is not None and any(inside) and not all(inside):
            self.exit[k] = self._add(None, self.number[k], g)

    def _add(self, k: int | None, stands_on: int, g: int | None) -> int:
        self.old.append(k)
        self.parent.append(stands_on)
        if g is not None:
            self.units[g].append(len(self.old) - 1)
        return len(self.old) - 1

    @cached_property
    def nodes(self) -> Nodes:
        """The nodes in their new order."""
        before, old = self.before, self.old

        def table(name, of_new):
            return tuple(of_new if k is None else getattr(before, name)[k] for k in old)

        kind = before.gravity.dtype
        nothing = np.zeros(0, kind)
        return replace(
            before,
            tree=Tree(self.parent, [0 if k is None else before.tree.widths[k] for k in old]),
            groups=table("groups", Reals(0)),
            q_rows=table("q_rows", slice(0, 0)),
            labels=table("labels", "loop"),
            reach=table("reach", ()),
            on=tuple(self.number[k] for k in before.on),
            quaternion=table("quaternion", np.array([0, 0, 0, 1], kind)),
            translation=table("translation", np.zeros(3, kind)),
            inertias=before.inertias and table("inertias", np.zeros_like(before.inertias[0])),
            **before.renumbered(old),
            **{name: table(name, nothing) for name in ("armature", "damping", "friction", "stiffness", "rest")},
        )


class Embedding:
    """The tree of a system with loops, and its blocks from those of the rigid tree with roots."""

    def __init__(self, tree: Tree, loops: Sequence[RootedLoop], widths: Sequence[int]):
        """`widths` says how many velocities each loop keeps."""
        self.rigid, self.members = tree, dict(loops)
        loop = {k: e for e, members in loops for k in (e, *members)}
        own = [tuple(range(rows.start, rows.stop)) for rows in tree.rows]
        held: dict[int, tuple[int, ...]] = {tree.world: ()}
        for k in tree.tips_to_base():
            inside = [c for c in tree.children[k] if k in loop and loop.get(c) == loop[k]]
            held[k] = tuple(sorted(j for c in inside for j in own[c] + held[c]))
        self.own_picks = [_picks(held[p], own[k]) for k, p in enumerate(tree.parent)]
        self.picks = [_picks(held[p], held[k]) for k, p in enumerate(tree.parent)]
        kept = {e: n for (e, _), n in zip(loops, widths)}
        self.free = {k for k in tree.base_to_tips() if k not in loop}  # nodes that are in no loop
        self.widths = [tree.widths[k] if k in self.free else kept.get(k, 0) for k in tree.base_to_tips()]
        self.tree = Tree(tree.parent, self.widths)

    def blocks(self, s: Blocks, X) -> Blocks:
        """From the rigid blocks and X(e) of each root."""
        A, H, M, armature = self.tree.slots(4)
        for k in self.tree.base_to_tips():
            E, (above, n), r = like(self.picks[k], s.A[k]), s.A[k].shape[-2:], self.widths[k]
            m = E.shape[-1]
            zero = lambda *shape, some=s.A[k]: np.zeros_like(some, shape=shape)
            joints = diagonal([s.armature[i] for i in self.members[k]]) if k in self.members else zero(m, m)
            A[k] = grid([[s.A[k], zero(above, m)], [like(self.own_picks[k], s.A[k]) @ s.H[k], E]])
            M[k] = grid([[s.M[k], zero(n, m)], [zero(m, n), joints]])
            H[k] = s.H[k] if k in self.free else grid([[zero(r, n), X[k].mT]]) if k in self.members else zero(0, n + m)
            armature[k] = s.armature[k] if k in self.free else zero(r, r)
        return Blocks(self.tree, A, H, M, armature)

    def rates(self, s: Blocks, r: Rates, bend) -> Rates:
        """From the rigid rates and bend(k) = Ẋu of each member's joint."""
        a, b, tau = self.tree.slots(3)
        for k in self.tree.base_to_tips():
            m = self.picks[k].shape[-1]
            rest = np.zeros_like(s.A[k], shape=(m, 1))
            push = grid([[self._load(s, r, bend, i)] for i in self.members[k]]) if k in self.members else rest
            a[k] = grid([[r.a[k] + s.H[k].mT @ bend[k] if k in bend else r.a[k]], [rest]])
            b[k] = grid([[r.b[k]], [push]])
            if r.tau is not None:
                tau[k] = r.tau[k] if k in self.free else np.zeros_like(s.A[k], shape=(self.widths[k], 1))
        return Rates(a, b, r.base, None if r.tau is None else tau)

    @staticmethod
    def _load(s, r, bend, k):
        load = s.armature[k] @ bend[k]
        return load if r.tau is None else load - r.tau[k]

    def block_rates(self, s: Blocks, d: BlockRates, X_rate) -> BlockRates:
        """From the rates of the rigid blocks and Ẋ(e) of each root: what a member's joint turns is in A now."""
        A, H, N = self.tree.slots(3)
        for k in self.tree.base_to_tips():
            (above, n), (rows, m) = s.A[k].shape[-2:], self.picks[k].shape
            zero = lambda *shape, some=s.A[k]: np.zeros_like(some, shape=shape)
            A[k] = grid([[d.A[k], zero(above, m)], [like(self.own_picks[k], s.A[k]) @ d.H[k].mT, zero(rows, m)]])
            N[k] = grid([[d.N[k], zero(n, m)], [zero(m, n), zero(m, m)]])
            if k in self.free:
                H[k] = d.H[k]
            else:
                H[k] = grid([[zero(n, self.tree.widths[k])], [X_rate[k]]]) if k in self.members else zero(n + m, 0)
        return BlockRates(A, H, N)

    def whole(self, vdot, X, bend):
        """v̇ = X u̇ + Ẋu of all joints (..., nv)."""
        moved = self._spread(vdot, X)
        return self.rigid.join(moved | {k: moved[k] + x for k, x in bend.items()})

    def response(self, vdot, X):
        """X u̇ of all joints, for columns (..., nv, m)."""
        return self.rigid.join_rows(self._spread(vdot, X))

    def forces(self, tau, X) -> dict:
        """X* τ of each node, for columns of forces on all joints (..., nv, m)."""
        given = self.rigid.split_rows(tau)
        found = {k: given[k] if k in self.free else np.zeros_like(given[k], shape=(0, tau.shape[-1])) for k in self.tree.base_to_tips()}
        for e, members in self.members.items():
            found[e] = X[e].mT @ grid([[given[k]] for k in members])
        return found

    def _spread(self, vdot, X) -> dict:
        """X u̇ of each node."""
        found = {k: vdot[k] for k in self.free}
        for e, members in self.members.items():
            moved, at = X[e] @ vdot[e], 0
            for k in members:
                found[k] = moved[..., at : at + self.rigid.widths[k], :]
                at += self.rigid.widths[k]
        return found | {e: np.zeros_like(vdot[e], shape=(0, vdot[e].shape[-1])) for e in self.members}

    def padded(self, k: int, B):
        """Directions on node k of the rigid tree, in the height of its block."""
        rest = np.zeros_like(B, shape=(self.picks[k].shape[-1], B.shape[-1]))
        return grid([[B], [rest]])

    @cached_property
    def sizes(self) -> dict[int, tuple[int, ...]]:
        """Of each root, the number of velocities of each member."""
        return {e: tuple(self.rigid.widths[k] for k in members) for e, members in self.members.items()}


def _picks(rows, columns) -> np.ndarray:
    """Ones where a velocity of a row is that of a column."""
    return np.array([[float(x == y) for y in columns] for x in rows]).reshape(len(rows), len(columns))


def diagonal(blocks):
    """diag of blocks of any sizes."""
    zero = lambda x, y: np.zeros_like(x, shape=(x.shape[-2], y.shape[-1]))
    return grid([[x if x is y else zero(x, y) for y in blocks] for x in blocks])


def grid(rows):
    """A matrix of blocks, their batch axes broadcast; those without entries are left out."""
    lines = [_joined([x for x in row if x.shape[-1]] or row[:1], -1) for row in rows]
    return _joined([x for x in lines if x.shape[-2]] or lines[:1], -2)


def _joined(parts, axis):
    return parts[0] if len(parts) == 1 else concatenated(parts, axis)
