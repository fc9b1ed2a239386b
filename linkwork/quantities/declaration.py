"""What a quantity is: a function of a system and a state, with one declaration beside it.

Everything else is read from here: the checks of the method of `Dynamics`, plain, compiled, rolled and GPU runs, export to C
and symbols, variation of constants, use inside a user's kernel, the tables in the documentation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Flag, auto
from functools import cached_property
from inspect import Parameter, signature
from typing import Any

from ..engine.loading.cache import is_ours
from ..errors import UnknownNameError, did_you_mean

SIZES: dict[str, tuple[str | int, ...]] = {
    "q": ("nq",),
    "q0": ("nq",),
    "q1": ("nq",),
    "v": ("nv",),
    "dv": ("nv",),
    "vdot": ("nv",),
    "tau": ("nv",),
    "external": ("nb", 6),
}  # shapes of one sample, by the name of the argument; a user's kernel knows them too
STRAIGHT_UP_TO = 128  # velocities; beyond, kernels loop over the nodes: straight-line code of a sweep is 2 to 15 times as fast
MATRICES_UP_TO = 250  # velocities: straight-line code of a matrix is 5 to 60 times as fast as a loop for each of its columns,
ENTRIES_UP_TO = 4000  # of half of the mass matrix that are not zero: as long as it compiles within seconds
STEPS_UP_TO = 80  # velocities: steps of a single simulation that are compiled as a whole, which takes as long as it runs beyond
DEVICE_UP_TO = 80  # velocities, on a GPU, where nothing longer has been measured
PRODUCTS_UP_TO = 80  # velocities: what takes as many operations as a product of matrices, or has three indices
PRODUCT_ENTRIES_UP_TO = 1000  # of half of the mass matrix: what is solved for each column of a chain of 50 has a million operations
OWN: dict[str, tuple] = {"momentum": (6,)}
OWN |= dict.fromkeys(("given", "prescribed", "dq", "dvdot", "dtau", "weight", "eta", "zeta", "p"), ("nv",))
ARRAYS = SIZES | OWN


class Honours(Flag):
    """What acts on a mechanism, or binds it, besides its joints. A quantity says which of these it takes into account."""

    NOTHING = 0
    GRAVITY = auto()
    LOOPS = auto()
    COUPLINGS = auto()  # gears, mimic joints, linear relations
    ROLLING = auto()  # rolling, knife edges, and velocity rows given by the user
    DRIVES = auto()  # joints that follow a function of time
    JOINT_SPRINGS = auto()  # stiffness and damping of joints
    FRICTION = auto()  # dry friction of joints
    POINT_FORCES = auto()  # springs and pushes between points
    EXTERNAL = auto()  # wrenches on bodies, given in the call
    CONSTRAINTS = LOOPS | COUPLINGS | ROLLING | DRIVES
    PASSIVE = JOINT_SPRINGS | FRICTION | POINT_FORCES

    def __str__(self) -> str:
        return ", ".join(each.name.lower().replace("_", " ") for each in Honours if each in self and each.name) or "nothing"


@dataclass(frozen=True)
class Given:
    """The name of an optional array that is given, among options of a quantity that may be names of bodies."""

    name: str


@dataclass(frozen=True, eq=False)
class Quantity:
    """A declared quantity."""

    function: Callable  # of (system, inputs..., options...), over any scalar
    result: tuple  # the shape of one sample's result; a tuple of such tuples for several results
    honours: Honours
    of_joints: bool = False  # does it concern the joints alone, not which body has which inertia?
    product: "tuple[Quantity, str] | None" = None  # for long chains: the product of this matrix with a vector, and the vector's name
    options: Callable | None = None  # (model, *what the user says) -> what the function takes after its inputs
    rolls: bool = True  # can its sweep be rolled into a loop over the nodes?
    long: Callable | None = None  # where it cannot: how it is composed, for long mechanisms, of quantities that can (long.py)
    straight_up_to: int | Callable[..., bool] | None = None  # velocities, or (lowered) -> bool, with straight-line code; None: by result
    of_tree: bool = False  # is it the tree's by contract, whatever binds the joints besides?
    divides_by_inertia: bool = False  # has it no value where a joint moves nothing that has inertia?
    demands: Callable | None = None  # of its inputs, in their order: raises where their numbers mean nothing
    program: Callable | None = None  # where bodies are flexible and its sweep is for rigid ones: of which program it is the derivative
    refuses: str = ""  # where constraints would change it and it does not know them: what to do instead

    @property
    def name(self) -> str:
        return self.function.__name__

    def is_straight(self, lowered) -> bool:
        """Is its kernel of a mechanism of this size straight-line code, unless something else is asked for?"""
        border = self.straight_up_to
        if border is None:
            indices = max(shape.count("nv") for shape in (self.result if self.several else (self.result,)))
            border = (STRAIGHT_UP_TO, STRAIGHT_UP_TO, few_pairs)[indices] if indices < 3 else PRODUCTS_UP_TO
        return border(lowered) if callable(border) else lowered.nv <= border

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The arrays it takes, by name."""
        return tuple(name for name, x in self._parameters.items() if name in ARRAYS and x.default is Parameter.empty)

    @cached_property
    def optional(self) -> tuple[str, ...]:
        """Arrays that may be left out."""
        return tuple(name for name, x in self._parameters.items() if name in ARRAYS and x.default is not Parameter.empty)

    def given(self, model, said) -> tuple[str, ...]:
        """Which optional arrays are given, of what a user says after the name: a text is one unless a body is called so."""
        names = (x.name if isinstance(x, Given) else x for x in said if self.is_given(model, x))
        return tuple(names)

    def is_given(self, model, x) -> bool:
        if isinstance(x, Given):
            return x.name in self.optional
        return isinstance(x, str) and x in self.optional and not (self.options and any(x == body.name for body in model.bodies))

    @cached_property
    def _parameters(self) -> dict[str, Parameter]:
        _, *rest = signature(self.function).parameters.items()
        return dict(rest)

    @cached_property
    def takes_options(self) -> bool:
        """Does a user say more than arrays? `options` may only check that a model has such a quantity."""
        return bool(self._said)

    @cached_property
    def needs_options(self) -> bool:
        """Must a user say more?"""
        return any(x.default is x.empty and x.kind is not x.VAR_POSITIONAL for x in self._said)

    @cached_property
    def _said(self) -> list[Parameter]:
        """What `options` takes after the model."""
        return [] if self.options is None else list(signature(self.options).parameters.values())[1:]

    @property
    def decided_by(self) -> str | None:
        """What tells it from others: see engine/loading/identity.py. None if it is not the library's own."""
        return self.name if is_ours(self.function) else None

    @property
    def several(self) -> bool:
        """Are there several results?"""
        return bool(self.result) and isinstance(self.result[0], tuple)

    @property
    def constrained(self) -> bool:
        """Do loops, couplings and drives enter it?"""
        return bool(self.honours & Honours.CONSTRAINTS)

    @property
    def honours_text(self) -> str:
        """What it takes into account, in words, for docstrings and tables."""
        of_tree = "; of the tree: loops, couplings and drives are not part of it" if self.of_tree else ""
        return f"Takes into account: {self.honours}{of_tree}."

    def demanding(self, run: Callable) -> Callable:
        """A run of it on arrays that raises where their numbers mean nothing."""
        if self.demands is None:
            return run
        demands, count = self.demands, len(self.inputs)

        def checked(*arrays, **options):
            demands(*arrays[:count])
            return run(*arrays, **options)

        return checked

    def __call__(self, system, *arguments) -> Any:
        return self.function(system, *arguments)


def entries(lowered) -> int:
    """Of a matrix that is zero between branches: how many it has, one for each pair of velocities of which one carries the other."""
    tree, above = lowered.nodes.tree, [0]
    for p, width in zip(tree.parent, tree.widths):
        above.append(width + (above[p + 1] if p != tree.world else 0))
    return sum(n * width for n, width in zip(above[1:], tree.widths))


def few_entries(lowered) -> bool:
    """Are the entries of such a matrix few?"""
    return lowered.nv <= MATRICES_UP_TO and entries(lowered) <= ENTRIES_UP_TO


def few_products(lowered) -> bool:
    """The same of a matrix that takes a solution for each column."""
    return lowered.nv <= PRODUCTS_UP_TO and entries(lowered) <= PRODUCT_ENTRIES_UP_TO


def few_pairs(lowered) -> bool:
    """The same of a matrix that is full, as its inverse: the entries of the mass matrix say how much work it is."""
    return lowered.nv <= STRAIGHT_UP_TO and few_entries(lowered)


QUANTITIES: dict[str, Quantity] = {}


def declared_as(model, name) -> Quantity:
    """The quantity of a name."""
    if not isinstance(name, str) or name not in QUANTITIES:
        raise UnknownNameError(f'{model.name} has no quantity "{name}".{did_you_mean(name, QUANTITIES)}')
    return QUANTITIES[name]


def quantity(result: tuple, honours: Honours, **more: Any) -> Callable:
    """Declare the function below as a quantity: the fields of `Quantity` say what each argument means."""

    def declared(function: Callable) -> Quantity:
        one = Quantity(function, result, honours, **more)
        if one.name in QUANTITIES and QUANTITIES[one.name].decided_by and not one.decided_by:
            raise ValueError(f'"{one.name}" is a quantity of linkwork. Give your function another name.')
        QUANTITIES[one.name] = one
        return one

    return declared
