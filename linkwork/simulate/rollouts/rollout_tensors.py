"""Rollouts of torch tensors that require grad: backwards by `rollout_gradient`, or step by step where a function of torch takes part."""

from collections.abc import Mapping
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from ...dynamics import Dynamics
from ...errors import SimulationError
from ...kernels import QuantityKernel, UserKernel
from ...quantities import coordinate_rates, coordinate_weights
from ...varying import Varying
from ..methods.contact import ContactSolver, derivative_law
from ..rates.whole_step import LENGTH, TAU, own_robot, whole_step
from ..requests.capabilities import ROLLOUT
from .contact_rollout import FRICTION, ContactRollout, contact_law, whole_contact_step
from .rollout import STEPS, Rollout, check_steps, rollout
from .rollout_gradient import rollout_gradient

ARRAYS = "Q0", "V0", "controls"
GROUPS = "given", "each_step"


def rollout_of_tensors(robot: Dynamics | Varying, arguments: Mapping[str, Any], how: Mapping[str, Any]) -> Rollout | ContactRollout:
    """A rollout that torch can differentiate: `arguments` are those that may be or hold tensors, `how` are numbers and the method."""
    if any(callable(arguments[name]) and not isinstance(arguments[name], UserKernel) for name in ("controls", "reset")):
        return _stepwise(robot, arguments, **how)
    places = [(name, None) for name in ARRAYS if isinstance(arguments[name], torch.Tensor)]
    places += [(group, name) for group in GROUPS for name, x in (arguments[group] or {}).items() if isinstance(x, torch.Tensor)]
    found = RolloutFunction.apply(robot, dict(arguments), dict(how), places, *(_at(arguments, *place) for place in places))
    return ContactRollout(*found) if how["method"] == "contact" else Rollout(*found)


def _at(arguments, name: str, key: str | None):
    return arguments[name] if key is None else arguments[name][key]


class RolloutFunction(torch.autograd.Function):
    """A rollout as torch differentiates it, once: second derivatives are those of steps."""

    @staticmethod
    def forward(context, robot, arguments, how, places, *tensors):
        plain = {name: _detached(x) for name, x in arguments.items()}
        run = rollout(robot, plain.pop("Q0"), plain.pop("V0"), plain.pop("controls"), **plain, **how)
        context.given = robot, {name: _detached(x) for name, x in arguments.items()}, how, places
        context.save_for_backward(*run[:3])
        context.shapes = [x.shape for x in tensors]
        context.mark_non_differentiable(run.t, *run[4:])
        return tuple(run)

    @staticmethod
    @once_differentiable
    def backward(context, _, by_q, by_v, by_force=None, *residual_and_rounds):
        robot, arguments, how, places = context.given
        run = Rollout(*(x.detach() for x in context.saved_tensors))
        own = robot.robot if isinstance(robot, Varying) else robot
        along, lifted = _maps(own)
        arguments = dict(arguments)
        Q0, V0, controls = (arguments.pop(name) for name in ARRAYS)
        weights = [along(run.q, by_q.contiguous()), by_v.contiguous()]
        if by_force is not None and bool(by_force.any()):
            weights.append(by_force.contiguous())
        found = rollout_gradient(robot, Q0, V0, controls, weights=weights, run=run, **arguments, **how)
        each = {"Q0": lifted(run.q[..., 0, :], found.q), "V0": found.v, "controls": found.controls}
        each |= {"given": found.given, "each_step": found.each_step}
        return None, None, None, None, *(_at(each, *place).sum_to_size(shape) for place, shape in zip(places, context.shapes))


def _detached(x):
    if isinstance(x, torch.Tensor):
        return x.detach()
    return {name: _detached(part) for name, part in x.items()} if isinstance(x, dict) else x


def _maps(robot: Dynamics):
    """Weights on the components of q along the velocities, and back."""

    def make() -> tuple[UserKernel, UserKernel]:
        nodes = robot.lowered.plain()
        along, lifted = lambda q, weight: weight @ coordinate_rates(nodes, q), lambda q, weight: coordinate_weights(nodes, q, weight)
        return UserKernel(robot, along, {"weight": robot.nq}), UserKernel(robot, lifted, {"weight": robot.nv})

    return robot.made.once(make)


def _stepwise(
    robot, arguments, *, dt: float, steps: int, start: float, method: str, every: int, contact: ContactSolver | None
) -> Rollout | ContactRollout:
    """Each step is a kernel that torch differentiates; functions of the whole batch are called between."""
    own = robot.robot if isinstance(robot, Varying) else robot
    control, reset, given = arguments["controls"], arguments["reset"], dict(arguments["given"] or {})
    check_steps(ROLLOUT, robot, dt, steps, method, every, control, reset, contact)
    if arguments["each_step"] or isinstance(control, UserKernel) or isinstance(reset, UserKernel) or not callable(control):
        raise SimulationError(
            "a rollout of tensors that require grad takes controls and reset as kernels of the robot, or as functions of torch that need "
            "neither given nor each_step: write robot.kernel functions, or one function of torch for the controls."
        )
    q, v = (torch.as_tensor(arguments[name]) for name in ("Q0", "V0"))
    names = list(robot.own) if isinstance(robot, Varying) else []
    constants = [torch.as_tensor(given.get(name, robot.own[name]), dtype=q.dtype, device=q.device) for name in names]
    if method == "contact":
        names += [FRICTION] * (FRICTION in given)
        constants += [torch.as_tensor(given[FRICTION], dtype=q.dtype, device=q.device)] * (FRICTION in given)
    shapes = {TAU: (own.nv,), LENGTH: (), **{name: (len(own.contacts),) if name == FRICTION else robot.own[name].shape for name in names}}
    step, law = _step(robot, method, contact or ContactSolver(), tuple(names), shapes)
    length = torch.tensor(dt, dtype=q.dtype, device=q.device)
    memory: list[torch.Tensor] = []
    if law is not None:
        batch = torch.broadcast_shapes(q.shape[:-1], v.shape[:-1], *(x.shape[: x.ndim - len(shapes[n])] for n, x in zip(names, constants)))
        memory = [torch.zeros((*batch, width), dtype=q.dtype, device=q.device) for width in (3 * law.count, 2)]
    rows = [(q, v, *memory)]
    for i in range(steps):
        q, v, *memory = step(q, v, *(x.detach() for x in memory), control(start + i * dt, q, v), length, *constants)
        if reset is not None:
            q, v = reset(start + (i + 1) * dt, q, v)
        if (i + 1) % every == 0:
            rows.append((q, v, *memory))
    q, v, *memory = (torch.stack(torch.broadcast_tensors(*x), -2) for x in zip(*rows))
    t = start + dt * every * torch.arange(len(rows), dtype=torch.float64, device=q.device)
    if law is None:
        return Rollout(t, q, v)
    force = (memory[0][..., : 3 * law.contacts] / dt).unflatten(-1, (law.contacts, 3))
    return ContactRollout(t, q, v, force, *(memory[1][..., i].detach() for i in range(2)))


def _step(robot, method: str, solver: ContactSolver, names: tuple[str, ...], shapes):
    """A step as a kernel that torch differentiates, and the law of its contacts, if it has them."""
    own = own_robot(robot)

    def make() -> tuple:
        law = contact_law(robot, solver) if method == "contact" else None
        kernel = whole_step(robot, STEPS[method], None, None, shapes) if law is None else whole_contact_step(
            robot, derivative_law(law, solver), solver.differentiable, None, None, shapes
        )  # fmt: skip
        return QuantityKernel(own, kernel), law

    return own.made.once(make, method, names, solver if method == "contact" else None)
