"""A quantity to 60 digits: the sweep on a model's own floats, every constant an input, evaluated with mpmath."""

import operator

import mpmath
import numpy as np

from linkwork.engine.tracing.program import Input, evaluate, record
from linkwork.quantities import QUANTITIES
from linkwork.quantities.bound import Bound
from linkwork.systems.lowering import lower

DIGITS = 60
SCALAR = {
    "add": operator.add,
    "mul": operator.mul,
    "rcp": lambda x: 1 / x,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "sqrt": mpmath.sqrt,
    "atan2": mpmath.atan2,
    "sign": mpmath.sign,
    "abs": abs,
    "lt": operator.lt,
    "le": operator.le,
    "eq": operator.eq,
    "not": operator.not_,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "where": lambda truth, a, b: a if truth else b,
    "opaque": lambda x: x,
}


class Exact:
    """A quantity of a model, and of others that differ in numbers alone. Bodies stand on their joints as they are or turned by
    right angles: other placements would be constants that are rounded."""

    def __init__(self, robot, name: str, *options):
        bound = Bound.of(QUANTITIES[name], robot.lowered, options)
        nodes, known = lower(robot.model), constants(robot)
        inputs = [*bound.inputs, *(Input(each, x.shape) for each, x in known.items())]

        def function(*arguments):
            given = dict(zip(known, arguments[len(bound.inputs) :]))
            return bound.of_system(nodes.mapped(lambda name, index, x: given[f"{name}{index}"]), arguments[: len(bound.inputs)])

        self.program = record(name, function, inputs)

    def __call__(self, robot, *arrays):
        names = [x.name for x in self.program.inputs][: len(arrays)]
        with mpmath.workdps(DIGITS):
            given = {name: list(map(exactly, np.ravel(x))) for name, x in (*zip(names, arrays), *constants(robot).items())}
            (entries,) = evaluate(self.program, given, SCALAR, mpmath.mpf)
        return np.array(entries, object).reshape(self.program.outputs[0].shape)


def exactly(x):
    return x if isinstance(x, mpmath.mpf) else mpmath.mpf(float(x))


class ExactDerivative:
    """The derivatives of a quantity by differences of 60 digits, exact to some 35: by q along the group, and by other arguments."""

    STEP = mpmath.mpf(10) ** -20

    def __init__(self, robot, name: str, *options):
        self.quantity, self.integrate = Exact(robot, name, *options), Exact(robot, "integrate")
        self.names = [x.name for x in self.quantity.program.inputs]

    def __call__(self, robot, by: str, *arrays):
        i, columns = self.names.index(by), []
        moved = (lambda x, dx: self.integrate(robot, x, dx)) if by == "q" else (lambda x, dx: np.array(list(map(mpmath.mpf, x))) + dx)
        with mpmath.workdps(DIGITS):
            for e in np.eye(robot.nv):
                ends = []
                for sign in (1, -1):
                    x = moved(arrays[i], np.array([sign * self.STEP * mpmath.mpf(c) for c in e]))
                    ends.append(self.quantity(robot, *arrays[:i], x, *arrays[i + 1 :]))
                columns.append((ends[0] - ends[1]) / (2 * self.STEP))
        return np.stack(columns, -1)


def constants(robot) -> dict[str, np.ndarray]:
    """Every number of a model, by name."""
    found: dict[str, np.ndarray] = {}
    lower(robot.model).mapped(lambda name, index, x: found.setdefault(f"{name}{index}", np.asarray(x, float)))
    return found


def error(found, exact) -> float:
    """The largest error, relative to the largest entry."""
    exact = np.asarray(exact, object)
    largest = max(map(abs, exact.ravel()))
    return float(max(abs(mpmath.mpf(float(x)) - y) for x, y in zip(np.ravel(found), exact.ravel())) / largest)
