"""What makes bodies and joints a mechanism: every name is known and used once, every body hangs on the world."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ModelError, did_you_mean
from ..joints import Joint
from .parts import PlacedJoint

if TYPE_CHECKING:
    from .model import Model


def check_names(model: "Model") -> None:
    """Things of one kind have different names, bodies and frames being one, and refer only to names that are there."""
    bonds = [*model.loops, *model.couplings, *model.constraints]
    kinds: dict[str, Any] = {"body": [*model.bodies, *model.frames], "joint": model.joints, "loop": model.loops}
    kinds |= {"coupling": model.couplings, "constraint": bonds, "force": model.forces}
    kinds |= {"actuator": model.actuators, "contact": model.contacts}
    for kind, parts in kinds.items():
        _different(model, kind, [x.name for x in parts])
    bodies = dict.fromkeys(body.name for body in model.bodies)
    places = bodies | dict.fromkeys(frame.name for frame in model.frames)
    for kind in ("joint", "loop"):
        for x in kinds[kind]:
            _known(model, f'{kind} "{x.name}"', "body", (x.child, *_unless_none(x.parent)), bodies)
    for loop in model.loops:
        if loop.child == loop.parent:
            raise ModelError(f'{model.name}: loop "{loop.name}" ties body "{loop.child}" to itself; it takes two bodies.')
    for frame in model.frames:
        _known(model, f'frame "{frame.name}"', "body", (frame.body,), bodies)
    grounds = [shape.name for shape in model.ground if shape.name]
    for name in grounds:
        if grounds.count(name) > 1:
            raise ModelError(f'{model.name} has two grounds called "{name}"; give each its own name, as in ground(1.0, name="step").')
    for contact in model.contacts:
        _known(model, f'contact "{contact.name}"', "body", contact.bodies, bodies)
    for pair in model.excluded:
        _known(model, "an excluded pair", "body", _unless_none(*pair), bodies)
    for kind, each in (("force", model.forces), ("constraint", model.constraints)):
        for x in each:
            _known(model, f'{kind} "{x.name}"', "body or frame", x.bodies, places)
    if model.fluid is not None:
        _known(model, "its fluid", "body or frame", [each.body for each in model.fluid.immersed], places)
    if model.couplings or model.constraints:
        joints = {name: (placed.name, name.removeprefix(f"{placed.name}.")) for placed in model.joints for name in joint_names(placed)}
        for x in model.constraints:
            _known(model, f'constraint "{x.name}"', "joint", x.joints, joints)
        for coupling in model.couplings:
            _known(model, f'coupling "{coupling.name}"', "joint", (coupling.joint, *_unless_none(coupling.of)), joints)
            if coupling.of is not None and joints[coupling.of] == joints[coupling.joint]:
                itself = f'coupling "{coupling.name}" makes joint "{coupling.joint}" follow itself'
                raise ModelError(f"{model.name}: {itself}; it takes two joints.")


def joint_names(placed: PlacedJoint) -> tuple[str, ...]:
    """What a joint answers to: its name and those of its parts if it has several, alone or after its own and a dot."""
    parts = [part for part, _, _ in placed.joint.parts if part]
    return (placed.name, *parts, *(f"{placed.name}.{part}" for part in parts))


def part_rows(joints: Iterable[PlacedJoint]) -> Iterator[tuple[PlacedJoint, str, Joint, slice, slice]]:
    """Each part of each joint: the joint, the name of the part and the part, where it is in q, and where in v."""
    nq = nv = 0
    for placed in joints:
        for name, part, _ in placed.joint.parts:
            yield placed, name, part, slice(nq, nq + part.nq), slice(nv, nv + part.nv)
            nq, nv = nq + part.nq, nv + part.nv


def base_to_tips(model: "Model") -> tuple[PlacedJoint, ...]:
    """The joints in the order they came; one that came before the joint of its parent follows that."""
    carried: dict[str, PlacedJoint] = {}
    for placed in model.joints:
        if placed.child in carried:
            raise ModelError(
                f'{model.name}: body "{placed.child}" hangs on two joints, '
                f'"{carried[placed.child].name}" and "{placed.name}"; '
                "a loop is closed with a loop joint, not with a second joint in the tree."
            )
        carried[placed.child] = placed
    for body in model.bodies:
        if body.name not in carried:
            raise ModelError(f'{model.name}: body "{body.name}" hangs on no joint; give it one, if only to the world.')
    order = parents_first(model.joints)
    if len(order) < len(model.joints):
        standing = {x.name for x in order}
        lost = next(x for x in model.joints if x.name not in standing)
        raise ModelError(
            f'{model.name}: joint "{lost.name}" stands on a cycle of joints that never reaches the world; '
            "close the loop with a loop joint."
        )
    return order


def parents_first(joints: Iterable[PlacedJoint]) -> tuple[PlacedJoint, ...]:
    """The joints in their order, each after the joint of its parent; those that never reach the world are left out."""
    order: dict[str | None, PlacedJoint | None] = {None: None}  # by the body carried
    early: dict[str | None, list[PlacedJoint]] = {}
    for placed in joints:
        if placed.parent not in order:
            early.setdefault(placed.parent, []).append(placed)
            continue
        stack = [placed]
        while stack:
            carrying = stack.pop()
            order[carrying.child] = carrying
            stack.extend(reversed(early.pop(carrying.child, [])))
    return tuple(placed for placed in order.values() if placed is not None)


def depth_first(joints: Iterable[PlacedJoint]) -> tuple[PlacedJoint, ...]:
    """The joints with each one after the joint of its parent, depth first, for files whose order means nothing; joints that
    hang on no world come last."""
    joints, outboard = tuple(joints), dict[str | None, list[PlacedJoint]]()
    for placed in joints:
        outboard.setdefault(placed.parent, []).append(placed)
    order: list[PlacedJoint] = []
    stack = outboard.pop(None, [])[::-1]
    while stack:
        order.append(placed := stack.pop())
        stack.extend(reversed(outboard.pop(placed.child, [])))
    return (*order, *(placed for left in outboard.values() for placed in left))


def _different(model: "Model", kind: str, names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if not name or not isinstance(name, str):
            raise ModelError(f"{model.name} has a {kind} without a name.")
        if name in seen:
            raise ModelError(f'{model.name} has two of the name "{name}"; a {kind} needs a name of its own.')
        seen.add(name)


def _known(model: "Model", thing: str, kind: str, used: Iterable[str], known: Mapping[str, object]) -> None:
    for name in used:
        if not isinstance(name, str) or name not in known:
            guess = did_you_mean(str(name), known)
            raise ModelError(f'{model.name}: {thing} refers to {kind} "{name}", which is not there.{guess}')


def _unless_none(*names: str | None) -> list[str]:
    return [name for name in names if name is not None]
