"""The settings of a run, and what a run needs from the one it continues."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from ..methods.contact import ContactMidpoint, ContactSolver
from ..methods.diagonal import DiagonalFlow, InDiagonalVelocities
from ..methods.explicit import RK4, Adaptive, CompiledOnly, Euler
from ..methods.flow import Flow
from ..methods.midpoint import Midpoint
from ..methods.pairs import DormandPrince, DormandPrince8, Pair
from ..methods.rosenbrock import Rosenbrock
from ..methods.step import Integrator, Tolerances
from ..methods.stiff import MOST, Radau, Stiff
from ..rates.control import Control

if TYPE_CHECKING:
    from ...constraints import Constrained

FIXED: dict[str, type[Integrator]] = {"rk4": RK4, "euler": Euler, "midpoint": Midpoint, "contact": ContactMidpoint}
PAIRS: dict[str, type[Pair]] = {"rk45": DormandPrince, "dop853": DormandPrince8, "rosenbrock": Rosenbrock, "stiff": Rosenbrock}
ADAPTIVE = *PAIRS, "radau"


@dataclass(frozen=True)
class Settings:
    """The arguments of `simulate` other than the robot, the state and the times."""

    method: str = "rk45"
    dt: float | None = None
    rtol: float = 1e-6
    atol: float = 1e-9
    control: Control = None
    external: Callable | None = None
    events: tuple = ()
    limits: bool = False
    restitution: float = 0.0
    on_step: Callable | None = None
    every: int = 1
    first_step: float | None = None
    max_step: float = inf
    progress: bool | None = None
    constraints: object = "project"
    keep: "Constrained | None" = None
    dense: bool | None = None
    tolerance: float | None = None
    sensitivity: tuple[str, ...] = ()
    velocities: str = "v"
    contact: ContactSolver | None = None
    max_steps: int | None = None
    timeout: float | None = None

    def most_steps(self, default: float) -> float:
        """The number of steps after which a run, or a sample, ends; fixed steps are as many as they are, unless it is given."""
        return float(self.max_steps or (inf if self.fixed else default))

    @property
    def deadline(self) -> float:
        """The time, as `monotonic` has it, at which a call that begins now ends."""
        return inf if self.timeout is None else monotonic() + self.timeout

    @property
    def fixed(self) -> bool:
        """Does the method make fixed steps of length dt?"""
        return self.method in FIXED

    @property
    def stores_grid(self) -> bool:
        """Are rows stored at multiples of dt instead of at the ends of the steps?"""
        return self.dt is not None and not self.fixed

    def integrator(self, flow: Flow, first_step: float | None) -> Integrator:
        """The integrator of a run, whose first step may be given."""
        if self.velocities == "eta":
            changed = DiagonalFlow(flow)
            return InDiagonalVelocities(changed, self._method(changed, first_step))
        return self._method(flow, first_step)

    def _method(self, flow, first_step: float | None) -> Integrator:
        if self.fixed:
            return FIXED[self.method](flow)
        control = Tolerances(flow.robot, self.rtol, self.atol), first_step, self.max_step
        if self.method == "radau" or (self.method == "stiff" and (self.sensitivity or flow.robot.nv > MOST)):
            return Radau(flow, *control)  # which has derivatives, and no code as long as the cube of the velocities
        if self.method in ("stiff", "rosenbrock") and flow.robot.nv:
            return Stiff(flow, *control) if self.method == "stiff" else CompiledOnly(Rosenbrock(), flow, *control)
        return Adaptive(PAIRS[self.method]() if flow.robot.nv else DormandPrince(), flow, *control)


@dataclass(frozen=True)
class Carry:
    """What a run needs from the one it continues."""

    grid: float = 0.0  # the time from which fixed steps are counted
    late: float = 0.0  # what the rounding of the last time leaves out
    next_step: float | None = None
    held: dict | None = None  # the last calls of held controllers, and their outputs
    embedding: tuple | None = None  # the choice of dependent velocities, where loops are embedded
    memory: dict | None = None  # what the integrator and the joints at rest know of earlier steps, as lists and numbers
    rates: tuple | None = None  # vdot and tau of the state, as the run that is continued has them
    goes_on: bool = False  # does the state come from a run, so that it is on the constraints already?
