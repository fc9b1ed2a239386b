"""Rollouts of torch tensors that require grad: backwards by `rollout_gradient`, or step by step where a function of torch takes part."""

from collections.abc import Mapping
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from ...dynamics import Dynamics
from ...errors import SimulationError
from ...kernels import UserKernel
from ...quantities import coordinate_rates, coordinate_weights
from ...varying import Varying
from ..methods.fixed_step import FRICTION, LENGTH, TAU, FixedStep
from ..rates.kernels import own_robot
from ..requests.capabilities import ROLLOUT
from .rollout import ContactRollout, Rollout, check_steps, rollout, rows_of
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
    def backward(context, _, by_q, by_v, by_force=None, *others):
        robot, arguments, how, places = context.given
        run = Rollout(*(x.detach() for x in context.saved_tensors))
        along, lifted = _maps(own_robot(robot))
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


def _stepwise(robot, arguments, *, dt: float, steps: int, start: float, method: str, every: int, contact) -> Rollout | ContactRollout:
    """Each step is a kernel that torch differentiates; functions of the whole batch are called between."""
    own, impulse = own_robot(robot), arguments["impulse"]
    control, reset, given = arguments["controls"], arguments["reset"], dict(arguments["given"] or {})
    check_steps(ROLLOUT, robot, dt, steps, method, every, control, reset, contact, impulse)
    if arguments["each_step"] or isinstance(control, UserKernel) or isinstance(reset, UserKernel) or not callable(control):
        raise SimulationError(
            "a rollout of tensors that require grad takes controls and reset as kernels of the robot, or as functions of torch that need "
            "neither given nor each_step: write robot.kernel functions, or one function of torch for the controls."
        )
    q, v = (torch.as_tensor(arguments[name]) for name in ("Q0", "V0"))
    step = FixedStep.of(robot, method, solver=contact).differentiable()
    shapes: dict[str, tuple[int, ...]] = {name: x.shape for name, x in robot.own.items()} if isinstance(robot, Varying) else {}
    shapes |= {FRICTION: (len(own.contacts),)} if step.law is not None and FRICTION in given else {}
    constants = [given[name] if name in given else robot.own[name] for name in shapes]
    constants = [torch.as_tensor(x, dtype=q.dtype, device=q.device) for x in constants]
    kernel = step.of_robot({TAU: (own.nv,), LENGTH: (), **shapes})
    length = torch.tensor(dt, dtype=q.dtype, device=q.device)
    batch = torch.broadcast_shapes(q.shape[:-1], v.shape[:-1], *(x.shape[: x.ndim - len(s)] for s, x in zip(shapes.values(), constants)))
    memory = [torch.zeros((*batch, *shape), dtype=q.dtype, device=q.device) for shape in step.memory.values()]
    if impulse is not None:
        memory[0] = memory[0] + torch.as_tensor(impulse, dtype=q.dtype, device=q.device)
    rows = [(q, v, *memory)]
    for i in range(steps):
        q, v, *memory = kernel(q, v, *(x.detach() for x in memory), control(start + i * dt, q, v), length, *constants)
        if reset is not None:
            q, v = reset(start + (i + 1) * dt, q, v)
        if (i + 1) % every == 0:
            rows.append((q, v, *memory))
    q, v, *memory = (torch.stack(torch.broadcast_tensors(*x), -2) for x in zip(*rows))
    t = start + dt * every * torch.arange(len(rows), dtype=torch.float64, device=q.device)
    return rows_of(step.law, dt, t, q, v, *(x if i == 0 else x.detach() for i, x in enumerate(memory)))
