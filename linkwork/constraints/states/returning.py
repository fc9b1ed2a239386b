"""One step back onto the constraints, over any scalar: functions of a system with loops, kernels in the making."""

import numpy as np

from ...lie.scalars import like
from ...quantities import integrate
from ...quantities.inertia import solved
from ...spatial import solve
from ...spatial.ldl import factor, substituted
from ...sweeps import articulated_inertia, at_rest, innovations
from ..choice.loops import Ranked, stacked_rows
from ..rows.rank import LEFT
from ..systems.system import LoopSystem

APART = 1e-8  # the square of the sine between a row and those before it: nearer than that they are left to singular values


def nearest_step(system: LoopSystem, q, v):
    """q and v after one step to the nearest state in the metric of the mass matrix, and how far c was from zero before. Where rows are not
    apart, or not all can be kept, v is no number.

        q ← q ∘ exp(−𝓜⁻¹ Jc* (Jc 𝓜⁻¹ Jc*)⁻¹ c),   v ← v − 𝓜⁻¹ Jc* (Jc 𝓜⁻¹ Jc*)⁻¹ (Jc v − U)
    """
    loops, nodes = system.loops, system.nodes
    rows = loops.all_rows(nodes, q, drive=system.drive)
    misfit = loops.misfit(rows, q)
    if not any(x.rows for x in system.choices):
        return q, v, misfit
    c, U, Jc, s, A, apart = _in_mass_metric(system, rows, q)
    holonomic = _binding(system)
    position = Jc[..., holonomic, :].mT @ solve(A[..., holonomic, :][..., holonomic], c[..., holonomic, :])
    velocity = Jc.mT @ solve(A, Jc @ v[..., None] - U)
    step = s.tree.join_rows(solved(s, nodes.still, s.tree.split_rows(np.concatenate([position, velocity], -1))))
    slow = v - step[..., 1]
    kept = apart & system.keeps_velocities(rows, slow, misfit)
    return integrate(nodes, q, -step[..., 0]), np.where(kept[..., None], slow, np.nan), misfit


def slide(system: LoopSystem, q, w):
    """The way dq nearest to w, in the metric of the mass matrix, that closes the constraints on positions to first order."""
    rows = system.loops.all_rows(system.nodes, q, drive=system.drive)
    binding = _binding(system)
    if not binding:
        return w
    c, _, Jc, s, A, _ = _in_mass_metric(system, rows, q)
    Jc, A = Jc[..., binding, :], A[..., binding, :][..., binding]
    force = Jc.mT @ solve(A, Jc @ w[..., None] + c[..., binding, :])
    return w - s.tree.join_rows(solved(s, system.nodes.still, s.tree.split_rows(force)))[..., 0]


def _binding(system: LoopSystem) -> list[int]:
    """The numbers, among rows that are enough, of those that bind positions."""
    each = [system.loops.binding[g][list(x.rows)] for g, x in enumerate(system.choices)]
    return np.flatnonzero(np.concatenate([np.zeros(0, bool), *each])).tolist()


def allowed(system: LoopSystem, q, w):
    """Of velocities w (..., m, nv) the part that constraints at rest allow, nearest in the metric of the mass matrix:

        w − 𝓜⁻¹ Jc* (Jc 𝓜⁻¹ Jc*)⁻¹ Jc w                       not numbers where rows are not apart
    """
    if not any(x.rows for x in system.choices):
        return w
    _, _, Jc, s, A, apart = _in_mass_metric(system, system.loops.all_rows(system.nodes, q, drive=system.drive), q)
    part = w - s.tree.join_rows(solved(s, system.nodes.still, s.tree.split_rows(Jc.mT @ solve(A, Jc @ w.mT)))).mT
    return np.where(apart[..., None, None], part, np.nan)


def _in_mass_metric(system: LoopSystem, rows, q):
    """c, U and Jc of the rows that are enough, the blocks of the tree, A = Jc 𝓜⁻¹ Jc*, and whether the rows are apart (...)."""
    loops, nodes = system.loops, system.nodes
    c, U, Jc = (stacked_rows([y for y in x if y.shape[-2]]) for x in zip(*(
        (x.c[..., at, :], x.U[..., at, :], loops.spread(g, x.Jc[..., at, :]))
        for g, (x, at) in enumerate(zip(rows, (list(y.rows) for y in system.choices))))))  # fmt: skip
    s = loops.set.robot.lowered.system(nodes).blocks(q)
    P, D, G, _ = articulated_inertia(s)
    _, eps, nu = innovations(s, P, D, G, at_rest(s, nodes.still, s.tree.split_rows(Jc.mT)))
    A = s.tree.total({k: eps[k].mT @ nu[k] for k in s.tree.base_to_tips()})
    lost = sum((np.where(pivot[..., 0] > APART * A[..., i, i], 0.0, 1.0) for i, pivot in enumerate(factor(A)[1])), 0.0 * q[..., 0])
    return c, U, Jc, s, A, lost == 0


class Nearest:
    """The rows of one loop, to find velocities of least length, in fixed units, that make what is wanted of them: y = J* (J J*)⁻¹ b. They
    do not depend on a choice. Where rows that are enough change from sample to sample, dependent velocities alone make it."""

    def __init__(self, known: Ranked, Jc, q):
        self.known, self.q = known, q
        self.lost: list = []  # whether a row is one of those before it, as far as numbers tell
        self.pivoted = known.solver(Jc, q) if len(known.rows) > known.rank else None
        self.inverse_scales = like(1 / np.array(known.scales)[list(known.rows)], q)[:, None]
        self.reach = like(np.array(known.reach), q)
        if self.pivoted is None and known.rank:
            self.J = Jc[..., list(known.rows), :] * self.inverse_scales * self.reach
            A = self.J @ self.J.mT
            self.L, self.d = factor(A)
            self.lost = [~(pivot[..., 0] > APART * A[..., i, i]) for i, pivot in enumerate(self.d)]  # what is no number is lost too

    def makes(self, b):
        """Velocities (..., n, k) that make b (..., m, k) of all rows of the loop."""
        if self.pivoted is not None:
            return self.pivoted.particular(b)
        if not self.known.rank:
            return np.zeros_like(b, shape=(*b.shape[:-2], len(self.known.weights), b.shape[-1]))
        lam = substituted(self.L, self.d, b[..., list(self.known.rows), :] * self.inverse_scales)
        return self.reach[:, None] * (self.J.mT @ lam)

    @property
    def apart(self):
        """Are the rows independent?"""
        lost = self.lost if self.pivoted is None else [~(p > LEFT) for p in self.pivoted.pivots]
        return sum((np.where(x, 1.0, 0.0) for x in lost), 0.0 * self.q[..., 0]) == 0


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
