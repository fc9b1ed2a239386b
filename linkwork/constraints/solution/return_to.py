"""Newton's method on constraints, over any scalar: to them from a guess, back to them from near, along them to the nearest
configuration.

One step is given: by a choice of dependent velocities, straight or rolled, or by singular values in NumPy.
"""

from collections.abc import Callable

import numpy as np

from ...lie.iteration import iterate
from ...lie.scalars import rounding

ROUNDING = 1e-15  # of a radian, or of the size of the mechanism: as far from zero c may be
RETURNS = 20  # steps back to the constraints at most
SLIDES = 100  # steps along the constraints
SETTLED = 1e-13  # radians or sizes: a step that is shorter is rounding
SMALL = 1e-11  # the same: a step that is shorter, and not half of the one before, is rounding too
SHORTEST = 1e-6  # of a step from a guess


def closed(towards: Callable, integrate: Callable, q, most: int) -> tuple:
    """The configuration near q at which c is zero, or as near to zero as it gets, and how far c is from zero there.

        q ← q ∘ exp(−share · step)                      the share is halved while a step does not help

    `towards(q)` gives the step from a configuration, no longer than it may be, how far c is from zero, and how far it may be.
    """

    def closer(q, step, share, size):
        there = integrate(q, -share[..., None] * step)
        further, less, enough = towards(there)
        better = less < (1 - 1e-4 * share) * size
        vectors = [np.where(better[..., None], x, old) for x, old in ((there, q), (further, step))]
        share, size = np.where(better, 1.0, 0.5 * share), np.where(better, less, size)
        return *vectors, share, size, (size <= enough) | (share <= SHORTEST)

    step, size, enough = towards(q)
    one = 1.0 + np.zeros_like(q[..., 0])
    (there, _, _, size), _ = iterate(closer, (q, step, one, size + 0.0 * one), most, unless=size <= enough)
    return there, size


def returned(step: Callable, q, v, *told) -> tuple:
    """q and v on the constraints, how far c is from zero there, and what else the step tells: no step halves c any more, or it is rounding.

    `step(q, v)` gives q after a step to the constraints, the nearest v on them, how far c was from zero before, and numbers like those
    in `told`, which are what is told where there is no step. Where it has no answer, v is no number.
    """
    enough, zero = np.maximum(ROUNDING, 4 * rounding(q)), np.zeros_like(q[..., 0])

    def closer(here, there, slow, size, *told):
        further, slower, less, *tells = step(there, v)
        better = less < 0.5 * size
        vectors = [np.where(better[..., None], x, old) for x, old in ((there, here), (further, there), (slower, slow))]
        numbers = [np.where(better, x, old) for x, old in ((less, size), *zip(tells, told))]
        return *vectors, *numbers, ~better | (less <= enough)

    start = q, q, np.zeros_like(v) + np.nan, zero + np.inf, *(x + zero for x in told)
    (here, _, slow, *numbers), _ = iterate(closer, start, most=RETURNS + 1)
    return here, slow, *numbers


def nearest(slide: Callable, integrate: Callable, difference: Callable, yielding, start, here=None) -> tuple:
    """The configurations on the constraints that are nearest to others, and where there are such; `here` is on the constraints if it is
    given, near `start`.

    Nearest is where w = log(q⁻¹ ∘ start), the way back to where it came from, is orthogonal in 𝓜(q) to all motions that the constraints
    on positions allow: forces of constraints alone, Jc* λ, make it. That does not depend on how the constraints are written, on which
    rows are taken to be enough, or on the way there. `slide(q, w)` gives the shortest way nearest to w that leads to the constraints,
    which is no number where there is none; ways are measured against what is `yielding`. First they lead to the constraints alone, w
    being zero, then along them by a share of w.
    """
    first, here = 0.0 if here is None else 1.0, start if here is None else here
    eps, one = rounding(here), 1.0 + np.zeros_like(here[..., 0])

    def closer(here, share, last):
        to = share == 0
        dq = slide(here, share[..., None] * difference(here, start))
        size = np.max(np.abs(dq) * (1 / yielding), -1) / np.where(to, 1.0, share) if dq.shape[-1] else 0.0 * share
        settled = (size <= np.maximum(SETTLED, 16 * eps)) | ((size < np.maximum(SMALL, 1e4 * eps)) & (size > 0.5 * last))
        stays = settled | ~(size < np.inf)
        there = integrate(here, np.where(stays[..., None], 0.0, dq))
        following = np.where(to, np.where(settled | (size > 0.5 * last), 1.0, 0.0), np.where(size > last, 0.5 * share, share))
        done = stays & ~(to & settled)
        return np.where(stays[..., None], here, there), following, np.where(to & (following > 0), np.inf, size), done

    (here, _, size), _ = iterate(closer, (here, first * one, one * np.inf), most=RETURNS + SLIDES)
    return here, size < np.inf
