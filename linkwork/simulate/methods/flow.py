"""The rates of a run: the robot's equations of motion with whatever drives, pushes or holds it."""

from collections.abc import Callable

import numpy as np

from ...dynamics import Dynamics
from ...errors import ShapeError
from ...kernels import UserKernel
from ...lie.scalars import numbers
from ...motion import equations
from ..rates.control import Controls, at_state, read_only
from ..rates.held import ConstrainedRates, Keeper
from ..rates.kernels import kernel
from ..rest.resting import hold, share
from ..rest.stops import Stops


class Flow:
    """ξ̇ and v̇ at q ∘ exp ξ, as integrators ask for them, and what of it is worth a record."""

    def __init__(self, robot: Dynamics, controls: Controls, external: Callable | None, stops: Stops | None, keeper: Keeper):
        self.robot = robot
        self.controls = controls
        self.external = external
        self.stops = stops
        self.keeper = keeper
        self.timed = robot.constraints is not None and bool(robot.constraints.set.moving)
        self.reacts = bool(controls.functions) or external is not None or self.timed
        self.options = () if external is None else ("external",)
        self.friction = stops is None
        self.integrate = robot.integrate
        self.rates = kernel(robot, equations.local_rates, *self.options, friction=self.friction)
        if isinstance(self.rates, ConstrainedRates):
            self.rates = self.rates.keeping(keeper)
        self.zero = np.zeros(robot.nv)
        self.evaluations = self.rejected = 0  # how often rates were asked for, and attempts at steps not accepted
        self.refresh()

    def refresh(self) -> None:
        """To be called when a held force has changed."""
        self.tau = self.zero + sum(self.controls.answers)
        self.steady = (self.tau if self.stops is None else self.tau + self.stops.friction,)

    def forces(self, t: float, q, v) -> tuple:
        """What acts from outside the equations of motion: τ with dry friction, and the wrenches if there are any."""
        if not self.reacts:
            return self.steady
        tau, *wrenches = self.forces_of_functions(t, q, v)
        return tau if self.stops is None else tau + self.stops.friction, *wrenches

    def forces_of_functions(self, t: float, q, v) -> tuple:
        """τ of all controls, and the wrenches if there are any."""
        if self.controls.functions:
            self.tau = self.controls(t, q, v)
        return (self.tau,) if self.external is None else (self.tau, self._wrenches(t, q, v))

    def answer(self, t: float, q, v) -> np.ndarray:
        """What all functions answer at a state, τ and then the wrenches, in one array."""
        self.evaluations += 1
        forces = self.forces_of_functions(t, q, v)
        return forces[0] if len(forces) == 1 else np.concatenate([forces[0], forces[1].ravel()])

    @property
    def trouble(self) -> str:
        """What else there is to say of rates that are not numbers."""
        return self.rates.trouble if isinstance(self.rates, ConstrainedRates) else ""

    @property
    def blocks(self) -> int:
        """How many arrays of rates there are."""
        return 2 if self.stops is None else 3

    def __call__(self, t: float, q, xi, v, out) -> None:
        """ξ̇ and v̇ into the arrays of `out`.

        If joints may rest, there is a third: the v̇ they would have if let go, for error control to see what holds them.
        """
        self.evaluations += 1
        if self.reacts:
            self.rates(q, xi, v, *self.forces(t, self.integrate(q, xi), v), out=out[:2], **({"t": t} if self.timed else {}))
        else:
            self.rates(q, xi, v, *self.steady, out=out[:2])
        if self.stops is not None:
            out[2][...] = 0.0
            if self.stops.held:
                hold(self.stops, t, self.integrate(q, xi), v, out[1], out[2])

    def velocity(self, q, v) -> np.ndarray:
        """ξ̇ at the start of a step, ξ = 0: the robot's velocities."""
        return v

    def at(self, t: float, q, v) -> tuple[np.ndarray, np.ndarray]:
        """v̇ and τ of a state."""
        out = tuple(np.empty((self.blocks, self.robot.nv)))
        self(t, q, self.zero, v, out)
        return out[1], self.tau

    def contact_forces(self, t: float, q, v) -> np.ndarray:
        """Forces (n, 3) of the contact points of a run that goes event by event; zero for open ones."""
        assert self.stops is not None and self.stops.points is not None
        if self.stops.presses:
            self.at(t, q, v)
            share(self.stops, q, v)
        return self.stops.points.force

    def at_many(self, t, q, v) -> tuple[np.ndarray, np.ndarray]:
        """v̇ and τ of many states of a run, at once if its controls are kernels."""
        if not all(isinstance(x, UserKernel) for x in self.controls.functions):
            rows = [self.at(*state) for state in zip(t, q, v)]
            return np.array([vdot for vdot, _ in rows]), np.array([tau for _, tau in rows])
        tau = self.zero + sum(self.controls.answers)
        for control in self.controls.functions:
            tau = tau + np.asarray(at_state(control, t, q, v))
        self.evaluations += len(t)
        tau = np.broadcast_to(tau, v.shape)
        if self.timed or self.external is not None or (self.stops is not None and self.stops.held):
            return np.array([self.at(*state)[0] for state in zip(t, q, v)]), tau
        pushed = tau if self.stops is None else tau + self.stops.friction
        return self.rates(q, np.broadcast_to(self.zero, v.shape), v, pushed)[1], tau

    def within(self, t: float, step, x) -> tuple[np.ndarray, np.ndarray]:
        """The states at fractions x of a step that began at t, on the constraints if there are any."""
        return self.keeper.back(t + x * step.h, *step.at(self.robot, x))

    def _wrenches(self, t, q, v):
        assert self.external is not None
        wrenches = numbers(at_state(self.external, t, *read_only(q, v)), "what external returned")
        if wrenches.shape != (len(self.robot.bodies), 6):
            raise ShapeError(
                f"external returned an array of shape {wrenches.shape}, but {self.robot.model.name} has wrenches of shape "
                f"{(len(self.robot.bodies), 6)}, one for each body."
            )
        return wrenches
