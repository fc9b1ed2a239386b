"""A robot some of whose constants are inputs: a mass, a length, a gain of its own for every sample."""

from functools import partial

import numpy as np

from .engine.kernel import Kernel
from .engine.program import Input
from .errors import UnknownNameError, did_you_mean
from .lie.scalars import like
from .model import lower
from .model.nodes import VARIABLE
from .sweeps import quantities


class Varying:
    """The methods of a robot, each taking the varied constants as keywords: arrays with leading batch axes.

        robot.varying("mass", "gravity").forward_dynamics(q, v, tau, mass=masses)

    What is not given is the model's own. Constants: mass (nb,), center (nb, 3), tensor (nb, 3, 3) about the centre,
    at (nb, 3) the place of each body's joint on its parent, armature, damping, friction, stiffness (nv,), gravity (3,).
    """

    def __init__(self, robot, *names: str):
        for name in names:
            if name not in VARIABLE:
                raise UnknownNameError(f'"{name}" is no constant that can be varied.{did_you_mean(name, VARIABLE)}')
        self.robot, self.names = robot, tuple(dict.fromkeys(names))
        self._nodes = lower(robot.model, split=True, lengths="at" in names)
        self._own = {name: self._value(name) for name in self.names}
        self._ready: dict = {}

    def __getattr__(self, what: str):
        if what.startswith("_") or what not in QUANTITIES:
            raise AttributeError(f"{type(self).__name__} has no method {what}.{did_you_mean(what, QUANTITIES)}")
        return partial(self._run, what)

    def __dir__(self):
        return [*super().__dir__(), *QUANTITIES]

    def value(self, name: str) -> np.ndarray:
        """The model's own value of a varied constant."""
        return self._own[name].copy()

    def _value(self, name):
        model, nodes = self.robot.model, self._nodes
        if name == "gravity":
            return np.array(model.gravity)
        if name == "at":
            return np.array([hinge.at.translation for hinge in model.hinges])
        parts = getattr(nodes, name)
        return np.array(parts) if name in ("mass", "center", "tensor") else np.concatenate(parts)

    def _run(self, what, *arguments, out=None, **constants):
        options = [x for x in arguments if isinstance(x, str)]
        arrays = [np.asarray(x) for x in arguments if not isinstance(x, str)]
        options += [constants.pop(name) for name in ("body", "axes") if name in constants]
        asked = (what, *options) if options else what
        if unknown := set(constants) - set(self.names):
            raise UnknownNameError(f'"{min(unknown)}" is not varied here.{did_you_mean(min(unknown), self.names)}')
        given = [np.asarray(constants.get(name, self._own[name])) for name in self.names]
        dtype = np.result_type(*arrays, np.float32)
        if (asked, dtype) not in self._ready:
            self._ready[asked, dtype] = self._kernel(asked).gufunc(dtype.char)
        return self._ready[asked, dtype](*arrays, *(x.astype(dtype, copy=False) for x in given), out=out)

    def _kernel(self, asked) -> Kernel:
        quantity = self.robot._quantity(asked if isinstance(asked, str) else self._complete(asked))
        sizes = {"nb": len(self.robot.bodies), "nv": self.robot.nv}
        extra = tuple(Input(name, tuple(sizes[n] if isinstance(n, str) else n for n in VARIABLE[name])) for name in self.names)
        count = len(quantity.inputs)

        def function(*arguments):
            some = arguments[0]
            values = dict(zip(self.names, arguments[count:]))
            if "at" in values:
                values["at"] = values["at"] - like(self._own["at"], some)
            nodes = self._nodes.mapped(lambda name, index, x: like(x, some)).varied(values)
            return getattr(quantities, quantity.name)(nodes, *arguments[:count], *quantity.options)

        content = self.robot._digest, asked, self.names, self._own["at"].tobytes() if "at" in self._own else b""
        return Kernel(quantity.name, function, (*quantity.inputs, *extra), content)

    def _complete(self, asked):
        return (*asked, "body") if asked[0] == "jacobian" and len(asked) == 2 else asked


QUANTITIES = [
    name for name, x in vars(quantities).items() if name[0] != "_" and getattr(x, "__module__", "") == quantities.__name__
]
