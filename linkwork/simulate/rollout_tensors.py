"""Rollouts of torch tensors that require grad: backwards by `rollout_gradient`, or step by step where a function of torch takes part."""

from collections.abc import Mapping
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from ..dynamics import Dynamics
from ..errors import SimulationError
from ..kernels import QuantityKernel, UserKernel
from ..quantities import coordinate_rates, coordinate_weights
from ..varying import Varying
from .rollout import STEPS, Rollout, check_steps, rollout
from .rollout_gradient import rollout_gradient
from .whole_step import LENGTH, TAU, whole_step

ARRAYS = "Q0", "V0", "controls"
GROUPS = "given", "each_step"


def rollout_of_tensors(robot: Dynamics | Varying, arguments: Mapping[str, Any], how: Mapping[str, Any]) -> Rollout:
    """A rollout that torch can differentiate: `arguments` are those that may be or hold tensors, `how` are numbers and the method."""
    if any(callable(arguments[name]) and not isinstance(arguments[name], UserKernel) for name in ("controls", "reset")):
        return _stepwise(robot, arguments, **how)
    places = [(name, None) for name in ARRAYS if isinstance(arguments[name], torch.Tensor)]
    places += [(group, name) for group in GROUPS for name, x in (arguments[group] or {}).items() if isinstance(x, torch.Tensor)]
    return Rollout(*RolloutFunction.apply(robot, dict(arguments), dict(how), places, *(_at(arguments, *place) for place in places)))


def _at(arguments, name: str, key: str | None):
    return arguments[name] if key is None else arguments[name][key]


class RolloutFunction(torch.autograd.Function):
    """A rollout as torch differentiates it, once: second derivatives are those of steps."""

    @staticmethod
    def forward(context, robot, arguments, how, places, *tensors):
        plain = {name: _detached(x) for name, x in arguments.items()}
        run = rollout(robot, plain.pop("Q0"), plain.pop("V0"), plain.pop("controls"), **plain, **how)
        context.given = robot, {name: _detached(x) for name, x in arguments.items()}, how, places
        context.save_for_backward(*run)
        context.shapes = [x.shape for x in tensors]
        context.mark_non_differentiable(run.t)
        return tuple(run)

    @staticmethod
    @once_differentiable
    def backward(context, _, by_q, by_v):
        robot, arguments, how, places = context.given
        run = Rollout(*(x.detach() for x in context.saved_tensors))
        own = robot.robot if isinstance(robot, Varying) else robot
        along, lifted = _maps(own)
        arguments = dict(arguments)
        Q0, V0, controls = (arguments.pop(name) for name in ARRAYS)
        weights = along(run.q, by_q.contiguous()), by_v.contiguous()
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
    if "weights" not in robot.made:
        nodes = robot.lowered.plain()
        along, lifted = lambda q, weight: weight @ coordinate_rates(nodes, q), lambda q, weight: coordinate_weights(nodes, q, weight)
        robot.made["weights"] = UserKernel(robot, along, {"weight": robot.nq}), UserKernel(robot, lifted, {"weight": robot.nv})
    return robot.made["weights"]


def _stepwise(robot, arguments, *, dt: float, steps: int, method: str, every: int) -> Rollout:
    """Each step is a kernel that torch differentiates; functions of the whole batch are called between."""
    own = robot.robot if isinstance(robot, Varying) else robot
    check_steps(own, dt, steps, method, every)
    control, reset, given = arguments["controls"], arguments["reset"], dict(arguments["given"] or {})
    if arguments["each_step"] or isinstance(control, UserKernel) or isinstance(reset, UserKernel) or not callable(control):
        raise SimulationError(
            "a rollout of tensors that require grad takes controls and reset as kernels of the robot, or as functions of torch that need "
            "neither given nor each_step: write robot.kernel functions, or one function of torch for the controls."
        )
    q, v = (torch.as_tensor(arguments[name]) for name in ("Q0", "V0"))
    names = list(robot.own) if isinstance(robot, Varying) else []
    constants = [torch.as_tensor(given.get(name, robot.own[name]), dtype=q.dtype, device=q.device) for name in names]
    shapes = {TAU: (own.nv,), LENGTH: (), **{name: robot.own[name].shape for name in names}}
    key = "step of tensors", method, tuple(names)
    if key not in own.made:
        own.made[key] = QuantityKernel(own, whole_step(robot, STEPS[method], None, None, shapes))
    step, length = own.made[key], torch.tensor(dt, dtype=q.dtype, device=q.device)
    rows = [(q, v)]
    for i in range(steps):
        q, v = step(q, v, control(i * dt, q, v), length, *constants)
        if reset is not None:
            q, v = reset((i + 1) * dt, q, v)
        if (i + 1) % every == 0:
            rows.append((q, v))
    q, v = (torch.stack(torch.broadcast_tensors(*x), -2) for x in zip(*rows))
    return Rollout(dt * every * torch.arange(len(rows), dtype=torch.float64, device=q.device), q, v)
