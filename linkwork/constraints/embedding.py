"""Constraint embedding (Jain, chapter 15): each loop becomes one node of the tree, in minimal velocities.

    v_S = X_S u,   G_S X_S = 0,   X_S = [−G₁⁻¹ G₂; I]                                       Jain (15.24)
    H = X_S* H_S A_S,   J = X_S* J_S X_S,   a = A_S* a_S + (H_S A_S)* Ẋ_S u,   Ẋ_S u = [−G₁⁻¹ γ; 0]     Jain (15.1) to (15.12)
    τ = X_S* (τ_S − J_S Ẋ_S u)

The result is an SKO model like any other: every sweep runs on it, O(N) in the number of loops. Which velocities are
dependent, and which rows are enough, is decided from numbers at a configuration (`choose`), never while tracing.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import ModelError
from ..lie.scalars import like
from ..model import Nodes
from ..model.tree import Tree
from ..operators.rigid import rigid
from ..operators.sko import SKO
from ..sweeps.composite_inertia import composite_inertia
from ..sweeps.quantities import motion
from .aggregation import aggregated, between, group_parents, merged
from .augmented import INCONSISTENT, Solution, augmented, check_closed, trusted
from .closure import Closure
from .couplings import Coupled, Linear
from .elimination import eliminated, pivoted
from .embedded_dynamics import embedded_forward_dynamics
from .motion import Within
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
        columns = _joined(parts)
        back = np.argsort(np.concatenate([at for at, _, _ in self.blocks])) if n else np.zeros(0, int)
        return columns[..., back, 0]

    def forces(self, tau):
        """X* (τ − J Ẋ u) (..., nu)."""
        parts = [X.mT @ (tau[..., at, None] - J @ bend) for (at, X, bend), J in zip(self.blocks, self.J)]
        return _joined(parts)[..., 0]


def _joined(parts):
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in parts))
    return np.concatenate([np.broadcast_to(x, batch + x.shape[-2:]) for x in parts], -2)


class Embedding:
    """The groups of nodes that loops and couplings make of a tree."""

    def __init__(self, set_: ConstraintSet, nodes: Nodes | None = None):
        self.set = set_
        self.nodes = set_.nodes if nodes is None else nodes
        self.tree: Tree = self.nodes.tree
        touched = [self._touched(x) for x in set_.constraints]
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
        self.columns = [np.concatenate([np.arange(self.tree.nv)[self.tree.rows[k]] for k in x]).astype(int) for x in self.groups]

    def _touched(self, x) -> set[int]:
        """The nodes that a constraint holds on to."""
        on, rows = self.nodes.on, self.tree.rows
        if isinstance(x, Closure):
            return {on[x.child], self.tree.world if x.parent is None else on[x.parent]}
        if isinstance(x, (Coupled, Linear)):
            at = [x.at[1], *([] if x.of is None else [x.of[1]])] if isinstance(x, Coupled) else [j for _, j, _ in x._places]
            return {next(k for k, r in enumerate(rows) if r.start <= j < r.stop) for j in at}
        raise ModelError(
            f'constraint "{x.name}" ({type(x).__name__}) cannot be embedded; only loops and couplings can. Use method="augmented".'
        )

    @cached_property
    def largest(self) -> int:
        """The most nodes in one group."""
        return max(map(len, self.groups), default=0)

    # --- numbers decide

    def choose(self, q, least: float | None = None) -> tuple[Choice, ...]:
        """Dependent velocities and rows of each group at one configuration, by pivoting in the mass metric."""
        set_, q = self.set, np.asarray(q, float)
        sko = rigid(self.nodes, q)
        R = composite_inertia(self.tree, sko.A, sko.M)
        weight = np.concatenate([np.sqrt(np.diag(sko.H[k] @ R[k] @ sko.H[k].T + sko.J[k])) for k in self.tree.base_to_tips()])
        weight = np.maximum(weight, 1e-3 * weight.max(initial=1e-300))  # what moves no mass depends on what does
        parts = self.all_rows(self.nodes, q)
        least = float(np.maximum(1e-9, 10 * set_.misfit(self._residual(parts)))) if least is None else least
        out = []
        for columns, members in zip(self.columns, self.members):
            scaled = [parts[i].G / set_.scale[set_.slices[set_.constraints[i].name], None] for i in members]
            G = np.concatenate([np.zeros((0, len(columns))), *scaled])
            rows, dependent = pivoted(G, weight[columns], least)
            out.append(Choice(tuple(rows), tuple(dependent), tuple(j for j in range(len(columns)) if j not in dependent)))
        return tuple(out)

    def all_rows(self, nodes, q, v=None) -> dict[int, Rows]:
        """The rows of every constraint, by number, over the velocities of its group."""
        out = {}
        for g, members in enumerate(self.members):
            if members:
                here = Within(nodes, q, v, members=self.groups[g], carrier=self.carriers[g])
                out.update({i: self.set.constraints[i].rows(here) for i in members})
        return out

    def _residual(self, parts: dict[int, Rows]):
        return _joined([parts[i].c[..., None] for i in range(len(parts))])[..., 0] if parts else np.zeros(0)

    # --- the model, over any scalar

    def at(self, nodes, choices, q, v, external=None, base=None) -> Embedded:
        """The embedded model at a state that keeps the constraints."""
        whole = aggregated(rigid(nodes, q, v, external), self.groups)
        A, H, M, J, a, blocks, pivots = whole.sko.A, [], whole.sko.M, [], [], [], []
        for g, (columns, choice) in enumerate(zip(self.columns, choices)):
            X, bend, found, _ = self.dependence(nodes, g, choice, q, v)
            H.append(X.mT @ whole.sko.H[g])
            J.append(X.mT @ whole.sko.J[g] @ X)
            a.append(whole.sko.a[g] + whole.sko.H[g].mT @ bend)
            blocks.append((columns, X, bend))
            pivots.extend(found)
        sko = SKO(whole.sko.tree.parent, A, H, M, J, a, whole.sko.b, whole.sko.base if base is None else base)
        return Embedded(sko, whole.order, tuple(choices), tuple(blocks), tuple(whole.sko.J), tuple(pivots))

    def rows(self, nodes, g, q, v):
        """G (..., m, n) and γ (..., m, 1) of a group's constraints, over its velocities alone."""
        here = Within(nodes, q, v, members=self.groups[g], carrier=self.carriers[g])
        parts = []
        for i in self.members[g]:
            x = self.set.constraints[i]
            if traceable(x):
                parts.append(x.velocity_rows(here))  # type: ignore[attr-defined]
            else:
                found = x.rows(here)
                parts.append((found.G, found.gamma))
        return _joined([x for x, _ in parts]), _joined([x[..., None] for _, x in parts])

    def dependence(self, nodes, g, choice: Choice, q, v):
        """X_S and Ẋ_S u of a group, the pivots, and the rows that were not needed as (G, γ)."""
        n, free, bound = len(self.columns[g]), list(choice.independent), list(choice.dependent)
        if not self.members[g]:
            return like(np.eye(n), q), like(np.zeros((n, 1)), q), [], None
        G, gamma = self.rows(nodes, g, q, v)
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

    def forward_dynamics(self, q, v, tau, external=None):
        """v̇ (..., nv), sample by sample where the choice of dependent velocities differs."""
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
            out[which] = self._forward(choices, x[0], x[1], x[2], push)
        return out.reshape(*batch, -1)

    def accelerations(self, nodes, choices, q, v, tau, external=None):
        """v̇ over any scalar, and of each group the pivots and what is left of the rows that were not needed."""
        tree = nodes.tree
        phi, _, a, b = motion(nodes, q, v, external)
        found = [self.dependence(nodes, g, choice, q, v) for g, choice in enumerate(choices)]
        X, bend = [x[0] for x in found], [x[1] for x in found]
        blocks = tree, phi, nodes.H, nodes.M, nodes.J, a, b, tree.split(tau), nodes.falling
        vdot = tree.join(embedded_forward_dynamics(*blocks, self.groups, self.carriers, X, bend))
        left = [(G @ vdot[..., columns, None] + gamma, G, gamma)
                for columns, (_, _, _, spare) in zip(self.columns, found) if spare is not None for G, gamma in [spare]]  # fmt: skip
        return vdot, [x[2] for x in found], left

    def _forward(self, choices, q, v, tau, external):
        c = self._residual(self.all_rows(self.nodes, q))
        check_closed(self.set, Rows(c, None, None, None))
        vdot, _, left = self.accelerations(self.nodes, choices, q, v, tau, external)
        allowed = np.maximum(INCONSISTENT, 100 * self.set.misfit(c))
        for rest, G, gamma in left:
            size = np.abs(G).max((-1, -2)) * np.abs(vdot).max(-1) + np.abs(gamma).max((-1, -2))
            if (np.abs(rest).max((-1, -2)) > allowed * size + 1e-9 * np.abs(vdot).max(-1)).any():
                return augmented(self.set, q, v, tau, external).vdot  # which says what is wrong, or solves it
        return vdot

    def solution(self, q, v, tau, vdot, external=None) -> Solution:
        """The multipliers of accelerations that are known: 𝓜 v̇ + 𝓒 − τ = G* λ."""
        rows, robot = self.set.rows(q, v), self.set.robot
        needed = robot.inverse_dynamics(q, v, vdot) if external is None else robot.inverse_dynamics(q, v, vdot, external)
        G = rows.G
        lam = np.matvec(np.linalg.pinv(G.mT, rcond=np.max(trusted(self.set, rows))), needed - tau)
        return Solution(vdot, lam, np.linalg.matrix_rank(G / self.set.scale[:, None], rtol=1e-9), G)


def _wide(parts):
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in parts))
    return np.concatenate([np.broadcast_to(x, batch + x.shape[-2:]) for x in parts], -1)


def traceable(x) -> bool:
    """Can the rows of a constraint be written out as a kernel?"""
    return type(x) in (Closure, Coupled, Linear)
