"""A trajectory as one .npz file: arrays, and a text that holds the model and how it was run. Nothing is ever unpickled."""

import json
import zipfile
from dataclasses import dataclass, fields, is_dataclass
from os import PathLike

import numpy as np

from .. import joints
from ..errors import SimulationError
from ..joints import Joint
from ..model import Model, parts
from ..spatial import Pose

FORMAT, VERSION = "linkwork trajectory", 1
FUNCTIONS = "control", "external", "events", "on_step"  # of the settings: what a file cannot hold
ROWS = "t", "q", "v", "vdot", "tau"
COUNTS = "status", "message", "steps", "rejected", "evaluations"
TYPES = {
    kind.__name__: kind
    for kind in (*vars(joints).values(), *vars(parts).values(), Pose, Model)
    if isinstance(kind, type) and is_dataclass(kind)
}


@dataclass(frozen=True)
class Lost:
    """Stands for a function that a file could not hold."""

    name: str


def is_lost(value) -> bool:
    return isinstance(value, Lost) or (isinstance(value, tuple) and any(isinstance(x, Lost) for x in value))


def save(path: str | PathLike, trajectory) -> None:
    settings = trajectory.settings
    header = {
        "format": FORMAT,
        "version": VERSION,
        "model": written(trajectory.robot.model),
        "settings": trajectory.numbers(),
        "functions": [name for name in FUNCTIONS if getattr(settings, name)],
        "carry": {"grid": trajectory.carry.grid, "next_step": trajectory.carry.next_step},
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
                    f"{path} was written by a newer linkwork (format {header['version']}, this one reads up to {VERSION}). Update linkwork."
                )
            columns: dict = {name: file[name] for name in ROWS}
            events = zip(file["event_t"].tolist(), header["events"], file["event_q"], file["event_v"])
            columns |= {name: header[name] for name in COUNTS} | {"carry": header["carry"], "events": list(events)}
            settings = header["settings"] | {name: Lost(name) for name in header["functions"]}
            if "events" in header["functions"]:
                settings["events"] = (Lost("events"),)
            return read(header["model"]), settings, columns
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError, json.JSONDecodeError, zipfile.BadZipFile, EOFError) as error:
        raise _no_trajectory(path, error) from None
    except ValueError as error:
        if isinstance(error, SimulationError):
            raise
        raise _no_trajectory(path, error) from None


def _no_trajectory(path, error) -> SimulationError:
    return SimulationError(f"{path} is not a trajectory of linkwork, or is damaged ({type(error).__name__}: {error}).")


def written(x):
    """A model, or a part of one, as lists, dictionaries, numbers and words."""
    if is_dataclass(x) and not isinstance(x, type):
        kind = type(x).__name__
        if TYPES.get(kind) is not type(x):
            what = "joint" if isinstance(x, Joint) else "part"
            raise SimulationError(f"a {what} of type {kind} is not one of linkwork's own, so that it cannot be saved.")
        return {"type": kind, **{f.name: written(getattr(x, f.name)) for f in fields(x) if f.init}}
    if isinstance(x, (tuple, list)):
        return [written(e) for e in x]
    return x.item() if isinstance(x, np.generic) else x


def read(x):
    """The way back."""
    if isinstance(x, dict):
        entries = {name: read(value) for name, value in x.items() if name != "type"}
        return TYPES[x["type"]](**entries)
    return tuple(read(e) for e in x) if isinstance(x, list) else x
