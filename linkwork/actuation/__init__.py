"""Robots some of whose joints have no motors (Jain, chapter 16)."""

from .integrals import Integrals
from .view import Actuated, HybridBlocks

__all__ = ["Actuated", "HybridBlocks", "Integrals"]
