"""A trajectory as one .npz file: arrays, and a JSON text with the model and the settings. Nothing is unpickled."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from os import PathLike

import numpy as np

from ...errors import MissingFileError, ModelError, SimulationError
from ...formats.data import as_data, from_data
from ...model import Model
from ..methods.contact import ContactRecord, ContactSolver
from ..rates.control import Hold
from .arrays import read as read_arrays
from .dense import KINDS, Dense, Ends, Polynomials
from .safe_file import replacing

FORMAT, VERSION = "linkwork trajectory", 4  # 3: with dense output; 4: the model as in .json files
FUNCTIONS = "control", "external", "events", "on_step", "keep"  # settings that a file cannot hold
ROWS = "t", "q", "v", "vdot", "tau"
COUNTS = "status", "message", "steps", "rejected", "evaluations"
CARRIED = "grid", "late", "next_step", "embedding", "held", "memory"
STATUSES = "finished", "event", "stopped", "failed"


@dataclass(frozen=True)
class MissingFunction:
    """Placeholder for functions that a file does not hold; `held` if all of them were held controllers."""

    name: str
    held: bool = False


def is_missing(value) -> bool:
    parts = value if isinstance(value, tuple) else (value,)
    return any(isinstance(part, MissingFunction) for part in parts)


def is_held(control) -> bool:
    """Is tau of this control constant between the rows of a run?"""
    if isinstance(control, MissingFunction):
        return control.held
    parts = control if isinstance(control, Sequence) else (control,)
    return all(isinstance(part, Hold) for part in parts)


def save(path: str | PathLike, trajectory) -> None:
    """Write the file; a system whose blocks somebody else's code makes cannot be in it."""
    if producers := trajectory.robot.lowered.foreign_producers:
        names = ", ".join(type(x).__name__ for x in producers)
        raise SimulationError(f"a file does not hold {names}, which makes the blocks of this robot; save t, q and v with np.savez.")
    if not len(trajectory) or (np.diff(trajectory.t) < 0).any():
        raise SimulationError("a file holds rows in order of time, one at least: save the run itself, or run.at(np.sort(times)).")
    settings = trajectory.settings
    arrays = {name: getattr(trajectory, name) for name in ROWS}
    for i, name in enumerate(("t", "q", "v")):
        widths = (), (trajectory.q.shape[1],), (trajectory.v.shape[1],)
        values = [event[0 if i == 0 else i + 1] for event in trajectory.events]
        arrays[f"event_{name}"] = np.array(values, float).reshape(len(values), *widths[i])
    if trajectory.contact is not None:
        arrays |= {f"contact_{name}": x for name, x in trajectory.contact._asdict().items()}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "model": written(trajectory.robot.model),
        "settings": {f.name: getattr(settings, f.name) for f in fields(settings) if f.name not in FUNCTIONS}
        | {"contact": settings.contact and asdict(settings.contact)},
        "functions": [name for name in FUNCTIONS if getattr(settings, name)],
        "holds": is_held(settings.control),
        "carry": {name: getattr(trajectory.carry, name) for name in CARRIED},
        "events": [event.name for event in trajectory.events],
        "dense": _written_dense(trajectory, arrays),
        **{name: getattr(trajectory, name) for name in COUNTS},
    }
    text = json.dumps(header, ensure_ascii=False, default=_as_number).encode()
    arrays = {name: np.asarray(x, float) for name, x in arrays.items()}
    with replacing(path) as file:
        np.savez(file, header=np.frombuffer(text, np.uint8), **arrays)


def written(model: Model) -> dict:
    """A model as plain data; one with a function in it cannot be in a file."""
    try:
        return as_data(model, Model)
    except ModelError as error:
        raise SimulationError(f"{model.name} cannot be saved: {error}") from None


def _as_number(x):
    """A number of NumPy, or an array of them, as one of Python."""
    if isinstance(x, (np.generic, np.ndarray)):
        return x.tolist()
    raise SimulationError(f"a setting or a part of the model is {x!r}, which a file does not hold.")


def _written_dense(trajectory, arrays: dict) -> dict:
    """What the header says of the dense output; its arrays are added to the others, unless they are the rows."""
    parts = []
    for i, part in enumerate(trajectory.dense.parts):
        kind = next(name for name, each in KINDS.items() if isinstance(part, each))
        if own := kind == "ends" and all(getattr(part, name) is getattr(trajectory, name) for name in ROWS):
            kind = "rows"
        arrays |= {} if own else {f"dense{i}_{name}": x for name, x in part.arrays.items()}
        parts.append({"kind": kind, "held": getattr(part, "held", False)})
    return {"parts": parts, "missing": trajectory.dense.missing}


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


def load(path: str | PathLike) -> tuple[Model, dict, dict, dict]:
    """The model, the settings, the dense output's arrays, and everything else by name; to be called in `damage_explained`."""
    arrays = read_arrays(path)
    header = json.loads(arrays.pop("header").tobytes().decode())
    if header.get("format") != FORMAT or type(version := header["version"]) is not int:
        raise KeyError("format")
    if version > VERSION:
        raise NewerFormat(f"format {version}; this one reads up to {VERSION}")
    model = from_data(header["model"])
    demand(set(header["functions"]) <= set(FUNCTIONS) and isinstance(header["holds"], bool), "functions")
    settings = header["settings"] | {name: MissingFunction(name, header["holds"]) for name in header["functions"]}
    if version < 2:  # in version 1 `limits` was the restitution, or null for no limits
        limits = settings["limits"]
        settings |= {"limits": limits is not None, "restitution": limits or 0.0}
    if settings.get("contact") is not None:
        settings["contact"] = ContactSolver(**settings["contact"])
    if "events" in settings:
        settings["events"] = (settings["events"],)
    columns = {name: header[name] for name in COUNTS} | {name: arrays.pop(name) for name in ROWS}
    check_settings(settings, columns)
    n, nq, nv = len(columns["t"]), columns["q"].shape[1], columns["v"].shape[1]
    demand(n and np.isfinite(columns["t"]).all() and (np.diff(columns["t"]) >= 0).all(), "finite times in order")
    check_shapes(columns, {"t": (n,), "q": (n, nq), **{name: (n, nv) for name in ROWS[2:]}})
    m = len(header["events"])
    demand(all(isinstance(name, str) for name in header["events"]), "names of events")
    check_shapes(arrays, {"event_t": (m,), "event_q": (m, nq), "event_v": (m, nv)})
    columns["events"] = list(zip(arrays["event_t"].tolist(), header["events"], arrays["event_q"], arrays["event_v"]))
    columns["carry"] = _carry(header["carry"])
    return model, settings, columns, {"said": header.get("dense"), **arrays}


def contact_of(stored: dict, robot) -> ContactRecord | None:
    """What a file has of the contacts of each step; None where it has nothing."""
    if "contact_t" not in stored:
        return None
    found = ContactRecord(*(stored[f"contact_{name}"] for name in ContactRecord._fields))
    m, n = len(found.t), len(robot.contacts)
    check_shapes(found._asdict(), {"t": (m,), "gap": (m, n), "force": (m, n, 3), "residual": (m,), "rounds": (m,)})
    return found


def dense_of(stored: dict, columns: dict, robot) -> Dense | None:
    """The dense output of a file; None where its format has none."""
    if stored["said"] is None:
        return None
    parts: list[Polynomials | Ends] = []
    for i, said in enumerate(stored["said"]["parts"]):
        demand(isinstance(said["held"], bool), "dense output")
        if said["kind"] == "rows":
            parts.append(Ends(**{name: columns[name] for name in ROWS}, held=said["held"]))
            continue
        kind = KINDS[said["kind"]]
        arrays = {f.name: stored[f"dense{i}_{f.name}"] for f in fields(kind) if f.name != "held"}
        more = {"held": said["held"]} if kind is Ends else {}
        widths = kind.widths(robot, arrays["coefficients"].shape[1] - 1 if kind is Polynomials else 4)
        check_shapes(arrays, {name: (len(arrays["t"]), *width) for name, width in widths.items()})
        demand(len(arrays["t"]) and (np.diff(arrays["t"]) >= 0).all(), "times of the dense output in order")
        demand(kind is Ends or (arrays["h"] > 0).all(), "steps of positive length")
        parts.append(kind(**arrays, **more))
    missing = stored["said"]["missing"]
    demand(_text(missing) and len(missing) < 200 and bool(parts) != bool(missing), "dense output")
    return Dense(tuple(parts), missing)


def check_settings(settings: dict, counts: dict) -> None:
    """The types of what a file says; `simulate.checked` sees to the values."""
    known = {"method": _text, "dt": _maybe, "rtol": _number, "atol": _number, "limits": _flag, "restitution": _number}
    known |= {"every": _whole, "first_step": _maybe, "max_step": _number, "progress": _maybe_flag, "dense": _maybe_flag}
    known |= {"velocities": _text, "max_steps": _maybe, "timeout": _maybe}
    for name, good in known.items():
        demand(name not in settings or good(settings[name]), name)
    how = settings.get("constraints")
    demand(how is None or _text(how) or (isinstance(how, list) and len(how) == 2 and all(map(_number, how))), "constraints")
    demand(counts["status"] in STATUSES and _text(counts["message"]), "status and message")
    demand(all(_whole(counts[name]) for name in ("steps", "rejected", "evaluations")), "counts")


def check_shapes(arrays: dict, shapes: dict[str, tuple]) -> None:
    for name, shape in shapes.items():
        demand(arrays[name].dtype == float and arrays[name].shape == shape, f"{name} of shape {shape}")


def demand(good, what: str) -> None:
    if not good:
        raise ValueError(f"it should hold {what}")


def _carry(said: dict) -> dict:
    numbers = {name: x for name, x in said.items() if name not in ("embedding", "held", "memory")}
    demand(set(said) <= {*CARRIED} and all(map(_maybe, numbers.values())), "what a run carries on")
    said |= {name: None if x is None else float(x) for name, x in numbers.items()}
    demand(np.isfinite([said["grid"], said.get("late", 0.0)]).all() and (said["next_step"] or 1.0) > 0, "what a run carries on")
    if (chosen := said.get("embedding")) is not None:
        (choices, pivots), floor = chosen
        whole = all(_whole(i) for choice in choices for part in choice for i in part)
        demand(whole and all(len(choice) == 3 for choice in choices) and all(map(_number, pivots)) and _number(floor), "an embedding")
    memory = said.get("memory")
    demand((memory is None or isinstance(memory, dict)) and _is_memory(memory) and _is_memory(said.get("held")), "what a run remembers")
    return said


def _is_memory(x) -> bool:
    """Numbers in lists and dictionaries; whether they fit is seen by those who remember them."""
    if isinstance(x, (dict, list)):
        return all(map(_is_memory, x.values() if isinstance(x, dict) else x))
    return x is None or isinstance(x, (int, float))


def _text(x) -> bool:
    return isinstance(x, str)


def _number(x) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def _maybe(x) -> bool:
    return x is None or _number(x)


def _whole(x) -> bool:
    return type(x) is int and 0 <= x < 1 << 62


def _flag(x) -> bool:
    return isinstance(x, bool)


def _maybe_flag(x) -> bool:
    return x is None or isinstance(x, bool)
