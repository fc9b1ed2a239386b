"""Robots some of whose joints have no motors (Jain, chapter 16), and motors and servos as controllers."""

from .integrals import Integrals
from .motors import Actuators
from .view import Actuated, HybridBlocks

__all__ = ["Actuated", "Actuators", "HybridBlocks", "Integrals"]
