"""SDF: models of links and joints, which may have loops. Links become bodies; the joints with the fewest degrees of
freedom make a spanning tree, and the others close loops.

A link that is the child of no joint is welded to the world at its pose, as in URDF; with `floating=True` it is free.
Several models, as in a world, are one Model whose names begin with theirs, as in "arm::hand".
"""

from collections.abc import Iterator
from math import isfinite, pi
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import did_you_mean
from ..joints import Compound, Fixed, Helical, Joint, Prismatic, Revolute, Spherical
from ..model import Body, Coupling, Frame, Loop, Material, Model, PlacedJoint, Shape
from ..model.check import depth_first
from ..spatial import Pose
from . import shapes, xml
from .sdf_frames import MODEL, WORLD, Frames, label, numbers
from .shapes import MeshFiles
from .xml import Element, How, Lenient

READ = ("link", "joint", "frame", "model", "pose")
IGNORED = ("self_collide", "static", "plugin", "enable_wind", "allow_auto_disable")
NO_LIMIT = 1e15
DEGREES_OF_FREEDOM = {"fixed": 0, "revolute": 1, "continuous": 1, "prismatic": 1, "screw": 1, "universal": 2, "ball": 3}
SOLIDS = shapes.SOLIDS | {"ellipsoid": ("radii",), "plane": ()}


def read(source: str, how: How) -> Model:
    """The model of an SDF text."""
    sdf = xml.parse(source, how.name)
    scope = sdf.first("world") or sdf
    models, worlds = list(scope.all("model")), list(sdf.all("world"))
    if not models or len(worlds) > 1:
        what = "no <model>" if not models else f"{len(worlds)} <world> elements; it must have one"
        raise sdf.error(f"the file has {what}.")
    whole = models[0] if len(models) == 1 and scope.first("joint") is None else _together(scope, Path(how.name).stem)
    return Reader(whole, sdf.attributes.get("version", "1.7"), how).model(scope.first("gravity"))


def _together(scope: Element, name: str) -> Element:
    """The models of a world, or of a file without one, as one model with names such as "arm::hand"."""
    inside = [x for x in scope.children if x.tag in ("model", "joint", "frame", "include")]
    attributes = {"name": scope.attributes.get("name", "").strip() or name}
    return Element("model", attributes, scope.line, scope.source, scope.owner, False, inside)


class Reader:
    """Makes a Model of a <model> element."""

    def __init__(self, element: Element, version: str, how: How):
        self.element, self.notes, self.meshes, self.lenient = element, list[str](), MeshFiles(how), Lenient(how.lenient)
        self.axes_in_model = version.strip() in ("1.0", "1.1", "1.2", "1.3", "1.4")
        models = [element]
        for model in models:
            models += model.all("model")
            for child in model.children:
                if child.tag == "include":
                    raise child.error("<include> is not read; put the links and joints of that file here.")
                if child.tag not in (*READ, *IGNORED):
                    self.notes.append(f"left out: <{child.tag}>")
        self.frames = Frames(element, how.snap)
        self.links, self.joints = self.frames.named["link"], self.frames.named["joint"]
        if not self.links:
            raise element.error(f"{element.owner} has no <link>.")

    def model(self, gravity: Element | None) -> Model:
        tree, cut = self._spanning()
        joints = [PlacedJoint(*self._ends(joint)) for joint in tree]
        carried = {placed.child for placed in joints}
        roots = [link for link in self.links if link not in carried]
        joints += [PlacedJoint(f"{link}_to_world", None, link, Fixed(), self.frames.relative_pose(link, WORLD)) for link in roots]
        return Model(
            name=self.element.text("name"),
            bodies=tuple(self._body(link) for link in self.links),
            joints=depth_first(joints),
            frames=tuple(frame for name in self.frames.named["frame"] if (frame := self._frame(name))),
            loops=tuple(Loop(*self._ends(joint)) for joint in cut),
            couplings=tuple(coupling for joint in tree for coupling in self._mimics(joint)),
            notes=(*self.notes, *self.meshes.notes, *self.lenient.notes),
            **({} if gravity is None else {"gravity": numbers(gravity, 3)}),
        )

    # --- the graph

    def _spanning(self) -> tuple[list[Element], list[Element]]:
        """The joints of the spanning tree, and those that close loops."""
        group = {link: link for link in (*self.links, WORLD)}

        def root(link):
            while group[link] != link:
                link = group[link]
            return link

        tree, carried = [], set()
        for joint in sorted(self.joints.values(), key=self._degrees_of_freedom):
            parent, child = self._end(joint, "parent"), self._end(joint, "child")
            if child == WORLD:
                raise joint.error(f"{label(joint)} has the world as its child; make it the parent.")
            if child not in carried and root(parent) != root(child):
                tree.append(joint)
                carried.add(child)
                group[root(child)] = root(parent)
        return [x for x in self.joints.values() if x in tree], [x for x in self.joints.values() if x not in tree]

    def _degrees_of_freedom(self, joint: Element) -> int:
        kind = joint.text("type")
        if kind not in DEGREES_OF_FREEDOM:
            raise joint.error(f'{label(joint)} has type "{kind}", which is not read.{did_you_mean(kind, DEGREES_OF_FREEDOM)}')
        return DEGREES_OF_FREEDOM[kind]

    def _end(self, joint: Element, end: str) -> str:
        """The link at an end of a joint."""
        element = joint.needed(end)
        name = element.content.strip()
        return WORLD if name == WORLD else self.frames.link(self.frames.resolve(name, joint, element))

    def _ends(self, joint: Element):
        """Name, parent, child, joint, and its frame on parent and child."""
        name, parent, child = self.frames.name(joint), self._end(joint, "parent"), self._end(joint, "child")
        at, on = self.frames.relative_pose(name, parent), self.frames.relative_pose(name, child)
        return name, None if parent == WORLD else parent, child, self._joint(joint), at, on

    # --- links and frames

    def _body(self, name: str) -> Body:
        inertial = self.links[name].first("inertial")
        visuals, collisions = self._shapes(name, "visual"), self._shapes(name, "collision")
        if inertial is None:
            unit = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)  # SDF's default
            return Body(name, 1.0, tensor=unit, visuals=visuals, collisions=collisions)
        mass = number(inertial, "mass", 1.0)
        pose = self.frames.placed(inertial, name)
        inertia = inertial.first("inertia")
        xx, yy, zz = (1.0 if inertia is None else number(inertia, key, 1.0) for key in ("ixx", "iyy", "izz"))
        xy, xz, yz = (0.0 if inertia is None else number(inertia, key, 0.0) for key in ("ixy", "ixz", "iyz"))
        tensor = pose.rotation @ [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]] @ pose.rotation.T
        return Body(name, mass, pose.translation, (tensor + tensor.T) / 2, visuals, collisions)

    def _shapes(self, link: str, tag: str) -> tuple[Shape, ...]:
        shapes = (self.lenient.read(element, lambda x: self._shape(x, link, tag)) for element in self.links[link].all(tag))
        return tuple(shape for shape in shapes if shape is not None)

    def _shape(self, element: Element, link: str, tag: str) -> Shape | None:
        geometry = element.first("geometry")
        solid = next((x for x in geometry.children if x.tag in SOLIDS), None) if geometry is not None else None
        if solid is None:
            self.notes.append(f'link "{link}", <{tag}>: its geometry is left out')
            return None
        size: tuple = tuple(x for key in SOLIDS[solid.tag] for x in numbers(solid.needed(key), 3 if key in ("size", "radii") else 1))
        uri = path = None
        if solid.tag == "mesh":
            scale, uri = solid.first("scale"), solid.needed("uri").content.strip()
            alike = scale is not None and len(scale.content.split()) == 1
            size = (1.0, 1.0, 1.0) if scale is None else numbers(scale, 1) * 3 if alike else numbers(scale, 3)
            path = self.meshes.find(solid, uri)
        color = (element.first("material") or element).first("diffuse")
        rgba = None if color is None else numbers(color, 4)
        pose = self.frames.placed(element, link)
        if solid.tag == "plane":
            normal = solid.first("normal")
            pose = pose @ Pose.turning_z_to((0.0, 0.0, 1.0) if normal is None else numbers(normal, 3))
        bits = {} if tag == "visual" else surface(element)
        name = element.attributes.get("name", "")
        return solid.made(lambda: Shape(solid.tag, size, pose, rgba, uri, path, name, **bits))

    def _frame(self, name: str) -> Frame | None:
        link = self.frames.link(name)
        if link == WORLD:
            self.notes.append(f'left out: frame "{name}" is fixed to the world')
            return None
        return Frame(name, link, self.frames.relative_pose(name, link))

    # --- joints

    def _joint(self, joint: Element) -> Joint:
        kind = joint.text("type")
        if kind == "fixed":
            return Fixed()
        if kind == "ball":
            return Spherical(**self._physics(joint, "axis"))
        if kind == "universal":
            row = (("1", Revolute(**self._axis_and_physics(joint, "axis"))), ("2", Revolute(**self._axis_and_physics(joint, "axis2"))))
            return Compound(row=row)
        if kind == "screw":
            given = joint.first("screw_thread_pitch")
            if given is None:
                raise joint.error(f"{label(joint)} has no <screw_thread_pitch>, metres per turn.")
            return Helical(**self._axis_and_physics(joint, "axis"), pitch=numbers(given, 1)[0] / (2 * pi))
        return (Prismatic if kind == "prismatic" else Revolute)(**self._axis_and_physics(joint, "axis"))

    def _axis_and_physics(self, joint: Element, tag: str) -> dict:
        axis = joint.needed(tag)
        xyz = axis.first("xyz")
        direction = (0.0, 0.0, 1.0) if xyz is None else numbers(xyz, 3)
        seen_from = "" if xyz is None else xyz.attributes.get("expressed_in", "").strip()
        old = axis.first("use_parent_model_frame")
        if self.axes_in_model or (old is not None and old.content.strip() in ("1", "true")):
            seen_from = MODEL
        if seen_from:
            R = self.frames.relative_pose(self.frames.resolve(seen_from, joint, xyz or axis), self.frames.name(joint)).rotation
            direction = tuple(float(x) for x in R @ np.array(direction))
        if not np.linalg.norm(direction) > 0:
            raise axis.error(f"{label(joint)} has axis {direction}, which is not a direction.")
        return {"axis": direction, **self._physics(joint, tag)}

    def _mimics(self, joint: Element) -> Iterator[Coupling]:
        """q = multiplier (q(leader) - reference) + offset."""
        axis = joint.first("axis")

        def coupling(mimic: Element) -> Coupling:
            name, leader = self.frames.name(joint), self.frames.resolve(mimic.text("joint"), joint, mimic)
            slope, offset, reference = (number(mimic, key, x) for key, x in (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0)))
            return Coupling(f"{name}_mimic", name, leader, (offset - slope * reference, slope))

        for mimic in axis.all("mimic") if axis is not None else ():
            if (found := self.lenient.read(mimic, coupling)) is not None:
                yield found

    def _physics(self, joint: Element, tag: str) -> dict:
        kind, axis, out = joint.text("type"), joint.first(tag), dict[str, float]()
        if axis is None:
            return out
        if (dynamics := axis.first("dynamics")) is not None:
            out |= self.lenient.read(dynamics, lambda dynamics: passive(joint, dynamics), {})
        if kind not in ("ball", "continuous") and (limit := axis.first("limit")) is not None:
            out |= self.lenient.read(limit, limits, {})
        return out


def passive(joint: Element, dynamics: Element) -> dict[str, float]:
    """Damping, dry friction and spring of a joint."""
    out = {"damping": number(dynamics, "damping", 0.0), "friction": number(dynamics, "friction", 0.0)}
    if stiffness := number(dynamics, "spring_stiffness", 0.0):
        if joint.text("type") == "ball":
            raise dynamics.error(f"{label(joint)} has a spring, which a ball joint cannot have here.")
        out |= {"stiffness": stiffness, "rest": number(dynamics, "spring_reference", 0.0)}
    return out


def limits(limit: Element) -> dict[str, float]:
    """Those that are finite."""
    out = {}
    for key, ours in (("lower", "lower"), ("upper", "upper"), ("effort", "effort"), ("velocity", "speed")):
        value = number(limit, key, float("inf"), finite=False)
        if isfinite(value) and abs(value) < NO_LIMIT and not (key in ("effort", "velocity") and value < 0):
            out[ours] = value
    return out


def surface(collision: Element) -> dict[str, Any]:
    """Material and bits of the <surface> of a <collision>: friction of ODE, Bullet or Coulomb's, bounce, stiffness kp and damping kd."""
    found: dict[str, float] = {}
    told = collision.first("surface")
    if told is None:
        return {}
    for engine in inside(told, "friction"):
        for tag in ("mu", "friction"):
            if engine.first(tag) is not None:
                found.setdefault("friction", number(engine, tag, 1.0))
    bounce, mask = told.first("bounce"), None
    if bounce is not None:
        found["restitution"] = number(bounce, "restitution_coefficient", 0.0)
    for engine in inside(told, "contact"):
        if engine.tag == "collide_bitmask":
            mask = bits_of(engine)
        elif engine.first("kp") is not None and (kp := number(engine, "kp", 0.0)) > 0:
            found |= {"compliance": 1 / kp, "damping": number(engine, "kd", 0.0)}
    bits: dict[str, Any] = {"material": told.made(lambda: Material(**found, combine="min"))} if found else {}  # type: ignore[arg-type]
    return bits if mask is None else bits | {"group": mask, "mask": mask}


def bits_of(element: Element) -> int:
    try:
        return int(element.content.strip(), 0)
    except ValueError:
        raise element.error(f'<{element.tag}> is "{element.content.strip()}"; it takes a whole number.') from None


def inside(parent: Element, tag: str) -> list[Element]:
    child = parent.first(tag)
    return [] if child is None else child.children


def number(parent: Element, tag: str, default: float, *, finite: bool = True) -> float:
    element = parent.first(tag)
    return default if element is None else numbers(element, 1, finite=finite)[0]
