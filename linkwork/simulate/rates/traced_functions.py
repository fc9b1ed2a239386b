"""Functions of a user as kernels, for their derivatives: controls, events, resets and costs of runs."""

from collections.abc import Callable
from inspect import Parameter, Signature

from ...dynamics import Dynamics
from ...errors import SimulationError
from ...kernels import UserKernel


def traced(robot: Dynamics, function: Callable, what: str, names, shape=("nv",)) -> UserKernel:
    """A function of a user as a kernel that returns arrays of this shape; None is any."""

    def asked(*arguments):
        taken = function.names if isinstance(function, UserKernel) else names
        found = function(*(dict(zip(names, arguments))[name] for name in taken))
        if shape is None:
            return found
        found = arguments[-1] * 0.0 if found is None else arguments[-1].like(found)
        return found.reshape(robot.lowered.shape(shape))

    asked.__name__ = what
    asked.__signature__ = Signature([Parameter(x, Parameter.POSITIONAL_OR_KEYWORD) for x in names])  # type: ignore[attr-defined]
    kernel = UserKernel(robot, asked, {"t": ()} if "t" in names else {})
    try:
        kernel.kernel()
    except Exception as error:
        raise SimulationError(
            f"{what} has no derivative: it could not be traced ({type(error).__name__}: {error}). It must be written with NumPy and the "
            "robot's methods, branches as np.where, as a function of robot.kernel is."
        ) from error
    return kernel
