"""Embedded Runge-Kutta pairs: one attempt at a step, its error, and the length to try next.

The same text runs on floats, where `explicit` calls it step by step, and on traced arrays, where `segments` makes one kernel of it.
"""

from abc import ABC, abstractmethod

import numpy as np

from ...motion.runge_kutta import RungeKutta
from .tolerances import Tolerances

SAFETY, SHRINK, GROW = 0.9, 0.2, 10.0  # factors for the next step: Hairer, Nørsett and Wanner, II.4
LARGEST_ROTATION = 2.0  # radians of a spherical joint in one step: S⁻¹(ξ) is singular at 2π
SHORTEST = 10 * 2.0**-52  # of the time: no step is shorter
CREEP, CREEP_OF_SPAN = 1e-13, 2.0**-53  # of the time passed, and of the time from start to end: steps that are shorter creep
ESCAPE = 1e3  # times as long: a step after which the motion goes on as if nothing had been
MOST_CREEPING = 40  # attempts at creeping steps before one that escapes; a jump of a force takes fewer
ALTERNATING = np.array(  # the powers of x in x, x(1 − x), x²(1 − x), x²(1 − x)² ..., one column for each
    [
        [0, 0, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0, 0],
        [0, -1, 1, 1, 0, 0, 0],
        [0, 0, -1, -2, 1, 1, 0],
        [0, 0, 0, 1, -2, -3, 1],
        [0, 0, 0, 0, 1, 3, -3],
        [0, 0, 0, 0, 0, -1, 3],
        [0, 0, 0, 0, 0, 0, -1],
    ],
    float,
)


def creeping(count, wanted, left, max_step, passed, span):
    """The number of attempts at steps too short to get anywhere, after one more of the length that the error control `wanted`.

    A step that was cut short, by an event or the end, or by max_step, does not count.
    """
    short = np.maximum(CREEP * passed, CREEP_OF_SPAN * span)
    more = count + np.where((wanted < short) & (wanted < left) & (wanted < max_step), 1.0, 0.0)
    return np.where(wanted < ESCAPE * short, more, 0.0)


class Pair(RungeKutta, ABC):
    """Two methods with the same stages K[i] = (ξ̇, v̇) at t + C[i] h: one makes the step, the other measures its error.

    `rates(t, q, ξ, v, out)` writes ξ̇ and v̇ into the two arrays of `out`, and what else it has into more of them.
    """

    estimate: int  # the order of the error estimate
    extra_rows = 1  # of K after the stages: the rates at the end, and the extra stages of the interpolant

    degree: int  # of the interpolant

    def attempted(self, rates, K, t, q, v, h):
        """ξ and v after h, and the integrals of what else there are rates of; K[0] is known, the others are made."""
        xi, v1, more = local_step(self, rates, K, t, q, v, h)
        rates(t + h, q, xi, v1, split(K[self.stages], v.shape[-1]))
        return xi, v1, more

    @abstractmethod
    def errors(self, K):
        """Estimates of the error (m, ...) of a step, divided by its length."""

    @abstractmethod
    def size(self, errors, scale):
        """The norm of the errors relative to the tolerances `scale`; below 1 the step is accepted."""

    @abstractmethod
    def coefficients(self, rates, K, t, q, v, h, xi, v1):
        """Those of the interpolant of a step: row k (2 nv,) belongs to x^k."""

    # --- the lengths of steps

    def longest(self, tolerances: Tolerances, rate, wanted, max_step):
        """The length to try, of one that is wanted: none in which a spherical joint, of velocity ξ̇ = `rate`, turns too far."""
        if tolerances.rotations:
            wanted = np.minimum(wanted, LARGEST_ROTATION / tolerances.fastest_rotation(rate))
        return np.minimum(wanted, max_step)

    def next_length(self, error, h, wanted, again):
        """The length to try after an attempt of length h, for whatever reason shorter than what was wanted; `again` after a failed one.

            h ← h min(10, 0.9 error^(−1/k))  if error < 1,  else  h max(0.2, 0.9 error^(−1/k))
        """
        factor = SAFETY * np.exp(np.log(error) * (-1 / (self.estimate + 1)))
        longer = np.where(again, np.minimum(factor, 1.0), np.minimum(factor, GROW)) * h
        longer = np.maximum(longer, np.where(again | (h >= wanted), 0.0, wanted))  # a step cut short is no measure
        shorter = np.where(np.isfinite(error), np.maximum(factor, SHRINK), SHRINK) * h
        return np.where(error < 1, longer, shorter)

    def first_length(self, rates, K, tolerances: Tolerances, t, q, v, h):
        """A first step, at most h, from the size of the first two derivatives (Hairer, Nørsett and Wanner, II.4); K[0] is known."""
        n = v.shape[-1]
        scale = tolerances.tolerance(q, v, v, v[:0])
        d0 = rms(np.concatenate([tolerances.size(q), v]) / scale)
        d1 = rms(K[0, : 2 * n] / scale)
        small = (d0 < 1e-5) | (d1 < 1e-5)
        h0 = np.minimum(h, np.where(small, 1e-6, 0.01 * d0 / np.where(small, 1.0, d1)))
        rates(t + h0, q, h0 * K[0, :n], v + h0 * K[0, n : 2 * n], split(K[1], n))
        d2 = rms((K[1, : 2 * n] - K[0, : 2 * n]) / scale) / h0
        largest = np.maximum(d1, d2)
        none = largest <= 1e-15
        power = np.exp(np.log(0.01 / np.where(none, 1.0, largest)) / (self.estimate + 1))
        h1 = np.where(none, np.maximum(1e-6, 1e-3 * h0), power)
        return np.where(np.isfinite(h1), np.minimum(100 * h0, h1), h0)


class Tableau(Pair, ABC):
    """A pair that its numbers say: with one estimate of the error, h E K, and an interpolant of the stages, Σ x^k h POWERS[k] K, where the
    last row of K, after the stages, has the rates at the end."""

    E: np.ndarray
    POWERS: np.ndarray  # (degree + 1, stages + 1); row 0 is zero

    def errors(self, K):
        return (self.E @ K)[None]

    def size(self, errors, scale):
        return rms(errors[0] / scale)

    def coefficients(self, rates, K, t, q, v, h, xi, v1):
        n = v.shape[-1]
        made = (h * self.POWERS) @ K[:, : 2 * n]
        made[0, n:] = v
        return made


class DormandPrince(Tableau):
    """Dormand and Prince (1980), order 5(4), with the interpolant of Shampine (1986) of order 4.

    The numbers are here, and not from SciPy, whose import takes as long as a small run.
    """

    C = np.array([0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1])
    A = np.array(
        [
            [0, 0, 0, 0, 0],
            [1 / 5, 0, 0, 0, 0],
            [3 / 40, 9 / 40, 0, 0, 0],
            [44 / 45, -56 / 15, 32 / 9, 0, 0],
            [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0],
            [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
        ]
    )
    B = np.array([35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84])
    E = np.array([-71 / 57600, 0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40])  # B less the method of order 4
    P = np.array(  # of the interpolant: the powers 1 to 4 of x, for each stage
        [
            [1, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
            [0, 0, 0, 0],
            [0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
            [0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
            [0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632],
            [0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
            [0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
        ]
    )
    POWERS = np.concatenate([np.zeros((1, 7)), P.T])
    order, estimate, degree = 5, 4, 4


class DormandPrince8(Pair):
    """Order 8(5,3), interpolant of order 7, with the tableau of SciPy."""

    extra_rows, degree = 4, 7

    def __init__(self):
        from scipy.integrate import DOP853  # its import takes as long as a small run

        self.A, self.B, self.C, self.D = DOP853.A, DOP853.B, DOP853.C, DOP853.D
        self.E = np.stack([DOP853.E5, DOP853.E3])
        self.A_extra, self.C_extra = DOP853.A_EXTRA, DOP853.C_EXTRA
        self.order, self.estimate = DOP853.order, DOP853.error_estimator_order

    def errors(self, K):
        return self.E @ K[: self.stages + 1]

    def size(self, errors, scale):
        five, three = np.sum((errors / scale) ** 2, -1)
        both = five + 0.01 * three
        return five / np.sqrt(np.where(both > 0, both, 1.0) * max(scale.shape[-1], 1))

    def coefficients(self, rates, K, t, q, v, h, xi, v1):
        """After three more stages."""
        n = v.shape[-1]
        for i, (a, c) in enumerate(zip(self.A_extra, self.C_extra), self.stages + 1):
            dy = (h * a[:i]) @ K[:i, : 2 * n]
            rates(t + c * h, q, dy[:n], v + dy[n:], split(K[i], n))
        K = K[:, : 2 * n]
        dy = np.concatenate([xi, v1 - v])
        ends = h * (K[self.stages] + K[0])
        F = np.concatenate([np.stack([dy, h * K[0] - dy, 2 * dy - ends]), h * (self.D @ K)])
        made = ALTERNATING @ F
        made[0, n:] = v
        return made


def local_step(method: RungeKutta, rates, K, t, q, v, h):
    """ξ and v after a step from ξ = 0, and the integrals of what else there are rates of; K[0] is known, the other stages are made."""
    n = v.shape[-1]
    start = np.concatenate([0.0 * v, v, np.zeros_like(v, shape=(K.shape[-1] - 2 * n,))])
    y = method.step(lambda c, y, out: rates(t + c * h, q, y[:n], y[n : 2 * n], split(out, n)), K, start, h)
    return y[:n], y[n : 2 * n], y[2 * n :]


def split(row, n: int):
    """A row of K as arrays of nv entries."""
    return tuple(row.reshape(row.shape[-1] // n, n)) if n else (row,) * 3


def rms(x):
    return np.sqrt(x @ x / max(x.shape[-1], 1))
