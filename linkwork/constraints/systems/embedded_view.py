"""Embedded loops in plain NumPy: dynamics without multipliers, and the model in minimal velocities as a view."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from ...errors import ShapeError
from ...lie.scalars import numbers
from ...operators.sko import SKO, Changes
from ...quantities.motion import accelerated
from ...sweeps import Blocks, Rates
from ..choice.loops import Choice, Loops
from ..rows.set import ConstraintSet
from ..solution.arguments import one_for_all, with_arrays
from ..solution.at_state import INCONSISTENT, OPEN, check_closed
from ..solution.augmented import augmented
from .system import LoopSystem


def system_at(loops: Loops, choices, t=0.0) -> LoopSystem:
    """The system over floats."""
    return LoopSystem(loops, choices, drive=loops.set.driven_by_name(t))


def embedded_dynamics(loops: Loops, q, v, tau, external=None, t=0.0):
    """v̇ (..., nv) by embedding, in NumPy."""
    arrays = [np.asarray(x, float) for x in (q, v, tau, *(() if external is None else (external,)))]
    (vdot,) = by_choice(loops, arrays, (1, 1, 1, 2), t, lambda choices, *state: (_dynamics(loops, choices, t, *state),))
    return vdot


def by_choice(loops: Loops, arrays, cores, t, evaluate) -> list[np.ndarray]:
    """evaluate(choices, samples...) over a batch: each sample has a choice of dependent velocities of its own, samples with
    the same one run together. `cores` are the dimensions of one sample of each array; the first is q."""
    batch, whole = one_for_all(arrays, cores)
    flat = [x.reshape(-1, *x.shape[len(batch) :]) for x in whole]
    drive = loops.set.driven_by_name(t)
    alike: dict[tuple[Choice, ...], list[int]] = {}
    for i, q in enumerate(flat[0]):
        alike.setdefault(loops.choose(q, drive), []).append(i)
    if not alike:  # an empty batch has a shape
        alike[loops.choose(loops.set.robot.neutral(), drive, closed=True)] = []
    out: list[np.ndarray] = []
    for choices, which in alike.items():
        found = evaluate(choices, *(x[which] for x in flat))
        out = out or [np.zeros((len(flat[0]), *x.shape[1:])) for x in found]
        for result, x in zip(out, found):
            result[which] = x
    return [x.reshape((*batch, *x.shape[1:])) for x in out]


def _dynamics(loops: Loops, choices, t, q, v, tau, external=None):
    set_, system = loops.set, system_at(loops, choices, t)
    s, r, u_rate = accelerated(system, q, v, tau, external)
    vdot = system.whole(s, r, u_rate)
    check_loops(system, s.own.misfit, q, t)
    if (system.redundant_residual(s, r, vdot) > np.maximum(INCONSISTENT, 100 * s.own.misfit)).any():
        return augmented(set_, q, v, tau, external, t).vdot  # which says what is wrong, or solves it
    return vdot


def check_loops(system: LoopSystem, misfit, q, t) -> None:
    """The loops are closed, but for what an integrator leaves; or it is said which are not."""
    if not (misfit <= OPEN).all():
        check_closed(system.loops.set, system.loops.set.residual(q, t))


@dataclass(frozen=True, eq=False)
class Embedded:
    """A model in minimal velocities u = v[independent] at a state, as an SKO model: every operator and sweep of chapter 9
    runs on it."""

    sko: SKO
    system: LoopSystem
    s: Blocks
    r: Rates
    made_of: tuple  # set, q, v, external, t

    @staticmethod
    def of(set_: ConstraintSet, loops: Loops, q, v, external=None, t=0.0) -> "Embedded":
        first, drive = q.reshape(-1, q.shape[-1])[:1], set_.driven_by_name(t)
        choices = loops.choose(first[0], drive) if len(first) else loops.choose(set_.robot.neutral(), drive, closed=True)
        system = system_at(loops, choices, t)
        s = system.blocks(q)
        r = system.rates(s, v, external=external)
        still = all(x.holonomic and not x.moves for x in set_.constraints)
        sko = SKO(s.tree, s.A, s.H, s.M, s.armature, r.a, r.b, r.base, Changes(partial(system.entry_rates, s)) if still else None)
        return Embedded(sko, system, s, r, (set_, q, v, external, t))

    def __reduce__(self):
        return _embedded, self.made_of

    @property
    def set(self) -> ConstraintSet:
        return self.made_of[0]

    @property
    def independent(self) -> np.ndarray:
        """The numbers of the minimal velocities in v, in the order of u."""
        system, loops = self.system, self.system.loops
        own = {e: loops.columns[g][list(system.choices[g].independent)] for g, (e, _) in enumerate(system.roots)}
        own |= {k: np.arange(system.nv)[system.rooted.tree.rows[k]] for k in system.embedding.free}
        return np.concatenate([np.zeros(0, int), *(own[k] for k in system.tree.base_to_tips() if k in own)]).astype(int)

    @with_arrays
    def whole(self, u, rate: bool = False):
        """v = X u, and what drives add to it; or with `rate` v̇ = X u̇ + Ẋu (..., nv)."""
        system, u = self.system, numbers(u)
        if u.shape[-1:] != (n := sum(self.sko.tree.widths),):
            raise ShapeError(f"u has shape {u.shape}; this view of {system.loops.set.robot.model.name} has {n} velocities.")
        bend = self.r.own.bend if rate else system.moved(self.s)
        return system.embedding.whole(self.sko.tree.split(u), self.s.own.X, bend)

    @with_arrays
    def forces(self, tau):
        """X* τ (..., nu); the inertia of joints that bend with the loop is part of the model."""
        system, tree = self.system, self.system.tree
        rows, parts = system.rooted.tree.rows, {}
        for k in tree.base_to_tips():
            parts[k] = tau[..., rows[k], None] if k in system.embedding.free else np.zeros((0, 1))
        for g, (e, _) in enumerate(system.roots):
            parts[e] = self.s.own.X[e].mT @ tau[..., system.loops.columns[g], None]
        return tree.join(parts)


def _embedded(set_: ConstraintSet, q, v, external, t) -> Embedded:
    return Embedded.of(set_, Loops(set_, set_.nodes), q, v, external, t)
