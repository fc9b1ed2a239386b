"""The equations themselves: dynamics in closed form, for control, analysis and teaching, and as other roads to the
sweeps' results."""

from .algebra import TABLE, Algebra
from .choices import Choice, EulerRates, Exponential, Linear, WorldVelocity
from .equations import Equations
from .quasi_velocities import QuasiVelocities
from .single_body import SingleBody

__all__ = [
    "TABLE",
    "Algebra",
    "Choice",
    "Equations",
    "EulerRates",
    "Exponential",
    "Linear",
    "QuasiVelocities",
    "SingleBody",
    "WorldVelocity",
]
