"""Multipliers of forces that are known, by one rule: where rows are redundant, the sharing of least length."""

import numpy as np

from ..rows.rank import RANK, Factored
from ..rows.rows import Rows
from ..rows.set import ConstraintSet


def rank_tolerance(set_: ConstraintSet, rows: Rows):
    """The least singular value that says something: where the loops are not quite closed, rows that follow from others
    seem not to, by as much."""
    return np.maximum(RANK, 10 * set_.misfit(rows.c))


def multipliers(set_: ConstraintSet, rows: Rows, force):
    """(λ, what is left of the force, rank): Jc* λ is nearest to a generalized force (..., nv), and λ of least length; forces count
    as moments, at a distance that is the size of the mechanism."""
    factored = Factored(set_.without_units(rows.Jc), rank_tolerance(set_, rows))
    lam = factored.combination(set_.reach * force) / set_.scale
    return lam, force - np.matvec(rows.Jc.mT, lam), factored.rank


def needed(set_: ConstraintSet, q, v, vdot, external=None):
    """𝓜 v̇ + 𝓒 of the tree (..., nv): what its joints and its constraints exert together."""
    robot = set_.robot
    return robot.inverse_dynamics(q, v, vdot) if external is None else robot.inverse_dynamics(q, v, vdot, external)
