"""Trajectory: the result of a simulation."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike

import numpy as np

from ..dynamics import Dynamics
from ..errors import SimulationError
from . import archive, export
from .events import Occurrence
from .interpolate import interpolated
from .run import Carry, Run, Settings

ROWS = "t", "q", "v", "vdot", "tau"


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """Times t (n,), coordinates q (n, nq), velocities v, accelerations vdot and controls tau (n, nv) of a run.

    A time appears twice at a jump: before and after. `tau` is the sum of the controls, without the passive forces of the
    joints. `status` is "finished", "event" (a terminal one), "stopped" (by Ctrl-C or on_step) or "failed"; `message`
    gives the time, place and reason, and `error` is the exception if there was one.
    """

    robot: Dynamics
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    vdot: np.ndarray
    tau: np.ndarray
    events: tuple[Occurrence, ...] = ()
    status: str = "finished"
    message: str = ""
    error: Exception | None = None
    steps: int = 0
    rejected: int = 0
    evaluations: int = 0
    settings: Settings = field(default_factory=Settings)
    carry: Carry = field(default_factory=Carry)

    def __post_init__(self):
        for name in ROWS:
            getattr(self, name).flags.writeable = False

    @staticmethod
    def of(run: Run) -> "Trajectory":
        """The trajectory of a run that has ended."""
        return Trajectory(
            run.robot,
            **run.record.columns(),
            events=tuple(run.occurrences),
            status=run.status,
            message=run.message,
            error=run.error,
            steps=run.steps,
            rejected=run.integrator.rejected,
            evaluations=run.flow.evaluations,
            settings=run.settings,
            carry=run.carry,
        )

    # --- one row, some rows, times in between

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, key):
        """(q, v) of one row, or the trajectory of a slice of them."""
        if isinstance(key, slice):
            rows = {name: getattr(self, name)[key] for name in ROWS}
            if not len(rows["t"]):
                raise SimulationError(f"rows {key.start}:{key.stop}:{key.step} of a trajectory of {len(self)} rows: none are left.")
            first, last = rows["t"].min(), rows["t"].max()
            events = tuple(event for event in self.events if first <= event.t <= last)
            carry = self.carry if last == self.t[-1] else Carry(self.carry.grid)
            return replace(self, **rows, events=events, carry=carry)
        return self.q[key], self.v[key]

    def __iter__(self) -> Iterator:
        return zip(self.q, self.v)

    def __call__(self, t) -> tuple[np.ndarray, np.ndarray]:
        """(q, v) at any times within the run, interpolated on the group."""
        t = np.asarray(t, float)
        if not ((self.t[0] <= t) & (t <= self.t[-1])).all():
            raise SimulationError(
                f"the trajectory runs from {self.t[0]:.6g} s to {self.t[-1]:.6g} s; asked for {t.min():.6g} s to {t.max():.6g} s."
            )
        return interpolated(self, t)

    def at(self, t) -> "Trajectory":
        """The trajectory at other times (n,), by interpolation."""
        t = np.atleast_1d(np.asarray(t, float))
        q, v = self(t)
        i = np.searchsorted(self.t, t, side="right") - 1
        tau = self.tau[i] if archive.is_held(self.settings.control) else _linear(self.t, self.tau, t, i)
        return replace(self, t=t.copy(), q=q, v=v, vdot=_linear(self.t, self.vdot, t, i), tau=tau)

    # --- quantities along it

    @cached_property
    def kinetic_energy(self) -> np.ndarray:
        return self.robot.kinetic_energy(self.q, self.v)

    @cached_property
    def potential_energy(self) -> np.ndarray:
        """Of gravity and springs."""
        return self.robot.potential_energy(self.q)

    @cached_property
    def energy(self) -> np.ndarray:
        return self.kinetic_energy + self.potential_energy

    @cached_property
    def momentum(self) -> np.ndarray:
        """About the centre of mass, world axes, angular first (n, 6)."""
        return self.robot.centroidal_momentum(self.q, self.v)

    @cached_property
    def center_of_mass(self) -> np.ndarray:
        return self.robot.center_of_mass(self.q)

    @cached_property
    def poses(self) -> np.ndarray:
        """World from body (n, nb, 4, 4)."""
        return self.robot.poses(self.q)

    def pose(self, body: str) -> np.ndarray:
        """World from one body or frame (n, 4, 4)."""
        return self.robot.pose(self.q, body)

    @cached_property
    def q_names(self) -> list[str]:
        """The name of each coordinate: its joint, with an index if the joint has several."""
        return export.names(self.robot, self.robot.nq, self.robot.q_index)

    @cached_property
    def v_names(self) -> list[str]:
        return export.names(self.robot, self.robot.nv, self.robot.v_index)

    # --- continuing

    def resume(self, until: float, **changes) -> "Trajectory":
        """Continue the run to a later time and return the whole trajectory; arguments of `simulate` may be changed.

        The step length and the outputs of held controllers are those at the end of this run.
        """
        from .simulate import checked, checked_until, limit_settings

        if "limits" in changes:
            default = self.settings.restitution if changes["limits"] else 0.0
            limits, restitution = limit_settings(changes["limits"], changes.get("restitution", default))
            changes |= {"limits": limits, "restitution": restitution}
        settings = replace(self.settings, **changes)
        if missing := [name for name in archive.FUNCTIONS if archive.is_missing(getattr(settings, name))]:
            given = ", ".join(f"{name}=..." for name in missing)
            raise SimulationError(f"a file does not hold functions: resume(until={until}, {given}) must pass them again.")
        checked(self.robot, settings)
        q, v, t = self.q[-1].copy(), self.v[-1].copy(), float(self.t[-1])
        run = Run(self.robot, settings, t, q, v, checked_until(until, t), replace(self.carry, goes_on=True))
        run.go()
        return self.joined(Trajectory.of(run))

    def joined(self, later: "Trajectory") -> "Trajectory":
        """This trajectory followed by one that begins with its last row."""
        rows: dict = {name: np.concatenate([getattr(self, name)[:-1], getattr(later, name)]) for name in ROWS}
        counts = {name: getattr(self, name) + getattr(later, name) for name in ("steps", "rejected", "evaluations", "events")}
        return replace(later, **rows, **counts)

    # --- files and tables

    def save(self, path: str | PathLike) -> None:
        """Write one .npz file: the rows, the model and the settings, without functions."""
        archive.save(path, self)

    @staticmethod
    def load(path: str | PathLike) -> "Trajectory":
        """Read a saved trajectory. Nothing in the file is executed."""
        model, settings, columns = archive.load(path)
        carry = Carry(**columns.pop("carry"))
        events = tuple(Occurrence(*event) for event in columns.pop("events"))
        return Trajectory(Dynamics(model), settings=Settings(**settings), carry=carry, events=events, **columns)

    def to_pandas(self):
        """A DataFrame, a row for each time, columns q.<joint>, v.<joint>, tau.<joint> and the energies."""
        return export.to_pandas(self)

    def to_xarray(self):
        """A Dataset over time, with joints and bodies by name."""
        return export.to_xarray(self)

    def __repr__(self) -> str:
        ended = "" if self.status == "finished" else f", {self.status}"
        times = f"{self.t[0]:.6g} to {self.t[-1]:.6g} s"
        return f"<Trajectory of {self.robot.model.name}: {times}, {len(self)} rows, {self.settings.method}{ended}>"

    def __str__(self) -> str:
        lines = [repr(self)[1:-1], f"{self.steps} steps, {self.rejected} rejected, {self.evaluations} evaluations"]
        lines += [f"{self.status}: {self.message}"] * bool(self.message)
        lines += [f"t = {event.t:.9g} s: {event.name}" for event in self.events[:10]]
        lines += [f"... and {len(self.events) - 10} more events"] * (len(self.events) > 10)
        return "\n".join(lines)


def _linear(times, values, t, i):
    """values between rows i and i + 1, by linear interpolation."""
    j = np.minimum(i + 1, len(times) - 1)
    h = times[j] - times[i]
    x = np.where(h > 0, (t - times[i]) / np.where(h > 0, h, 1.0), 0.0)[:, None]
    return (1 - x) * values[i] + x * values[j]
