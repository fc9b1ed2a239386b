"""A trajectory as one .npz file: arrays, and a JSON text with the model, the settings and the state at the end. Nothing is unpickled.

The text is a `Header`; its entries follow from the annotations of this and of what is in it (`formats/data.py`).
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from ...errors import MissingFileError, ModelError, SimulationError
from ...formats.data import Reader, as_data, hints
from ...model import Model
from ..methods.contact import ContactRecord
from ..requests.settings import FUNCTIONS, MissingFunction, Settings, is_held
from ..state import State
from .arrays import read as read_arrays
from .dense import KINDS, Dense, Ends, Polynomials
from .old_files import converted
from .safe_file import replacing

FORMAT, VERSION = "linkwork trajectory", 5  # 3: with dense output; 4: the model as in .json files; 5: the state of the run
ROWS = "t", "q", "v", "vdot", "tau"
COUNTS = "status", "message", "steps", "rejected", "evaluations"
STATUSES = "finished", "event", "stopped", "failed"
NONE = np.zeros(0)


class DensePart(NamedTuple):
    """A part of the dense output: what its arrays are, and whether tau is constant between them."""

    kind: str
    held: bool


class DenseSaid(NamedTuple):
    parts: tuple[DensePart, ...]
    missing: str


class Header(NamedTuple):
    """What a file says beside its arrays."""

    format: str
    version: int
    model: Model
    settings: Settings
    functions: tuple[str, ...]  # settings that the run had and the file has not
    holds: bool  # were all controls held?
    events: tuple[str, ...]
    status: str
    message: str
    steps: int
    rejected: int
    evaluations: int
    state: State | None = None  # at the end, the last row being its motion
    dense: DenseSaid | None = None


# --- written


def save(path: str | PathLike, trajectory) -> None:
    """Write the file; a system whose blocks somebody else's code makes cannot be in it."""
    if producers := trajectory.robot.lowered.foreign_producers:
        names = ", ".join(type(x).__name__ for x in producers)
        raise SimulationError(f"a file does not hold {names}, which makes the blocks of this robot; save t, q and v with np.savez.")
    if not len(trajectory) or (np.diff(trajectory.t) < 0).any():
        raise SimulationError("a file holds rows in order of time, one at least: save the run itself, or run.at(np.sort(times)).")
    settings, model = trajectory.settings, trajectory.robot.model
    arrays = {name: getattr(trajectory, name) for name in ROWS}
    for i, name in enumerate(("t", "q", "v")):
        widths = (), (trajectory.q.shape[1],), (trajectory.v.shape[1],)
        values = [event[0 if i == 0 else i + 1] for event in trajectory.events]
        arrays[f"event_{name}"] = np.array(values, float).reshape(len(values), *widths[i])
    if trajectory.contact is not None:
        arrays |= {f"contact_{name}": x for name, x in trajectory.contact._asdict().items()}
    entries: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    entries |= {"settings": settings, "functions": [name for name in FUNCTIONS if getattr(settings, name)]}
    entries |= {"holds": is_held(settings.control), "events": [event.name for event in trajectory.events]}
    entries |= {"dense": _written_dense(trajectory, arrays), "state": _without_motion(trajectory.last_state)}
    entries |= {name: getattr(trajectory, name) for name in COUNTS}
    known = hints(Header)
    said = {name: _written(x, known[name]) for name, x in entries.items()} | {"model": written(model)}
    arrays = {name: np.asarray(x, float) for name, x in arrays.items()}
    with replacing(path) as file:
        np.savez(file, header=np.frombuffer(json.dumps(said, ensure_ascii=False).encode(), np.uint8), **arrays)


def _written(x, hint) -> Any:
    """A part of the header as plain data; of settings all but functions, also where they have their defaults."""
    if isinstance(x, Settings):
        return {f.name: as_data(getattr(x, f.name), hints(Settings)[f.name], root=Header) for f in fields(x) if f.name not in FUNCTIONS}
    return as_data(x, hint, root=Header)


def _without_motion(state: State) -> State:
    """A state without what the last row has."""
    return state._replace(q=NONE, v=NONE, vdot=None if state.vdot is None else NONE, tau=None if state.tau is None else NONE)


def written(model: Model) -> dict:
    """A model as plain data; one with a function in it cannot be in a file."""
    try:
        return as_data(model, Model)
    except ModelError as error:
        raise SimulationError(f"{model.name} cannot be saved: {error}") from None


def _written_dense(trajectory, arrays: dict) -> DenseSaid:
    """What the header says of the dense output; its arrays are added to the others, unless they are the rows."""
    parts = []
    for i, part in enumerate(trajectory.dense.parts):
        kind = next(name for name, each in KINDS.items() if isinstance(part, each))
        if own := kind == "ends" and all(getattr(part, name) is getattr(trajectory, name) for name in ROWS):
            kind = "rows"
        arrays |= {} if own else {f"dense{i}_{name}": x for name, x in part.arrays.items()}
        parts.append(DensePart(kind, getattr(part, "held", False)))
    return DenseSaid(tuple(parts), trajectory.dense.missing)


# --- read


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


def load(path: str | PathLike) -> tuple[Header, dict[str, np.ndarray]]:
    """The header and the arrays of a file; to be called in `damage_explained`."""
    arrays = read_arrays(path)
    said = json.loads(arrays.pop("header").tobytes().decode())
    if said.get("format") != FORMAT or type(version := said["version"]) is not int:
        raise KeyError("format")
    if version > VERSION:
        raise NewerFormat(f"format {version}; this one reads up to {VERSION}")
    known = hints(Header)
    model = Reader().read(said.pop("model"), Model, "the model")
    reader = Reader(Header)
    said = said if version == VERSION else converted(said)
    header = Header(**{name: reader.read(x, known[name], f"the entry {name}") for name, x in said.items()}, model=model)
    _check(header)
    missing: dict[str, Any] = {name: MissingFunction(name, header.holds) for name in header.functions}
    missing |= {"events": (missing["events"],)} if "events" in missing else {}
    n, nq, nv, m = len(arrays["t"]), arrays["q"].shape[1], arrays["v"].shape[1], len(header.events)
    demand(n and np.isfinite(arrays["t"]).all() and (np.diff(arrays["t"]) >= 0).all(), "finite times in order")
    check_shapes(arrays, {"t": (n,), "q": (n, nq), **{name: (n, nv) for name in ROWS[2:]}})
    check_shapes(arrays, {"event_t": (m,), "event_q": (m, nq), "event_v": (m, nv)})
    state = header.state
    if state is not None:
        motion = {name: arrays[name][-1].copy() for name in ROWS[1:] if getattr(state, name) is not None}
        state = state._replace(t=float(arrays["t"][-1]), **motion)
    return header._replace(settings=replace(header.settings, **missing), state=state), arrays


def _check(header: Header) -> None:
    """Raise if a file says what none does; `checks.checked` sees to the values of settings."""
    settings, state = header.settings, header.state
    demand(set(header.functions) <= set(FUNCTIONS) and not any(getattr(settings, name) for name in FUNCTIONS), "functions")
    demand(header.status in STATUSES and min(header.steps, header.rejected, header.evaluations) >= 0, "status and counts")
    if state is not None:
        demand(np.isfinite([state.t, state.start, state.late]).all() and (state.next_step or 1.0) > 0, "the state of a run")
    if (dense := header.dense) is not None:
        demand(len(dense.missing) < 200 and bool(dense.parts) != bool(dense.missing), "dense output")


def contact_of(arrays: dict, robot) -> ContactRecord | None:
    """What a file has of the contacts of each step; None where it has nothing."""
    if "contact_t" not in arrays:
        return None
    record = ContactRecord(*(arrays[f"contact_{name}"] for name in ContactRecord._fields))
    m, n = len(record.t), len(robot.contacts)
    check_shapes(record._asdict(), {"t": (m,), "gap": (m, n), "force": (m, n, 3), "residual": (m,), "rounds": (m,)})
    return record


def dense_of(said: DenseSaid | None, stored: dict, robot) -> Dense | None:
    """The dense output of a file; None where its format has none."""
    if said is None:
        return None
    parts: list[Polynomials | Ends] = []
    for i, part in enumerate(said.parts):
        if part.kind == "rows":
            parts.append(Ends(**{name: stored[name] for name in ROWS}, held=part.held))
            continue
        kind = KINDS[part.kind]
        arrays = {f.name: stored[f"dense{i}_{f.name}"] for f in fields(kind) if f.name != "held"}
        more: dict[str, Any] = {"held": part.held} if kind is Ends else {}
        widths = kind.widths(robot, arrays["coefficients"].shape[1] - 1 if kind is Polynomials else 4)
        check_shapes(arrays, {name: (len(arrays["t"]), *width) for name, width in widths.items()})
        demand(len(arrays["t"]) and (np.diff(arrays["t"]) >= 0).all(), "times of the dense output in order")
        demand(kind is Ends or (arrays["h"] > 0).all(), "steps of positive length")
        parts.append(kind(**arrays, **more))
    return Dense(tuple(parts), said.missing)


def check_shapes(arrays: dict, shapes: dict[str, tuple]) -> None:
    for name, shape in shapes.items():
        demand(arrays[name].dtype == float and arrays[name].shape == shape, f"{name} of shape {shape}")


def demand(good, what: str) -> None:
    if not good:
        raise ValueError(f"it should hold {what}")
