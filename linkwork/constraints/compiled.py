"""Constrained dynamics as kernels: one for each choice of dependent velocities, and a look at what it returns.

A kernel tells for every sample whether its choice serves: how open the loops are, how good its pivots still are and
whether the rows it left out are kept. A sample that is not well served gets another choice, or is left to the plain way
by singular values, which raises if it must.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ..engine.kernel import Kernel
from ..engine.program import Input
from ..lie.scalars import like
from ..operators.rigid import rigid
from ..quantities import integrate
from ..spatial import solve
from ..spatial.ldl import factor
from .assembly import CLOSED
from .augmented import INCONSISTENT, OPEN, augmented
from .elimination import eliminated
from .embedding import Choice, Embedding, stacked_rows
from .set import ConstraintSet

PIVOT = 1e-3  # of what a pivot was where it was chosen: below it is none
WORSE = 0.3  # of it: another choice may be better
APART = 1e-8  # the square of the sine between a row and those before it: nearer than that they are left to singular values
ROUNDING = 1e-15
KERNELS = 8  # choices that are compiled for one robot
MANY = 32  # samples for which another kernel is worth its while
RETURNS = 20


class Chosen:
    """The constrained equations over any scalar with one choice of dependent velocities. `well` is 1 where it serves."""

    def __init__(self, embedding: Embedding, choices: tuple[Choice, ...], reference):
        self.embedding, self.choices, self.reference = embedding, choices, reference
        self.well: Any = 1.0

    def forward_dynamics(self, nodes, q, v, tau, external=None, pull=None):
        """v̇ by constraint embedding; `pull` as in `Embedding.rows`."""
        vdot, pivots, left = self.embedding.accelerations(nodes, self.choices, q, v, tau, external, pull)
        worst = self.embedding.misfit(nodes, q)
        self._doubt([p for part in pivots for p in part], q)
        self._unless(worst > OPEN)
        self._unless(off(left, vdot, q) > np.maximum(INCONSISTENT, 100 * worst))
        return vdot

    def back(self, nodes, q, v):
        """One step back onto the constraints: q and v after it, and how far c was from zero before (see `projection`)."""
        (c, U, G), binding = self.embedding.used(nodes, self.choices, q)
        if not G.shape[-2]:
            return q, v, self.embedding.misfit(nodes, q)
        sko = rigid(nodes, q)
        eps = sko.innovations(G.mT)
        A = sko.tree.total({k: eps[k].mT @ solve(sko.D[k], eps[k]) for k in sko.tree.base_to_tips()})  # G 𝓜⁻¹ G*
        for i, pivot in enumerate(factor(A)[1]):
            self._unless(pivot[..., 0] <= APART * A[..., i, i])
        h = [i for i, x in enumerate(binding) if x]
        pull = [G[..., h, :].mT @ solve(A[..., h, :][..., h], c[..., h, :]), G.mT @ solve(A, G @ v[..., None] - U)]
        step = sko.solve(np.concatenate(pull, -1))
        return integrate(nodes, q, -step[..., 0]), v - step[..., 1], self.embedding.misfit(nodes, q)

    def lift(self, nodes, q, v):
        """As `back`, but only the dependent velocities give way: the independent ones, and what they have covered, stay.
        Also how good the choice still is, 1 where it was made."""
        parts, tree = self.embedding.all_rows(nodes, q), nodes.tree
        step = np.zeros_like(q, shape=(*q.shape[:-1], tree.nv, 2))
        pivots = []
        for g, choice in enumerate(self.choices):
            if choice.rows:
                rows, columns, bound = list(choice.rows), self.embedding.columns[g], list(choice.dependent)
                c = stacked_rows([parts[i].c[..., None] for i in self.embedding.members[g]])[..., rows, :]
                G = stacked_rows([parts[i].G for i in self.embedding.members[g]])[..., rows, :]
                U = stacked_rows([like(parts[i].U, q)[..., None] for i in self.embedding.members[g]])[..., rows, :]
                found, own = eliminated(G[..., bound], np.concatenate([c, G @ v[..., columns, None] - U], -1))
                pivots += own
                for i, j in enumerate(bound):
                    step[..., columns[j], :] = found[..., i, :]
        return integrate(nodes, q, -step[..., 0]), v - step[..., 1], self.embedding.misfit(nodes, q), self._doubt(pivots, q)

    def _doubt(self, pivots, q):
        """The least of the pivots, each against what it was where it was chosen."""
        least = np.zeros_like(q[..., 0]) + 1.0
        for i, pivot in enumerate(pivots):
            least = np.minimum(least, np.abs(pivot) / self.reference[..., i])
        self._unless(least < PIVOT)
        return least

    def _unless(self, bad):
        self.well = np.where(bad, 0.0, self.well)


class Family:
    """A function of (nodes, Chosen, arguments...) as kernels, one for each choice; called as a gufunc is.

    Returns its results and which samples (a mask) no choice served, or None if all are well. NaN in, NaN out.
    """

    def __init__(self, owner: "Compiled", name: str, function: Callable, inputs: tuple[Input, ...]):
        self.owner, self.name, self.function, self.inputs = owner, name, function, inputs
        self.kernels: dict[tuple[Choice, ...], np.ufunc] = {}
        self.latest: Any = None, None, None  # the choice that serves, its kernel and pivots

    def __call__(self, *arrays, out=None, t=0.0):
        owner, drive = self.owner, self.owner.set.driven(t)
        if not owner.choices:
            owner.meet(first(arrays[0]), drive)
        if self.latest[0] is not owner.choices[0]:  # equal ones take long to compare
            choices = owner.choices[0]
            self.latest = choices, self.kernels.get(choices) or self._made(choices), owner.reference[choices]
        _, run, reference = self.latest
        *results, well = run(*arrays, *reference, *drive, **({} if out is None else {"out": (*out, None)}))
        return (results, None) if well.all() else self._again(arrays, drive, list(map(np.asarray, results)), well)

    def _again(self, arrays, drive, results, well):
        """Other choices, one that serves all first from now on, and a new one if this happens often."""
        owner, bad = self.owner, np.atleast_1d(well == 0)
        whole = [np.broadcast_to(x, bad.shape + i.shape) for x, i in zip(arrays, self.inputs)]
        views = [x if np.ndim(well) else x[None] for x in results]
        for choices in owner.choices[1:]:
            self._retry(choices, whole, drive, views, bad)
            if not bad.any():
                owner.prefer(choices)
                return results, None
        while bad.any() and owner.missing(int(bad.sum())):
            known = len(owner.choices)
            choices = owner.meet(whole[0][bad][0], drive)
            if len(owner.choices) == known:
                break
            self._retry(choices, whole, drive, views, bad)
        return results, bad.reshape(np.shape(well)) if bad.any() else None

    def _retry(self, choices, whole, drive, results, bad) -> None:
        """The samples that are bad so far, with another choice."""
        run = self.kernels.get(choices) or self._made(choices)
        *found, well = run(*(x[bad] for x in whole), *self.owner.reference[choices], *drive)
        at = tuple(i[well != 0] for i in np.nonzero(bad))
        for result, x in zip(results, found):
            result[at] = x[well != 0]
        bad[at] = False

    def _made(self, choices):
        set_, embedding = self.owner.set, self.owner.embedding
        reference = [Input("reference", x.shape) for x in self.owner.reference[choices]]
        drive = [Input("drive", (len(set_.drives), 3))] if set_.drives else []

        def function(*arguments):
            state, rest = arguments[: len(self.inputs)], arguments[len(self.inputs) :]
            chosen = Chosen(embedding.driven(set_.by_name(rest[len(reference) :])), choices, rest[0] if reference else None)
            nodes = embedding.nodes.mapped(lambda name, index, x: like(x, state[0]))
            results = self.function(nodes, chosen, *state)
            return *results, chosen.well + np.zeros_like(state[0][..., 0])

        content = set_.robot.lowered.digest, set_.content, self.name, choices
        self.kernels[choices] = Kernel(self.name, function, (*self.inputs, *reference, *drive), content).gufunc("d")
        return self.kernels[choices]


class Compiled:
    """The choices of dependent velocities that a robot has met, the one that served last first, and its kernels."""

    def __init__(self, set_: ConstraintSet):
        self.set = set_
        self.embedding = Embedding(set_, set_.robot.lowered.nodes)
        self.choices: list[tuple[Choice, ...]] = []
        self.reference: dict[tuple[Choice, ...], list[np.ndarray]] = {}  # pivots where a choice was made, if there are any
        self.missed = 0
        self.quality, self.floor = 1.0, WORSE
        self.families: dict[str, Family] = {}

    def family(self, name: str, function: Callable, *inputs: str, **shapes: tuple[int, ...]) -> Family:
        """Kernels of a function; q, external and those in `shapes` apart, an input has one entry per velocity."""
        if name not in self.families:
            robot = self.set.robot
            sizes = {"q": (robot.nq,), "external": (len(robot.bodies), 6), **shapes}
            made = tuple(Input(x, sizes.get(x, (robot.nv,)), robot.lowered.units if x == "q" else ()) for x in inputs)
            self.families[name] = Family(self, name, function, made)
        return self.families[name]

    # --- what it is for

    def forward_dynamics(self, q, v, tau, external=None, out=None, t=0.0):
        """v̇ (..., nv)."""
        if not np.size(q):
            return np.zeros((*np.shape(q)[:-1], self.set.robot.nv))
        arrays = (q, v, tau) if external is None else (q, v, tau, external)
        (vdot,), bad = self._forward[external is not None](*arrays, out=None if out is None else (out,), t=t)
        if bad is not None:
            inputs = self._forward[external is not None].inputs
            rest = [np.broadcast_to(x, bad.shape + i.shape)[bad] for x, i in zip(arrays, inputs)]
            q, v, tau, *push = rest
            vdot[bad] = augmented(self.set, q, v, tau, push[0] if push else None, t).vdot
        return vdot

    @cached_property
    def _forward(self) -> tuple[Family, Family]:
        def function(nodes, chosen, *state):
            return (chosen.forward_dynamics(nodes, *state),)

        state = "q", "v", "tau"
        return (
            self.family("constrained_forward_dynamics", function, *state),
            self.family("constrained_forward_dynamics_pushed", function, *state, "external"),
        )

    def project(self, q, v, t=0.0, *, lift: bool = False):
        """(q, v) back on the constraints, and which samples (a mask) could not be brought there, or None."""
        step = self._lift if lift else self._back
        (there, slow, size, *quality), bad = step(q, v, t=t)
        for _ in range(RETURNS):
            if size.max() <= ROUNDING:
                break
            (further, slower, less, *quality), worse = step(there, v, t=t)
            if not less.max() < 0.5 * size.max():
                break
            q, there, slow, size, bad = there, further, slower, less, worse
        open_ = size > 100 * CLOSED if bad is None else bad | (size > 100 * CLOSED)
        self.quality = float(np.min(quality)) if lift else self.quality
        return (q, slow), open_ if open_.any() else None

    def tangent(self, q, w, t=0.0):
        """Of velocities w (m, nv) at one q the part that constraints at rest allow; None where no kernel serves."""
        both = np.concatenate([w, np.zeros_like(w[:1])])  # what drives ask for comes out of zero
        (_, allowed, *_), bad = self._back(np.broadcast_to(q, (len(both), len(q))), both, t=t)
        return allowed[:-1] - allowed[-1] if bad is None else None

    def settle(self, q, t) -> None:
        """Before the next step from q: make another choice if the one that serves has become much worse than it was."""
        if self.quality < self.floor:
            before = self.choices[0]
            self.prefer(self.meet(q, self.set.driven(t)))
            self.floor = WORSE * (self.quality if self.choices[0] == before else 1.0)
        elif self.quality > self.floor / WORSE:
            self.floor = WORSE

    @cached_property
    def _back(self) -> Family:
        return self.family("constrained_return", lambda nodes, chosen, q, v: chosen.back(nodes, q, v), "q", "v")

    @cached_property
    def _lift(self) -> Family:
        return self.family("constrained_lift", lambda nodes, chosen, q, v: chosen.lift(nodes, q, v), "q", "v")

    # --- choices

    def meet(self, q, drive=()) -> tuple[Choice, ...]:
        """The choice at a configuration, known from now on."""
        embedding = self.embedding.driven(self.set.by_name(drive))
        choices = embedding.choose(q)
        if choices not in self.reference:
            nodes = embedding.nodes
            found = [embedding.dependence(nodes, g, x, q, np.zeros(nodes.tree.nv))[2] for g, x in enumerate(choices)]
            pivots = [abs(float(p)) for part in found for p in part]
            self.reference[choices] = [np.array(pivots)] if pivots else []
            self.prefer(choices)
        return choices

    def prefer(self, choices) -> None:
        self.choices = [choices, *(x for x in self.choices if x != choices)]

    def missing(self, count: int) -> bool:
        """So many more samples were not served: is that worth another choice?"""
        self.missed += count
        if self.missed < MANY or len(self.choices) >= KERNELS:
            return False
        self.missed = 0
        return True


def first(q):
    """One of a batch of configurations, whose entries are numbers if there is such a one."""
    flat = np.asarray(q, float).reshape(-1, np.shape(q)[-1])
    return flat[np.argmax(np.isfinite(flat).all(-1))]


def off(left, vdot, q):
    """What the rows that were not needed lack, against what they are made of."""
    found = []
    speed = largest([np.abs(vdot[..., i]) for i in range(vdot.shape[-1])], q)
    for rest, G, gamma in left:
        m, n = G.shape[-2:]
        size = largest([np.abs(G[..., i, j]) for i in range(m) for j in range(n)], q) * speed
        size = size + largest([np.abs(gamma[..., i, 0]) for i in range(m)], q)
        found += [np.abs(rest[..., i, 0]) / (size + 1e-9 * speed + 1e-300) for i in range(m)]
    return largest(found, q)


def largest(values, some):
    out = np.zeros_like(some[..., 0])
    for x in values:
        out = np.maximum(out, x)
    return out
