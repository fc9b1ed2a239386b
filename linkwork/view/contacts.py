"""Forces at contact points, as segments to be drawn."""

import numpy as np

from ..errors import ShapeError
from ..simulate.methods.contact import ContactRecord


def contact_segments(robot, q, forces, size: float) -> np.ndarray:
    """(..., n, 2, 3): from each contact point along the force on the first body; the total weight is drawn half as long as the mechanism,
    whose size is given. `forces` (..., 3 n) or (..., n, 3) are along the axes of `contact_frames`, as solvers return them."""
    q, forces = np.asarray(q, float), np.asarray(forces, float)
    n = len(robot.contacts)
    if forces.shape == (*q.shape[:-1], n, 3):
        forces = forces.reshape(*q.shape[:-1], 3 * n)
    if forces.shape != (*q.shape[:-1], 3 * n):
        raise ShapeError(f"contact forces have shape {forces.shape}; {robot.model.name} has {n} contact points: {(*q.shape[:-1], 3 * n)}.")
    weight = robot.model.mass * float(np.linalg.norm(robot.model.gravity))
    scale = 0.5 * size / weight if weight else 0.0
    start = robot.contact_points(q).mean(-2)
    along = (robot.contact_frames(q) @ forces.reshape(*q.shape[:-1], n, 3, 1))[..., 0]
    return np.stack([start, start + scale * along], -2)


def at_times(motion, forces, times) -> np.ndarray:
    """The forces (n, 3 n_points) at times of a motion: of the record of a run's steps those of the step that is then made; of the
    record of a run's rows linear between them; of an array with a row for each of the motion's rows those of the last row before."""
    if isinstance(forces, ContactRecord):
        force, times = forces.force.reshape(len(forces.t), -1), np.asarray(times, float)
        if len(force) and np.array_equal(forces.t, motion.t):
            after = np.clip(np.searchsorted(forces.t, times, side="right"), 1, max(len(force) - 1, 1))
            before, after = after - 1, np.minimum(after, len(force) - 1)
            length = forces.t[after] - forces.t[before]
            part = np.clip((times - forces.t[before]) / np.where(length > 0, length, 1.0), 0.0, 1.0)[:, None]
            return (1 - part) * force[before] + part * force[after]
        near = np.abs(forces.t - times[:, None]).argmin(-1) if len(force) else np.zeros(0, int)
        return force[near] if len(force) else np.zeros((len(times), force.shape[1]))
    forces = np.asarray(forces, float)
    if forces.ndim == 0:
        raise ShapeError(f"contacts are forces, not {forces}: give contacts=run.contact, or (rows, 3 n) for each row of the motion.")
    if len(forces) != len(motion.t):
        raise ShapeError(
            f"contact forces have {len(forces)} rows; the motion has {len(motion.t)}. "
            "Forces of a run's steps are given as contacts=run.contact."
        )
    rows = np.clip(np.searchsorted(motion.t, times, side="right") - 1, 0, len(motion.t) - 1)
    return forces[rows]
