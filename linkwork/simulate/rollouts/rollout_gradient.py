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
from ...engine.running.device import on_device
from ...engine.running.repeat import Form
from ...engine.tracing.program import Input
from ...errors import SimulationError
from ...foreign import is_foreign
from ...quantities import coordinate_rates, coordinate_weights
from ...varying import Varying
from ..methods.contact_law import ContactLaw
from ..methods.fixed_step import DRIVE, LENGTH, TAU, FixedStep
from ..rates.kernels import own_robot
from ..requests.capabilities import GRADIENT
from ..requests.options import solver_of
from .rollout import ContactRollout, Rollout, as_numpy, check_steps, checked_start, states_of
from .rollout_inputs import RolloutInputs
from .steps import march, repeated

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
    contact: ContactLaw | None = None, impulse=None,
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
        return _of_tensors(robot, Q0, V0, controls, weights, reset, given, each_step, run, impulse, dt=dt, steps=steps, start=start,
                           method=method, every=every, checkpoint=checkpoint, contact=contact)  # fmt: skip
    library, Q, V = states_of(own_robot(robot), Q0, V0)
    check_steps(GRADIENT, robot, dt, steps, method, every, controls, reset, contact, impulse, on_gpu=not library.host)
    if checkpoint is not None and (int(checkpoint) != checkpoint or checkpoint < 1):
        raise SimulationError(f"checkpoint is {checkpoint}; it must be a whole number of steps, at least 1.")
    step = FixedStep.of(robot, method, controls, reset, contact)
    inputs = RolloutInputs(library, Q, V, steps, dt, checked_start(start))
    inputs.add(step, controls, given or {}, each_step or {})
    back = Backwards(step, inputs, _weights(inputs, weights, steps // every + 1, step), every)
    back(_spacing(inputs, steps, checkpoint), run, impulse)
    by = {name: library.moved(x, 0, len(inputs.batch)) for name, x in back.by_stream.items()}
    by_q, by_v = back.weight
    return RolloutGradient(by_q, by_v, by.pop(TAU, None), dict(back.by_constant), by)


class Backwards:
    """One gradient: `weight` on the present state, and what has been found by streams and constants.

    A step with contacts starts backwards from the impulses that it ends with, so that it makes no rounds.
    """

    def __init__(self, step: FixedStep, inputs: RolloutInputs, weights, every: int):
        self.step, self.backwards, self.inputs, self.rows, self.every = step, step.differentiable("solved"), inputs, weights, every
        self.touches = step.law is not None
        V, batch, shapes = inputs.V, inputs.batch, inputs.shapes()
        self.weight = [self._room(V, tuple(V.shape)) for _ in LAMBDA]
        self.by_stream = {name: inputs.room((inputs.steps,), x, shapes[name]) for name, x in _some(inputs.streams)}
        self.by_constant = {name: self._room(x, (*batch, *shapes[name])) for name, x in _some(inputs.constants)}
        for x in self.by_stream.values():
            x[...] = 0.0

    def _room(self, like, shape):
        return self.inputs.library.full(shape, 0.0, like)

    def __call__(self, spacing: int, run: Rollout | ContactRollout | None, impulse) -> None:
        """Go back from the last step to the first, from one stored state to the one before."""
        inputs, library, more = self.inputs, self.inputs.library, int(self.touches)
        if inputs.steps and prod(inputs.Q.shape):
            if run is not None and self.every <= spacing and not self.touches:  # of contacts it has not all that its steps start from
                spacing, states = self.every, [library.moved(x, -2, 0) for x in (run.q, run.v)]
            else:
                states = self._made(inputs, inputs.first(self.step, impulse), spacing, inputs.steps // spacing + 1)
            if spacing == 1:
                self._back(0, inputs.steps, states)
            else:
                for first in reversed(range(0, inputs.steps, spacing)):
                    last, starts = min(first + spacing, inputs.steps), [x[first // spacing] for x in states]
                    part = inputs.part(first, last - 1 + more, *starts[:2])
                    self._back(first, last, self._made(part, starts, 1, last - first + more))
        at_start = (slice(None),) * len(inputs.batch) + (0,)
        self.weight = [x + row[at_start] for x, row in zip(self.weight, self.rows)]

    def _made(self, inputs: RolloutInputs, starts: list, every: int, rows: int) -> list:
        """States from stored ones on, rows first."""
        states = inputs.rows(self.step, rows, starts)
        if inputs.steps:
            march(self.step, inputs, states, every)
        return states

    def _back(self, first: int, last: int, states) -> None:
        """The steps from `first` to before `last`, backwards; `states` are those they begin with."""
        inputs, library = self.inputs.part(first, last, self.inputs.Q, self.inputs.V), self.inputs.library  # of these steps
        n, count = len(inputs.batch), last - first
        old = [*self.weight, *self.by_constant.values()]
        new = [library.empty(tuple(x.shape), x) for x in old]
        streamed = {name: x[first:last] for name, x in self.by_stream.items()}
        unused = [x[0] for x in streamed.values()]
        begin = [states[0][:count], states[1][:count], *([states[2][1 : count + 1]] if self.touches else [])]
        streams = [*(library.moved(x, 0, n) for x in begin), *self._row_weights(first, last), *inputs.streams.values()]
        kept = [*(library.whole(x[None], (count, *tuple(x.shape))) for x in new), *streamed.values()]
        shapes, rows, constants = inputs.shapes(), len(self.rows), list(self.by_constant)
        form = Form(len(old) + len(streamed), len(streams))
        kernel = lambda: backward_step(self.backwards, shapes, constants, list(streamed), list(inputs.streams), rows)
        repeat = repeated(self.backwards, ("backwards", rows), form, inputs, kernel)
        repeat.steps([*old, *unused, *streams, *inputs.constants.values()], kept, count, 1, backwards=True)
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


def backward_step(step: FixedStep, others, constants: list[str], streams: list[str], streamed: list[str], rows: int = 2) -> Kernel:
    """The kernel of (weights on the state after a step, gradients so far by constants, by streams; the state that the step begins with, q,
    v, and impulses with contacts; weights of the row; and the `others` of the step by name), which returns the first of these before the
    step."""
    own, of, begin = own_robot(step.robot), step.kernel(others), len(step.state)
    nodes = own.lowered.plain()
    derived = Derived(of.name, of.function, of.inputs, {"q": partial(coordinate_rates, nodes)})
    by_name = {x.name: x for x in of.inputs}
    states = *(Input(name, (own.nv,)) for name in LAMBDA), *(Input(f"by {name}", by_name[name].shape) for name in (*constants, *streams))
    sizes = [(own.nv,), (own.nv,), *(x.shape for x in step.state[2:])]
    row = tuple(Input(name, size) for name, size in zip(WEIGHT[:rows], sizes))
    inputs = *states, *of.inputs[:begin], *row, *of.inputs[begin:]

    def back(*values):
        at = {x.name: value for x, value in zip(inputs, values)}
        x = [at[each.name] for each in of.inputs]
        by_q, by_v = (at[a] + at[b] for a, b in zip(LAMBDA, WEIGHT))
        q, _, *more = of.function(*x)
        more = [at[WEIGHT[2]] if rows > 2 else np.zeros_like(each) for each in more]
        weights = derived.vjp(*x, coordinate_weights(nodes, q, by_q), by_v, *more)
        bars = dict(zip(by_name, weights, strict=True))
        return bars["q"], bars["v"], *(at[f"by {name}"] + bars[name] for name in constants), *(bars[name] for name in streams)

    return Kernel(f"{of.name}_gradient", back, inputs, content=(of, constants, streams, streamed))


def _some(arrays: dict):
    """The arrays by which there are derivatives: all but the times and drives."""
    return [(name, x) for name, x in arrays.items() if name not in (LENGTH, DRIVE, "t")]


def _weights(inputs: RolloutInputs, weights, rows: int, step: FixedStep) -> list:
    try:
        by_q, by_v, *by_force = weights
        if len(by_force) > (step.law is not None):
            raise ValueError
    except (TypeError, ValueError):
        raise SimulationError(
            "weights is not a pair: the derivatives of a cost by the states of a rollout, (by q, by v); with contacts it may be a triple, "
            "(by q, by v, by force)."
        ) from None
    size, lead, library = tuple(inputs.V.shape)[-1:], (*inputs.batch, rows), inputs.library
    zero = library.full(size, 0.0, inputs.V)
    arrays = [inputs.array(f"weights by {name}", zero if x is None else x, lead, size) for name, x in zip("qv", (by_q, by_v))]
    if step.law is not None and by_force and by_force[0] is not None:
        n, whole = step.law.contacts, library.full((*lead, step.law.width), 0.0, inputs.V)
        force = inputs.array("weights by force", by_force[0], lead, (n, 3))
        whole[..., : 3 * n] = force.reshape(*lead, -1) / inputs.dt  # impulses are forces times dt
        arrays.append(whole)
    return arrays


def _spacing(inputs: RolloutInputs, steps: int, checkpoint: int | None) -> int:
    """From how many to how many steps a state is stored."""
    if checkpoint is not None:
        return int(checkpoint)
    size = (prod(inputs.Q.shape) + prod(inputs.V.shape)) * inputs.Q.itemsize * steps
    return 1 if size <= ALL_STATES else isqrt(max(steps - 1, 0)) + 1


def _of_tensors(robot, *arguments, **how) -> RolloutGradient:
    """Of tensors of torch on the CPU."""
    tensor = sys.modules["torch"].from_numpy
    Q0, V0, controls, weights, reset, given, each_step, run, impulse = as_numpy(*arguments)
    run = None if run is None else Rollout(*run[:3])
    found = rollout_gradient(robot, Q0, V0, controls, weights=weights, reset=reset, given=given, each_step=each_step, run=run,
                             impulse=impulse, **how)  # fmt: skip
    by_q, by_v, by_controls = (None if x is None else tensor(x.copy()) for x in found[:3])
    given, each_step = ({name: tensor(x.copy()) for name, x in part.items()} for part in (found.given, found.each_step))
    return RolloutGradient(by_q, by_v, by_controls, given, each_step)
