"""Steps of a rollout under constraints: accelerations keep them, and after each step the state is put back on them.

    q ← q ∘ exp(−δ),  Jc δ = c;   v ← v − w,  Jc w = Jc v − U                              δ, w of least length in fixed units

by Newton's method: Jc Jc* is factored once in a round, where the round begins. It serves q, whose error is then of the second power
of what c was there, and twice v at the new q, whose error is of the third.

For accelerations, which velocities depend on the others is chosen by the numbers of each sample; or it is one choice for all, where it
serves: they are the same. A sample that leaves the states in which this is defined goes on as NaN.
"""

from collections.abc import Mapping
from functools import partial
from typing import cast

import numpy as np

from ... import quantities
from ...constraints.states.returns import Nearest
from ...constraints.systems.loop_binding import LoopBinding
from ...constraints.systems.system import LoopSystem
from ...lie.iteration import iterate
from ...lie.scalars import rounding
from ...motion import equations
from ...motion.contact_step import Compliance, FreeMotion, StepLaw, drift
from ...motion.rotation_translation import turned
from ...systems import Mechanism

ROUNDS = 8  # to the constraints at most
NEAR = 1e-6  # of a radian, or of the mechanism's size: one round from there leaves its square
CORRECTIONS = 2  # of v in a round
START, MIDDLE, END = range(3)  # of a step, where drives are asked what they do
WHEN = {0.5: MIDDLE, 1.0: END}  # the fractions of a step at which the stages of Runge and Kutta are


class ConstrainedMotion:
    """One step's view of a robot: `drives` (3, n, 3) is what drives do at the start, the middle and the end of it."""

    def __init__(self, mechanism: Mechanism, some, constants: Mapping, drives=None, *, friction: bool = True):
        self.mechanism, self.constants, self.drives, self.friction = mechanism, constants, drives, friction
        binding, nodes = cast(LoopBinding, mechanism.binding), mechanism.tree(some, constants)
        self.choice, self.loops = binding.by, binding.loops
        self.nodes = nodes if friction else nodes.without_friction()
        self.middle: list[Nearest] = []  # of a step with contacts

    def system(self, q, when: int) -> LoopSystem:
        drive = [] if self.drives is None else [self.drives[when]]
        return cast(LoopSystem, self.mechanism.at(q, self.constants, drive, friction=self.friction))

    def rates(self, q, xi, v, tau, when: int):
        """ξ̇ and v̇ at q ∘ exp ξ."""
        return equations.local_rates(self.system(q, when), q, xi, v, tau)

    def acceleration(self, q, v, tau, when: int = START):
        """v̇ with the springs, damping and friction of the joints."""
        return equations.acceleration(equations.OfSystem(self.system(q, when)), q, v, tau)

    def prepared(self, law: StepLaw, nodes, q, v, tau, h, external=None):
        """The first half of a step with contacts: q½, free motion, gaps, J and the compliance of the joints, with loops closed at q½."""
        q, v = drift(nodes, q, v, h / 2)
        q, v = self.back(q, v, MIDDLE)
        rows = self._rows(q, MIDDLE)
        self.middle = self._nearest(rows, q)
        motion = FreeMotion.of(
            nodes, v, h, lambda v: self.acceleration(q, v, tau, MIDDLE), lambda v: v - self._step(self.middle, self._excess(rows, v))
        )
        return q, motion, *law.rows(nodes, q, v.shape[-1]), self.inertia_at(nodes, q)

    def contact_end(self, q, v, h):
        """The end of a step with contacts on the constraints. What came to the velocity on the way to the middle goes on the way from
        there, in the same directions, Jc* of the middle: the step is then of second order."""
        rows, along = self._rows(q, END), v
        for _ in range(CORRECTIONS):
            v = v - turned(self.nodes, along, self._step(self.middle, self._excess(rows, v)), h / 2)
        return self.back(q, v)

    def inertia_at(self, nodes, q) -> Compliance:
        """The compliance of the joints in the middle of a step, loops closed."""
        return Compliance(self.system(q, MIDDLE).compliance(q))

    def bend(self, q, v):
        """w of least length with Jc w = −γ (..., nv) at the start of a step: what loops that bend do to the joints."""
        drive = self._drive(START)
        rows = self.loops.all_rows(self.nodes, q, v, drive)
        return self._step(self._nearest(rows, q), [-x.gamma for x in rows])

    def back(self, q, v, when: int = END):
        """The state on the constraints; NaN where it cannot be."""
        (q, v, good), rounds = iterate(partial(self._nearer, when), (q, v, np.ones_like(q[..., 0])), ROUNDS)
        good = (rounds <= ROUNDS) & (good > 0)
        return tuple(np.where(good[..., None], x, np.nan) for x in (q, v))

    def _nearer(self, when: int, q, v, _):
        """One round; it is enough if q was near."""
        rows = self._rows(q, when)
        nearest, good = self._nearest(rows, q), 1.0 + np.zeros_like(q[..., 0])
        for x in nearest:
            good = np.where(x.apart, good, 0.0)
        done = self.loops.misfit(rows, q) <= np.maximum(NEAR, 8 * rounding(q))
        if self.choice.set.holonomic.any():
            way = -self._step(nearest, [x.c for x in rows])
            q, v = self._moved(q, way), self._in_axes_after(way, v)
            rows = self._rows(q, when)
        for _ in range(CORRECTIONS):
            v = v - self._step(nearest, self._excess(rows, v))
        return q, v, good, done

    def _moved(self, q, step):
        """q after a step of the joints in loops; the others stay."""
        here, there = (self.nodes.split(x) for x in (q, quantities.integrate(self.nodes, q, step)))
        return self.nodes.join(here | {k: there[k] for members in self.loops.groups for k in members})

    def _in_axes_after(self, way, v):
        """v in the axes to which a step leads the joints in loops."""
        here, there = (self.nodes.tree.split(x) for x in (v, turned(self.nodes, way, v, np.ones_like(v[..., 0]))))
        return self.nodes.tree.join(here | {k: there[k] for members in self.loops.groups for k in members})

    def _rows(self, q, when: int):
        return self.loops.all_rows(self.nodes, q, drive=self._drive(when))

    def _drive(self, when: int):
        return self.choice.set.by_name([] if self.drives is None else [self.drives[when]])

    def _excess(self, rows, v) -> list:
        """Jc v − U."""
        return [x.Jc @ v[..., at, None] - x.U for x, at in zip(rows, self.loops.columns)]

    def _nearest(self, rows, q) -> list[Nearest]:
        return [Nearest(known, x.Jc, q) for known, x in zip(self.choice.ranked, rows)]

    def _step(self, nearest: list[Nearest], wanted: list):
        """Velocities that make what is wanted of the rows."""
        some = wanted[0]
        step = np.zeros_like(some, shape=(*some.shape[:-2], self.nodes.tree.nv))
        for columns, x, value in zip(self.loops.columns, nearest, wanted):
            step[..., columns] = x.makes(value)[..., 0]
        return step


def euler_step(motion: ConstrainedMotion, q, v, tau, h):
    """The state after a semi-implicit Euler step with constant τ. Where loops bend, c = −h²/2 γ there; what closes them but for terms
    of third order, −h²/2 of what loops that bend do to the joints, is known from the acceleration."""
    vdot = motion.acceleration(q, v, tau)
    there, _ = equations.euler_end(motion.nodes, q, v, vdot - 0.5 * motion.bend(q, v), h)
    _, fast = equations.euler_end(motion.nodes, q, v, vdot, h)
    return motion.back(there, fast)


def rk4_step(motion: ConstrainedMotion, q, v, tau, h):
    """The state after a classical Runge-Kutta step in local coordinates, with constant τ."""
    rates = lambda c, xi, v: motion.rates(q, xi, v, tau, WHEN[c])
    first, integrate = (v, motion.acceleration(q, v, tau)), partial(quantities.integrate, motion.nodes)
    return motion.back(*equations.runge_kutta_step(integrate, rates, first, q, v, h))


CONSTRAINED_STEPS = {equations.euler_step: euler_step, equations.rk4_step: rk4_step}
