"""A trajectory as one .npz file: arrays, and a JSON text with the model and the settings. Nothing is unpickled."""

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from os import PathLike

import numpy as np

from .. import joints
from ..errors import SimulationError
from ..joints import Joint
from ..model import Model, constraints, forces, parts
from ..spatial import Pose
from .control import Hold

FORMAT, VERSION = "linkwork trajectory", 2
FUNCTIONS = "control", "external", "events", "on_step", "keep"  # settings that a file cannot hold
OLD_NAMES: dict[str, str] = {"Hinge": "PlacedJoint", "hinges": "joints"}  # in files of format 1
ROWS = "t", "q", "v", "vdot", "tau"
COUNTS = "status", "message", "steps", "rejected", "evaluations"
TYPES = {
    kind.__name__: kind
    for kind in (*vars(joints).values(), *(x for part in (parts, forces, constraints) for x in vars(part).values()), Pose, Model)
    if isinstance(kind, type) and is_dataclass(kind)
}


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
    if trajectory.robot.lowered.producers:
        names = ", ".join(type(x).__name__ for x in trajectory.robot.lowered.producers)
        raise SimulationError(f"a file does not hold {names}, which makes the blocks of this robot; save t, q and v with np.savez.")
    settings = trajectory.settings
    header = {
        "format": FORMAT,
        "version": VERSION,
        "model": written(trajectory.robot.model),
        "settings": {f.name: getattr(settings, f.name) for f in fields(settings) if f.name not in FUNCTIONS},
        "functions": [name for name in FUNCTIONS if getattr(settings, name)],
        "holds": is_held(settings.control),
        "carry": {name: getattr(trajectory.carry, name) for name in ("grid", "next_step", "embedding")},
        "events": [event.name for event in trajectory.events],
        **{name: getattr(trajectory, name) for name in COUNTS},
    }
    arrays = {name: getattr(trajectory, name) for name in ROWS}
    for i, name in enumerate(("t", "q", "v")):
        widths = (), (trajectory.q.shape[1],), (trajectory.v.shape[1],)
        values = [event[0 if i == 0 else i + 1] for event in trajectory.events]
        arrays[f"event_{name}"] = np.array(values, float).reshape(len(values), *widths[i])
    text = json.dumps(header, ensure_ascii=False).encode()
    with open(path, "wb") as file:
        np.savez(file, header=np.frombuffer(text, np.uint8), **arrays)


def load(path: str | PathLike) -> tuple[Model, dict, dict]:
    """The model, the settings, and everything else by name."""
    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(file["header"].tobytes().decode())
            if header.get("format") != FORMAT:
                raise KeyError("format")
            if header["version"] > VERSION:
                raise SimulationError(
                    f"{path} was written by a newer linkwork, in format {header['version']}; "
                    f"this one reads up to {VERSION}. Update linkwork."
                )
            columns: dict = {name: file[name] for name in ROWS}
            events = zip(file["event_t"].tolist(), header["events"], file["event_q"], file["event_v"])
            columns |= {name: header[name] for name in COUNTS} | {"carry": header["carry"], "events": list(events)}
            settings = header["settings"] | {name: MissingFunction(name, header["holds"]) for name in header["functions"]}
            if header["version"] < 2:  # in version 1 `limits` was the restitution, or null for no limits
                limits = settings["limits"]
                settings |= {"limits": limits is not None, "restitution": limits or 0.0}
            if "events" in settings:
                settings["events"] = (settings["events"],)
            return read(header["model"]), settings, columns
    except SimulationError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, zipfile.BadZipFile, EOFError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise SimulationError(f"{path} is not a trajectory of linkwork, or is damaged ({reason}).") from None


def written(x):
    """A model, or a part of one, as lists, dictionaries, numbers and strings for JSON; `read` is the inverse."""
    if is_dataclass(x) and not isinstance(x, type):
        kind = type(x).__name__
        if TYPES.get(kind) is not type(x):
            what = "joint" if isinstance(x, Joint) else "part"
            raise SimulationError(f"a {what} has the type {kind}, which is not part of linkwork, so that it cannot be saved.")
        return {"type": kind, **{f.name: written(getattr(x, f.name)) for f in fields(x) if f.init}}
    if callable(x):
        raise SimulationError(f"a constraint of the model is a function ({x.__name__}), which cannot be saved.")
    if isinstance(x, (tuple, list)):
        return [written(e) for e in x]
    return x.item() if isinstance(x, np.generic) else x


def read(x):
    """The model, or part of one, from what `written` returned."""
    if isinstance(x, dict):
        entries = {_renamed(name): read(value) for name, value in x.items() if name != "type"}
        return TYPES[_renamed(x["type"])](**entries)
    return tuple(read(e) for e in x) if isinstance(x, list) else x


def _renamed(name: str) -> str:
    return OLD_NAMES.get(name, name)
