"""Constraint embedding (Jain, chapter 15): each loop becomes one node of the tree, in minimal velocities.

    v_S = X_S u,   G_S X_S = 0,   X_S = [−G₁⁻¹ G₂; I]                                       Jain (15.24)
    H = X_S* H_S A_S,   J = X_S* J_S X_S,   a = A_S* a_S + (H_S A_S)* Ẋ_S u,   Ẋ_S u = [−G₁⁻¹ γ; 0]     Jain (15.1) to (15.12)
    τ = X_S* (τ_S − J_S Ẋ_S u)

The result is an SKO model like any other: every sweep runs on it, O(N) in the number of loops. Which velocities are
dependent, and which rows are enough, is decided from numbers at a configuration (`choose`), never while tracing.
"""

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import ModelError
from ..lie.scalars import like
from ..model.tree import Tree
from ..operators.rigid import rigid
from ..operators.sko import SKO
from ..sweeps import composite_inertia
from ..systems import Nodes
from .aggregation import aggregated, between, group_parents, merged
from .augmented import INCONSISTENT, Solution, augmented, check_closed, trusted
from .elimination import eliminated, pivoted
from .embedded_dynamics import embedded_forward_dynamics
from .motion import Within
from .rank import sound
from .rows import Rows
from .set import ConstraintSet


@dataclass(frozen=True)
class Choice:
    """Of one group: rows of its constraints that are enough, and its velocities, both as positions within the group."""

    rows: tuple[int, ...]
    dependent: tuple[int, ...]
    independent: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Embedded:
    """The SKO model in minimal velocities u = v[independent] at a state, and the way back."""

    sko: SKO
    order: np.ndarray
    choices: tuple[Choice, ...]
    blocks: tuple  # of each group: its velocities in v, X, Ẋ u
    J: tuple  # joint inertia of each group, before
    pivots: tuple

    @property
    def independent(self) -> np.ndarray:
        """The numbers of the minimal velocities in v."""
        return np.concatenate([at[list(c.independent)] for (at, _, _), c in zip(self.blocks, self.choices)]).astype(int)

    def whole(self, u, rate: bool = False):
        """v = X u, or with `rate` v̇ = X u̇ + Ẋ u (..., nv)."""
        u = self.sko.tree.split(u)
        n = sum(len(at) for at, _, _ in self.blocks)
        parts = [X @ u[g] + (bend if rate else 0.0) for g, (_, X, bend) in enumerate(self.blocks)]
        columns = stacked_rows(parts)
        back = np.argsort(np.concatenate([at for at, _, _ in self.blocks])) if n else np.zeros(0, int)
        return columns[..., back, 0]

    def forces(self, tau):
        """X* (τ − J Ẋ u) (..., nu)."""
        parts = [X.mT @ (tau[..., at, None] - J @ bend) for (at, X, bend), J in zip(self.blocks, self.J)]
        return stacked_rows(parts)[..., 0]


def stacked_rows(parts):
    """Blocks of rows one below the other, their batch axes broadcast."""
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in parts))
    return np.concatenate([np.broadcast_to(x, batch + x.shape[-2:]) for x in parts], -2)


class Embedding:
    """The groups of nodes that loops and couplings make of a tree."""

    def __init__(self, set_: ConstraintSet, nodes: Nodes | None = None):
        self.set = set_
        self.nodes = set_.nodes if nodes is None else nodes
        self.tree: Tree = self.nodes.tree
        touched = [x.touched(self.nodes) for x in set_.constraints]
        self.groups = merged(self.tree, [between(self.tree, x) for x in touched])
        home = {k: g for g, members in enumerate(self.groups) for k in members}
        self.members: list[list[int]] = [[] for _ in self.groups]  # the constraints of each group
        for i, x in enumerate(touched):
            moving = between(self.tree, x)
            if moving:
                self.members[home[min(moving)]].append(i)
            elif len(set_.constraints[i]):
                raise ModelError(f'constraint "{set_.constraints[i].name}" binds bodies that do not move on each other.')
        self.carriers = group_parents(self.tree, self.groups)
        self.drive: Any = None
        self.columns = [np.concatenate([np.arange(self.tree.nv)[self.tree.rows[k]] for k in x]).astype(int) for x in self.groups]

    def driven(self, drive) -> "Embedding":
        """This embedding with what is driven given (see `Motion`)."""
        made = copy(self)
        made.drive = drive
        return made

    def _within(self, nodes, g, q, v) -> Within:
        return Within(nodes, q, v, drive=self.drive, members=self.groups[g], carrier=self.carriers[g])

    @cached_property
    def binding(self) -> list[np.ndarray]:
        """Which rows of each group bind positions."""
        each = [self.set.holonomic[self.set.slices[x.name]] for x in self.set.constraints]
        return [np.concatenate([np.zeros(0, bool), *(each[i] for i in members)]) for members in self.members]

    @cached_property
    def largest(self) -> int:
        """The most nodes in one group."""
        return max(map(len, self.groups), default=0)

    # --- numbers decide

    def choose(self, q, least: float | None = None) -> tuple[Choice, ...]:
        """Dependent velocities and rows of each group at one configuration, by pivoting in the mass metric."""
        set_, q = self.set, np.asarray(q, float)
        sko = rigid(self.nodes, q)
        R = composite_inertia(sko.blocks)
        weight = np.concatenate([np.sqrt(np.diag(sko.H[k] @ R[k] @ sko.H[k].T + sko.armature[k])) for k in self.tree.base_to_tips()])
        weight = np.maximum(weight, 1e-3 * weight.max(initial=1e-300))  # what moves no mass depends on what does
        parts = self.all_rows(self.nodes, q)
        least = float(np.maximum(1e-9, 10 * set_.misfit(self._residual(parts)))) if least is None else least
        out = []
        for columns, members, binding in zip(self.columns, self.members, self.binding):
            scaled = [parts[i].G / set_.scale[set_.slices[set_.constraints[i].name], None] for i in members]
            G = np.concatenate([np.zeros((0, len(columns))), *scaled])
            rows, dependent = pivoted(sound(G, 1.0, set_.reach[columns]), weight[columns], least, binding)
            out.append(Choice(tuple(rows), tuple(dependent), tuple(j for j in range(len(columns)) if j not in dependent)))
        return tuple(out)

    def all_rows(self, nodes, q, v=None) -> dict[int, Rows]:
        """The rows of every constraint, by number, over the velocities of its group."""
        out = {}
        for g, members in enumerate(self.members):
            if members:
                here = self._within(nodes, g, q, v)
                out.update({i: self.set.constraints[i].rows(here) for i in members})
        return {i: x if x.c is not None else replace(x, c=np.zeros_like(x.G[..., 0])) for i, x in out.items()}

    def _residual(self, parts: dict[int, Rows]):
        return stacked_rows([parts[i].c[..., None] for i in range(len(parts))])[..., 0] if parts else np.zeros(0)

    # --- the model, over any scalar

    def misfit(self, nodes, q):
        """The largest entry of the residual (...), each against its scale."""
        worst = np.zeros_like(q[..., 0])
        for i, x in self.all_rows(nodes, q).items():
            for j, scale in enumerate(self.set.scale[self.set.slices[self.set.constraints[i].name]]):
                worst = np.maximum(worst, np.abs(x.c[..., j]) / scale)
        return worst

    def used(self, nodes, choices, q):
        """c, U (..., m, 1) and G (..., m, nv) of the rows that are enough, all groups one below the other, and which bind q."""
        parts, tree = self.all_rows(nodes, q), self.tree
        c, U, G, binding = [], [], [], []
        for g, choice in enumerate(choices):
            if choice.rows:
                rows = list(choice.rows)
                binding += list(self.binding[g][rows])
                c.append(stacked_rows([parts[i].c[..., None] for i in self.members[g]])[..., rows, :])
                U.append(stacked_rows([like(parts[i].U, q)[..., None] for i in self.members[g]])[..., rows, :])
                own = stacked_rows([parts[i].G for i in self.members[g]])[..., rows, :]
                whole = np.zeros_like(own, shape=(*own.shape[:-1], tree.nv))
                start = 0
                for k in self.groups[g]:
                    whole[..., tree.rows[k]] = own[..., start : start + tree.widths[k]]
                    start += tree.widths[k]
                G.append(whole)
        nothing = np.zeros_like(q, shape=(0, tree.nv))
        return tuple(map(stacked_rows, (c, U, G))) if G else (nothing[:, :1], nothing[:, :1], nothing), binding

    def at(self, nodes, choices, q, v, external=None, base=None) -> Embedded:
        """The embedded model at a state that keeps the constraints."""
        whole = aggregated(rigid(nodes, q, v, external), self.groups)
        A, H, M, J, a, blocks, pivots = whole.sko.A, [], whole.sko.M, [], [], [], []
        for g, (columns, choice) in enumerate(zip(self.columns, choices)):
            X, bend, found, _ = self.dependence(nodes, g, choice, q, v)
            H.append(X.mT @ whole.sko.H[g])
            J.append(X.mT @ whole.sko.armature[g] @ X)
            a.append(whole.sko.a[g] + whole.sko.H[g].mT @ bend)
            blocks.append((columns, X, bend))
            pivots.extend(found)
        sko = SKO(whole.sko.tree.parent, A, H, M, J, a, whole.sko.b, whole.sko.base if base is None else base)
        return Embedded(sko, whole.order, tuple(choices), tuple(blocks), tuple(whole.sko.armature), tuple(pivots))

    def rows(self, nodes, g, q, v, pull=None):
        """G (..., m, n) and γ (..., m, 1) of a group's constraints, over its velocities alone; with `pull` = [ω, ζ] (2,)
        γ + 2ζω G v + ω² c in place of γ."""
        here = self._within(nodes, g, q, v)
        parts = [self.set.constraints[i].rows(here) for i in self.members[g]]
        G, gamma = stacked_rows([x.G for x in parts]), stacked_rows([x.gamma[..., None] for x in parts])
        if pull is None:
            return G, gamma
        c = stacked_rows([np.zeros_like(x.gamma[..., None]) if x.c is None else x.c[..., None] for x in parts])
        omega, zeta = pull[..., :1, None], pull[..., 1:, None]
        U = stacked_rows([like(x.U, q)[..., None] for x in parts])
        return G, gamma + 2 * zeta * omega * (G @ v[..., self.columns[g], None] - U) + omega * omega * c

    def dependence(self, nodes, g, choice: Choice, q, v, pull=None):
        """X_S and Ẋ_S u of a group, the pivots, and the rows that were not needed as (G, γ)."""
        n, free, bound = len(self.columns[g]), list(choice.independent), list(choice.dependent)
        if not self.members[g]:
            return like(np.eye(n), q), like(np.zeros((n, 1)), q), [], None
        G, gamma = self.rows(nodes, g, q, v, pull)
        used, spare = list(choice.rows), [i for i in range(G.shape[-2]) if i not in choice.rows]
        right = _wide([G[..., used, :][..., free], gamma[..., used, :]])
        solved, pivots = eliminated(G[..., used, :][..., bound], right)
        rows: list = [None] * n
        one = like(np.eye(len(free)), q)
        for i, j in enumerate(free):
            rows[j] = np.broadcast_to(_wide([one[i : i + 1], like(np.zeros((1, 1)), q)]), (*solved.shape[:-2], 1, len(free) + 1))
        for i, j in enumerate(bound):
            rows[j] = -solved[..., i : i + 1, :]
        X = np.concatenate(rows, -2)
        left = (G[..., spare, :], gamma[..., spare, :]) if spare else None
        return X[..., : len(free)], X[..., len(free) :], pivots, left

    # --- dynamics of floats

    def forward_dynamics(self, q, v, tau, external=None, t=0.0):
        """v̇ (..., nv), sample by sample where the choice of dependent velocities differs."""
        if self.set.drives and self.drive is None:
            return self.driven(self.set.by_name(self.set.driven(t))).forward_dynamics(q, v, tau, external, t)
        q, v, tau = (np.asarray(x, float) for x in (q, v, tau))
        outside = () if external is None else external.shape[:-2]
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], tau.shape[:-1], outside)
        flat = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, v, tau)]
        wrench = None if external is None else np.broadcast_to(external, batch + external.shape[-2:]).reshape(-1, *external.shape[-2:])
        kinds: dict[tuple[Choice, ...], list[int]] = {}
        for i, one in enumerate(flat[0]):
            kinds.setdefault(self.choose(one), []).append(i)
        out = np.zeros(flat[1].shape)
        for choices, which in kinds.items():
            x, push = [y[which] for y in flat], None if wrench is None else wrench[which]
            out[which] = self._forward(choices, x[0], x[1], x[2], push, t)
        return out.reshape(*batch, -1)

    def accelerations(self, nodes, choices, q, v, tau, external=None, pull=None):
        """v̇ over any scalar, and of each group the pivots and what is left of the rows that were not needed."""
        tree = nodes.tree
        s = nodes.blocks(q)
        r = nodes.rates(s, v, external=external)
        found = [self.dependence(nodes, g, choice, q, v, pull) for g, choice in enumerate(choices)]
        X, bend = [x[0] for x in found], [x[1] for x in found]
        blocks = *s, r.a, r.b, tree.split(tau), nodes.falling
        vdot = tree.join(embedded_forward_dynamics(*blocks, self.groups, self.carriers, X, bend))
        left = [(G @ vdot[..., columns, None] + gamma, G, gamma)
                for columns, (_, _, _, spare) in zip(self.columns, found) if spare is not None for G, gamma in [spare]]  # fmt: skip
        return vdot, [x[2] for x in found], left

    def _forward(self, choices, q, v, tau, external, t):
        c = self._residual(self.all_rows(self.nodes, q))
        check_closed(self.set, Rows(c, None, None, None))
        vdot, _, left = self.accelerations(self.nodes, choices, q, v, tau, external)
        allowed = np.maximum(INCONSISTENT, 100 * self.set.misfit(c))
        for rest, G, gamma in left:
            size = np.abs(G).max((-1, -2)) * np.abs(vdot).max(-1) + np.abs(gamma).max((-1, -2))
            if (np.abs(rest).max((-1, -2)) > allowed * size + 1e-9 * np.abs(vdot).max(-1)).any():
                return augmented(self.set, q, v, tau, external, t).vdot  # which says what is wrong, or solves it
        return vdot

    def solution(self, q, v, tau, vdot, external=None, t=0.0) -> Solution:
        """The multipliers of accelerations that are known: 𝓜 v̇ + 𝓒 − τ = G* λ."""
        rows, robot = self.set.rows(q, v, t), self.set.robot
        needed = robot.inverse_dynamics(q, v, vdot) if external is None else robot.inverse_dynamics(q, v, vdot, external)
        G = rows.G
        lam = np.matvec(np.linalg.pinv(G.mT, rcond=np.max(trusted(self.set, rows))), needed - tau)
        return Solution(vdot, lam, np.linalg.matrix_rank(self.set.even(G), rtol=1e-9), G)


def _wide(parts):
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in parts))
    return np.concatenate([np.broadcast_to(x, batch + x.shape[-2:]) for x in parts], -1)
