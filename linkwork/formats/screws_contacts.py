"""Collision shapes, ground, contacts and actuators in files in the world frame: what is read, and what is written.

    bodies:
      - {name: foot, mass: 1, collisions: [{kind: sphere, size: [0.02], point: [0, 0, 0.1], material: {friction: 0.8}}]}
    ground: [{kind: plane, name: floor}]
    contacts: [{name: step, one: foot, material: {restitution: 0.1}}]          # without `other` it is the ground
    excluded: [[foot, shin]]
    actuators: [{name: knee, gears: {knee_joint: 6.3}, stiffness: 40, gain: 40, upper: 1.5}]
"""

from collections.abc import Callable
from dataclasses import fields
from math import isfinite
from typing import Any

from ..model import Actuator, Contact, Material, Model, Shape
from ..spatial import Pose
from .lines import Value

MATERIAL = tuple(x.name for x in fields(Material))
ACTUATOR = tuple(x.name for x in fields(Actuator))
ENTRIES: dict[str, tuple[str, ...]] = {
    "shape": ("kind", "size", "point", "rotation", "color", "name", "mesh", "path", "material", "group", "mask"),
    "material": MATERIAL,
    "contact": ("name", "one", "other", "shape", "other_shape", "material", "active"),
    "actuator": ACTUATOR,
}
NEEDED = {"shape": ["kind"], "material": [], "contact": ["name"], "actuator": ["name", "gears"]}


# --- read


def shapes(value: Value, label: str, pose: Callable, made: Callable) -> tuple[Shape, ...]:
    return tuple(_shape(x, label, pose, made) for x in value.items(label))


def _shape(value: Value, label: str, pose: Callable, made: Callable) -> Shape:
    label = f"a shape of {label}"
    data = value.fields(label, ENTRIES["shape"])
    if "kind" not in data:
        raise value.error(f'{label} has no "kind".')
    options: dict[str, Any] = {key: data[key].text(f"the {key} of {label}") for key in ("name", "mesh", "path") if key in data}
    options |= {"color": data["color"].numbers(f"the color of {label}", 4)} if "color" in data else {}
    options |= {key: whole(data[key], f"the {key} of {label}") for key in ("group", "mask") if key in data}
    size = data["size"].numbers(f"the size of {label}") if "size" in data else ()
    if "material" in data:
        options["material"] = _material(data["material"], label, made)
    kind, place = data["kind"].text(f"the kind of {label}"), pose(data, label)
    return made(value, lambda: Shape(kind, size, place, **options))


def whole(value: Value, label: str) -> int:
    number = value.number(label)
    if number != int(number):
        raise value.error(f"{label} is {number:g}; it takes a whole number.")
    return int(number)


def _material(value: Value, label: str, made: Callable) -> Material:
    data = value.fields(f"the material of {label}", MATERIAL)
    options: dict[str, Any] = {key: x.number(f"{key} of {label}") for key, x in data.items() if key not in ("combine", "priority")}
    options |= {"combine": data["combine"].text("combine")} if "combine" in data else {}
    options |= {"priority": whole(data["priority"], "priority")} if "priority" in data else {}
    return made(value, lambda: Material(**options))


def contact(value: Value, made: Callable) -> Contact:
    data = value.fields("a contact", ENTRIES["contact"])
    if "name" not in data:
        raise value.error('a contact has no "name".')
    label = f'contact "{data["name"].text("the name of a contact")}"'
    one, other = (data[key].text(f"{key} of {label}") if key in data else None for key in ("one", "other"))
    first, second = (whole(data[key], f"{key} of {label}") if key in data else 0 for key in ("shape", "other_shape"))
    material = _material(data["material"], label, made) if "material" in data else None
    active = bool(data["active"].number(f"active of {label}")) if "active" in data else True
    return Contact(data["name"].text("the name of a contact"), one, other, first, second, material, active)


def excluded(value: Value) -> tuple[tuple[str | None, str | None], ...]:
    pairs = [[x.text("an excluded body") for x in pair.items("an excluded pair")] for pair in value.items("excluded")]
    for pair in pairs:
        if len(pair) not in (1, 2):
            raise value.error(f"an excluded pair is {pair}; it takes two bodies, or one for it and the ground.")
    return tuple((pair[0], pair[1] if len(pair) == 2 else None) for pair in pairs)


def actuator(value: Value, made: Callable) -> Actuator:
    data = value.fields("an actuator", ACTUATOR)
    for key in ("name", "gears"):
        if key not in data:
            raise value.error(f'an actuator has no "{key}".')
    name = data["name"].text("the name of an actuator")
    known = data["gears"].data if isinstance(data["gears"].data, dict) else ("joint",)
    gears = data["gears"].fields(f'the gears of actuator "{name}"', known)
    ratios = tuple((joint, x.number(f"{joint} in the gears")) for joint, x in gears.items())
    options = {key: x.number(f'{key} of actuator "{name}"') for key, x in data.items() if key not in ("name", "gears")}
    return made(value, lambda: Actuator(name, ratios, **options))


# --- written


def parts(model: Model) -> list[tuple[str, list]]:
    """The lists of a file: ground, contacts, excluded pairs, actuators."""
    contacts = [_contact(x) for x in model.contacts]
    pairs = [[x for x in pair if x is not None] for pair in model.excluded]
    return [("ground", [shape(x) for x in model.ground]), ("contacts", contacts), ("excluded", pairs),
            ("actuators", [_actuator(x) for x in model.actuators])]  # fmt: skip


def looks(body) -> dict[str, Any]:
    """The shapes of a body."""
    both = {"visuals": body.visuals, "collisions": body.collisions}
    return {name: [shape(x) for x in shapes] for name, shapes in both.items() if shapes}


def shape(x: Shape) -> dict[str, Any]:
    out: dict[str, Any] = {"kind": x.kind}
    out |= {"size": x.size} if x.size else {}
    out |= {"point": x.pose.translation} if any(x.pose.translation) else {}
    out |= {"rotation": x.pose.quaternion} if x.pose.quaternion != Pose().quaternion else {}
    out |= {key: getattr(x, key) for key in ("color", "name", "mesh", "path") if getattr(x, key)}
    out |= {} if x.material is None else {"material": differing(x.material)}
    return out | {key: getattr(x, key) for key in ("group", "mask") if getattr(x, key) != 1}


def differing(x) -> dict[str, Any]:
    """The entries of something that differ from their defaults."""
    return {each.name: getattr(x, each.name) for each in fields(x) if getattr(x, each.name) != each.default}


def _contact(x: Contact) -> dict[str, Any]:
    out = {key: value for key, value in differing(x).items() if value is not None}
    out |= {} if x.material is None else {"material": differing(x.material)}
    return out | ({} if x.active else {"active": 0})


def _actuator(x: Actuator) -> dict[str, Any]:
    out = {key: value for key, value in differing(x).items() if key in ("name", "gears") or isfinite(value)}
    return out | {"gears": dict(x.gears)}
