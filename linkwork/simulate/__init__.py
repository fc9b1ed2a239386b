"""Integration in time: simulate one robot, roll out batches of robots, and the trajectories they return."""

from .control import Hold, hold
from .events import Event, Occurrence
from .rollout import Rollout, rollout
from .rollout_gradient import RolloutGradient, rollout_gradient
from .simulate import METHODS, simulate
from .trajectory import Trajectory

__all__ = [
    "METHODS",
    "Event",
    "Hold",
    "Occurrence",
    "Rollout",
    "RolloutGradient",
    "Trajectory",
    "hold",
    "rollout",
    "rollout_gradient",
    "simulate",
]
