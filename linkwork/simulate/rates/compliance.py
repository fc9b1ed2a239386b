"""Compliance: 𝓜⁻¹, less what constraints take of it. That of a tree comes from the rates that a run has compiled already: a kernel
of its own would take seconds."""

import numpy as np

from ...dynamics import Dynamics
from ...motion import equations
from .kernels import kernel

BOUND = 1e-9  # of the mobility of a joint: what constraints leave of it, if less than that, is rounding


def compliance(robot: Dynamics, q, t: float) -> np.ndarray:
    """v̇ for each unit of τ: 𝓜⁻¹, less what constraints take of it."""
    return tree_compliance(robot, q) if robot.constraints is None else robot.constraints.compliance(q, t)


def mobile(robot: Dynamics, inverse, q) -> np.ndarray:
    """The compliance without what rounding leaves of it in joints that constraints move as they like."""
    if robot.constraints is None:
        return inverse
    moved = np.diag(inverse) * np.diag(robot.mass_matrix(q)) > BOUND
    return np.where(moved[:, None] & moved, inverse, 0.0)


def tree_compliance(robot: Dynamics, q) -> np.ndarray:
    """𝓜⁻¹ (nv, nv), a column for each force, in one call over all of them:

        𝓜⁻¹ e_j = (v̇(σ_j e_j) − v̇(0)) / σ_j

    The forces σ make accelerations at least as large as those without them, so that the difference loses no digits.
    """
    still = np.zeros(robot.nv)
    rates = kernel(robot, equations.local_rates, friction=False)
    rest = rates(q, still, still, still)[1]
    size = _inertias(robot) * (np.abs(rest).max(initial=0.0) or 1.0)
    moved = rates(q, still, still, np.diag(size))[1]
    inverse = (moved - rest) / size[:, None]
    return (inverse + inverse.T) / 2


def _inertias(robot: Dynamics) -> np.ndarray:
    """The inertia that each velocity feels in some configurations, in plain NumPy, once for each robot."""

    def make() -> np.ndarray:
        q = np.stack([robot.neutral(), *robot.random_state(2, seed=0)[0]])
        return np.einsum("...ii->...i", Dynamics(robot.model, compiled=False).mass_matrix(q)).max(0)

    return robot.made.once(make)
