"""What makes bodies and hinges a mechanism: every name is known and used once, every body hangs on the world."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import ModelError, did_you_mean
from .parts import Hinge

if TYPE_CHECKING:
    from .model import Model


def check_names(model: "Model") -> None:
    """Things of one kind have different names, bodies and frames being one, and refer only to names that are there."""
    bodies = [body.name for body in model.bodies]
    _different(model, "body", [*bodies, *(frame.name for frame in model.frames)])
    _different(model, "joint", [hinge.name for hinge in model.hinges])
    _different(model, "loop", [loop.name for loop in model.loops])
    _different(model, "coupling", [coupling.name for coupling in model.couplings])
    _different(model, "constraint", [x.name for part in (model.loops, model.couplings, model.constraints) for x in part])
    known = dict.fromkeys(bodies)
    for hinge in model.hinges:
        _known(model, f'joint "{hinge.name}"', "body", (hinge.child,), known)
        _known(model, f'joint "{hinge.name}"', "body", _unless_none(hinge.parent), known)
    for loop in model.loops:
        _known(model, f'loop "{loop.name}"', "body", (loop.child, *_unless_none(loop.parent)), known)
    for frame in model.frames:
        _known(model, f'frame "{frame.name}"', "body", (frame.body,), known)
    _different(model, "force", [force.name for force in model.forces])
    places = {**known, **dict.fromkeys(frame.name for frame in model.frames)}
    for force in model.forces:
        _known(model, f'force "{force.name}"', "body or frame", force.bodies, places)
    if model.couplings or model.constraints:
        joints = dict.fromkeys(name for hinge in model.hinges for name in joint_names(hinge))
        for coupling in model.couplings:
            used = (coupling.joint, *_unless_none(coupling.of))
            _known(model, f'coupling "{coupling.name}"', "joint", used, joints)
        for x in model.constraints:
            _known(model, f'constraint "{x.name}"', "body or frame", x.bodies, places)
            _known(model, f'constraint "{x.name}"', "joint", x.joints, joints)


def joint_names(hinge: Hinge) -> tuple[str, ...]:
    """What a hinge answers to: its name and those of its parts if it has several, alone or after its own and a dot."""
    parts = [part for part, _, _ in hinge.joint.parts if part]
    return (hinge.name, *parts, *(f"{hinge.name}.{part}" for part in parts))


def base_to_tips(model: "Model") -> tuple[Hinge, ...]:
    """The hinges with every one after the hinge of its parent, depth first, otherwise in the order they came."""
    carried: dict[str, Hinge] = {}
    outboard: dict[str | None, list[Hinge]] = {}
    for hinge in model.hinges:
        if hinge.child in carried:
            raise ModelError(
                f'{model.name}: body "{hinge.child}" hangs on two joints, '
                f'"{carried[hinge.child].name}" and "{hinge.name}"; '
                "a loop is closed with a loop joint, not with a second hinge."
            )
        carried[hinge.child] = hinge
        outboard.setdefault(hinge.parent, []).append(hinge)
    for body in model.bodies:
        if body.name not in carried:
            raise ModelError(f'{model.name}: body "{body.name}" hangs on no joint; give it one, if only to the world.')
    order: list[Hinge] = []
    stack = outboard.get(None, [])[::-1]
    while stack:
        hinge = stack.pop()
        order.append(hinge)
        stack.extend(reversed(outboard.get(hinge.child, [])))
    if len(order) < len(model.hinges):
        reached = {hinge.name for hinge in order}
        lost = next(hinge for hinge in model.hinges if hinge.name not in reached)
        raise ModelError(
            f'{model.name}: joint "{lost.name}" stands on a cycle of joints that never reaches the world; '
            "close the loop with a loop joint."
        )
    return tuple(order)


def _different(model: "Model", kind: str, names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if not name or not isinstance(name, str):
            raise ModelError(f"{model.name} has a {kind} without a name.")
        if name in seen:
            raise ModelError(f'{model.name} has two of the name "{name}"; a {kind} needs a name of its own.')
        seen.add(name)


def _known(model: "Model", thing: str, kind: str, used: Iterable[str], known: dict[str, None]) -> None:
    for name in used:
        if name not in known:
            guess = did_you_mean(str(name), known)
            raise ModelError(f'{model.name}: {thing} refers to {kind} "{name}", which is not there.{guess}')


def _unless_none(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)
