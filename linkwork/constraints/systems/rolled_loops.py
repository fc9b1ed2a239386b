"""Forward dynamics of long mechanisms with many small loops and gears, by kernels that loop over them (systems/cells.py).

Each loop is a cell: its rows, its dependent velocities, chosen by the numbers of each sample, and its part of the sweeps. A sample in
which some loop has no answer of this kind is counted, and evaluated in NumPy.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...engine.loading.kernel import Kernel
from ...engine.tracing.program import Input
from ...engine.tracing.rolled import Joined, Table
from ...engine.tracing.rolled_program import RolledProgram
from ...errors import TraceError
from ...lie.scalars import rounding
from ...quantities import SIZES
from ...quantities.motion import accelerated
from ...quantities.rolled import WrenchesOnNodes
from ...sweeps import Blocks, Rates
from ...systems.cells import Cells, RolledEmbedding
from ...systems.rolled import RolledNodes, as_rotations, kind_of
from ...systems.system import System
from ..choice.loops import Loops, Ranked, velocity_weights
from ..rows.rank import LEFT
from ..rows.rows import Rows
from ..rows.set import ConstraintSet
from ..solution.at_state import INCONSISTENT, OPEN
from .choice_kernels import are_finite
from .local_loops import Kind, LocalLoops
from .system import lacks, largest

LARGEST = 24  # velocities of one loop: of more, straight-line code for each class of loop is long
MOST = 40  # classes of loops


class RolledLoops:
    """The loops of a long mechanism as cells, and functions of them as kernels."""

    def __init__(self, loops: Loops):
        set_ = loops.set
        lowered, neutral = set_.robot.lowered, set_.robot.neutral()
        self.set, self.loops, self.local = set_, loops, LocalLoops(loops)
        self.ranked = self.local.ranked(neutral, velocity_weights(set_, lowered.plain(), neutral))
        numbers = {key: n for n, key in enumerate(self.local.kinds)}
        kinds = [(numbers[key], x.rows, x.rank) for key, x in zip(self.local.kind_of, self.ranked)]
        self.cells = Cells.of(lowered.nodes, [x.members for x in self.local.members], kinds)
        self.of_root = {e: g for g, (e, _) in enumerate(self.cells.loops)}

    @staticmethod
    def of(set_: ConstraintSet) -> "RolledLoops | None":
        """Those of a robot whose loops can be looped over; else None."""
        robot = set_.robot
        if not (robot.compiled and robot.rolled and robot.nv and len(set_) and robot.lowered.is_rigid):
            return None
        if any(x.portable is None or not x.traceable or x.moves for x in set_.constraints):
            return None
        loops = Loops(set_, robot.lowered.nodes)
        if max(map(len, loops.columns), default=0) > LARGEST:
            return None
        made = RolledLoops(loops)
        if len(made.cells.groups.shapes) > MOST:
            return None
        try:
            made.dynamics[0].kernel.program  # noqa: B018
        except TraceError:  # a joint of the user's that only gives numbers
            return None
        return made

    def kernel(self, name: str, function: Callable, inputs) -> Kernel:
        """A function of (system, arguments...) that returns vectors and sums, and last how many loops have no answer."""

        def record(name, function, inputs):
            system = RolledLoopSystem(self)
            arguments = [system.nodes.argument(x.name, kind_of(x), x.size) for x in inputs]
            return RolledProgram(name, system.tree, tuple(inputs), function(system, *arguments))

        return Kernel(name, function, tuple(inputs), record=record)

    @cached_property
    def dynamics(self) -> "tuple[RolledDynamics, RolledDynamics]":
        """Forward dynamics, without wrenches from outside and with them."""
        return RolledDynamics(self, external=False), RolledDynamics(self, external=True)

    @cached_property
    def wrenches(self) -> WrenchesOnNodes:
        return WrenchesOnNodes(self.cells.nodes, self.cells.groups)


class Bends:
    """Ẋu of each member's joint, in a slot."""

    def __init__(self, slot, members):
        self.slot, self.members = slot, members

    def __contains__(self, k) -> bool:
        return int(k) in self.members

    def __getitem__(self, k):
        return self.slot[k]


class RolledBlocks(NamedTuple):
    """The parts of such a system at a configuration."""

    q: Any  # of each node
    rigid: Blocks  # of the tree
    X: Any  # v_S = X u, of each root


class RolledRates(NamedTuple):
    """The parts that velocities add, in slots of each root."""

    v: Any  # of each node
    Jc: Any
    gamma: Any
    off: Any  # 1 where a loop has no answer
    bend: Bends


class RolledLoopSystem(System):
    """A rigid tree with embedded loops as a rolled kernel sees it: the system that sweeps run on, as `LoopSystem` is in straight-line
    code."""

    def __init__(self, of: RolledLoops):
        self.of = of
        self.nodes: Any = RolledNodes(of.cells.nodes, of.cells.groups)
        self.tree = self.nodes.tree
        self.embedding = RolledEmbedding(of.cells, [x.freedom for x in of.ranked], self.tree)
        self.members = {int(k) for x in self.embedding.members.values() for k in x}
        loops, local = of.cells.loops, of.local.members
        count = max((len(x.frames) for x in local), default=0)
        tables = lambda each: {e: x for (e, _), x in zip(loops, each) if x is not None}
        some = lambda values, j: values[j] if j < len(values) else None
        self.frames = [Table(self.tree, f"frame{j}", tables(some(x.frames, j) for x in local), relation=as_rotations) for j in range(count)]
        names = dict.fromkeys(key for x in local for key in x.constants)
        self.constants = {key: Table(self.tree, repr(key), tables(x.constants.get(key) for x in local)) for key in names}
        self.weights = Table(self.tree, "weights", tables(1 / np.array(x.weights) for x in of.ranked))

    # --- one loop, in the step of its class

    def kind(self, e) -> tuple[Kind, Ranked]:
        g = self.of.of_root[int(e)]
        return self.of.local.kinds[self.of.local.kind_of[g]], self.of.ranked[g]

    def local(self, e, parts) -> Any:
        """The parts of a vector that belong to the members of the loop of root e that move, one after the other."""
        return np.concatenate([parts[k] for k in self.embedding.members[e] if self.embedding.rigid.widths[k]], 0)

    def rows(self, e, q, v=None) -> Rows:
        """The rows of the loop of root e; q and v are the parts of its members."""
        kind, _ = self.kind(e)
        local = kind.nodes([self.nodes.fixed[k] for k in self.embedding.members[e]], self.nodes.still)
        frames = [self.frames[j][e] for j in range(len(kind.on))]
        constants = {key: table[e] for key, table in self.constants.items() if int(e) in table.arrays}
        return kind.rows(local, frames, constants, self.local(e, q), None if v is None else self.local(e, v))

    def solver(self, e, rows: Rows, q):
        return self.kind(e)[1].solver(rows.Jc, self.local(e, q), self.weights[e])

    # --- the system

    def blocks(self, q) -> Blocks:
        parts, rigid, X = q.parts(self.tree, column=False), self.nodes.blocks(q), self.tree.slots()
        for k in self.tree.base_to_tips():
            if k in self.embedding.members:
                X[k] = self.solver(k, self.rows(k, parts), parts).motions()
        return self.embedding.blocks(rigid, X)._replace(q=q, own=RolledBlocks(parts, rigid, X))

    def rates(self, s: Blocks, v, tau=None, external=None) -> Rates:
        q, (Jc, gamma, off, slot) = s.own.q, self.tree.slots(4)
        own = RolledRates(v.parts(self.tree, column=False), Jc, gamma, off, Bends(slot, self.members))
        for k in self.tree.base_to_tips():
            own.off[k] = 0.0
            if k in self.embedding.members:
                rows = self.rows(k, q, own.v)
                solver = self.solver(k, rows, q)
                for i, x in self.embedding.spread(k, -solver.particular(rows.gamma)).items():
                    own.bend.slot[i] = x
                own.Jc[k], own.gamma[k] = rows.Jc, rows.gamma
                own.off[k] = self._off(k, rows, solver, q)
        rigid = self.nodes.rates(s.own.rigid, v, tau, external)
        return self.embedding.rates(s.own.rigid, rigid, own.bend)._replace(own=own)

    def whole(self, s: Blocks, r: Rates, vdot):
        """v̇ = X u̇ + Ẋu."""
        return self.embedding.whole(vdot, s.own.X, r.own.bend)

    def response(self, s: Blocks, vdot):
        return self.embedding.whole(vdot, s.own.X)

    @property
    def kinematic(self):
        return self.nodes

    # --- has each loop an answer?

    def _off(self, e, rows: Rows, solver, q):
        """1 where a loop is open or its pivots are next to nothing, else 0."""
        off = self.singular(e, solver, q)
        for j, scale in enumerate(self.kind(e)[0].scales):
            off = np.where(np.abs(rows.c[j, 0]) / scale <= OPEN, off, 1.0)
        return off

    def singular(self, e, solver, q):
        """1 where the pivots of a loop are next to nothing, else 0."""
        q = self.local(e, q)
        off, least = np.zeros_like(q[0]), np.maximum(LEFT, 64 * rounding(q))
        for pivot in solver.pivots:
            off = np.where(pivot >= least, off, 1.0)  # what is no number is not good
        return off

    def unserved(self, s: Blocks, r: Rates, vdot):
        """How many loops of a sample have no answer: open or singular ones, and those whose constraints contradict each other."""
        tree, out = self.tree, self.tree.slots()
        for k in tree.base_to_tips():
            out[k] = r.own.off[k]
            if k in self.embedding.members:
                lack, speed = self._lack(k, s, r, vdot)
                served = np.where(lack <= np.maximum(INCONSISTENT, 1e4 * rounding(self.local(k, s.own.q))), r.own.off[k], 1.0)
                out[k] = np.where(speed < np.inf, served, 1.0)
            elif self.embedding.widths[k]:
                size = sum(np.abs(vdot[k][i, 0]) for i in range(self.embedding.widths[k]))
                out[k] = np.where(size < np.inf, r.own.off[k], 1.0)
        return tree.total(out)

    def _lack(self, e, s: Blocks, r: Rates, u_rate):
        """What the rows that were not needed lack of Jc v̇ + γ = 0, against what they are made of; and the size of what moves the loop."""
        kind, v = self.kind(e)[0], self.local(e, r.own.v)
        vdot = s.own.X[e] @ u_rate[e] + self.local(e, r.own.bend)
        sizes = [(np.abs(vdot[j, 0]) + v[j] * v[j] * float(1 / reach)) * float(1 / reach) for j, reach in enumerate(kind.reach)]
        return self.lack(e, r.own.Jc[e], vdot, r.own.gamma[e], largest(sizes, v))

    def lack(self, e, Jc, x, rest, speed):
        """What the rows that were not needed lack of Jc x + rest = 0, against what they are made of; and the speed, that of x or more,
        without units."""
        kind, ranked = self.kind(e)
        return largest(lacks(ranked, Jc, x, rest, speed, kind.scales, kind.reach), x[:, 0]), speed

    def where_served(self, x: Joined, unserved) -> Joined:
        """A vector over all joints, NaN in samples with loops that have no answer: in a loop of its own, when their number is known."""
        tree, out, slot = self.tree, self.tree.slots(), x.slot
        for k in tree.tips_to_base():
            if self.embedding.rigid.widths[k]:
                out[k] = np.where(unserved == 0, slot[k], np.nan)
        return Joined(out, x.which, x.size)


class RolledDynamics:
    """Forward dynamics by a rolled kernel, called as `ChoiceKernels` are: v̇, and which samples it does not serve, or None."""

    def __init__(self, of: RolledLoops, external: bool):
        lowered = of.set.robot.lowered
        names = "q", "v", "tau", *(("external",) if external else ())
        self.of, self.inputs = of, tuple(lowered.input(x, SIZES[x]) for x in names)
        wrenches = (Input("external", (6 * of.wrenches.count,)),) if external else ()
        self.kernel = of.kernel("forward_dynamics_of_loops", served_dynamics, (*self.inputs[:3], *wrenches))

    def __call__(self, *arrays, out=None, t=0.0):
        state = (*arrays[:3], *map(self.of.wrenches, arrays[3:]))
        vdot, unserved = self.kernel.gufunc("d")(*state, **({} if out is None else {"out": (*out, None)}))
        if not np.any(unserved):
            return (vdot,), None
        bad = (unserved != 0) & are_finite(arrays, self.inputs)
        return (vdot,), bad if bad.any() else None


def dynamics_where_served(system: RolledLoopSystem, *state):
    """v̇, or NaN."""
    return system.where_served(*served_dynamics(system, *state))


def served_dynamics(system: RolledLoopSystem, *state):
    """v̇, and how many loops have no answer."""
    solution = accelerated(system, *state)
    return system.whole(*solution), system.unserved(*solution)
