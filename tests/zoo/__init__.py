"""The zoo: small mechanisms that between them have everything a tree can have, and trees drawn at random.

Laws are tested over `every_mechanism`; `Sweeps` runs the sweeps on whatever numbers come, complex ones too, and `rate`
is the derivative along a motion that follows from that.
"""

from .calls import CALLS, INVERTS, each, every_call
from .mechanisms import (
    JOINTS,
    MECHANISMS,
    every_mechanism,
    grown,
    plain,
    planar_2r,
    robots,
    spread,
)
from .random_trees import trees
from .roads import Sweeps, body_inertias, close, differences, gradient, jacobians, physics, rate, slope, state

__all__ = [
    "CALLS",
    "INVERTS",
    "JOINTS",
    "MECHANISMS",
    "Sweeps",
    "body_inertias",
    "close",
    "differences",
    "each",
    "every_call",
    "every_mechanism",
    "gradient",
    "grown",
    "jacobians",
    "physics",
    "plain",
    "planar_2r",
    "rate",
    "robots",
    "slope",
    "spread",
    "state",
    "trees",
]
