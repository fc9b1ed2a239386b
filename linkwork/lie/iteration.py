"""Rounds of a step until it says that it is done: Newton's method, a line search, a fixed point.

The same text runs on float arrays with leading batch axes and on traced arrays, where it becomes a loop in the kernel. The
type of the arrays decides: `iteration.register` adds a type.
"""

from functools import singledispatch

import numpy as np

from ..errors import ShapeError


def iterate(step, start, most: int = 50, unless=None):
    """Repeat `step`, from `start`, until it is done or for `most` rounds; returns what is carried and the rounds it took.

        step(*carried) -> (*carried, done)

    `start` is an array, or a tuple of arrays; `done` is a truth for each sample. A sample that is done keeps its values while
    others go on, so a result depends on nothing but its own sample. Rounds are counted for each sample; a sample that is not
    done after `most` rounds has `most + 1` of them. Samples of which `unless` is true make no round: they keep their start and have 0
    rounds, and where that is true of all samples that are computed together, no round is computed.
    """
    if isinstance(most, bool) or int(most) != most or most < 0:
        raise ValueError(f"most is {most!r}; it must be a whole number of rounds, 0 or more.")
    carried = start if isinstance(start, tuple) else (start,)
    if not carried:
        raise ValueError("iterate carries nothing: start is an empty tuple; give it the arrays that step changes.")
    found, rounds = iteration.dispatch(kind_of((*carried, unless)))(step, carried, int(most), unless)
    return (tuple(found) if isinstance(start, tuple) else found[0]), rounds


def branch(truth, function, values: tuple) -> tuple:
    """function(*values) where a truth of each sample holds, else the values themselves, which have the same shapes. Nothing is computed
    where it holds for none of the samples that are computed together."""
    return iterate(lambda *x: (*function(*x), True), values, 1, np.logical_not(truth))[0]


def kind_of(arrays) -> type:
    """The first type that has an iteration of its own."""
    return next((kind for kind in dict.fromkeys(map(type, arrays)) if iteration.dispatch(kind) is not iteration.dispatch(object)), object)


def taken(step, carried) -> tuple[list, object]:
    """What a step returns: the carried values and done."""
    given = step(*carried)
    if not isinstance(given, tuple) or len(given) != len(carried) + 1:
        got = f"{len(given)} values" if isinstance(given, tuple) else "one value"
        raise ShapeError(f"a step that carries {len(carried)} arrays returns them and done, {len(carried) + 1} values; it returned {got}.")
    return list(given[:-1]), given[-1]


@singledispatch
def iteration(step, carried: tuple, most: int, unless=None):
    """Float arrays: all samples take part in each round, and those that are done keep their values."""
    kept, finished = [np.array(x) for x in carried], np.asarray(False if unless is None else unless)
    for x in kept:
        if x.dtype.kind not in "biuf":
            raise ShapeError(f"iterate carries arrays of numbers; start has {x!r}.")
    rounds = np.where(finished, 0, most + 1)
    if unless is not None:
        kept = [np.where(_beside(finished, x), x, x) for x in kept]
    for count in range(1, 1 if finished.all() else most + 1):
        new, done = taken(step, kept)
        if count == 1 and (kind := kind_of((*new, done))) is not object:  # constants to start from, in a function that is being traced
            return iteration.dispatch(kind)(step, tuple(kept), most, unless)
        done = np.asarray(done)
        if done.dtype.kind not in "biuf":
            raise ShapeError(f"done is {done!r}; it is a truth for each sample, such as np.all(np.abs(change) < 1e-12, -1).")
        done = done.astype(bool)
        for old, x in zip(kept, new):
            if np.shape(x)[np.ndim(x) - np.ndim(old) :] != np.shape(old) and np.ndim(old):
                raise ShapeError(f"a step returned an array of shape {np.shape(x)} where it carries one of shape {np.shape(old)}.")
        some, fresh = finished.any(), [np.asarray(x) for x in new]
        same = [not some and finished.ndim <= x.ndim and (x.shape, x.dtype) == (old.shape, old.dtype) for old, x in zip(kept, fresh)]
        kept = [x if all_new else np.where(_beside(finished, x), old, x) for old, x, all_new in zip(kept, fresh, same)]
        rounds = np.where(~finished & done, count, rounds)
        finished = finished | done
        if finished.all():
            break
    return kept, rounds


def _beside(done, x):
    """A truth for each sample, to go with an array that has axes of its own behind those of the batch."""
    if done.ndim > x.ndim:
        raise ShapeError(f"done has shape {done.shape}, a carried array {x.shape}; done is one truth for each sample: np.all(done, -1).")
    return done.reshape(done.shape + (1,) * (x.ndim - done.ndim))
