"""What binds a mechanism besides its joints, loops and couplings: distances, relations, given motion, rolling, functions
given by the user. What each of them demands of velocities is in `linkwork.constraints`."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..errors import ModelError
from ..lie.scalars import numbers
from ..spatial import Pose
from .forces import ORIGIN, Attached, Vector, vector

ALONG_Z: Vector = (0.0, 0.0, 1.0)


def whole_number(x) -> bool:
    """Is it a number of things, one or more?"""
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool) and int(x) > 0


@dataclass(frozen=True)
class Bond(Attached):
    """A constraint: it names joints, or bodies and frames with points and directions on those."""

    WHOLE: ClassVar[bool] = False  # a function of all coordinates, which fits no other model

    def __post_init__(self):
        for _, what in (*self.POINTS, *self.DIRECTIONS):
            if getattr(self, what) is not None:
                object.__setattr__(self, what, vector(f'constraint "{self.name}"', what, getattr(self, what)))
        for _, what in self.DIRECTIONS:
            self._demand(getattr(self, what) is None or np.any(getattr(self, what)), what, "a direction that is not zero")

    def _demand(self, good, what: str, takes: str) -> None:
        if not good:
            raise ModelError(f'constraint "{self.name}" has {what} {getattr(self, what)}; it takes {takes}.')

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints it names."""
        return ()

    def standing(self, base: str | None, at: Pose) -> "Bond":
        """Where what was the world is a pose of a body, or (None) of the world."""
        return self


class Grounded(Bond):
    """One that is about motion in the world."""

    def standing(self, base, at):
        if base is not None:
            raise ModelError(f'constraint "{self.name}" is about motion in the world: its model cannot stand on body "{base}".')
        return self


@dataclass(frozen=True)
class Distance(Bond):
    """Two points stay `length` apart, as by a rod without mass between ball joints: `at` of one body or frame (None: the
    world), `on` of another."""

    parent: str | None
    child: str
    length: float
    at: Vector = ORIGIN
    on: Vector = ORIGIN
    POINTS = (("parent", "at"), ("child", "on"))

    def __post_init__(self):
        super().__post_init__()
        takes = "a positive number of metres. For no distance close the loop with a spherical joint"
        self._demand(not numbers(self.length).ndim and 0 < numbers(self.length) < np.inf, "length", takes)

    def standing(self, base, at):
        there = (at @ Pose(translation=self.at)).translation
        return replace(self, parent=base, at=there) if self.parent is None else self


@dataclass(frozen=True)
class Linear(Bond):
    """A linear relation of several coordinates, a differential say: Σ coefficient · q(joint) = constant.

    `terms` is {joint: coefficient}, or pairs of them.
    """

    terms: tuple[tuple[str, float], ...]
    constant: float = 0.0

    def __post_init__(self):
        pairs = self.terms.items() if isinstance(self.terms, Mapping) else self.terms
        is_pair = lambda x: isinstance(x, (tuple, list)) and len(x) == 2 and isinstance(x[0], str) and not numbers(x[1]).ndim
        takes = "finite coefficients of joints, {joint: coefficient}"
        self._demand(isinstance(pairs, Iterable) and not isinstance(pairs, str) and all(map(is_pair, pairs)), "terms", takes)
        object.__setattr__(self, "terms", tuple((joint, float(numbers(x))) for joint, x in pairs))
        self._demand(self.terms and np.isfinite([x for _, x in self.terms]).all(), "terms", takes)
        self._demand(not numbers(self.constant).ndim and np.isfinite(numbers(self.constant)), "constant", "a finite number")

    @property
    def joints(self):
        return tuple(joint for joint, _ in self.terms)


@dataclass(frozen=True)
class Driven(Bond):
    """A joint follows a function of time. Without `rate` and `acceleration` they come from its trace, as those of `Holonomic`, or from
    differences where it cannot be traced."""

    joint: str
    function: Callable[[float], float]
    rate: Callable[[float], float] | None = None
    acceleration: Callable[[float], float] | None = None

    def __post_init__(self):
        super().__post_init__()
        self._demand(isinstance(self.joint, str), "joint", "the name of a joint")
        self._demand(callable(self.function), "function", "a function of time")
        for what in ("rate", "acceleration"):
            self._demand(getattr(self, what) is None or callable(getattr(self, what)), what, "a function of time, or None")

    @property
    def joints(self):
        return (self.joint,)


@dataclass(frozen=True)
class Holonomic(Bond):
    """A function given by the user, of all coordinates: function(q) (count,) = 0, or function(q, t) if it moves in time.

    Written in NumPy it becomes part of the kernels, and its derivatives are exact. Arrays that it captures are taken as they are
    when the robot is first asked. One that cannot be traced (it branches on numbers, asks for a float, or puts entries together by
    np.array: np.stack does) is called sample by sample, slowly, and its derivatives come from differences; `print(robot.constraints)`
    says why.
    """

    function: Callable
    count: int = 1
    WHOLE = True

    def __post_init__(self):
        super().__post_init__()
        self._demand(whole_number(self.count), "count", "a whole number of rows, 1 or more")


@dataclass(frozen=True)
class Pfaffian(Bond):
    """Rows given by the user: matrix(q) (count, nv), or matrix(q, t), times v is `value`: numbers, or a function value(t) of such. Also for
    quantities that are conserved and are to stay so under projection. What is said of the function of `Holonomic` holds for both."""

    matrix: Callable
    count: int = 1
    value: tuple[float, ...] | float | Callable = 0.0
    WHOLE = True

    def __post_init__(self):
        super().__post_init__()
        self._demand(whole_number(self.count), "count", "a whole number of rows, 1 or more")
        good = callable(self.value) or ((x := numbers(self.value)).shape in {(), (self.count,)} and np.isfinite(x).all())
        self._demand(good, "value", f"a finite number, {self.count} of them, or a function of t")


@dataclass(frozen=True)
class KnifeEdge(Grounded):
    """A point of a body does not move along a direction fixed in the body: a skate, or a wheel that may roll."""

    body: str
    direction: Vector
    at: Vector = ORIGIN
    POINTS = (("body", "at"),)
    DIRECTIONS = (("body", "direction"),)

    def __post_init__(self):
        super().__post_init__()
        self._demand(self.direction is not None, "direction", "a direction that is not zero")


@dataclass(frozen=True)
class Round(Grounded):
    """A disk about `axis` through `center` of a body, or a ball (axis None), and the plane normal · x = height."""

    body: str
    radius: float
    axis: Vector | None = ALONG_Z
    center: Vector = ORIGIN
    normal: Vector = ALONG_Z
    height: float = 0.0
    POINTS = (("body", "center"),)
    DIRECTIONS = (("body", "axis"),)

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "normal", vector(f'constraint "{self.name}"', "normal", self.normal))
        self._demand(not numbers(self.radius).ndim and 0 < numbers(self.radius) < np.inf, "radius", "a positive number of metres")
        self._demand(not numbers(self.height).ndim and np.isfinite(numbers(self.height)), "height", "a finite number of metres")
        self._demand(np.any(self.normal), "normal", "a direction that is not zero")

    def standing(self, base, at):
        n = at.rotation @ self.normal
        super().standing(base, at)
        return replace(self, normal=n, height=self.height + float(n @ at.translation / np.linalg.norm(n)))


@dataclass(frozen=True)
class Rolling(Round):
    """Rolls without slipping: the point that touches stands still along the plane. `Touching` keeps it there."""


@dataclass(frozen=True)
class Touching(Round):
    """The lowest point stays on the plane."""


def distances(model) -> list[Distance]:
    """Those of a model, in order."""
    return [x for x in model.constraints if isinstance(x, Distance)]
