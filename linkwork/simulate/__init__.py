"""What a mechanism does: simulations of one, rollouts of thousands, and what they leave."""

from .control import Hold, hold
from .events import Event, Occurrence
from .rollout import Rollout, rollout
from .simulate import METHODS, simulate
from .trajectory import Trajectory

__all__ = ["METHODS", "Event", "Hold", "Occurrence", "Rollout", "Trajectory", "hold", "rollout", "simulate"]
