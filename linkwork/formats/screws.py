"""Mechanisms described in the world frame, without body frames, as CAD exports them: JSON or YAML.

Everything is in world axes, in the reference pose, where every joint is at its identity (Müller and Terze, 2.3.3).

    screws: 1                                   the format and its version
    name: stanford_arm
    gravity: [0, 0, -9.81]
    bodies:
      - {name: link1, mass: 9.29, center: [0, 0.02, 0.3], tensor: [0.3, 0.5, 0.3]}
      - {name: foot, mass: 1, collisions: [{kind: sphere, size: [0.02], point: [0, 0, 0.1], material: {friction: 0.8}}]}
    joints:
      - {name: joint1, child: link1, axis: [0, 0, 1], point: [0, 0, 0.4]}
      - {name: joint2, parent: link1, child: link2, axis: [0, 1, 0], point: [0, 0.1, 0.4], pitch: 0.01}
    ground: [{kind: plane, name: floor}]
    contacts: [{name: step, one: foot, material: {restitution: 0.1}}]          # without `other` it is the ground
    excluded: [[foot, shin]]
    actuators: [{name: knee, gears: {knee_joint: 6.3}, stiffness: 40, gain: 40, upper: 1.5}]

`tensor` is about the centre of mass: three moments, six entries xx yy zz xy xz yz, or three rows. A joint without `kind` is
revolute, or helical if it has a pitch; without a parent it is on the world. `rotation` (x y z w) rotates the axes of the
coordinates of joints with several degrees of freedom. `parts` are the joints of a compound, in series. Springs between
points and pushes may follow under `springs` and `pushes`, with the entries of `lw.Spring` and `lw.Push`, and under
`constraints` those of `linkwork.constraints` that are not functions, each with its kind; a sphere has axis [0, 0, 0].

Flexible bodies are under `flexible`, each with the coefficients that `linkwork.flexible.data` names, in its own axes; joints of kind
"modes" (with `flexible` and `root`) and "deflection" (with `flexible` and `frame`) have the name of one.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from ..errors import ModelError, did_you_mean
from ..flexible import FlexibleBody
from ..flexible.data import from_data
from ..joints import Compound, Joint
from ..model import Actuator, Body, Contact, Coupling, Frame, Loop, Material, Model, PlacedJoint, Push, Shape, Spring
from ..model.model import GRAVITY
from ..spatial import Pose
from .lines import Value
from .screws_entries import CONSTRAINTS, KINDS, NEEDED, PHYSICS, THINGS, VERSION

RECORDS: dict[str, tuple[Callable, dict[str, Any]]] = {  # what has the entries of its class, and those that may be absent
    "coupling": (Coupling, {"of": None}),
    "spring": (Spring, {"one": None}),
    "push": (Push, {}),
    "contact": (Contact, {"one": None, "other": None}),
    "actuator": (Actuator, {}),
    "material": (Material, {}),
}
WHERE = {"point": (0.0, 0.0, 0.0), "rotation": Pose().quaternion}


def read(file: Value, *, name: str) -> Model:
    """The Model of such a file."""
    raw = file.fields(name, THINGS["file"])
    if "screws" not in raw:
        raise file.error('this is not a mechanism in the world frame: it has no entry "screws": 1.')
    if (version := raw["screws"].number("screws")) != VERSION:
        raise raw["screws"].error(f"this is version {version:g} of the format; version {VERSION} can be read.")
    data = {key: THINGS["file"][key].read(x, key) for key, x in raw.items()}
    all_of = lambda what, make, *context: tuple(make(x, *context) for x in data.get(what, ()))
    records = lambda what, thing: all_of(what, record, thing)
    bodies = all_of("bodies", _body)
    known, flexible = {body.name for body in bodies}, dict(all_of("flexible", _flexible))
    try:
        return Model(
            data.get("name", name.partition(".")[0]),
            bodies,
            all_of("joints", _placed_joint, known, PlacedJoint, flexible),
            all_of("frames", _frame, known),
            all_of("loops", _placed_joint, known, Loop, {}),
            records("couplings", "coupling"),
            data.get("gravity", GRAVITY),
            (*records("springs", "spring"), *records("pushes", "push")),
            all_of("constraints", _constraint),
            ground=all_of("ground", _shape, "a shape of the ground"),
            contacts=records("contacts", "contact"),
            excluded=data.get("excluded", ()),
            actuators=records("actuators", "actuator"),
        )
    except ModelError as error:
        raise error if f"{name}, line" in str(error) else ModelError(f"{name}: {error}") from None


def entries(value: Value, thing: str, label: str = "") -> tuple[str, dict[str, Any]]:
    """The label of a thing in messages, and its entries, each of its type; without a label it is called by its name."""
    raw, needed = value.fields(label or f"a {thing}", THINGS[thing]), NEEDED.get(thing, ("name",))
    if not label and "name" in needed:
        if "name" not in raw:
            raise value.error(f'a {thing} has no "name".')
        label = f'{thing} "{raw["name"].text(f"the name of a {thing}")}"'
    label = label or f"a {thing}"
    if lost := [x for x in needed if x not in raw]:
        raise value.error(f'{label} has no "{lost[0]}".')
    return label, {key: THINGS[thing][key].read(x, f"the {key} of {label}") for key, x in raw.items()}


def record(value: Value, thing: str, label: str = "") -> Any:
    """A thing that has the entries of its class."""
    make, absent = RECORDS[thing]
    label, data = entries(value, thing, label)
    return value.made(lambda: make(**absent | _with_material(data, label)))


def _with_material(data: dict[str, Any], label: str) -> dict[str, Any]:
    if "material" in data:
        data["material"] = record(data["material"], "material", f"the material of {label}")
    return data


def _body(value: Value) -> Body:
    label, data = entries(value, "body")
    for key in {"visuals", "collisions"} & set(data):
        data[key] = tuple(_shape(x, f"a shape of {label}") for x in data[key])
    return value.made(lambda: Body(**data))


def _shape(value: Value, label: str) -> Shape:
    label, data = entries(value, "shape", label)
    pose = _pose(data)
    return value.made(lambda: Shape(pose=pose, **_with_material(data, label)))


def _pose(data: dict[str, Any]) -> Pose:
    """The pose that a thing has by its entries, which are taken away."""
    point, quaternion = (data.pop(key, x) for key, x in WHERE.items())
    return Pose(quaternion, point)


def _flexible(value: Value) -> tuple[str, FlexibleBody]:
    """A flexible body by its name."""
    label, data = entries(value, "flexible")
    if data["modes"] < 0:
        raise value.error(f'{label} has no "modes", the number of its modal coordinates.')
    data["looks"] = [entries(x, "look", f"a look of {label}")[1] for x in data.get("looks", ())]
    data["frames"] = [WHERE | entries(x, "attachment")[1] for x in data.get("frames", ())]
    return data["name"], value.made(lambda: from_data(data))


def _known(value: Value, key: str, name: str, known: Iterable[str], said: str) -> None:
    """Raises at the line of an entry if it names what is not there."""
    if name not in known:
        raise value.data.get(key, value).error(f"{said}{did_you_mean(name, known)}")


def _placed_joint(value: Value, bodies: set[str], kind: type, flexible: dict[str, FlexibleBody]) -> Any:
    label, data = entries(value, "joint")
    name, parent, child = data.pop("name"), data.pop("parent", None), data.pop("child")
    for role, body, known in (("parent", parent or "world", bodies | {"world"}), ("child", child, bodies)):
        _known(value, role, body, known, f'{label} has {role} "{body}", which is not a body.')
    joint, first, last = _compound(data["parts"], value, label) if "parts" in data else _joint(value, data, label, flexible)
    if joint.deformation is not None:
        last = first @ joint.displaced(np.zeros(joint.nq))
    return kind(name, None if parent == "world" and "world" not in bodies else parent, child, joint, first, last)


def _joint(value: Value, data: dict[str, Any], label: str, flexible: Mapping[str, FlexibleBody]) -> tuple[Joint, Pose, Pose]:
    """A joint and its frame in the world, on the parent and on the child, which coincide in the reference pose."""
    kind = data.get("kind", "helical" if "pitch" in data else "revolute")
    _known(value, "kind", kind, KINDS, f'{label} has kind "{kind}", which is not known.')
    if ("pitch" in data) != (kind == "helical"):
        raise value.error(f"{label} is {kind}; a pitch is for helical joints, which need one.")
    frame, options = _pose(data), {key: data[key] for key in (*PHYSICS, "pitch") if key in data}
    if kind in ("modes", "deflection"):
        name = data.get("flexible", "")
        _known(value, "flexible", name, flexible, f'{label} is of the flexible body "{name}", which is not there.')
        if kind == "deflection" and "frame" not in data:
            raise value.error(f'{label} has no "frame": it is one of a flexible body.')
        options = {"frame_name": data["frame"]} if kind == "deflection" else options | {"root": data.get("root")}
        options["body"] = flexible[name]
    elif "axis" in data:
        options["axis"] = tuple(frame.rotation.T @ data["axis"])
    return value.made(lambda: KINDS[kind](**options)), frame, frame


def _compound(parts: list[Value], value: Value, label: str) -> tuple[Joint, Pose, Pose]:
    """Joints in series, each with its pose on the one before."""
    row: list = []
    frames: list[Pose] = []
    for i, part in enumerate(parts, 1):
        here, data = entries(part, "part", f"part {i} of {label}")
        joint, frame, _ = _joint(part, data, here, {})
        row.append((data.get("name", str(i)), joint, frames[-1].inverse() @ frame if frames else Pose()))
        frames.append(frame)
    if not row:
        raise value.error(f"{label} has no parts; a compound joint has at least one.")
    return Compound(row=tuple(row)), frames[0], frames[-1]


def _frame(value: Value, bodies: set[str]) -> Frame:
    label, data = entries(value, "frame")
    _known(value, "body", data["body"], bodies, f'{label} is on body "{data["body"]}", which is not there.')
    return Frame(data["name"], data["body"], _pose(data))


def _constraint(value: Value) -> Any:
    """A constraint, its points and directions in the world in the reference pose."""
    label, data = entries(value, "constraint")
    kind = data.pop("kind")
    _known(value, "kind", kind, CONSTRAINTS, f'{label} has kind "{kind}"; there are {", ".join(CONSTRAINTS)}.')
    known = {x.name: x for x in fields(CONSTRAINTS[kind])}
    if strange := [key for key in data if key not in known]:
        raise value.data[strange[0]].error(f'{label} is of kind "{kind}", which has no "{strange[0]}".')
    data = ({"parent": None} if kind == "distance" else {}) | data
    if lost := [x.name for x in known.values() if x.default is MISSING and x.name not in data]:
        raise value.error(f'{label} has no "{lost[0]}".')
    if "axis" in data and not any(data["axis"]):
        data["axis"] = None
    return value.made(lambda: CONSTRAINTS[kind](**data))
