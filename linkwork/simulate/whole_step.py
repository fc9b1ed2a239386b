"""One step of a rollout as one kernel: what the control says, the motion, and what a reset makes of its end."""

from collections.abc import Callable, Mapping

import numpy as np

from ..dynamics import Dynamics
from ..engine.kernel import Kernel
from ..engine.program import Input
from ..errors import ShapeError
from ..kernels import UserKernel
from ..lie.scalars import like
from ..varying import Varying

TAU, LENGTH = "the step's tau", "the step's length"  # inputs that no user's function asks for
Shapes = Mapping[str, tuple[int, ...]]


def whole_step(
    robot: Dynamics | Varying, method: Callable, controls: UserKernel | None, reset: UserKernel | None, others: Shapes
) -> Kernel:
    """The kernel of q, v and others, by name: what `method` asks for, what the user's kernels do, and what varies."""
    own, nodes_like = own_robot(robot), nodes_as_scalars(robot)
    nq, nv, system = (own.nq,), (own.nv,), own.lowered.system
    inputs = Input("q", nq, own.lowered.units), Input("v", nv), *(Input(name, shape) for name, shape in others.items())

    def step(*values):
        at = {x.name: value for x, value in zip(inputs, values)}
        q, v, h = at["q"], at["v"], at[LENGTH]
        tau = at[TAU] if controls is None else asked(controls, at, nv)[0]
        q, v = method(system(nodes_like(q, at)), q, v, tau, h)
        if reset is None:
            return q, v
        return asked(reset, at | {"q": q, "v": v} | ({"t": at["t"] + h} if "t" in at else {}), nq, nv)

    content = robot.content if isinstance(robot, Varying) else robot.lowered.digest
    known = controls is None and reset is None and own.lowered.is_ours
    return Kernel(method.__name__, step, inputs, content if known else None)


def own_robot(robot: Dynamics | Varying) -> Dynamics:
    return robot.robot if isinstance(robot, Varying) else robot


def nodes_as_scalars(robot: Dynamics | Varying) -> Callable:
    """A function of (some scalar, values by name) that gives the nodes; it does not keep a Dynamics alive."""
    if isinstance(robot, Varying):
        names = robot.names
        return lambda some, at: robot.nodes_like(some, {name: at[name] for name in names if name in at})
    nodes = robot.lowered.joint_space
    return lambda some, at: nodes.mapped(lambda name, index, x: like(x, some))


def asked(kernel: UserKernel, at: Mapping, *shapes) -> tuple:
    """What a user's kernel returns, of the shapes it must have."""
    results = kernel.function(*(at[name] for name in kernel.names))
    results = results if isinstance(results, tuple) else (results,)
    found = tuple(map(np.shape, results))
    if found != shapes:
        raise ShapeError(f"{kernel.__name__} returns shapes {found} for one robot; in a rollout it must return {shapes}.")
    return results
