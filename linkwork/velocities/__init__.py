"""Views of a robot in other velocities: with a diagonal mass matrix, with momentum for its base, or in those of its links alone."""

from .factored import Diagonal, Unnormalized
from .free_flying import FreeFlying
from .geared_robot import Geared

__all__ = ["Diagonal", "FreeFlying", "Geared", "Unnormalized"]
