"""The named inputs of a rollout: arrays for user kernels and for varying constants, broadcast over batch and steps."""

import numpy as np

from ...engine.running.checks import array_of
from ...engine.running.device import Library, check_place
from ...errors import ShapeError, SimulationError, UnknownNameError, did_you_mean
from ...lie.scalars import check_real
from ...varying import Varying
from ..methods.fixed_step import DRIVE, FRICTION, LENGTH, TAU, FixedStep
from ..rates.kernels import own_robot

STATE = "t", "q", "v"  # inputs that every kernel may have


class RolloutInputs:
    """Streams (batch..., steps, shape...) and constants (batch..., shape...) by name, with the dtype of Q."""

    def __init__(self, library: Library, Q, V, steps: int, dt: float, start: float = 0.0):
        self.library, self.Q, self.V, self.batch = library, Q, V, tuple(Q.shape)[:-1]
        self.steps, self.dt, self.start = steps, dt, start
        self.streams: dict = {}
        self.constants: dict = {}

    def add(self, step: FixedStep, controls, given, each_step) -> None:
        """Add all that the step takes besides its state. Arrays are those that its kernels and its robot have as inputs; any other name is
        an error."""
        robot, kernels = step.robot, [x for x in (step.control, step.reset) if x is not None]
        constraints, contacts = own_robot(robot).constraints, len(own_robot(robot).contacts)
        own: dict = {name: x.shape for name, x in robot.own.items()} if isinstance(robot, Varying) else {}
        own |= {} if step.law is None else {FRICTION: (contacts,)}
        needed = {name: kernel for kernel in kernels for name in kernel.names if name not in STATE}
        for name, kernel in needed.items():
            if name not in given and name not in each_step:
                raise SimulationError(f'{kernel.__name__} needs "{name}": pass given={{"{name}": ...}} or each_step.')
        for part, lead, target in ((given, self.batch, self.constants), (each_step, (*self.batch, self.steps), self.streams)):
            for name in sorted(part):
                if name not in needed and name not in own:
                    raise UnknownNameError(f'nothing in this rollout has the input "{name}".{did_you_mean(name, [*needed, *own])}')
                target[name] = self.array(name, part[name], lead, own.get(name) or needed[name].shapes.get(name))
            if isinstance(robot, Varying):
                robot.check_masses(target)
            if FRICTION in target and self.library.host and not (target[FRICTION] >= 0).all():  # arrays on a GPU are not looked at
                least = target[FRICTION].min()
                raise SimulationError(f'"{FRICTION}" is {least:g} in some sample; a coefficient of friction is not negative.')
        if not callable(controls):
            self._add_controls(controls)
        self._add_drives(constraints)
        self._add_time(any("t" in kernel.names for kernel in kernels))

    def _add_controls(self, tau) -> None:
        """Add τ of each step; None is zero."""
        wanted = *self.batch, self.steps, self.V.shape[-1]
        tau = self.library.full(wanted[-1:], 0.0, self.V) if tau is None else tau
        self.streams[TAU] = self.array("controls", tau, wanted[:-1], wanted[-1:])

    def _add_drives(self, held) -> None:
        """Add what drives do at the start, the middle and the end of each step, where constraints of the robot move in time."""
        if held is None or not held.set.drives or not self.steps:
            return
        half = np.array([held.driven(self.start + self.dt / 2 * i) for i in range(2 * self.steps + 1)])
        each = np.stack([half[:-1:2], half[1::2], half[2::2]], 1)  # (steps, 3, drives, 3)
        each = each if self.library.host else self.library.put(each, self.Q)
        self.streams[DRIVE] = self.array("drives", each, (*self.batch, self.steps), each.shape[1:])

    def _add_time(self, asked: bool) -> None:
        """Add the length of a step, and t of each step if it is asked for."""
        self.constants[LENGTH] = self.library.whole(self.library.full((), self.dt, self.Q), self.batch)
        if asked:
            times = self.library.cast(self.times(self.dt, self.steps), self.Q)
            self.streams["t"] = self.library.whole(times, (*self.batch, self.steps))

    def times(self, step: float, count: int):
        """The start, one step later, two steps later ... in float64."""
        return self.start + self.library.multiples(step, count, self.Q)

    def array(self, name: str, x, lead: tuple[int, ...], shape: tuple[int, ...] | None = None):
        """x in the dtype of Q, broadcast over batch (and steps); without `shape`, x must have all these axes."""
        x = check_real(array_of(name, x), name)
        if self.library.host:
            x = np.asarray(x, self.Q.dtype)
        else:
            check_place(["the states", name], [self.Q, x])
            x = self.library.cast(x, self.Q)
        wanted = (*lead, *(tuple(x.shape)[len(lead) :] if shape is None else shape))
        try:
            return self.library.whole(x, wanted)
        except (ValueError, RuntimeError):
            axes, more = "batch", ""
            if len(lead) > len(self.batch):
                axes, more = "batch, steps", f" One for all steps is {name}[..., None, :]."
            message = f"{name} has shape {tuple(x.shape)}; it must broadcast to {wanted}: {axes}, and its own axes."
            raise ShapeError(message + more) from None

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of all inputs for one sample at one step, streams first."""
        n = len(self.batch)
        return {k: tuple(x.shape)[n + 1 :] for k, x in self.streams.items()} | {k: tuple(x.shape)[n:] for k, x in self.constants.items()}

    # --- states

    def first(self, step: FixedStep, impulse=None) -> list:
        """The state before the first step: Q, V, and the memory of a step with contacts, with these impulses."""
        memory = [self.library.full((*self.batch, *shape), 0.0, self.Q) for shape in step.memory.values()]
        if impulse is not None:
            memory[0] = self.array("impulse", impulse, self.batch, tuple(memory[0].shape)[-1:])
        return [self.Q, self.V, *memory]

    def rows(self, step: FixedStep, count: int, first: list, out=None) -> list:
        """Arrays for so many states, time first, that begin with the first one: new ones, or `out` for q and v."""
        given = [] if out is None else self._checked(out, count, first)
        states = given + [self.room((count,), x, tuple(x.shape)[-1:]) for x in first[len(given) :]]
        for x, start in zip(states, first):
            x[0] = start
        return states

    def _checked(self, out, count: int, first: list) -> list:
        """The arrays of `out`, time first."""
        library = self.library
        arrays = [library.moved(np.asarray(x) if library.host else x, -2, 0) for x in out]
        for name, x, start in zip("qv", arrays, first):
            shape = (count, *start.shape)
            if tuple(x.shape) != shape or x.dtype != start.dtype:
                came, wanted = (tuple(s[1:-1]) + tuple(s[:1]) + tuple(s[-1:]) for s in (x.shape, shape))
                raise ShapeError(f"{name} of out is {x.dtype} of shape {came}; this rollout needs {start.dtype} of shape {wanted}.")
        return arrays

    def room(self, lead: tuple[int, ...], like, shape: tuple[int, ...]):
        """A new array (lead..., batch..., shape...), on a GPU with the samples last in memory."""
        library = self.library
        if library.host:
            return np.empty((*lead, *self.batch, *shape), like.dtype)
        x = library.empty((*lead, *shape, *self.batch), like)
        for _ in shape:
            x = library.moved(x, len(lead), -1)
        return x

    # --- parts

    def part(self, first: int, last: int, Q, V) -> "RolloutInputs":
        """Those of the steps from one to before another, which start from the state (Q, V)."""
        made = RolloutInputs(self.library, Q, V, last - first, self.dt, self.start)
        rows = (slice(None),) * len(self.batch) + (slice(first, last),)
        made.streams, made.constants = {name: x[rows] for name, x in self.streams.items()}, self.constants
        return made

    def some(self, which) -> "RolloutInputs":
        """Those of some samples, a mask over the batch."""
        made = RolloutInputs(self.library, self.Q[which], self.V[which], self.steps, self.dt, self.start)
        made.streams, made.constants = ({name: x[which] for name, x in part.items()} for part in (self.streams, self.constants))
        return made

    def at(self, i: int) -> dict:
        """All inputs at step i."""
        row = (slice(None),) * len(self.batch) + (i,)
        return {name: x[row] for name, x in self.streams.items()} | self.constants
