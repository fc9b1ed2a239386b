"""The rows stored during a run, in arrays that grow."""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from ...dynamics import Dynamics
from ..state import entry_shapes, sizes_of


class End(NamedTuple):
    """The end of a motion, or of many: times t (...), coordinates q (..., nq), velocities v (..., nv)."""

    t: Any
    q: Any
    v: Any


class Rows(NamedTuple):
    """States one after another; the same time may be there twice, before and after a jump."""

    t: Annotated[np.ndarray, "rows"]
    q: Annotated[np.ndarray, "rows", "nq"]
    v: Annotated[np.ndarray, "rows", "nv"]
    vdot: Annotated[np.ndarray, "rows", "nv"]
    tau: Annotated[np.ndarray, "rows", "nv"]


class Growing:
    """Arrays of the same length, by name, that grow by a row at a time."""

    def __init__(self, widths: Mapping[str, tuple]):
        """`widths` are the shapes of one entry of each array."""
        self.n, self.names = 0, tuple(widths)
        self.arrays = [np.empty((256, *width)) for width in widths.values()]

    def add(self, *row) -> None:
        """Append one entry to each array."""
        if self.n == len(self.arrays[0]):
            self.arrays = [np.concatenate([x, np.empty_like(x)]) for x in self.arrays]
        for array, value in zip(self.arrays, row):
            array[self.n] = value
        self.n += 1

    def extend(self, *rows) -> None:
        """Append several entries to each array; what is no array of so many is the same for all."""
        n = self.n + len(rows[0])
        while n > len(self.arrays[0]):
            self.arrays = [np.concatenate([x, np.empty_like(x)]) for x in self.arrays]
        for array, values in zip(self.arrays, rows):
            array[self.n : n] = values
        self.n = n

    @property
    def bytes(self) -> int:
        return sum(x.nbytes for x in self.arrays)

    def columns(self) -> dict[str, np.ndarray]:
        return {name: x[: self.n].copy() for name, x in zip(self.names, self.arrays)}


class Record(Growing):
    """The rows of a run, as they are stored."""

    def __init__(self, robot: Dynamics):
        super().__init__(entry_shapes(Rows, sizes_of(robot)))

    def amend(self, t: float, vdot, tau) -> None:
        """Replace vdot and tau in the last row if it is at time t: the forces have changed there."""
        if self.n and self.arrays[0][self.n - 1] == t:
            self.arrays[3][self.n - 1], self.arrays[4][self.n - 1] = vdot, tau

    @property
    def last(self) -> float:
        """The time of the last row."""
        return float(self.arrays[0][self.n - 1])
