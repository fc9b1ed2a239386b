"""The way back to the constraints, over any scalar: Newton's steps until they are kept, then along them to the nearest configuration.

One step is given: a kernel of a choice of dependent velocities, the same traced for constants that vary, or singular values in NumPy.
"""

from collections.abc import Callable

import numpy as np

from ...lie.iteration import iterate
from ...lie.scalars import rounding

ROUNDING = 1e-15  # of a radian, or of the size of the mechanism: as far from zero c may be
RETURNS = 20  # steps to the constraints at most
SLIDES = 100  # steps along the constraints
SETTLED = 1e-13  # radians or sizes: a step that is shorter is rounding
SMALL = 1e-11  # the same: a step that is shorter, and not half of the one before, is rounding too


def returned(step: Callable, q, v) -> tuple:
    """q and v on the constraints, and how far c is from zero there: no step halves it any more, or it is rounding.

    `step(q, v)` gives q after a step to the constraints, the nearest v on them, and how far c was from zero before. Where it has no answer,
    v is no number.
    """
    enough, zero = np.maximum(ROUNDING, 4 * rounding(q)), np.zeros_like(q[..., 0])

    def closer(here, there, slow, size):
        further, slower, less = step(there, v)
        better = less < 0.5 * size
        vectors = [np.where(better[..., None], x, old) for x, old in ((there, here), (further, there), (slower, slow))]
        return *vectors, np.where(better, less, size), ~better | (less <= enough)

    (here, _, slow, size), _ = iterate(closer, (q, q, np.zeros_like(v) + np.nan, zero + np.inf), most=RETURNS + 1)
    return here, slow, size


def returned_on_host(step: Callable, q, v) -> tuple:
    """The same on arrays of numbers, and what else the last step tells: rounds of one sample by a kernel are six times as fast without
    `iterate`."""
    there, slow, size, *told = step(q, v)
    here, going = q, size > ROUNDING  # each sample goes on by itself, whatever the others do
    for _ in range(RETURNS):
        if not going.any():
            break
        further, slower, less, *tells = step(there, v)
        going = going & (less < 0.5 * size)
        if going.all():
            here, there, slow, size, told = there, further, slower, less, tells
        else:
            take = going[..., None]
            here, there, slow = (np.where(take, x, old) for x, old in ((there, here), (further, there), (slower, slow)))
            size, *told = (np.where(going, x, old) for x, old in ((less, size), *zip(tells, told)))
        going = going & (less > ROUNDING)
    return here, slow, size, *told


def along_constraints(move: Callable, integrate: Callable, difference: Callable, yielding, start, here) -> tuple:
    """From configurations `here` (..., nq) on the constraints to those that are nearest to others, and where there are such.

    Nearest is where w = log(q⁻¹ ∘ start), the way back to where it came from, is orthogonal in 𝓜(q) to all motions that the constraints
    on positions allow: forces of constraints alone, Jc* λ, make it. That does not depend on how the constraints are written, on which
    rows are taken to be enough, or on the way there. `move(q, w)` gives the shortest way nearest to w, which is no number where there is
    none; ways are measured against what is `yielding`.
    """
    eps, one = rounding(here), 1.0 + np.zeros_like(here[..., 0])

    def closer(here, share, last):
        dq = move(here, share[..., None] * difference(here, start))
        size = np.max(np.abs(dq) * (1 / yielding), -1) / share if dq.shape[-1] else 0.0 * share
        done = (size <= np.maximum(SETTLED, 16 * eps)) | ((size < np.maximum(SMALL, 1e4 * eps)) & (size > 0.5 * last)) | ~(size < np.inf)
        there = integrate(here, np.where(done[..., None], 0.0, dq))
        return np.where(done[..., None], here, there), np.where(size > last, 0.5 * share, share), size, done

    (here, _, size), _ = iterate(closer, (here, one, one * np.inf), most=SLIDES)
    return here, size < np.inf
