"""The settings of a run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import Any

from ..methods.contact import ContactMidpoint
from ..methods.contact_law import ContactLaw
from ..methods.diagonal import DiagonalFlow, InDiagonalVelocities
from ..methods.explicit import RK4, Adaptive, CompiledOnly, Euler
from ..methods.flow import Flow
from ..methods.midpoint import Midpoint
from ..methods.pairs import DormandPrince, DormandPrince8, Pair
from ..methods.rosenbrock import Rosenbrock
from ..methods.step import Integrator, Tolerances
from ..methods.stiff import MOST, Radau, Stiff
from ..rates.control import Control, Hold

FIXED: dict[str, type[Integrator]] = {"rk4": RK4, "euler": Euler, "midpoint": Midpoint, "contact": ContactMidpoint}
PAIRS: dict[str, type[Pair]] = {"rk45": DormandPrince, "dop853": DormandPrince8, "rosenbrock": Rosenbrock, "stiff": Rosenbrock}
ADAPTIVE = *PAIRS, "radau"
FUNCTIONS = "control", "external", "events", "on_step", "keep"  # settings that a file cannot hold


@dataclass(frozen=True)
class MissingFunction:
    """Placeholder for functions that a file does not hold; `held` if all of them were held controllers."""

    name: str
    held: bool = False


def is_missing(value) -> bool:
    parts = value if isinstance(value, tuple) else (value,)
    return any(isinstance(part, MissingFunction) for part in parts)


def is_held(control) -> bool:
    """Is tau of this control constant between the rows of a run?"""
    if isinstance(control, MissingFunction):
        return control.held
    parts = control if isinstance(control, Sequence) else (control,)
    return all(isinstance(part, Hold) for part in parts)


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
    constraints: str | tuple[float, float] | None = "project"
    keep: Any = None  # Constrained
    dense: bool | None = None
    tolerance: float | None = None
    sensitivity: tuple[str, ...] = ()
    velocities: str = "v"
    contact: ContactLaw | None = None
    max_steps: float | None = None
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

    def integrator(self, flow: Flow) -> Integrator:
        """The integrator of a run."""
        if self.velocities == "eta":
            changed = DiagonalFlow(flow)
            return InDiagonalVelocities(changed, self._method(changed))
        return self._method(flow)

    def _method(self, flow) -> Integrator:
        if self.fixed:
            return FIXED[self.method](flow)
        control = Tolerances(flow.robot, self.rtol, self.atol), self.max_step
        if self.method == "radau" or (self.method == "stiff" and (self.sensitivity or flow.robot.nv > MOST)):
            return Radau(flow, *control)  # which has derivatives, and no code as long as the cube of the velocities
        if self.method in ("stiff", "rosenbrock") and flow.robot.nv:
            return Stiff(flow, *control) if self.method == "stiff" else CompiledOnly(Rosenbrock(), flow, *control)
        return Adaptive(PAIRS[self.method]() if flow.robot.nv else DormandPrince(), flow, *control)
