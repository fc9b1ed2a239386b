"""The times of a run: multiples of dt, counted as integers, and sums whose rounding is kept."""

from math import floor

import numpy as np

from ...errors import SimulationError
from ...lie.scalars import opaque

SLACK = 1e-9  # fraction of a step: two times nearer than that are equal


class Grid:
    """Multiples of dt from a start; two times nearer than `slack` are the same time of the grid."""

    def __init__(self, start: float, dt: float | None, t: float, until: float):
        """The run goes from t to a time."""
        self.start, self.dt = start, dt
        gap = float(np.spacing(max(abs(t), abs(until), abs(start))))
        if dt is not None and dt < 8 * gap:
            raise SimulationError(
                f"dt is {dt} s, but times near {t:.6g} s differ by {gap:.1g} s at least. "
                "Take a longer dt, or count time from a start nearer to zero."
            )
        self.slack = max(SLACK * (dt or 0.0), 2 * gap)
        self.last: dict[int, tuple[float, float]] = {}  # the times that were asked for last

    def number(self, t: float) -> int:
        """The number of the last time of the grid that is not after t."""
        return 0 if self.dt is None else floor((t - self.start + self.slack) / self.dt)

    def numbers(self, t: np.ndarray) -> np.ndarray:
        """The same for many times."""
        return np.floor((t - self.start + self.slack) / (self.dt or 1.0)).astype(int)

    def within(self, t0, late0, h, t1) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The times of the grid within steps (m,) from t0 + late0 to t1, which are h long: of each its step, its number, the time, and
        the fraction of the step."""
        first, last = self.numbers(t0), self.numbers(t1)
        total = last - first
        s = np.repeat(np.arange(len(total)), total)
        numbers = first[s] + 1 + np.arange(len(s)) - np.repeat(np.cumsum(total) - total, total)
        times = self.times(numbers)
        times = np.where(times > t1[s] - self.slack, t1[s], times)
        return s, numbers, times, np.minimum(((times - t0[s]) - late0[s]) / h[s], 1.0)

    def times(self, k: np.ndarray) -> np.ndarray:
        """The times of these numbers."""
        return later(self.start, 0.0, k * (self.dt or 0.0))[0]

    def time(self, k: int) -> tuple[float, float]:
        """Time k of the grid, and what its rounding leaves out."""
        if k not in self.last:
            if len(self.last) > 2:
                self.last.clear()
            self.last[k] = later(self.start, 0.0, k * (self.dt or 0.0))
        return self.last[k]


def later(t, late, h):
    """The time h after t + late, and what its rounding leaves out (Knuth's sum of two numbers)."""
    h = opaque(late + h)
    there = opaque(t + h)
    moved = opaque(there - t)
    return there, (t - (there - moved)) + (h - moved)
