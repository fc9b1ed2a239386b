"""The same mechanism with another root (Jain, section 17.4): the joints between the old root and the new one are drawn the other way
round, and the joint that leads to the world carries the new root.

Bodies, frames, loops, couplings, springs and limits are as they were: no body frame moves. Of a joint that is drawn the other way round
parent and child change places, and the motions allowed are the same: if the child stands at X(q) on the parent, the parent stands at
X⁻¹(q) on the child. About one axis that is the same q about the axis turned round, moving with the same v; otherwise it is the same
joint at the inverse of q, moving with −Ad(q) v.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelError
from ..joints import Compound, Fixed, Free, Joint
from ..spatial import Pose
from .check import joint_names, parents_first
from .constraints import Grounded
from .forces import Spring
from .parts import PlacedJoint

if TYPE_CHECKING:
    from .model import Model

ABOUT_ONE_AXIS = "revolute", "prismatic", "helical", "cylindrical"
SAME = 1e-12  # rounding of an adjoint matrix at the elements that are tried


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


# --- a joint drawn the other way round


def keeps_coordinates(joint: Joint) -> bool:
    """Has the reversed joint the same q and v?"""
    return not joint.nv or joint.kind in ABOUT_ONE_AXIS


def reversed_joint(placed: PlacedJoint) -> PlacedJoint:
    """The same joint drawn the other way round; its coordinates are `reversed_coordinates`."""
    joint = placed.joint
    if any(part.deformation is not None for _, part, _ in joint.parts):
        raise ModelError(
            f'joint "{placed.name}" is part of a flexible body and cannot be drawn the other way round. Put the root on the other side of '
            "that body when you build it: Builder.flexible(..., root=...) says which of its frames stands on the joint."
        )
    first = joint.parts[0][2] if joint.parts else Pose()
    try:
        return PlacedJoint(placed.name, placed.child, placed.parent, _reversed(joint), placed.on, placed.at @ first)  # type: ignore[arg-type]
    except ModelError as error:
        raise ModelError(f'joint "{placed.name}" cannot be drawn from "{placed.child}" to "{placed.parent}": {error}') from None


def reversed_coordinates(joint: Joint, q) -> np.ndarray:
    """The q of the reversed joint at which it stands as the joint does at q, (..., nq)."""
    q, parts, start = np.asarray(q, float), [], 0
    for _, part, _ in joint.parts:
        own = q[..., start : start + part.nq]
        parts.append(own if keeps_coordinates(part) else part.group.inverse(own))
        start += part.nq
    return np.concatenate([q[..., :0], *reversed(parts)], -1)


def _reversed(joint: Joint) -> Joint:
    """X = P₁ G₁ P₂ G₂ ... becomes X⁻¹ = G_n⁻¹ P_n⁻¹ ... G₁⁻¹ P₁⁻¹."""
    if not isinstance(joint, Compound):
        return replace(joint, **_changed(joint))
    parts = joint.parts
    after = [Pose(), *(placement.inverse() for _, _, placement in reversed(parts[1:]))]
    return Compound(row=tuple((name, _reversed(part), at) for (name, part, _), at in zip(reversed(parts), after)))


def _changed(joint: Joint) -> dict:
    """What the reversed joint has other than the joint."""
    if not joint.nv:
        return {}
    if keeps_coordinates(joint):
        return {"axis": tuple(-x for x in joint.axis)}
    _check_kept(joint)
    new: dict = {} if joint.rest is None else {"rest": tuple(joint.group.inverse(joint.at_rest))}
    if joint.lower is not None or joint.upper is not None:
        lower, upper = joint.each("lower", -np.inf), joint.each("upper", np.inf)
        new |= {"lower": tuple(-upper), "upper": tuple(-lower)}
    return new


def _check_kept(joint: Joint) -> None:
    """Numbers of single velocities mean the same for −Ad(q) v, or it raises: in general, only those of a sphere do."""
    group, n = joint.group, joint.nv
    some = [group.exp(np.linspace(0.3, 0.9, n)), group.exp(np.linspace(-0.8, 0.5, n))]
    tried = [group.Ad(q) for q in some]

    def same(A, B):
        return np.abs(A - B).max(initial=0.0) < SAME

    def diagonal(what):
        return np.diag(joint.each(what))

    rest = group.Ad(joint.at_rest)
    identity, k = np.eye(n), diagonal("stiffness")
    alone = [all(same(A[i], identity[i]) for A in tried) for i in range(n)]  # its rate is its own
    pushed = [all(same(A[:, i], identity[i]) for A in tried) for i in range(n)]  # its force is
    negated = [group.nq == n and all(same(group.inverse(q)[i], -q[i]) for q in some) for i in range(n)]
    kept = {
        "stiffness": same(rest.T @ k @ rest, k),
        "friction": all(np.array(alone)[joint.each("friction") > 0]),
        "speed": all(np.array(alone)[np.isfinite(joint.each("speed"))]),
        "effort": all(np.array(pushed)[np.isfinite(joint.each("effort"))]),
        "lower": all(np.array(negated)[np.isfinite(joint.each("lower"))]),
        "upper": all(np.array(negated)[np.isfinite(joint.each("upper"))]),
        **{what: all(same(A.T @ diagonal(what) @ A, diagonal(what)) for A in tried) for what in ("damping", "armature")},
    }
    for what, good in kept.items():
        if not good:
            raise ModelError(
                f"its {joint.kind} motion has {what} {getattr(joint, what)}, which is of single directions on one side of the joint, "
                f"and these turn with it. Leave {what} out, or give it so that it does not depend on the axes."
            )
