"""Trajectory: the result of a simulation."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np

from ..dynamics import Dynamics
from ..errors import SimulationError
from ..model import coordinates
from .derivatives.sensitivity import RunSensitivity
from .events.events import Occurrence
from .methods.contact import ContactRecord
from .methods.record import End, Rows
from .rates.held import WAYS, Keeper
from .requests.capabilities import RUN, refuse
from .requests.checks import checked, checked_until, limit_settings
from .requests.features import Asked
from .requests.options import settings_of
from .requests.settings import FUNCTIONS, Settings, is_held, is_missing
from .runs.run import Run
from .state import State, sizes_of
from .storage import archive, export
from .storage.dense import Dense, Ends

ROWS = Rows._fields
AROUND = {"on_step", "progress", "every", "max_steps", "timeout"}  # settings that do not change the steps
WRITERS = {".npz": archive.save, ".csv": export.to_csv}


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """Times t (n,), coordinates q (n, nq), velocities v, accelerations vdot and controls tau (n, nv) of a run.

    A time appears twice at a jump: before and after. `tau` is the sum of the controls, without the passive forces of the
    joints. `status` is "finished", "event" (a terminal one), "stopped" (by Ctrl-C, on_step or timeout) or "failed"; `message`
    gives the time, place and reason, and `error` is the exception if there was one.

    Between rows the motion is that of the integrator, by its dense output, put back on the constraints: `run(t)`, `run.at(t)`.
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
    state: State | None = None  # where the run ended: all that it needs to go on
    dense: Dense | None = None
    contact: ContactRecord | None = None  # of each step with method "contact", of each row with others

    def __post_init__(self):
        for name in ROWS:
            getattr(self, name).flags.writeable = False
        if self.dense is None:
            object.__setattr__(self, "dense", self._of_rows())

    def _of_rows(self) -> Dense:
        """The dense output that the rows are, if they are the ends of all steps."""
        s, missing = self.settings, ""
        if s.every > 1 or s.stores_grid:
            missing = "its rows are not all steps, and the file is of an older format"
        return Dense((Ends(self.rows, is_held(s.control)),), missing)

    @property
    def rows(self) -> Rows:
        """All rows: t, q, v, vdot, tau."""
        return Rows(self.t, self.q, self.v, self.vdot, self.tau)

    @staticmethod
    def of(run: Run) -> "Trajectory":
        """The trajectory of a run that has ended."""
        rows = Rows(**run.stored.rows.columns())
        return Trajectory(
            run.robot,
            *rows,
            events=tuple(run.occurrences),
            status=run.status,
            message=run.message,
            error=run.error,
            steps=run.steps,
            rejected=run.flow.rejected,
            evaluations=run.flow.evaluations,
            settings=run.settings,
            state=run.state,
            dense=run.stored.dense.result(rows, run.stored.rows),
            contact=run.stored.contact,
        )

    @property
    def end(self) -> End:
        """Returns where the run ended; a last row at a multiple of dt may be rounded otherwise."""
        return End(*self.last_state[:1], *self.last_state[2:4])

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
            contact = self.contact
            if contact is not None and np.array_equal(contact.t, self.t):  # of the rows
                contact = ContactRecord(*(x[key] for x in contact))
            return replace(self, **rows, events=events, dense=self._dense.between(first, last), contact=contact)
        return self.q[key], self.v[key]

    def __iter__(self) -> Iterator:
        return zip(self.q, self.v)

    def __call__(self, t) -> tuple[np.ndarray, np.ndarray]:
        """(q, v) at any times within the run: the integrator's own motion within its steps, put back on the constraints.

        Its order is 4 for rk45, 7 for dop853, 3 for stiff and rosenbrock, and that of the method for rk4, midpoint and euler.
        """
        t = np.asarray(t, float)
        q, v, _, _ = self._between(t.ravel())
        return q.reshape(*t.shape, q.shape[-1]), v.reshape(*t.shape, v.shape[-1])

    def at(self, t) -> "Trajectory":
        """The trajectory at other times (n,); vdot is the slope of v, tau is linear within each step."""
        t = np.atleast_1d(np.asarray(t, float))
        q, v, vdot, tau = self._between(t)
        dense = self._dense.between(t.min(), t.max()) if len(t) else self._dense
        return replace(self, t=t.copy(), q=q, v=v, vdot=vdot, tau=tau, dense=dense)

    @property
    def _dense(self) -> Dense:
        assert self.dense is not None
        return self.dense

    def _between(self, t) -> list[np.ndarray]:
        """q, v, vdot and tau at times t (m,); those of a row where there is one."""
        if not len(t):
            return [getattr(self, name)[:0] for name in ROWS[1:]]
        first, last = self.t.min(initial=np.inf), self.t.max(initial=-np.inf)
        if not ((first <= t) & (t <= last)).all():
            raise SimulationError(f"the trajectory runs from {first:.6g} s to {last:.6g} s; asked for {t.min():.6g} s to {t.max():.6g} s.")
        i = np.searchsorted(self.t[self._order], t, side="right") - 1
        i = self._order[i]
        between = self.t[i] != t
        out = [getattr(self, name)[i] for name in ROWS[1:]]
        if between.any():
            for x, values in zip(out, self._interpolated(t[between])):
                x[between] = values
        return out

    @cached_property
    def _order(self) -> np.ndarray:
        return np.argsort(self.t, kind="stable")

    def _interpolated(self, t) -> list[np.ndarray]:
        dense, s = self._dense, self.settings
        if not dense.parts:
            raise SimulationError(
                f"the run has {len(self)} rows and no dense output ({dense.missing}), so that its motion between rows is not known. "
                "Ask for times of rows, or simulate again with dense=True."
            )
        if dense.missing:
            said = "between rows the motion is a quartic through the rows, which may be far from that of the run"
            warnings.warn(f"{said}: it has no dense output ({dense.missing}).", stacklevel=4)
        q, v, vdot, tau = dense.at(self.robot, t)
        if s.constraints in WAYS:
            keep = None if is_missing(s.keep) else s.keep
            q, v = Keeper(self.robot, "project", keep).back(t, q, v)
        return [q, v, vdot, tau]

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
    def sensitivity(self) -> RunSensitivity:
        """Derivatives of the states of all rows: run.sensitivity(by=("state", "mass"))["mass"]."""
        return RunSensitivity(self)

    @cached_property
    def q_names(self) -> list[str]:
        """The name of each coordinate: its joint, with an index if the joint has several."""
        return coordinates.entry_names(self.robot.model)[0]

    @cached_property
    def v_names(self) -> list[str]:
        return coordinates.entry_names(self.robot.model)[1]

    # --- continuing

    def resume(self, until: float, **changes) -> "Trajectory":
        """Continue the run to a later time and return the whole trajectory; arguments of `simulate` may be changed.

        The step length and the outputs of held controllers are those at the end of this run.
        """
        changes = settings_of(changes, ("control", "external", "events", "on_step", "progress", "timeout"), "resume")
        if "limits" in changes:
            default = self.settings.restitution if changes["limits"] else 0.0
            limits, restitution = limit_settings(changes["limits"], changes.get("restitution", default))
            changes |= {"limits": limits, "restitution": restitution}
        if unknown := next((name for name in changes if name in ("statistics", "store")), None):
            raise SimulationError(f"{unknown} is of ensembles; a run that is resumed keeps its rows as before.")
        if "events" in changes and (events := tuple(changes.pop("events"))) != self.settings.events:
            changes["events"] = events
        settings = replace(self.settings, **changes)
        if missing := [name for name in FUNCTIONS if is_missing(getattr(settings, name))]:
            given = ", ".join(f"{name}=..." for name in missing)
            raise SimulationError(f"a file does not hold functions: resume(until={until}, {given}) must pass them again.")
        checked(self.robot, settings)
        refuse(Asked.of(self.robot, settings), RUN)
        changed = {name for name in changes if not is_missing(getattr(self.settings, name))} - AROUND
        if not len(self) or self.t[-1] < self.t.max():
            raise SimulationError("rows are not in order of time, so that the last one is not the end of the run: resume the run itself.")
        state = self.last_state
        if changed or state.vdot is None:
            state = state.anew(settings.first_step)._replace(closed=not changed & {"constraints", "keep", "tolerance"})
            state = state._replace(controls=None if "control" in changed else state.controls)
        run = Run(self.robot, settings, state, checked_until(until, state.t))
        run.go()
        return self.joined(Trajectory.of(run))

    @property
    def last_state(self) -> State:
        """The state of the last row, which is more than a row if the run ended there; rows at multiples of dt are rounded otherwise."""
        s, t, q, v = self.state or State(), float(self.t[-1]), self.q[-1].copy(), self.v[-1].copy()
        if s.t == t and all(np.allclose(x, y, rtol=1e-12, atol=1e-12) for x, y in ((s.q, q), (s.v, v))):
            return s
        return State(t, 0.0, q, v, start=s.start, closed=True)

    def joined(self, later: "Trajectory") -> "Trajectory":
        """This trajectory followed by one that begins with its last row."""
        rows: dict = {name: np.concatenate([getattr(self, name)[:-1], getattr(later, name)]) for name in ROWS}
        counts = {name: getattr(self, name) + getattr(later, name) for name in ("steps", "rejected", "evaluations", "events")}
        dense = self._dense.joined(later._dense)
        if len(dense.parts) == 1 and isinstance(dense.parts[0], Ends) and np.array_equal(dense.parts[0].t, rows["t"]):
            dense = Dense((Ends(Rows(**rows), dense.parts[0].held),))  # the same arrays, not twice
        contact = None
        if self.contact is not None and later.contact is not None:
            rows_of = len(self.contact.t) - np.array_equal(self.contact.t, self.t)  # of rows, the last is the first of the later ones
            contact = ContactRecord(*(np.concatenate([a[:rows_of], b]) for a, b in zip(self.contact, later.contact)))
        return replace(later, **rows, **counts, dense=dense, contact=contact)

    # --- files and tables

    def save(self, path: str | PathLike) -> None:
        """Write one file: .npz has the rows, the dense output, the model and the settings, without functions; .csv is a table.

        The file is written beside the old one and then takes its place, so that one of them is there whatever happens.
        """
        suffix = Path(path).suffix.lower()
        if suffix not in WRITERS:
            raise SimulationError(f"a run is saved as .npz, to be loaded again, or as .csv, a table; not as {Path(path).name}.")
        WRITERS[suffix](path, self)

    @staticmethod
    def load(path: str | PathLike) -> "Trajectory":
        """Read a saved trajectory. Nothing in the file is executed."""
        if Path(path).suffix.lower() == ".csv":
            raise SimulationError(f"{path} is a table; a run is loaded from the .npz file that `save` writes.")
        with archive.damage_explained(path):
            file, rows = archive.load(path)
            robot = Dynamics(file.model)
            checked(robot, replace(file.settings, keep=None))
            refuse(Asked.of(robot, replace(file.settings, keep=None)), RUN)
            rows, file = archive.of_sizes(rows, file, sizes_of(robot))
            return Trajectory(robot, *rows, **{name: getattr(file, name) for name in archive.OF_RUN})

    to_pandas, to_xarray = export.to_pandas, export.to_xarray

    def __repr__(self) -> str:
        ended = "" if self.status == "finished" else f", {self.status}"
        times = f"{self.t[0]:.6g} to {self.t[-1]:.6g} s" if len(self) else "no times"
        return f"<Trajectory of {self.robot.model.name}: {times}, {len(self)} rows, {self.settings.method}{ended}>"

    def __str__(self) -> str:
        lines = [repr(self)[1:-1], f"{self.steps} steps, {self.rejected} rejected, {self.evaluations} evaluations"]
        lines += [f"{self.status}: {self.message}"] * bool(self.message)
        lines += [f"t = {event.t:.9g} s: {event.name}" for event in self.events[:10]]
        lines += [f"... and {len(self.events) - 10} more events"] * (len(self.events) > 10)
        return "\n".join(lines)
