"""Times of things that do the same, taken in turn so that whatever slows the machine slows all of them."""

from collections.abc import Callable
from statistics import median
from time import perf_counter

ROUNDS, MOST = 7, 28
QUIET = 1.15  # a contestant whose median is within this of its best was not disturbed


def race(*contestants: Callable[[], object], calls: int = 1) -> list[float]:
    """The best time of each, per call; more rounds while the times scatter."""
    for run in contestants:
        run()
    times: list[list[float]] = [[] for _ in contestants]
    while len(times[0]) < MOST:
        for run, taken in zip(contestants, times):
            start = perf_counter()
            for _ in range(calls):
                run()
            taken.append((perf_counter() - start) / calls)
        if len(times[0]) >= ROUNDS and all(median(sorted(x)[:ROUNDS]) < QUIET * min(x) for x in times):
            break
    return [min(x) for x in times]
