"""Mechanisms given in one world frame, without body frames, as CAD exports them: JSON or YAML.

Everything is in the world's axes, in the reference pose, where every joint is at its identity (Müller and Terze, 2.3.3).

    screws: 1                                   says what this is, and the version
    name: stanford_arm
    gravity: [0, 0, -9.81]
    bodies:
      - {name: link1, mass: 9.29, center: [0, 0.02, 0.3], tensor: [0.3, 0.5, 0.3]}
    joints:
      - {name: joint1, child: link1, axis: [0, 0, 1], point: [0, 0, 0.4]}
      - {name: joint2, parent: link1, child: link2, axis: [0, 1, 0], point: [0, 0.1, 0.4], pitch: 0.01}

`tensor` is about the centre of mass: three moments, six entries xx yy zz xy xz yz, or three rows. A joint without `kind` is
revolute, or helical if it has a pitch; without a parent it stands on the world. `rotation` (x y z w) turns the axes in
which joints of several freedoms count their coordinates. `parts` are the joints in a row of a compound. Springs between
points and pushes may follow under `springs` and `pushes`, with the entries of `lw.Spring` and `lw.Push`, and under
`constraints` those of `linkwork.constraints` that are no functions, each with its kind; a ball has axis [0, 0, 0].
"""

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from ..errors import ModelError, did_you_mean
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
from .lines import Value, parsed

VERSION = 1
ZERO: Any = (0.0, 0.0, 0.0)
PHYSICS = "lower", "upper", "damping", "friction", "stiffness", "rest", "armature", "effort", "speed"
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
}
MOTION = "kind", "axis", "point", "pitch", "rotation", *PHYSICS
ENTRIES: dict[str, tuple[str, ...]] = {
    "file": ("screws", "name", "gravity", "bodies", "joints", "frames", "loops", "couplings", "springs", "pushes", "constraints"),
    "body": ("name", "mass", "center", "tensor"),
    "joint": ("name", "parent", "child", *MOTION, "parts"),
    "part": ("name", *MOTION),
    "frame": ("name", "body", "point", "rotation"),
    "coupling": ("name", "joint", "of", "coefficients"),
    "spring": ("name", "one", "other", "at", "on", "stiffness", "length", "damping"),
    "push": ("name", "body", "force", "torque", "at", "axes"),
}
TEXTS = "one", "other", "body", "axes", "parent", "child"  # of springs, pushes and constraints; what they have besides is numbers
VECTORS = "at", "on", "force", "torque", "direction", "axis", "center", "normal"
BONDS = {"distance": Distance, "linear": Linear, "knife edge": KnifeEdge, "rolling": Rolling, "touching": Touching}
ENTRIES["constraint"] = tuple(dict.fromkeys(["name", "kind", *(x.name for bond in BONDS.values() for x in fields(bond))]))


def is_screws(text: str) -> bool:
    """Is this a text of such a file, rather than XML or a path?"""
    head = text.lstrip()
    if head.startswith(("{", "<")):
        return head.startswith("{")
    return any(line.startswith("screws:") for line in head.splitlines()[:40])


def read(text: str, *, name: str) -> Model:
    """The Model of such a text."""
    file = parsed(text, name)
    data = file.fields(name, ENTRIES["file"])
    if "screws" not in data:
        raise file.error('this is no mechanism in the world frame: it has no entry "screws": 1.')
    if (version := data["screws"].number("screws")) != VERSION:
        raise data["screws"].error(f"this is version {version:g} of the format; version {VERSION} can be read.")
    bodies = [_body(value) for value in _all(data, "bodies")]
    known = {body.name for body in bodies}
    try:
        return Model(
            data["name"].text("name") if "name" in data else name.partition(".")[0],
            tuple(bodies),
            tuple(_placed_joint(value, known, PlacedJoint) for value in _all(data, "joints")),
            tuple(_frame(value, known) for value in _all(data, "frames")),
            tuple(_placed_joint(value, known, Loop) for value in _all(data, "loops")),
            tuple(_coupling(value) for value in _all(data, "couplings")),
            data["gravity"].vector("gravity") if "gravity" in data else GRAVITY,
            (*(_force(x, "spring", Spring) for x in _all(data, "springs")), *(_force(x, "push", Push) for x in _all(data, "pushes"))),
            tuple(_bond(x) for x in _all(data, "constraints")),
        )
    except ModelError as error:
        raise error if f"{name}, line" in str(error) else ModelError(f"{name}: {error}") from None


def _all(data: dict[str, Value], what: str) -> list[Value]:
    return data[what].items(what) if what in data else []


def _named(value: Value, kind: str) -> tuple[str, str, dict[str, Value]]:
    """The name of a thing, how to call it in messages, and its entries."""
    data = value.fields(f"a {kind}", ENTRIES[kind])
    if "name" not in data:
        raise value.error(f'a {kind} has no "name".')
    name = data["name"].text(f"the name of a {kind}")
    return name, f'{kind} "{name}"', data


def _body(value: Value) -> Body:
    name, said, data = _named(value, "body")
    mass = data["mass"].number(f"the mass of {said}") if "mass" in data else 0.0
    center = data["center"].vector(f"the center of {said}") if "center" in data else (0.0, 0.0, 0.0)
    tensor = _tensor(data["tensor"], f"the tensor of {said}") if "tensor" in data else ZERO
    return _made(value, lambda: Body(name, mass, center, tensor))


def _tensor(value: Value, said: str) -> Any:
    """Three moments, xx yy zz xy xz yz, or three rows."""
    entries = value.items(said)
    if len(entries) == 3 and all(isinstance(entry.data, list) for entry in entries):
        return np.array([entry.numbers(f"a row of {said}", 3) for entry in entries])
    numbers = value.numbers(said, 3, 6)
    xx, yy, zz, xy, xz, yz = (*numbers, 0.0, 0.0, 0.0)[:6]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _placed_joint(value: Value, bodies: set[str], kind: type) -> Any:
    name, said, data = _named(value, "joint")
    parent = data["parent"].text(f"the parent of {said}") if "parent" in data else "world"
    if "child" not in data:
        raise value.error(f'{said} has no "child".')
    child = data["child"].text(f"the child of {said}")
    for role, body in (("parent", parent), ("child", child)):
        if body not in bodies and not (role == "parent" and body == "world"):
            raise data[role].error(f'{said} has {role} "{body}", which no body has for its name.{did_you_mean(body, bodies)}')
    joint, first, last = _compound(data["parts"], said) if "parts" in data else _joint(value, data, said)
    return kind(name, None if parent == "world" and "world" not in bodies else parent, child, joint, first, last)


def _joint(value: Value, data: dict[str, Value], said: str) -> tuple[Joint, Pose, Pose]:
    """A joint and its frame in the world, which is the same from both sides in the reference pose."""
    kind = data["kind"].text(f"the kind of {said}") if "kind" in data else "helical" if "pitch" in data else "revolute"
    if kind not in KINDS:
        raise data["kind"].error(f'{said} has kind "{kind}", which is not known.{did_you_mean(kind, KINDS)}')
    if ("pitch" in data) != (kind == "helical"):
        raise value.error(f"{said} is {kind}; a pitch is for helical joints, which need one.")
    frame = _pose(data, said)
    options: dict[str, Any] = {name: data[name].values(f"the {name} of {said}") for name in PHYSICS if name in data}
    if "axis" in data:
        options["axis"] = tuple(frame.rotation.T @ data["axis"].numbers(f"the axis of {said}", 3))
    if kind == "helical":
        options["pitch"] = data["pitch"].number(f"the pitch of {said}")
    return _made(value, lambda: KINDS[kind](**options)), frame, frame


def _compound(value: Value, said: str) -> tuple[Joint, Pose, Pose]:
    """Joints in a row: each placed on the one before."""
    row: list = []
    frames: list[Pose] = []
    for i, part in enumerate(value.items(f"the parts of {said}")):
        data = part.fields(f"part {i + 1} of {said}", ENTRIES["part"])
        joint, frame, _ = _joint(part, data, f"part {i + 1} of {said}")
        placement = frames[-1].inverse() @ frame if frames else Pose()
        row.append((data["name"].text("the name of a part") if "name" in data else str(i + 1), joint, placement))
        frames.append(frame)
    if not row:
        raise value.error(f"{said} has no parts; a compound joint has at least one.")
    return Compound(row=tuple(row)), frames[0], frames[-1]


def _pose(data: dict[str, Value], said: str) -> Pose:
    point = data["point"].vector(f"the point of {said}") if "point" in data else (0.0, 0.0, 0.0)
    if "rotation" not in data:
        return Pose(translation=point)
    x, y, z, w = data["rotation"].numbers(f"the rotation of {said}", 4)
    if not x * x + y * y + z * z + w * w > 0:
        raise data["rotation"].error(f"the rotation of {said} is zero; it is a quaternion x y z w.")
    return Pose((x, y, z, w), point)


def _frame(value: Value, bodies: set[str]) -> Frame:
    name, said, data = _named(value, "frame")
    body = data["body"].text(f"the body of {said}") if "body" in data else ""
    if body not in bodies:
        raise data.get("body", value).error(f'{said} is on body "{body}", which is not there.{did_you_mean(body, bodies)}')
    return Frame(name, body, _pose(data, said))


def _force(value: Value, kind: str, make: Callable) -> Any:
    """A spring or a push, its points in the world in the reference pose."""
    name, said, data = _named(value, kind)
    options: dict[str, Any] = {"one": None} if kind == "spring" else {}
    options |= {key: _entry(entry, key, said) for key, entry in data.items() if key != "name"}
    needed = "other" if kind == "spring" else "body"
    if needed not in options:
        raise value.error(f'{said} has no "{needed}".')
    return _made(value, lambda: make(name, **options))


def _entry(entry: Value, key: str, said: str):
    what = f"{key} of {said}"
    return entry.text(what) if key in TEXTS else entry.vector(what) if key in VECTORS else entry.number(what)


def _bond(value: Value) -> Any:
    """A constraint, its points and directions in the world in the reference pose."""
    name, said, data = _named(value, "constraint")
    kind = data["kind"].text(f"the kind of {said}") if "kind" in data else ""
    if kind not in BONDS:
        raise data.get("kind", value).error(f'{said} has kind "{kind}"; there are {", ".join(BONDS)}.{did_you_mean(kind, BONDS)}')
    known = {x.name: x for x in fields(BONDS[kind])}
    options: dict[str, Any] = {"parent": None} if kind == "distance" else {}
    for key, entry in data.items():
        if key not in known and key != "kind":
            raise entry.error(f'{said} is of kind "{kind}", which has no "{key}".')
        if key == "terms":
            terms = entry.fields(f"the terms of {said}", entry.data if isinstance(entry.data, dict) else ("joint1: 2.0",))
            options[key] = {joint: x.number(f"{joint} in {said}") for joint, x in terms.items()}
        elif key not in ("name", "kind"):
            options[key] = _entry(entry, key, said)
    if lost := [x.name for x in known.values() if x.default is MISSING and x.name not in {"name", *options}]:
        raise value.error(f'{said} has no "{lost[0]}".')
    if "axis" in options and not np.any(options["axis"]):
        options["axis"] = None
    return _made(value, lambda: BONDS[kind](name, **options))


def _coupling(value: Value) -> Coupling:
    name, said, data = _named(value, "coupling")
    if "joint" not in data:
        raise value.error(f'{said} has no "joint".')
    of = data["of"].text(f"the other joint of {said}") if "of" in data else None
    coefficients = data["coefficients"].numbers(f"the coefficients of {said}") if "coefficients" in data else (0.0, 1.0)
    return Coupling(name, data["joint"].text(f"the joint of {said}"), of, coefficients)


def _made(value: Value, make: Callable):
    """What a constructor makes, its complaints with the line they are about."""
    try:
        return make()
    except ModelError as error:
        raise value.error(str(error)) from None
