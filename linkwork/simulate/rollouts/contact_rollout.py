"""rollout with contacts: Moreau's midpoint rule for a batch of robots, all steps in one compiled loop."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...dynamics import Dynamics
from ...engine.loading.kernel import Kernel
from ...engine.running.device import DeviceKernel, DeviceRepeat, Library
from ...engine.running.repeat import Form, Repeat
from ...engine.tracing.program import Input
from ...errors import SimulationError
from ...kernels import UserKernel
from ...lie.scalars import like
from ...motion.contact_step import ContactLaw, contact_step
from ...varying import Varying
from ..methods.contact import ContactSolver, check_touching, derivative_law, law_of, picked, smooth
from ..methods.record import End
from ..rates.constrained_step import ConstrainedMotion
from ..rates.kernels import cache_of
from ..rates.whole_step import DRIVE, LENGTH, TAU, asked, mechanism_of, own_robot, source
from .rollout_inputs import RolloutInputs
from .stepwise import results_of

FRICTION = "contact_friction"  # of each point, where samples have their own


class ContactRollout(NamedTuple):
    """A rollout with contacts: times t (m,), coordinates q (..., m, nq), velocities v (..., m, nv); the first row is the start.

    Forces are those of the step before a row, residuals the largest of all steps up to it.
    """

    t: Any
    q: Any
    v: Any
    force: Any  # (..., m, n, 3) N, normal and two tangents of each contact point
    residual: Any  # (..., m) Signorini, cone, dissipation, relative to the velocities of the problem
    rounds: Any  # (..., m) of the step before

    @property
    def end(self) -> End:
        return End(self.t[-1], self.q[..., -1, :], self.v[..., -1, :])


def check_friction(inputs: RolloutInputs) -> None:
    """Raise where a sample has a coefficient of friction that is negative or no number; arrays on a GPU are not looked at."""
    for part in (inputs.constants, inputs.streams):
        if FRICTION in part and inputs.library.host and not (part[FRICTION] >= 0).all():
            raise SimulationError(f'"{FRICTION}" is {part[FRICTION].min():g} in some sample; a coefficient of friction is not negative.')


def contact_law(robot: Dynamics | Varying, solver: ContactSolver) -> ContactLaw:
    """The contacts of a rollout, if it can have them."""
    own = own_robot(robot)
    rough = bool(isinstance(robot, Varying) and "friction" in robot.names) or None
    law = law_of(own, limits=solver.limits, restitution=solver.restitution, recovery=solver.recovery, all_rough=rough)
    law = replace(law, friction_first=solver.friction == "first")
    check_touching(own, law, '"euler" or "rk4"')
    return law


class ContactSteps:
    """All steps of a rollout with contacts."""

    def __init__(self, robot: Dynamics | Varying, solver: ContactSolver, controls, reset, inputs: RolloutInputs, dt: float):
        self.law = contact_law(robot, solver)
        self.robot, self.solver, self.controls, self.reset, self.inputs, self.dt = robot, solver, controls, reset, inputs, dt
        self.library: Library = inputs.library

    def __call__(self, q, v, every: int) -> ContactRollout:
        """Start from the first rows of q and v, and write each n-th state to the rows after them."""
        inputs, n, rows = self.inputs, self.law.contacts, len(q)
        impulse, said = self.memory(q)
        impulse[0], said[0] = 0.0, 0.0
        inside = [x for x in (self.controls, self.reset) if isinstance(x, UserKernel)]
        if inputs.steps and 0 not in inputs.Q.shape[:-1]:
            if any(callable(x) and x not in inside for x in (self.controls, self.reset)):
                self._one_by_one(q, v, impulse, said, every)
            else:
                inputs.add_time(self.dt, inside)
                self.march([q, v, impulse, said], every)
        library = self.library
        force = library.moved(impulse, 0, -2)[..., : 3 * n] / self.dt
        said = library.moved(said, 0, -2)
        return ContactRollout(
            inputs.times(self.dt * every, rows), library.moved(q, 0, -2), library.moved(v, 0, -2),
            force.reshape(*tuple(force.shape)[:-1], n, 3), said[..., 0], said[..., 1],
        )  # fmt: skip

    def memory(self, q) -> list:
        """Room for impulses and what the solver says, in as many rows as q has."""
        return [self._rows(q, width) for width in (3 * self.law.count, 2)]

    def _rows(self, q, width: int):
        """An array (rows, batch..., width); on a GPU the samples are last in memory."""
        rows, batch = len(q), self.inputs.batch
        if self.library.host:
            return np.empty((rows, *batch, width), q.dtype)
        return self.library.moved(self.library.empty((rows, width, *batch), self.inputs.Q), 1, -1)

    def march(self, kept: list, every: int) -> None:
        """Make all steps in compiled code, from the first rows of q, v, impulses and what the solver says to the rows after them."""
        inputs, host = self.inputs, self.library.host
        control, reset = (x if isinstance(x, UserKernel) else None for x in (self.controls, self.reset))
        shapes, form = inputs.shapes(), Form(len(kept), len(inputs.streams))

        def make() -> Repeat | DeviceRepeat:
            kernel = whole_contact_step(self.robot, self.law, self.solver.in_steps, control, reset, shapes)
            return Repeat(kernel, inputs.Q.dtype.char, form) if host else DeviceRepeat(kernel, form)

        key = *self.identity, control, reset, form, repr(shapes), inputs.Q.dtype if host else "GPU"
        repeat = cache_of(self.robot, control, reset).once(make, *key)
        repeat.steps([*(x[0] for x in kept), *inputs.streams.values(), *inputs.constants.values()], kept, inputs.steps, every)

    @property
    def identity(self) -> tuple:
        robot, law = self.robot, self.law
        made_from = (robot.robot.lowered, robot.names) if isinstance(robot, Varying) else robot.lowered
        return made_from, self.solver, law.rough, law.limits

    def _one_by_one(self, q, v, impulse, said, every: int) -> None:
        """Controls or resets that are functions of the whole batch are called at each step."""
        inputs, library = self.inputs, self.library
        at = inputs.at(0)
        shapes = {TAU: tuple(inputs.V.shape)[len(inputs.batch) :], LENGTH: ()}
        names = [name for name in at if name not in shapes and name in self._own_names]
        shapes |= {name: tuple(at[name].shape)[len(inputs.batch) :] for name in names}

        def make() -> Callable:
            kernel = whole_contact_step(self.robot, self.law, self.solver.in_steps, None, None, shapes)
            return kernel.runner(inputs.Q.dtype.char) if library.host else DeviceKernel(kernel)

        run = cache_of(self.robot).once(make, *self.identity, library.host, str(inputs.Q.dtype), repr(shapes))
        h, state = library.full((), self.dt, inputs.Q), (q[0], v[0], impulse[0], said[0])
        for i in range(1, inputs.steps + 1):
            row, rest = divmod(i, every)
            at = inputs.at(i - 1)
            tau = at[TAU] if TAU in at else self._called("controls", self.controls, i - 1, at, *state[:2], state[1])[0]
            state = run(*state, tau, h, *(at[name] for name in names))
            if self.reset is not None:
                state = (*self._called("reset", self.reset, i, at, *state[:2], *state[:2]), *state[2:])
            if not rest:
                q[row], v[row], impulse[row], said[row] = state

    @property
    def _own_names(self) -> tuple:
        return (*(self.robot.names if isinstance(self.robot, Varying) else ()), FRICTION, DRIVE)

    def _called(self, what: str, function, step: int, at: dict, q, v, *like) -> tuple:
        return results_of(what, function, self.library, self.inputs.start + step * self.dt, at, q, v, *like)


def whole_contact_step(robot: Dynamics | Varying, law: ContactLaw, solver: Callable, controls, reset, others) -> Kernel:
    """The kernel of (q, v, impulse, said) and others, by name: the control, a step with contacts, and what a reset makes of its end."""
    moved = moved_with_contacts(robot, law, solver, controls, reset)
    inputs = *_state(robot, law), Input("said", (2,)), *(Input(name, shape) for name, shape in others.items())

    def step(*values):
        at = {x.name: value for x, value in zip(inputs, values)}
        q, v, impulse, said = moved(at)
        return q, v, impulse, np.stack([np.maximum(at["said"][..., 0], said[..., 0]), said[..., 1]], -1)

    return Kernel("contact_step", step, inputs, content=step_content(robot, law, solver, controls, reset))


def solved_contact_step(robot: Dynamics | Varying, law: ContactLaw, solver: ContactSolver, controls, reset, others) -> Kernel:
    """The kernel of (q, v, impulse) and others -> (q, v, impulse), with derivatives. The impulse given is that which the step finds: there
    are no rounds in it."""
    solution = lambda *problem: (solver.solution(*problem), None)
    moved = moved_with_contacts(robot, derivative_law(law, solver), solution, controls, reset)
    inputs = *_state(robot, law), *(Input(name, shape) for name, shape in others.items())
    content = step_content(robot, derivative_law(law, solver), (solver, "solved"), controls, reset)
    return Kernel("contact_step", lambda *values: moved({x.name: value for x, value in zip(inputs, values)})[:3], inputs, content)


def step_content(robot, law: ContactLaw, *more) -> tuple:
    """What the kernel of a step is decided by."""
    constraints = own_robot(robot).constraints
    return source(robot), None if constraints is None else constraints.by_numbers, law, *more


def _state(robot, law) -> tuple[Input, ...]:
    own = own_robot(robot)
    return Input("q", (own.nq,), own.lowered.units), Input("v", (own.nv,)), Input("impulse", (3 * law.count,))


def moved_with_contacts(robot: Dynamics | Varying, law: ContactLaw, solver: Callable, controls, reset) -> Callable:
    """A function of all inputs by name, which gives the state after a step, its impulse, and what the solver says."""
    own = own_robot(robot)
    mechanism = mechanism_of(robot, None if own.constraints is None else own.constraints.by_numbers, on_the_way=True)
    nq, nv = (own.nq,), (own.nv,)

    def step(at):
        q, v, h = at["q"], at["v"], at[LENGTH]
        tau = at[TAU] if controls is None else asked(controls, at, nv)[0]
        _, dry = smooth(mechanism.tree(q, at))
        dry, friction = picked(dry + like(np.zeros(nv), q), law.rough), at.get(FRICTION)
        tree = mechanism.unbound.at(q, at, friction=False)
        if mechanism.binding is None:
            q, v, impulse, said, _ = contact_step(law, solver, tree, q, v, tau, at["impulse"], h, dry, friction=friction)
        else:
            motion = ConstrainedMotion(mechanism, q, at, at.get(DRIVE), friction=False)
            q, v, impulse, said, _ = contact_step(
                law, solver, tree, q, v, tau, at["impulse"], h, dry, friction=friction, prepare=motion.prepared,
                inertia_at=motion.inertia_at,
            )  # fmt: skip
            q, v = motion.contact_end(q, v, h)
        if reset is not None:
            q, v = asked(reset, at | {"q": q, "v": v} | ({"t": at["t"] + h} if "t" in at else {}), nq, nv)
        return q, v, impulse, said

    return step


def as_tensors(run: ContactRollout) -> ContactRollout:
    torch = sys.modules["torch"]
    return ContactRollout(*(torch.from_numpy(np.ascontiguousarray(x)) for x in run))
