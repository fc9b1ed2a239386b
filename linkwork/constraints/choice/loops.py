"""The loops that constraints make of a tree: which nodes and rows belong together, and which velocities depend on which.

    v_S = X u,   Jc X = 0,   X = [−J₁⁻¹ J₂; I]                                            Jain (15.24)

Which velocities are dependent, and which rows are enough, is decided from numbers at a configuration (`choose`), never while
tracing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import ModelError
from ...lie.scalars import like
from ...sweeps import composite_inertia
from ...systems import Nodes
from ...systems.embedded import with_roots
from ...systems.grouping import between, group_parents, merged
from ..rows.kinematics import Kinematics
from ..rows.rank import LEFT, without_small_rows
from ..rows.rows import Rows, stacked_columns
from ..rows.set import ConstraintSet
from .partition import pivoted
from .pivoting import Pivoted

LEAST_WEIGHT = 1e-3  # of the heaviest: a velocity that moves no mass depends on those that do


@dataclass(frozen=True)
class Choice:
    """Of one loop: rows of its constraints that are enough, and its velocities, both as positions within the loop."""

    rows: tuple[int, ...]
    dependent: tuple[int, ...]
    independent: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.rows)

    @property
    def freedom(self) -> int:
        """How many velocities are left."""
        return len(self.independent)

    def spare(self, count: int) -> list[int]:
        """Of so many rows those that are to be kept by what keeps the others."""
        return [i for i in range(count) if i not in self.rows]

    def solver(self, Jc, q) -> "LoopSolver":
        rows = list(self.rows)
        return LoopSolver(rows, Pivoted(Jc[..., rows, :], len(rows), (*self.dependent, *self.independent)), q)


@dataclass(frozen=True)
class Ranked:
    """Of one loop: rows that are enough between them, and how many of them are; each sample makes a choice of its own from its numbers.

    Rows are measured against `scales` and velocities against `weights`, powers of two, when pivots are looked for.
    """

    rows: tuple[int, ...]
    rank: int
    scales: tuple[float, ...]  # of all rows of the loop
    weights: tuple[float, ...]
    reach: tuple[float, ...]  # what velocities are measured against where their lengths are compared: `ConstraintSet.yielding`

    @staticmethod
    def of(rows, rank: int, scales, weights, reach) -> "Ranked":
        """With scales and weights as powers of two."""
        scales, weights = (tuple((2.0 ** np.round(np.log2(x))).tolist()) for x in (scales, weights))
        return Ranked(tuple(rows), rank, scales, weights, tuple(reach.tolist()))

    @property
    def freedom(self) -> int:
        return len(self.weights) - self.rank

    def spare(self, count: int) -> list[int]:
        return [i for i in range(count) if i not in self.rows or len(self.rows) > self.rank]

    def solver(self, Jc, q, weights=None) -> "LoopSolver":
        """`weights` are the inverse ones, where they are not those of the choice."""
        rows = list(self.rows)
        scales = like(1 / np.array(self.scales)[rows], q)[:, None]
        weights = like(1 / np.array(self.weights), q) if weights is None else weights
        return LoopSolver(rows, Pivoted(Jc[..., rows, :] * scales * weights, self.rank), q, scales, weights[:, None])


@dataclass(frozen=True, eq=False)
class LoopSolver:
    """The rows of a loop with dependent velocities:  Jc X = 0,  X = [−J₁⁻¹ J₂; I], velocities in an order of their own."""

    rows: list[int]
    pivoted: Pivoted
    q: Any
    scales: Any = 1.0  # what rows were multiplied by, and velocities divided
    weights: Any = 1.0

    @property
    def pivots(self) -> list:
        return self.pivoted.pivots

    def motions(self):
        """X (..., n, r)."""
        return self.weights * self.pivoted.motions(self.q)

    def particular(self, values):
        """J₁⁻¹ of values (..., m, k), one for each row of the loop; zero where velocities are independent: (..., n, k)."""
        if not self.pivoted.rank:
            return np.zeros_like(values, shape=(*values.shape[:-2], self.pivoted.width, values.shape[-1]))
        return self.weights * self.pivoted.particular(values[..., self.rows, :] * self.scales)


def enough(known: Choice | Ranked, Jc, q) -> Callable:
    """The function that takes, from values which each row of a loop has (..., m, k), that of the rows which the others follow from
    (..., rank, k)."""
    rows = list(known.rows)
    if len(rows) == known.rank:
        return lambda x: x[..., rows, :]
    pivoted = known.solver(Jc, q).pivoted
    return lambda x: pivoted.taken(x[..., rows, :])


class Loops:
    """The loops of a set of constraints over one form of the nodes."""

    def __init__(self, set_: ConstraintSet, nodes: Nodes):
        self.set, self.nodes = set_, nodes
        tree = nodes.tree
        tied = [nodes.with_coordinates(between(tree, x.touched(nodes))) for x in set_.constraints]
        for x, inside in zip(set_.constraints, tied):
            if len(x) and not inside:
                raise ModelError(f'constraint "{x.name}" binds bodies that do not move on each other.')
        bound = set[int]().union(*tied)
        groups = [g for g in merged(tree, tied) if not bound.isdisjoint(g)]
        self.groups = tuple(groups)  # nodes of each loop
        loop_of = {k: g for g, members in enumerate(groups) for k in members}
        self.constraints: list[list[int]] = [[] for _ in groups]  # their numbers
        for i, inside in enumerate(tied):
            if inside:
                self.constraints[loop_of[min(inside)]].append(i)
        self.carriers = group_parents(tree, groups)
        numbers = np.arange(tree.nv)
        self.columns = [np.concatenate([numbers[tree.rows[k]] for k in g]).astype(int) for g in groups]

    @cached_property
    def rooted(self):
        """The nodes with a root for each loop, and the loops as (root, members)."""
        return with_roots(self.nodes, self.groups)

    @cached_property
    def numbers(self) -> list[np.ndarray]:
        """The numbers in the set of the rows of each loop."""
        own = list(self.set.slices.values())
        return [np.concatenate([np.arange(own[i].start, own[i].stop) for i in numbers]) for numbers in self.constraints]

    @cached_property
    def binding(self) -> list[np.ndarray]:
        """Which rows of each loop bind positions."""
        return [self.set.holonomic[rows] for rows in self.numbers]

    @cached_property
    def given_by_functions(self) -> list[list[int]]:
        """The rows of each loop that functions of the user give."""
        own = np.array([bool(x.functions) for x in self.set.constraints for _ in x.labels])
        return [np.flatnonzero(own[rows]).tolist() for rows in self.numbers]

    # --- rows, over any scalar

    def rows(self, nodes: Nodes, g: int, q, v=None, drive=None) -> Rows:
        """The rows of loop g, or combinations of them, over its own velocities; c and U are columns, zero where there are none; γ with v
        only."""
        here = Kinematics(nodes, q, v, self.set.time(drive), drive, members=self.groups[g], carrier=self.carriers[g])
        return stacked_columns([self.set.constraints[i].combined_rows(here) for i in self.constraints[g]], here)

    def all_rows(self, nodes: Nodes, q, v=None, drive=None) -> list[Rows]:
        return [self.rows(nodes, g, q, v, drive) for g in range(len(self.groups))]

    def scales(self, g: int) -> np.ndarray:
        """What the residuals of loop g are measured against."""
        return self.set.scale[self.numbers[g]]

    def misfit(self, rows: list[Rows], some):
        """The largest entry of the residual (...), each against its scale."""
        worst = np.zeros_like(some[..., 0])
        for g, x in enumerate(rows):
            for j, scale in enumerate(self.scales(g)):
                worst = np.maximum(worst, np.abs(x.c[..., j, 0]) / scale)
        return worst

    def spread(self, g: int, rows):
        """Rows (..., m, n) over the velocities of loop g as rows over all velocities (..., m, nv)."""
        whole = np.zeros_like(rows, shape=(*rows.shape[:-1], self.nodes.tree.nv))
        whole[..., self.columns[g]] = rows
        return whole

    # --- numbers decide

    def choose(self, q, drive=None, closed: bool = False) -> tuple[Choice, ...]:
        """Dependent velocities and rows of each loop at one configuration, by complete pivoting in the mass metric. Where loops
        are open, rows that differ by less than that are one; unless they are taken to be `closed`."""
        set_, q = self.set, np.asarray(q, float)
        weight = velocity_weights(self.set, self.nodes, q)
        parts = self.all_rows(self.nodes, q, drive=drive)
        if not closed and np.isfinite(q).all():
            self._check_numbers(parts)
        least = LEFT if closed else max(LEFT, 10 * float(self.misfit(parts, q)))
        out = []
        for g, (columns, rows) in enumerate(zip(self.columns, parts)):
            Jc = without_small_rows(rows.Jc / self.scales(g)[:, None], 1.0, set_.reach[columns])
            Jc = np.where(np.isfinite(Jc).all(-1, keepdims=True), Jc, 0.0)  # NaN in, NaN out
            used, dependent = pivoted(Jc, weight[columns], least, self.binding[g])
            out.append(Choice(tuple(used), tuple(dependent), tuple(j for j in range(len(columns)) if j not in dependent)))
        return tuple(out)

    def _check_numbers(self, parts: list[Rows]) -> None:
        wrong = np.zeros(len(self.set), bool)
        for g, rows in enumerate(parts):
            wrong[self.numbers[g]] = ~(np.isfinite(rows.Jc).all(-1) & np.isfinite(rows.c[..., 0]))
        self.set.refuse(wrong)

    def ranked(self, q, picks) -> tuple[Ranked, ...]:
        """Of each loop what is known beforehand for a choice by the numbers of each sample: from choices made at some configurations,
        and the weights of velocities at q."""
        weight, out = velocity_weights(self.set, self.nodes, q), []
        for g, columns in enumerate(self.columns):
            rows = dict.fromkeys(i for choices in picks for i in choices[g].rows)
            out.append(Ranked.of(rows, len(picks[0][g].rows), self.scales(g), weight[columns], self.set.yielding[columns]))
        return tuple(out)

    def independent(self, choices) -> np.ndarray:
        """The numbers in v of the velocities that a choice leaves independent, those of no loop among them."""
        bound = [columns[list(x.dependent)] for columns, x in zip(self.columns, choices)]
        return np.setdiff1d(np.arange(self.nodes.tree.nv), np.concatenate([np.zeros(0, int), *bound]))


def velocity_weights(set_: ConstraintSet, nodes: Nodes, q):
    """How much each velocity moves: the square root of its own inertia, all joints outboard held, of the largest without units."""
    s = set_.robot.lowered.system(nodes).blocks(q)
    R = composite_inertia(s)
    own = [np.sqrt(np.diag(s.H[k] @ R[k] @ s.H[k].T + s.armature[k])) for k in s.tree.base_to_tips()]
    weight = np.concatenate([np.zeros(0), *own]) * set_.reach
    return np.maximum(weight / weight.max(initial=1e-300), LEAST_WEIGHT) / set_.reach
