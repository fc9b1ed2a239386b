"""Constraints in compiled steps: rates under them, the errors that a return to them leaves, and the return after each step.

Which velocities depend on the others is chosen from the numbers of each sample, inside of the code (constraints/formula.py). A state that
this does not serve has rates that are not numbers, and its step is made in Python.
"""

from dataclasses import dataclass

import numpy as np

from .. import quantities
from ..constraints import Constrained
from ..constraints.loops import Loops
from ..constraints.returning import allowed, nearest_step
from ..constraints.states import PUT_BACK, RETURNS, ROUNDING
from ..constraints.system import LoopSystem
from ..engine.program import Input, record
from ..errors import ModelError, TraceError
from ..lie.iteration import iterate
from ..motion import equations
from ..quantities.bound import on_scalars
from .held import UNSEEN, Keeper

SMALL = 8  # velocities whose equations are never long
LONGEST = 6000  # operations of rates that are still worth the time to compile a step


@dataclass(frozen=True, eq=False)
class OnConstraints:
    """The constraints of a robot over any scalars."""

    held: Constrained
    loops: Loops

    @staticmethod
    def of(keeper: Keeper) -> "OnConstraints | None":
        """Those of a run that projects on the robot's own constraints, where they are one formula; else None."""
        held, robot = keeper.held, keeper.robot
        if held is None or held is not robot.constraints or keeper.how != "project" or not held.compiled or held.set.massless:
            return None
        if not robot.compiled or robot.rolled or not robot.nv:
            return None
        key = "on constraints"
        if key not in robot.made:
            robot.made[key] = OnConstraints._made(held)
        return robot.made[key]

    @staticmethod
    def _made(held: Constrained) -> "OnConstraints | None":
        try:
            enough = all(len(x.rows) == x.rank for x in held.by_numbers.ranked)
            if held.set.drives:
                record("drives", lambda t: held.by_numbers.drive(t, t)[0], [Input("t", ())])
        except (ModelError, TraceError):  # a constraint, or a drive, that only gives numbers
            return None
        made = OnConstraints(held, Loops(held.set, held.robot.lowered.joint_space))
        return made if enough and (held.robot.nv <= SMALL or made._length() <= LONGEST) else None

    def _length(self) -> int:
        """Operations of the rates."""
        robot = self.held.robot
        shapes = {"t": (), "q": (robot.nq,), **dict.fromkeys(("xi", "v", "tau"), (robot.nv,))}
        inputs = [robot.lowered.input(name, shape) for name, shape in shapes.items()]
        return record("rates", self.rates, inputs).operations.total()

    @property
    def content(self):
        set_ = self.held.set
        known = set_.is_ours and self.held.robot.lowered.is_ours and not set_.drives
        return ("on constraints", *self.held.by_numbers.content, self.held.robot.lowered.digest) if known else None

    def system(self, t, q) -> LoopSystem:
        by_numbers = self.held.by_numbers
        return by_numbers.system(self.loops, q, lambda nodes: on_scalars(nodes, q), by_numbers.drive(t, q))

    def rates(self, t, q, xi, v, tau, *, friction: bool = True):
        """ξ̇ and v̇ at q ∘ exp ξ; without `friction` that of the joints is part of τ."""
        system = self.system(t, q)
        nodes = system.nodes if friction else equations.without_friction(system.nodes)
        there = quantities.integrate(nodes, q, xi)
        vdot = quantities.forward_dynamics(system, there, v, tau + quantities.passive_force(nodes, there, v))
        return equations.local_velocity(nodes, xi, v), np.where(system.serves != 0, vdot, np.nan)

    def left(self, t, q, errors):
        """What a return to the constraints leaves of errors (m, 2 nv) of a state, and a little of the rest (see `Keeper.left`)."""
        system, w = self.system(t, q), errors.reshape(2 * errors.shape[0], errors.shape[1] // 2)
        part = (1 - UNSEEN) * allowed(system, q, w) + UNSEEN * w
        return np.where(system.serves != 0, part, np.nan).reshape(errors.shape)

    def back(self, t, q, v):
        """The nearest state on the constraints, and whether it was found: steps until c is rounding, as `states.returned` makes them."""

        def closer(here, there, slow, size, good):
            system = self.system(t, there)
            further, slower, less = nearest_step(system, there, v)
            better = less < 0.5 * size
            new = (there, here), (further, there), (slower, slow), (less, size), (system.serves, good)
            return *(np.where(better, x, old) for x, old in new), ~better | (less <= ROUNDING)

        zero = 0.0 * t
        (here, _, slow, size, good), _ = iterate(closer, (q, q, v, zero + np.inf, zero), most=RETURNS + 1)
        return here, slow, (good != 0) & (size <= PUT_BACK)
