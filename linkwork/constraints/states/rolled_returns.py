"""Back onto the constraints of a long mechanism, loop by loop: one step, and how far it was from them before.

The shortest way in the metric of the mass matrix is an acceleration from rest. With y any velocities that make what is missing,
Jc y = −c, and X the motions that constraints allow, it is the v̇ of forward dynamics without forces whose loops bend by y:

    X* 𝓜 (X u̇ + y) = 0,   v̇ = X u̇ + y = −𝓜⁻¹ Jc* (Jc 𝓜⁻¹ Jc*)⁻¹ c
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from ...engine.loading.compiled import Made
from ...engine.tracing.rolled import Joined
from ...lie.scalars import rounding
from ...quantities import integrate
from ...sweeps import Rates, accelerations, articulated_inertia, at_rest, innovations
from ..solution.arguments import one_for_all
from ..solution.at_state import INCONSISTENT
from ..solution.return_to import nearest, returned
from ..systems.rolled_loops import Bends, RolledLoops, RolledLoopSystem
from ..systems.system import largest


class RolledReturns:
    """The returns to the constraints of a long mechanism (`returns.RETURNS`), called as `ChoiceKernels` are: rounds of a step by a
    kernel. What some loop does not serve is not numbers."""

    def __init__(self, of: RolledLoops):
        lowered = of.set.robot.lowered
        self.of, self.inputs = of, (lowered.input("q", ("nq",)), lowered.input("v", ("nv",)))
        self.written = np.array(sorted(of.cells.groups.number.values()))  # groups have room for as many moving nodes as any of them has
        self.kernels = Made()

    def put_back(self, q, v, t=0.0, first=None):
        return returned(partial(self._step, nearest_step), *one_for_all((q, v), (1, 1))[1]), None

    def lift(self, q, v, t=0.0, first=None):
        here, slow, size = returned(partial(self._step, dependent_step), *one_for_all((q, v), (1, 1))[1])
        return (here, slow, size, np.ones_like(size)), None

    def nearest(self, q, v, t=0.0, first=None):
        robot, step = self.of.set.robot, partial(self._step, nearest_step)

        def slide(q, w):
            there, allowed, _ = step(q, w)
            return robot.difference(q, there) + allowed

        q, v = one_for_all((q, v), (1, 1))[1]
        here, there_is = nearest(slide, robot.integrate, robot.difference, self.of.set.yielding, q)
        _, slow, size = step(here, v)
        return (here, np.where(there_is[..., None], slow, np.nan), size), None

    def tangent(self, q, w, t=0.0, first=None):
        return (self._step(nearest_step, q, w)[1],), None

    def _step(self, function: Callable, q, v):
        """q and v after one step, and how far c was from zero; v is no number where some loop has no answer."""
        kernel = self.kernels.once(lambda: self.of.kernel(f"{function.__name__}_of_loops", function, self.inputs), function)
        there, slow, misfit, unserved = kernel.gufunc("d")(q, v)
        slow = np.where(unserved[..., None] == 0, slow, np.nan) if np.any(unserved) else slow
        return there, slow, misfit[..., self.written].max(-1)


def dependent_step(system: RolledLoopSystem, q, v):
    """By the dependent velocities alone."""
    step = Step(system, q, v)
    return step.results(*(step.laid_out(x) for x in step.missing))


def nearest_step(system: RolledLoopSystem, q, v):
    """The shortest way in the metric of the mass matrix."""
    step = Step(system, q, v)
    return step.results(*step.shortest())


class Step:
    """What one step makes of q and v; in each loop it is made of its own rows."""

    def __init__(self, system: RolledLoopSystem, q, v):
        self.system, self.q, self.v = system, q, v
        self.s = system.blocks(q)
        self.speed = v.parts(system.tree, column=False)
        self.Jc, self.misfit, self.off, *slots = system.tree.slots(5)
        self.missing = [Bends(x, system.members) for x in slots]  # velocities that make −c, and those that make −Jc v
        for k in system.tree.base_to_tips():
            self.off[k] = 0.0
            if k in system.embedding.members:
                self._find(k)

    def _find(self, e) -> None:
        system, at = self.system, self.s.own.q
        kind, rows, v = system.kind(e)[0], system.rows(e, at), system.local(e, self.speed)
        solver, q = system.solver(e, rows, at), system.local(e, at)
        for y, b in zip(self.missing, (rows.c, rows.Jc @ v[:, None])):
            for i, x in system.embedding.spread(e, -solver.particular(b)).items():
                y.slot[i] = x
        size = largest([np.abs(rows.c[j, 0]) / float(scale) for j, scale in enumerate(kind.scales)], q)
        self.Jc[e], self.off[e] = rows.Jc, system.singular(e, solver, at)
        moving = [k for k in system.embedding.members[e] if system.embedding.rigid.widths[k]]
        for n, k in enumerate(moving):
            self.misfit[k] = size if n == 0 else 0.0 * np.zeros_like(size)

    def laid_out(self, y: Bends) -> Joined:
        """Velocities of members as those of the whole tree."""
        system, out = self.system, self.system.tree.slots()
        for k in system.tree.base_to_tips():
            out[k] = y[k] if k in y else np.zeros((system.embedding.rigid.widths[k], 1))
        return system.tree.join(out)

    def shortest(self) -> list[Joined]:
        system, s = self.system, self.s
        P, D, G, _ = articulated_inertia(s)
        rates = [self._rates(y) for y in self.missing]
        nu = [innovations(s, P, D, G, r)[2] for r in rates]
        return [system.embedding.whole(accelerations(s, G, r, x)[0], s.own.X, y) for r, x, y in zip(rates, nu, self.missing)]

    def _rates(self, y: Bends) -> Rates:
        nodes = self.system.nodes
        still = at_rest(self.s.own.rigid, nodes.still, self.system.tree.split(nodes.zeros))
        return self.system.embedding.rates(self.s.own.rigid, still, y)

    def results(self, dq: Joined, dv: Joined):
        system = self.system
        tree, columns = system.tree, self.v.parts(system.tree, column=True)
        slow, misfit, off = tree.slots(3)
        for k in tree.base_to_tips():
            if system.embedding.rigid.widths[k]:
                slow[k] = columns[k] + dv.slot[k]
                misfit[k] = self.misfit[k] if k in system.members else np.zeros(())
            off[k] = self.off[k]
            if k in system.embedding.members:
                off[k] = self._kept(k, dv)
        count = tree.groups.count
        return integrate(system.nodes, self.q, dq), Joined(slow, "v", dv.size), Joined(misfit, 1, count), tree.total(off)

    def _kept(self, e, dv: Joined):
        """Are rows that were not needed kept by the new velocities too? 0, or 1 where not."""
        system = self.system
        v = system.local(e, self.speed) + system.local(e, dv.slot)[:, 0]
        reach, nothing = system.kind(e)[0].reach, np.zeros((len(self.Jc[e]), 1))
        lack, speed = system.lack(e, self.Jc[e], v[:, None], nothing, largest([np.abs(x) * float(1 / r) for x, r in zip(v, reach)], v))
        allowed = np.maximum(np.maximum(INCONSISTENT, 1e4 * rounding(v)), 100 * self.misfit[self._first(e)])
        return np.where(speed < np.inf, np.where(lack <= allowed, self.off[e], 1.0), 1.0)

    def _first(self, e):
        """The member that has the misfit of a loop."""
        return next(k for k in self.system.embedding.members[e] if self.system.embedding.rigid.widths[k])
