"""The entries of files in the world frame: each thing that a file describes, what each of its entries holds, and which it needs.

From this one table files are read (`screws`) and the JSON Schema of the format is made.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from .. import joints
from ..flexible import Deflection, Modes
from ..flexible.data import ARRAYS
from ..model import Actuator, Contact, Distance, KnifeEdge, Linear, Material, Push, Rolling, Spring, Touching
from .lines import Value

VERSION = 1
PHYSICS = "lower", "upper", "damping", "friction", "stiffness", "rest", "armature", "effort", "speed", "gear"
KINDS: dict[str, type[joints.Joint]] = {x.__name__.lower(): x for x in (
    joints.Revolute, joints.Prismatic, joints.Helical, joints.Cylindrical, joints.Planar, joints.PlanarTranslation, joints.Spherical,
    joints.Translation, joints.Schoenflies, joints.Free, joints.Fixed, Modes, Deflection,
)}  # fmt: skip
CONSTRAINTS = {"distance": Distance, "linear": Linear, "knife edge": KnifeEdge, "rolling": Rolling, "touching": Touching}


class Entry(NamedTuple):
    """The type of an entry: how it is read, from its value and what messages call it, and its JSON Schema."""

    read: Callable[[Value, str], Any]
    schema: dict[str, Any]


def tensor(value: Value, what: str) -> Any:
    """A tensor of three moments, of xx yy zz xy xz yz, or of three rows."""
    entries = value.items(what)
    if len(entries) == 3 and all(isinstance(entry.data, list) for entry in entries):
        return np.array([entry.numbers(f"a row of {what}", 3) for entry in entries])
    xx, yy, zz, xy, xz, yz = (*value.numbers(what, 3, 6), 0.0, 0.0, 0.0)[:6]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def rotation(value: Value, what: str) -> tuple[float, ...]:
    numbers = value.numbers(what, 4)
    if not any(numbers):
        raise value.error(f"{what} is zero; it is a quaternion x y z w.")
    return numbers


def ratios(value: Value, what: str) -> tuple[tuple[str, float], ...]:
    """Numbers of joints by name."""
    named = value.fields(what, value.data if isinstance(value.data, dict) else ("joint1: 2.0",))
    return tuple((joint, x.number(f"{joint} in {what}")) for joint, x in named.items())


def excluded(value: Value, what: str) -> tuple[tuple[str | None, str | None], ...]:
    """Pairs of bodies, one alone for it and the ground."""
    pairs = [[x.text("an excluded body") for x in pair.items("an excluded pair")] for pair in value.items(what)]
    for pair in pairs:
        if len(pair) not in (1, 2):
            raise value.error(f"an excluded pair is {pair}; it takes two bodies, or one for it and the ground.")
    return tuple((pair[0], pair[1] if len(pair) == 2 else None) for pair in pairs)


def one_of(kinds) -> Entry:
    return Entry(Value.text, {"enum": list(kinds)})


def things(kind: str) -> Entry:
    """A list of things, which are read one by one."""
    return Entry(Value.items, {"type": "array", "items": {"$ref": f"#/$defs/{kind}"}})


def counted(*counts: int) -> Entry:
    """Numbers in a list of one of these lengths; of any length without them."""
    lists = [{"type": "array", "items": {"type": "number"}, "minItems": n, "maxItems": n} for n in counts]
    schema = {"anyOf": lists} if len(lists) > 1 else lists[0] if lists else {"type": "array", "items": {"type": "number"}}
    return Entry(lambda value, what: value.numbers(what, *counts), schema)


TEXT, NUMBER = Entry(Value.text, {"type": "string", "minLength": 1}), Entry(Value.number, {"type": "number"})
NUMBERS, VECTOR, COLOR = counted(), counted(3), counted(4)
SEVERAL = Entry(Value.values, {"anyOf": [NUMBER.schema, NUMBERS.schema]})
WHOLE = Entry(Value.whole, {"type": "integer"})
FLAG = Entry(lambda value, what: bool(value.number(what)), {"enum": [0, 1]})
ROTATION = Entry(rotation, COLOR.schema)
ROWS = {"type": "array", "items": VECTOR.schema, "minItems": 3, "maxItems": 3}
TENSOR = Entry(tensor, {"anyOf": [*counted(3, 6).schema["anyOf"], ROWS]})
RATIOS = Entry(ratios, {"type": "object", "additionalProperties": NUMBER.schema})
PAIRS = Entry(excluded, {"type": "array", "items": {"type": "array", "items": TEXT.schema}})
USUAL: dict[str, Entry] = {  # by the name of an entry, in all things; what is not named is a number
    **dict.fromkeys(("name", "parent", "child", "body", "joint", "of", "one", "other"), TEXT),
    **dict.fromkeys(("flexible", "root", "frame", "mesh", "path"), TEXT),
    **dict.fromkeys(("point", "center", "at", "on", "force", "torque", "direction", "axis", "normal", "gravity"), VECTOR),
    **dict.fromkeys(("shape", "other_shape", "group", "mask", "priority"), WHOLE),
    **dict.fromkeys(("coefficients", "size", "linear", "quadratic"), NUMBERS),
    **dict.fromkeys(("terms", "gears"), RATIOS),
    "rotation": ROTATION,
    "tensor": TENSOR,
    "color": COLOR,
    "active": FLAG,
    "material": Entry(lambda value, what: value, {"$ref": "#/$defs/material"}),
    "combine": one_of(("max", "min")),
    "axes": one_of(("world", "body")),
}


def entries(names: str, **own: Entry) -> dict[str, Entry]:
    """The entries of a thing by name: the usual ones, and its own."""
    return {name: USUAL.get(name, NUMBER) for name in names.split()} | own


def like(*kinds: type) -> dict[str, Entry]:
    """The entries of a thing that a file describes by the fields of its class."""
    return entries(" ".join(x.name for kind in kinds for x in fields(kind)))


MOTION = entries("axis point pitch rotation flexible root frame", kind=one_of(KINDS)) | dict.fromkeys(PHYSICS, SEVERAL)
THINGS: dict[str, dict[str, Entry]] = {
    "file": entries(
        "screws name gravity", screws=Entry(Value.number, {"const": VERSION}), bodies=things("body"), joints=things("joint"),
        frames=things("frame"), loops=things("joint"), couplings=things("coupling"), springs=things("spring"), pushes=things("push"),
        constraints=things("constraint"), ground=things("shape"), contacts=things("contact"), excluded=PAIRS,
        actuators=things("actuator"), flexible=things("flexible"),
    ),
    "body": entries("name mass center tensor", mass=Entry(Value.number, {"type": "number", "minimum": 0}),
                    visuals=things("shape"), collisions=things("shape")),
    "joint": entries("name parent child", parts=things("part")) | MOTION,
    "part": entries("name") | MOTION,
    "frame": entries("name body point rotation"),
    "coupling": entries("name joint of coefficients"),
    "spring": like(Spring),
    "push": like(Push),
    "constraint": like(*CONSTRAINTS.values()) | {"kind": one_of(CONSTRAINTS)},
    "shape": entries("size point rotation color name mesh path material group mask", kind=TEXT),
    "material": like(Material),
    "contact": like(Contact),
    "actuator": like(Actuator),
    "flexible": entries("name root", modes=Entry(Value.whole, {"type": "integer", "minimum": 0}), stiffens=FLAG, line=FLAG,
                        frames=things("attachment"), looks=things("look")) | dict.fromkeys(ARRAYS, NUMBERS),
    "look": entries("size", kind=TEXT, at=NUMBERS),
    "attachment": entries("name point rotation linear quadratic"),
}  # fmt: skip
NEEDED: dict[str, tuple[str, ...]] = {  # of other things the name
    "file": ("screws",), "joint": ("name", "child"), "part": (), "frame": ("name", "body"), "coupling": ("name", "joint"),
    "spring": ("name", "other"), "push": ("name", "body"), "constraint": ("name", "kind"), "shape": ("kind",), "material": (),
    "actuator": ("name", "gears"), "flexible": ("name", "modes", "stiffness", "damping"), "look": ("kind", "size", "at"),
    "attachment": ("name", "linear", "quadratic"),
}  # fmt: skip


def schema() -> dict[str, Any]:
    """The format as a JSON Schema, for editors and for other programs that write it."""
    defined = {
        thing: {
            "type": "object",
            "properties": {name: entry.schema for name, entry in known.items()},
            "required": list(NEEDED.get(thing, ("name",))),
            "additionalProperties": False,
        }
        for thing, known in THINGS.items()
    }
    file = defined.pop("file")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "linkwork screws", **file, "$defs": defined}
