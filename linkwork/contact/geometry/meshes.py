"""Convex hulls of meshes on the CPU, by coal: pip install linkwork[contact].

    near = linkwork.contact.geometry.meshes.MeshDistances(robot)          # of the contacts of its model, meshes among them
    near(q).gap                                                  # (..., pairs)

It runs in Python, pair by pair, and is no quantity: kernels, GPUs and derivatives have primitive shapes only.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...engine.tracing.array import Traced
from ...errors import ModelError, TraceError, extra
from ...model import Shape
from ...model.contacts import shape_of, sides
from .bounds import radius_of
from .pairs import active


class Distances(NamedTuple):
    """Of each pair (..., pairs): the gap, negative where hulls overlap; the unit normal from the second shape to the first and the nearest
    points (..., pairs, 2, 3), in the world; and whether the gap is the distance, or only a bound because the pair is far."""

    gap: np.ndarray
    normal: np.ndarray
    points: np.ndarray
    exact: np.ndarray


class MeshDistances:
    """Distances of the shapes of a model's contacts, meshes as their convex hulls."""

    def __init__(self, robot, margin: float = np.inf):
        """Pairs whose bounding spheres are farther apart than the margin are not looked at closer."""
        self.robot, self.margin = robot, margin
        model = robot.model
        self.contacts = active(model)
        if not self.contacts:
            raise ModelError(f"{model.name} has no contacts. Make some: model.with_contacts([...]) takes bodies with meshes too.")
        self.names = tuple(x.name for x in self.contacts)
        self._made: dict[Shape, tuple[Any, np.ndarray, float]] = {}

    @cached_property
    def coal(self):
        return extra("coal", "distances of meshes need", "contact")

    def __call__(self, q) -> Distances:
        if isinstance(q, Traced):
            raise TraceError("distances of meshes are found in Python, not in a kernel; robot.contact_gaps(q) is, of primitive shapes.")
        q = np.asarray(q, float)
        T = self.robot.poses(q)
        batch = q.shape[:-1]
        flat = T.reshape(-1, *T.shape[-3:])
        rows = [[self._pair(contact, poses) for contact in self.contacts] for poses in flat]
        shapes = (), (3,), (2, 3), ()
        found = (np.array([[pair[k] for pair in row] for row in rows]) for k in range(4))
        return Distances(*(x.reshape(*batch, len(self.contacts), *shape) for x, shape in zip(found, shapes)))

    def _pair(self, contact, poses):
        model = self.robot.model
        both = [shape_of(model, contact.name, *side) for side in sides(contact)]
        bodies = [np.eye(4) if body is None else poses[model.body_index(body)] for body, _ in sides(contact)]
        (a, ca, ra), (b, cb, rb) = (self._geometry(shape) for shape in both)
        A, B = (T @ shape.pose.matrix for T, shape in zip(bodies, both))
        way = A[:3, :3] @ ca + A[:3, 3] - B[:3, :3] @ cb - B[:3, 3]
        bound = float(np.linalg.norm(way)) - ra - rb
        if bound > self.margin:
            return bound, way / np.linalg.norm(way), np.zeros((2, 3)), False
        request, result = self.coal.DistanceRequest(), self.coal.DistanceResult()
        request.enable_signed_distance = True
        gap = self.coal.distance(a, self._transform(A), b, self._transform(B), request, result)
        return gap, -np.asarray(result.normal), np.array([result.getNearestPoint1(), result.getNearestPoint2()]), True

    def _transform(self, T):
        return self.coal.Transform3s(np.ascontiguousarray(T[:3, :3]), np.ascontiguousarray(T[:3, 3]))

    def _geometry(self, shape: Shape) -> tuple[Any, np.ndarray, float]:
        """A shape of coal, and centre and radius of a sphere around it, in its axes."""
        if shape not in self._made:
            self._made[shape] = self._hull(shape) if shape.kind == "mesh" else self._primitive(shape)
        return self._made[shape]

    def _primitive(self, shape: Shape):
        coal, size = self.coal, shape.size
        if shape.kind == "plane":
            return coal.Halfspace(0.0, 0.0, 1.0, 0.0), np.zeros(3), np.inf
        kinds = {"sphere": coal.Sphere, "capsule": coal.Capsule, "ellipsoid": coal.Ellipsoid, "cylinder": coal.Cylinder, "box": coal.Box}
        return kinds[shape.kind](*size), np.zeros(3), radius_of(shape.kind, size)

    def _hull(self, shape: Shape):
        points = vertices(self.robot.model.name, shape)
        row = self.coal.StdVec_Vec3s()
        for point in points:
            row.append(point)
        center = (points.min(0) + points.max(0)) / 2
        return self.coal.Convex.convexHull(row, True, ""), center, float(np.linalg.norm(points - center, axis=1).max())


def vertices(name: str, shape: Shape) -> np.ndarray:
    """The corners of a mesh, scaled, in the axes of the shape."""
    if shape.path is None:
        raise ModelError(f'{name}: the mesh "{shape.mesh}" is not there. Put the file where the model expects it.')
    mesh = extra("trimesh", "meshes are read with", "contact").load(shape.path, force="mesh")
    points = np.asarray(mesh.vertices, float) * np.asarray(shape.size if shape.size else (1.0, 1.0, 1.0))
    if len(points) < 4:
        raise ModelError(f'{name}: the mesh "{shape.mesh}" has {len(points)} corners; a hull takes at least 4.')
    return points
