"""The equations of motion of one robot as gufuncs: compiled when first needed, kept as long as the robot."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from inspect import signature

import numpy as np

from ...constraints.systems.loop_binding import ByChoice, ByNumbers, LoopBinding
from ...dynamics import Dynamics
from ...engine.differentiation.derived import Derived
from ...engine.loading.compiled import Made
from ...engine.loading.interpreter import called
from ...engine.loading.kernel import Kernel
from ...kernels import UserKernel
from ...motion import equations
from ...motion.joint_limits import each_velocity
from ...systems import Mechanism
from ...varying import Varying
from .held import ConstrainedRates


class WithConstants:
    """A robot with other constants than those of its model: those of one sample of what varies."""

    def __init__(self, varying: Varying):
        self.varying, self.constants = varying, dict[str, np.ndarray](varying.own)

    def __getattr__(self, name: str):
        return getattr(self.varying.robot, name)

    def kernel(self, function: Callable, options: tuple[str, ...], friction: bool) -> Callable:
        """A function of `equations` with these constants, called as a gufunc is."""
        varying, own = self.varying, self.varying.own
        run = varying.made.once(lambda: _kernel(varying, function, options, friction).gufunc("d"), function, options, friction)
        return lambda *arrays, **out: run(*arrays, *(self.constants.get(name, x) for name, x in own.items()), **out)


def friction_of(robot) -> np.ndarray:
    """The dry friction of each velocity."""
    constants = robot.constants if isinstance(robot, WithConstants) else {}
    return constants.get("friction", each_velocity(robot, "friction"))


def kernel(robot: Dynamics, function: Callable, *options: str, dtype=np.float64, friction: bool = True) -> Callable:
    """A function of `equations` or `variational` for this robot, called as a gufunc is.

    Of the function's optional arguments, those named in `options` are taken. Without `friction` the joints have none.
    """
    if isinstance(robot, WithConstants):
        return robot.kernel(function, options, friction) if function is equations.local_rates else kernel(robot.varying.robot, function)
    return robot.made.once(lambda: _made(robot, function, options, np.dtype(dtype), friction), function, options, np.dtype(dtype), friction)


def _made(robot, function: Callable, options: tuple[str, ...], dtype: np.dtype, friction: bool) -> Callable:
    if robot.compiled and robot.nv and not robot.long and (not more_than_a_tree(robot) or function in KINEMATIC):
        return _kernel(robot, function, options, friction).gufunc(dtype.char)
    if function is equations.local_rates and robot.constraints is not None:
        return ConstrainedRates(robot, options, friction, _local_rates(robot, friction), kernel(robot, equations.local_velocity))
    return _plain(robot, function, dtype, friction)


def slopes_of(robot: Dynamics, function: Callable, by: str, *options: str, friction: bool = True) -> Callable:
    """The derivative of such a function by one of its arguments, called as a gufunc is."""

    def make() -> Callable:
        plain = _kernel(robot, function, options, friction)
        derived = Derived(plain.name, plain.function, plain.inputs)
        at = [x.name for x in plain.inputs].index(by)
        made = Kernel(f"{plain.name}_slopes", partial(derived.jacobian, (0,), (at,)), plain.inputs, content=(plain, by))
        return made.gufunc("d") if robot.compiled and robot.nv else called(made.program)

    return robot.made.once(make, function, by, options, friction)


def cache_of(robot, *kernels) -> Made:
    """Where what is made is kept: with the user's kernel or the variation it is made of, else with the robot."""
    holder = next((x for x in (*kernels, robot) if isinstance(x, (UserKernel, Varying))), None)
    return robot.made if holder is None else holder.made


def source(robot: Dynamics | Varying):
    """What the equations of motion of a robot are made from."""
    return robot if isinstance(robot, Varying) else robot.lowered


def own_robot(robot: Dynamics | Varying) -> Dynamics:
    return robot.robot if isinstance(robot, Varying) else robot


def mechanism_of(robot: Dynamics | Varying, choice: ByNumbers | ByChoice | None = None, *, on_the_way: bool = False) -> Mechanism:
    """The tree, with the constants that vary; with a choice of dependent velocities, bound by its loops. It keeps no Dynamics alive."""
    tree = robot.mechanism if isinstance(robot, Varying) else Mechanism(robot.lowered, robot.lowered.joint_space)
    return tree if choice is None else replace(tree, binding=LoopBinding(choice, tree.nodes, on_the_way=on_the_way))


def _kernel(robot: Dynamics | Varying, function: Callable, options: tuple[str, ...], friction: bool) -> Kernel:
    """The arguments of the function, and then the constants that vary."""
    mechanism, inputs = mechanism_of(robot), _inputs(own_robot(robot), function, options)
    own = robot.own if isinstance(robot, Varying) else {}

    def run(*arguments):
        state, constants = arguments[: len(inputs)], dict(zip(own, arguments[len(inputs) :]))
        return function(mechanism.at(state[0], constants, friction=friction), *state)

    more = (mechanism.lowered.input(name, x.shape) for name, x in own.items())
    return Kernel(function.__name__, run, (*inputs, *more), content=(source(robot), function, options, friction))


def _plain(robot, function, dtype, friction):
    """In plain NumPy; of a large robot the heavy part by its own kernels, which are rolled."""
    if (robot.compiled or more_than_a_tree(robot)) and function in LARGE:
        made = LARGE[function](robot, friction)
    else:
        nodes = robot.lowered.plain(dtype) if friction else robot.lowered.plain(dtype).without_friction()
        system = robot.lowered.system(nodes)

        def made(*arrays):
            return function(system, *arrays)

    def run(*arrays, out=None):
        with np.errstate(all="ignore"):
            results = made(*(np.asarray(x, dtype) for x in arrays))
        if out is None:
            return results
        pairs = zip(out, results) if isinstance(out, tuple) else ((out, results),)
        for x, result in pairs:
            x[...] = result
        return out

    return run


def more_than_a_tree(robot: Dynamics) -> str:
    """What a robot has that the sweeps over its tree do not know of."""
    return "loops, couplings or constraints" if robot.constraints is not None else ""


def _inputs(robot, function, options):
    """Coordinates are called q; h is a number, external a wrench on each body, all else has one entry per velocity."""
    shapes = {"q": (robot.nq,), "h": (), "external": (len(robot.bodies), 6)}
    parameters = list(signature(function).parameters.values())[1:]
    taken = [x.name for x in parameters if x.default is x.empty or x.name in options]
    return tuple(robot.lowered.input(name, shapes.get(name, (robot.nv,))) for name in taken)


# --- large robots


class OfKernels(equations.Motion):
    """The motion of a robot, by its own kernels one after the other."""

    def __init__(self, robot, friction: bool, **how):
        """`how` constraints are kept: their time and their pull."""
        held = robot.constraints
        self.robot, self.how = robot, how
        self.dry = 0.0 if friction else np.concatenate(robot.lowered.nodes.friction)
        self.velocity = kernel(robot, equations.local_velocity)
        self.dynamics = robot.forward_dynamics if held is None else held.forward_dynamics if robot.long else held.in_numpy

    def integrate(self, q, xi):
        return self.robot.integrate(q, xi)

    def local_velocity(self, xi, v):
        return self.velocity(xi, v)

    def passive_force(self, q, v):
        return self.robot.passive_force(q, v) + self.dry * np.sign(v)

    def forward_dynamics(self, q, v, tau, external=None):
        return self.dynamics(q, v, tau, external, **self.how)


def _local_rates(robot, friction):
    return lambda *state, **how: equations.rates(OfKernels(robot, friction, **how), *state)


def _euler_end(robot, friction):
    nodes = robot.lowered.plain()

    def end(q, v, vdot, h):
        if not robot.lowered.nodes.additive:
            return equations.euler_end(nodes, q, v, vdot, h)
        v = v + h * vdot
        return robot.integrate(q, h * v), v

    return end


def _velocity(function):
    def made(robot, friction):
        nodes = robot.lowered.plain()
        return (lambda xi, v: v) if robot.lowered.nodes.additive else (lambda xi, v: function(nodes, xi, v))

    return made


LARGE: dict[Callable, Callable] = {
    equations.local_rates: _local_rates,
    equations.euler_end: _euler_end,
    equations.local_velocity: _velocity(equations.local_velocity),
    equations.body_velocity: _velocity(equations.body_velocity),
}
KINEMATIC = {equations.local_velocity, equations.body_velocity, equations.euler_end}  # nothing of forces in them
