"""Forces along single rows that are unique: the compliance of a tree is positive definite, and so is that of some of its rows.

    w = C z + b,    low ≤ z ≤ high,    w ≥ 0 where z = low,  w ≤ 0 where z = high,  w = 0 in between                Jain (11.51)

Over any scalar: compiled transitions settle with it what joints do, all samples at once. What it does not solve, `resting.py` does.
"""

from typing import Any, NamedTuple

import numpy as np

from ...lie.iteration import iterate
from ...lie.scalars import like
from ...spatial.lu import solve

ROUNDS = 4  # for each row: changes of the rows that are between their bounds; it takes one or two in all
FORCE = 1e-8  # of the forces of a row: one nearer to its bound than that may be there
RATE = 1e-8  # of the largest w: one smaller than that may be zero
EXACT = 1e-10  # of the largest b: how well w = 0 is to hold


class BoxSolution(NamedTuple):
    """Forces z and w, the place of each force, and what is known of them."""

    z: Any  # (n,)
    w: Any  # (n,)
    place: Any  # (n,) −1 at the lower bound, 1 at the upper one, 0 in between
    solved: Any  # is it the solution?
    clear: Any  # (n,) is the place of the row certain, so that other roundings lead to the same one?


def unique_forces(C, b, low, high) -> BoxSolution:
    """The solution of a problem with a symmetric, positive definite C (n, n); rows with low = high have that force and any w.

    Rows whose forces leave their bounds go to these, those at a bound with the wrong sign of w leave it, all at once, until none does.
    """
    n, one, fixed = b.shape[-1], like(np.eye(b.shape[-1]), b), low == high

    def forces(place):
        between = place == 0
        z = np.where(place < 0, low, np.where(place > 0, high, 0.0))
        both = between[..., :, None] & between[..., None, :]
        rest = np.where(between, -(b + (C @ z[..., None])[..., 0]), 0.0)
        z = z + solve(np.where(both, C, one), rest[..., None])[..., 0]
        return z, (C @ z[..., None])[..., 0] + b

    def better(place):
        z, w = forces(place)
        beyond = np.where(z < low, -1.0, np.where(z > high, 1.0, 0.0))
        leaves = (((place < 0) & (w < 0)) | ((place > 0) & (w > 0))) & ~fixed
        new = np.where(place == 0, beyond, np.where(leaves, 0.0, place))
        return new, np.all(new == place)

    place, rounds = iterate(better, np.where(fixed, -1.0, 0.0 * b), ROUNDS * n)
    z, w = forces(place)
    size, between = np.max(np.abs(b)), place == 0
    solved = (rounds <= ROUNDS * n) & np.all(~between | (np.abs(w) <= EXACT * size)) & np.all(np.isfinite(z))
    room = np.minimum(z - low, high - z) > FORCE * np.abs(z)
    clear = fixed | (between & room) | (~between & (np.abs(w) > RATE * size))
    return BoxSolution(z, np.where(between, 0.0, w), place, solved, clear)
