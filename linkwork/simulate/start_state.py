"""The state that a run starts from: quaternions of norm one."""

import numpy as np

from ..dynamics import Dynamics
from ..errors import SimulationError

UNIT = 1e-6  # how far the norm of a quaternion may be from one


def unit_quaternions(robot: Dynamics, q: np.ndarray) -> np.ndarray:
    """q (..., nq) with quaternions divided by their norms, which must be one but for rounding."""
    for joint, rows in _quaternions(robot):
        norm = np.sqrt(np.sum(q[..., rows] * q[..., rows], -1, keepdims=True))
        if (wrong := np.abs(norm - 1) > UNIT).any():
            said = f"{norm[wrong][0]:.6g}"
            raise SimulationError(f'the quaternion of joint "{joint}" has norm {said}; it must be 1. robot.neutral() has one.')
        q[..., rows] /= norm
    return q


def _quaternions(robot: Dynamics):
    """The joint and the rows of q of each quaternion."""
    start = 0
    for placed in robot.model.joints:
        for _, joint, _ in placed.joint.parts:
            for rows in joint.group.units:
                yield placed.name, slice(start + rows.start, start + rows.stop)
            start += joint.nq
