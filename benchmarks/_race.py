"""Times of things that do the same, taken in turn so that whatever slows the machine slows all of them."""

from collections.abc import Callable
from statistics import median
from time import perf_counter

ROUNDS, MOST = 4, 12
QUIET = 1.15  # a contestant whose median is within this of its best was not disturbed


def race(*contestants: Callable[[], object], calls: int = 1, clock: Callable[[], float] = perf_counter) -> list[float]:
    """The best time of each, per call; more rounds while the times scatter. Each turn begins with a call that warms up. With the clock
    `thread_time` it is time of the processor, which others on the machine do not take from."""
    times: list[list[float]] = [[] for _ in contestants]
    for number in range(MOST):
        for run, taken in zip(contestants, times):
            run()
            taken += [_seconds(run, calls, clock) for _ in range(5)]
        if number + 1 >= ROUNDS and all(median(sorted(x)[: 5 * ROUNDS]) < QUIET * min(x) for x in times):
            break
    return [min(x) for x in times]


def _seconds(run: Callable[[], object], calls: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(calls):
        run()
    return (clock() - start) / calls


def best(run: Callable[[], object], repeat: int = 3, clock: Callable[[], float] = perf_counter) -> float:
    """The least time of a few calls."""
    return min(_seconds(run, 1, clock) for _ in range(repeat))
