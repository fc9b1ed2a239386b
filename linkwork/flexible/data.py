"""A flexible body as plain numbers and texts, for files."""

from typing import Any

import numpy as np

from ..errors import ModelError
from ..spatial import Pose
from .attachment import Attachment
from .body import FlexibleBody, Outline
from .faces import triangles
from .samples import Fields, Terms

ARRAYS = ("stiffness", "damping", "r0", "r1", "r2", "moves", "C0", "C1", "C2", "points", "shapes", "bends", "faces", "strains")


def as_data(body: FlexibleBody) -> dict[str, Any]:
    """The entries of a body: arrays as flat lists of numbers, row by row; sizes follow from `modes` and the lengths."""
    arrays: dict[str, Any] = {"stiffness": body.stiffness, "damping": body.damping}
    arrays |= {} if body.fields is None else body.fields._asdict()
    arrays |= {} if body.terms is None else body.terms._asdict()
    if (line := body.outline) is not None:
        arrays |= {"points": line.points, "shapes": line.linear} | ({} if line.quadratic is None else {"bends": line.quadratic})
        arrays |= {} if line.faces is None else {"faces": line.faces}
        arrays |= {} if line.strains is None else {"strains": line.strains}
    moved = lambda x: {"linear": _flat(x.linear), "quadratic": _flat(x.quadratic)}
    place = lambda x: {"point": x.pose.translation, "rotation": x.pose.quaternion}
    frames = [{"name": name, **place(x), **moved(x)} for name, x in body.frames.items()]
    root: dict[str, Any] = {} if body.root is None else {"root": body.root}
    if line is not None and line.is_line:
        root["line"] = 1
    if line is not None and line.looks:
        root["looks"] = [{"kind": kind, "size": list(size), "at": list(at)} for kind, size, at in line.looks]
    return {"modes": body.n, **root, "stiffens": int(body.stiffens), **{name: _flat(x) for name, x in arrays.items()}, "frames": frames}


def from_data(data: dict[str, Any]) -> FlexibleBody:
    """The body of such entries."""
    n = int(data["modes"])
    h, e, p = n + 6, len(data.get("moves", ())), len(data.get("points", ())) // 3
    shapes = {
        "stiffness": (n, n), "damping": (n,), "r0": (e, 3), "r1": (e, 3, n), "r2": (e, 3, n, n), "moves": (e,),
        "C0": (h, h), "C1": (n, h, h), "C2": (n, n, h, h), "points": (p, 3), "shapes": (p, 3, n), "bends": (p, 3, n, n),
        "faces": (len(data.get("faces", ())) // 3, 3), "strains": (max(p - 1, 0), n, n),
    }  # fmt: skip
    found = {name: _shaped(name, data[name], shapes[name]) for name in ARRAYS if name in data}
    moved = lambda x: (_shaped("linear", x["linear"], (6, n)), _shaped("quadratic", x["quadratic"], (6, n, n)))
    frames = {x["name"]: Attachment(Pose(tuple(x["rotation"]), tuple(x["point"])), *moved(x)) for x in data.get("frames", ())}
    if lost := [name for name in ("stiffness", "damping") if name not in found]:
        raise ModelError(f'the flexible body has no "{lost[0]}".')
    fields = Fields(*(found[x] for x in Fields._fields)) if e else None
    terms = Terms(*(found[x] for x in Terms._fields)) if "C0" in found else None
    if fields is None and terms is None:
        raise ModelError("the flexible body has no mass: neither r0, r1, r2 and moves nor C0, C1 and C2.")
    outline = None
    if p:
        looks = tuple(map(_look, data.get("looks", ())))
        faces = triangles(found["faces"].astype(int), p) if "faces" in found else None
        is_line = bool(data.get("line", 0))
        outline = Outline(found["points"], found["shapes"], found.get("bends"), looks, is_line, faces, found.get("strains"))
    stiffens = bool(data.get("stiffens", 1))
    return FlexibleBody(fields, terms, found["stiffness"], found["damping"], frames, data.get("root"), outline, stiffens)


def _look(x) -> tuple:
    return x["kind"], tuple(x["size"]), tuple(x["at"])


def _flat(x) -> list[float]:
    return np.asarray(x, float).ravel().tolist()


def _shaped(name: str, x, shape) -> np.ndarray:
    if len(x) != int(np.prod(shape)):
        raise ModelError(f'"{name}" of a flexible body has {len(x)} numbers; it takes {int(np.prod(shape))}, row by row of {shape}.')
    return np.asarray(x, float).reshape(shape)
