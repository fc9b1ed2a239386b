"""A Model as a file in the world frame, and the schema of such files."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from ..errors import ModelError
from ..flexible import Deflection, FlexibleBody, Modes
from ..flexible.data import ARRAYS, as_data
from ..joints import Compound, Helical, Joint
from ..model import Model, Push, Spring
from ..model.world_frame import in_world_frame
from ..spatial import Pose
from . import screws_contacts as contacts
from .data import text
from .screws import CONSTRAINTS, ENTRIES, KINDS, PHYSICS, VERSION

ABOUT_ONE_AXIS = "revolute", "prismatic", "helical", "cylindrical"  # the rotation of their frame about the axis is arbitrary
ABSENT_IF_ZERO = "damping", "friction", "stiffness", "armature"


def written(model: Model) -> str:
    """The text of such a file, in JSON."""
    return text(entries(model))


def entries(model: Model) -> dict[str, Any]:
    """The entries of a file with the model in the world frame, in its reference pose; it loads back to the same dynamics.

    The format has no body frames; named frames are kept. What else it cannot hold is an error.
    """
    model = in_world_frame(model)
    if lost := [*_lost(model)]:
        raise ModelError(f"{model.name} cannot be written in the world frame: {'; '.join(lost)}. Without world_frame=True a file holds it.")
    flexible: dict[FlexibleBody, str] = {}
    for i, body in enumerate(dict.fromkeys(model.flexible_bodies.values())):
        flexible[body] = f"flexible{i + 1}"
    joints = [_placed_joint(placed, flexible) for placed in model.joints]
    frames = [{"name": frame.name, "body": frame.body, **_pose(frame.pose)} for frame in model.frames]
    couplings = [_coupling(coupling) for coupling in model.couplings]
    bodies = [_body(body) | contacts.looks(body) for body in model.bodies]
    parts: list[tuple[str, list]] = [("bodies", bodies), ("joints", joints)]
    parts += [("frames", frames), ("loops", [_placed_joint(loop) for loop in model.loops]), ("couplings", couplings)]
    parts += [(kind, [_force(x) for x in model.forces if isinstance(x, made)]) for kind, made in (("springs", Spring), ("pushes", Push))]
    parts.append(("constraints", [_constraint(x) for x in model.constraints]))
    parts.append(("flexible", [{"name": name, **as_data(body)} for body, name in flexible.items()]))
    parts += contacts.parts(model)
    return {"screws": VERSION, "name": model.name, "gravity": list(model.gravity), **{name: entries for name, entries in parts if entries}}


def _lost(model: Model) -> Iterator[str]:
    """What a model in the world frame has that the format has not."""
    inactive = [f'loop "{x.name}"' for x in model.loops if not x.active] + [f'coupling "{x.name}"' for x in model.couplings if not x.active]
    yield from (f"{name} is not active" for name in inactive)
    for x in model.loops:
        if not np.allclose(x.at.matrix, x.on.matrix, rtol=0.0, atol=1e-9 * model.size):
            yield f'loop "{x.name}" is open in the reference pose'
    if model.fluid is not None:
        yield "it is in a fluid"


def _body(body) -> dict[str, Any]:
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = body.tensor
    return {"name": body.name, "mass": body.mass, "center": body.center, "tensor": (xx, yy, zz, xy, xz, yz)}


def _placed_joint(placed, flexible: Mapping[FlexibleBody, str] | None = None) -> dict[str, Any]:
    out: dict[str, Any] = {"name": placed.name}
    if placed.parent is not None:
        out["parent"] = placed.parent
    out["child"] = placed.child
    if isinstance(placed.joint, Compound):
        frame, parts = placed.at, []
        for name, joint, placement in placed.joint.parts:
            frame = frame @ placement
            parts.append({"name": name, **_joint(joint, frame)})
        return {**out, "parts": parts}
    joint = placed.joint
    if isinstance(joint, Modes | Deflection):
        own = {"root": joint.root} if isinstance(joint, Modes) else {"frame": joint.frame_name}
        named = {"kind": joint.kind, "flexible": (flexible or {})[joint.body], **{key: x for key, x in own.items() if x is not None}}
        physics = {name: value for name in PHYSICS if name != "damping" and (value := _physics(joint, name)) is not None}
        return {**out, **named, **_pose(placed.at), **physics}
    return {**out, **_joint(joint, placed.at)}


def _joint(joint: Joint, frame: Pose) -> dict[str, Any]:
    if joint.kind not in KINDS:
        raise ModelError(f"a {joint.kind} joint cannot be written in the world frame; the format has {', '.join(KINDS)}.")
    out: dict[str, Any] = {"kind": joint.kind}
    if joint.nv:
        out["axis"] = tuple(map(float, frame.rotation @ joint.axis))
    if isinstance(joint, Helical):
        out["pitch"] = joint.pitch
    out |= _pose(Pose(translation=frame.translation) if joint.kind in ABOUT_ONE_AXIS else frame)
    return out | {name: value for name in PHYSICS if (value := _physics(joint, name)) is not None}


def _physics(joint: Joint, name: str):
    """A number or several, or None if the entry is left out: no limit, no damping."""
    value = getattr(joint, name)
    if value is None or (name in ABSENT_IF_ZERO and not np.any(value)) or np.all(np.isinf(value)):
        return None
    if not np.all(np.isfinite(value)):
        raise ModelError(f"a {joint.kind} joint has {name} {value}; JSON has finite numbers only.")
    return value


def _pose(pose: Pose) -> dict[str, Any]:
    out: dict[str, Any] = {"point": pose.translation}
    if pose.quaternion != Pose().quaternion:
        out["rotation"] = pose.quaternion
    return out


def _force(force) -> dict[str, Any]:
    """The entries of a spring or push that differ from their defaults."""
    return {x.name: getattr(force, x.name) for x in fields(force) if getattr(force, x.name) not in (None, x.default)}


def _constraint(constraint) -> dict[str, Any]:
    """The entries of a constraint that differ from their defaults."""
    kinds = [kind for kind, made in CONSTRAINTS.items() if type(constraint) is made]
    if not kinds:
        raise ModelError(f'constraint "{constraint.name}" is a function, which a file cannot hold; remove it from the model first.')
    entries = {x.name: getattr(constraint, x.name) for x in fields(constraint) if getattr(constraint, x.name) != x.default}
    entries |= {"axis": (0.0, 0.0, 0.0)} if entries.get("axis", 0) is None else {}
    entries |= {"terms": dict(entries["terms"])} if "terms" in entries else {}
    return {"name": constraint.name, "kind": kinds[0], **{key: x for key, x in entries.items() if x is not None}}


def _coupling(coupling) -> dict[str, Any]:
    of = {} if coupling.of is None else {"of": coupling.of}
    return {"name": coupling.name, "joint": coupling.joint, **of, "coefficients": coupling.coefficients}


def schema() -> dict[str, Any]:
    """The format as a JSON Schema, for editors and for other programs that write it."""

    def numbers(*counts: int) -> dict[str, Any]:
        lists = [{"type": "array", "items": {"type": "number"}, "minItems": n, "maxItems": n} for n in counts]
        return lists[0] if len(lists) == 1 else {"anyOf": lists}

    string, number, three = {"type": "string", "minLength": 1}, {"type": "number"}, numbers(3)
    several = {"anyOf": [number, {"type": "array", "items": number}]}
    rows = {"type": "array", "items": three, "minItems": 3, "maxItems": 3}
    of: dict[str, Any] = {
        "screws": {"const": VERSION}, "gravity": three, "mass": {"type": "number", "minimum": 0}, "center": three,
        "tensor": {"anyOf": [*numbers(3, 6)["anyOf"], rows]}, "kind": {"enum": list(KINDS)}, "axis": three, "point": three,
        "pitch": number, "rotation": numbers(4), "coefficients": {"type": "array", "items": number},
        **dict.fromkeys(PHYSICS, several), **dict.fromkeys(("name", "parent", "child", "body", "joint", "of", "one", "other"), string),
        **dict.fromkeys(("at", "on", "force", "torque", "direction", "normal"), three), "axes": {"enum": ["world", "body"]},
        **dict.fromkeys(("length", "radius", "height", "constant"), number),
        "terms": {"type": "object", "additionalProperties": number},
        **dict.fromkeys(("root", "frame"), string), "modes": {"type": "integer", "minimum": 0},
        "stiffens": {"enum": [0, 1]}, "line": {"enum": [0, 1]},
        **{name: {"type": "array", "items": number} for name in (*ARRAYS, "linear", "quadratic")},
    }  # fmt: skip
    of |= {"damping": several, "stiffness": several}

    of |= {"parts": _list_of("part"), "bodies": _list_of("body"), "joints": _list_of("joint"), "frames": _list_of("frame")}
    of |= {"loops": _list_of("joint"), "couplings": _list_of("coupling"), "springs": _list_of("spring"), "pushes": _list_of("push")}
    of |= {"constraints": _list_of("constraint"), **dict.fromkeys(("ground", "collisions", "visuals"), _list_of("shape"))}
    of |= {"looks": _list_of("look"), "size": {"type": "array", "items": number}}
    of |= {"flexible": {"anyOf": [string, _list_of("flexible")]}}
    of |= {"contacts": _list_of("contact"), "actuators": _list_of("actuator"), "material": {"$ref": "#/$defs/material"}}
    of |= {"excluded": {"type": "array", "items": {"type": "array", "items": string}}, "size": {"type": "array", "items": number}}
    of |= {"gears": {"type": "object", "additionalProperties": number}, "mesh": string, "path": string}
    of |= {"color": numbers(4), "combine": {"enum": ["max", "min"]}}
    of |= dict.fromkeys(("restitution", "compliance", "gain", "offset", "least_force", "largest_force", "active"), number)
    of |= {key: {"type": "integer"} for key in ("shape", "other_shape", "group", "mask", "priority")}
    needed = {"file": ["screws"], "body": ["name"], "joint": ["name", "child"], "part": [], "frame": ["name", "body"]}
    needed |= {"coupling": ["name", "joint"], "spring": ["name", "other"], "push": ["name", "body"], "constraint": ["name", "kind"]}
    needed |= contacts.NEEDED
    needed |= {"flexible": ["name", "modes", "stiffness", "damping"], "attachment": ["name", "linear", "quadratic"]}
    needed |= {"look": ["kind", "size", "at"]}
    own: dict[str, dict[str, Any]] = {"constraint": {"kind": {"enum": list(CONSTRAINTS)}}}
    own |= {"shape": {"kind": string}, "look": {"kind": string}}
    things = {
        kind: {
            "type": "object",
            "properties": {name: of[name] for name in entries} | own.get(kind, {}),
            "required": needed[kind],
            "additionalProperties": False,
        }
        for kind, entries in ENTRIES.items()
    }
    file = things.pop("file")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "linkwork screws", **file, "$defs": things}


def _list_of(kind: str) -> dict[str, Any]:
    return {"type": "array", "items": {"$ref": f"#/$defs/{kind}"}}
