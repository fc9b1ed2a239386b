"""Headers of files of formats 1 to 4 as those of today."""

from typing import Any

import numpy as np

from ...formats.data import as_data
from ..state import Collocation, Embedding, Impulses, Midpoints, Released, Rest, Samples, State, Touches, Watched

MEMORIES = {"free": Released, "base": Collocation, "past": Midpoints, "impulse": Impulses}  # by an entry that each has


def converted(said: dict) -> dict:
    """The entries of a header of today."""
    said = dict(said)
    carry = said.pop("carry", None)
    if said["version"] < 2:  # in version 1 `limits` was the restitution, or null for no limits
        limits = said["settings"]["limits"]
        said["settings"] = said["settings"] | {"limits": limits is not None, "restitution": limits or 0.0}
    if carry is not None:
        said["state"] = as_data(_state(carry, said["settings"]["method"]), State, root=State)
    return said


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
