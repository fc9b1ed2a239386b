"""Samples of functions over a step, close enough together to see all their changes of sign.

A step is one panel at first. A panel has five equidistant samples, and four more where the quartic through the five must agree; where
it does not, the panel is halved. A sine wave is thus sampled more than three times between two of its zeros. Samples of a fast wave may
agree with a quartic by chance: a panel is therefore at most four times as long as the one before it. What no sampling can see is a
spike that lies between all samples, or a wave in step with them.

A function that is rounding alone agrees with no polynomial. Its rounding is measured where a panel has been halved often: by how much
it changes within the shortest times there are. A function that is not a number has no sign, and is not looked at more closely.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

NODES = np.linspace(0.0, 1.0, 5)
CHECKS = np.array([0.1381966, 0.3660254, 0.5857864, 0.9098301])  # not a ratio of small numbers to the spacing of the nodes
FINE = np.linspace(0.0, 1.0, 33)
AGREE = 0.05  # of the largest value in a panel
DEPTH = 10  # halvings of a panel, at most
NOISY = 4  # times the rounding that was measured: as much as it may be elsewhere
MOST = 64  # panels of a step that stay unresolved, before the rest of it is looked at less often
FEW = 3  # halvings of a panel for functions that are known to be too fast
MANY = 4  # halvings of a panel, before rounding is measured
LONGER = 4  # how many times a panel may be as long as the one before
JUMPS = 4  # panels of a step that may stay unresolved: a jump is at no scale a polynomial, but is seen


def _weights(x: np.ndarray) -> np.ndarray:
    """Of the five samples in the polynomial through them at fractions x of the panel."""
    return np.stack([np.prod([(x - b) / (a - b) for b in NODES if b != a], 0) for a in NODES], -1)


AT_CHECKS, AT_FINE = _weights(CHECKS), _weights(FINE)


class Samples:
    """Fractions of a step from 0 to 1, in order, with the values of several functions there.

    `values(x)` gives them (m, n) at fractions x (m,); `first` are those at 0. After all samples have been taken, `last` are those
    at 1, and `unresolved` says for which functions they may be too far apart.
    """

    def __init__(self, values: Callable[[np.ndarray], np.ndarray], first: np.ndarray, panels: int, ulps, noise, hopeless):
        """`ulps` are fractions as short as times can be, `noise` the rounding of each function so far, which is measured again
        where needed; functions that are `hopeless` are not looked at often."""
        self.values, self.last, self.panels = values, first, panels
        self.ulps, self.noise, self.hopeless = ulps, noise, hopeless
        self.missed = np.zeros(len(first), int)

    @property
    def unresolved(self) -> np.ndarray:
        return self.missed > JUMPS

    def __iter__(self) -> Iterator[tuple[float, np.ndarray]]:
        ends = np.linspace(0.0, 1.0, self.panels + 1).tolist()
        waiting = [(a, b, 0) for a, b in pairwise(ends)][::-1]
        longest = np.inf
        while waiting:
            a, b, depth = waiting.pop()
            halves = [((a + b) / 2, b, depth + 1), (a, (a + b) / 2, depth + 1)]
            if b - a > longest and depth < DEPTH:
                waiting += halves
                continue
            x = a + (b - a) * np.concatenate([NODES[1:], CHECKS])
            x[3] = b
            values = self.values(x)
            nodes, checks = np.concatenate([self.last[None], values[:4]]), values[4:]
            if (apart := self._apart(nodes, checks)).any() and depth == MANY:
                self._measure_noise(b)
                apart = self._apart(nodes, checks)
            if (apart & (depth < np.where(self.hopeless | (self.missed > MOST), FEW, DEPTH))).any():
                waiting += halves
                continue
            self.missed += apart
            longest = (LONGER + 0.5) * (b - a)
            turns = a + (b - a) * _turning_points(nodes)
            x, values = np.concatenate([x, turns]), np.concatenate([values, self.values(turns)]) if len(turns) else values
            for k in np.argsort(x):
                yield float(x[k]), values[k]
            self.last = nodes[-1]

    def _apart(self, nodes, checks) -> np.ndarray:
        """For which functions the samples do not agree with the quartic; those that are not numbers are left alone."""
        return (np.abs(AT_CHECKS @ nodes - checks) > AGREE * np.abs(nodes).max(0) + NOISY * self.noise).any(0)

    def _measure_noise(self, x: float) -> None:
        """By how much the functions change within a few of the shortest times there are, before x."""
        change = np.ptp(self.values(x - self.ulps), 0)
        np.fmax(self.noise, change, out=self.noise)


def _turning_points(nodes: np.ndarray) -> np.ndarray:
    """Fractions of a panel where a function comes near to zero, or beyond, between two nodes that have the same sign."""
    if (np.abs(nodes).min(0) > 0.5 * np.abs(nodes).max(0)).all():
        return np.zeros(0)
    found = []
    for y, fine in zip(nodes.T, (AT_FINE @ nodes).T):
        for k in range(len(NODES) - 1):
            part = fine[8 * k : 8 * k + 9] * np.sign(y[k])
            low = int(np.argmin(part))
            if y[k] * y[k + 1] > 0 and 0 < low < 8 and part[low] < AGREE * np.abs(y).max():
                a, b, c = part[low - 1 : low + 2]
                found.append(FINE[8 * k + low] + FINE[1] / 2 * (a - c) / (a - 2 * b + c))  # of the parabola through the three
    return np.array(sorted(set(found)))
