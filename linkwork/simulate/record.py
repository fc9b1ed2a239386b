"""The rows stored during a run, in arrays that grow."""

import numpy as np

from ..dynamics import Dynamics


class Record:
    NAMES = ("t", "q", "v", "vdot", "tau")

    def __init__(self, robot: Dynamics):
        self.n = 0
        widths = (), (robot.nq,), *((robot.nv,) for _ in range(3))
        self.arrays = [np.empty((256, *width)) for width in widths]

    def add(self, *row) -> None:
        """Append a row (t, q, v, vdot, tau); the same time may be added twice, before and after a jump."""
        if self.n == len(self.arrays[0]):
            self.arrays = [np.concatenate([x, np.empty_like(x)]) for x in self.arrays]
        for array, value in zip(self.arrays, row):
            array[self.n] = value
        self.n += 1

    def amend(self, t: float, vdot, tau) -> None:
        """Replace vdot and tau in the last row if it is at time t: the forces have changed there."""
        if self.n and self.arrays[0][self.n - 1] == t:
            self.arrays[3][self.n - 1], self.arrays[4][self.n - 1] = vdot, tau

    @property
    def last(self) -> float:
        """The time of the last row."""
        return float(self.arrays[0][self.n - 1])

    def columns(self) -> dict[str, np.ndarray]:
        return {name: x[: self.n].copy() for name, x in zip(self.NAMES, self.arrays)}
