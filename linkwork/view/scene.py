"""A scene: the shapes of a model as unit solids and meshes on its bodies.

A body is drawn by its visuals, or else its collision shapes; one that has neither, or only meshes whose files are
missing, is drawn as links from its joint to the joints of its children.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..errors import OptionError
from ..model import Body, Model, Shape
from ..spatial import Pose
from . import mesh
from .drawn import Bent, bent, solid_ground
from .mesh import Mesh
from .motion import Motion

Color = tuple[float, float, float, float]
PALETTE = [  # of the branches of the tree
    (0.30, 0.47, 0.66),
    (0.88, 0.57, 0.17),
    (0.35, 0.63, 0.31),
    (0.69, 0.48, 0.63),
    (0.61, 0.46, 0.37),
    (0.46, 0.72, 0.70),
]
GROUND: Color = (0.62, 0.60, 0.57, 1.0)
JOINT: Color = (0.25, 0.25, 0.28, 1.0)
THIN = 0.014  # radius of a drawn link, relative to the size of the mechanism
LEAST = 1e-4  # smallest thickness of a solid, relative to the size of the mechanism


@dataclass(frozen=True, eq=False)
class Part:
    """A unit solid or mesh on a body, scaled and placed by a matrix (4, 4)."""

    body: int
    mesh: str
    matrix: np.ndarray
    color: Color


@dataclass(frozen=True, eq=False)
class Surface:
    """A flexible body drawn between its nodes: triangles (m, 3) of them."""

    name: str
    faces: np.ndarray
    color: Color


@dataclass(frozen=True, eq=False)
class Scene:
    """The parts of a model, base to tips, and the meshes they name."""

    model: Model
    size: float  # of the mechanism, metres
    parts: tuple[Part, ...]
    meshes: dict[str, Mesh] = field(repr=False)
    surfaces: tuple[Surface, ...] = ()

    @staticmethod
    def of(motion: Motion, shapes: str = "visual") -> "Scene":
        """The scene of a motion, bodies drawn by their visual or by their collision shapes."""
        if shapes not in ("visual", "collision"):
            raise OptionError(f'shapes is "{shapes}"; it may be "visual" or "collision".')
        size = size_of(motion.drawable())
        maker = Maker(motion.model, size, shapes == "collision")
        return Scene(motion.model, size, tuple(maker.parts()), maker.meshes, tuple(maker.surfaces()))

    @cached_property
    def up(self) -> np.ndarray:
        """The direction against gravity; z if there is no gravity."""
        gravity = np.array(self.model.gravity)
        strength = np.linalg.norm(gravity)
        return -gravity / strength if strength else np.array([0.0, 0.0, 1.0])

    def corners(self, shown: Motion) -> np.ndarray:
        """The corners of boxes around all parts, and the points of surfaces, in the world (n, m, 3)."""
        boxes, poses = {}, shown.poses
        for name, found in self.meshes.items():
            ends = np.stack([found.vertices.min(0), found.vertices.max(0)])
            grid = np.stack(np.meshgrid(*ends.T, indexing="ij"), -1).reshape(-1, 3)
            boxes[name] = np.hstack([grid, np.ones((8, 1))])
        if not self.parts and not self.surfaces:
            return poses[..., :3, 3] if self.model.bodies else np.zeros((*poses.shape[:-3], 1, 3))
        around = [poses[..., part.body, :, :] @ part.matrix @ boxes[part.mesh].T for part in self.parts]
        return np.concatenate([*(points.mT[..., :3] for points in around), *shown.surfaces], -2)

    def ground(self, points: np.ndarray) -> float | None:
        """The height, along `up`, of a floor below these points; None without gravity."""
        if not any(self.model.gravity):
            return None
        level = [x for x in self.model.ground if x.kind == "plane" and x.pose.rotation[:, 2] @ self.up > 0.999]
        if level:
            return float(max(x.pose.translation @ self.up for x in level))
        lowest = float((points @ self.up).min())
        return lowest - 0.02 * self.size


def size_of(motion: Motion) -> float:
    """The size of the mechanism: the diagonal of a box around its bodies and shapes in the first state."""
    model, poses = motion.model, motion.poses[0]
    points = [poses[i, :3, 3] + poses[i, :3, :3] @ c for i, body in enumerate(model.bodies) for c in _reach(body)]
    if not points:
        return 1.0
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    return size if size > 0 else 1.0


def _reach(body: Body) -> Iterator[np.ndarray]:
    """Points that bound a body: its origin, its centre of mass, and boxes around its solids."""
    yield np.zeros(3)
    if body.mass:
        yield np.array(body.center)
    for shape in body.visuals or body.collisions:
        if shape.kind in SOLIDS:
            for matrix, _ in _solid(shape):
                yield from (matrix[:3, 3] + sign * matrix[:3, i] for i in range(3) for sign in (0.5, -0.5))


class Maker:
    """Makes the parts of a model, and stores the meshes they name."""

    def __init__(self, model: Model, size: float, collision: bool = False):
        self.model, self.collision = model, collision
        self.size = size
        self.meshes: dict[str, Mesh] = {}
        self.carried = _carried(model)
        piece = {name: i for i, branch in enumerate(model.branches()) for name in branch}
        self.colors = [(*PALETTE[piece[body.name] % len(PALETTE)], 1.0) for body in model.bodies]

    def parts(self) -> Iterator[Part]:
        for i, body in enumerate(self.model.bodies):
            first, second = (body.collisions, body.visuals) if self.collision else (body.visuals, body.collisions)
            yield from self._known_parts(self._shapes(i, first) or self._shapes(i, second) or list(self._links(i)))
        at = len(self.model.bodies)
        for x in bent(self.model):
            yield from self._known_parts(self._pieces(x, at))
            at += len(x.lengths)
        if solid_ground(self.model):
            yield from self._known_parts(self._shapes(at, self.model.ground))

    def surfaces(self) -> Iterator[Surface]:
        for x in bent(self.model):
            if x.is_surface:
                assert x.outline.faces is not None
                yield Surface(x.name, x.outline.faces, self.colors[x.on])

    def _pieces(self, x: Bent, at: int) -> list[Part]:
        """The pieces of a flexible body, of its section's solids or thin; they overlap a little, so that bends have no gaps."""
        radius, color, parts = THIN * self.size, self.colors[x.on], list[Part]()
        if not x.outline.is_line:
            return [ball for i in range(len(x.lengths)) for ball in _ball(at + i, np.zeros(3), radius / 2, color)]
        looks = x.outline.looks or (("cylinder", (radius,), (0.0, 0.0)),)
        for i, length in enumerate(x.lengths):
            for kind, size, place in looks:
                pose, long = Pose.of((0.0, *place)), 1.02 * length
                if kind != "box":
                    pose, sizes = pose @ Pose.turning_z_to((1.0, 0.0, 0.0)), (*size, long)
                else:
                    sizes = (long, *size)
                parts += self._shapes(at + i, (Shape(kind, sizes, pose, color),))
        return parts

    def _known_parts(self, parts: list[Part]) -> list[Part]:
        for part in parts:
            if part.mesh in mesh.UNIT:
                self.meshes.setdefault(part.mesh, mesh.UNIT[part.mesh]())
        return parts

    def _shapes(self, i: int, shapes: tuple[Shape, ...]) -> list[Part]:
        parts = []
        for shape in shapes:
            color = shape.color or (self.colors[i] if i < len(self.colors) else GROUND)
            if shape.kind in SOLIDS:
                parts += [Part(i, name, self._thick(matrix), color) for matrix, name in _solid(shape)]
            elif shape.kind == "mesh" and shape.path and self._known(shape.path):
                scale = np.diag([*(shape.size or (1.0, 1.0, 1.0)), 1.0])
                parts.append(Part(i, shape.path, shape.pose.matrix @ scale, color))
        return parts

    def _known(self, path: str) -> bool:
        if path not in self.meshes and (found := mesh.read(path)):
            self.meshes[path] = found
        return path in self.meshes

    def _thick(self, matrix):
        """The matrix with every edge at least as long as can be drawn, so that a disc of length zero is visible."""
        length = np.linalg.norm(matrix[:3, :3], axis=0)
        least = LEAST * self.size
        out = matrix.copy()
        for axis in np.flatnonzero(length < least):
            a, b = out[:3, (axis + 1) % 3], out[:3, (axis + 2) % 3]
            normal = np.cross(a, b)
            norm = np.linalg.norm(normal)
            out[:3, axis] = least * (normal / norm if norm > 0 else np.eye(3)[axis])
        return out

    def _links(self, i: int) -> Iterator[Part]:
        """The links from the joint of a body to the joints of its children."""
        body, placed = self.model.bodies[i], self.model.joints[i]
        if placed.joint.deformation is not None and not body.mass:
            return
        start = np.array(placed.on.translation)
        radius = THIN * self.size
        ends = [end for end in self._ends(i) if np.linalg.norm(end - start) > radius]
        if placed.joint.nv and (placed.parent is not None or ends):
            yield from _ball(i, start, 1.5 * radius, JOINT)
        for end in ends:
            matrix = Pose.of((start + end) / 2).matrix @ Pose.turning_z_to(end - start).matrix
            stretch = np.diag([radius, radius, np.linalg.norm(end - start), 1.0])
            yield Part(i, "cylinder", matrix @ stretch, self.colors[i])
            yield from _ball(i, end, radius, self.colors[i])
        if not ends and (body.mass or placed.joint.nv):
            yield from _ball(i, np.array(body.center) if body.mass else start, 2 * radius, self.colors[i])

    def _ends(self, i: int) -> list[np.ndarray]:
        """The positions of other joints on a body, or else of its frames, or else its centre of mass."""
        name = self.model.bodies[i].name
        ends = [h.at.translation for k, h in enumerate(self.model.joints) if h.parent == name and self.carried[k]]
        ends += [x.at.translation for x in self.model.loops if x.parent == name]
        ends += [x.on.translation for x in self.model.loops if x.child == name]
        ends = ends or [frame.pose.translation for frame in self.model.frames if frame.body == name]
        ends = ends or [self.model.bodies[i].center] * bool(self.model.bodies[i].mass)
        return [np.array(end) for end in dict.fromkeys(ends)]


def _carried(model: Model) -> list[bool]:
    """For each joint, does anything beyond it move or have mass? A welded frame without mass gets no link."""
    out = [bool(placed.joint.nv or body.mass) for placed, body in zip(model.joints, model.bodies)]
    for i in range(len(out) - 1, -1, -1):
        if out[i] and model.parent[i] >= 0:
            out[model.parent[i]] = True
    return out


def _ball(body: int, at, radius: float, color: Color) -> Iterator[Part]:
    yield Part(body, "sphere", Pose.of(at).matrix @ np.diag([radius, radius, radius, 1.0]), color)


def _solid(shape: Shape) -> list[tuple[np.ndarray, str]]:
    """A shape as scaled unit solids: their matrices and names."""
    return [
        (shape.pose.matrix @ Pose.of((0.0, 0.0, along)).matrix @ np.diag([*stretch, 1.0]), name)
        for name, stretch, along in SOLIDS[shape.kind](*shape.size)
    ]


Pieces = list[tuple[str, tuple[float, float, float], float]]  # unit solids, their scales, their positions along z
SOLIDS: dict[str, Callable[..., Pieces]] = {
    "box": lambda x, y, z: [("box", (x, y, z), 0.0)],
    "sphere": lambda r: [("sphere", (r, r, r), 0.0)],
    "ellipsoid": lambda a, b, c: [("sphere", (a, b, c), 0.0)],
    "cylinder": lambda r, l: [("cylinder", (r, r, l), 0.0)],
    "capsule": lambda r, l: [("cylinder", (r, r, l), 0.0), ("sphere", (r, r, r), l / 2), ("sphere", (r, r, r), -l / 2)],
}
