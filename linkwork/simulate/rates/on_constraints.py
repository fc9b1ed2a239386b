"""Constraints in compiled steps: rates under them, the errors that a return to them leaves, and the return after each step.

Compiled code chooses the dependent velocities of each sample from its numbers (constraints/systems/loop_binding.py).
A state that this does not serve has rates that are not numbers, and its step is made in Python.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

import numpy as np

from ...constraints import Constrained
from ...constraints.states.returns import allowed, put_back
from ...constraints.states.varied_states import fit, off
from ...constraints.systems.system import LoopSystem
from ...engine.loading.kernel import Kernel
from ...engine.tracing.program import Input, record
from ...errors import ModelError, TraceError
from ...motion import equations
from ...systems import Mechanism
from ...varying import Varying
from .held import UNSEEN, Keeper
from .kernels import mechanism_of

SMALL = 8  # velocities whose equations are never long
LONGEST = 6000  # operations of rates that are still worth the time to compile a step


@dataclass(frozen=True, eq=False)
class OnConstraints:
    """The constraints of a robot over any scalars, with lengths and other constants of its own for each sample where they vary."""

    held: Constrained
    mechanism: Mechanism
    varying: Varying | None = None
    constants: Mapping = field(default_factory=dict)  # what varies, by name, as scalars

    @staticmethod
    def of(keeper: Keeper, varying: Varying | None = None) -> "OnConstraints | None":
        """Those of a run that projects on the robot's own constraints, where they are one formula; else None."""
        held, robot = keeper.held, keeper.robot
        if held is None or held is not robot.constraints or keeper.how != "project" or not robot.compiled or robot.long or not robot.nv:
            return None
        if not held.compiled or held.set.massless:
            return None
        return (robot if varying is None else varying).made.once(lambda: OnConstraints._made(held, varying))

    @staticmethod
    def _made(held: Constrained, varying: Varying | None) -> "OnConstraints | None":
        try:
            enough = all(len(x.rows) == x.rank for x in held.by_numbers.ranked)
            if held.set.drives:
                record("drives", lambda t: held.by_numbers.drive(t, t)[0], [Input("t", ())])
        except (ModelError, TraceError):  # a constraint, or a drive, that only gives numbers
            return None
        made = OnConstraints(held, mechanism_of(varying or held.robot, held.by_numbers), varying)
        return made if enough and (held.robot.nv <= SMALL or made._length() <= LONGEST) else None

    def _length(self) -> int:
        """Operations of the rates."""
        robot = self.held.robot
        shapes = {"t": (), "q": (robot.nq,), **dict.fromkeys(("xi", "v", "tau"), (robot.nv,))}
        inputs = [robot.lowered.input(name, shape) for name, shape in shapes.items()]
        varied = [Input(name, x.shape) for name, x in self.own.items()]
        count = len(inputs)

        def rates(t, q, *state):
            system = self.having(dict(zip(self.own, state[count - 2 :]))).system(t, q)
            return equations.local_rates(system, q, *state[: count - 2])

        return record("rates", rates, [*inputs, *varied]).operations.total()

    @property
    def own(self) -> Mapping[str, np.ndarray]:
        """The model's own values of what varies."""
        return {} if self.varying is None else self.varying.own

    def having(self, constants: Mapping) -> "OnConstraints":
        """These with constants by name, of those that vary."""
        return self if self.varying is None else replace(self, constants=constants)

    @property
    def decided_by(self) -> tuple:
        """What tells it from others: see engine/loading/identity.py."""
        return self.held.by_numbers, self.held.set.drives, self.varying

    def system(self, t, q) -> LoopSystem:
        return cast(LoopSystem, self.mechanism.at(q, self.constants, self.mechanism.drive(t, q)))

    def left(self, t, q, errors):
        """What a return to the constraints leaves of errors (m, 2 nv) of a state, and a little of the rest (see `Keeper.left`)."""
        system, w = self.system(t, q), errors.reshape(2 * errors.shape[0], errors.shape[1] // 2)
        return ((1 - UNSEEN) * allowed(system, q, w) + UNSEEN * w).reshape(errors.shape)

    def back(self, t, q, v):
        """The nearest state on the constraints, and whether it was found."""
        here, slow, size = put_back(self.system(t, q), q, v)
        return here, slow, fit(q, slow, size)

    @cached_property
    def placed(self) -> Callable:
        """The compiled function (t, q, v, constants...) -> (q, v) on the constraints, whether they were found, and how far it was `off`."""
        robot = self.held.robot
        shapes = {"t": (), "q": (robot.nq,), "v": (robot.nv,), **{name: x.shape for name, x in self.own.items()}}

        def function(t, q, v, *constants):
            here = self.having(dict(zip(self.own, constants)))
            q1, v1, fits = here.back(t, q, v)
            return q1, v1, np.where(fits, 1.0, 0.0), *off(here.system(t, q), q, v)

        inputs = tuple(robot.lowered.input(name, shape) for name, shape in shapes.items())
        return Kernel("placed", function, inputs, content=self).gufunc("d")

    def put_back(self, t, q, v, constants: Mapping):
        """States (m, ...) of samples with these constants on the constraints, NaN where there are none; and how far they were `off`."""
        q, v, fits, *far = self.placed(t, q, v, *(constants.get(name, x) for name, x in self.own.items()))
        return np.where(fits[:, None] > 0, q, np.nan), np.where(fits[:, None] > 0, v, np.nan), *far
