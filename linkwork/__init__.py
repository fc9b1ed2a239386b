"""Multibody dynamics: describe a mechanism, get every quantity of its dynamics as a compiled kernel."""

from . import convert
from .dynamics import Dynamics
from .engine.gufunc import get_threads, set_threads
from .errors import (
    LinkworkError,
    MissingFileError,
    ModelError,
    ModelWarning,
    ShapeError,
    SimulationError,
    TraceError,
    UnknownNameError,
)
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
from .simulate import Event, Trajectory, hold, rollout, simulate
from .spatial import Pose
from .view import Motion, View, movie, plot, plot_phase, plot_tree, record, snapshot, view

__version__ = "0.1.0"

__all__ = [
    "Body",
    "Builder",
    "Compound",
    "Coupling",
    "Cylindrical",
    "Dynamics",
    "Event",
    "Fixed",
    "Frame",
    "Free",
    "Helical",
    "Hinge",
    "Joint",
    "LinkworkError",
    "Loop",
    "MissingFileError",
    "Model",
    "ModelError",
    "ModelWarning",
    "Motion",
    "Planar",
    "PlanarTranslation",
    "Pose",
    "Prismatic",
    "Revolute",
    "Schoenflies",
    "Shape",
    "ShapeError",
    "SimulationError",
    "Spherical",
    "TraceError",
    "Trajectory",
    "Translation",
    "Universal",
    "UnknownNameError",
    "View",
    "convert",
    "from_dh",
    "get_threads",
    "hold",
    "load",
    "movie",
    "plot",
    "plot_phase",
    "plot_tree",
    "record",
    "rollout",
    "save",
    "set_threads",
    "simulate",
    "snapshot",
    "view",
]
