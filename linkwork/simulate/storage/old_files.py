"""Headers of files of formats 1 to 5 as those of today."""

from typing import Any

import numpy as np

from ...formats.data import Writer
from ..events.events import Occurrence
from ..methods.contact import ContactRecord
from ..methods.record import Rows
from ..state import Collocation, Embedding, Impulses, Midpoints, Released, Rest, Samples, State, Touches, Watched
from .dense import Polynomials

MEMORIES = {"free": Released, "base": Collocation, "past": Midpoints, "impulse": Impulses}  # by an entry that each has

SOLVER = {"h": "h_abs", "h_old": "h_abs_old", "error": "error_norm_old", "current": "current_jac"}


def converted(said: dict, arrays: dict[str, np.ndarray]) -> dict:
    """The entries of a header of today; its arrays stand beside it under their old names."""
    said = dict(said)
    if law := said["settings"].get("contact"):  # whose solver was its method
        law = {"solver" if name == "method" else name: x for name, x in law.items()}
        said["settings"] = said["settings"] | {"contact": law}
    if said["version"] > 4:
        return said
    carry = said.pop("carry", None)
    if said["version"] < 2:  # in version 1 `limits` was the restitution, or null for no limits
        limits = said["settings"]["limits"]
        said["settings"] = said["settings"] | {"limits": limits is not None, "restitution": limits or 0.0}
    seen = zip(arrays["event_t"], said["events"], arrays["event_q"], arrays["event_v"], strict=True)
    said["events"] = [Writer(Occurrence).write(Occurrence(*x), Occurrence) for x in seen]
    if said.get("dense") is not None:
        said["dense"] = said["dense"] | {"parts": [_part(i, x, arrays) for i, x in enumerate(said["dense"]["parts"])]}
    if "contact_t" in arrays:
        said["contact"] = {name: {"array": f"contact_{name}"} for name in ContactRecord._fields}
    if carry is not None:
        said["state"] = Writer(State).write(_state(carry, said["settings"]["method"]), State)
    return said


def _part(i: int, said: dict, arrays: dict) -> dict:
    """Part i of the dense output."""
    if said["kind"] == "polynomials":
        return {"type": "Polynomials"} | {name: {"array": f"dense{i}_{name}"} for name in Polynomials._fields}
    prefix = "" if said["kind"] == "rows" else f"dense{i}_"
    return {"type": "Ends", "rows": {name: {"array": f"{prefix}{name}"} for name in Rows._fields}, "held": said["held"]}


def _state(carry: dict, method: str) -> State:
    """The state at the end of a run, its motion being the last row; what the file does not know begins anew."""
    state = State(start=carry["grid"], late=carry.get("late", 0.0), next_step=carry["next_step"], closed=True)
    if (held := carry.get("held")) is not None:
        state = state._replace(controls=Samples(np.array(held["calls"], float), np.array(held["outputs"], float)))
    if (embedding := carry.get("embedding")) is not None:
        (choices, pivots), floor = embedding
        state = state._replace(keeper=Embedding(choices, pivots, floor))
    if (memory := carry.get("memory")) is None:
        return state
    parts = {"memory": _memory(memory.get(method)), "stops": _stops(memory.get("stops")), "detector": _detector(memory.get("events"))}
    return state._replace(**parts, vdot=np.zeros(0), tau=np.zeros(0))


def _arrays(entries: dict) -> dict[str, Any]:
    """Entries with arrays in place of lists."""
    return {name: np.array(x, float) if isinstance(x, list) else x for name, x in entries.items()}


def _memory(entries: dict | None):
    kind = next((kind for name, kind in MEMORIES.items() if name in (entries or {})), None)
    if kind is None or entries is None:
        return None
    if kind is Collocation:
        entries = {SOLVER.get(name, name): x for name, x in entries.items()}
    if kind is Midpoints:
        entries = {"inverse": None} | entries | {"stiff": bool(entries["stiff"])}
    return kind(**_arrays(entries))


def _stops(entries: dict | None) -> Rest | None:
    if entries is None or "sliding" not in entries:
        return None
    arrays = _arrays(entries)
    points = {name.removeprefix("point "): arrays.pop(name) for name in list(arrays) if name.startswith("point ")}
    rows, rest = (np.flatnonzero(arrays[name]) for name in ("rows", "rest"))
    arrays |= {"rows": rows, "rest": rest, "force": np.zeros(len(rows)), "loosens": bool(arrays["loosens"])}
    touches = Touches(**points, force=np.zeros_like(points["chosen"])) if points else None
    return Rest(**arrays, points=touches)


def _detector(entries: dict | None) -> Watched | None:
    if entries is None:
        return None
    arrays = _arrays(entries)
    resting = None if arrays["resting"] < 0 else int(arrays["resting"])
    stale = bool(np.isnan(arrays["before"]).any() or np.isnan(arrays["stops_before"]).any())
    return Watched(**arrays | {"resting": resting}, stale=stale)
