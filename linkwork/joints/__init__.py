"""Joints: the motions one body may make relative to another. A joint is a group of motions with limits and passive forces."""

from .compound import Compound, Elastic, Universal
from .elementary import (
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Planar,
    PlanarTranslation,
    Prismatic,
    Revolute,
    Schoenflies,
    Spherical,
    Translation,
)
from .joint import Joint

__all__ = [
    "Compound", "Cylindrical", "Elastic", "Fixed", "Free", "Helical", "Joint", "Planar", "PlanarTranslation",
    "Prismatic", "Revolute", "Schoenflies", "Spherical", "Translation", "Universal",
]
