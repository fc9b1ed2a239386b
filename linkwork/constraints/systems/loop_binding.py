"""Loops as the binding of a mechanism, and a quantity of it as one formula, for programs, C, symbols, GPUs, variations and kernels of the
user.

Which velocities depend on which is chosen by the numbers of each sample, inside of the formula (`pivoting.py`): one text serves
mechanisms of other lengths, each with a choice of its own. A sample that has no answer of this kind gets NaN: its loops are open, its
configuration is singular, or its constraints contradict each other.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from ...engine.loading.kernel import Kernel
from ...engine.running.device import DeviceKernel, Library, on_device
from ...engine.tracing.array import Traced
from ...errors import ModelError
from ...lie.scalars import like, rounding
from ...quantities import forward_dynamics
from ...quantities.bound import Bound, scalars_of
from ...systems import Binding, Mechanism, Nodes
from ..choice.loops import Choice, Loops, Ranked
from ..rows.rank import LEFT
from ..solution.arguments import one_time
from ..solution.at_state import INCONSISTENT
from .choice_kernels import Pick
from .rolled_loops import dynamics_where_served
from .system import LoopSystem, are_numbers, where_served
from .under_constraints import UNDER_CONSTRAINTS

if TYPE_CHECKING:
    from ..constrained import Constrained


class ByNumbers:
    """Each sample of a constrained robot chooses its dependent velocities."""

    def __init__(self, constrained: "Constrained"):
        self.constrained, self.set = constrained, constrained.set
        for x in constrained.set.constraints:
            if not (x.traceable and x.embeddable):
                why = f", which {x.why_plain}" if x.why_plain else ""
                raise ModelError(
                    f'constraint "{x.name}" of {constrained.robot.model.name}{why} is no part of a formula: it only gives numbers. '
                    "robot.forward_dynamics(q, v, tau) and other methods keep it; write its function with NumPy, so that it can be traced."
                )

    @cached_property
    def ranked(self) -> tuple[Ranked, ...]:
        """Rows and ranks of each loop, from choices at configurations that the mechanism can have."""
        return self.constrained.choices.ranked

    @property
    def decided_by(self) -> tuple:
        """What tells it from others: see engine/loading/identity.py."""
        return self.set, self.ranked

    @property
    def choices(self) -> Sequence[Choice | Ranked]:
        return self.ranked

    def judged(self, some) -> dict:
        """What tells where a choice serves: as arguments of `LoopSystem`."""
        eps, count = rounding(some), sum(x.rank for x in self.ranked)
        limits = {"least": np.maximum(LEFT, 64 * eps), "inconsistent": np.maximum(INCONSISTENT, 1e4 * eps)}
        return {"reference": like(np.ones(count), some), **limits}

    def drive(self, t, some) -> list:
        """What drives do at time t, which may be traced, or be given as numbers."""
        if not self.set.drives:
            return []
        if isinstance(t, Traced):
            return [np.stack([x.traced_given(t) for x in self.set.drives], -2)]
        return [like(x, some) for x in self.set.driven(one_time(self.set, t))]


class ByChoice(ByNumbers):
    """One choice for all samples, which takes fewer operations."""

    def __init__(self, constrained: "Constrained", pick: Pick):
        super().__init__(constrained)
        self.pick = pick

    @property
    def decided_by(self) -> tuple:
        return *super().decided_by, self.pick.choices, self.pick.pivots

    @property
    def choices(self) -> Sequence[Choice | Ranked]:
        return self.pick.choices

    def judged(self, some) -> dict:
        return {"reference": like(self.pick.pivots, some)}


class LoopBinding(Binding):
    """The loops of a mechanism, with a choice of dependent velocities."""

    def __init__(self, by: ByNumbers | ByChoice, nodes: Nodes, *, on_the_way: bool = False):
        """States `on_the_way` of a step are judged by the pivots of the choice alone: there loops may be open."""
        self.by, self.loops, self.on_the_way = by, Loops(by.set, nodes), on_the_way

    def system(self, over, some, drive=None) -> LoopSystem:
        judged = self.by.judged(some) | ({"may_open": None, "inconsistent": None} if self.on_the_way else {})
        return LoopSystem(self.loops, self.by.choices, over, drive=self.by.set.by_name(drive), **judged)

    def drive(self, t, some):
        return self.by.drive(t, some)


class Formula:
    """A bound quantity of a constrained robot; in the place of its `Bound`."""

    def __init__(self, by_numbers: ByNumbers, bound: Bound):
        if bound.quantity in UNDER_CONSTRAINTS:
            model = bound.lowered.model.name
            raise ModelError(
                f"{model} has loops, couplings or constraints: its {bound.name} is no one formula, because how constraints share a "
                f"load, or what they leave free, is decided from numbers. robot.{bound.name}(...) keeps them."
            )
        self.by_numbers, self.bound = by_numbers, bound
        self.quantity, self.lowered, self.name, self.options = bound.quantity, bound.lowered, bound.name, bound.options
        self.inputs = (*bound.inputs, *by_numbers.set.inputs)

    def function(self, *arguments):
        """The quantity of one sample over any scalar."""
        some = scalars_of(arguments)
        arguments = tuple(x if isinstance(x, Traced) else like(x, some) for x in arguments)
        results = self.at(Mechanism(self.lowered, self.bound.nodes), some, {}, arguments)
        self.bound.check_results(results if self.quantity.several else (results,))
        return results

    def at(self, mechanism: Mechanism, some, constants, arguments):
        """The formula of a mechanism of this model, over the scalars of `some`, with other constants."""
        count = len(self.bound.inputs)
        mechanism = replace(mechanism, binding=LoopBinding(self.by_numbers, mechanism.nodes))
        system = cast(LoopSystem, mechanism.at(some, constants, arguments[count:]))
        results = self.bound.of_system(system, arguments[:count])
        several = results if self.quantity.several else (results,)
        served = where_served(system.serves(arguments[0]) & are_numbers(several), *several)
        return served if self.quantity.several else served[0]

    @property
    def decided_by(self) -> tuple:
        """What tells it from others: see engine/loading/identity.py."""
        return self.by_numbers, self.bound

    def kernel(self) -> Kernel:
        """Straight-line code."""
        return Kernel(self.name, self.function, self.inputs, content=self)

    def rolled_kernel(self) -> Kernel | None:
        """A loop over small loops and the joints between them, NaN where it has no answer: of forward dynamics alone, without wrenches
        from outside; else None."""
        loops = self.by_numbers.constrained.rolled if self.by_numbers.set.robot.rolled else None
        if loops is None or self.quantity is not forward_dynamics or self.bound.extra:
            return None
        return loops.kernel(self.name, dynamics_where_served, self.inputs)

    def rolled_whole(self) -> None:
        """Derivatives are those of straight-line code."""
        return None

    # --- inside of a kernel of the user, and on a GPU

    def takes(self, arrays) -> bool:
        """Are these arrays of a trace, or on a GPU?"""
        return any(isinstance(x, Traced) or on_device(x) for x in arrays)

    def __call__(self, arrays, t, out=None):
        if any(isinstance(x, Traced) for x in arrays):
            return self.function(*arrays, *self.by_numbers.drive(t, scalars_of(arrays)))
        some = next(x for x in arrays if on_device(x))
        library = Library(some)
        drive = [library.cast(library.put(x, some), some) for x in self.by_numbers.set.driven(one_time(self.by_numbers.set, t))]
        return self._on_device(*arrays, *drive, out=out)

    @cached_property
    def _on_device(self) -> DeviceKernel:
        if (rolled := self.rolled_kernel()) is None and self.by_numbers.set.robot.rolled:
            robot = self.by_numbers.set.robot
            raise ModelError(
                f"{self.name} of {robot.model.name}, which has {robot.nv} velocities and constraints, has no kernel on a GPU: those that "
                "loop over small loops give forward dynamics without external=. Dynamics(model, rolled=False) compiles straight code."
            )
        return DeviceKernel(rolled or self.kernel())
