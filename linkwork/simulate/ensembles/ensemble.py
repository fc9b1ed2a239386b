"""Ensemble: the motions of many robots, each with its own steps, made by compiled code on all threads."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...dynamics import Dynamics
from ...engine.running.device import Library
from ...errors import ShapeError, SimulationError, changed, deprecated
from ..methods.record import End
from ..runs.segments import BEYOND, CREEPING, NO_NUMBER, OFF, TOO_MANY, TOO_SHORT

FINISHED, EVENT, FAILED, STOPPED = "finished", "event", "failed", "stopped"
OLD = {"times": "t", "Q": "q", "V": "v"}  # names of rows in earlier versions
ROWS_NOW = "it has the rows of the motions, as that of a run has; where they ended is ensemble.end."
NOT_FINITE, OPEN = 11.0, 12.0  # why a sample does not start
SAID = 13.0  # its message says why it failed
REASONS = {
    TOO_SHORT: "no step is short enough: forces that jump, or tolerances below rounding",
    NO_NUMBER: "accelerations are not numbers: a force, a constant, a singular configuration or a mass matrix that is not positive",
    BEYOND: "the motion has left for numbers beyond 1e18",
    OFF: "the state cannot be put back on the constraints: the configuration is singular, or near it",
    CREEPING: "no step is short enough, down to 1e-13 of the time passed: a singular configuration, a force that jumps, or a blow-up",
    TOO_MANY: "it has made as many steps as max_steps allows: give a larger max_steps, looser tolerances, or method=\"stiff\"",
    NOT_FINITE: "its state or constants are not finite",
    OPEN: "its state does not satisfy the constraints: loops are open, or velocities break them",
}


@dataclass(frozen=True, eq=False)
class Statistic:
    """What became of a function of the state: of each sample the least and the greatest value, the mean over time, the last value."""

    least: np.ndarray
    greatest: np.ndarray
    mean: np.ndarray
    last: np.ndarray


@dataclass(frozen=True, eq=False)
class EventTimes:
    """When an event occurred: of each sample the first time, NaN if it did not, and how often it did."""

    first: np.ndarray
    count: np.ndarray


@dataclass(frozen=True, eq=False)
class Carried:
    """What a later part of an ensemble needs to go on with the same bits."""

    asked: Any  # the Request
    state: Mapping[str, Any]  # of all samples, as the compiled steps have it
    calls: np.ndarray  # (holds, samples), the numbers of the last calls of held controllers
    answers: list  # of held controllers, (samples, nv) each
    place: Any  # where the samples are
    host: Any  # what settles them
    memories: Mapping[int, Any]  # what that knows of each
    occurrences: list  # events that occurred, with their samples


class Ragged:
    """Rows t, q and v of all samples, one sample after another in three arrays; ragged[k] are those of sample k."""

    def __init__(self, starts: np.ndarray, t, q, v):
        self.starts, self.rows = starts, (t, q, v)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, k: int) -> tuple:
        return tuple(x[int(self.starts[k]) : int(self.starts[k + 1])] for x in self.rows)

    def padded(self, batch: tuple[int, ...]) -> End:
        """Arrays (batch..., n, shape...) as long as those of the sample with most rows; rows that others have not are NaN."""
        library, counts = Library(self.rows[0]), np.diff(self.starts)
        samples = np.repeat(np.arange(len(counts)), counts)
        rows = np.arange(len(samples)) - self.starts[:-1][samples]
        places, most = (tuple(library.put(x, self.rows[0]) for x in (samples, rows))), int(counts.max(initial=0))
        out = [library.full((len(counts), most, *tuple(x.shape)[1:]), np.nan, x) for x in self.rows]
        for x, values in zip(out, self.rows):
            x[places] = values
        return End(*(x.reshape((*batch, *tuple(x.shape)[1:])) for x in out))


@dataclass(frozen=True, eq=False, repr=False)
class Ensemble:
    """Rows of the motions of many samples, as those of a Trajectory with batch axes: times t, coordinates q (..., n, nq), velocities v
    (..., n, nv); `end` has t (...), q (..., nq) and v (..., nv) where each motion ended.

    Rows at multiples of dt have the same times, t (n,); those at all steps have t (..., n). Where nothing was kept on the way, the end is
    the only row. Rows after the end of a motion are NaN; ensemble.rows(i) are t, q and v of sample i without them.

    `status` is "finished", "event" (a terminal one), "failed" (`message(i)` says why) or "stopped" (by Ctrl-C or timeout: as it began,
    without rows), `steps` and `rejected` count the steps of each. `resume` goes on.
    """

    robot: Dynamics
    end: End
    status: np.ndarray
    steps: np.ndarray
    rejected: np.ndarray
    reasons: np.ndarray  # why samples failed, as numbers: see `message`
    statistics: Mapping[str, Statistic] = field(default_factory=dict)
    events: Mapping[str, EventTimes] = field(default_factory=dict)
    on_grid: End | None = None  # rows at multiples of dt, their times (n,)
    ragged: Ragged | None = None  # rows at all steps
    carried: Carried | None = None
    said: Any = None  # messages of samples that have some, by number in the flat batch

    def __len__(self) -> int:
        return self.status.size

    @cached_property
    def _rows(self) -> End:
        """All rows: times (n,) or (..., n), coordinates (..., n, nq), velocities (..., n, nv)."""
        if self.on_grid is not None:
            return self.on_grid
        if self.ragged is not None:
            return self.ragged.padded(self.status.shape)
        return End(self.end.t[..., None], self.end.q[..., None, :], self.end.v[..., None, :])

    @property
    def t(self):
        """Times of rows (n,), or (..., n) where each sample has its own."""
        changed("Ensemble.t", ROWS_NOW)
        return self._rows.t

    @property
    def q(self):
        """Coordinates of rows (..., n, nq)."""
        changed("Ensemble.q", ROWS_NOW)
        return self._rows.q

    @property
    def v(self):
        """Velocities of rows (..., n, nv)."""
        changed("Ensemble.v", ROWS_NOW)
        return self._rows.v

    def __getattr__(self, name: str):
        """Names of earlier versions."""
        if name not in OLD:
            raise AttributeError(f"an Ensemble has no attribute {name!r}")
        deprecated(f"Ensemble.{name}", f"Ensemble.{OLD[name]}")
        return None if self.on_grid is None else getattr(self.on_grid, OLD[name])

    def message(self, sample) -> str:
        """What became of one sample, given as an index of the batch; of one that failed, why."""
        number = self._number(sample)
        status, t = str(self.status[sample]), float(self.end.t[sample])
        if self.said is not None and (said := self.said.get(number, "")):
            return f"{status} at {said}" if said.startswith("t = ") else f"{status} at t = {t:.9g} s: {said}"
        return f"failed at t = {t:.9g} s: {REASONS[float(self.reasons[sample])]}" if status == FAILED else f"{status} at t = {t:.9g} s"

    def rows(self, sample) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """t, q and v of all stored rows of one sample, given as an index of the batch."""
        number = self._number(sample)
        if self.on_grid is not None:
            t, q, v = self.on_grid
            there = ~(q[sample] != q[sample]).any(-1)  # NaN is not itself
            return t[there], q[sample][there], v[sample][there]
        if self.ragged is None:
            raise SimulationError('this ensemble has no rows: simulate(..., save="steps"), or with dt=... for rows at multiples of dt.')
        return self.ragged[number]

    def _number(self, sample) -> int:
        """The number of a sample in the flat batch."""
        try:
            return int(np.arange(self.status.size).reshape(self.status.shape)[sample])
        except (IndexError, TypeError):
            raise ShapeError(f"{sample!r:.60} is no index of one sample of a batch of shape {self.status.shape}.") from None

    def resume(self, until: float | None = None, *, progress: bool | None = None, timeout: float | None = None) -> "Ensemble":
        """Continue to a later time, or finish what Ctrl-C or timeout stopped: an Ensemble with the bits of one that was not interrupted.

        Samples that were stopped begin anew, those that are finished go on with their last steps, held controllers and statistics. Those
        that failed, or that an event has ended, stay as they are. What has come to its `until` ended with a step cut short there, which a
        longer run does not have.
        """
        from ..requests.checks import checked_until
        from .ensemble_run import EnsembleRun

        was: Any = self.carried
        until = was.asked.until if until is None else checked_until(until, was.asked.until)
        asked = replace(was.asked, until=until, settings=replace(was.asked.settings, progress=progress, timeout=timeout))
        return EnsembleRun(asked, was.place, self).go()

    def _on_host(self, found: Mapping) -> dict:
        """What can be said of without a copy from a GPU."""
        return {name: x for name, x in found.items() if isinstance(self.end.t, np.ndarray) and self.end.t.size}

    def __repr__(self) -> str:
        found, counts = np.unique(self.status, return_counts=True)
        said = ", ".join(f"{n:,} {name}" for name, n in zip(found, counts))
        lines = [f"Ensemble of {self.status.size:,} {self.robot.model.name}: {said}"]
        lines += [f"{int(self.steps.sum()):,} steps, {int(self.rejected.sum()):,} rejected"]
        seen = {name: x for name, x in self._on_host(self.statistics).items() if not np.isnan(x.least).all()}
        lines += [f"{name}: {np.nanmin(x.least):.6g} to {np.nanmax(x.greatest):.6g}" for name, x in seen.items()]
        lines += [f"{name}: {int((x.count > 0).sum()):,} samples" for name, x in self._on_host(self.events).items()]
        return "\n".join(lines)
