"""From a Model to nodes: which parts move, in which frames, with which constants."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..lie import Group, R
from ..model import Model, Push
from ..model.forces import Force
from ..model.tree import Tree
from ..spatial import Pose
from .flexible import FlexibleNodes
from .frames import chosen, translates, unchanged
from .nodes import Nodes, Reach


class Part(NamedTuple):
    """A node on its way to the tables."""

    parent: int
    fixed: Pose
    group: Group
    joint: Any  # None for a node that only places the next
    label: str
    reach: Reach
    deformation: Any = None  # of a flexible body


Places = dict[str | None, tuple[int, Pose, Reach]]  # of each body on a node


def lower(model: Model, dtype=np.float64, split: bool = False, lengths: bool = False) -> Nodes:
    """The nodes of a model. With `split`, fixed translation and rotation of each joint are nodes of their own, without
    mass or motion, in frames that make them few: the same dynamics, written so that no product of dense blocks is needed.
    With `lengths`, there is a node for a translation even where it is zero, since it may be varied."""
    parts, place = _parts(model)
    if split:
        parts, place = _split(parts, place, lengths)

    def table(name):
        return tuple(np.zeros(0, dtype) if x.joint is None else x.joint.each(name).astype(dtype) for x in parts)

    ends = np.cumsum([0, *(x.group.nq for x in parts)])
    flexes = any(x.deformation is not None for x in parts)
    kind: type[Nodes] = FlexibleNodes if flexes else Nodes
    more: dict[str, Any] = {"deformations": tuple(x.deformation for x in parts)} if flexes else {}
    return kind(
        tree=Tree([x.parent for x in parts], [x.group.nv for x in parts]),
        groups=tuple(x.group for x in parts),
        q_rows=tuple(slice(int(a), int(b)) for a, b in pairwise(ends)),
        labels=tuple(x.label for x in parts),
        on=tuple(place[body.name][0] for body in model.bodies),
        placements=tuple(place[body.name][1] for body in model.bodies),
        quaternion=tuple(np.array(x.fixed.quaternion, dtype) for x in parts),
        translation=tuple(np.array(x.fixed.translation, dtype) for x in parts),
        armature=table("armature"),
        damping=table("damping"),
        friction=table("friction"),
        stiffness=table("stiffness"),
        rest=tuple(np.zeros(0, dtype) if x.joint is None else x.joint.at_rest.astype(dtype) for x in parts),
        mass=tuple(np.array(body.mass, dtype) for body in model.bodies),
        center=tuple(np.array(body.center, dtype) for body in model.bodies),
        tensor=tuple(np.array(body.tensor, dtype) for body in model.bodies),
        gravity=np.array(model.gravity, dtype),
        reach=tuple(x.reach for x in parts),
        body_reach=tuple(place[body.name][2] for body in model.bodies),
        forces=tuple((force, ends_of(model, force)) for force in model.forces),
        in_fluid=model.fluid is not None,
        **more,
    )


def ends_of(model: Model, force: Force) -> tuple[tuple[int | None, Pose], ...]:
    """Where a spring or push acts: (number of the body, pose on it), None for the world."""
    ends = ((force.body, force.at),) if isinstance(force, Push) else ((force.one, force.at), (force.other, force.on))
    places = ((None, Pose()) if name is None else model.place(name) for name, _ in ends)
    return tuple((body, pose @ Pose.of(at)) for (body, pose), (_, at) in zip(places, ends))


def _parts(model: Model) -> tuple[list[Part], Places]:
    """A node for each part of each joint that moves."""
    parts: list[Part] = []
    place: Places = {None: (Tree.world, Pose(), ())}
    modes: dict[str | None, int] = {}  # the node of the modal coordinates of each flexible body
    for h, placed in enumerate(model.joints):
        k, pose, reach = place[placed.parent]
        reach = (*reach, (h, pose.rotation))
        pose = pose @ placed.at
        for _, joint, at in placed.joint.parts:
            frame = joint.frame
            pose = pose @ at @ frame
            bends: Any = joint.deformation
            if bends is not None and not joint.nv:
                check_at_rest(placed, pose, modes)
                parts.append(Part(modes[placed.parent], Pose(), joint.group, None, placed.name, (), joint.deformation))
                k, reach = len(parts) - 1, ((h, bends.pose.rotation.T),)
            elif joint.nv:
                parts.append(Part(k, pose, joint.group, joint, placed.name, reach, joint.deformation))
                k, pose, reach = len(parts) - 1, Pose(), ()
            if bends is not None and joint.nv:
                modes[placed.child] = k
                parts.append(Part(k, Pose(), R(0), None, placed.name, (), bends.own_frame))
                k = len(parts) - 1
            pose = pose @ frame.inverse()
        place[placed.child] = k, pose @ placed.on.inverse(), reach
    return parts, place


def check_at_rest(placed, pose: Pose, modes) -> None:
    """A frame of a flexible body stands where the body says, and on its modes."""
    if placed.parent not in modes:
        raise ModelError(
            f'joint "{placed.name}" is a frame of a flexible body, but its parent "{placed.parent}" has no modes. '
            "Builder.flexible makes these joints; its child of Modes is their parent."
        )
    if np.abs(pose.matrix - np.eye(4)).max() > 1e-9 * (1 + np.abs(pose.translation).max()):
        raise ModelError(f'joint "{placed.name}" is a frame of a flexible body and stands where that says: it takes no place `at`.')


def _split(parts: list[Part], place: Places, lengths: bool) -> tuple[list[Part], Places]:
    """Nodes for the steps of the way to each joint, and one for its motion."""
    parent, groups, fixed = ([getattr(x, name) for x in parts] for name in ("parent", "group", "fixed"))
    steps, frames = (unchanged if lengths else chosen)(parent, groups, fixed)
    out: list[Part] = []
    number = {Tree.world: Tree.world}
    back = {Tree.world: Pose(), **{k: frame.inverse() for k, frame in enumerate(frames)}}

    def turned(reach: Reach, k: int) -> Reach:
        return tuple((h, back[k].rotation @ R) for h, R in reach)

    def add(*part) -> int:
        out.append(Part(*part))
        return len(out) - 1

    for k, (part, step) in enumerate(zip(parts, steps)):
        p, reach = number[part.parent], turned(part.reach, part.parent)
        if step.translation != Pose().translation or (lengths and reach and not translates(part.group)):
            p, reach = add(p, Pose(translation=step.translation), R(0), None, part.label, reach), ()
        for turn in step.turns:
            p = add(p, turn, R(0), None, part.label, ())
            reach = tuple((h, turn.rotation.T @ axes) for h, axes in reach)
        number[k] = add(p, step.offset, part.group, part.joint, part.label, reach, part.deformation)
    return out, {name: (number[k], back[k] @ pose, turned(reach, k)) for name, (k, pose, reach) in place.items()}
