"""Multibody dynamics: describe a mechanism, get every quantity of its dynamics as a compiled kernel."""

from .dynamics import Dynamics
from .errors import LinkworkError, ModelError, ModelWarning, ShapeError, TraceError, UnknownNameError
from .formats import load, save
from .joints import (
    Compound,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Joint,
    Planar,
    PlanarTranslation,
    Prismatic,
    Revolute,
    Schoenflies,
    Spherical,
    Translation,
    Universal,
)
from .model import Body, Builder, Coupling, Frame, Hinge, Loop, Model, Shape, from_dh
from .spatial import Pose

__version__ = "0.1.0"

__all__ = [
    "Body",
    "Builder",
    "Compound",
    "Coupling",
    "Cylindrical",
    "Dynamics",
    "Fixed",
    "Frame",
    "Free",
    "Helical",
    "Hinge",
    "Joint",
    "LinkworkError",
    "Loop",
    "Model",
    "ModelError",
    "ModelWarning",
    "Planar",
    "PlanarTranslation",
    "Pose",
    "Prismatic",
    "Revolute",
    "Schoenflies",
    "Shape",
    "ShapeError",
    "Spherical",
    "TraceError",
    "Translation",
    "Universal",
    "UnknownNameError",
    "from_dh",
    "load",
    "save",
]
