"""A trajectory as one .npz file: its rows and other arrays, and a JSON text with all else. Nothing is unpickled.

The text is a `File`; what is in it follows from the annotations of its fields (`formats/data.py`), and so do the sizes of arrays
(`state.py`).
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from ...errors import MissingFileError, ModelError, SimulationError
from ...formats.data import Reader, Writer, as_data, hints
from ...model import Model
from ..events.events import Occurrence
from ..methods.contact import ContactRecord
from ..methods.record import Rows
from ..requests.settings import FUNCTIONS, MissingFunction, Settings, is_held
from ..state import State, fitted
from .arrays import read as read_arrays
from .dense import Dense, Ends
from .old_files import converted
from .safe_file import replacing

FORMAT, VERSION = "linkwork trajectory", 6  # 3: with dense output; 4: the model as in .json files; 5: the state; 6: contact laws
OF_RUN = "status", "message", "steps", "rejected", "evaluations", "events", "settings", "state", "dense", "contact"
STATUSES = "finished", "event", "stopped", "failed"
NONE = np.zeros(0)


class File(NamedTuple):
    """What a file says beside the rows."""

    format: str
    version: int
    model: Model
    settings: Settings
    functions: tuple[str, ...]  # settings that the run had and the file has not
    holds: bool  # were all controls held?
    status: str
    message: str
    steps: int
    rejected: int
    evaluations: int
    events: tuple[Occurrence, ...]
    state: State | None = None  # at the end; the last row is its motion
    dense: Dense | None = None
    contact: ContactRecord | None = None


def save(path: str | PathLike, trajectory) -> None:
    """Write the file; a system whose blocks somebody else's code makes cannot be in it."""
    if producers := trajectory.robot.lowered.foreign_producers:
        names = ", ".join(type(x).__name__ for x in producers)
        raise SimulationError(f"a file does not hold {names}, which makes the blocks of this robot; save t, q and v with np.savez.")
    if not len(trajectory) or (np.diff(trajectory.t) < 0).any():
        raise SimulationError("a file holds rows in order of time, one at least: save the run itself, or run.at(np.sort(times)).")
    s, known, arrays = trajectory.settings, hints(File), trajectory.rows._asdict()
    state = trajectory.last_state
    rates = {name: None if getattr(state, name) is None else NONE for name in ("vdot", "tau")}
    entries: dict[str, Any] = {name: getattr(trajectory, name) for name in OF_RUN if name != "settings"}
    entries |= {"format": FORMAT, "version": VERSION, "state": state._replace(q=NONE, v=NONE, **rates)}
    entries |= {"functions": tuple(name for name in FUNCTIONS if getattr(s, name)), "holds": is_held(s.control)}
    inside, beside = Writer(File), Writer(File, arrays)
    said = {name: (beside if name in ("dense", "contact") else inside).write(x, known[name]) for name, x in entries.items()}
    said["settings"] = {f.name: inside.write(getattr(s, f.name), hints(Settings)[f.name]) for f in fields(s) if f.name not in FUNCTIONS}
    said["model"] = written(trajectory.robot.model)
    header = np.frombuffer(json.dumps(said, ensure_ascii=False).encode(), np.uint8)
    members: dict[str, Any] = {name: np.asarray(x, float) for name, x in arrays.items()}
    with replacing(path) as file:
        np.savez(file, header=header, **members)


def written(model: Model) -> dict:
    """A model as plain data; one with a function in it cannot be in a file."""
    try:
        return as_data(model, Model)
    except ModelError as error:
        raise SimulationError(f"{model.name} cannot be saved: {error}") from None


@contextmanager
def damage_explained(path: str | PathLike) -> Iterator[None]:
    """Whatever goes wrong while a file is read becomes one error that names it."""
    try:
        yield
    except FileNotFoundError:
        raise MissingFileError(f"there is no file {path}.") from None
    except NewerFormat as error:
        raise SimulationError(f"{path} was written by a newer linkwork, in {error}. Update linkwork.") from None
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        reason = reason if len(reason) < 300 else f"{reason[:300]} ..."
        raise SimulationError(f"{path} is not a trajectory of linkwork, or is damaged ({reason}).") from None


class NewerFormat(Exception):
    """A file in a format that this version does not know."""


def load(path: str | PathLike) -> tuple[File, Rows]:
    """What a file says, and its rows; to be called in `damage_explained`."""
    arrays = read_arrays(path)
    said = json.loads(arrays.pop("header").tobytes().decode())
    if said.get("format") != FORMAT or type(version := said["version"]) is not int:
        raise KeyError("format")
    if version > VERSION:
        raise NewerFormat(f"format {version}; this one reads up to {VERSION}")
    said, known, reader = said if version == VERSION else converted(said, arrays), hints(File), Reader(File, arrays)
    model = Reader().read(said.pop("model"), Model, "the model")
    file = File(**{name: reader.read(x, known[name], f"the entry {name}") for name, x in said.items()}, model=model)
    missing: dict[str, Any] = {name: MissingFunction(name, file.holds) for name in file.functions}
    missing |= {"events": (missing["events"],)} if "events" in missing else {}
    demand(set(missing) <= set(FUNCTIONS) and not any(getattr(file.settings, name) for name in FUNCTIONS), "functions")
    return file._replace(settings=replace(file.settings, **missing)), Rows(*(arrays[name] for name in Rows._fields))


def of_sizes(rows: Rows, file: File, sizes: Mapping[str, int]) -> tuple[Rows, File]:
    """Rows and what else a file says, if arrays have these sizes, and numbers values that make sense; settings are checked elsewhere."""
    rows, state, dense = fitted(rows, Rows, sizes), file.state, file.dense
    demand(rows is not None and len(rows.t), "rows of this robot")
    demand(np.isfinite(rows.t).all() and (np.diff(rows.t) >= 0).all(), "finite times in order")
    demand(file.status in STATUSES and min(file.steps, file.rejected, file.evaluations) >= 0, "status and counts")
    events = tuple(fitted(x, Occurrence, sizes) for x in file.events)
    contact = file.contact and fitted(file.contact, ContactRecord, sizes)
    demand(None not in events and (contact is None) == (file.contact is None), "events and contacts of this robot")
    if dense is not None:
        dense = fitted(dense, Dense, sizes)
        demand(dense is not None and len(dense.missing) < 200 and bool(dense.parts) != bool(dense.missing), "dense output")
        for part in dense.parts:
            demand(len(part.t) and (np.diff(part.t) >= 0).all(), "times of the dense output in order")
            demand(isinstance(part, Ends) or (part.h > 0).all(), "steps of positive length")
    if state is not None:
        demand(np.isfinite([state.start, state.late]).all() and (state.next_step or 1.0) > 0, "the state of a run")
        motion = {name: getattr(rows, name)[-1].copy() for name in Rows._fields[1:] if getattr(state, name) is not None}
        state = state._replace(t=float(rows.t[-1]), **motion)
    return rows, file._replace(events=events, state=state, dense=dense, contact=contact)


def demand(good, what: str) -> None:
    if not good:
        raise ValueError(f"it should hold {what}")
