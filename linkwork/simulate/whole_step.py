"""One step of a rollout as one kernel: what the control says, the motion, and what a reset makes of its end."""

from collections.abc import Callable, Mapping

import numpy as np

from ..constraints.formula import ByChoice, ByNumbers
from ..constraints.loops import Loops
from ..dynamics import Dynamics
from ..engine.kernel import Kernel
from ..engine.program import Input
from ..errors import ShapeError
from ..kernels import UserKernel
from ..lie.scalars import like
from ..varying import Varying
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
    systems = None if own.constraints is None else choice or own.constraints.by_numbers
    moved = _moved(robot, method, systems)
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

    return Kernel(method.__name__, step, inputs, content=(source(robot), method, controls, reset, systems))


def source(robot: Dynamics | Varying):
    """What the equations of motion of a robot are made from."""
    return robot if isinstance(robot, Varying) else robot.lowered


def own_robot(robot: Dynamics | Varying) -> Dynamics:
    return robot.robot if isinstance(robot, Varying) else robot


def _moved(robot: Dynamics | Varying, method: Callable, systems: ByNumbers | ByChoice | None) -> Callable:
    """A function of (inputs by name, q, v, τ, h) that makes one step; it does not keep a Dynamics without constraints alive."""
    own = own_robot(robot)
    if systems is None:
        nodes_like, system = nodes_as_scalars(robot), own.lowered.system
        return lambda at, q, v, tau, h: method(system(nodes_like(q, at)), q, v, tau, h)
    nodes, dressed = nodes_and_scalars(robot)
    loops, held_step = Loops(systems.set, nodes), CONSTRAINED_STEPS[method]

    def step(at, q, v, tau, h):
        motion = ConstrainedMotion(systems, loops, lambda nodes: dressed(nodes, q, at), at.get(DRIVE))
        return held_step(motion, q, v, tau, h)

    return step


def nodes_as_scalars(robot: Dynamics | Varying) -> Callable:
    """A function of (some scalar, values by name) that gives the nodes; it does not keep a Dynamics alive."""
    nodes, dressed = nodes_and_scalars(robot)
    return lambda some, at: dressed(nodes, some, at)


def nodes_and_scalars(robot: Dynamics | Varying):
    """The nodes that steps are traced on, and a function of (nodes, some scalar, values by name) that gives them scalars."""
    if isinstance(robot, Varying):
        names = robot.names
        return robot.nodes, lambda nodes, some, at: robot.like(nodes, some, {name: at[name] for name in names if name in at})
    return robot.lowered.joint_space, lambda nodes, some, at: nodes.mapped(lambda name, index, x: like(x, some))


def asked(kernel: UserKernel, at: Mapping, *shapes) -> tuple:
    """What a user's kernel returns, of the shapes it must have."""
    results = kernel.function(*(at[name] for name in kernel.names))
    results = results if isinstance(results, tuple) else (results,)
    found = tuple(map(np.shape, results))
    if found != shapes:
        raise ShapeError(f"{kernel.__name__} returns shapes {found} for one robot; in a rollout it must return {shapes}.")
    return results
