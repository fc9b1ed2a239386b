"""One step of a rollout as one kernel: what the control says, the motion, and what a reset makes of its end."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from ...constraints.systems.formula import ByChoice, ByNumbers, LoopBinding
from ...dynamics import Dynamics
from ...engine.loading.kernel import Kernel
from ...engine.tracing.program import Input
from ...errors import ShapeError
from ...kernels import UserKernel
from ...systems import Mechanism
from ...varying import Varying
from .constrained_step import CONSTRAINED_STEPS, ConstrainedMotion

TAU, LENGTH, DRIVE = "the step's tau", "the step's length", "the step's drives"  # inputs that no user's function asks for
Shapes = Mapping[str, tuple[int, ...]]


def whole_step(
    robot: Dynamics | Varying, method: Callable, controls: UserKernel | None, reset: UserKernel | None, others: Shapes,
    choice: ByChoice | None = None,
) -> Kernel:  # fmt: skip
    """The kernel of q, v and others, by name: what `method` asks for, what the user's kernels do, and what varies. Under constraints
    each sample chooses its dependent velocities, unless there is one `choice` for all."""
    own = own_robot(robot)
    by = None if own.constraints is None else choice or own.constraints.by_numbers
    moved = _moved(robot, method, by)
    nq, nv = (own.nq,), (own.nv,)
    inputs = Input("q", nq, own.lowered.units), Input("v", nv), *(Input(name, shape) for name, shape in others.items())

    def step(*values):
        at = {x.name: value for x, value in zip(inputs, values)}
        q, v, h = at["q"], at["v"], at[LENGTH]
        tau = at[TAU] if controls is None else asked(controls, at, nv)[0]
        q, v = moved(at, q, v, tau, h)
        if reset is None:
            return q, v
        return asked(reset, at | {"q": q, "v": v} | ({"t": at["t"] + h} if "t" in at else {}), nq, nv)

    return Kernel(method.__name__, step, inputs, content=(source(robot), method, controls, reset, by))


def source(robot: Dynamics | Varying):
    """What the equations of motion of a robot are made from."""
    return robot if isinstance(robot, Varying) else robot.lowered


def own_robot(robot: Dynamics | Varying) -> Dynamics:
    return robot.robot if isinstance(robot, Varying) else robot


def _moved(robot: Dynamics | Varying, method: Callable, choice: ByNumbers | ByChoice | None) -> Callable:
    """A function of (inputs by name, q, v, τ, h) that makes one step; it does not keep a Dynamics without constraints alive."""
    mechanism = mechanism_of(robot, choice, on_the_way=True)
    if choice is None:
        return lambda at, q, v, tau, h: method(mechanism.at(q, at), q, v, tau, h)
    return lambda at, q, v, tau, h: CONSTRAINED_STEPS[method](ConstrainedMotion(mechanism, q, at, at.get(DRIVE)), q, v, tau, h)


def mechanism_of(robot: Dynamics | Varying, choice: ByNumbers | ByChoice | None = None, *, on_the_way: bool = False) -> Mechanism:
    """The tree, with the constants that vary; with a choice of dependent velocities, bound by its loops. It keeps no Dynamics alive."""
    tree = robot.mechanism if isinstance(robot, Varying) else Mechanism(robot.lowered, robot.lowered.joint_space)
    return tree if choice is None else replace(tree, binding=LoopBinding(choice, tree.nodes, on_the_way=on_the_way))


def asked(kernel: UserKernel, at: Mapping, *shapes) -> tuple:
    """What a user's kernel returns, of the shapes it must have."""
    results = kernel.function(*(at[name] for name in kernel.names))
    results = results if isinstance(results, tuple) else (results,)
    found = tuple(map(np.shape, results))
    if found != shapes:
        raise ShapeError(f"{kernel.__name__} returns shapes {found} for one robot; in a rollout it must return {shapes}.")
    return results
