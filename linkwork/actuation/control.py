"""Feedback linearisation of some joints of a robot that has not a motor at each (collocated or not)."""

from collections.abc import Callable

import numpy as np

from ..errors import ModelError, OptionError, ShapeError


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
    if not stiffness >= 0:
        raise OptionError(f"stiffness is {stiffness}; it is zero or positive, in 1/s².")
    damping = 2 * np.sqrt(stiffness) if damping is None else damping
    chosen = np.array([row.start for row in rows])
    places = np.array([robot.q_index(joint).start for joint in joints])

    def control(t, q, v):
        position, velocity, acceleration = (np.asarray(x, float) for x in path(t))
        for x in (position, velocity, acceleration):
            if x.shape != chosen.shape:
                raise ShapeError(f"path({t:g}) has an array of shape {x.shape}; each of its three has {len(joints)} numbers, one a joint.")
        wanted = acceleration + damping * (velocity - v[chosen]) + stiffness * (position - q[places])
        own = robot.passive_force(q, v)  # springs, damping and friction of the joints, which act by themselves
        force = own[view.passive]
        _, drift = view.hybrid_dynamics(q, v, np.zeros(len(view.active)), force)
        J = np.zeros((robot.nv, len(view.active)))
        J[view.active] = np.eye(len(view.active))
        J[view.passive] = view.disturbance_jacobian(q)
        needed, *_ = np.linalg.lstsq(J[chosen], wanted - drift[chosen], rcond=1e-9)
        tau, _ = view.hybrid_dynamics(q, v, needed, force)
        return np.where(view.prescribed > 0, tau - own, 0.0)

    return control
