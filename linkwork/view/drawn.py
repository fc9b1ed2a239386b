"""Where everything that is drawn is: bodies, pieces of flexible bodies, and what stands in the world."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..dynamics import Dynamics
from ..flexible import FlexibleBody, Outline
from ..model import Model
from ..model.coordinates import joint_rows
from ..spatial import homogeneous

MOST, NODES = 24, 150  # pieces of a beam, and nodes of another flexible body, that are drawn


def solid_ground(model: Model) -> bool:
    """Does something stand in the world besides planes?"""
    return any(shape.kind != "plane" for shape in model.ground)


@dataclass(frozen=True, eq=False)
class Bent:
    """A flexible body as a surface between its nodes, or as pieces: straight ones between points along a beam, or its nodes."""

    name: str
    outline: Outline
    body: FlexibleBody
    on: int  # number of the body whose frame its displacements are seen from
    rows: slice  # of its modal coordinates in q

    @property
    def is_surface(self) -> bool:
        return not self.outline.is_line and self.outline.faces is not None

    @cached_property
    def points(self) -> np.ndarray:
        """Numbers of the points that are drawn, as pieces or between them."""
        if self.is_surface:
            return np.zeros(0, int)
        count, most = len(self.outline.points), MOST + 1 if self.outline.is_line else NODES
        return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))

    @cached_property
    def lengths(self) -> np.ndarray:
        """Of the pieces, without deformation; zero of nodes."""
        r = self.outline.points[self.points]
        return np.linalg.norm(np.diff(r, axis=0), axis=-1) if self.outline.is_line else np.zeros(len(r))

    def places(self, q) -> np.ndarray:
        """Poses of the pieces in the frame of the body (..., pieces, 4, 4): the origin in the middle, x along the piece."""
        r = self.outline.places(q[..., self.rows])[..., self.points, :]
        if not self.outline.is_line:
            return homogeneous(np.broadcast_to(np.eye(3), (*r.shape, 3)), r)
        along = np.diff(r, axis=-2)
        x = along / np.maximum(np.linalg.norm(along, axis=-1, keepdims=True), 1e-300)
        side = np.where(np.abs(x[..., 1:2]) < 0.9, [0.0, 1.0, 0.0], [1.0, 0.0, 0.0])
        z = np.cross(x, side) * np.where(np.abs(x[..., 1:2]) < 0.9, 1.0, -np.sign(x[..., 1:2]))
        z = z / np.linalg.norm(z, axis=-1, keepdims=True)
        return homogeneous(np.stack([x, np.cross(z, x), z], -1), (r[..., 1:, :] + r[..., :-1, :]) / 2)


def bent(model: Model) -> Iterator[Bent]:
    """The flexible bodies that can be drawn bent."""
    for name, body in model.flexible_bodies.items():
        if body.outline is not None:
            child, (rows, _) = model.joint(name).child, joint_rows(model)[name]
            yield Bent(child.removesuffix(".floating"), body.outline, body, model.body_index(child), rows)


def multipliers(robot: Dynamics, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """Of q (nq,) and v (nv,): a factor at modal coordinates, 1 elsewhere."""
    by_q, by_v = np.ones(robot.nq), np.ones(robot.nv)
    for name in robot.model.flexible_bodies:
        by_q[robot.q_index(name)], by_v[robot.v_index(name)] = factor, factor
    return by_q, by_v


def drawn_surfaces(robot: Dynamics, q, poses) -> list[np.ndarray]:
    """Points in the world (..., p, 3) of each flexible body that is drawn as a surface, from poses of bodies."""
    out = []
    for x in bent(robot.model):
        if x.is_surface:
            pose = poses[..., x.on, :, :]
            r = x.outline.places(q[..., x.rows])
            out.append(r @ pose[..., :3, :3].mT + pose[..., None, :3, 3])
    return out


def drawn_names(model: Model) -> list[str]:
    """What to call each drawn thing: bodies, pieces, the ground."""
    pieces = [f"{x.name} piece {i}" for x in bent(model) for i in range(len(x.lengths))]
    return [*(body.name for body in model.bodies), *pieces, "ground"]


def drawn_poses(robot: Dynamics, q) -> np.ndarray:
    """World from body (..., nb, 4, 4), then from each piece of a flexible body, and last of the world if something stands in it."""
    poses = robot.poses(q)
    parts = [poses, *(poses[..., x.on, None, :, :] @ x.places(q) for x in bent(robot.model))]
    if solid_ground(robot.model):
        parts.append(np.broadcast_to(np.eye(4), (*poses.shape[:-3], 1, 4, 4)))
    return np.concatenate(parts, -3)
