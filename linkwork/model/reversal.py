"""A joint drawn the other way round: parent and child change places, and the motions allowed are the same.

If the child stands at X(q) on the parent, the parent stands at X⁻¹(q) on the child. About one axis that is the same q about the
axis turned round, moving with the same v; otherwise it is the same joint at the inverse of q, moving with −Ad(q) v.
"""

from dataclasses import replace

import numpy as np

from ..errors import ModelError
from ..joints import Compound, Joint
from ..spatial import Pose
from .parts import PlacedJoint

ABOUT_ONE_AXIS = "revolute", "prismatic", "helical", "cylindrical"
SAME = 1e-12  # rounding of an adjoint matrix at the elements that are tried


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
