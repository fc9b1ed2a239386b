"""Integration in time: simulate one robot, roll out batches of robots, and the trajectories they return."""

from .contact import ContactRecord
from .contact_kernel import contact_kernel
from .contact_rollout import ContactRollout
from .control import Hold, hold
from .ensemble import Ensemble, EventTimes, Statistic
from .events import Event, Occurrence
from .options import DOP853, RK4, RK45, Baumgarte, ContactLaw, Embed, Euler, Midpoint, Moreau, Project, Radau, Rosenbrock, Save, Stiff
from .rollout import Rollout, rollout
from .rollout_gradient import RolloutGradient, rollout_gradient
from .sensitivity import CostGradient, Sensitivity, gradient
from .simulate import METHODS, simulate
from .trajectory import Trajectory

__all__ = [
    "DOP853",
    "METHODS",
    "RK4",
    "RK45",
    "Baumgarte",
    "ContactLaw",
    "ContactRecord",
    "ContactRollout",
    "CostGradient",
    "Embed",
    "Ensemble",
    "Euler",
    "Event",
    "EventTimes",
    "Hold",
    "Midpoint",
    "Moreau",
    "Occurrence",
    "Project",
    "Radau",
    "Rollout",
    "RolloutGradient",
    "Rosenbrock",
    "Save",
    "Sensitivity",
    "Statistic",
    "Stiff",
    "Trajectory",
    "gradient",
    "contact_kernel",
    "hold",
    "rollout",
    "rollout_gradient",
    "simulate",
]
