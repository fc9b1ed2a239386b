"""The same mechanism with another root (Jain, section 17.4): the joints between the old root and the new one are drawn the other way
round, and the joint that leads to the world carries the new root.

Bodies, frames, loops, couplings, springs and limits are as they were: no body frame moves.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import ModelError
from ..joints import Fixed, Free
from ..spatial import Pose
from .check import joint_names, parents_first
from .constraints import Grounded
from .forces import Spring
from .parts import PlacedJoint
from .reversal import keeps_coordinates, reversed_joint

if TYPE_CHECKING:
    from .model import Model


def rebased(model: "Model", body: str, at=None) -> "Model":
    """The model with `body` as root: free where the old root was free, welded to the world where that was; then `at` may say where."""
    base, turned = way(model, body)
    if isinstance(base.joint, Fixed):
        _check_free_of_world(model)
    for placed in turned:
        _check_couplings(model, placed)
    new = {placed.name: reversed_joint(placed) for placed in turned}
    new[base.name] = replace(base, child=body, at=base.at if at is None else Pose.of(at))
    order = _order(model)
    joints = {placed.name: new.get(placed.name, placed) for placed in model.joints}
    return replace(model, joints=tuple(joints[name] for name in order), order=order)


def way(model: "Model", body: str) -> tuple[PlacedJoint, tuple[PlacedJoint, ...]]:
    """The joint that carries the tree `body` belongs to, and the joints from its root to the body, which are to be turned round."""
    carrying = {placed.child: placed for placed in model.joints}
    path = [carrying[name] for name in model.path(body)]
    end = max((i for i, placed in enumerate(path) if isinstance(placed.joint, Free)), default=len(path) - 1)
    base = path[end]
    if isinstance(base.joint, Free) and base.joint != Free(axis=base.joint.axis):
        raise ModelError(
            f'{model.name}: "{base.name}" carries "{base.child}" with limits, springs, damping or armature of its own, which act between '
            f'that body and what it stands on, so that "{body}" cannot take its place. Make it a plain lw.Free().'
        )
    if not isinstance(base.joint, Free | Fixed):
        raise ModelError(
            f'{model.name}: its root "{base.child}" moves on the {base.joint.kind} joint "{base.name}", which ties that body to the world, '
            f'so that "{body}" cannot be the root instead. It takes a root that is free or welded to the world.'
        )
    return base, tuple(path[:end][::-1])


def turned_parts(model: "Model", body: str) -> tuple[PlacedJoint, Mapping[str, tuple[int, ...]]]:
    """The joint to the world, and for the turned joints by name which of their parts change coordinates (numbers, inboard first)."""
    base, turned = way(model, body)
    changed = {x.name: tuple(i for i, (_, part, _) in enumerate(x.joint.parts) if not keeps_coordinates(part)) for x in turned}
    return base, changed


def _order(model: "Model") -> tuple[str, ...]:
    """The order that joints keep where the tree leaves a choice: that of a model before it had another root, if this one has that
    order still, so that the way back leads to the same model."""
    now = tuple(placed.name for placed in model.joints)
    if sorted(model.order) == sorted(now):
        joints = {placed.name: placed for placed in model.joints}
        if tuple(placed.name for placed in parents_first(joints[name] for name in model.order)) == now:
            return model.order
    return now


def _check_couplings(model: "Model", placed: PlacedJoint) -> None:
    """No coupling or constraint is about coordinates that become others."""
    parts = placed.joint.parts
    changed = [name for name, part, _ in parts if not keeps_coordinates(part)]
    others = set(joint_names(placed)) if len(parts) == 1 and changed else {placed.name} if len(parts) > 1 else set()
    others |= {alias for name in changed for alias in (name, f"{placed.name}.{name}") if name}
    bound = [("coupling", x.name, (x.joint, x.of)) for x in model.couplings]
    for kind, name, used in [*bound, *(("constraint", x.name, x.joints) for x in model.constraints)]:
        if found := others.intersection(used):
            raise ModelError(
                f'{kind} "{name}" is about coordinates of joint "{found.pop()}", which become others when the joint is turned round. '
                f"Remove the {kind}, and give the new model one that fits."
            )


def _check_free_of_world(model: "Model") -> None:
    """Nothing but its root ties a mechanism that is welded to the world."""
    loops = [("loop", x.name) for x in model.loops if x.parent is None]
    springs = [("spring", x.name) for x in model.forces if isinstance(x, Spring) and x.one is None]
    bonds = [("constraint", x.name) for x in model.constraints if isinstance(x, Grounded) or None in (getattr(x, b) for b, _ in x.POINTS)]
    for kind, name in (*loops, *springs, *bonds):
        raise ModelError(
            f'{model.name} stands on the world with its root and is tied to it by {kind} "{name}" too: with another root welded to the '
            f"world it would be another mechanism. Remove the {kind}, or use model.floating()."
        )
