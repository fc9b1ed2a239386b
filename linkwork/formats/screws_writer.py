"""A Model as a file in the world frame."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ModelError
from ..flexible import Deflection, FlexibleBody, Modes
from ..flexible.data import as_data as flexible_data
from ..joints import Compound, Helical, Joint
from ..model import Actuator, Body, Contact, Coupling, Model, Push, Shape, Spring
from ..model.world_frame import in_world_frame
from ..spatial import Pose
from .data import as_data, text
from .screws_entries import CONSTRAINTS, KINDS, PHYSICS, VERSION, schema

__all__ = ["entries", "schema", "written"]
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
    flexible = {body: f"flexible{i}" for i, body in enumerate(dict.fromkeys(model.flexible_bodies.values()), 1)}
    lists: dict[str, list] = {
        "bodies": [_body(x) for x in model.bodies],
        "joints": [_placed_joint(x, flexible) for x in model.joints],
        "frames": [{"name": x.name, "body": x.body, **_pose(x.pose)} for x in model.frames],
        "loops": [_placed_joint(x, {}) for x in model.loops],
        "couplings": [as_data(x, Coupling) | {"coefficients": x.coefficients} for x in model.couplings],
        "springs": [as_data(x, Spring) for x in model.forces if isinstance(x, Spring)],
        "pushes": [as_data(x, Push) for x in model.forces if isinstance(x, Push)],
        "constraints": [_constraint(x) for x in model.constraints],
        "flexible": [{"name": name, **flexible_data(body)} for body, name in flexible.items()],
        "ground": [_shape(x) for x in model.ground],
        "contacts": [as_data(x, Contact) for x in model.contacts],
        "excluded": [[x for x in pair if x is not None] for pair in model.excluded],
        "actuators": [as_data(x, Actuator) | {"gears": dict(x.gears)} for x in model.actuators],
    }
    return {"screws": VERSION, "name": model.name, "gravity": list(model.gravity), **{name: each for name, each in lists.items() if each}}


def _lost(model: Model) -> Iterator[str]:
    """Sentences about parts of a model that the format has not."""
    inactive = [f'loop "{x.name}"' for x in model.loops if not x.active] + [f'coupling "{x.name}"' for x in model.couplings if not x.active]
    yield from (f"{name} is not active" for name in inactive)
    for x in model.loops:
        if not np.allclose(x.at.matrix, x.on.matrix, rtol=0.0, atol=1e-9 * model.size):
            yield f'loop "{x.name}" is open in the reference pose'
    if model.fluid is not None:
        yield "it is in a fluid"


def _body(body: Body) -> dict[str, Any]:
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = body.tensor
    shapes = {name: [_shape(x) for x in each] for name, each in (("visuals", body.visuals), ("collisions", body.collisions)) if each}
    return {"name": body.name, "mass": body.mass, "center": body.center, "tensor": (xx, yy, zz, xy, xz, yz), **shapes}


def _shape(shape: Shape) -> dict[str, Any]:
    entries = as_data(replace(shape, pose=Pose()), Shape)
    place = _pose(shape.pose)
    return entries | (place if any(shape.pose.translation) else {key: x for key, x in place.items() if key != "point"})


def _pose(pose: Pose) -> dict[str, Any]:
    return {"point": pose.translation} | ({"rotation": pose.quaternion} if pose.quaternion != Pose().quaternion else {})


def _placed_joint(placed, flexible: Mapping[FlexibleBody, str]) -> dict[str, Any]:
    ends = {"name": placed.name, **({} if placed.parent is None else {"parent": placed.parent}), "child": placed.child}
    joint, frame, parts = placed.joint, placed.at, []
    if isinstance(joint, Compound):
        for name, part, placement in joint.parts:
            frame = frame @ placement
            parts.append({"name": name, **_joint(part, frame)})
        return {**ends, "parts": parts}
    if isinstance(joint, Modes | Deflection):
        own = {"root": joint.root} if isinstance(joint, Modes) else {"frame": joint.frame_name}
        named = {"kind": joint.kind, "flexible": flexible[joint.body], **{key: x for key, x in own.items() if x is not None}}
        return {**ends, **named, **_pose(frame), **_physics(joint, "damping")}  # which is the body's
    return {**ends, **_joint(joint, frame)}


def _joint(joint: Joint, frame: Pose) -> dict[str, Any]:
    if joint.kind not in KINDS:
        raise ModelError(f"a {joint.kind} joint cannot be written in the world frame; the format has {', '.join(KINDS)}.")
    out: dict[str, Any] = {"kind": joint.kind}
    if joint.nv:
        out["axis"] = tuple(map(float, frame.rotation @ joint.axis))
    if isinstance(joint, Helical):
        out["pitch"] = joint.pitch
    return out | _pose(Pose(translation=frame.translation) if joint.kind in ABOUT_ONE_AXIS else frame) | _physics(joint)


def _physics(joint: Joint, *apart: str) -> dict[str, Any]:
    """Numbers of a joint, but for what it has not, such as limits or damping, and what stands apart."""
    out = {}
    for name in PHYSICS:
        value = getattr(joint, name)
        if name in apart or value is None or (name in ABSENT_IF_ZERO and not np.any(value)) or np.all(np.isinf(value)):
            continue
        if not np.all(np.isfinite(value)):
            raise ModelError(f"a {joint.kind} joint has {name} {value}; JSON has finite numbers only.")
        out[name] = value
    return out


def _constraint(constraint) -> dict[str, Any]:
    """The entries of a constraint; a ball has no axis."""
    entries = as_data(constraint, type(constraint))  # raises of a function
    (kind,) = [kind for kind, each in CONSTRAINTS.items() if type(constraint) is each]
    own: dict[str, Any] = {"axis": (0.0, 0.0, 0.0)} if getattr(constraint, "axis", ()) is None else {}
    own |= {"terms": dict(constraint.terms)} if kind == "linear" else {}
    return {"name": constraint.name, "kind": kind, **entries, **own}
