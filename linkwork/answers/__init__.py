"""Answers about a whole mechanism that take a search or an eigenvalue problem: where it rests, how it swings."""

from .equilibrium import Equilibrium, equilibrium
from .modes import Mode, Modes, modes

__all__ = ["Equilibrium", "Mode", "Modes", "equilibrium", "modes"]
