"""Writes a Model as URDF, which loads back to the same dynamics.

In URDF the frame of a link is at its joint, and joints have one velocity or are planar or floating. So a joint that is
elsewhere on its body, or has several parts, becomes several joints in series, with massless links between them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Comment, Element, SubElement, indent, tostring

import numpy as np

from ..errors import ModelError, listed
from ..joints import Cylindrical, Free, Joint, Planar, PlanarTranslation, Prismatic, Revolute, Translation
from ..model import Actuator, Body, Coupling, Material, Model, PlacedJoint, Shape
from ..model.model import GRAVITY, unused
from ..spatial import Pose
from .shapes import SOLIDS

UNBOUNDED = "1e+308"  # stands for no limit where URDF needs a number; the reader understands it
ROWS: dict[type[Joint], tuple[tuple[str, int], ...]] = {  # joints as URDF joints in series, each along x, y or z of the group
    Revolute: (("revolute", 2),),
    Prismatic: (("prismatic", 2),),
    Cylindrical: (("revolute", 2), ("prismatic", 2)),
    PlanarTranslation: (("prismatic", 0), ("prismatic", 1)),
    Translation: (("prismatic", 0), ("prismatic", 1), ("prismatic", 2)),
    Planar: (("planar", 2),),
    Free: (("floating", 2),),
}


@dataclass(frozen=True)
class UrdfJoint:
    """One joint of the URDF file: its pose, and the velocity of a joint that it stands for; without a joint it is fixed."""

    name: str
    kind: str
    at: Pose
    axis: tuple[float, ...] = ()
    joint: Joint | None = None
    velocity: int | None = None  # None: all of them


def written(model: Model, *, lossy: bool = False) -> str:
    """The text of a URDF file; an error names what would be lost, unless `lossy` allows it."""
    names = Names(model)
    rows = {placed.name: list(_row(placed, names)) for placed in model.joints}
    mimics = {c.joint: c for coupling in model.couplings if (c := names.linear(coupling))}
    lost = [*_lost_physics(model), *_lost_constraints(model, names), *_lost_contacts(model), *_lost_shapes(model)]
    if lost and not lossy:
        raise ModelError(f"URDF cannot hold all of {model.name}: {'; '.join(lost)}. With lossy=True this is left out.")
    robot = Element("robot", name=model.name)
    if model.gravity != GRAVITY:
        robot.append(Comment(" URDF has no gravity of its own; MuJoCo and linkwork read this one "))
        SubElement(SubElement(robot, "mujoco"), "option", gravity=_numbers(model.gravity))
    roots = [rows[placed.name] for placed in model.joints if placed.parent is None]
    standing = len(roots) == 1 and roots[0][0].kind == "fixed" and roots[0][0].at == Pose()
    world = "" if standing else _link(robot, names.link("world"))
    for placed, body in zip(model.joints, model.bodies):
        _body(robot, body)
        if placed.parent is not None or world:
            _placed_joint(robot, placed.parent or world, placed.child, rows[placed.name], names, mimics)
    for body in model.bodies:
        _material(robot, body)
    for frame in model.frames:
        step = UrdfJoint(names.joint(f"{frame.name}_joint"), "fixed", frame.pose)
        _joint(robot, step, frame.body, _link(robot, frame.name))
    for actuator in filter(_is_transmission, model.actuators):
        ((joint, ratio),) = actuator.gears
        joint = names.single.get(joint, joint)
        transmission = SubElement(robot, "transmission", name=f"{joint}_transmission")
        SubElement(transmission, "type").text = "transmission_interface/SimpleTransmission"
        SubElement(transmission, "joint", name=joint)
        SubElement(SubElement(transmission, "actuator", name=actuator.name), "mechanicalReduction").text = _number(ratio)
    indent(robot)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(robot, encoding="unicode")}\n'


# --- what URDF cannot express


def _lost_contacts(model: Model) -> Iterator[str]:
    if model.contacts:
        yield "contacts, which load(..., contacts=...) makes again"
    if model.excluded:
        yield f"the {len(model.excluded)} pairs of bodies that do not collide"
    if model.ground:
        yield "the ground"
    if lost := [x.name for x in model.actuators if not _is_transmission(x)]:
        yield f"actuators {listed(lost, 3)}"


def _lost_shapes(model: Model) -> Iterator[str]:
    for body in model.bodies:
        shapes = (*body.visuals, *body.collisions)
        if kinds := {x.kind for x in shapes if not _is_solid(x)}:
            yield f'"{body.name}" has shapes of kind {listed(sorted(kinds))}'
        if any((x.group, x.mask) != (1, 1) for x in body.collisions):
            yield f'the shapes of "{body.name}" have groups and masks'
        if (materials := {x.material for x in body.collisions}) and _surface(body) is None and materials != {None}:
            yield f'the shapes of "{body.name}" have materials that are not those of Gazebo'


def _is_solid(shape: Shape) -> bool:
    """Has URDF such a shape?"""
    return bool(shape.mesh) if shape.kind == "mesh" else shape.kind in SOLIDS


def _surface(body: Body) -> Material | None:
    """The material of all collision shapes of a body, if Gazebo's elements can express it: the smaller friction, no restitution."""
    materials = {shape.material for shape in body.collisions}
    only = materials.pop() if len(materials) == 1 else None
    return only if only is None or only == replace(only, restitution=0.0, combine="min", priority=0) else None


def _is_transmission(x: Actuator) -> bool:
    """Is it what a <transmission> is read as: a motor with a gear on one joint?"""
    return len(x.gears) == 1 and x == Actuator(f"{x.joints[0]}_motor", x.gears)


def _lost_physics(model: Model) -> Iterator[str]:
    ratios = dict(x.gears[0] for x in model.actuators if _is_transmission(x))
    for placed in model.joints:
        for _, joint, _ in placed.joint.parts:
            for what in ("armature", "stiffness"):
                if joint.each(what).any():
                    yield f'joint "{placed.name}" has {what} {getattr(joint, what)}'
            whole = isinstance(joint, Planar | Free)
            for what in ("damping", "friction", "effort", "speed"):
                if whole and getattr(joint, what) is not None and _common(joint, what) is None:
                    yield f'joint "{placed.name}" has {what} {getattr(joint, what)}, more than one number'
            for what in ("lower", "upper"):
                if whole and np.isfinite(joint.each(what, np.inf)).any():
                    yield f'joint "{placed.name}" has {what} {getattr(joint, what)}, and URDF limits joints with one velocity only'
            if joint.nv and joint.gear not in (None, ratios.get(placed.name)):
                yield f'joint "{placed.name}" has gear {joint.gear:g} without a motor of that gear'


def _lost_constraints(model: Model, names: "Names") -> Iterator[str]:
    for coupling in model.couplings:
        if not names.linear(coupling):
            yield f'coupling "{coupling.name}" is more than a multiple and an offset of one other coordinate'
    for loop in model.loops:
        yield f'loop "{loop.name}" closes the tree'
    for x in model.constraints:
        yield f'constraint "{x.name}" is not a joint'
    for force in model.forces:
        yield f'{type(force).__name__.lower()} "{force.name}" acts between points'
    if model.fluid is not None:
        yield "the fluid it is in"


def _common(joint: Joint, what: str) -> float | None:
    """The value of a property if all velocities of a joint have the same one, or None."""
    values = set(joint.each(what))
    return float(values.pop()) if len(values) == 1 else None


# --- names


class Names:
    """Unique names for added links and joints, and the names in the file of joints with one coordinate."""

    def __init__(self, model: Model):
        self.links = {body.name for body in model.bodies} | {frame.name for frame in model.frames}
        self.joints = {placed.name for placed in model.joints}
        self.single: dict[str, str] = {}  # the names of a joint of one coordinate in the model: its name in the file

    def link(self, name: str) -> str:
        return _fresh(name, self.links)

    def joint(self, name: str) -> str:
        return _fresh(name, self.joints)

    def part(self, placed: PlacedJoint, part: str) -> str:
        """The name in the file of a part of a compound joint: its own name if no other joint has it."""
        plain = not part.isdigit() and part not in self.joints
        name = self.joint(part if plain else f"{placed.name}.{part}")
        self.single.setdefault(part, name)
        self.single[f"{placed.name}.{part}"] = name
        return name

    def linear(self, coupling: Coupling) -> Coupling | None:
        """The coupling with the names of the file, if <mimic> can express it."""
        joint, of = self.single.get(coupling.joint), self.single.get(coupling.of or "")
        if joint is None or of is None or len(coupling.coefficients) > 2:
            return None
        offset, multiplier = (*coupling.coefficients, 0.0, 0.0)[:2]
        return Coupling(coupling.name, joint, of, (offset, multiplier))


def _fresh(name: str, taken: set[str]) -> str:
    taken.add(name := unused(name, taken))
    return name


# --- joints


def _row(placed: PlacedJoint, names: Names) -> Iterator[UrdfJoint]:
    """The URDF joints that make up a joint, inboard first."""
    pose = placed.at
    moving = [joint for _, joint, _ in placed.joint.parts if joint.nv]
    for part, joint, at in placed.joint.parts:
        pose = pose @ at
        if not joint.nv:
            continue
        if type(joint) not in ROWS:
            raise ModelError(f'joint "{placed.name}" is {joint.kind}, which URDF cannot express; a .json file can.')
        row = ROWS[type(joint)]
        for i, (kind, along) in enumerate(row):
            whole = kind in ("planar", "floating")
            if len(moving) == len(row) == 1:
                name = names.single[placed.name] = placed.name
            else:
                name = names.part(placed, ".".join(filter(None, (part, str(i + 1) if len(row) > 1 else ""))))
            axis = joint.axis if along == 2 else tuple(map(float, joint.frame.rotation[:, along]))
            turn = joint.frame if kind == "floating" else Pose()  # a floating joint has no axis
            yield UrdfJoint(name, kind, pose @ turn, axis, joint, None if whole else i)
            pose = turn.inverse()
    pose = pose @ placed.on.inverse()
    if not moving:
        yield UrdfJoint(placed.name, "fixed", pose)
    elif pose != Pose():
        yield UrdfJoint(names.joint(f"{placed.name}_seat"), "fixed", pose)


def _placed_joint(robot: Element, parent: str, child: str, row: list[UrdfJoint], names: Names, mimics: dict[str, Coupling]) -> None:
    for i, step in enumerate(row):
        last = i == len(row) - 1
        link = child if last else _link(robot, names.link(f"{step.name}_link"))
        _joint(robot, step, parent, link, mimics.get(step.name))
        parent = link


def _joint(robot: Element, step: UrdfJoint, parent: str, child: str, mimic: Coupling | None = None) -> None:
    limits = _limits(step)
    kind = "continuous" if step.kind == "revolute" and "lower" not in limits else step.kind
    element = SubElement(robot, "joint", name=step.name, type=kind)
    _origin(element, step.at)
    SubElement(element, "parent", link=parent)
    SubElement(element, "child", link=child)
    if step.joint is None:
        return
    if kind != "floating":
        SubElement(element, "axis", xyz=_numbers(step.axis))
    if limits:
        SubElement(element, "limit", limits)
    dynamics = {what: _number(x) for what in ("damping", "friction") if (x := _value(step, what))}
    if dynamics:
        SubElement(element, "dynamics", dynamics)
    if mimic is not None and mimic.of is not None:
        offset, multiplier = map(_number, mimic.coefficients)
        SubElement(element, "mimic", joint=mimic.of, multiplier=multiplier, offset=offset)


def _value(step: UrdfJoint, what: str) -> float | None:
    """A property of the velocity that a URDF joint stands for; None if it has none, or several values."""
    if step.joint is None or getattr(step.joint, what) is None:
        return None
    return _common(step.joint, what) if step.velocity is None else float(step.joint.each(what)[step.velocity])


def _limits(step: UrdfJoint) -> dict[str, str]:
    """The attributes of <limit>: all four if there is a range, else effort and velocity; empty if there is no limit."""
    effort, speed = _value(step, "effort"), _value(step, "speed")
    lower, upper = (None, None) if step.velocity is None else (_value(step, "lower"), _value(step, "upper"))
    ranged = step.kind == "prismatic" or lower is not None or upper is not None
    if not ranged and effort is None and speed is None:
        return {}
    span = {"lower": _bound(lower, "-"), "upper": _bound(upper)} if ranged else {}
    return {**span, "effort": _bound(effort), "velocity": _bound(speed)}


def _bound(x: float | None, sign: str = "") -> str:
    return f"{sign}{UNBOUNDED}" if x is None or not np.isfinite(x) else _number(x)


# --- links


def _link(robot: Element, name: str) -> str:
    """A link without mass."""
    SubElement(robot, "link", name=name)
    return name


def _body(robot: Element, body: Body) -> None:
    link = SubElement(robot, "link", name=body.name)
    if body.mass or any(body.center) or np.any(body.tensor):
        inertial = SubElement(link, "inertial")
        _origin(inertial, Pose(translation=body.center))
        SubElement(inertial, "mass", value=_number(body.mass))
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = body.tensor
        entries = {"ixx": xx, "ixy": xy, "ixz": xz, "iyy": yy, "iyz": yz, "izz": zz}
        SubElement(inertial, "inertia", {key: _number(x) for key, x in entries.items()})
    for tag, shapes in (("visual", body.visuals), ("collision", body.collisions)):
        for shape in shapes:
            _shape(link, tag, shape)


def _shape(link: Element, tag: str, shape: Shape) -> None:
    if not _is_solid(shape):
        return
    element = SubElement(link, tag, {"name": shape.name} if shape.name else {})
    _origin(element, shape.pose)
    geometry = SubElement(element, "geometry")
    if shape.mesh:
        SubElement(geometry, "mesh", filename=shape.mesh, scale=_numbers(shape.size or (1.0, 1.0, 1.0)))
    elif shape.kind == "box":
        SubElement(geometry, "box", size=_numbers(shape.size))
    else:
        SubElement(geometry, shape.kind, dict(zip(SOLIDS[shape.kind], map(_number, shape.size))))
    if shape.color is not None:
        rgba = _numbers(shape.color)
        SubElement(SubElement(element, "material", name=f"rgba {rgba}"), "color", rgba=rgba)


def _material(robot: Element, body: Body) -> None:
    """Friction, stiffness and damping of the surface of a link, as Gazebo has them."""
    if (surface := _surface(body)) is None:
        return
    numbers = {"mu1": surface.friction, "mu2": surface.friction, "kd": surface.damping}
    numbers |= {"kp": 1 / surface.compliance} if surface.compliance else {}
    gazebo = SubElement(robot, "gazebo", reference=body.name)
    for tag, x in numbers.items():
        SubElement(gazebo, tag).text = _number(x)


def _origin(element: Element, pose: Pose) -> None:
    if pose != Pose():
        SubElement(element, "origin", xyz=_numbers(pose.translation), rpy=_numbers(roll_pitch_yaw(pose.rotation)))


def roll_pitch_yaw(R) -> tuple[float, float, float]:
    """The angles of R = Rz(y) Ry(p) Rx(r). Each is computed from the rest after the ones before, so that together they
    give R to rounding even if p is near a quarter turn, where only a combination of r and y is determined."""
    yaw = np.arctan2(R[1, 0], R[0, 0])
    s, c = np.sin(yaw), np.cos(yaw)
    pitch = np.arctan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return float(roll), float(pitch), float(yaw)


def _number(x: float) -> str:
    return repr(float(x) + 0.0)


def _numbers(values) -> str:
    return " ".join(map(_number, values))
