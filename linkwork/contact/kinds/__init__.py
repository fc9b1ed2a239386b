"""Kinds of rows of a problem: what their forces may be, and how they answer velocities."""

from .bounded import Bounded
from .coulomb import Contact
from .equality import Equality
from .kind import Kind, Piece
from .row import Row
from .sliding import Sliding
from .unilateral import Unilateral

__all__ = ["Bounded", "Contact", "Equality", "Kind", "Piece", "Row", "Sliding", "Unilateral"]
