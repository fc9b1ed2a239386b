"""The steps that the gradient of a rollout goes back over: how they are made again, and what each of them is as a kernel."""

from collections.abc import Callable
from typing import Any

from ...dynamics import Dynamics
from ...engine.loading.kernel import Kernel
from ...kernels import UserKernel
from ...varying import Varying
from ..methods.contact import ContactSolver
from ..rates.whole_step import whole_step
from .contact_rollout import ContactSteps, solved_contact_step
from .rollout import march, output_arrays
from .rollout_inputs import RolloutInputs


class FreeMotion:
    """Steps without contacts: q and v say all."""

    needs_ends = False  # does a step backwards take something that the step gave?

    def __init__(self, robot: Dynamics | Varying, method: Callable, control: UserKernel | None, reset: UserKernel | None):
        self.robot, self.method, self.control, self.reset = robot, method, control, reset

    @property
    def identity(self) -> tuple:
        robot = self.robot
        return (robot.robot.lowered, robot.names) if isinstance(robot, Varying) else robot.lowered, self.method.__name__

    def starts(self, inputs: RolloutInputs) -> list:
        return [inputs.Q, inputs.V]

    def stored(self, run) -> list | None:
        """Rows of a rollout from which steps can begin."""
        return [run.q, run.v]

    def made(self, inputs: RolloutInputs, starts: list, every: int, rows: int) -> list:
        """States from stored ones on, rows first."""
        q, v = output_arrays(inputs.library, None, rows, inputs.Q, inputs.V)
        q[0], v[0] = starts
        if inputs.steps:
            march(self.robot, self.method, self.control, self.reset, inputs, every, q, v)
        return [q, v]

    def given(self, states: list, count: int) -> list:
        """What each of so many steps backwards takes of the states: as many arrays as its kernel has inputs before those with names."""
        return [x[:count] for x in states]

    def step(self, shapes) -> Kernel:
        return whole_step(self.robot, self.method, self.control, self.reset, shapes)


class ContactMotion:
    """Steps with contacts: a step backwards starts from the impulses that the step found, so that it makes no rounds."""

    needs_ends = True

    def __init__(self, robot: Dynamics | Varying, solver: ContactSolver, control, reset, inputs: RolloutInputs, dt: float):
        self.make: Callable[[RolloutInputs], ContactSteps] = lambda part: ContactSteps(robot, solver, control, reset, part, dt)
        self.steps = self.make(inputs)
        self.robot, self.solver, self.control, self.reset = robot, solver, control, reset

    @property
    def identity(self) -> tuple:
        return "contact", *self.steps.identity

    def starts(self, inputs: RolloutInputs) -> list:
        law, zero = self.steps.law, lambda width: inputs.library.full((*inputs.batch, width), 0.0, inputs.Q)
        return [inputs.Q, inputs.V, zero(3 * law.count), zero(2)]

    def stored(self, run) -> None:
        """A rollout has the forces of contacts, not all that its steps start from."""
        return None

    def made(self, inputs: RolloutInputs, starts: list, every: int, rows: int) -> list:
        steps = self.make(inputs)
        states: list[Any] = output_arrays(inputs.library, None, rows, inputs.Q, inputs.V)
        states += steps.memory(states[0])
        for x, start in zip(states, starts):
            x[0] = start
        if inputs.steps:
            steps.march(states, every)
        return states

    def given(self, states: list, count: int) -> list:
        q, v, impulse, _ = states
        return [q[:count], v[:count], impulse[1 : count + 1]]

    def step(self, shapes) -> Kernel:
        return solved_contact_step(self.robot, self.steps.law, self.solver, self.control, self.reset, shapes)
