"""Feedback linearisation: joints of a robot that has not a motor at each, or points of it, follow paths."""

from collections.abc import Callable

import numpy as np

from ..errors import ModelError, OptionError, ShapeError
from ..lie.scalars import numbers

SINGULAR = 1e-4  # of accelerations, weighed with the inertia of the joints: below, motors do not move a joint


def follow(view, path: Callable, joints: tuple[str, ...], stiffness: float, damping: float | None) -> Callable:
    """The control of `Actuated.follow`."""
    robot = view.robot
    rows = [robot.v_index(joint) for joint in joints]
    for joint, row in zip(joints, rows):
        if row.stop - row.start != 1:
            raise ModelError(f'joint "{joint}" has {row.stop - row.start} velocities; follow takes joints with one.')
    if robot.constraints is not None:
        raise ModelError("follow is for trees; robot.motor_forces(q, v, vdot, motors=...) gives the forces of a robot with loops.")
    if len(joints) > len(view.active):
        raise OptionError(f"{len(view.active)} motors cannot make {len(joints)} joints follow a path.")
    stiffness, damping = gains(stiffness, damping)
    chosen = np.array([row.start for row in rows])
    places = np.array([robot.q_index(joint).start for joint in joints])

    def control(t, q, v):
        position, velocity, acceleration = at(path, t, len(joints), "a joint")
        wanted = acceleration + damping * (velocity - v[chosen]) + stiffness * (position - q[places])
        own = robot.passive_force(q, v)  # springs, damping and friction of the joints, which act by themselves
        force = own[view.passive]
        _, drift = view.hybrid_dynamics(q, v, np.zeros(len(view.active)), force)
        J = np.zeros((robot.nv, len(view.active)))
        J[view.active] = np.eye(len(view.active))
        J[view.passive] = view.disturbance_jacobian(q)
        size = np.sqrt(np.diagonal(robot.mass_matrix(q)))  # joints that turn and joints that slide compare by energy
        weighed = size[chosen, None] * J[chosen] / size[view.active]
        least = SINGULAR / max(float(np.linalg.norm(weighed, 2)), SINGULAR)
        needed = np.linalg.pinv(weighed, rcond=least) @ (size[chosen] * (wanted - drift[chosen]))
        tau, _ = view.hybrid_dynamics(q, v, needed / size[view.active], force)
        return np.where(view.prescribed > 0, tau - own, 0.0)

    return control


def track(view, path: Callable, points: tuple, stiffness: float, damping: float | None) -> Callable:
    """The control of `Actuated.track`."""
    robot = view.robot
    if not points or any(isinstance(x, str) or np.shape(x[1]) != (3,) for x in points):
        raise OptionError(f'track takes points, such as ("hand", (0, 0, 0.1)), not {points!r}.')
    if robot.constraints is not None:
        raise ModelError("track is for trees; robot.motor_forces(q, v, vdot, motors=...) gives the forces of a robot with loops.")
    for body, _ in points:
        robot.model.place(body)
    stiffness, damping = gains(stiffness, damping)

    def control(t, q, v):
        position, velocity, acceleration = at(path, t, 3 * len(points), "a coordinate of a point")
        here = np.concatenate([(T[:3, :3] @ x + T[:3, 3]) for body, x in points for T in (robot.pose(q, body),)])
        moving = robot.task_jacobian(q, *points, axes="world") @ v
        wanted = acceleration + damping * (velocity - moving) + stiffness * (position - here)
        own = robot.passive_force(q, v)
        tau, _ = view.computed_torque(q, v, wanted, *points, axes="world", force=own[view.passive])
        return np.where(view.prescribed > 0, tau - own, 0.0)

    return control


def gains(stiffness, damping) -> tuple[float, float]:
    """Both as numbers; critically damped if not said."""
    if numbers(stiffness).ndim or not numbers(stiffness) >= 0:
        raise OptionError(f"stiffness is {stiffness}; it is zero or positive, in 1/s².")
    if damping is not None and (numbers(damping).ndim or not numbers(damping) >= 0):
        raise OptionError(f"damping is {damping}; it is zero or positive, in 1/s.")
    return float(stiffness), 2 * float(np.sqrt(stiffness)) if damping is None else float(damping)


def at(path: Callable, t, size: int, each: str) -> list[np.ndarray]:
    """What a path says at t, checked."""
    found = path(t)
    if not isinstance(found, (tuple, list, np.ndarray)) or len(found) != 3:
        raise ShapeError(f"path({t:g}) is {found!r}; it gives three arrays: positions, velocities, accelerations.")
    arrays = [numbers(x) for x in found]
    for x in arrays:
        if x.shape != (size,):
            raise ShapeError(f"path({t:g}) has an array of shape {x.shape}; each of its three has {size} numbers, one for {each}.")
    return arrays
