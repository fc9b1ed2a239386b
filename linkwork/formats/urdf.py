"""URDF: links become bodies, joints become placed joints; everything is read and checked before a Model is made."""

import math
import warnings
from dataclasses import replace
from math import pi
from pathlib import Path

import numpy as np

from ..errors import ModelWarning, did_you_mean
from ..joints import Fixed, Free, Joint, Planar, Prismatic, Revolute
from ..model import Actuator, Body, Coupling, Model, PlacedJoint
from ..model.actuators import scalar_joints
from ..model.check import depth_first
from ..model.gears import with_gears
from ..model.model import GRAVITY, unused
from ..spatial import Pose
from ..spatial.pose import SNAP
from . import xml
from .shapes import MeshFiles, Shapes
from .xml import Element, How, Lenient

KINDS: dict[str, type[Joint]] = {
    "fixed": Fixed,
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "floating": Free,
    "planar": Planar,
}
WORLD = "world"  # as a parent it needs no <link>
NO_LIMIT = 1e300  # a larger number stands for no limit
TURNS = {0: "0", 1: "a quarter turn", 2: "a half turn"}
ZERO = (0.0, 0.0, 0.0)


def read(source: str, how: How, mimic: str | None = None) -> Model:
    """The model of a URDF text."""
    robot = xml.parse(source, how.name)
    if robot.tag != "robot":
        raise robot.error(f"the root element is <{robot.tag}>; a URDF file has <robot>.")
    links, joints = dict[str, Element](), dict[str, Element]()
    robot.add_named("link", links)
    robot.add_named("joint", joints)
    if not links:
        raise robot.error(f"{robot.owner} has no <link>.")
    root = _root(robot, links, joints)
    placements, meshes, optional = Placements(how.snap), MeshFiles(how), Lenient(how.lenient)
    shapes = Shapes(robot, placements.pose, meshes, optional)
    bodies = [_body(link, placements, shapes) for link in links.values()]
    connected = [_placed_joint(joint, placements, links, optional) for joint in joints.values()]
    if root is not None:
        connected.insert(0, PlacedJoint(unused(f"{root}_to_world", joints), None, root, Fixed()))
    couplings = [x for joint in joints.values() if (x := optional.read(joint, lambda joint: _coupling(joint, joints)))]
    gears: dict[str, float] = {}
    for transmission in robot.all("transmission"):
        gears |= optional.read(transmission, lambda transmission: _gear(transmission, joints), {})
    model = Model(
        name=robot.attributes.get("name", "").strip() or Path(how.name).stem,
        bodies=tuple(bodies),
        joints=depth_first(connected),
        couplings=tuple(couplings),
        gravity=_gravity(robot),
        notes=(*placements.notes, *shapes.notes, *meshes.notes, *optional.notes),
    )
    model = with_gears(model, gears)
    driven = [Actuator(f"{joint}_motor", ((joint, ratio),)) for joint, ratio in gears.items()]
    known = scalar_joints(model)
    model = replace(model, actuators=tuple(x for x in driven if x.joints[0] in known))
    if couplings and mimic is None:
        names = ", ".join(f'"{coupling.joint}"' for coupling in couplings)
        said = f'{how.name}: these <mimic> joints are independent: {names}. If that is intended, load with mimic="free".'
        warnings.warn(said, ModelWarning, stacklevel=3)  # the line that called `load`
    return model


def _gravity(robot: Element) -> tuple[float, float, float]:
    """The gravity of <mujoco><option gravity="..."/></mujoco>, which MuJoCo reads in URDF, or the usual one."""
    options = (option for extension in robot.all("mujoco") for option in extension.all("option"))
    x, y, z = next((each.numbers("gravity", 3, GRAVITY) for each in options), GRAVITY)
    return x, y, z


def _gear(transmission: Element, joints) -> dict[str, float]:
    """The gear ratio of a <transmission> that drives one joint: motor speed divided by joint speed."""
    driven = list(transmission.all("joint"))
    parts = [transmission, *transmission.all("actuator"), *driven]
    ratios = [part.content.strip() for x in parts for part in x.all("mechanicalReduction")]
    if len(driven) != 1 or len(ratios) != 1 or driven[0].attributes.get("name") not in joints:
        return {}
    try:
        ratio = float(ratios[0])
    except ValueError:
        ratio = math.nan
    if not math.isfinite(ratio) or not ratio:
        raise transmission.error(f'a <mechanicalReduction> is "{ratios[0]}"; it takes a finite number, not zero.')
    return {driven[0].attributes["name"]: ratio}


# --- names and the tree


def _root(robot: Element, links: dict[str, Element], joints: dict[str, Element]) -> str | None:
    """The one link that is the child of no joint, None if that is a `world` without a <link>; an error unless the joints form a
    tree."""
    above: dict[str, tuple[str, str]] = {}  # child: (parent, joint)
    for name, joint in joints.items():
        parent, child = (_end(joint, end, links) for end in ("parent", "child"))
        if child in above:
            other = joints[above[child][1]]
            raise joint.error(
                f'link "{child}" is the child of two joints, "{name}" and "{above[child][1]}" in line {other.line}; '
                "URDF describes trees, where each link has one parent."
            )
        above[child] = parent, name
    roots = [link for link in links if link not in above]
    if len(roots) > 1:
        both = f'link "{roots[1]}" is the child of no joint, and neither is "{roots[0]}"'
        raise links[roots[1]].error(f"{both}; a URDF has one root.")
    if roots and (standing := [joint for parent, joint in above.values() if parent not in links]):
        both = f'joint "{standing[0]}" stands on the world, but link "{roots[0]}" is the child of no joint'
        raise links[roots[0]].error(f"{both}; a URDF has one root.")
    reached = {*roots, WORLD} - set(links) | set(roots)
    for link in links:
        trail: list[str] = []
        while link not in reached:
            if link in trail:
                cycle = trail[trail.index(link) :]
                path = " -> ".join(f'"{x}"' for x in reversed([*cycle, link]))
                what = "has no root link" if not roots else "is not a tree"
                raise joints[above[link][1]].error(f"{robot.owner} {what}: its joints form a cycle, {path}.")
            trail.append(link)
            link = above[link][0]
        reached.update(trail)
    return roots[0] if roots else None


def _end(joint: Element, end: str, links: dict[str, Element]) -> str:
    element = joint.needed(end)
    link = element.text("link")
    if link not in links and not (end == "parent" and link == WORLD):
        raise element.error(f'{joint.owner} has {end} "{link}", which no <link> defines.{did_you_mean(link, links)}')
    return link


# --- links


def _body(link: Element, placements: "Placements", shapes: Shapes) -> Body:
    visuals, collisions = shapes.of(link, "visual"), shapes.of(link, "collision")
    inertial = link.first("inertial")
    if inertial is None:
        return Body(link.text("name"), visuals=visuals, collisions=collisions)
    mass = inertial.needed("mass").number("value", least=0)
    pose = placements.pose(inertial)
    inertia = inertial.needed("inertia")
    xx, yy, zz = (inertia.number(key) for key in ("ixx", "iyy", "izz"))
    xy, xz, yz = (inertia.number(key, 0.0) for key in ("ixy", "ixz", "iyz"))
    tensor = pose.rotation @ [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]] @ pose.rotation.T
    return Body(link.text("name"), mass, pose.translation, (tensor + tensor.T) / 2, visuals, collisions)


# --- joints


def _placed_joint(element: Element, placements: "Placements", links: dict[str, Element], optional: Lenient) -> PlacedJoint:
    parent, child = (element.needed(end).text("link") for end in ("parent", "child"))
    joint, at = _joint(element, placements, optional), placements.pose(element)
    return PlacedJoint(element.text("name"), parent if parent in links else None, child, joint, at)


def _joint(element: Element, placements: "Placements", optional: Lenient) -> Joint:
    kind = element.text("type")
    if kind not in KINDS:
        raise element.error(f'{element.owner} has type "{kind}", which URDF does not know.{did_you_mean(kind, KINDS)}')
    if kind == "fixed":
        return Fixed()
    physics: dict = {}
    if kind != "floating":
        physics["axis"] = placements.axis(element)
    if (dynamics := element.first("dynamics")) is not None:
        physics |= optional.read(dynamics, lambda x: {name: x.number(name, 0.0, least=0) for name in ("damping", "friction")}, {})
    if (limit := element.first("limit")) is not None:
        physics |= optional.read(limit, lambda limit: _limits(element, limit, placements), {})
    if kind == "revolute" and physics.get("lower") is None and physics.get("upper") is None:
        physics |= {"lower": -math.inf, "upper": math.inf}  # without limits, but no "continuous" joint
    return KINDS[kind](**physics)


def _limits(joint: Element, limit: Element, placements: "Placements") -> dict:
    found = {"effort": _bound(limit, "effort"), "speed": _bound(limit, "velocity")}
    if joint.text("type") not in ("revolute", "prismatic") or not {"lower", "upper"} & set(limit.attributes):
        return found
    lower, upper = _bound(limit, "lower", 0.0), _bound(limit, "upper", 0.0)
    if lower is not None and upper is not None and lower > upper:  # Bullet's files write no limit this way
        placements.note(joint, f"lower limit {lower:g} is above upper limit {upper:g}: read as no limit")
        lower = upper = None
    return {**found, "lower": lower, "upper": upper}


def _bound(limit: Element, attribute: str, default: float | None = None) -> float | None:
    value = limit.bound(attribute, default)
    return None if value is None or abs(value) >= NO_LIMIT else value


def _coupling(joint: Element, joints: dict[str, Element]) -> Coupling | None:
    """The coupling of a <mimic> element, q = multiplier q(of) + offset, not active."""
    mimic = joint.first("mimic")
    if mimic is None or joint.text("type") == "fixed":
        return None
    of = mimic.text("joint")
    if of not in joints:
        raise mimic.error(f'{joint.owner} mimics joint "{of}", which is not there.{did_you_mean(of, joints)}')
    name = joint.text("name")
    coefficients = mimic.number("offset", 0.0), mimic.number("multiplier", 1.0)
    if joints[of].text("type") == "fixed":
        return Coupling(f"{name}_mimic", name, None, coefficients[:1], active=False)
    return Coupling(f"{name}_mimic", name, of, coefficients, active=False)


# --- poses and axes


class Placements:
    """Reads origins and axes; those within a printing error of a quarter turn are made exact, with a note."""

    def __init__(self, snap: bool):
        self.snap = snap
        self.notes: list[str] = []

    def pose(self, element: Element) -> Pose:
        """The pose in the <origin> of an element."""
        origin = element.first("origin")
        if origin is None:
            return Pose()
        xyz, rpy = origin.numbers("xyz", 3, ZERO), origin.numbers("rpy", 3, ZERO)
        if self.snap:
            for angle in rpy:
                quarters = round(angle / (pi / 2))
                if 0 < abs(angle - quarters * (pi / 2)) <= SNAP:
                    turn = TURNS.get(abs(quarters), f"{quarters} quarter turns")
                    self.note(element, f"angle {angle!r} snapped to {turn}")
        return Pose.rpy(xyz, rpy, snap=self.snap)

    def axis(self, joint: Element) -> tuple[float, ...]:
        """The axis of a joint; the default in URDF is x."""
        element = joint.first("axis")
        if element is None:
            return (1.0, 0.0, 0.0)
        written = element.numbers("xyz", 3, (1.0, 0.0, 0.0))
        axis = np.array(written)
        length = np.linalg.norm(axis)
        if not 0 < length < np.inf:
            raise element.error(f"{joint.owner} has axis {' '.join(f'{x:g}' for x in written)}, which is not a direction.")
        exact = np.round(axis / length) + 0.0
        if self.snap and np.abs(exact).sum() == 1 and 0 < np.abs(axis / length - exact)[exact == 0].max() <= SNAP:
            self.note(joint, f"axis {' '.join(map(repr, written))} snapped to a coordinate axis")
            return tuple(map(float, exact))
        return written

    def note(self, element: Element, what: str) -> None:
        inside = f", <{element.tag}>" if element.inner else ""
        self.notes.append(f"{element.owner}{inside}: {what}")
