"""What makes bodies and joints a mechanism: every name is known and used once, every body hangs on the world."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..errors import ModelError, did_you_mean
from .parts import PlacedJoint

if TYPE_CHECKING:
    from .model import Model


def check_names(model: "Model") -> None:
    """Things of one kind have different names, bodies and frames being one, and refer only to names that are there."""
    bodies = [body.name for body in model.bodies]
    _different(model, "body", [*bodies, *(frame.name for frame in model.frames)])
    _different(model, "joint", [placed.name for placed in model.joints])
    _different(model, "loop", [loop.name for loop in model.loops])
    _different(model, "coupling", [coupling.name for coupling in model.couplings])
    _different(model, "constraint", [x.name for part in (model.loops, model.couplings, model.constraints) for x in part])
    known = dict.fromkeys(bodies)
    for placed in model.joints:
        _known(model, f'joint "{placed.name}"', "body", (placed.child,), known)
        _known(model, f'joint "{placed.name}"', "body", _unless_none(placed.parent), known)
    for loop in model.loops:
        _known(model, f'loop "{loop.name}"', "body", (loop.child, *_unless_none(loop.parent)), known)
        if loop.child == loop.parent:
            raise ModelError(f'{model.name}: loop "{loop.name}" ties body "{loop.child}" to itself; it takes two bodies.')
    for frame in model.frames:
        _known(model, f'frame "{frame.name}"', "body", (frame.body,), known)
    _different(model, "force", [force.name for force in model.forces])
    _different(model, "actuator", [x.name for x in model.actuators])
    grounds = [shape.name for shape in model.ground if shape.name]
    for name in grounds:
        if grounds.count(name) > 1:
            raise ModelError(f'{model.name} has two grounds called "{name}"; give each its own name, as in ground(1.0, name="step").')
    _different(model, "contact", [contact.name for contact in model.contacts])
    for contact in model.contacts:
        _known(model, f'contact "{contact.name}"', "body", contact.bodies, known)
    for pair in model.excluded:
        _known(model, "an excluded pair", "body", [name for name in pair if name is not None], known)
    places = {**known, **dict.fromkeys(frame.name for frame in model.frames)}
    for force in model.forces:
        _known(model, f'force "{force.name}"', "body or frame", force.bodies, places)
    if model.fluid is not None:
        _known(model, "its fluid", "body or frame", [each.body for each in model.fluid.immersed], places)
    if model.couplings or model.constraints:
        joints = {name: (placed.name, name.removeprefix(f"{placed.name}.")) for placed in model.joints for name in joint_names(placed)}
        for coupling in model.couplings:
            used = (coupling.joint, *_unless_none(coupling.of))
            _known(model, f'coupling "{coupling.name}"', "joint", used, joints)
            if coupling.of is not None and joints[coupling.of] == joints[coupling.joint]:
                itself = f'coupling "{coupling.name}" makes joint "{coupling.joint}" follow itself'
                raise ModelError(f"{model.name}: {itself}; it takes two joints.")
        for x in model.constraints:
            _known(model, f'constraint "{x.name}"', "body or frame", x.bodies, places)
            _known(model, f'constraint "{x.name}"', "joint", x.joints, joints)


def joint_names(placed: PlacedJoint) -> tuple[str, ...]:
    """What a joint answers to: its name and those of its parts if it has several, alone or after its own and a dot."""
    parts = [part for part, _, _ in placed.joint.parts if part]
    return (placed.name, *parts, *(f"{placed.name}.{part}" for part in parts))


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


def _unless_none(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)
