"""States put back on the constraints, over any scalar: functions of a system with loops, kernels in the making."""

from functools import partial

import numpy as np

from ...lie.scalars import like
from ...model.tree import concatenated
from ...quantities import difference, integrate
from ...quantities.inertia import solved
from ...spatial import solve
from ...spatial.ldl import factor, substituted
from ...sweeps import articulated_inertia, at_rest, innovations
from ..choice.loops import Ranked, enough
from ..rows.rows import Rows
from ..solution import return_to
from ..solution.return_to import returned
from ..systems.system import LoopSystem

APART = 1e-8  # the square of the sine between a row and those before it: nearer than that they are left to singular values


def put_back(system: LoopSystem, q, v) -> tuple:
    """The state on the constraints that is nearest but for the square of how far it was, and how far c is from zero there."""
    return returned(partial(nearest_step, system), q, v)


def nearest(system: LoopSystem, q, v) -> tuple:
    """The nearest state on the constraints, and how far c is from zero there."""
    group = partial(integrate, system.nodes), partial(difference, system.nodes)
    here, there_is = return_to.nearest(partial(slide, system), *group, system.loops.set.yielding, q)
    _, slow, size = nearest_step(system, here, v)
    return here, np.where(there_is[..., None], slow, np.nan), size


def lift(system: LoopSystem, q, v) -> tuple:
    """The state on the constraints with the same independent velocities, how far c is from zero there, and how good the choice is."""
    return returned(partial(dependent_step, system), q, v, 0.0)


def tangent(system: LoopSystem, q, w) -> tuple:
    """The part of velocities w that constraints at rest allow."""
    return (allowed(system, q, w[..., None, :])[..., 0, :],)


RETURNS = {"put_back": put_back, "nearest": nearest, "lift": lift, "tangent": tangent}


# --- one step


def nearest_step(system: LoopSystem, q, v):
    """q and v after one step to the nearest state in the metric of the mass matrix, and how far c was from zero before. Where rows are not
    apart, or not all can be kept, v is no number.

        q ← q ∘ exp(−𝓜⁻¹ Jc* (Jc 𝓜⁻¹ Jc*)⁻¹ c),   v ← v − 𝓜⁻¹ Jc* (Jc 𝓜⁻¹ Jc*)⁻¹ (Jc v − U)
    """
    rows = system.rows(q)
    misfit = system.loops.misfit(rows, q)
    if not any(x.rank for x in system.choices):
        return q, v, misfit
    at = InMassMetric(system, rows, q)
    to, fast = at.force(at.c, at.binding), at.force(at.Jc @ v[..., None] - at.U)
    step = at.moved(np.concatenate([to, fast], -1))
    slow = v - step[..., 1]
    kept = at.apart & system.keeps_velocities(rows, slow, misfit)
    return integrate(system.nodes, q, -step[..., 0]), np.where(kept[..., None], slow, np.nan), misfit


def slide(system: LoopSystem, q, w):
    """The way dq nearest to w, in the metric of the mass matrix, that closes the constraints on positions to first order."""
    at = InMassMetric(system, system.rows(q), q) if any(x.rank for x in system.choices) else None
    return w if at is None or not at.binding else w - at.moved(at.force(at.Jc @ w[..., None] + at.c, at.binding))[..., 0]


def allowed(system: LoopSystem, q, w):
    """The part of velocities w (..., m, nv) that constraints at rest allow, nearest in the metric of the mass matrix:

        w − 𝓜⁻¹ Jc* (Jc 𝓜⁻¹ Jc*)⁻¹ Jc w                       not numbers where rows are not apart
    """
    if not any(x.rank for x in system.choices):
        return w
    at = InMassMetric(system, system.rows(q), q)
    return np.where(at.apart[..., None, None], w - at.moved(at.force(at.Jc @ w.mT)).mT, np.nan)


class InMassMetric:
    """The rows that are enough over all velocities, with A = Jc 𝓜⁻¹ Jc*."""

    def __init__(self, system: LoopSystem, rows: list[Rows], q):
        loops, self.still = system.loops, system.nodes.still
        parts, binds = [], []
        for g, (known, x) in enumerate(zip(system.choices, rows)):
            if known.rank:
                own, take = loops.binding[g][list(known.rows)], enough(known, x.Jc, q)
                if len(own) > known.rank and len(set(own)) > 1:  # which are enough may be rows of both kinds: none are apart
                    take = lambda y, numbers=list(known.rows): y[..., numbers, :]
                parts.append((take(x.c), take(x.U), loops.spread(g, take(x.Jc))))
                binds.append(own[: parts[-1][0].shape[-2]])
        self.c, self.U, self.Jc = (concatenated(x, -2) for x in zip(*parts))
        self.binding = np.flatnonzero(np.concatenate(binds)).tolist()  # the numbers of those that bind positions
        self.s = s = loops.set.robot.lowered.system(system.nodes).blocks(q)
        P, D, G, _ = articulated_inertia(s)
        _, eps, nu = innovations(s, P, D, G, at_rest(s, self.still, s.tree.split_rows(self.Jc.mT)))
        self.A = A = s.tree.total({k: eps[k].mT @ nu[k] for k in s.tree.base_to_tips()})
        lost = sum((np.where(pivot[..., 0] > APART * A[..., i, i], 0.0, 1.0) for i, pivot in enumerate(factor(A)[1])), 0.0 * q[..., 0])
        self.apart = lost == 0  # is no row one of those before it (...)?

    def force(self, b, which: list[int] | None = None):
        """Jc* A⁻¹ b of all rows, or of those with some numbers, for columns b of all."""
        which = list(range(self.A.shape[-1])) if which is None else which
        return self.Jc[..., which, :].mT @ solve(self.A[..., which, :][..., which], b[..., which, :])

    def moved(self, force):
        """𝓜⁻¹ of columns of forces."""
        return self.s.tree.join_rows(solved(self.s, self.still, self.s.tree.split_rows(force)))


class Nearest:
    """The rows of one loop, to find velocities of least length, in fixed units, that make what is wanted of them: y = J* (J J*)⁻¹ b. They
    do not depend on a choice, but where rows that are enough change from sample to sample."""

    def __init__(self, known: Ranked, Jc, q):
        self.known, self.zero, self._take = known, 0.0 * q[..., 0], enough(known, Jc, q)
        self.scales = like(1 / np.array(known.scales), q)[:, None]
        self.reach = like(np.array(known.reach), q)
        self.J = self._take(Jc * self.scales) * self.reach
        A = self.J @ self.J.mT
        self.L, self.d = factor(A) if known.rank else ([], [])
        self.lost: list = [~(pivot[..., 0] > APART * A[..., i, i]) for i, pivot in enumerate(self.d)]  # what is no number is lost too

    def makes(self, b):
        """Velocities (..., n, k) that make b (..., m, k) of all rows of the loop."""
        if not self.known.rank:
            return np.zeros_like(b, shape=(*b.shape[:-2], len(self.known.weights), b.shape[-1]))
        return self.reach[:, None] * (self.J.mT @ substituted(self.L, self.d, self._take(b * self.scales)))

    @property
    def apart(self):
        """Are the rows independent?"""
        return sum((np.where(x, 1.0, 0.0) for x in self.lost), self.zero) == 0


def dependent_step(system: LoopSystem, q, v):
    """The same by the dependent velocities alone: the independent ones, and what they have covered, stay. Also how good the
    choice still is, 1 where it was made."""
    loops, nodes = system.loops, system.nodes
    all_rows, solvers, misfit = system.at(q)
    step = np.zeros_like(q, shape=(*q.shape[:-1], nodes.tree.nv, 2))
    for rows, solver, columns in zip(all_rows, solvers, loops.columns):
        step[..., columns, :] = solver.particular(np.concatenate([rows.c, rows.Jc @ v[..., columns, None] - rows.U], -1))
    quality, slow = system.quality(q, solvers), v - step[..., 1]
    kept = (quality >= system.least) & system.keeps_velocities(all_rows, slow, misfit)
    return integrate(nodes, q, -step[..., 0]), np.where(kept[..., None], slow, np.nan), misfit, quality
