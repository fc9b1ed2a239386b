"""Mechanisms described in the world frame, without body frames, as CAD exports them: JSON or YAML.

Everything is in world axes, in the reference pose, where every joint is at its identity (Müller and Terze, 2.3.3).

    screws: 1                                   the format and its version
    name: stanford_arm
    gravity: [0, 0, -9.81]
    bodies:
      - {name: link1, mass: 9.29, center: [0, 0.02, 0.3], tensor: [0.3, 0.5, 0.3]}
    joints:
      - {name: joint1, child: link1, axis: [0, 0, 1], point: [0, 0, 0.4]}
      - {name: joint2, parent: link1, child: link2, axis: [0, 1, 0], point: [0, 0.1, 0.4], pitch: 0.01}

`tensor` is about the centre of mass: three moments, six entries xx yy zz xy xz yz, or three rows. A joint without `kind` is
revolute, or helical if it has a pitch; without a parent it is on the world. `rotation` (x y z w) rotates the axes of the
coordinates of joints with several degrees of freedom. `parts` are the joints of a compound, in series. Springs between
points and pushes may follow under `springs` and `pushes`, with the entries of `lw.Spring` and `lw.Push`, and under
`constraints` those of `linkwork.constraints` that are not functions, each with its kind; a sphere has axis [0, 0, 0].
Shapes, ground, contacts and actuators are described in `screws_contacts`.

Flexible bodies are under `flexible`, each with the coefficients that `linkwork.flexible.data` names, in its own axes; joints of kind
"modes" (with `flexible` and `root`) and "deflection" (with `flexible` and `frame`) have the name of one.
"""

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from ..errors import ModelError, did_you_mean
from ..flexible import Deflection, FlexibleBody, Modes
from ..flexible.data import ARRAYS, from_data
from ..joints import (
    Compound,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    PlanarTranslation,
    Prismatic,
    Revolute,
    Schoenflies,
    Spherical,
    Translation,
)
from ..model import Body, Coupling, Distance, Frame, KnifeEdge, Linear, Loop, Model, PlacedJoint, Push, Rolling, Spring, Touching
from ..model.model import GRAVITY
from ..spatial import Pose
from . import screws_contacts as contacts
from .lines import Value

VERSION = 1
ZERO: Any = (0.0, 0.0, 0.0)
PHYSICS = "lower", "upper", "damping", "friction", "stiffness", "rest", "armature", "effort", "speed", "gear"
KINDS: dict[str, Callable[..., Joint]] = {
    "revolute": Revolute,
    "prismatic": Prismatic,
    "helical": Helical,
    "cylindrical": Cylindrical,
    "planar": Planar,
    "planartranslation": PlanarTranslation,
    "spherical": Spherical,
    "translation": Translation,
    "schoenflies": Schoenflies,
    "free": Free,
    "fixed": Fixed,
    "modes": Modes,
    "deflection": Deflection,
}
MOTION = "kind", "axis", "point", "pitch", "rotation", "flexible", "root", "frame", *PHYSICS
ENTRIES: dict[str, tuple[str, ...]] = {
    "file": ("screws", "name", "gravity", "bodies", "joints", "frames", "loops", "couplings", "springs", "pushes", "constraints",
             "ground", "contacts", "excluded", "actuators", "flexible"),
    "body": ("name", "mass", "center", "tensor", "visuals", "collisions"),
    "joint": ("name", "parent", "child", *MOTION, "parts"),
    "part": ("name", *MOTION),
    "frame": ("name", "body", "point", "rotation"),
    "coupling": ("name", "joint", "of", "coefficients"),
    "spring": ("name", "one", "other", "at", "on", "stiffness", "length", "damping"),
    "push": ("name", "body", "force", "torque", "at", "axes"),
    "flexible": ("name", "modes", "root", "stiffens", "line", *ARRAYS, "frames", "looks"),
    "look": ("kind", "size", "at"),
    "attachment": ("name", "point", "rotation", "linear", "quadratic"),
}
TEXTS = "one", "other", "body", "axes", "parent", "child"  # of springs, pushes and constraints; other entries are numbers
VECTORS = "at", "on", "force", "torque", "direction", "axis", "center", "normal"
CONSTRAINTS = {"distance": Distance, "linear": Linear, "knife edge": KnifeEdge, "rolling": Rolling, "touching": Touching}
ENTRIES |= contacts.ENTRIES
ENTRIES["constraint"] = tuple(dict.fromkeys(["name", "kind", *(x.name for kind in CONSTRAINTS.values() for x in fields(kind))]))


def read(file: Value, *, name: str) -> Model:
    """The Model of such a file."""
    data = file.fields(name, ENTRIES["file"])
    if "screws" not in data:
        raise file.error('this is not a mechanism in the world frame: it has no entry "screws": 1.')
    if (version := data["screws"].number("screws")) != VERSION:
        raise data["screws"].error(f"this is version {version:g} of the format; version {VERSION} can be read.")
    bodies = [_body(value) for value in _all(data, "bodies")]
    flexible = dict(_flexible(value) for value in _all(data, "flexible"))
    known = {body.name for body in bodies}
    try:
        return Model(
            data["name"].text("name") if "name" in data else name.partition(".")[0],
            tuple(bodies),
            tuple(_placed_joint(value, known, PlacedJoint, flexible) for value in _all(data, "joints")),
            tuple(_frame(value, known) for value in _all(data, "frames")),
            tuple(_placed_joint(value, known, Loop) for value in _all(data, "loops")),
            tuple(_coupling(value) for value in _all(data, "couplings")),
            data["gravity"].vector("gravity") if "gravity" in data else GRAVITY,
            (*(_force(x, "spring", Spring) for x in _all(data, "springs")), *(_force(x, "push", Push) for x in _all(data, "pushes"))),
            tuple(_constraint(x) for x in _all(data, "constraints")),
            ground=contacts.shapes(data["ground"], "the ground", _pose, _made) if "ground" in data else (),
            contacts=tuple(contacts.contact(x, _made) for x in _all(data, "contacts")),
            excluded=contacts.excluded(data["excluded"]) if "excluded" in data else (),
            actuators=tuple(contacts.actuator(x, _made) for x in _all(data, "actuators")),
        )
    except ModelError as error:
        raise error if f"{name}, line" in str(error) else ModelError(f"{name}: {error}") from None


def _all(data: dict[str, Value], what: str) -> list[Value]:
    return data[what].items(what) if what in data else []


def _named(value: Value, kind: str) -> tuple[str, str, dict[str, Value]]:
    """The name of a thing, its label in messages, and its entries."""
    data = value.fields(f"a {kind}", ENTRIES[kind])
    if "name" not in data:
        raise value.error(f'a {kind} has no "name".')
    name = data["name"].text(f"the name of a {kind}")
    return name, f'{kind} "{name}"', data


def _body(value: Value) -> Body:
    name, label, data = _named(value, "body")
    mass = data["mass"].number(f"the mass of {label}") if "mass" in data else 0.0
    center = data["center"].vector(f"the center of {label}") if "center" in data else (0.0, 0.0, 0.0)
    tensor = _tensor(data["tensor"], f"the tensor of {label}") if "tensor" in data else ZERO
    shapes = {key: contacts.shapes(data[key], label, _pose, _made) for key in ("visuals", "collisions") if key in data}
    return _made(value, lambda: Body(name, mass, center, tensor, **shapes))


def _tensor(value: Value, label: str) -> Any:
    """Three moments, xx yy zz xy xz yz, or three rows."""
    entries = value.items(label)
    if len(entries) == 3 and all(isinstance(entry.data, list) for entry in entries):
        return np.array([entry.numbers(f"a row of {label}", 3) for entry in entries])
    numbers = value.numbers(label, 3, 6)
    xx, yy, zz, xy, xz, yz = (*numbers, 0.0, 0.0, 0.0)[:6]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _flexible(value: Value) -> tuple[str, FlexibleBody]:
    """A flexible body by its name."""
    name, label, data = _named(value, "flexible")
    entries: dict[str, Any] = {x: data[x].numbers(f"{x} of {label}") for x in ARRAYS if x in data}
    entries |= {x: data[x].number(f"{x} of {label}") for x in ("modes", "stiffens", "line") if x in data}
    if "root" in data:
        entries["root"] = data["root"].text(f"the root of {label}")
    if "modes" not in entries or entries["modes"] < 0 or entries["modes"] % 1:
        raise value.error(f'{label} has no "modes", the number of its modal coordinates.')
    entries["frames"], entries["looks"] = [], []
    for each in _all(data, "looks"):
        look = each.fields(f"a look of {label}", ENTRIES["look"])
        if lost := [x for x in ENTRIES["look"] if x not in look]:
            raise each.error(f'a look of {label} has no "{lost[0]}".')
        numbers = {x: look[x].numbers(f"{x} of a look of {label}") for x in ("size", "at")}
        entries["looks"].append({"kind": look["kind"].text(f"the kind of a look of {label}"), **numbers})
    for each in _all(data, "frames"):
        frame, known, parts = _named(each, "attachment")
        pose = _pose(parts, known)
        found: dict[str, Any] = {x: parts[x].numbers(f"{x} of {known}") for x in ("linear", "quadratic") if x in parts}
        if len(found) < 2:
            raise each.error(f'{known} of {label} needs "linear" and "quadratic".')
        entries["frames"].append(found | {"name": frame, "point": pose.translation, "rotation": pose.quaternion})
    return name, _made(value, lambda: from_data(entries))


def _placed_joint(value: Value, bodies: set[str], kind: type, flexible: dict[str, FlexibleBody] | None = None) -> Any:
    name, label, data = _named(value, "joint")
    parent = data["parent"].text(f"the parent of {label}") if "parent" in data else None
    if "child" not in data:
        raise value.error(f'{label} has no "child".')
    child = data["child"].text(f"the child of {label}")
    for role, body in (("parent", parent), ("child", child)):
        if body not in bodies and not (role == "parent" and body in (None, "world")):
            raise data[role].error(f'{label} has {role} "{body}", which is not a body.{did_you_mean(str(body), bodies)}')
    joint, first, last = _compound(data["parts"], label) if "parts" in data else _joint(value, data, label, flexible or {})
    if joint.deformation is not None:
        last = first @ joint.displaced(np.zeros(joint.nq))
    return kind(name, None if parent == "world" and "world" not in bodies else parent, child, joint, first, last)


def _joint(value: Value, data: dict[str, Value], label: str, flexible: dict[str, FlexibleBody] | None = None) -> tuple[Joint, Pose, Pose]:
    """A joint and its frame in the world, on the parent and on the child, which coincide in the reference pose."""
    kind = data["kind"].text(f"the kind of {label}") if "kind" in data else "helical" if "pitch" in data else "revolute"
    if kind not in KINDS:
        raise data["kind"].error(f'{label} has kind "{kind}", which is not known.{did_you_mean(kind, KINDS)}')
    if ("pitch" in data) != (kind == "helical"):
        raise value.error(f"{label} is {kind}; a pitch is for helical joints, which need one.")
    frame = _pose(data, label)
    if kind in ("modes", "deflection"):
        return _made(value, lambda: _of_flexible(value, kind, data, label, flexible or {})), frame, frame
    options: dict[str, Any] = {name: data[name].values(f"the {name} of {label}") for name in PHYSICS if name in data}
    if "axis" in data:
        options["axis"] = tuple(frame.rotation.T @ data["axis"].numbers(f"the axis of {label}", 3))
    if kind == "helical":
        options["pitch"] = data["pitch"].number(f"the pitch of {label}")
    return _made(value, lambda: KINDS[kind](**options)), frame, frame


def _of_flexible(value: Value, kind: str, data: dict[str, Value], label: str, flexible: dict[str, FlexibleBody]) -> Joint:
    """The modal coordinates of a flexible body, or a frame on it."""
    body = data["flexible"].text(f"the flexible body of {label}") if "flexible" in data else ""
    if body not in flexible:
        near = did_you_mean(body, flexible)
        raise data.get("flexible", value).error(f'{label} is of the flexible body "{body}", which is not there.{near}')
    if kind == "modes":
        options: dict[str, Any] = {name: data[name].values(f"the {name} of {label}") for name in PHYSICS if name in data}
        return Modes(body=flexible[body], root=data["root"].text(f"the root of {label}") if "root" in data else None, **options)
    if "frame" not in data:
        raise value.error(f'{label} has no "frame": it is one of a flexible body.')
    return Deflection(body=flexible[body], frame_name=data["frame"].text(f"the frame of {label}"))


def _compound(value: Value, label: str) -> tuple[Joint, Pose, Pose]:
    """Joints in series, each with its pose on the one before."""
    row: list = []
    frames: list[Pose] = []
    for i, part in enumerate(value.items(f"the parts of {label}")):
        data = part.fields(f"part {i + 1} of {label}", ENTRIES["part"])
        joint, frame, _ = _joint(part, data, f"part {i + 1} of {label}")
        placement = frames[-1].inverse() @ frame if frames else Pose()
        row.append((data["name"].text("the name of a part") if "name" in data else str(i + 1), joint, placement))
        frames.append(frame)
    if not row:
        raise value.error(f"{label} has no parts; a compound joint has at least one.")
    return Compound(row=tuple(row)), frames[0], frames[-1]


def _pose(data: dict[str, Value], label: str) -> Pose:
    point = data["point"].vector(f"the point of {label}") if "point" in data else (0.0, 0.0, 0.0)
    if "rotation" not in data:
        return Pose(translation=point)
    x, y, z, w = data["rotation"].numbers(f"the rotation of {label}", 4)
    if not x * x + y * y + z * z + w * w > 0:
        raise data["rotation"].error(f"the rotation of {label} is zero; it is a quaternion x y z w.")
    return Pose((x, y, z, w), point)


def _frame(value: Value, bodies: set[str]) -> Frame:
    name, label, data = _named(value, "frame")
    body = data["body"].text(f"the body of {label}") if "body" in data else ""
    if body not in bodies:
        raise data.get("body", value).error(f'{label} is on body "{body}", which is not there.{did_you_mean(body, bodies)}')
    return Frame(name, body, _pose(data, label))


def _force(value: Value, kind: str, make: Callable) -> Any:
    """A spring or a push, its points in the world in the reference pose."""
    name, label, data = _named(value, kind)
    options: dict[str, Any] = {"one": None} if kind == "spring" else {}
    options |= {key: _entry(entry, key, label) for key, entry in data.items() if key != "name"}
    needed = "other" if kind == "spring" else "body"
    if needed not in options:
        raise value.error(f'{label} has no "{needed}".')
    return _made(value, lambda: make(name, **options))


def _entry(entry: Value, key: str, label: str):
    what = f"{key} of {label}"
    return entry.text(what) if key in TEXTS else entry.vector(what) if key in VECTORS else entry.number(what)


def _constraint(value: Value) -> Any:
    """A constraint, its points and directions in the world in the reference pose."""
    name, label, data = _named(value, "constraint")
    kind = data["kind"].text(f"the kind of {label}") if "kind" in data else ""
    if kind not in CONSTRAINTS:
        hint = did_you_mean(kind, CONSTRAINTS)
        raise data.get("kind", value).error(f'{label} has kind "{kind}"; there are {", ".join(CONSTRAINTS)}.{hint}')
    known = {x.name: x for x in fields(CONSTRAINTS[kind])}
    options: dict[str, Any] = {"parent": None} if kind == "distance" else {}
    for key, entry in data.items():
        if key not in known and key != "kind":
            raise entry.error(f'{label} is of kind "{kind}", which has no "{key}".')
        if key == "terms":
            terms = entry.fields(f"the terms of {label}", entry.data if isinstance(entry.data, dict) else ("joint1: 2.0",))
            options[key] = {joint: x.number(f"{joint} in {label}") for joint, x in terms.items()}
        elif key not in ("name", "kind"):
            options[key] = _entry(entry, key, label)
    if lost := [x.name for x in known.values() if x.default is MISSING and x.name not in {"name", *options}]:
        raise value.error(f'{label} has no "{lost[0]}".')
    if "axis" in options and not np.any(options["axis"]):
        options["axis"] = None
    return _made(value, lambda: CONSTRAINTS[kind](name, **options))


def _coupling(value: Value) -> Coupling:
    name, label, data = _named(value, "coupling")
    if "joint" not in data:
        raise value.error(f'{label} has no "joint".')
    of = data["of"].text(f"the other joint of {label}") if "of" in data else None
    coefficients = data["coefficients"].numbers(f"the coefficients of {label}") if "coefficients" in data else (0.0, 1.0)
    return Coupling(name, data["joint"].text(f"the joint of {label}"), of, coefficients)


def _made(value: Value, make: Callable):
    """Call a constructor, and add the line of the value to its error."""
    try:
        return make()
    except ModelError as error:
        raise value.error(str(error)) from None
