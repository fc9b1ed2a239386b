"""robot.jax: the methods of a robot as functions of JAX arrays, for jit, vmap, grad, jacfwd and all else of JAX."""

from collections.abc import Callable
from functools import partial, wraps

import jax
import jax.numpy as jnp

from ..engine.running.checks import check_arrays
from ..errors import OptionError, did_you_mean
from ..quantities import QUANTITIES
from .jax_primitive import call


class JaxFunctions:
    """The methods of a robot on arrays of JAX; called with a kernel of the robot, that kernel as such a function.

        vdot  = robot.jax.forward_dynamics(q, v, tau)
        power = robot.jax(robot.kernel(lambda q, v: v @ robot.gravity_force(q)))

    Leading axes are batch axes. Arrays are float32, or float64 with jax.config.update("jax_enable_x64", True).
    """

    constraints = None  # with any, a quantity that keeps them is a formula of its own: as_kernel has it

    def __init__(self, robot):
        self.robot = robot
        self._methods = {name: x for name, x in vars(type(robot)).items() if name in QUANTITIES or name in ("ask", "_task", "_with")}

    def __call__(self, kernel) -> Callable:
        if not callable(getattr(kernel, "by_components", None)):
            raise OptionError(f"robot.jax takes a kernel made with robot.kernel or robot.as_kernel, not {kernel!r}.")

        @wraps(kernel, updated=())
        def function(*arrays):
            return self._call(kernel, arrays)

        return function

    def __getattr__(self, name: str):
        methods = self.__dict__.get("_methods", {})
        if name not in methods:
            raise AttributeError(f"robot.jax has no method {name}.{did_you_mean(name, [x for x in methods if x[0] != '_'])}")
        return wraps(methods[name])(partial(methods[name], self))

    def __dir__(self):
        return [*super().__dir__(), *(name for name in self._methods if name[0] != "_")]

    @property
    def model(self):
        return self.robot.model

    def _run(self, what, arguments, out, t=None):
        """What every method of a robot ends in."""
        if out is not None:
            raise OptionError("arrays of JAX are never written into: leave out= away.")
        kernel, held = self.robot.as_kernel(what), self.robot.constraints
        drive = [held.driven(t)] if kernel.names[-1:] == ["drive"] else []
        return self._call(kernel, [*arguments, *drive])

    def _call(self, kernel, given):
        arrays = [jnp.asarray(x) for x in given]
        dtype = jnp.result_type(*arrays, jnp.float32)
        arrays = [x.astype(dtype) for x in arrays]
        inputs = kernel.kernel(arrays).inputs
        kernel.check_count([x.name for x in inputs], len(arrays))
        check_arrays(self.robot.model.name, inputs, arrays)
        if any(not x.size for x in inputs):
            raise OptionError(f"{kernel.__name__} of {self.robot.model.name} takes an array without entries, which XLA does not call.")
        with jax.named_scope(f"linkwork.{kernel.__name__}"):
            results = call(kernel, arrays)
        return results[0] if len(results) == 1 else tuple(results)

    def __repr__(self) -> str:
        return f"<functions of {self.robot.model.name} for JAX>"
