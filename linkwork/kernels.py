"""A user's own function as a gufunc, and its derivatives, which are kernels as well."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from inspect import Parameter, signature
from operator import index

import numpy as np

from .engine.differentiation.derived import Derived
from .engine.loading import interpreter
from .engine.loading.compiled import Made, shapes
from .engine.loading.kernel import Kernel
from .engine.running.checks import array_of, checked, run_into
from .engine.running.device import DeviceKernel
from .engine.tracing.array import Traced
from .engine.tracing.program import Input, Program, record
from .errors import OptionError, ShapeError, TraceError, UnknownNameError, did_you_mean
from .foreign import is_foreign, kernel_on_foreign, run_kernel
from .lie.scalars import still
from .quantities import SIZES, coordinate_rates, difference
from .quantities.components import ByComponents
from .quantities.rolled import Rolled


def recorded(name: str, function: Callable, inputs: tuple[Input, ...]) -> Program:
    """The program of a user's function, or an error that says of what."""
    try:
        return record(name, function, inputs)
    except Exception as error:
        said = ", ".join(f"{x.name} {x.shape}" for x in inputs)
        error.add_note(f"{name} was being traced for one sample: {said}.")
        raise


class RobotKernel(ABC):
    """A function of one sample over the arrays of a robot, called on any batch of samples."""

    def __init__(self, robot, function: Callable, name: str, doc: str | None, coordinates: tuple[int, ...] = ()):
        """`function` is of one sample, over traced arrays; `coordinates` are the numbers of results that are coordinates of the robot."""
        self.robot, self.function, self.coordinates = robot, function, coordinates
        self.__name__, self.__doc__ = name, doc
        self.ready: dict[np.dtype, Callable] = {}  # by the dtype of its arguments
        self.made = Made()
        self._kernel: Kernel | None = None

    @property
    def decided_by(self) -> tuple:
        """What tells it from other kernels: see engine/loading/identity.py."""
        return self.function, self.robot.lowered, self.coordinates

    @abstractmethod
    def inputs(self, arrays=None) -> tuple[Input, ...]:
        """What it takes; shapes that were not declared are those of the arrays of a call, which may be more than it takes."""

    @cached_property
    def names(self) -> list[str]:
        """Names of its arguments."""
        return [x.name for x in self.inputs()]

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of its arguments, of one sample."""
        return {x.name: x.shape for x in self.inputs()}

    def argument(self, n: int) -> str:
        """What to call argument n in a message before all is known."""
        return self.names[n] if n < len(self.names) else f"argument {n}"

    def __repr__(self):
        return f"<kernel {self.__name__}({', '.join(self.names)}) of {self.robot.model.name}>"

    def __call__(self, *arguments, out=None):
        try:
            run = self.ready[arguments[0].dtype]
            return run(*arguments) if out is None else run(*arguments, out=out)
        except (KeyError, IndexError, AttributeError, TypeError, ValueError):
            pass  # and not from within here, so that no error of the slow way is headed by this one
        return self._call_checked(arguments, out)

    def _call_checked(self, arguments, out):
        """The slow way: checks the arguments, compiles at the first call, or raises."""
        if any(isinstance(x, Traced) for x in arguments):
            return self.function(*arguments)
        if any(is_foreign(x) for x in arguments):
            return kernel_on_foreign(self, arguments, out)
        return self._on_arrays(arguments, out)

    def run_foreign(self, arrays, out=None):
        """On arrays of torch or CuPy that need no gradient."""
        return run_kernel(self._on_device, self._on_arrays, arrays, out)

    def _on_arrays(self, arguments, out):
        arrays = [np.asarray(array_of(self.argument(n), x)) for n, x in enumerate(arguments)]
        rolled = self.rolled(arrays)
        inputs = self.kernel(arrays).inputs if rolled is None else rolled.inputs
        self.check_count([x.name for x in inputs], len(arrays))
        arrays, dtype = checked(self.__name__, inputs, arrays)
        if dtype not in self.ready:
            self.ready[dtype] = self._runner(arrays, dtype) if rolled is None else rolled.run(dtype)
        run = self.ready[dtype]
        return run_into(run, arrays, out, self.__name__)

    @property
    def compiled(self) -> bool:
        """Is it compiled? Otherwise NumPy evaluates it, operation by operation."""
        return True

    def _runner(self, arrays, dtype: np.dtype) -> Callable:
        kernel = self.kernel(arrays)
        return kernel.runner(dtype.char) if self.compiled else interpreter.called(kernel.program)

    def check_count(self, names: Sequence[str], count: int) -> None:
        if count != len(names):
            raise TypeError(f"{self.__name__} takes {len(names)} arguments ({', '.join(names)}); got {count}.")

    def _on_device(self, arrays) -> DeviceKernel:
        rolled = self.rolled(arrays)
        return self.made.once(lambda: DeviceKernel(self.kernel(arrays) if rolled is None else self._by_itself(rolled)))

    def rolled(self, arrays=None) -> Rolled | None:
        """Itself as a loop over the nodes, for a robot whose kernels are; None where it is straight-line code."""
        return None

    def _by_itself(self, rolled: Rolled) -> Kernel:
        """The kernel of a loop over the nodes that needs nothing around it."""
        if rolled.kernel is None:
            raise TraceError(f"{self.__name__} of a long mechanism is no one kernel: what it takes or returns of bodies is NumPy's. "
                             "Call it with NumPy arrays, or use Dynamics(model, rolled=False).")  # fmt: skip
        return rolled.kernel

    def kernel(self, arrays=None) -> Kernel:
        """The straight-line kernel, made when the shapes of all arguments are known."""
        if self._kernel is None:
            inputs = self.inputs(arrays)
            kernel = Kernel(self.__name__, self.function, inputs, self.decided_by, recorded)
            if not shapes(kernel):
                raise TraceError(f"{self.__name__} returns nothing; a kernel returns an array, or a tuple of arrays.")
            self._kernel = kernel
        return self._kernel

    @property
    def program(self):
        """What the kernel does, operation by operation, as straight-line code; print it to read it."""
        return self.kernel().program

    def gufunc(self, dtype=np.float64) -> np.ufunc:
        """The NumPy gufunc itself."""
        dtype = np.dtype(dtype)
        if dtype not in (np.float64, np.float32):
            raise TraceError(f"{self.__name__}: kernels are made for float64 and float32, not for {dtype}.")
        rolled = self.rolled()
        return (self.kernel() if rolled is None else self._by_itself(rolled)).gufunc(dtype.char)

    # --- derivatives: those by coordinates q, and of results that are coordinates, are along the group, as `integrate` moves, one for
    # each velocity

    @cached_property
    def jvp(self) -> "DerivativeKernel":
        """Jacobian times vector, a kernel: kernel.jvp(q, v, dq, dv) is the rate of each result while the arguments move with these
        rates; dq is a velocity (nv,)."""
        return DerivativeKernel(self, "jvp", lambda d: d.jvp, lambda d: d.rates, Rolled.jvp)

    @cached_property
    def vjp(self) -> "DerivativeKernel":
        """Vector times Jacobian, a kernel: kernel.vjp(q, v, weight) is the gradient of weight · result by each argument; that by q
        has one entry for each velocity (nv,). With several results there is a weight for each."""
        return DerivativeKernel(self, "vjp", lambda d: d.vjp, lambda d: d.weights, Rolled.vjp)

    def jacobian(self, of: int | Sequence[int] | None = None, by: str | Sequence[str] | None = None) -> "DerivativeKernel":
        """The Jacobian as a kernel: kernel.jacobian(by="q")(q, v) has shape (..., result, nv), by others (..., result, argument). Of
        coordinates after a step, as `lw.contact_kernel` returns them, it has nv rows.

        `of` are numbers of results, `by` names of arguments, all if not said. With several there is an array for each pair, those
        of the first result first. Entries that are zero for every input are not computed.
        """
        key = of if of is None or isinstance(of, int) else tuple(of), by if by is None or isinstance(by, str) else tuple(by)
        if key not in self.made:
            self.made[key] = DerivativeKernel(self, "jacobian", partial(jacobian_of, self.__name__, *key), lambda d: ())
        return self.made[key]

    def hessian(self, of: int | Sequence[int] | None = None, by: str | Sequence[str] | None = None) -> "DerivativeKernel":
        """The Jacobian of the Jacobian as a kernel, (..., result, first, second). By coordinates on a group it is the derivative along
        the second direction of that along the first, and not symmetric."""
        return self.jacobian(of, by).jacobian(by=by)

    def by_components(self, what: str, by: tuple[int, ...]) -> "DerivativeKernel":
        """The "jvp", "vjp" or "jacobian" by arguments of these numbers, as torch, JAX and CasADi have it: q is a vector like any other, and
        derivatives by it have an entry for each component (see quantities/components.py)."""
        components = lambda d: ByComponents(d, self.robot.lowered.plain(), by)
        function, more = lambda d: components(d).function(what), lambda d: components(d).more(what)
        return self.made.once(lambda: DerivativeKernel(self, what, function, more, derived=self.derived), what, by)

    def derived(self, arrays=None) -> Derived:
        """Its derivatives as functions of one sample, those of results that are coordinates component by component."""
        return self._derived(self.function, arrays)

    def derived_along(self, arrays=None) -> Derived:
        """Its derivatives as functions of one sample, those of results that are coordinates along the group."""
        return self._derived(self._local, arrays) if self.coordinates else self.derived(arrays)

    def _derived(self, function: Callable, arrays) -> Derived:
        inputs = self.kernel(arrays).inputs

        def make() -> Derived:
            on_group = {x.name: partial(coordinate_rates, self.robot.lowered.plain()) for x in inputs if x.name in COORDINATES}
            return Derived(self.__name__, function, inputs, on_group)

        return self.made.once(make, function)

    def _local(self, *arguments):
        """Its results, of coordinates q their difference from a q that stands still: zero, with the derivative along the group."""
        results = self.function(*arguments)
        parts, nodes = list(results) if isinstance(results, tuple) else [results], self.robot.lowered.plain()
        for n in self.coordinates:
            parts[n] = difference(nodes, still(parts[n]), parts[n])
        return tuple(parts) if isinstance(results, tuple) else parts[0]


COORDINATES = "q", "q0", "q1"


def jacobian_of(name: str, of, by, derived: Derived) -> Callable:
    """The Jacobian of some results by some arguments, as a user says them."""
    names, count = [x.name for x in derived.inputs], len(derived.results)
    chosen = range(count) if of is None else (of,) if isinstance(of, int) else of
    said = names if by is None else (by,) if isinstance(by, str) else by
    for n in chosen:
        if not isinstance(n, int) or not 0 <= n < count:
            raise OptionError(f"{name} has no result {n!r}; its results are numbered 0 to {count - 1}.")
    for x in said:
        if x not in names:
            raise UnknownNameError(f'{name} has no argument "{x}".{did_you_mean(x, names)}')
    return partial(derived.jacobian, tuple(chosen), tuple(names.index(x) for x in said))


class DerivativeKernel(RobotKernel):
    """A derivative of another kernel; it takes what that takes, and rates or weights after it."""

    def __init__(self, of: RobotKernel, what: str, function: Callable[[Derived], Callable], more: Callable[[Derived], Iterable[Input]],
                 rolled: Callable[[Rolled], Rolled] | None = None, derived: Callable | None = None):  # fmt: skip
        """Of a straight-line kernel the `function` and what `more` it takes, of a loop over nodes `rolled`, if there is one; `derived` are
        its derivatives, along the group if that is not said."""
        source = derived or of.derived_along
        call = lambda *arguments: function(source(arguments))(*arguments)
        super().__init__(of.robot, call, f"{of.__name__}_{what}", f"The {what} of {of.__name__}.")
        self.of, self._source, self._more, self._roll = of, source, more, rolled
        self._rolled: Rolled | None = None

    def rolled(self, arrays=None):
        if self._rolled is None and self._roll is not None and (of := self.of.rolled(arrays)) and of.differentiable:
            self._rolled = self._roll(of)
        return self._rolled

    def inputs(self, arrays=None):
        if (rolled := self.rolled(arrays)) is not None:
            return rolled.inputs
        derived = self._source(arrays)
        return (*derived.inputs, *self._more(derived))

    def argument(self, n):
        return self.of.argument(n)

    @property
    def compiled(self):
        return self.of.compiled

    def __repr__(self):
        return f"<kernel {self.__name__} of {self.robot.model.name}>"


class QuantityKernel(RobotKernel):
    """A declared quantity as a kernel: what a method of the robot computes, with derivatives."""

    def __init__(
        self, robot, kernel: Kernel, roll: Callable[[], Rolled | None] = lambda: None, coordinates: tuple[int, ...] = ()
    ):
        """`roll` gives the same as a loop over the nodes, or None."""
        super().__init__(robot, kernel.function, kernel.name, f"{kernel.name} of {robot.model.name}.", coordinates)
        self._own, self._roll = kernel, roll

    @property
    def decided_by(self):
        return super().decided_by if self._own.content is None else (self._own, self.coordinates)

    @cached_property
    def _rolled(self) -> Rolled | None:
        return self._roll()

    def rolled(self, arrays=None):
        return self._rolled

    def inputs(self, arrays=None):
        return self._own.inputs

    @property
    def compiled(self):
        return self.robot.compiled


class UserKernel(RobotKernel):
    """A function of one sample, written with NumPy and the robot's methods.

    Arguments called q, v, vdot, tau, dv, external are the robot's; the others have the shapes given, or the shapes they
    have in the first call, less the batch axes that q (or v ...) has there. What the function takes from around it is read once,
    when it is traced.
    """

    def __init__(self, robot, function: Callable, shapes: dict, coordinates: tuple[int, ...] = ()):
        if not callable(function):
            raise TraceError(f"{function!r} is not a function; robot.kernel takes one of arrays of one sample, such as q and v.")
        super().__init__(robot, function, getattr(function, "__name__", "kernel"), function.__doc__, coordinates)
        self._why = ""  # it is no loop over the joints
        self.names = []
        for name, parameter in signature(function).parameters.items():
            if parameter.kind not in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
                raise TraceError(f"{self.__name__}: a kernel takes plain arguments, not *{name} or keyword-only ones.")
            self.names.append(name)
        known = {name: robot.lowered.shape(SIZES[name]) for name in self.names if name in SIZES}
        if strangers := set(shapes) - set(self.names):
            raise TraceError(f"{self.__name__} has no argument {min(strangers)}; its arguments are {', '.join(self.names)}.")
        self.shapes = {**known, **{name: as_shape(name, shape) for name, shape in shapes.items()}}

    def inputs(self, arrays=None):
        if arrays is not None and len(arrays) < len(self.names):
            self.check_count(self.names, len(arrays))
        shapes = {**self.shapes, **self._seen(arrays)}
        return tuple(self.robot.lowered.input(n, shapes[n]) for n in self.names)

    def rolled(self, arrays=None):
        robot = self.robot
        if not robot.rolled or not robot.nv or robot.constraints is not None or not robot.lowered.is_rigid:
            return None
        return self.made.once(lambda: self._rolled(self.inputs(arrays)))

    def _rolled(self, inputs: tuple[Input, ...]) -> Rolled | None:
        try:
            return Rolled.of_function(self.__name__, self.robot.lowered.nodes, self.function, inputs)
        except Exception as error:  # it is straight-line code, which fails by itself if the function is wrong
            self._why = str(error)
            return None

    def kernel(self, arrays=None):
        try:
            return super().kernel(arrays)
        except TraceError as error:
            if self._why:
                error.add_note(f"{self.__name__} is not traced as loops over the joints either: {self._why}")
            raise

    def _seen(self, arrays) -> dict[str, tuple[int, ...]]:
        """Shapes of arguments that were not declared, from the arrays of a call."""
        unknown = [name for name in self.names if name not in self.shapes]
        if not unknown:
            return {}
        shapes = dict(zip(self.names, [np.shape(x) for x in arrays])) if arrays is not None else {}
        batch = next((len(shapes[n]) - len(self.shapes[n]) for n in self.names if n in self.shapes and n in shapes), -1)
        if batch < 0:
            raise TraceError(
                f"{self.__name__}: the shape of {unknown[0]} is not known. Say it, for a vector of 3: robot.kernel({unknown[0]}=3)(fn)."
            )
        return {name: shapes[name][batch:] for name in unknown}


def as_shape(name: str, shape) -> tuple[int, ...]:
    """A shape as the user may say it: 3, or (2, 3)."""
    try:
        sizes = tuple(map(index, shape)) if isinstance(shape, Sequence) else (index(shape),)
    except TypeError:
        sizes = (-1,)
    if any(n < 0 for n in sizes):
        raise ShapeError(f"{name} was said to have shape {shape!r}; a shape is a whole number, or several: 3, (2, 3) or ().")
    return sizes
