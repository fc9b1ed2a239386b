"""rollout: the motion of a batch of robots with fixed steps, in one compiled loop."""

import sys
from collections.abc import Callable
from functools import partial
from math import isfinite, nan
from typing import Any, NamedTuple

import numpy as np

from ...constraints.systems.formula import ByChoice
from ...dynamics import Dynamics
from ...engine.loading.cuda import DeviceError
from ...engine.running.checks import array_of
from ...engine.running.device import DeviceRepeat, Library, on_device, same_place
from ...engine.running.repeat import Form, Repeat
from ...errors import ShapeError, SimulationError
from ...foreign import is_foreign, wants_gradient, without_gradient
from ...kernels import UserKernel
from ...lie.scalars import numbers, working_dtype
from ...motion.equations import STEPS
from ...varying import Varying
from ..methods.contact import ContactSolver
from ..methods.record import End
from ..rates.kernels import cache_of
from ..rates.whole_step import whole_step
from ..requests.capabilities import ROLLOUT, refuse
from ..requests.features import Asked
from ..requests.options import ContactLaw, solver_of
from ..requests.settings import ADAPTIVE, FIXED, Settings
from .contact_rollout import FRICTION, ContactRollout, ContactSteps, as_tensors, check_friction
from .rollout_inputs import RolloutInputs
from .stepwise import Stepwise


class Rollout(NamedTuple):
    """Times t (n,), coordinates q (..., n, nq), velocities v (..., n, nv); the first row is the start."""

    t: Any
    q: Any
    v: Any

    @property
    def end(self) -> End:
        return End(self.t[-1], self.q[..., -1, :], self.v[..., -1, :])


def rollout(
    robot: Dynamics | Varying, Q0, V0, controls=None, *, dt: float, steps: int, start: float = 0.0, method: str = "euler", every: int = 1,
    reset=None, given=None, each_step=None, out=None, contact: ContactLaw | ContactSolver | None = None,
) -> Rollout | ContactRollout:  # fmt: skip
    """The motion of a batch of robots from Q0 (..., nq), V0 (..., nv) over `steps` steps of length dt.

    robot      a Dynamics; or `robot.varying(...)`, with the constants of each robot in `given`
    controls   None; τ that broadcasts to (..., steps, nv), constant during each step; a `robot.kernel` of
               (t, q, v, ...) -> τ, which becomes part of the compiled loop; or any function (t, Q, V) -> τ (..., nv) of
               the whole batch, called before each step
    start      s: the time of the first state
    method     "euler" (semi-implicit) or "rk4"; "contact": Moreau's midpoint rule with the contacts of the model and dry friction of
               joints, which returns a ContactRollout with forces and residuals
    every      store only each n-th state, and the first; with every=steps, the first and the last
    reset      a `robot.kernel` of (t, q, v, ...) -> (q, v), or any function (t, Q, V) -> (Q, V) of the whole batch: gives
               the state from which each robot continues after a step, unchanged or replaced
    given      arrays (..., shape) by name: inputs of kernels besides t, q, v, and varying constants
    each_step  the same with a value for each step: (..., steps, shape)
    contact    an lw.ContactLaw for method "contact": rounds, tolerance, whether joint limits act ...; samples may have their own
               friction, given={"contact_friction": (..., n)}
    out        (q, v) to write into, such as those of an earlier rollout: allocation may cost more than the integration

    Springs, damping and friction of the joints act; limits do not. Loops, couplings, drives and other constraints are kept: after each
    step the state is put back on them, and a robot that cannot be goes on as NaN. States to start from must keep them. The result has the
    dtype and the kind of array of the states. On a GPU all steps are one kernel launch, unless a function of the whole batch is called at
    each step.
    """
    contact = solver_of(contact)
    if out is None and wants_gradient((Q0, V0, controls, *(given or {}).values(), *(each_step or {}).values()), (controls, reset)):
        from .rollout_tensors import rollout_of_tensors  # which imports torch

        arguments = {"Q0": Q0, "V0": V0, "controls": controls, "reset": reset, "given": given, "each_step": each_step}
        return rollout_of_tensors(
            robot, arguments, {"dt": dt, "steps": steps, "start": start, "method": method, "every": every, "contact": contact}
        )
    Q0, V0, controls, given, each_step = map(without_gradient, (Q0, V0, controls, given, each_step))
    if any(is_foreign(x) and not on_device(x) for x in (Q0, V0)):
        Q0, V0, controls, reset, given, each_step, out = as_numpy(Q0, V0, controls, reset, given, each_step, out)
        run = rollout(robot, Q0, V0, controls, dt=dt, steps=steps, start=start, method=method, every=every, reset=reset, given=given,
                      each_step=each_step, out=out, contact=contact)  # fmt: skip
        return as_tensors(run) if isinstance(run, ContactRollout) else Rollout(*map(sys.modules["torch"].from_numpy, run))
    if not isinstance(robot, (Dynamics, Varying)):
        raise SimulationError(f"rollout takes a Dynamics, not a {type(robot).__name__}: lw.Dynamics(model).")
    own = robot.robot if isinstance(robot, Varying) else robot
    library, Q, V = states_of(own, Q0, V0)
    check_steps(ROLLOUT, robot, dt, steps, method, every, controls, reset, contact, on_gpu=not library.host)
    if library.host and isinstance(robot, Dynamics):
        check_start(robot, Q, V, start)
    inside = [x for x in (controls, reset) if isinstance(x, UserKernel)]
    inputs = RolloutInputs(library, Q, V, steps, checked_start(start))
    own_inputs = {FRICTION: (len(own.contacts),)} if method == "contact" else {}
    inputs.add(robot, inside, given or {}, each_step or {}, own_inputs)
    if method == "contact":
        check_friction(inputs)
    if not callable(controls):
        inputs.add_controls(controls)
    inputs.add_drives(own.constraints, dt)
    rows = steps // every + 1
    q, v = output_arrays(library, out, rows, Q, V)
    q[0], v[0] = Q, V
    if method == "contact":
        return ContactSteps(robot, contact or ContactSolver(), controls, reset, inputs, dt)(q, v, every)
    if steps and 0 not in Q.shape:
        python_functions = any(callable(x) and x not in inside for x in (controls, reset))
        if python_functions or not (isinstance(robot, Varying) or (own.compiled and not own.rolled)):
            Stepwise(robot, STEPS[method], controls, reset, inputs, dt)(q, v, every)
        else:
            inputs.add_time(dt, inside)
            steps_of = partial(march, robot, STEPS[method], controls, reset)
            choice = one_choice(robot, reset)
            steps_of(inputs, every, q, v, choice)
            if choice is not None:
                make_again(steps_of, inputs, every, q, v)
    return Rollout(inputs.times(dt * every, rows), library.moved(q, 0, -2), library.moved(v, 0, -2))


def one_choice(robot, reset) -> ByChoice | None:
    """The model's first choice of dependent velocities, for a rollout in which a sample that it does not serve can be made again."""
    if reset is not None or not isinstance(robot, Dynamics) or robot.constraints is None:
        return None
    pick = robot.constraints.by_numbers.held.choices[0]  # by_numbers names what is no formula
    return ByChoice(robot.constraints, pick) if pick.pivots.size else None


def make_again(steps_of: Callable, inputs: RolloutInputs, every: int, q, v) -> None:
    """Make samples that one choice did not serve, and that became NaN, once more: each with choices of its own."""
    numbers = lambda x: (x - x == 0).all(-1)  # of any library
    bad = ~numbers(v[-1]) & numbers(inputs.Q) & numbers(inputs.V)
    if bool(bad.any()):
        some = inputs.some(bad)
        rows = output_arrays(inputs.library, None, len(q), some.Q, some.V)
        rows[0][0], rows[1][0] = some.Q, some.V
        steps_of(some, every, *rows)
        q[:, bad], v[:, bad] = rows


def march(robot, method, controls, reset, inputs: RolloutInputs, every: int, q, v, choice: ByChoice | None = None) -> None:
    """Make all steps in compiled code: from the states of `inputs`, each n-th state to the rows of q and v after the first."""
    control, reset = (x if isinstance(x, UserKernel) else None for x in (controls, reset))
    shapes, host = inputs.shapes(), inputs.library.host
    source = (robot.robot.lowered, robot.names) if isinstance(robot, Varying) else robot.lowered  # a kernel may serve many robots
    form = Form(2, len(inputs.streams))

    def make() -> Repeat | DeviceRepeat:
        kernel = whole_step(robot, method, control, reset, shapes, choice)
        return Repeat(kernel, inputs.Q.dtype.char, form) if host else DeviceRepeat(kernel, form)

    where = inputs.Q.dtype if host else "GPU"
    repeat = cache_of(robot, control, reset).once(make, source, method, control, reset, form, repr(shapes), where, choice is not None)
    repeat.steps([inputs.Q, inputs.V, *inputs.streams.values(), *inputs.constants.values()], [q, v], inputs.steps, every)


def output_arrays(library: Library, out, rows: int, Q, V):
    """Arrays for the stored states, time first: those of `out`, or new ones; on a GPU new ones have the samples last in memory."""
    shapes = [(rows, *x.shape) for x in (Q, V)]
    if out is None and library.host:
        return [np.empty(shape, Q.dtype) for shape in shapes]
    if out is None:
        return [library.moved(library.empty((rows, x.shape[-1], *x.shape[:-1]), x), 1, -1) for x in (Q, V)]
    arrays = [library.moved(np.asarray(x) if library.host else x, -2, 0) for x in out]
    for name, x, shape in zip("qv", arrays, shapes):
        if tuple(x.shape) != shape or x.dtype != Q.dtype:
            found, wanted = (tuple(s[1:-1]) + tuple(s[:1]) + tuple(s[-1:]) for s in (x.shape, shape))
            raise ShapeError(f"{name} of out is {x.dtype} of shape {found}; this rollout needs {Q.dtype} of shape {wanted}.")
    return arrays


def states_of(robot, Q0, V0):
    """The array library of the states, and both states broadcast over the batch."""
    device = on_device(Q0) or on_device(V0)
    Q, V = (array_of(*x) if device else np.asarray(array_of(*x)) for x in (("Q0", Q0), ("V0", V0)))
    robot.lowered.check((robot.lowered.input("Q0", ("nq",)), robot.lowered.input("V0", ("nv",))), (Q, V))
    batch = np.broadcast_shapes(Q.shape[:-1], V.shape[:-1])
    if device:
        library, _ = same_place(("Q0", "V0"), (Q, V))
        return library, *(library.whole(x, (*batch, x.shape[-1])) for x in (Q, V))
    dtype = working_dtype(Q, V)
    return Library(Q), *(np.ascontiguousarray(np.broadcast_to(x, batch + x.shape[-1:]), dtype) for x in (Q, V))


def as_numpy(*arguments):
    """Convert CPU tensors to NumPy arrays that share their memory, also in dictionaries and tuples, and functions of
    tensors to functions of arrays."""
    torch = sys.modules["torch"]

    def plain(x):
        if isinstance(x, torch.Tensor):
            x = without_gradient(x)
            if x.requires_grad:
                raise DeviceError(
                    "a tensor requires grad, and this rollout has no gradient. Pass x.detach(), or let it have one: leave out= away, and "
                    "for that of a policy make it a torch.nn.Module, or let the states require grad."
                )
            return x.numpy()
        if isinstance(x, dict):
            return {name: plain(part) for name, part in x.items()}
        if isinstance(x, (tuple, list)):
            return tuple(map(plain, x))
        if callable(x) and not isinstance(x, UserKernel):
            return lambda t, Q, V: plain(x(t, torch.tensor(Q), torch.tensor(V)))
        return x

    return map(plain, arguments)


def check_start(robot: Dynamics, Q, V, start: float) -> None:
    """States to start from keep the constraints, but for rounding; or it is said which they break. What is no number stays so."""
    if robot.constraints is not None and Q.size:
        held = robot.constraints if Q.dtype == np.float64 else robot.constraints.tolerating(1e-3)
        finite = np.isfinite(Q).all(-1) & np.isfinite(V).all(-1)
        held.check(Q[finite], V[finite], start)


def number(x, name: str) -> float:
    """x as a float; not a number where it is not one number."""
    found = numbers(x, name)
    return nan if found.ndim or isinstance(x, str) else float(found)


def checked_start(start) -> float:
    if not isfinite(found := number(start, "start")):
        raise SimulationError(f"start is {start}; it must be a finite number of seconds.")
    return found


def check_steps(road: str, robot, dt, steps, method, every, controls, reset, contact, *, on_gpu: bool = False) -> None:
    """Raise where arguments of a rollout, or of its gradient, are none, or do not go together."""
    if method not in (*STEPS, *ADAPTIVE, *FIXED):
        raise SimulationError(f'rollout has no method "{method}"; it takes {", ".join([*STEPS, "contact"])}.')
    if not isfinite(length := number(dt, "dt")) or length == 0:
        raise SimulationError(f"dt is {dt}; it must be a finite number of seconds, not zero.")
    for name, value, least in (("steps", steps, 0), ("every", every, 1)):
        if not number(value, name).is_integer() or value < least:
            raise SimulationError(f"{name} is {value}; it must be a whole number, at least {least}.")
    control, limits = controls if callable(controls) else None, contact is not None and contact.limits
    refuse(Asked.of(robot, Settings(method, control=control, limits=limits, contact=contact), reset=reset), road, on_gpu)
