"""Integration in time: simulate one robot, roll out batches of robots, and the trajectories they return."""

from .derivatives.sensitivity import CostGradient, Sensitivity, gradient
from .ensembles.ensemble import Ensemble, EventTimes, Statistic
from .events.events import Event, Occurrence
from .methods.contact import ContactRecord
from .methods.contact_law import ContactLaw
from .methods.pairs import Tableau
from .rates.control import Hold, hold
from .requests.options import (
    DOP853,
    METHODS,
    RK4,
    RK45,
    Baumgarte,
    Embed,
    Euler,
    Midpoint,
    Moreau,
    Project,
    Radau,
    Rosenbrock,
    Save,
    Stiff,
    method,
)
from .rollouts.contact_kernel import contact_kernel
from .rollouts.rollout import ContactRollout, Rollout, rollout
from .rollouts.rollout_gradient import RolloutGradient, rollout_gradient
from .simulate import simulate
from .trajectory import Trajectory

__all__ = [
    # calls
    "contact_kernel", "gradient", "hold", "rollout", "rollout_gradient", "simulate",
    # what they return
    "ContactRecord", "ContactRollout", "CostGradient", "Ensemble", "EventTimes", "Occurrence", "Rollout", "RolloutGradient", "Sensitivity",
    "Trajectory",
    # what they are asked for
    "Baumgarte", "ContactLaw", "Embed", "Event", "Hold", "Project", "Save", "Statistic",
    # methods
    "DOP853", "METHODS", "RK4", "RK45", "Euler", "Midpoint", "Moreau", "Radau", "Rosenbrock", "Stiff", "Tableau", "method",
]  # fmt: skip
