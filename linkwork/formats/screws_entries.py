"""The entries of files in the world frame: what each thing that is not as in a model holds, and the format as a JSON Schema."""

from collections.abc import Mapping
from types import NoneType
from typing import Any, get_args, get_origin

from .. import joints, model
from ..flexible import Deflection, Modes
from ..flexible.data import ARRAYS
from .data import defaults, hints, is_record, options

VERSION = 1
PHYSICS = "lower", "upper", "damping", "friction", "stiffness", "rest", "armature", "effort", "speed", "gear"
KINDS: dict[str, type[joints.Joint]] = {x.__name__.lower(): x for x in (
    joints.Revolute, joints.Prismatic, joints.Helical, joints.Cylindrical, joints.Planar, joints.PlanarTranslation, joints.Spherical,
    joints.Translation, joints.Schoenflies, joints.Free, joints.Fixed, Modes, Deflection,
)}  # fmt: skip
CONSTRAINTS: dict[str, type] = {
    "distance": model.Distance,
    "linear": model.Linear,
    "knife edge": model.KnifeEdge,
    "rolling": model.Rolling,
    "touching": model.Touching,
}

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
Numbers = tuple[float, ...]
PLACE: dict[str, Any] = {"point": Vector, "rotation": Quaternion}  # in place of a pose
PART = PLACE | {"kind": str, "axis": Vector, "pitch": float, "flexible": str, "root": str, "frame": str}
PART |= {name: hints(joints.Joint)[name] for name in PHYSICS}
ATTACHMENT = PLACE | {"name": str, "linear": Numbers, "quadratic": Numbers}
NEEDED = {
    "flexible body": ("name", "modes", "stiffness", "damping"),
    "look": ("kind", "size", "at"),
    "frame": ("name", "linear", "quadratic"),
}
LOOK: dict[str, Any] = {"kind": str, "size": Numbers, "at": Numbers}
FLEXIBLE: dict[str, Any] = {"name": str, "modes": int, "root": str, "stiffens": bool, "line": bool} | dict.fromkeys(ARRAYS, Numbers)
FILE: dict[str, Any] = {  # entries, and names of what there are lists of
    "screws": float, "name": str, "gravity": Vector, "bodies": "body", "joints": "joint", "frames": "frame", "loops": "joint",
    "couplings": "coupling", "springs": "spring", "pushes": "push", "constraints": "constraint", "ground": "shape",
    "contacts": "contact", "excluded": tuple[tuple[str, ...], ...], "actuators": "actuator", "flexible": "flexible",
}  # fmt: skip


def schema() -> dict[str, Any]:
    """The format as a JSON Schema, for editors and for other programs that write it."""
    row = lambda thing: {"type": "array", "items": {"$ref": f"#/$defs/{thing}"}}
    shapes, ratios = row("shape"), {"type": "object", "additionalProperties": _of(float)}
    tensor = {"anyOf": [_of(Vector), _of(tuple[float, float, float, float, float, float]), _of(tuple[Vector, Vector, Vector])]}
    bonds = {name: hint for kind in CONSTRAINTS.values() for name, hint in hints(kind).items()}
    kind, positive, count = {"enum": list(KINDS)}, {"type": "number", "minimum": 0}, {"type": "integer", "minimum": 0}
    things = {
        "body": _record(model.Body, mass=positive, tensor=tensor, visuals=shapes, collisions=shapes),
        "part": _object(PART | {"name": str}, kind=kind),
        "joint": _object(PART | {"name": str, "child": str, "parent": str}, "name", "child", kind=kind, parts=row("part")),
        "constraint": _object(bonds, "name", "kind", kind={"enum": list(CONSTRAINTS)}, terms=ratios),
        "actuator": _record(model.Actuator, gears=ratios),
        "flexible": _object(FLEXIBLE, *NEEDED["flexible body"], modes=count, frames=row("attachment"), looks=row("look")),
        "look": _object(LOOK, *NEEDED["look"]),
        "attachment": _object(ATTACHMENT, *NEEDED["frame"]),
        "push": _record(model.Push, axes={"enum": ["world", "body"]}),
        "material": _record(model.Material, combine={"enum": ["max", "min"]}),
        **{kind: _record(getattr(model, kind.title())) for kind in ("frame", "coupling", "spring", "shape", "contact")},
    }
    lists = {key: row(x) for key, x in FILE.items() if isinstance(x, str)}
    file = _object({key: x for key, x in FILE.items() if key not in lists}, "screws", **lists | {"screws": {"const": VERSION}})
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "linkwork screws", **file, "$defs": things}


def _record(kind: type, **own) -> dict[str, Any]:
    """The schema of a record of a model, with a place for its pose; entries without a default are needed."""
    entries = {name: hint for name, hint in hints(kind).items() if name != "pose"} | (PLACE if "pose" in hints(kind) else {})
    needed = [name for name, hint in entries.items() if not ({name} & {*defaults(kind), *PLACE} or NoneType in options(hint))]
    return _object(entries, *needed, **own)


def _object(entries: Mapping[str, Any], *needed: str, **own) -> dict[str, Any]:
    """The schema of an object: its entries by their types, with those of its `own`."""
    properties = {name: _of(hint) for name, hint in entries.items()} | own
    return {"type": "object", "properties": properties, "required": list(needed), "additionalProperties": False}


def _of(hint) -> dict[str, Any]:
    """The schema of a type; a record goes by its name."""
    if len(options(hint)) > 1:
        return {"anyOf": [_of(x) for x in options(hint)]}
    if get_origin(hint) is tuple:
        inner, *more = get_args(hint)
        count = {} if more == [...] else {"minItems": 1 + len(more), "maxItems": 1 + len(more)}
        return {"type": "array", "items": _of(inner), **count}
    if is_record(hint):
        return {"$ref": f"#/$defs/{hint.__name__.lower()}"}
    if hint is str:
        return {"type": "string", "minLength": 1}
    return {"type": {float: "number", int: "integer", bool: "boolean", NoneType: "null"}[hint]}
