"""Dynamics in closed form, for control, analysis and teaching, and as independent checks of the sweeps."""

from .algebra import TABLE, Algebra
from .choices import Choice, EulerRates, Exponential, Linear, SecondKind, WorldVelocity
from .equations import Equations
from .maximal import MaximalCoordinates
from .quasi_velocities import QuasiVelocities
from .screws import Screws, screw
from .single_body import SingleBody
from .symbolic import Symbolic, symbolic
from .virtual_work import VirtualWork

__all__ = [
    "TABLE", "Algebra", "Choice", "Equations", "EulerRates", "Exponential", "Linear", "MaximalCoordinates",
    "QuasiVelocities", "Screws", "SecondKind", "SingleBody", "Symbolic", "VirtualWork", "WorldVelocity", "screw",
    "symbolic",
]
