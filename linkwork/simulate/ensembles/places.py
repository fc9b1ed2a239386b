"""Where the samples of an ensemble are advanced: arrays of NumPy in vector lanes on all threads, or arrays of a GPU."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...engine.loading.kernel import Kernel
from ...engine.running.device import Library, name_of
from ...engine.running.repeat import Form, Repeat
from ..events.guard import Guard
from ..events.watch import Watch
from ..methods.interpolate import Polynomial
from ..methods.pairs import Pair
from ..runs.segments import Equations, Segments

if TYPE_CHECKING:
    from .ensemble_run import EnsembleRun


class Place(ABC):
    """The array library of the samples, and how compiled code makes their steps there."""

    ROOM: ClassVar[int]  # bytes of the rows of one call
    CAPACITY: ClassVar[int]  # rows of a sample in one call
    in_blocks: ClassVar[bool]  # are calls short, so that Ctrl-C and the progress bar are served between them?

    def __init__(self, like):
        """Arrays are of the library and the type of `like`."""
        self.like, self.library = like, Library(like)
        self.dtype = np.dtype(np.float64 if name_of(like.dtype) == "double" else np.float32)

    @abstractmethod
    def compiled(self, kernel: Kernel) -> Callable:
        """A kernel as a function of arrays of this place."""

    @abstractmethod
    def steps(self, of: Equations, pair: Pair, rows: tuple[str, ...], watch: Watch | None, guard: Guard | None, sparse: bool):
        """The compiled steps: names of their `state`, `given` inputs and `rows`, `shapes` by name, the length of the `first` step."""

    @abstractmethod
    def once(self, kernel: Kernel, states: int) -> Callable[[list], list]:
        """A kernel that makes its states anew, as a function of arrays of all that it takes."""

    @abstractmethod
    def advance(self, steps, arrays: list, capacity: int, asked: Mapping) -> tuple[list, list, np.ndarray]:
        """New states, rows (samples, capacity, ...) and the number of rows of each sample, after one call of compiled steps. What is
        `asked` of Python, see PausedBatch."""

    @abstractmethod
    def within(self, run: "EnsembleRun", t: np.ndarray, x: np.ndarray, q0, coefficients, varied: Mapping) -> tuple:
        """q and v at times t, which are fractions x of steps that begin at q0, on the constraints."""

    def capacity(self, steps, samples: int) -> int:
        """For how many rows of each sample there is room in one call."""
        if steps.sparse:
            return 1
        size = self.dtype.itemsize * sum(int(np.prod(steps.shapes.get(name, ()))) for name in steps.rows)
        return int(np.clip(self.ROOM // max(1, size * samples), 1, self.CAPACITY)) if steps.rows else 1 << 62

    def put(self, x):
        """A copy, if one is needed, of an array of NumPy."""
        return self.library.put(np.ascontiguousarray(x, self.dtype), self.like)

    def index(self, *arrays) -> tuple:
        """Numbers of samples or rows, to be used as an index."""
        return tuple(self.library.put(np.ascontiguousarray(x, np.int64), self.like) for x in arrays)

    def full(self, shape: tuple[int, ...], value: float):
        return self.library.full(shape, value, self.like)


class Lanes(Place):
    """Arrays of NumPy: each lane takes the next sample when one leaves."""

    ROOM, CAPACITY, in_blocks = 1 << 26, 64, True

    def __init__(self) -> None:
        super().__init__(np.zeros(0))

    def compiled(self, kernel: Kernel) -> Callable:
        return kernel.gufunc("d")

    def steps(self, of: Equations, pair: Pair, rows: tuple[str, ...], watch: Watch | None, guard: Guard | None, sparse: bool) -> Segments:
        return Segments(of, pair, rows, wide=True, watch=watch, guard=guard, sparse=sparse)

    def once(self, kernel: Kernel, states: int) -> Callable[[list], list]:
        repeated = Repeat(kernel, "d", Form(states, leaves=True))

        def made(arrays: list) -> list:
            repeated.rounds(arrays, [], np.zeros(len(arrays[0])), most=1)
            return arrays[:states]

        return made

    def advance(self, steps: Segments, arrays: list, capacity: int, asked: Mapping[str, Any]) -> tuple[list, list, np.ndarray]:
        samples = len(arrays[0])
        room = steps.room(samples, capacity) if steps.rows else []
        steps.run(arrays, room, counts := np.zeros(samples), capacity, **asked)
        return arrays[: len(steps.state)], room, counts.astype(int)

    def within(self, run: "EnsembleRun", t: np.ndarray, x: np.ndarray, q0, coefficients, varied: Mapping) -> tuple:
        y, n, constraints = Polynomial.value(coefficients, x[:, None]), run.own.nv, run.asked.constraints
        q, v = run.own.integrate(q0, y[:, :n]), y[:, n:]
        if constraints is None or constraints.varying is None:
            return run.asked.keeper.back(t, q, v)
        return constraints.put_back(t, q, v, varied)[:2]
