"""Nodes: the moving parts of a rigid mechanism, with every constant of its dynamics.

Bodies welded together are one node; a joint of several parts is several nodes, all but the last without mass. A node's
own frame is the outboard frame of its joint, its z the joint's axis, so that every joint map H is a constant. Bodies
and frames are fixed placements on nodes. Results in joint space do not depend on the choice of these frames.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..engine.tracing.array import Traced
from ..engine.tracing.rolled import Groups
from ..lie import Group
from ..lie.group import Additive
from ..lie.scalars import like
from ..lie.so3 import rotation_matrix
from ..model import Spring
from ..model.tree import Tree, concatenated
from ..spatial import Pose, homogeneous, inertia, phi
from .labelled import Labelled
from .node_groups import grouped
from .regrouping import regrouped
from .rigid import RigidTree

Reach = tuple[tuple[int, np.ndarray], ...]  # joints on the way to a place, each with the axes its `at` is given in
CONSTANTS = ("quaternion", "translation", "armature", "damping", "friction", "stiffness", "mass", "center", "tensor", "gravity")


@dataclass(frozen=True)
class Nodes(RigidTree):
    """The moving parts of a model and every constant of its dynamics, node by node and body by body."""

    tree: Tree
    groups: tuple[Group, ...]
    q_rows: tuple[slice, ...]  # of each node in q
    labels: tuple[str, ...]  # what to call each node in a message
    on: tuple[int, ...]  # the node of each body
    placements: tuple[Pose, ...]  # of each body on its node
    quaternion: tuple  # of each node's joint on the parent node
    translation: tuple
    armature: tuple  # per node, one number per velocity
    damping: tuple
    friction: tuple
    stiffness: tuple
    rest: tuple
    mass: tuple  # per body
    center: tuple
    tensor: tuple
    gravity: np.ndarray
    reach: tuple[Reach, ...]  # per node: its translation moves with these joints' places on their parents
    body_reach: tuple[Reach, ...]
    forces: tuple = ()  # springs and pushes between points, each with its places (body, pose)
    moved: tuple | None = None  # by how much each body's placement has moved, where lengths are varied
    inertias: tuple | None = None  # of nodes, where they are not those of their bodies
    in_fluid: bool = False  # is the model in a fluid, which these nodes do not know?
    bonds: Mapping[str, Any] | None = None  # constants of loops, couplings and rods, where they vary: see `BONDS`

    @property
    def nq(self) -> int:
        return self.q_rows[-1].stop if self.q_rows else 0

    @cached_property
    def moving(self) -> Groups:
        """Each moving node with the nodes that only place it."""
        return grouped(self)

    @property
    def additive(self) -> bool:
        """Do all coordinates add, so that they are velocities times time?"""
        return all(isinstance(group, Additive) for group in self.groups)

    def digest(self) -> str:
        """A name for everything in here that decides the dynamics."""
        made = hashlib.sha256(repr((self.tree.parent, self.groups, self.on, self.placements, self.forces)).encode())
        for name in (*CONSTANTS, "rest"):
            for x in getattr(self, name):
                made.update(np.ascontiguousarray(x, float).tobytes())
        return made.hexdigest()

    def mapped(self, constant: Callable) -> "Nodes":
        """The same nodes with every constant x replaced by constant(name, index, x)."""
        tables: dict[str, Any] = {
            name: tuple(constant(name, i, x) for i, x in enumerate(getattr(self, name)))
            for name in CONSTANTS
            if name != "gravity"
        }
        if self.inertias is not None:
            tables["inertias"] = tuple(constant("inertias", i, x) for i, x in enumerate(self.inertias))
        return replace(self, **tables, gravity=constant("gravity", 0, self.gravity))

    def over(self, some) -> "Nodes":
        """The same nodes with their constants as scalars like `some`; while it is traced, errors name the joint."""
        nodes = self.mapped(lambda name, index, x: like(x, some))
        return replace(nodes, tree=Labelled(nodes.tree, nodes.labels, some.trace)) if isinstance(some, Traced) else nodes

    def varied(self, values: dict) -> "Nodes":
        """The same nodes with other constants, arrays over bodies or velocities: see `VARIABLE`.

        `at` gives the place of each body's joint on its parent less the model's own, (..., nb, 3).
        """
        parts: dict = {}
        for name, x in values.items():
            if name == "gravity":
                parts[name] = x
            elif name.startswith("spring_"):
                parts["forces"] = _with_springs(parts.get("forces", self.forces), name.removeprefix("spring_"), x)
            elif name in BONDS:
                parts["bonds"] = parts.get("bonds", {}) | {name: x}
            elif name == "at":
                parts["translation"] = tuple(p + _reached(reach, x) for p, reach in zip(self.translation, self.reach))
                parts["moved"] = tuple(_reached(reach, x) for reach in self.body_reach)
            elif name in ("mass", "center", "tensor"):
                parts[name] = tuple(x[(..., i, *(slice(None),) * (len(VARIABLE[name]) - 1))] for i in range(len(self.mass)))
            else:
                parts[name] = tuple(x[..., rows] for rows in self.tree.rows)
        return replace(self, **parts)

    def split(self, q):
        """The coordinates q(k) of each node."""
        return {k: q[..., rows] for k, rows in enumerate(self.q_rows)}

    def join(self, q):
        """The coordinates (..., nq) of those of each node."""
        return concatenated([q[k][..., None] for k in self.tree.base_to_tips()], -2)[..., 0]

    def on_bodies(self, x, via: Callable, bodies: Iterable[int] | None = None):
        """Of all bodies, or of those given by number: via(value of the node that carries it, pose of the body there), one below
        the other: matrices (..., n, rows, columns), and columns as vectors (..., n, rows)."""
        return columns_as_vectors(self.stack([via(x[self.on[i]], self.places[i]) for i in chosen(self, bodies)]))

    def stack(self, parts):
        """Matrices of one shape, one below the other: (..., count, n, m)."""
        batch = np.broadcast_shapes(*(x.shape for x in parts))
        return np.stack([np.broadcast_to(x, batch) for x in parts], -3)

    def without_friction(self) -> "Nodes":
        """The nodes of joints without dry friction."""
        return replace(self, friction=tuple(np.zeros_like(x) for x in self.friction))

    def wrenches(self, external):
        """The wrenches (..., nb, 6) that act on the bodies, moved to their nodes and added up there."""
        out = self.at_rest()
        for i, k in enumerate(self.on):
            if k != self.tree.world:
                out[k] = out[k] + phi(self.places[i]) @ external[..., i, :, None]
        return out

    @cached_property
    def zeros(self):
        """A vector of velocities, all zero."""
        return like(np.zeros(self.tree.nv), self.gravity)

    @cached_property
    def still(self):
        """A spatial vector of zeros: the velocity of the world."""
        return like(np.zeros((6, 1)), self.gravity)

    def at_rest(self):
        """Zero velocity of every node."""
        return self.tree.constant(self.still)

    @cached_property
    def falling(self):
        """The acceleration of a world without gravity that feels like this one: [0; −g] (Jain, Exercise 5.4)."""
        return np.concatenate([np.zeros_like(self.gravity), -self.gravity], -1)[..., None]

    @cached_property
    def places(self):
        """Poses of the bodies on their nodes."""
        if self.moved is None:
            return [self.pose_matrix(pose) for pose in self.placements]
        return [self.pose_matrix(pose, by) for pose, by in zip(self.placements, self.moved)]

    def on_node(self, body: int, place: Pose, shift=None):
        """The node that carries a body, and the pose there of a frame placed on that body; with a shift (..., 3) that far beside it, in
        the body's axes."""
        moved = 0.0 if self.moved is None else self.moved[body]
        if shift is not None:
            moved = moved + (rotation_matrix(like(self.placements[body].quaternion, self.gravity)) @ shift[..., None])[..., 0]
        return self.on[body], self.pose_matrix(self.placements[body] @ place, moved)

    def pose_matrix(self, pose: Pose, moved=0.0):
        """A pose as a matrix of these nodes' scalars, its rotation exact for a tracer."""
        R = rotation_matrix(like(pose.quaternion, self.gravity))
        p = like(pose.translation, self.gravity) + moved
        return homogeneous(R + np.zeros_like(p[..., None]), p)

    @cached_property
    def fixed(self):
        """Where each node's joint stands on the parent node."""
        return [homogeneous(rotation_matrix(q), p) for q, p in zip(self.quaternion, self.translation)]

    @cached_property
    def H(self):
        """The joint maps, one row per velocity."""
        return [like(group.basis, p) for group, p in zip(self.groups, self.translation)]

    @cached_property
    def joint_inertias(self):
        """Inertia that sits in the joints, as matrices: D = H P H* + armature."""
        return [x[..., None] * like(np.eye(x.shape[-1]), x) for x in self.armature]

    @cached_property
    def moment(self):
        """[m c; m] of each node and last of the world: a pose times this is the moment of mass there."""
        out = [like(np.zeros((4, 1)), self.gravity) for _ in range(len(self.groups) + 1)]
        for i, k in enumerate(self.on):
            m = self.mass[i][..., None]
            column = concatenated([(m * self.center[i])[..., None], m[..., None]], -2)
            out[k] = out[k] + self.places[i] @ column
        return out

    @cached_property
    def M(self):
        """Spatial inertia of each node: the bodies welded into it, moved to its frame."""
        if self.inertias is not None:
            return list(self.inertias)
        return self.moved_to_nodes({i: inertia(self.mass[i], self.center[i], self.tensor[i]) for i in range(len(self.on))})

    def moved_to_nodes(self, inertias):
        """Σ φ M φ* over the bodies of each node, of the inertias {number of a body: M at its origin, in its axes}."""
        M = [like(np.zeros((6, 6)), p) for p in self.translation]
        for i, own in inertias.items():
            if self.on[i] != self.tree.world:
                shift = phi(self.places[i])
                M[self.on[i]] = M[self.on[i]] + shift @ like(own, shift) @ shift.mT
        return M

    def inertia_of(self, bodies: Iterable[int]):
        """Σ φ M φ* of bodies that one node carries, or the world."""
        parts = [(phi(self.places[i]), inertia(self.mass[i], self.center[i], self.tensor[i])) for i in bodies]
        return sum((shift @ like(own, shift) @ shift.mT for shift, own in parts), like(np.zeros((6, 6)), self.gravity))

    def with_coordinates(self, nodes: set[int]) -> set[int]:
        """These nodes, and those whose coordinates say how they move."""
        return nodes

    def renumbered(self, old) -> dict[str, Any]:
        """Tables of a special kind of nodes for others, the numbers of which were `old` (None: a new one)."""
        return {}

    def regrouped(self) -> "Nodes":
        """The same for all that concerns the joints alone, with less inertia in it (regrouping.py)."""
        return replace(self, inertias=tuple(regrouped(self.tree, self.groups, self.fixed, self.M)))


def chosen(nodes, bodies: Iterable[int] | None) -> list[int]:
    """Numbers of bodies: all of them for None."""
    return list(range(len(nodes.on)) if bodies is None else bodies)


def columns_as_vectors(x):
    """(..., n, 1) as (..., n); other matrices as they are."""
    return x[..., 0] if x.shape[-1] == 1 else x


def _reached(reach: Reach, at):
    """Σ R at(h) over the joints h on the way."""
    return sum(((like(R, at) @ at[..., h, :, None])[..., 0] for h, R in reach), np.zeros_like(at[..., 0, :]))


def _with_springs(forces, what: str, x) -> tuple:
    """Forces whose springs have other constants: `what` is stiffness, length or damping, x (..., springs)."""
    out, number = [], 0
    for force, places in forces:
        if isinstance(force, Spring):
            force = copy(force)
            object.__setattr__(force, what, x[..., number, None])  # of the scalars of a trace, which no check of the model knows
            number += 1
        out.append((force, places))
    return tuple(out)


VARIABLE = {
    "mass": ("nb",),
    "center": ("nb", 3),
    "tensor": ("nb", 3, 3),
    "at": ("nb", 3),
    "armature": ("nv",),
    "damping": ("nv",),
    "friction": ("nv",),
    "stiffness": ("nv",),
    "gravity": (3,),
}  # the constants that may be inputs instead, and their shapes
BONDS = {
    "loop_at": ("loops", 3),
    "loop_on": ("loops", 3),
    "distance": ("distances",),
    "coupling": ("couplings", "coefficients"),
    "spring_stiffness": ("springs",),
    "spring_length": ("springs",),
    "spring_damping": ("springs",),
}  # the same of what binds a mechanism besides its joints, and of springs between points
