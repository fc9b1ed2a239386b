"""A rigid tree whose loops are embedded, as a system: blocks and rates for every sweep, in minimal velocities.

    v_S = X u,   v̇_S = X u̇ + Ẋu,   Ẋu = [−J₁⁻¹ γ; 0]                                   Jain (15.1) to (15.12), (15.24)
"""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from ...lie.scalars import like
from ...model.tree import concatenated
from ...quantities import ad
from ...quantities.inertia import solved
from ...sweeps import BlockRates, Blocks, Rates
from ...systems import Nodes
from ...systems.embedded import Embedding
from ...systems.system import System
from ..choice.loops import Choice, Loops, Ranked
from ..rows.rows import Rows
from ..solution.at_state import INCONSISTENT, OPEN

LEAST_PIVOT = 1e-3  # of what a pivot was where it was chosen: below it the choice does not serve


class LoopBlocks(NamedTuple):
    """The parts of a system with loops at a configuration."""

    rows: list[Rows]
    solvers: list
    misfit: Any  # how far loops are from being closed
    rigid: Blocks  # of the tree
    X: dict[int, Any]  # v_S = X u, of each root


class LoopRates(NamedTuple):
    """The parts that velocities add: γ of each loop, and Ẋu of each member's joint."""

    gamma: list
    bend: dict[int, Any]


class LoopSystem(System):
    """A system with one choice of dependent velocities. Accelerations are no numbers where it does not serve: where loops are open, pivots
    too small, or rows that were not needed are not kept."""

    def __init__(
        self, loops: Loops, choices: Sequence[Choice | Ranked], over: Callable[[Nodes], Nodes] = lambda nodes: nodes, *, drive=None,
        reference=None, pull=None, least=LEAST_PIVOT, inconsistent=INCONSISTENT, may_open=OPEN,
    ):  # fmt: skip
        """`over` gives nodes the scalars of the evaluation; `drive` is what drives do, by name. `reference` are the pivots where the
        choice was made; without them nothing is judged. `pull` = [ω, ζ] asks for c̈ + 2ζω ċ + ω² c = 0 (Baumgarte) in place of c̈ = 0.
        A pivot must be `least` of its reference, what rows that are not needed lack of being kept at most `inconsistent`, and what loops
        lack of being closed at most `may_open`; None judges no such thing."""
        self.loops, self.nodes = loops, over(loops.nodes)
        self.rooted = rooted = loops.set.robot.lowered.system(over(loops.rooted[0]))
        self.choices: Sequence[Any] = choices
        self.drive, self.reference, self.pull, self.least, self.inconsistent = drive, reference, pull, least, inconsistent
        self.may_open = may_open
        self.roots = loops.rooted[1]
        self.embedding = Embedding(rooted.tree, self.roots, [x.freedom for x in choices])
        self.tree, self.still, self.falling = self.embedding.tree, rooted.still, rooted.falling
        self.on, self.places, self.on_node = rooted.on, rooted.places, rooted.on_node

    @property
    def nv(self) -> int:
        """Velocities of the tree."""
        return self.rooted.tree.nv

    def without_friction(self) -> "LoopSystem":
        """The system of joints without dry friction."""
        made = copy(self)
        made.nodes = self.nodes.without_friction()
        return made

    # --- the system

    def blocks(self, q) -> Blocks:
        rows, solvers, misfit = self.at(q)
        X = {e: solver.motions() for solver, (e, _) in zip(solvers, self.roots)}
        rigid = self.rooted.blocks(q)
        return self.embedding.blocks(rigid, X)._replace(q=q, own=LoopBlocks(rows, solvers, misfit, rigid, X))

    def rates(self, s: Blocks, v, tau=None, external=None) -> Rates:
        own = s.own
        gamma = [self._gamma(g, s.q, v) for g in range(len(self.roots))]
        bend = self._followed(own.solvers, [-x for x in gamma])
        rigid = self.rooted.rates(own.rigid, v, tau, external)
        return self.embedding.rates(own.rigid, rigid, bend)._replace(own=LoopRates(gamma, bend))

    def entry_rates(self, s: Blocks, u) -> BlockRates:
        """Rates of the entries of the blocks along u: those of the rigid tree along v = X u, and Ẋ."""
        v = self.embedding.whole(self.tree.split(u), s.own.X, {})
        rigid = self.rooted.entry_rates(s.own.rigid, v)
        return self.embedding.block_rates(s.own.rigid, rigid, {e: self._X_rate(s, g, v) for g, (e, _) in enumerate(self.roots)})

    def whole(self, s: Blocks, r: Rates, vdot):
        """v̇ = X u̇ + Ẋu (..., nv)."""
        found = self.embedding.whole(vdot, s.own.X, r.own.bend)
        if self.reference is None:
            return found
        served = self._serves(s.q, s.own.rows, s.own.solvers, s.own.misfit)
        if self.inconsistent is not None:
            kept = self.redundant_residual(s, r, found) <= np.maximum(self.inconsistent, 100 * s.own.misfit)
            served = served & kept & (sum(np.abs(found[..., i]) for i in range(self.nv)) < np.inf)
        return np.where(served[..., None], found, np.nan)

    def response(self, s: Blocks, vdot):
        """X u̇ (..., nv, m) of columns that forces alone make."""
        return self.embedding.response(vdot, s.own.X)

    def compliance(self, q):
        """v̇ for each unit of τ on the joints (..., nv, nv), loops closed: X (X* 𝓜 X)⁻¹ X*."""
        s = self.blocks(q)
        one = like(np.eye(self.nv), q)
        return self.response(s, solved(s, self.still, self.embedding.forces(one, s.own.X)))

    def place(self, k: int, B):
        return k, self.embedding.padded(k, B)

    @property
    def kinematic(self) -> Nodes:
        """The nodes of the tree, which say where bodies are."""
        return self.nodes

    def rows(self, q) -> list[Rows]:
        """The rows of each loop, without velocities."""
        return self.loops.all_rows(self.nodes, q, drive=self.drive)

    def at(self, q):
        """Rows and solvers of each loop, and how far loops are from being closed."""
        rows = self.rows(q)
        return rows, [choice.solver(x.Jc, q) for x, choice in zip(rows, self.choices)], self.loops.misfit(rows, q)

    def serves(self, q):
        """Does the choice serve a configuration (...)? Loops are closed, and pivots still good."""
        return self._serves(q, *self.at(q))

    # --- the dependent velocities of each loop

    def _X_rate(self, s: Blocks, g: int, v):
        """Ẋ = [−J₁⁻¹ J̇c X; 0] along v, of holonomic rows that do not move in time. γ(v) = J̇c(v) v, so that for velocities v and w

            J̇c(v) w = ½ [γ(v + w) − γ(v) − γ(w)] + ½ Jc [v, w]                    [v, w] the bracket in each joint
        """
        X, columns = s.own.X[self.roots[g][0]], self.loops.columns[g]
        bracket = ad(self.nodes, v)
        own, bent = self._gamma(g, s.q, v), []
        for i in range(X.shape[-1]):
            w = np.zeros_like(v + X[..., 0, :1], shape=np.broadcast_shapes(v.shape, (*X.shape[:-2], v.shape[-1])))
            w[..., columns] = X[..., i]
            symmetric = self._gamma(g, s.q, v + w) - own - self._gamma(g, s.q, w)
            bent.append(0.5 * (symmetric + s.own.rows[g].Jc @ (bracket @ w[..., None])[..., columns, :]))
        return -s.own.solvers[g].particular(concatenated(bent, -1)) if bent else np.zeros_like(X)

    def _gamma(self, g: int, q, v):
        """γ of all rows of a loop (..., m, 1), with the pull if there is one."""
        rows = self.loops.rows(self.nodes, g, q, v, self.drive)
        if self.pull is None:
            return rows.gamma
        omega, zeta = self.pull[..., :1, None], self.pull[..., 1:, None]
        rate = rows.Jc @ v[..., self.loops.columns[g], None] - rows.U
        return rows.gamma + 2 * zeta * omega * rate + omega * omega * rows.c

    def moved(self, s: Blocks) -> dict[int, Any]:
        """What drives alone make of each member's velocity: v_S = X u + J₁⁻¹ U."""
        return self._followed(s.own.solvers, [x.U for x in s.own.rows])

    def _followed(self, solvers, values) -> dict[int, Any]:
        """J₁⁻¹ of values, one for each row of a loop, spread over its members; zero where velocities are independent."""
        out = {}
        for g, (e, members) in enumerate(self.roots):
            bend = solvers[g].particular(values[g])
            start = 0
            for k, width in zip(members, self.embedding.sizes[e]):
                out[k] = bend[..., start : start + width, :]
                start += width
        return out

    # --- does the choice serve?

    def quality(self, q, solvers):
        """The least of the pivots (...), each against what it was where it was chosen."""
        least = np.zeros_like(q[..., 0]) + 1.0
        pivots = [p for x in solvers for p in x.pivots]
        for i, pivot in enumerate(pivots):
            size = np.abs(pivot) / self.reference[..., i]
            least = np.where(size >= least, least, size)  # what is no number is worst
        return least

    def _serves(self, q, rows: list[Rows], solvers, misfit):
        good = self.quality(q, solvers) >= self.least
        if self.may_open is not None:
            good = good & (misfit <= self.may_open)
        for g, x in enumerate(rows):
            own = self.loops.given_by_functions[g]  # which may be no numbers
            good = good & (sum((np.abs(x.Jc[..., i, j]) for i in own for j in range(x.Jc.shape[-1])), 0.0 * misfit) < np.inf)
        return good

    def redundant_residual(self, s: Blocks, r: Rates, vdot):
        """What the rows that were not needed lack of Jc v̇ + γ = 0, against what they are made of (...)."""
        return self._relative_residual(s.own.rows, vdot, r.own.gamma, s.q)

    def keeps_velocities(self, rows: list[Rows], v, misfit):
        """Do velocities that keep the rows that are enough keep the others, Jc v = U (...)?"""
        left = self._relative_residual(rows, v, [-x.U for x in rows], v)
        return left <= np.maximum(self.inconsistent, 100 * misfit)

    def _relative_residual(self, rows: list[Rows], x, constant, like):
        """The largest of `lacks` of all loops, for Jc x + constant = 0 (...)."""
        reach, loops = self.loops.set.reach, self.loops
        speed = largest([np.abs(x[..., i]) * float(1 / reach[i]) for i in range(x.shape[-1])], like)
        each = zip(self.choices, rows, constant, loops.columns, map(loops.scales, range(len(rows))))
        return largest([y for known, own, rest, columns, scales in each
                        for y in lacks(known, own.Jc, x[..., columns, None], rest, speed, scales, reach[columns])], like)  # fmt: skip


def lacks(known: Choice | Ranked, Jc, x, rest, speed, scales, reach) -> list:
    """How far each row of a loop that was not needed is from Jc x + rest = 0, columns, against what they are made of; all without units."""
    if not (spare := known.spare(Jc.shape[-2])):
        return []
    Jc, rest, inverse = Jc[..., spare, :], rest[..., spare, :], 1 / scales[spare]
    left = Jc @ x + rest
    entries = [np.abs(Jc[..., i, j]) * float(a * b) for i, a in enumerate(inverse) for j, b in enumerate(reach)]
    size = largest(entries, speed[..., None]) * speed
    size = size + largest([np.abs(rest[..., i, 0]) * float(a) for i, a in enumerate(inverse)], speed[..., None]) + 1e-9 * speed
    return [np.abs(left[..., i, 0]) * float(a) / np.where(size > 0, size, 1.0) for i, a in enumerate(inverse)]


def are_numbers(results):
    """Are all entries of one sample's results numbers?"""
    return sum(np.abs(x).sum() for x in results) <= np.inf


def where_served(serves, *results) -> tuple:
    """Results of samples that are served; others are not numbers."""
    return tuple(np.where(np.reshape(serves, np.shape(serves) + (1,) * (x.ndim - np.ndim(serves))), x, np.nan) for x in results)


def largest(values, some):
    out = np.zeros_like(some[..., 0])
    for x in values:
        out = np.maximum(out, x)
    return out
