"""How the coordinates of a model become those of the same mechanism with another root."""

from typing import NamedTuple

import numpy as np

from ..joints import Free
from ..lie import SE3
from ..lie.attitude import quaternion_from_matrix
from ..model.rebasing import turned_parts
from ..model.tree import concatenated
from ..spatial import Pose


class Rebasing(NamedTuple):
    """How the coordinates of a model become those of the same mechanism with another root."""

    row: tuple[tuple[int, bool], ...]  # the moving parts of joints in their new order: number in the old one, and is it inverted?
    base: int | None  # the number of the free joint that carries the root
    roots: tuple[tuple[int, Pose], ...]  # old and new: number of the body, pose of the joint's frame on it
    parent: int | None  # the number of the body that the free joint stands on
    turned: tuple[int, ...]  # the numbers of the parts that are turned round, inverted or not


def to_root(model, body: str):
    """The way from a model to model.rebased(body)."""
    base, changed = turned_parts(model, body)
    names = [(placed.name, i) for placed in model.joints for i, (_, part, _) in enumerate(placed.joint.parts) if part.nv]
    number = {name: i for i, name in enumerate(names)}
    row = []
    for placed in model.rebased(body).joints:
        parts = range(len(model.joint(placed.name).joint.parts))
        inverse = changed.get(placed.name)
        for i in parts if inverse is None else reversed(parts):
            if (placed.name, i) in number:
                row.append((number[placed.name, i], inverse is not None and i in inverse))
    on = base.on @ base.joint.frame
    roots = tuple((model.body_index(name), on) for name in (base.child, body))
    parent = None if base.parent is None else model.body_index(base.parent)
    turned = tuple(i for (name, _), i in number.items() if name in changed)
    return (Rebasing(tuple(row), number[base.name, 0] if isinstance(base.joint, Free) else None, roots, parent, turned),)


def rearranged(way: Rebasing, parts, root):
    """The coordinates and velocities of joints (group, q, column v) in their new order, those of the new root from where it is on
    the old one and its velocity."""
    q, v = [], []
    for i, inverted in way.row:
        group, own, rate = parts[i]
        if i == way.base:
            T, rate = root
            own = SE3.compose(own, np.concatenate([quaternion_from_matrix(T[..., :3, :3]), T[..., :3, 3]], -1))
        elif inverted:
            own, rate = group.inverse(own), -group.Ad(own) @ rate
        q.append(own[..., None])
        v.append(rate)
    return concatenated(q, -2)[..., 0], concatenated(v, -2)[..., 0]


def rearranged_forces(way: Rebasing, parts):
    """The forces of joints (group, q, column τ) in their new order: of an inverted one −Ad⁻* τ."""
    forces = []
    for i, inverted in way.row:
        group, own, force = parts[i]
        forces.append(-group.Ad(group.inverse(own)).mT @ force if inverted else force)
    return concatenated(forces, -2)[..., 0]
