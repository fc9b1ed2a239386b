"""The conventions of Pinocchio, MuJoCo and Drake: their conversion rules, and the order of their joints."""

from collections.abc import Iterable, Mapping

from ..dynamics import Dynamics
from ..errors import UnknownNameError, did_you_mean, listed
from ..joints import Free, Joint, Planar, Revolute, Spherical
from ..model import Model
from ..model.check import depth_first, part_rows
from .convention import Convention, Piece
from .rules import Circle, Floating, Plane, Quaternion, RollPitchYaw, Rule, Same


def mujoco(robot: Model | Dynamics, *, order: Iterable[str] | None = None) -> Convention:
    """MuJoCo: free q = [position, w x y z], v = [velocity in the world, omega in the body]; ball q = w x y z.

    A planar joint is two slide joints and a hinge, [x, y, θ].
    """
    rules = {
        Free: Floating(linear_first=True, w_first=True, fixed=("linear",)),
        Spherical: Quaternion(3),
        Planar: Plane(fixed=True, circle=False),
    }
    return _convention(robot, rules, order)


def drake(robot: Model | Dynamics, *, order: Iterable[str] | None = None) -> Convention:
    """Drake: free q = [w x y z, position], v = [omega, velocity], both in the world.

    Ball joints have q = [roll, pitch, yaw] and planar ones [x, y, θ], their v in the axes of the parent.
    """
    rules = {
        Free: Floating(linear_first=False, w_first=True, fixed=("angular", "linear")),
        Spherical: RollPitchYaw(),
        Planar: Plane(fixed=True, circle=False),
    }
    return _convention(robot, rules, order)


def pinocchio(
    robot: Model | Dynamics, *, order: Iterable[str] | None = None, continuous: Iterable[str] | None = None
) -> Convention:
    """Pinocchio: free q = [position, x y z w], v = [velocity, omega], both in the body; planar q = [x, y, cos, sin].

    Continuous joints have q = (cos, sin): by default all revolute ones whose limits are None, as those of type "continuous" in a URDF, or
    those named. (Files give ±inf to joints of type "revolute", and to hinges of MJCF, that have no limits.)
    The default order of joints is that of Pinocchio's URDF reader: depth first, joints on one body by name.
    """
    model = robot.model if isinstance(robot, Dynamics) else robot
    revolute = {placed.name: placed.joint for placed in model.joints if isinstance(placed.joint, Revolute)}
    continuous = None if continuous is None else list(continuous)
    for name in continuous or ():
        if name not in revolute:
            raise UnknownNameError(f'{model.name} has no revolute joint "{name}".{did_you_mean(name, revolute)}')
    if continuous is None:
        continuous = [name for name, joint in revolute.items() if joint.lower is None and joint.upper is None]
    rules = {
        Free: Floating(linear_first=True, w_first=False, fixed=()),
        Planar: Plane(fixed=False, circle=True),
    }
    by_name = [placed.name for placed in depth_first(sorted(model.joints, key=lambda placed: placed.name))]
    return _convention(model, rules, by_name if order is None else order, continuous)


def _convention(robot, rules: Mapping[type[Joint], Rule], order, circles: Iterable[str] = ()) -> Convention:
    """The convention of a model, in the order of the joint names of the other library or in that of linkwork."""
    model = robot.model if isinstance(robot, Dynamics) else robot
    pieces = _pieces(model, rules, set(circles))
    return Convention(model, pieces if order is None else _ordered(model, pieces, list(order)))


def _pieces(model: Model, rules, circles: set[str]) -> list[Piece]:
    out = []
    for placed, part, joint, q, v in part_rows(model.joints):
        if joint.nv:
            names = (placed.name, part, f"{placed.name}.{part}") if part else (placed.name,)
            rule = Circle(1) if circles & set(names) else rules.get(type(joint), Same(joint.nv))
            out.append(Piece(names, rule, len(rule.q_to(joint.group.identity)), q, v))
    return out


def _ordered(model: Model, pieces: list[Piece], order: list[str]) -> list[Piece]:
    """The pieces in the order of the names. If each side has one joint that the other does not name, such as a free base,
    these are taken to be the same."""
    found: dict[str, list[int]] = {placed.name: [] for placed in model.joints}
    for i, piece in enumerate(pieces):
        for name in piece.names:
            found.setdefault(name, []).append(i)
    named = {i for name in order for i in found.get(name, ())}
    left = list(dict.fromkeys(piece.names[0] for i, piece in enumerate(pieces) if i not in named))
    unknown = [name for name in order if name not in found and name != "universe"]  # Pinocchio's world
    if len(left) == len(unknown) == 1:
        found[unknown[0]] = found[left[0]]
    elif unknown:
        raise UnknownNameError(f'{model.name} has no joint "{unknown[0]}".{did_you_mean(unknown[0], found)}')
    elif left:
        raise UnknownNameError(f"order leaves out {listed(left)}; it takes the name of every joint of {model.name} that moves.")
    return [pieces[i] for i in dict.fromkeys(i for name in order for i in found.get(name, ()))]
