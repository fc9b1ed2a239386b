"""The gradient of a rollout: a march backwards over its steps, in compiled code, from states that are stored or made again.

Step n is x' = F(x, u), x the state, u all else that it takes. Weights λ on the state after it become weights on what it began with:

    λ ← λ' ∂F/∂x + w,   gradient by u:  λ' ∂F/∂u                  w the weights on the state itself, where a row of it is kept
"""

import sys
from functools import partial
from math import isqrt, prod
from typing import Any, NamedTuple

import numpy as np

from ...dynamics import Dynamics
from ...engine.differentiation.derived import Derived
from ...engine.loading.kernel import Kernel
from ...engine.running.device import DeviceRepeat, on_device
from ...engine.running.repeat import Form, Repeat
from ...engine.tracing.program import Input
from ...errors import SimulationError
from ...foreign import is_foreign
from ...kernels import UserKernel
from ...quantities import coordinate_rates, coordinate_weights
from ...varying import Varying
from ..methods.contact import ContactSolver
from ..rates.kernels import cache_of
from ..rates.whole_step import DRIVE, LENGTH, TAU
from ..requests.capabilities import GRADIENT
from ..requests.options import ContactLaw, solver_of
from .contact_rollout import FRICTION, ContactRollout, check_friction
from .gradient_motion import ContactMotion, FreeMotion
from .rollout import STEPS, Rollout, as_numpy, check_steps, checked_start, states_of
from .rollout_inputs import RolloutInputs

ALL_STATES = 1 << 28  # bytes: as long as the states of all steps take no more than this, they are stored and not made twice
LAMBDA = "the weight on q", "the weight on v"
WEIGHT = "the row's weight on q", "the row's weight on v", "the row's weight on impulses"


class RolloutGradient(NamedTuple):
    """Derivatives of Σ weight · state: by Q0 along the group and by V0 (..., nv), by the controls (..., steps, nv), None where these are
    a kernel, and by each array of `given` (..., shape) and of `each_step` (..., steps, shape)."""

    q: Any
    v: Any
    controls: Any
    given: dict[str, Any]
    each_step: dict[str, Any]


def rollout_gradient(
    robot: Dynamics | Varying, Q0, V0, controls=None, *, weights, dt: float, steps: int, start: float = 0.0, method: str = "euler",
    every: int = 1, reset=None, given=None, each_step=None, run: Rollout | ContactRollout | None = None, checkpoint: int | None = None,
    contact: ContactLaw | ContactSolver | None = None,
) -> RolloutGradient:  # fmt: skip
    """The gradient of a cost of `rollout` by all that it starts from, exact for its steps; arguments as of `rollout`.

    weights     (by q, by v): the derivatives of the cost by the states that `rollout` returns, each broadcast to (..., rows, nv) or None;
                those by q along the group, as `integrate` moves; with method "contact" also (by q, by v, by force (..., rows, n, 3))
    run         what `rollout` returned for these arguments, if it is at hand: saves one pass, but not with contacts
    checkpoint  from how many to how many steps a state is stored; between, states are made again. If not said, all states are
                stored as long as they are few, else each ⌈√steps⌉-th

    With method "contact" each step has the derivative of its solved problem: see docs/contact.md for where it has none.
    """
    contact = solver_of(contact)
    if any(is_foreign(x) and not on_device(x) for x in (Q0, V0)):
        return _of_tensors(robot, Q0, V0, controls, weights, reset, given, each_step, run, dt=dt, steps=steps, start=start, method=method,
                           every=every, checkpoint=checkpoint, contact=contact)  # fmt: skip
    own = robot.robot if isinstance(robot, Varying) else robot
    library, Q, V = states_of(own, Q0, V0)
    check_steps(GRADIENT, robot, dt, steps, method, every, controls, reset, contact, on_gpu=not library.host)
    if checkpoint is not None and (int(checkpoint) != checkpoint or checkpoint < 1):
        raise SimulationError(f"checkpoint is {checkpoint}; it must be a whole number of steps, at least 1.")
    inside = [x for x in (controls, reset) if isinstance(x, UserKernel)]
    inputs = RolloutInputs(library, Q, V, steps, checked_start(start))
    touches = method == "contact"
    inputs.add(robot, inside, given or {}, each_step or {}, {FRICTION: (len(own.contacts),)} if touches else {})
    if touches:
        check_friction(inputs)
    if controls is None or not callable(controls):
        inputs.add_controls(controls)
    inputs.add_drives(own.constraints, dt)
    inputs.add_time(dt, inside)
    control, again = (x if isinstance(x, UserKernel) else None for x in (controls, reset))
    if touches:
        motion: FreeMotion | ContactMotion = ContactMotion(robot, contact or ContactSolver(), control, again, inputs, dt)
    else:
        motion = FreeMotion(robot, STEPS[method], control, again)
    back = Backwards(robot, motion, inputs, _weights(inputs, weights, steps // every + 1, motion, dt), every)
    back(_spacing(inputs, steps, checkpoint), run)
    by = {name: library.moved(x, 0, len(inputs.batch)) for name, x in back.by_stream.items()}
    by_q, by_v = back.weight
    return RolloutGradient(by_q, by_v, by.pop(TAU, None), dict(back.by_constant), by)


class Backwards:
    """One gradient: `weight` on the present state, and what has been found by streams and constants."""

    def __init__(self, robot, motion: FreeMotion | ContactMotion, inputs: RolloutInputs, weights, every: int):
        self.robot, self.motion, self.inputs, self.rows, self.every = robot, motion, inputs, weights, every
        library, V, batch = inputs.library, inputs.V, inputs.batch
        self.weight = [library.full(tuple(V.shape), 0.0, V) for _ in LAMBDA]
        shapes = inputs.shapes()
        self.by_stream = {name: self._rows(x, shapes[name]) for name, x in _some(inputs.streams)}
        self.by_constant = {name: self._room(x, (*batch, *shapes[name])) for name, x in _some(inputs.constants)}

    def _room(self, like, shape):
        return self.inputs.library.full(shape, 0.0, like)

    def _rows(self, like, shape):
        """Room for each step, (steps, batch..., shape...); on a GPU with the samples last in memory."""
        inputs = self.inputs
        if inputs.library.host:
            return self._room(like, (inputs.steps, *inputs.batch, *shape))
        x = self._room(like, (inputs.steps, *shape, *inputs.batch))
        for _ in shape:
            x = inputs.library.moved(x, 1, -1)
        return x

    def __call__(self, spacing: int, run: Rollout | ContactRollout | None) -> None:
        """Go back from the last step to the first, from one stored state to the one before."""
        inputs, library, motion, more = self.inputs, self.inputs.library, self.motion, int(self.motion.needs_ends)
        if inputs.steps and prod(inputs.Q.shape):
            known = motion.stored(run) if run is not None and self.every <= spacing else None
            if known is not None:
                spacing, states = self.every, [library.moved(x, -2, 0) for x in known]
            else:
                states = motion.made(inputs, motion.starts(inputs), spacing, inputs.steps // spacing + 1)
            if spacing == 1:
                self._back(0, inputs.steps, states)
            else:
                for first in reversed(range(0, inputs.steps, spacing)):
                    last, starts = min(first + spacing, inputs.steps), [x[first // spacing] for x in states]
                    part = inputs.part(first, last - 1 + more, *starts[:2])
                    self._back(first, last, motion.made(part, starts, 1, last - first + more))
        at_start = (slice(None),) * len(inputs.batch) + (0,)
        self.weight = [x + row[at_start] for x, row in zip(self.weight, self.rows)]

    def _back(self, first: int, last: int, states) -> None:
        """The steps from `first` to before `last`, backwards; `states` are those they begin with."""
        inputs, library = self.inputs.part(first, last, self.inputs.Q, self.inputs.V), self.inputs.library  # of these steps
        n, count = len(inputs.batch), last - first
        old = [*self.weight, *self.by_constant.values()]
        new = [library.empty(tuple(x.shape), x) for x in old]
        streamed = {name: x[first:last] for name, x in self.by_stream.items()}
        unused = [x[0] for x in streamed.values()]
        begin = [library.moved(x, 0, n) for x in self.motion.given(states, count)]
        streams = [*begin, *self._row_weights(first, last), *inputs.streams.values()]
        kept = [*(library.whole(x[None], (count, *tuple(x.shape))) for x in new), *streamed.values()]
        self._march(inputs).steps([*old, *unused, *streams, *inputs.constants.values()], kept, count, 1, backwards=True)
        self.weight = new[:2]
        self.by_constant = dict(zip(self.by_constant, new[2:]))

    def _row_weights(self, first: int, last: int):
        """The weights on the states after these steps: zero where no row is kept."""
        n = len(self.inputs.batch)
        axes = (slice(None),) * n
        if self.every == 1:
            return [x[(*axes, slice(first + 1, last + 1))] for x in self.rows]
        out = [self._room(x, (last - first, *self.inputs.batch, x.shape[-1])) for x in self.rows]
        for row in range(first // self.every + 1, last // self.every + 1):
            for x, weight in zip(out, self.rows):
                x[row * self.every - first - 1] = weight[(*axes, row)]
        return [self.inputs.library.moved(x, 0, n) for x in out]

    def _march(self, inputs: RolloutInputs) -> Repeat | DeviceRepeat:
        shapes, host, motion = inputs.shapes(), inputs.library.host, self.motion
        control, reset, rows = motion.control, motion.reset, len(self.rows)
        form = Form(2 + len(self.by_constant) + len(self.by_stream), 2 + motion.needs_ends + rows + len(inputs.streams))

        def make() -> Repeat | DeviceRepeat:
            step = motion.step(shapes)
            kernel = backward_step(
                self.robot, step, list(self.by_constant), list(self.by_stream), list(inputs.streams), 2 + motion.needs_ends, rows
            )  # fmt: skip
            return Repeat(kernel, inputs.Q.dtype.char, form) if host else DeviceRepeat(kernel, form)

        key = *motion.identity, control, reset, rows, form, repr(shapes), inputs.Q.dtype if host else "GPU"
        return cache_of(self.robot, control, reset).once(make, *key)


def backward_step(
    robot: Dynamics | Varying, step: Kernel, constants: list[str], streams: list[str], streamed: list[str], begin: int = 2, rows: int = 2,
) -> Kernel:  # fmt: skip
    """The kernel of (weights on the state after a step, gradients so far by constants, by streams; the inputs that a step begins with, q,
    v, and impulses with contacts; weights of the row; and the other inputs of the step), which returns the first of these before
    the step."""
    own = robot.robot if isinstance(robot, Varying) else robot
    nodes = own.lowered.plain()
    derived = Derived(step.name, step.function, step.inputs, {"q": partial(coordinate_rates, nodes)})
    by_name = {x.name: x for x in step.inputs}
    states = *(Input(name, (own.nv,)) for name in LAMBDA), *(Input(f"by {name}", by_name[name].shape) for name in (*constants, *streams))
    sizes = [(own.nv,), (own.nv,), *(x.shape for x in step.inputs[2:begin])]
    row = tuple(Input(name, size) for name, size in zip(WEIGHT[:rows], sizes))
    inputs = *states, *step.inputs[:begin], *row, *step.inputs[begin:]

    def back(*values):
        at = {x.name: value for x, value in zip(inputs, values)}
        x = [at[each.name] for each in step.inputs]
        by_q, by_v = (at[a] + at[b] for a, b in zip(LAMBDA, WEIGHT))
        q, _, *more = step.function(*x)
        more = [at[WEIGHT[2]] if rows > 2 else np.zeros_like(each) for each in more]
        found = derived.vjp(*x, coordinate_weights(nodes, q, by_q), by_v, *more)
        bars = dict(zip(by_name, found, strict=True))
        return bars["q"], bars["v"], *(at[f"by {name}"] + bars[name] for name in constants), *(bars[name] for name in streams)

    return Kernel(f"{step.name}_gradient", back, inputs, content=(step, constants, streams, streamed))


def _some(arrays: dict):
    """The arrays by which there are derivatives: all but the times and drives."""
    return [(name, x) for name, x in arrays.items() if name not in (LENGTH, DRIVE, "t")]


def _weights(inputs: RolloutInputs, weights, rows: int, motion: FreeMotion | ContactMotion, dt: float) -> list:
    try:
        by_q, by_v, *by_force = weights
        if len(by_force) > isinstance(motion, ContactMotion):
            raise ValueError
    except (TypeError, ValueError):
        raise SimulationError(
            "weights is not a pair: the derivatives of a cost by the states of a rollout, (by q, by v); with contacts it may be a triple, "
            "(by q, by v, by force)."
        ) from None
    size, lead, library = tuple(inputs.V.shape)[-1:], (*inputs.batch, rows), inputs.library
    zero = library.full(size, 0.0, inputs.V)
    found = [inputs.array(f"weights by {name}", zero if x is None else x, lead, size) for name, x in zip("qv", (by_q, by_v))]
    if isinstance(motion, ContactMotion) and by_force and by_force[0] is not None:
        law = motion.steps.law
        force = inputs.array("weights by force", by_force[0], lead, (law.contacts, 3))
        whole = library.full((*lead, 3 * law.count), 0.0, inputs.V)
        whole[..., : 3 * law.contacts] = force.reshape(*lead, -1) / dt  # impulses are forces times dt
        found.append(whole)
    return found


def _spacing(inputs: RolloutInputs, steps: int, checkpoint: int | None) -> int:
    """From how many to how many steps a state is stored."""
    if checkpoint is not None:
        return int(checkpoint)
    size = (prod(inputs.Q.shape) + prod(inputs.V.shape)) * inputs.Q.itemsize * steps
    return 1 if size <= ALL_STATES else isqrt(max(steps - 1, 0)) + 1


def _of_tensors(robot, *arguments, **how) -> RolloutGradient:
    """Of tensors of torch on the CPU."""
    tensor = sys.modules["torch"].from_numpy
    Q0, V0, controls, weights, reset, given, each_step, run = as_numpy(*arguments)
    run = None if run is None else Rollout(*run[:3])
    found = rollout_gradient(robot, Q0, V0, controls, weights=weights, reset=reset, given=given, each_step=each_step, run=run, **how)
    by_q, by_v, by_controls = (None if x is None else tensor(x.copy()) for x in found[:3])
    given, each_step = ({name: tensor(x.copy()) for name, x in part.items()} for part in (found.given, found.each_step))
    return RolloutGradient(by_q, by_v, by_controls, given, each_step)
