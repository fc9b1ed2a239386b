"""The derivative of any quantity of a robot, by its arguments and by constants of the model, in one call."""

from collections.abc import Sequence

import numpy as np

from .engine.loading.compiled import Made
from .engine.running.checks import array_of
from .engine.running.device import Library, on_device
from .engine.tracing.array import Traced
from .errors import OptionError, UnknownNameError, did_you_mean
from .export import asked
from .kernels import RobotKernel
from .lie.scalars import working_dtype
from .systems import BONDS, VARIABLE
from .varying import Varying


class Derivatives:
    """Derivatives of the quantities of one robot, each made when it is first asked for."""

    def __init__(self, robot):
        self.robot, self.made = robot, Made()
        self._kernels: dict[tuple, tuple[RobotKernel, tuple[str, ...], int]] = {}

    def __call__(self, what, arrays, by, of, order: int, constants: dict, out):
        what = tuple(what) if isinstance(what, list) else what
        asks = by if isinstance(by, str) else tuple(by), of, order, tuple(constants)
        try:
            made = self._kernels.get((what, *asks))
        except TypeError:  # with options that are no key: a point as a list
            made = None
        if made is None:
            key = asked(self.robot, what)
            if (key, *asks) not in self._kernels:
                self._kernels[key, *asks] = self._derivative(key, *asks)
            made = self._kernels[key, *asks]
            if isinstance(what, str):
                self._kernels[what, *asks] = made
        kernel, varied, count = made
        if len(arrays) != count:
            raise TypeError(f"{kernel.__name__} takes {', '.join(x.name for x in kernel.inputs()[:count])}; got {len(arrays)} arrays.")
        return kernel(*arrays, *self._values(varied, arrays, constants), out=out)

    def _derivative(self, what: tuple, by: str | tuple[str, ...], of, order: int, given: tuple[str, ...]):
        """The kernel, the names of the constants it takes last, and how many arrays it takes before them."""
        if not isinstance(order, int) or order < 1:
            raise OptionError(f"order is {order!r}; it may be 1, 2, ...")
        bound = self.robot.quantity(what)
        inputs = [x.name for x in bound.inputs]
        names = (by,) if isinstance(by, str) else by
        for name in names:
            if name not in inputs and name not in VARIABLE and name not in BONDS:
                known = f" It takes {', '.join(inputs)}; constants are {', '.join([*VARIABLE, *BONDS])}."
                near = did_you_mean(name, [*inputs, *VARIABLE, *BONDS])
                raise UnknownNameError(f'{bound.name} has no derivative by "{name}".{near if "mean" in near else known}')
        if bound.quantity.constrained and self.robot.constraints is not None and {"q", "v"} & set(names):
            raise OptionError(
                f"{self.robot.model.name} has loops, couplings or constraints: a derivative of its {bound.name} by q or v means something "
                "along them only. robot.forward_dynamics_derivatives(q, v, tau) and robot.constraints.derivatives(q, v, tau) are such."
            )
        varied = tuple(dict.fromkeys([*(x for x in names if x not in inputs), *given]))
        kernel: RobotKernel = self.varying(varied).as_kernel(what) if varied else self.robot.as_kernel(what)
        kernel = kernel.jacobian(of, by)
        for _ in range(order - 1):
            kernel = kernel.jacobian(by=by)
        return kernel, varied, len(inputs)

    def varying(self, names: tuple[str, ...]) -> Varying:
        return self.made.once(lambda: Varying(self.robot, *names), names)

    def _values(self, varied: Sequence[str], arrays, constants: dict) -> list:
        """Of the constants: what is given, or the model's own, where the arrays live."""
        if not varied:
            return []
        own = self.varying(tuple(varied)).own
        self.varying(tuple(varied)).check_masses(constants)
        there = next((x for x in arrays if on_device(x)), None)
        if there is None:  # constants do not decide what is computed in
            kind = None if any(isinstance(x, Traced) for x in arrays) else working_dtype(*arrays)
            values = [array_of(name, constants.get(name, own[name])) for name in varied]
            return values if kind is None else [x.astype(kind) if np.asarray(x).dtype.kind == "f" else x for x in values]
        library = Library(there)
        return [constants[name] if name in constants else library.cast(library.put(own[name], there), there) for name in varied]
