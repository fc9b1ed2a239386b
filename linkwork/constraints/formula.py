"""A quantity under constraints as one formula, for programs, C, symbols, GPUs, variations and kernels of the user.

Which velocities depend on which is chosen by the numbers of each sample, inside of the formula (`pivoting.py`): one text serves
mechanisms of other lengths, each with a choice of its own. A sample that has no answer of this kind gets NaN: its loops are open, its
configuration is singular, or its constraints contradict each other.
"""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..engine.array import Traced
from ..engine.device import DeviceKernel, Library, on_device
from ..engine.kernel import Kernel
from ..engine.program import Input
from ..errors import ModelError
from ..lie.scalars import like, rounding
from ..quantities import forward_dynamics
from ..quantities.bound import Bound, on_scalars, scalars_of
from .augmented import INCONSISTENT, OPEN
from .given import one_time
from .kernels import Pick
from .loops import Loops, Ranked
from .quantities import UNDER_CONSTRAINTS
from .rank import LEFT
from .rolled import dynamics_where_served
from .system import LoopSystem, are_numbers, where_served

if TYPE_CHECKING:
    from .constrained import Constrained

DRIVE = "drive"  # the input that says where drives are: f, ḟ and f̈ of each


class ByNumbers:
    """Systems of a constrained robot in which each sample chooses its dependent velocities."""

    def __init__(self, held: "Constrained"):
        self.held, self.set = held, held.set
        for x in held.set.constraints:
            if not (x.traceable and x.embeddable):
                why = f", which {x.why_plain}" if x.why_plain else ""
                raise ModelError(
                    f'constraint "{x.name}" of {held.robot.model.name}{why} is no part of a formula: it only gives numbers. '
                    "robot.forward_dynamics(q, v, tau) and other methods keep it; write its function with NumPy, so that it can be traced."
                )

    @cached_property
    def ranked(self) -> tuple[Ranked, ...]:
        """Rows and ranks of each loop, from choices at configurations that the mechanism can have."""
        return self.held.choices.ranked

    @property
    def decided_by(self) -> tuple:
        """What tells it from others: see engine/identity.py."""
        return self.set, self.ranked

    @property
    def inputs(self) -> tuple[Input, ...]:
        return (Input(DRIVE, (len(self.set.drives), 3)),) if self.set.drives else ()

    def system(self, loops: Loops, some, dress: Callable, drive=None, may_open: float | None = OPEN) -> LoopSystem:
        """Of nodes that `dress` gives the scalars of `some`, and other constants where they vary. On the way of a step, where loops may be
        open as they like (None), pivots alone are judged."""
        eps, lowered = rounding(some), self.set.robot.lowered
        count = sum(x.rank for x in self.ranked)
        return LoopSystem(
            loops, dress(loops.nodes), lowered.system(dress(loops.rooted[0])), self.ranked, drive=self.set.by_name(drive),
            reference=like(np.ones(count), some), least=np.maximum(LEFT, 64 * eps), may_open=may_open,
            inconsistent=None if may_open is None else np.maximum(INCONSISTENT, 1e4 * eps),
        )  # fmt: skip

    def drive(self, t, some) -> list:
        """What drives do at time t, which may be traced, or be given as numbers."""
        if not self.set.drives:
            return []
        if isinstance(t, Traced):
            return [np.stack([x.traced_given(t) for x in self.set.drives], -2)]
        return [like(x, some) for x in self.set.driven(one_time(self.set, t))]


class ByChoice:
    """Systems with one choice for all samples, which take fewer operations; the `quality` of a system says where it does not serve."""

    def __init__(self, held: "Constrained", pick: Pick):
        self.held, self.set, self.pick = held, held.set, pick

    @property
    def ranked(self) -> tuple[Ranked, ...]:
        return self.held.choices.ranked

    @property
    def decided_by(self) -> tuple:
        """What tells it from others: see engine/identity.py."""
        return self.set, self.ranked, self.pick.choices, self.pick.pivots

    def system(self, loops: Loops, some, dress: Callable, drive=None, may_open: float | None = OPEN) -> LoopSystem:
        return LoopSystem(
            loops, dress(loops.nodes), self.set.robot.lowered.system(dress(loops.rooted[0])), self.pick.choices,
            drive=self.set.by_name(drive), reference=like(self.pick.pivots, some), may_open=may_open,
            inconsistent=None if may_open is None else INCONSISTENT,
        )  # fmt: skip


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
        self.inputs = (*bound.inputs, *by_numbers.inputs)

    @cached_property
    def _loops(self) -> Loops:
        return Loops(self.by_numbers.set, self.bound.nodes)

    def over(self, nodes) -> Callable:
        """The formula over other nodes of the model: a function of (dress, arguments), where `dress` gives nodes their scalars."""
        loops = Loops(self.by_numbers.set, nodes)
        return lambda dress, arguments: self._evaluated(loops, dress, arguments)

    def function(self, *arguments):
        """The quantity of one sample over any scalar."""
        some = scalars_of(arguments)
        arguments = tuple(x if isinstance(x, Traced) else like(x, some) for x in arguments)
        results = self._evaluated(self._loops, lambda nodes: on_scalars(nodes, some), arguments)
        self.bound.check_results(results if self.quantity.several else (results,))
        return results

    def _evaluated(self, loops: Loops, dress: Callable, arguments):
        count = len(self.bound.inputs)
        system = self.by_numbers.system(loops, scalars_of(arguments), dress, arguments[count:])
        results = self.bound.of_system(system, arguments[:count])
        several = results if self.quantity.several else (results,)
        served = where_served(system.serves(arguments[0]) & are_numbers(several), *several)
        return served if self.quantity.several else served[0]

    @property
    def decided_by(self) -> tuple:
        """What tells it from others: see engine/identity.py."""
        return self.by_numbers, self.bound

    def kernel(self) -> Kernel:
        """Straight-line code."""
        return Kernel(self.name, self.function, self.inputs, content=self)

    def rolled_kernel(self) -> Kernel | None:
        """A loop over small loops and the joints between them, NaN where it has no answer: of forward dynamics alone, without wrenches
        from outside; else None."""
        loops = self.by_numbers.held.rolled if self.by_numbers.set.robot.rolled else None
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
