"""State: all that a run knows between two steps. A run that goes on from one has the bits of a run that was not stopped.

Each part of a run declares its state here, a field for each thing that steps change. Checkpoints, resumed runs and files follow from
the fields and their annotations: `Part` copies them, `fitted` compares them with the sizes of a robot, `formats/data.py` writes and reads
them.
"""

from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Annotated, Any, ClassVar, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

# --- arrays, by the type of their numbers, unless that is float, and their sizes

Coordinates = Annotated[np.ndarray, "nq"]
Velocities = Annotated[np.ndarray, "nv"]  # one number for each velocity
Rough = Annotated[np.ndarray, bool, "nv"]  # whether, of each velocity
Rows = Annotated[np.ndarray, int, "rows"]  # indices of velocities
Points = Annotated[np.ndarray, "points"]  # contact points
WhichPoints = Annotated[np.ndarray, bool, "points"]
Values = Annotated[np.ndarray, "events"]
Square = Annotated[np.ndarray, "n", "n"]
Local = Annotated[np.ndarray, "n"]


# --- what methods remember of earlier steps


class Released(NamedTuple):
    """The accelerations that joints at rest would have if let go, at the end of the last step of an embedded pair."""

    free: Velocities


class Collocation(NamedTuple):
    """The solver of an implicit method after a step, in local coordinates from `base`, its time counted from `origin`."""

    origin: float
    t: float
    t_old: float
    t_bound: float
    h_abs: float
    h_abs_old: float
    error_norm_old: float
    current_jac: bool  # is J that of this state?
    base: Coordinates
    y: Local
    f: Local
    J: Square
    y_old: Local
    Q: Annotated[np.ndarray, "n", 3]  # the polynomial of the last step
    LU: Annotated[np.ndarray, 3, "n", "n"] | None = None  # factors: the real ones, real and imaginary parts of the complex ones
    order: Annotated[np.ndarray, 2, "n"] | None = None  # their pivots


class Midpoints(NamedTuple):
    """Earlier steps of length h of the variational midpoint rule, from which the next one is guessed."""

    h: float
    stiff: bool  # does it take Newton's method?
    past: Annotated[np.ndarray, "steps", "nv"]
    inverse: Annotated[np.ndarray, "nv", "nv"] | None


class Impulses(NamedTuple):
    """The impulses of the last step with contact, where the next solution starts."""

    impulse: Annotated[np.ndarray, "impulses"]
    answer: Annotated[np.ndarray, "answers"] | None = None  # of Python functions, in a step that compiled code has not solved


# --- parts of a run


class Samples(NamedTuple):
    """Held controllers: the numbers of their last sampling instants, and their outputs."""

    last_calls: Annotated[np.ndarray, "holds"]
    answers: Annotated[np.ndarray, "holds", "nv"]


class Embedding(NamedTuple):
    """The choice of dependent velocities of a run whose loops are embedded: rows, dependent and independent velocities of each loop."""

    choices: tuple[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]], ...]
    pivots: tuple[float, ...]
    floor: float


class Touches(NamedTuple):
    """What contact points do; see `rest/contact_events.py`."""

    closed: WhichPoints
    slides: WhichPoints
    along: Annotated[np.ndarray, "points", 2]
    fastest: Points
    slack: Points
    force: Annotated[np.ndarray, "points", 3]
    chosen: Annotated[np.ndarray, "points", 3]
    rows: Velocities
    lifts: WhichPoints
    struck: WhichPoints
    slips: Annotated[np.ndarray, "points", 2]


class Rest(NamedTuple):
    """How fast joints and their impacts have been, which rest and slide, and what happened at this instant; see `rest/stops.py`."""

    fastest: Velocities
    speed: Velocities
    reach: Annotated[np.ndarray, "limits"]
    push: float
    sliding: Velocities
    rows: Rows
    rest: Annotated[np.ndarray, int, "resting"]
    bounds: Annotated[np.ndarray, 2, "nv"]
    stopped: Annotated[np.ndarray, bool, "limits"]
    force: Annotated[np.ndarray, "rows"]
    time: float
    loosens: bool
    let_go: Velocities
    caught: Rough
    off: Rough
    points: Touches | None


class Watched(NamedTuple):
    """What is known of functions that are watched for events, and their values where the next step starts; see `events/events.py`."""

    unresolved: Values
    noise: Values
    before: Values
    stops_before: Annotated[np.ndarray, "values"]
    resting: int | None
    onward: float
    stale: bool


class State(NamedTuple):
    """All that a run knows between two steps. What is None begins anew; so do `vdot` and `tau`, which are then computed."""

    t: float = 0.0
    late: float = 0.0  # what the rounding of t leaves out
    q: np.ndarray = np.zeros(0)
    v: np.ndarray = np.zeros(0)
    vdot: np.ndarray | None = None
    tau: np.ndarray | None = None
    start: float = 0.0  # the time from which fixed steps and rows are counted
    closed: bool = False  # is it on the constraints already?
    next_step: float | None = None  # the length that an adaptive method tries next
    creeping: int = 0  # attempts in a row at steps too short to get anywhere (see `pairs.creeping`)
    memory: Released | Collocation | Midpoints | Impulses | None = None
    controls: Samples | None = None
    keeper: Embedding | None = None
    stops: Rest | None = None
    detector: Watched | None = None

    def anew(self, first_step: float | None) -> "State":
        """This state for a run that goes on in another way: with the samples of its controllers alone."""
        kept = State(self.t, self.late, self.q, self.v, start=self.start, closed=self.closed)
        return kept._replace(next_step=self.next_step or first_step, controls=self.controls, keeper=self.keeper)


# --- states of parts, copied and compared


class Part:
    """A part of a run. All that steps change of it is its state: the attributes that the fields of `State` name."""

    State: ClassVar[Any]

    @property
    def sizes(self) -> Mapping[str, int]:
        """How long the arrays of the state are, by the names in their annotations."""
        return {}

    @property
    def state(self) -> Any:
        return self.State(*[_copied(getattr(self, name)) for name in self.State._fields])

    @state.setter
    def state(self, state) -> None:
        for name, x in zip(state._fields, state):
            part = getattr(self, name)
            if isinstance(part, Part):
                part.state = part.state if x is None else x
            else:
                setattr(self, name, _copied(x))

    def takes(self, state) -> bool:
        """Goes on from the state of an earlier part of the run, which may come from a file, if it fits."""
        here = fitted(state, self.State, self.sizes)
        if here is not None:
            self.state = here
        return here is not None


def sizes_of(robot) -> dict[str, int]:
    """The sizes of arrays of a robot."""
    return {"nq": robot.nq, "nv": robot.nv, "2 nv": 2 * robot.nv, "points": len(robot.contacts)}


def entry_shapes(kind: type, sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """The shape of one entry of each array of a kind of record, which are equally long."""
    return {name: tuple([sizes.get(dim, dim) for dim in dims]) for name, dims in _entries(kind)}


@cache
def _entries(kind) -> list[tuple[str, tuple]]:
    """The names and sizes of one entry of each array."""
    hints = zip(kind._fields, _hints(kind))
    return [(name, hint.__metadata__[1:]) for name, hint in hints if get_origin(hint) is Annotated]


def _copied(x):
    return x.copy() if isinstance(x, np.ndarray) else x.state if isinstance(x, Part) else x


def fitted(state, kind: type, sizes: Mapping[str, int]):
    """A state of this kind with arrays of its types; None where it is of another kind, or where arrays have other sizes.

    Sizes that `sizes` does not name are those of the first array that has them. Whole numbers in arrays are indices of velocities.
    """
    if state is None:
        return None
    try:
        return _of_kind(state, kind, sizes)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def _of_kind(x, hint, sizes: dict[str, int]):
    if get_origin(hint) in (Union, UnionType):
        hint = next((option for option in get_args(hint) if option is type(x)), get_args(hint)[0])
    if get_origin(hint) is Annotated:
        return _array(x, hint.__metadata__, sizes)
    if get_origin(hint) is tuple and get_args(hint)[-1] is Ellipsis:
        return tuple(_of_kind(each, get_args(hint)[0], sizes) for each in x)
    if not hasattr(hint, "_fields"):
        return x
    if type(x) is not hint:
        raise ValueError(f"a {type(x).__name__}, not a {hint.__name__}")
    sizes = dict(sizes)
    return hint(*(_of_kind(value, each, sizes) for value, each in zip(x, _hints(hint))))  # type: ignore[arg-type]


def _array(x, annotation: tuple, sizes: dict[str, int]) -> np.ndarray:
    dtype, dims = (annotation[0], annotation[1:]) if isinstance(annotation[0], type) else (float, annotation)
    array: np.ndarray = np.asarray(x, dtype)
    wanted = [sizes.setdefault(dim, n) if isinstance(dim, str) else dim for dim, n in zip(dims, array.shape)]
    if array.ndim != len(dims) or list(array.shape) != wanted:
        raise ValueError(f"an array of shape {array.shape}")
    if dtype is int and not ((array >= 0) & (array < sizes["nv"])).all():
        raise ValueError("an index out of bounds")
    return array


@cache
def _hints(kind) -> list:
    return [*get_type_hints(kind, include_extras=True).values()]
