"""The topological graph of a mechanism: any bodies on any joints, drawn in any direction (Müller and Terze, 2.1).

Bodies are vertices, joints edges; the world is the vertex None. A spanning tree makes a Model of it, and the joints left
over, the cotree, close its fundamental loops.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import ModelError, did_you_mean, listed
from .check import depth_first
from .model import GRAVITY, Model
from .parts import Body, Loop, PlacedJoint
from .rebasing import reversed_coordinates, reversed_joint


@dataclass(frozen=True)
class Graph:
    """Bodies and joints as they are drawn: joint (parent, child) means motion of the child as seen from the parent."""

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[PlacedJoint, ...]
    gravity: tuple[float, float, float] = GRAVITY

    def __post_init__(self):
        names = {body.name for body in self.bodies}
        for joint in self.joints:
            for end in (joint.parent, joint.child):
                if end is not None and end not in names:
                    near = did_you_mean(end, names)
                    raise ModelError(f'{self.name}: joint "{joint.name}" ends at "{end}", which is no body.{near}')
            if joint.parent == joint.child:
                raise ModelError(f'{self.name}: joint "{joint.name}" begins and ends at "{joint.child}"; it needs two bodies.')

    @staticmethod
    def of(model: Model) -> "Graph":
        """The graph of a model: its joints and its active loops, which look alike from here."""
        loops = (PlacedJoint(x.name, x.parent, x.child, x.joint, x.at, x.on) for x in model.loops if x.active)
        return Graph(model.name, model.bodies, (*model.joints, *loops), model.gravity)

    @cached_property
    def _edges(self) -> dict[str | None, list[PlacedJoint]]:
        edges: dict[str | None, list[PlacedJoint]] = {}
        for joint in self.joints:
            edges.setdefault(joint.parent, []).append(joint)
            edges.setdefault(joint.child, []).append(joint)
        return edges

    def spanning_tree(self, cut: Iterable[str] = ()) -> dict[str, PlacedJoint]:
        """For each body the joint that carries it, breadth first from the world; joints named in `cut` stay out of it."""
        barred = set(cut)
        for name in barred:
            if name not in {joint.name for joint in self.joints}:
                raise ModelError(f'{self.name} has no joint "{name}" to cut.{did_you_mean(name, [j.name for j in self.joints])}')
        carried: dict[str | None, PlacedJoint | None] = {None: None}
        queue = deque([None])
        while queue:
            body = queue.popleft()
            for joint in self._edges.get(body, []):
                other = joint.child if joint.parent == body else joint.parent
                if other not in carried and joint.name not in barred:
                    carried[other] = joint
                    queue.append(other)  # type: ignore[arg-type]
        lost = [body.name for body in self.bodies if body.name not in carried]
        if lost:
            when = " once those are cut" if barred else ""
            raise ModelError(f"{self.name}: no joint connects {listed(lost)} to the world{when}.")
        return {body: joint for body, joint in carried.items() if body is not None and joint is not None}

    def cotree(self, cut: Iterable[str] = ()) -> tuple[PlacedJoint, ...]:
        """The joints that the spanning tree leaves over: γ = m - N of them, one for each fundamental loop."""
        used = {joint.name for joint in self.spanning_tree(cut).values()}
        return tuple(joint for joint in self.joints if joint.name not in used)

    def fundamental_loops(self, cut: Iterable[str] = ()) -> dict[str, tuple[tuple[str, int], ...]]:
        """For each cut joint the joints of its loop, itself first, with +1 where the loop runs from parent to child."""
        tree = self.spanning_tree(cut)
        loops = {}
        for joint in self.cotree(cut):
            up, down = self._way(tree, joint.parent), self._way(tree, joint.child)
            while up and down and up[-1][0] == down[-1][0]:  # the part they share is not in the loop
                up, down = up[:-1], down[:-1]
            loops[joint.name] = ((joint.name, 1), *((name, -s) for name, s in down), *((name, s) for name, s in reversed(up)))
        return loops

    def _way(self, tree: dict[str, PlacedJoint], body: str | None) -> list[tuple[str, int]]:
        """The joints from a body to the world, each with +1 if it is drawn outwards."""
        way = []
        while body is not None:
            joint = tree[body]
            way.append((joint.name, 1 if joint.child == body else -1))
            body = joint.parent if joint.child == body else joint.child
        return way

    def orientation(self, cut: Iterable[str] = ()) -> dict[str, int]:
        """s(J) of every tree joint: +1 if drawn from the world outwards, -1 if against the tree."""
        return {joint.name: 1 if joint.child == body else -1 for body, joint in self.spanning_tree(cut).items()}

    def model(self, cut: Iterable[str] = ()) -> Model:
        """A Model on the spanning tree, its loops closed by the cotree; joints drawn against the tree are turned round."""
        tree = self.spanning_tree(cut)
        joints = tuple(joint if joint.child == body else reversed_joint(joint) for body, joint in tree.items())
        loops = []
        for joint in self.cotree(cut):
            joint = joint if joint.child is not None else reversed_joint(joint)
            loops.append(Loop(joint.name, joint.parent, joint.child, joint.joint, joint.at, joint.on))
        return Model(self.name, self.bodies, depth_first(joints), loops=tuple(loops), gravity=self.gravity)

    def coordinates(self, drawn: Mapping[str, object], cut: Iterable[str] = ()) -> np.ndarray:
        """q of the Model from coordinates of the joints as they are drawn, by name."""
        joints = {joint.name: joint for joint in self.joints}
        orientation = self.orientation(cut)
        parts: list = []
        for placed in self.model(cut).joints:
            if placed.joint.nq:
                q = np.atleast_1d(np.asarray(drawn[placed.name], float))
                parts.append(q if orientation[placed.name] > 0 else reversed_coordinates(joints[placed.name].joint, q))
        return np.concatenate([np.zeros(0), *parts], -1)

    @cached_property
    def incidence(self) -> np.ndarray:
        """Bodies by joints: -1 where a joint begins, +1 where it ends; the world has no row."""
        row = {body.name: i for i, body in enumerate(self.bodies)}
        out = np.zeros((len(self.bodies), len(self.joints)), int)
        for j, joint in enumerate(self.joints):
            for end, sign in ((joint.parent, -1), (joint.child, 1)):
                if end is not None:
                    out[row[end], j] = sign
        return out
