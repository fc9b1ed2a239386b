"""SDF: one model of links and joints, loops allowed. Links become bodies; of the joints those with the fewest freedoms
make the tree, and every joint whose child is carried already closes a loop.

A root that no joint carries stands on the world where its pose says, as a URDF's does; `floating=True` sets it free.
"""

from math import isfinite, pi
from pathlib import Path

import numpy as np

from ..errors import ModelError, did_you_mean
from ..joints import Compound, Fixed, Helical, Joint, Prismatic, Revolute, Spherical
from ..model import Body, Frame, Hinge, Loop, Model, Shape
from ..spatial import Pose
from . import xml
from .xml import Element

NESTED = ("model", "include")
IGNORED = ("self_collide", "static", "plugin", "enable_wind", "allow_auto_disable")
NO_LIMIT = 1e15
FREEDOMS = {"fixed": 0, "revolute": 1, "continuous": 1, "prismatic": 1, "screw": 1, "universal": 2, "ball": 3}
SOLIDS = {"box": ("size",), "sphere": ("radius",), "cylinder": ("radius", "length"), "capsule": ("radius", "length"), "mesh": ()}


def read(source: str, *, folder: Path | None = None, name: str = "model", strict: bool = False, snap: bool = True) -> Model:
    """The model of an SDF text; `name` is what errors call it."""
    sdf = xml.parse(source, name)
    scope = sdf.first("world") or sdf
    models = list(scope.all("model"))
    if len(models) != 1:
        raise sdf.error(f"the file has {len(models)} <model> elements; it takes one.")
    reader = Reader(models[0], snap)
    model = reader.model(scope.first("gravity"))
    complaints = [body.complaint for body in model.bodies if body.complaint]
    if complaints and strict:
        raise ModelError(f"{name}: {' '.join(complaints)}")
    return model


class Reader:
    def __init__(self, element: Element, snap: bool):
        self.element, self.snap = element, snap
        for child in element.children:
            if child.tag in NESTED:
                raise child.error(f"<{child.tag}> inside a model is not read; put its links and joints into the model itself.")
        self.links = named(element, "link")
        self.joints = named(element, "joint")
        self.frames = named(element, "frame")
        if not self.links:
            raise element.error(f"{element.owner} has no <link>.")
        self.notes: list[str] = []
        self._where: dict[str, Pose] = {}

    def model(self, gravity: Element | None) -> Model:
        tree, cut = self._spanning()
        hinges = [Hinge(*self._ends(joint)) for joint in tree]
        carried = {hinge.child for hinge in hinges}
        roots = [link for link in self.links if link not in carried]
        hinges += [Hinge(f"{link}_to_world", None, link, Fixed(), self.pose_of(link)) for link in roots]
        loops = [Loop(*self._ends(joint)) for joint in cut]
        for child in self.element.children:
            if child.tag not in ("link", "joint", "frame", "pose", *IGNORED):
                self.notes.append(f"left out: <{child.tag}>")
        return Model(
            name=self.element.text("name"),
            bodies=tuple(self._body(link) for link in self.links.values()),
            hinges=tuple(hinges),
            frames=tuple(self._frame(frame) for frame in self.frames.values()),
            loops=tuple(loops),
            notes=tuple(self.notes),
            **({} if gravity is None else {"gravity": numbers(gravity, 3)}),
        )

    # --- the graph

    def _spanning(self) -> tuple[list[Element], list[Element]]:
        """The joints of the tree, and those that close loops."""
        group = {link: link for link in (*self.links, "world")}

        def root(link):
            while group[link] != link:
                link = group[link]
            return link

        tree, cut, carried = [], [], set()
        for joint in sorted(self.joints.values(), key=lambda joint: self._freedoms(joint)):
            parent, child = self._end(joint, "parent"), self._end(joint, "child")
            if child == "world":
                raise joint.error(f'{said(joint)} has the world as its child; make it the parent.')
            if child in carried or root(parent) == root(child):
                cut.append(joint)
            else:
                tree.append(joint)
                carried.add(child)
                group[root(child)] = root(parent)
        order = {name: i for i, name in enumerate(self.joints)}
        return tuple(sorted(x, key=lambda joint: order[joint.text("name")]) for x in (tree, cut))  # type: ignore[return-value]

    def _freedoms(self, joint: Element) -> int:
        kind = joint.text("type")
        if kind not in FREEDOMS:
            raise joint.error(f'{said(joint)} has type "{kind}", which is not read.{did_you_mean(kind, FREEDOMS)}')
        return FREEDOMS[kind]

    def _end(self, joint: Element, end: str) -> str:
        element = joint.needed(end)
        link = element.content.strip()
        if link not in self.links and link != "world":
            raise element.error(f'{said(joint)} has {end} "{link}", which no <link> defines.{did_you_mean(link, self.links)}')
        return link

    def _ends(self, joint: Element):
        """Name, parent, child, joint and its frame on both: a joint's pose is given on its child."""
        parent, child = self._end(joint, "parent"), self._end(joint, "child")
        pose, at = joint.first("pose"), self._frame_of(joint)
        own = pose is None or not relative_to(pose)
        on = self._pose(joint) if own else self.pose_of(child).inverse() @ at
        from_ = Pose() if parent == "world" else self.pose_of(parent)
        return joint.text("name"), None if parent == "world" else parent, child, self._joint(joint), from_.inverse() @ at, on

    def _frame_of(self, joint: Element) -> Pose:
        """A joint's frame in the model."""
        pose = joint.first("pose")
        if pose is not None and relative_to(pose):
            return self._placed(pose)
        return self.pose_of(self._end(joint, "child")) @ self._pose(joint)

    # --- places

    def pose_of(self, name: str) -> Pose:
        """Where a link or frame stands in the model."""
        if name == "__model__":
            return Pose()
        if name not in self._where:
            self._where[name] = Pose()  # while it is being found: a circle ends here
            element = self.links.get(name) or self.frames.get(name)
            if element is None:
                raise self.element.error(f'a pose is relative to "{name}", which is not there.{did_you_mean(name, self.links)}')
            pose, base = element.first("pose"), element.attributes.get("attached_to", "")
            if pose is not None and relative_to(pose):
                self._where[name] = self._placed(pose)
            elif element.tag == "frame" and base:
                self._where[name] = self.pose_of(base) @ self._pose(element)
            else:
                self._where[name] = self._pose(element)
        return self._where[name]

    def _placed(self, pose: Element) -> Pose:
        return self.pose_of(relative_to(pose)) @ self._read(pose)

    def _pose(self, element: Element) -> Pose:
        pose = element.first("pose")
        return Pose() if pose is None or not pose.content.strip() else self._read(pose)

    def _read(self, pose: Element) -> Pose:
        x = numbers(pose, 6)
        turn = 180 / pi if pose.attributes.get("degrees") == "true" else 1.0
        return Pose.rpy(x[:3], [angle / turn for angle in x[3:]], snap=self.snap)

    # --- links and frames

    def _body(self, link: Element) -> Body:
        name, inertial = link.text("name"), link.first("inertial")
        visuals, collisions = self._shapes(link, "visual"), self._shapes(link, "collision")
        if inertial is None:
            unit = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)  # SDF's default
            return Body(name, 1.0, tensor=unit, visuals=visuals, collisions=collisions)
        mass = number(inertial, "mass", 1.0)
        pose = self._pose(inertial)
        inertia = inertial.first("inertia")
        xx, yy, zz = (1.0 if inertia is None else number(inertia, key, 1.0) for key in ("ixx", "iyy", "izz"))
        xy, xz, yz = (0.0 if inertia is None else number(inertia, key, 0.0) for key in ("ixy", "ixz", "iyz"))
        tensor = pose.rotation @ [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]] @ pose.rotation.T
        return Body(name, mass, pose.translation, (tensor + tensor.T) / 2, visuals, collisions)

    def _shapes(self, link: Element, tag: str) -> tuple[Shape, ...]:
        out = []
        for element in link.all(tag):
            geometry = element.first("geometry")
            solid = next((x for x in geometry.children if x.tag in SOLIDS), None) if geometry is not None else None
            if solid is None:
                self.notes.append(f"{said(link)}, <{tag}>: its geometry is left out")
                continue
            size: tuple = tuple(x for key in SOLIDS[solid.tag] for x in numbers(solid.needed(key), 3 if key == "size" else 1))
            uri = None
            if solid.tag == "mesh":
                scale, uri = solid.first("scale"), solid.needed("uri").content.strip()
                size = (1.0, 1.0, 1.0) if scale is None else numbers(scale, 3)
            color = (element.first("material") or element).first("diffuse")
            rgba = None if color is None else numbers(color, 4)
            out.append(Shape(solid.tag, size, self._pose(element), rgba, uri, None, element.attributes.get("name", "")))
        return tuple(out)

    def _frame(self, frame: Element) -> Frame:
        base = frame.attributes.get("attached_to", "")
        while base in self.frames:
            base = self.frames[base].attributes.get("attached_to", "")
        if base not in self.links:
            if base:
                raise frame.error(f'{said(frame)} is attached to "{base}", which is not there.{did_you_mean(base, self.links)}')
            base = next(iter(self.links))  # the model's own frame goes with its first link
        return Frame(frame.text("name"), base, self.pose_of(base).inverse() @ self.pose_of(frame.text("name")))

    # --- joints

    def _joint(self, joint: Element) -> Joint:
        kind = joint.text("type")
        if kind == "fixed":
            return Fixed()
        if kind == "ball":
            return Spherical(**self._physics(joint, "axis", limits=False))
        if kind == "universal":
            row = (("1", Revolute(**self._turning(joint, "axis"))), ("2", Revolute(**self._turning(joint, "axis2"))))
            return Compound(row=row)
        if kind == "screw":
            given = joint.first("screw_thread_pitch")
            if given is None:
                raise joint.error(f"{said(joint)} has no <screw_thread_pitch>, metres per turn.")
            return Helical(**self._turning(joint, "axis"), pitch=numbers(given, 1)[0] / (2 * pi))
        return (Prismatic if kind == "prismatic" else Revolute)(**self._turning(joint, "axis"))

    def _turning(self, joint: Element, tag: str) -> dict:
        axis = joint.needed(tag)
        xyz = axis.first("xyz")
        direction = (0.0, 0.0, 1.0) if xyz is None else numbers(xyz, 3)
        seen_from = "" if xyz is None else xyz.attributes.get("expressed_in", "").strip()
        old = axis.first("use_parent_model_frame")
        if old is not None and old.content.strip() in ("1", "true"):
            seen_from = "__model__"
        if seen_from:
            R = self._frame_of(joint).rotation.T @ self.pose_of(seen_from).rotation
            direction = tuple(float(x) for x in R @ np.array(direction))
        if not np.linalg.norm(direction) > 0:
            raise axis.error(f"{said(joint)} has axis {direction}, which is no direction.")
        return {"axis": direction, **self._physics(joint, tag, limits=joint.text("type") != "continuous")}

    def _physics(self, joint: Element, tag: str, limits: bool) -> dict:
        axis, out = joint.first(tag), dict[str, float]()
        if axis is None:
            return out
        if (dynamics := axis.first("dynamics")) is not None:
            out["damping"], out["friction"] = number(dynamics, "damping", 0.0), number(dynamics, "friction", 0.0)
            if stiffness := number(dynamics, "spring_stiffness", 0.0):
                if not limits:
                    raise dynamics.error(f"{said(joint)} has a spring, which a {joint.text('type')} joint cannot have here.")
                out["stiffness"], out["rest"] = stiffness, number(dynamics, "spring_reference", 0.0)
        if limits and (limit := axis.first("limit")) is not None:
            for key, ours in (("lower", "lower"), ("upper", "upper"), ("effort", "effort"), ("velocity", "speed")):
                value = number(limit, key, float("inf"), finite=False)
                if isfinite(value) and abs(value) < NO_LIMIT and not (key in ("effort", "velocity") and value < 0):
                    out[ours] = value
        return out


def said(element: Element) -> str:
    return f'{element.tag} "{element.text("name")}"'


def relative_to(pose: Element) -> str:
    return pose.attributes.get("relative_to", "").strip()


def named(model: Element, tag: str) -> dict[str, Element]:
    out: dict[str, Element] = {}
    for element in model.all(tag):
        name = element.text("name")
        if name in out:
            raise element.error(f'{tag} "{name}" is there twice, first in line {out[name].line}; names may not repeat.')
        out[name] = element
    return out


def numbers(element: Element, count: int, *, finite: bool = True):
    """The numbers between an element's tags."""
    try:
        values = tuple(map(float, element.content.split()))
    except ValueError:
        values = ()
    if len(values) != count or any(x != x for x in values) or (finite and not all(map(isfinite, values))):
        raise element.error(f'<{element.tag}> of {element.owner} is "{element.content.strip()}"; it takes {count} finite numbers.')
    return values


def number(parent: Element, tag: str, default: float, *, finite: bool = True) -> float:
    element = parent.first(tag)
    return default if element is None else numbers(element, 1, finite=finite)[0]
