"""The state that a run starts from: a pair (q, v), with quaternions of norm one."""

import numpy as np

from ...dynamics import Dynamics
from ...errors import ShapeError, SimulationError, listed
from ...lie.scalars import numbers
from ...model import check

UNIT = 1e-6  # how far the norm of a quaternion may be from one


def pair_of(robot: Dynamics, state) -> tuple[np.ndarray, np.ndarray]:
    """q and v of a state, of one sample or many, as arrays of floats."""
    try:
        q, v = state
    except (TypeError, ValueError):
        q = v = None
    if q is None or (isinstance(state, np.ndarray) and state.ndim < 2):
        came = f"an array of shape {state.shape}" if isinstance(state, np.ndarray) else f"a {type(state).__name__}"
        sizes = f"q of shape ({robot.nq},) and v of shape ({robot.nv},)"
        raise ShapeError(f"state is not a pair (q, v) but {came}: {robot.model.name} has {sizes}, with batch axes before them for many.")
    return numbers(q, "q"), numbers(v, "v")


def state_of(robot: Dynamics, state) -> tuple[np.ndarray, np.ndarray]:
    """q (nq,) and v (nv,) of the state of one sample."""
    q, v = map(np.array, pair_of(robot, state))
    for name, x, size, count in (("q", q, "nq", robot.nq), ("v", v, "nv", robot.nv)):
        if x.shape != (count,):
            raise ShapeError(f"{name} has shape {x.shape}, but {robot.model.name} has {size} = {count} ({listed(robot.joints, 2)}).")
        if not np.isfinite(x).all():
            raise SimulationError(f"{name} of the state has entries that are not finite: {x}.")
    return unit_quaternions(robot, q), v


def unit_quaternions(robot: Dynamics, q: np.ndarray) -> np.ndarray:
    """q (..., nq) with quaternions divided by their norms, which must be one but for rounding."""
    for joint, rows in robot.made.once(lambda: _units(robot)):
        norm = np.sqrt(np.sum(q[..., rows] * q[..., rows], -1, keepdims=True))
        if (wrong := np.abs(norm - 1) > UNIT).any():
            said = f"{norm[wrong][0]:.6g}"
            raise SimulationError(f'the quaternion of joint "{joint}" has norm {said}; it must be 1. robot.neutral() has one.')
        q[..., rows] /= norm
    return q


def _units(robot: Dynamics) -> list[tuple[str, slice]]:
    """Returns the joints that have quaternions, and where these are in q."""
    parts = check.part_rows(robot.model.joints)
    return [(placed.name, slice(at.start + x.start, at.start + x.stop)) for placed, _, part, at, _ in parts for x in part.group.units]
