"""A robot some of whose constants are inputs: a mass, a length, a gain of its own for every sample."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from .engine.loading.compiled import Made
from .engine.loading.kernel import Kernel
from .engine.running.checks import array_of, checked, run_into
from .engine.running.device import Library, on_device
from .engine.tracing.array import Traced
from .engine.tracing.program import Input
from .errors import ModelError, UnknownNameError, did_you_mean
from .export import asked
from .foreign import is_foreign
from .foreign.arrays import is_tensor
from .kernels import QuantityKernel
from .lie.scalars import like, working_dtype
from .model import Spring, distances
from .quantities import QUANTITIES, Given
from .quantities.declaration import declared_as
from .quantities.options import hashable
from .quantities.options import task as task_places
from .systems import BONDS, VARIABLE, Mechanism, lower


class Varying:
    """The methods of a robot, each taking the varied constants as keywords: arrays with leading batch axes.

        robot.varying("mass", "gravity").forward_dynamics(q, v, tau, mass=masses)

    What is not given is the model's own. Constants: mass (nb,), center (nb, 3), tensor (nb, 3, 3) about the centre,
    at (nb, 3) the place of each body's joint on its parent, armature, damping, friction, stiffness (nv,), gravity (3,). Of what binds
    the robot: loop_at and loop_on (loops, 3), the places of each loop's joint on its parent and on its child, distance (distances,), and
    coupling (couplings, n), the coefficients of each. Of springs between points:
    spring_stiffness, spring_length, spring_damping (springs,).

    Under loops each sample has a choice of dependent velocities of its own; NaN is the answer where its loops are open, or at a singular
    configuration. Where joints are driven, t= says when, or drive= (..., drives, 3) what they do: position, rate, acceleration.

    A negative mass of a rigid body is refused; kernels and arrays on a GPU are not looked at. A negative stiffness pushes away.
    """

    def __init__(self, robot, *names: str):
        for name in names:
            if name not in VARIABLE and name not in BONDS:
                raise UnknownNameError(f'"{name}" is no constant that can be varied.{did_you_mean(name, [*VARIABLE, *BONDS])}')
        self.robot, self.names = robot, tuple(dict.fromkeys(names))
        self._methods = [name for name in vars(type(robot)) if name in QUANTITIES]
        self._nodes = lower(robot.model, split=True, lengths="at" in names)
        self._own = {name: self._value(name) for name in self.names}
        self.made = Made()

    def __getattr__(self, what: str):
        if what.startswith("_") or what not in self._methods:
            known = [] if what.startswith("_") else self._methods
            raise AttributeError(f"{type(self).__name__} has no method {what}.{did_you_mean(what, known)}")
        return partial(self._run, what)

    def ask(self, what: str | tuple, *arrays, out=None, **named):
        """A quantity by its name, or (name, options...), as `Dynamics.ask`; constants and optional arrays by name."""
        name, *options = (what,) if isinstance(what, str) else what
        return self._run(declared_as(self.robot.model, name).name, *arrays, *options, out=out, **named)

    def __dir__(self):
        return [*super().__dir__(), *self._methods]

    def value(self, name: str) -> np.ndarray:
        """The model's own value of a varied constant."""
        if name not in self._own:
            raise UnknownNameError(f'"{name}" is not varied here.{did_you_mean(name, self.names)}')
        return self._own[name].copy()

    def _value(self, name):
        model, nodes = self.robot.model, self._nodes
        if name == "gravity":
            return np.array(model.gravity)
        if name == "at":
            return np.array([placed.at.translation for placed in model.joints])
        if name in BONDS:
            return bond_values(model, name)
        parts = getattr(nodes, name)
        return np.array(parts) if name in ("mass", "center", "tensor") else np.concatenate([np.zeros(0), *parts])

    def _run(self, what, *arguments, out=None, **named):
        """Arguments as the robot's own method takes them, and constants by name."""
        if f"{what}_with_passive_forces" in QUANTITIES and named.pop("passive", False):
            what = f"{what}_with_passive_forces"
        held, t = self.robot.constraints, named.pop("t", None)
        if held is not None and held.set.drives and QUANTITIES[what].constrained and named.get("drive") is None:
            named["drive"] = held.driven(t)
        key, given = self._asked(what, list(arguments), named)
        kernel = self.made.once(lambda: self.kernel(key), key)
        names = [x.name for x in kernel.inputs[: len(kernel.inputs) - len(self.names)]]
        given += [named.pop(name) for name in names[len(given) :] if name in named]
        if len(given) != len(names):
            raise TypeError(f"{what} takes {', '.join(names)}; got {len(given)} arrays.")
        if unknown := set(named) - set(self.names):
            raise UnknownNameError(f'"{min(unknown)}" is not varied here.{did_you_mean(min(unknown), self.names)}')
        self.check_masses(named)
        if any(is_foreign(x) for x in (*given, *named.values())):
            return self._on_foreign(key, given, named, out)
        constants = {**self._own, **named}
        arrays, _ = checked(what, kernel.inputs, (*given, *(constants[name] for name in self.names)))
        dtype = working_dtype(*arrays[: len(names)])
        run = self.made.once(lambda: QUANTITIES[what].demanding(kernel.runner(dtype.char)), key, dtype)
        return run_into(run, tuple(x.astype(dtype, copy=False) for x in arrays), out, what)

    def check_masses(self, constants: Mapping) -> None:
        """Raises where a rigid body has a negative mass in some sample: of a flexible one it is what is added. Arrays on a GPU, and of a
        trace, are not looked at."""
        x = constants.get("mass")
        if x is None or isinstance(x, Traced) or on_device(x):
            return
        masses, model = np.asarray(x.detach() if is_tensor(x) else array_of("mass", x)), self.robot.model
        if masses.dtype.kind not in "fi" or masses.shape[-1:] != (len(model.bodies),) or not (masses < 0).any():
            return
        for body, each in zip(model.bodies, np.moveaxis(masses, -1, 0)):
            if body.name not in model.flexible_bodies and (each < 0).any():
                raise ModelError(f'mass has {each.min():g} kg for body "{body.name}" of {model.name}; it may not be negative.')

    def _on_foreign(self, key, given, named, out):
        """On arrays of torch or CuPy, with the model's own constants put where they are."""
        like = next(x for x in (*given, *named.values()) if is_foreign(x))
        library = Library(like)
        own = {name: library.cast(library.put(x, like), like) for name, x in self._own.items() if name not in named}
        return self.as_kernel(key)(*given, *({**own, **named}[name] for name in self.names), out=out)

    def _asked(self, what, arguments, named):
        """The quantity with its options, and the arrays given for it in order: what the robot's own method takes."""
        declared = QUANTITIES[what]
        count = len(declared.inputs)
        options, given = (arguments[count:], arguments[:count]) if declared.takes_options else ([], arguments)
        if declared.options is task_places:
            axes = named.pop("axes", "body")
            options = [hashable(place, axes) for place in options]
        options += [named.pop(name) for name in ("body", "axes") if declared.takes_options and name in named]
        if declared.needs_options and not options:
            raise TypeError(f"{what} takes {', '.join(declared.inputs)} and the name of a body or frame.")
        if declared.optional and len(given) == count + 1 and given[count] is None:
            given = given[:count]
        for name in declared.optional:
            if named.get(name, ()) is None:
                del named[name]
            if name in named or len(given) > count:
                options.append(Given(name))
        return asked(self.robot, (what, *options)), given

    def assemble(self, q, *, t=None, drive=None, **constants) -> np.ndarray:
        """The q (..., nq) nearest to a guess in which the loops of each sample are closed, with constants by name; NaN where a sample
        cannot be assembled from there: its bars do not reach each other."""
        (found,) = self._on_constraints("assembled", {"q": q}, t, drive, constants)
        return found

    def project(self, q, v, *, t=None, drive=None, **constants) -> tuple[np.ndarray, np.ndarray]:
        """(q, v) put back on the constraints of each sample, nearest in the metric of its mass matrix; NaN where that cannot be."""
        q, v = self._on_constraints("projected", {"q": q, "v": v}, t, drive, constants)
        return q, v

    def _on_constraints(self, what: str, state: dict, t, drive, constants: dict) -> tuple:
        """States by a kernel of `VariedStates`, computed in float64."""
        model, held = self.robot.model.name, self.robot.constraints
        if held is None:
            raise ModelError(f"{model} has no loops, couplings or constraints: all its states are possible.")
        if unknown := set(constants) - set(self.names):
            raise UnknownNameError(f'"{min(unknown)}" is not varied here.{did_you_mean(min(unknown), self.names)}')
        if any(is_foreign(x) for x in (*state.values(), *constants.values())):
            raise ModelError(f"states of {model} are put on constraints on the CPU: give arrays of NumPy.")
        self.check_masses(constants)
        from .constraints.states.varied_states import VariedStates  # only those who ask for it wait for it

        states = self.made.once(lambda: VariedStates(held.by_numbers, self.mechanism, self._own, self))
        kernel = getattr(states, what)
        moved = () if not held.set.drives else (held.driven(t) if drive is None else drive,)
        arrays, _ = checked(what, kernel.inputs, (*state.values(), *moved, *(constants.get(name, x) for name, x in self._own.items())))
        dtype = working_dtype(*arrays[: len(state)])
        found = self.made.once(lambda: kernel.runner("d"), what)(*(x.astype(float, copy=False) for x in arrays))
        return tuple(x.astype(dtype, copy=False) for x in (found if isinstance(found, tuple) else (found,)))

    def kernel(self, key) -> Kernel:
        """The kernel of a quantity, (name, options...), whose last inputs are the varied constants."""
        bound = self.robot.quantity(asked(self.robot, key))
        count = len(bound.inputs)
        extra = tuple(Input(name, x.shape) for name, x in self._own.items())

        def function(*arguments):
            return bound.at(self.mechanism, arguments[0], dict(zip(self.names, arguments[count:])), arguments[:count])

        return Kernel(bound.name, function, (*bound.inputs, *extra), content=(self, bound))

    def as_kernel(self, what: str | tuple) -> QuantityKernel:
        """A quantity as a kernel that takes the varied constants last, with derivatives by them too.

        robot.varying("mass").as_kernel("forward_dynamics").jacobian(by="mass")(q, v, tau, masses)
        """
        key = asked(self.robot, what)
        return self.made.once(lambda: QuantityKernel(self.robot, self.kernel(key)), key)

    @property
    def own(self) -> dict[str, np.ndarray]:
        """The model's own values of what is varied."""
        return self._own

    @property
    def nodes(self):
        """The nodes whose constants vary."""
        return self._nodes

    @property
    def mechanism(self) -> Mechanism:
        """The tree with constants that vary."""
        return Mechanism(self.robot.lowered, self._nodes, self.like, self.names)

    def like(self, nodes, some, values):
        """Nodes as scalars like `some`, with these constants; there may be more of them than the model's."""
        if "at" in values:
            values = values | {"at": values["at"] - like(self._own["at"], some)}
        return nodes.over(some).varied(values)

    @property
    def decided_by(self) -> tuple:
        """What tells it from others: see engine/loading/identity.py."""
        lengths: tuple = ()
        if "at" in self._own:  # which joints move which nodes and bodies
            reach = [[(h, R.tobytes()) for h, R in way] for way in (*self._nodes.reach, *self._nodes.body_reach)]
            lengths = self._own["at"].tobytes(), reach
        return self.robot.lowered, self.names, lengths


def bond_values(model, name: str) -> np.ndarray:
    """The model's own values of a constant of its loops, distances, couplings or springs."""
    if name == "distance":
        found = np.array([x.length for x in distances(model)])
    elif name.startswith("spring_"):
        found = np.array([getattr(x, name.removeprefix("spring_")) for x in model.forces if isinstance(x, Spring)])
    elif name == "coupling":
        most = max((len(x.coefficients) for x in model.couplings), default=0)
        found = np.array([[*x.coefficients, *[0.0] * (most - len(x.coefficients))] for x in model.couplings])
    else:
        found = np.array([(x.at if name == "loop_at" else x.on).translation for x in model.loops])
    if not len(found):
        raise UnknownNameError(f'{model.name} has no {BONDS[name][0]}, so that "{name}" cannot be varied.')
    return found
