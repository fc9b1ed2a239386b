"""rollout: the motion of a batch of robots with fixed steps, in one compiled loop."""

import sys
from math import isfinite, nan
from typing import Any, NamedTuple

import numpy as np

from ...dynamics import Dynamics
from ...engine.loading.cuda import DeviceError
from ...engine.running.checks import array_of
from ...engine.running.device import Library, on_device, same_place
from ...errors import SimulationError
from ...foreign import is_foreign, wants_gradient, without_gradient
from ...kernels import UserKernel
from ...lie.scalars import numbers, working_dtype
from ...motion.contact_step import StepLaw
from ...motion.equations import STEPS
from ...varying import Varying
from ..methods.contact_law import ContactLaw
from ..methods.fixed_step import FixedStep
from ..methods.record import End
from ..rates.kernels import own_robot
from ..requests.capabilities import ROLLOUT, refuse
from ..requests.features import Asked
from ..requests.options import solver_of
from ..requests.settings import ADAPTIVE, FIXED, Settings
from .rollout_inputs import RolloutInputs
from .steps import make_steps


class Motions:
    """Motions of a batch: rows t (n,), q (..., n, nq), v (..., n, nv), as an Ensemble has them."""

    t: Any
    q: Any
    v: Any

    @property
    def end(self) -> End:
        """Where each motion ended."""
        return End(self.t[-1], self.q[..., -1, :], self.v[..., -1, :])

    @property
    def status(self) -> np.ndarray:
        """Returns "finished" for each motion, or "failed" where its state is no number any more."""
        q, v = (Library(x).to_host(x) for x in self.end[1:])
        return np.where(np.isfinite(q).all(-1) & np.isfinite(v).all(-1), "finished", "failed")

    def message(self, sample=()) -> str:
        """Returns how one motion ended, given as an index of the batch; of one that failed, when."""
        t, q, v = (Library(x).to_host(x) for x in (self.t, self.q, self.v))
        good = np.isfinite(q[sample]).all(-1) & np.isfinite(v[sample]).all(-1)
        if good.all():
            return f"finished at t = {t[-1]:.9g} s"
        return f"failed before t = {t[np.argmin(good)]:.9g} s: no step leads on, or a state, force or constant is no number"


class Rows(NamedTuple):
    """The rows of a rollout without contacts."""

    t: Any
    q: Any
    v: Any


class ContactRows(NamedTuple):
    """The rows of a rollout with contacts, (..., m, shape) for its m times."""

    t: Any
    q: Any
    v: Any
    force: Any  # (..., m, n, 3) N, normal and two tangents of each contact point
    residual: Any  # (..., m) Signorini, cone, dissipation, relative to the velocities of the problem
    rounds: Any  # (..., m) of the step before
    impulse: Any  # (..., rows) N s, of the last step: contact points, joint limits, joints with dry friction


class Rollout(Motions, Rows):
    """Times t (n,), coordinates q (..., n, nq), velocities v (..., n, nv); the first row is the start."""


class ContactRollout(Motions, ContactRows):
    """A rollout with contacts: times t (m,), coordinates q (..., m, nq), velocities v (..., m, nv); the first row is the start.

    Forces are those of the step before a row, residuals the largest of all steps up to it. A rollout that begins at the `end` with the
    `impulse` of this one goes on with the same bits.
    """


def rows_of(law: StepLaw | None, dt: float, t, q, v, impulse=None, said=None) -> Rollout | ContactRollout:
    """A rollout of its rows (..., rows, shape)."""
    if law is None or impulse is None or said is None:
        return Rollout(t, q, v)
    n = law.contacts
    force = (impulse[..., : 3 * n] / dt).reshape(*impulse.shape[:-1], n, 3)
    return ContactRollout(t, q, v, force, said[..., 0], said[..., 1], impulse[..., -1, :])


def rollout(
    robot: Dynamics | Varying, Q0, V0, controls=None, *, dt: float, steps: int, start: float = 0.0, method: str = "euler", every: int = 1,
    reset=None, given=None, each_step=None, out=None, contact: ContactLaw | None = None, impulse=None,
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
    impulse    of method "contact", where the first step starts to solve: the `impulse` of the rollout that this one continues, with its
               end as the state and `start=run.end.t`; zeros if it is not said
    out        (q, v) to write into, such as those of an earlier rollout: allocation may cost more than the integration

    Springs, damping and friction of the joints act; limits do not. Loops, couplings, drives and other constraints are kept: after each
    step the state is put back on them, and a robot that cannot be goes on as NaN. States to start from must keep them. The result has the
    dtype and the kind of array of the states. On a GPU all steps are one kernel launch, unless a function of the whole batch is called at
    each step.
    """
    contact = solver_of(contact)
    how: dict[str, Any] = {"dt": dt, "steps": steps, "start": start, "method": method, "every": every, "contact": contact}
    if out is None and wants_gradient((Q0, V0, controls, *(given or {}).values(), *(each_step or {}).values()), (controls, reset)):
        from .rollout_tensors import rollout_of_tensors  # which imports torch

        arguments = {"Q0": Q0, "V0": V0, "controls": controls, "reset": reset, "given": given, "each_step": each_step, "impulse": impulse}
        return rollout_of_tensors(robot, arguments, how)
    arrays = tuple(map(without_gradient, (Q0, V0, controls, reset, given, each_step, impulse)))
    if any(is_foreign(x) and not on_device(x) for x in arrays[:2]):
        Q0, V0, controls, reset, given, each_step, impulse, out = as_numpy(*arrays, out)
        run = rollout(robot, Q0, V0, controls, reset=reset, given=given, each_step=each_step, impulse=impulse, out=out, **how)
        return type(run)(*map(sys.modules["torch"].from_numpy, run))
    Q0, V0, controls, reset, given, each_step, impulse = arrays
    if not isinstance(robot, (Dynamics, Varying)):
        raise SimulationError(f"rollout takes a Dynamics, not a {type(robot).__name__}: lw.Dynamics(model).")
    library, Q, V = states_of(own_robot(robot), Q0, V0)
    check_steps(ROLLOUT, robot, dt, steps, method, every, controls, reset, contact, impulse, on_gpu=not library.host)
    if library.host and isinstance(robot, Dynamics):
        check_start(robot, Q, V, start)
    step = FixedStep.of(robot, method, controls, reset, contact)
    inputs = RolloutInputs(library, Q, V, steps, dt, checked_start(start))
    inputs.add(step, controls, given or {}, each_step or {})
    states = inputs.rows(step, steps // every + 1, inputs.first(step, impulse), out)
    if steps and 0 not in Q.shape:
        make_steps(step, controls, reset, inputs, states, every)
    return rows_of(step.law, dt, inputs.times(dt * every, len(states[0])), *(library.moved(x, 0, -2) for x in states))


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


def check_steps(road: str, robot, dt, steps, method, every, controls, reset, contact, impulse=None, *, on_gpu: bool = False) -> None:
    """Raise where arguments of a rollout, or of its gradient, are none, or do not go together."""
    if method not in (*STEPS, *ADAPTIVE, *FIXED):
        raise SimulationError(f'rollout has no method "{method}"; it takes {", ".join([*STEPS, "contact"])}.')
    if not isfinite(length := number(dt, "dt")) or length == 0:
        raise SimulationError(f"dt is {dt}; it must be a finite number of seconds, not zero.")
    for name, value, least in (("steps", steps, 0), ("every", every, 1)):
        if not number(value, name).is_integer() or value < least:
            raise SimulationError(f"{name} is {value}; it must be a whole number, at least {least}.")
    if impulse is not None and method != "contact":
        raise SimulationError(f'impulse= is of contacts, which method "{method}" has not: leave it away, or use method="contact".')
    control, limits = controls if callable(controls) else None, contact is not None and contact.limits
    refuse(Asked.of(robot, Settings(method, control=control, limits=limits, contact=contact), reset=reset), road, on_gpu)
