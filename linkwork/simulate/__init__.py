"""Integration in time: simulate one robot, roll out batches of robots, and the trajectories they return."""

from .contact import ContactRecord, ContactSolver
from .contact_kernel import contact_kernel
from .contact_rollout import ContactRollout
from .control import Hold, hold
from .ensemble import Ensemble, EventTimes, Statistic
from .events import Event, Occurrence
from .rollout import Rollout, rollout
from .rollout_gradient import RolloutGradient, rollout_gradient
from .sensitivity import CostGradient, Sensitivity, adjoint
from .simulate import METHODS, simulate
from .trajectory import Trajectory

__all__ = [
    "METHODS",
    "ContactRecord",
    "ContactRollout",
    "ContactSolver",
    "CostGradient",
    "Ensemble",
    "Event",
    "EventTimes",
    "Hold",
    "Occurrence",
    "Rollout",
    "RolloutGradient",
    "Sensitivity",
    "Statistic",
    "Trajectory",
    "adjoint",
    "contact_kernel",
    "hold",
    "rollout",
    "rollout_gradient",
    "simulate",
]
