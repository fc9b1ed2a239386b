"""Functions under constraints as kernels: one for each choice of dependent velocities, tried in an order that the model decides.

A kernel tells for every sample whether its choice serves. A sample that is not served gets the next choice, and what no choice
serves is reported, to be evaluated in NumPy. The result of a sample depends on its own numbers alone, not on the batch it is in
or on calls before.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import chain
from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np

from ...engine.loading.kernel import Kernel
from ...engine.tracing.program import Input
from ...errors import ConstraintError
from ..choice.loops import Choice, Loops, Ranked
from ..rows.set import ConstraintSet
from .system import LEAST_PIVOT, LoopSystem, are_numbers

MOST = 8  # choices that kernels are made for
TRIES = 24  # configurations at which choices are looked for
REACH = 1.0  # radians, or sizes of the mechanism, of those from neutral
NEAR = 0.1  # the same, of one that shows whether neutral is singular
TOLERANCE = 1e-6  # that constraints may contradict each other by, of a radian or of the mechanism's size
GOOD = 0.3  # of the pivots where a choice was made: below it another may be better


@dataclass(frozen=True, eq=False)
class Pick:
    """A choice for every loop, and its pivots where it was made."""

    choices: tuple[Choice, ...]
    pivots: np.ndarray

    @property
    def written(self) -> tuple:
        """As lists and numbers."""
        return [[x.rows, x.dependent, x.independent] for x in self.choices], self.pivots.tolist()

    @staticmethod
    def read(written) -> "Pick":
        choices, pivots = written
        return Pick(tuple(Choice(*map(tuple, x)) for x in choices), np.array(pivots, float))


class Choices:
    """Choices of dependent velocities in an order that depends on the model alone, each found when first asked for: at the
    assembled neutral configuration, then at others around it."""

    def __init__(self, set_: ConstraintSet, loops: Loops, assemble: Callable):
        self.set, self.loops, self.assemble = set_, loops, assemble
        self._found: list[Pick] = []
        self._more = self._explored()
        self._lock = Lock()

    def __getitem__(self, i: int) -> Pick:
        """Number i; IndexError where there are no more."""
        with self._lock:
            while len(self._found) <= i:
                try:
                    pick = next(self._more, None)
                except BaseException:  # Ctrl-C among them: the next call looks again
                    self._found, self._more = [], self._explored()
                    raise
                if pick is None:
                    raise IndexError
                self._found.append(pick)
        return self._found[i]

    @cached_property
    def ranked(self) -> tuple[Ranked, ...]:
        """Rows and ranks of each loop, for choices by the numbers of each sample: rows that some choice has, while any is without
        them."""
        picks, i = [self[0]], 1
        redundant = any(len(x.rows) < len(rows) for x, rows in zip(picks[0].choices, self.loops.binding))
        while redundant and i < MOST:
            try:
                picks.append(self[i])
            except IndexError:
                break
            i += 1
        return self.loops.ranked(self.set.robot.neutral(), [x.choices for x in picks])

    def _explored(self) -> Iterator[Pick]:
        robot, rng = self.set.robot, np.random.default_rng(0)

        def around(q, reach, tolerance):
            return self._closed(robot.integrate(q, reach * self.set.reach * rng.uniform(-1, 1, robot.nv)), tolerance)

        neutral = robot.neutral()
        for tolerance in (None, TOLERANCE):  # constraints that contradict each other by little have no closed configuration
            guesses = (around(neutral, reach, tolerance) for reach in (0.0, *np.full(TRIES, REACH)))
            start = next((q for q in guesses if q is not None), None)
            if start is not None:
                break
        if start is None:  # no guess leads to a closed configuration: as if neutral were one
            yield self.at(neutral, closed=True)
            return
        beside = around(start, NEAR, tolerance)
        picks = [self.at(q) for q in (start, beside) if q is not None]
        rank = max(map(_rank, picks))  # the one configuration may be singular, both are not
        seen = set[tuple[Choice, ...]]()
        more = (self.at(q) for q in (around(start, REACH, tolerance) for _ in range(TRIES)) if q is not None)
        for pick in chain(picks, more):
            if _rank(pick) == rank and pick.choices not in seen and len(seen) < MOST:
                seen.add(pick.choices)
                yield pick

    def _closed(self, q, tolerance):
        """The configuration near q in which all loops are closed, if there is one and its rows are numbers."""
        with np.errstate(all="ignore"):
            try:
                q = self.assemble(q, tolerance=tolerance)
            except ConstraintError:
                return None
            return q if np.isfinite(self.set.rows_on_trial(q).Jc).all() else None

    def at(self, q, t=0.0, closed: bool = False) -> Pick:
        """The choice at a configuration; with `closed` its loops are taken to be closed whatever the numbers say."""
        drive = self.set.driven_by_name(t)
        with np.errstate(all="ignore"):
            choices = self.loops.choose(q, drive, closed)
            _, solvers, _ = LoopSystem(self.loops, choices, drive=drive).at(np.asarray(q, float))
        return Pick(choices, np.array([np.abs(p) for x in solvers for p in x.pivots], float))

    def quality(self, pick: Pick, q, t=0.0):
        """The least pivot of a choice at configurations q, against what it was where it was made (...)."""
        with np.errstate(all="ignore"):
            system = LoopSystem(self.loops, pick.choices, drive=self.set.driven_by_name(t), reference=pick.pivots)
            q = np.asarray(q, float)
            return system.quality(q, system.at(q)[1])

    def first(self, q, t=0.0) -> Pick:
        """A choice for a run that starts at q: the model's first one if it is good there, else that of q itself."""
        return self[0] if self.quality(self[0], q, t) >= GOOD else self.at(q, t)


def _rank(pick: Pick) -> int:
    return sum(len(x.rows) for x in pick.choices)


class ChoiceKernels:
    """A function of (system, arguments...) as kernels, called as a gufunc is. Where a choice does not serve, its results are not numbers.

    Returns its results and which samples (a mask) no choice served, or None if all are served. NaN in, NaN out.
    """

    def __init__(self, choices: Choices, loops: Loops, name: str, function: Callable, inputs, content, pulled: bool = False):
        """`content` is what the function depends on besides the constraints and the text of the library. With `pulled`, the last input
        is the pair [ω, ζ] of Baumgarte's pull."""
        self.choices, self.loops, self.name, self.function, self.inputs, self.pulled = choices, loops, name, function, inputs, pulled
        self.content = content
        self._made: dict[tuple[Choice, ...], np.ufunc] = {}
        self._of_pick: WeakKeyDictionary[Pick, tuple[np.ufunc, list[np.ndarray]]] = WeakKeyDictionary()  # hashing choices takes long
        self._driven: Callable = choices.set.driven if choices.set.drives else lambda t: ()

    def __call__(self, *arrays, out=None, t=0.0, first: Pick | None = None):
        pick, drive = first or self._first, self._driven(t)
        run, reference = self._of_pick.get(pick) or self._remember(pick)
        *results, serves = run(*arrays, *reference, *drive, **({} if out is None else {"out": (*out, None)}))
        if serves.all():
            return results, None
        return self._with_other_choices(arrays, drive, list(map(np.asarray, results)), serves, first, t)

    def _with_other_choices(self, arrays, drive, results, serves, first, t):
        bad = np.atleast_1d((serves == 0) & are_finite(arrays, self.inputs))
        whole = [np.broadcast_to(x, bad.shape + i.shape) for x, i in zip(arrays, self.inputs)]
        views = [x if np.ndim(serves) else x[None] for x in results]
        for i in range(0 if first is not None else 1, MOST):
            if not bad.any():
                break
            try:
                pick = self.choices[i]
            except IndexError:
                break
            hopeful = bad.copy()
            hopeful[bad] = self.choices.quality(pick, whole[0][bad], t) >= LEAST_PIVOT
            if hopeful.any():
                self._retry(pick, whole, drive, views, hopeful, bad)
        return results, bad.reshape(np.shape(serves)) if bad.any() else None

    @cached_property
    def _first(self) -> Pick:
        return self.choices[0]

    def _remember(self, pick: Pick) -> tuple[np.ufunc, list[np.ndarray]]:
        if pick.choices not in self._made:
            self._made[pick.choices] = self._compiled(pick)
        self._of_pick[pick] = self._made[pick.choices], [pick.pivots] if pick.pivots.size else []
        return self._of_pick[pick]

    def _retry(self, pick: Pick, whole, drive, results, which, bad) -> None:
        run, reference = self._of_pick.get(pick) or self._remember(pick)
        *found, serves = run(*(x[which] for x in whole), *reference, *drive)
        at = tuple(i[serves != 0] for i in np.nonzero(which))
        for result, x in zip(results, found):
            result[at] = x[serves != 0]
        bad[at] = False

    def _compiled(self, pick: Pick) -> np.ufunc:
        set_, count, pivots = self.choices.set, len(self.inputs), pick.pivots.size
        more = [Input("reference", pick.pivots.shape)] if pivots else []
        more += set_.inputs

        def function(*arguments):
            state, rest = arguments[:count], arguments[count:]
            system = LoopSystem(
                self.loops, pick.choices, lambda nodes: nodes.over(state[0]), drive=set_.by_name(rest[bool(pivots) :]),
                reference=rest[0] if pivots else np.zeros(0), pull=state[-1] if self.pulled else None,
            )  # fmt: skip
            results = self.function(system, *(state[:-1] if self.pulled else state))
            return *results, np.where(are_numbers(results), 1.0, 0.0) + np.zeros_like(state[0][..., 0])

        return Kernel(self.name, function, (*self.inputs, *more), content=(set_, self.content, pick.choices)).gufunc("d")


def complete(results, bad, inputs, arrays, plain: Callable) -> None:
    """Put the results of `plain`, in NumPy, where kernels have served no sample."""
    some = (np.broadcast_to(x, bad.shape + i.shape)[bad] for x, i in zip(arrays, inputs))
    for whole, x in zip(results, plain(*some)):
        whole[bad] = x


def are_finite(arrays, inputs):
    """Which samples (...) are made of numbers: NaN in, NaN out."""
    each = (np.isfinite(x).all(tuple(range(x.ndim - len(i.shape), x.ndim))) for x, i in zip(arrays, inputs))
    return reduce(np.logical_and, each)
