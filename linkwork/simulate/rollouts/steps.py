"""All steps of a rollout: in one compiled loop, or one by one around functions of the whole batch."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...constraints.systems.loop_binding import ByChoice
from ...dynamics import Dynamics
from ...engine.loading.interpreter import called
from ...engine.loading.kernel import Kernel
from ...engine.running.checks import array_of
from ...engine.running.device import DeviceKernel, DeviceRepeat
from ...engine.running.repeat import Form, Repeat
from ...errors import ShapeError
from ...kernels import UserKernel
from ...lie.scalars import check_real
from ...motion.equations import STEPS
from ...varying import Varying
from ..methods.fixed_step import DRIVE, FRICTION, LENGTH, TAU, FixedStep
from ..rates.control import read_only
from ..rates.kernels import cache_of, kernel
from .rollout_inputs import RolloutInputs


def make_steps(step: FixedStep, controls, reset, inputs: RolloutInputs, states: list, every: int) -> None:
    """Start from the first rows of the states, and write each n-th state to the rows after them."""
    robot = step.robot
    by_python = any(callable(x) and not isinstance(x, UserKernel) for x in (controls, reset))
    if by_python or (isinstance(robot, Dynamics) and (robot.rolled or not robot.compiled) and step.law is None):
        one_by_one(step, controls, reset, inputs, states, every)
    elif (choice := one_choice(step)) is not None:
        march(replace(step, choice=choice), inputs, states, every)
        make_again(step, inputs, states, every)
    else:
        march(step, inputs, states, every)


# --- in compiled code


def march(step: FixedStep, inputs: RolloutInputs, states: list, every: int) -> None:
    """Make all steps in compiled code."""
    shapes, form = inputs.shapes(), Form(len(states), len(inputs.streams))
    repeat = repeated(step, (), form, inputs, lambda: step.kernel(shapes))
    repeat.steps([*(x[0] for x in states), *inputs.streams.values(), *inputs.constants.values()], states, inputs.steps, every)


def repeated(step: FixedStep, key: tuple, form: Form, inputs: RolloutInputs, kernel: Callable[[], Kernel]) -> Repeat | DeviceRepeat:
    """A kernel made of a step, repeated where the arrays of the inputs are; made once, `key` being what tells it from others."""
    host, kind = inputs.library.host, inputs.Q.dtype

    def make() -> Repeat | DeviceRepeat:
        return Repeat(kernel(), kind.char, form) if host else DeviceRepeat(kernel(), form)

    key = *key, *step.key, form, repr(inputs.shapes()), kind if host else "GPU"
    return cache_of(step.robot, step.control, step.reset).once(make, *key)


def one_choice(step: FixedStep) -> ByChoice | None:
    """The model's first choice of dependent velocities, for steps in which a sample that it does not serve can be made again."""
    robot = step.robot
    if step.reset is not None or step.law is not None or not isinstance(robot, Dynamics) or robot.constraints is None:
        return None
    pick = robot.constraints.by_numbers.constrained.choices[0]  # by_numbers names what is no formula
    return ByChoice(robot.constraints, pick) if pick.pivots.size else None


def make_again(step: FixedStep, inputs: RolloutInputs, states: list, every: int) -> None:
    """Make samples that one choice did not serve, and that became NaN, once more: each with choices of its own."""
    numbers = lambda x: (x - x == 0).all(-1)  # of any library
    bad = ~numbers(states[1][-1]) & numbers(inputs.Q) & numbers(inputs.V)
    if bool(bad.any()):
        some = inputs.some(bad)
        rows = some.rows(step, len(states[0]), [some.Q, some.V])
        march(step, some, rows, every)
        for x, row in zip(states, rows):
            x[:, bad] = row


# --- around functions of the whole batch


def one_by_one(step: FixedStep, controls, reset, inputs: RolloutInputs, states: list, every: int) -> None:
    """Call the controls, the step and the reset once for each step; arrays may be on a GPU."""
    library, now = inputs.library, [x[0] for x in states]
    between = [[library.empty(x.shape, x) for x in now] for _ in range(2 if every > 1 else 0)]
    run, names = step_function(step, inputs)
    for i in range(1, inputs.steps + 1):
        row, rest = divmod(i, every)
        at, out = inputs.at(i - 1), tuple(between[i % 2] if rest else (x[row] for x in states))
        tau = at[TAU] if TAU in at else results_of("controls", controls, inputs, i - 1, at, *now[:2], now[1])[0]
        now = list(run(*now, tau, at[LENGTH], *(at[name] for name in names), out=out))
        if reset is not None:
            now[0][...], now[1][...] = results_of("reset", reset, inputs, i, at, *now[:2], *now[:2])


def step_function(step: FixedStep, inputs: RolloutInputs) -> tuple[Callable, list[str]]:
    """The function (state..., tau, h, others...) -> state of one step alone, and the names of the others: what varies, and drives."""
    robot, host, dtype = step.robot, inputs.library.host, inputs.Q.dtype
    if isinstance(robot, Dynamics) and host and robot.constraints is None and step.law is None:
        return kernel(robot, STEPS[step.method], dtype=dtype), []
    own = *(robot.names if isinstance(robot, Varying) else ()), FRICTION, DRIVE
    shapes = inputs.shapes()
    names = [name for name in shapes if name in own]
    shapes = {TAU: tuple(inputs.V.shape)[len(inputs.batch) :], LENGTH: (), **{name: shapes[name] for name in names}}
    alone = replace(step, control=None, reset=None)

    def make() -> Callable:
        made = alone.kernel(shapes)
        plain = isinstance(robot, Dynamics) and not robot.compiled
        return DeviceKernel(made) if not host else called(made.program) if plain else made.runner(dtype.char)

    return cache_of(robot).once(make, *alone.key, host, str(dtype), repr(shapes)), names


def results_of(what: str, function, inputs: RolloutInputs, step: int, at: dict, Q, V, *like) -> tuple:
    """Those of the controls or the reset, a function or a kernel, before a step: they must have the shapes of the arrays in `like`."""
    library, t = inputs.library, inputs.start + step * inputs.dt
    if isinstance(function, UserKernel):
        at = at | {"t": library.full((), t, Q), "q": Q, "v": V}
        results = function(*(at[name] for name in function.names))
    else:
        own = read_only(Q, V) if library.host and what == "controls" else (library.copy(Q), library.copy(V))
        results = function(t, *own)
    results = results if isinstance(results, tuple) else (results,)
    if not all(type(x) is np.ndarray and x.dtype is Q.dtype for x in results):
        results = tuple(check_real(array_of(f"what {what} returned", x), f"what {what} returned") for x in results)
        results = tuple(np.asarray(x, Q.dtype) for x in results) if library.host else results
    if [x.shape for x in results] != [x.shape for x in like]:
        came, must = (" and ".join(str(tuple(x.shape)) for x in arrays) or "none" for arrays in (results, like))
        raise ShapeError(f"{what} returned an array of shape {came}; it must have shape {must}.")
    return results
