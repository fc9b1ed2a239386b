"""The equations of motion of one robot as gufuncs: compiled when first needed, kept as long as the robot."""

from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from weakref import WeakKeyDictionary

import numpy as np

from ..dynamics import Dynamics
from ..engine.kernel import Kernel
from ..engine.program import Input
from ..lie.scalars import like

_made: "WeakKeyDictionary[Dynamics, dict]" = WeakKeyDictionary()


def kernel(robot: Dynamics, function: Callable, *options: str, dtype=np.float64, friction: bool = True) -> Callable:
    """A function of `equations` for this robot, called as a gufunc is.

    Of the function's optional arguments, those named in `options` are taken. Without `friction` the joints have none.
    """
    dtype = np.dtype(dtype)
    ready = _made.setdefault(robot, {})
    key = function.__name__, options, dtype.char, friction
    if key not in ready:
        ready[key] = _compiled(robot, function, *key) if robot.compiled and robot.nv else _plain(robot, function, dtype, friction)
    return ready[key]


def _compiled(robot, function, name, options, kind, friction):
    nodes = _nodes(robot._split, friction)

    def run(*arguments):
        some = arguments[0]
        return function(nodes.mapped(lambda name, index, x: like(x, some)), *arguments)

    content = robot._digest, name, options, friction
    return Kernel(name, run, _inputs(robot, function, options), content).gufunc(kind)


def _plain(robot, function, dtype, friction):
    nodes = _nodes(robot._nodes[dtype], friction)

    def run(*arrays, out=None):
        with np.errstate(all="ignore"):
            results = function(nodes, *(np.asarray(x, dtype) for x in arrays))
        if out is None:
            return results
        for x, result in zip(out if isinstance(out, tuple) else (out,), results if isinstance(results, tuple) else (results,)):
            x[...] = result
        return out

    return run


def _nodes(nodes, friction):
    return nodes if friction else replace(nodes, friction=tuple(np.zeros_like(x) for x in nodes.friction))


def _inputs(robot, function, options):
    """Coordinates are called q; h is a number, external a wrench on each body, all else has one entry per velocity."""
    shapes = {"q": (robot.nq,), "h": (), "external": (len(robot.bodies), 6)}
    taken = [x.name for x in list(signature(function).parameters.values())[1:] if x.default is x.empty or x.name in options]
    return tuple(Input(name, shapes.get(name, (robot.nv,)), robot._units if name == "q" else ()) for name in taken)
