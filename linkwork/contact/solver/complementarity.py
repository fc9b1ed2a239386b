"""Linear complementarity problems: forces that act where, and only where, something would otherwise be crossed.

    w = M z + q,    lo ≤ z ≤ hi,    w ≥ 0 where z = lo,  w ≤ 0 where z = hi,  w = 0 in between             Jain (11.51)

With lo = 0 and hi = ∞ this is w ≥ 0, z ≥ 0, z w = 0. Nothing here knows of mechanics: M is a compliance, z are forces and w
accelerations for joints at their limits (z ≥ 0), for dry friction (|z| ≤ c) and for contacts.
"""

from typing import NamedTuple

import numpy as np

from ...errors import ShapeError
from ...lie.scalars import working_dtype
from ..cone import times

ZERO = 1e-10  # of the largest entry of a column: a pivot smaller than that is none
TIE = 1e-12  # of the largest value: two ratios nearer than that are equal
SMALL = 1e-14  # of the largest value: a negative q smaller than that is zero
GOOD = 1e-7  # of the largest value: how far w may be on the wrong side of zero in a solution


class Complementary(NamedTuple):
    """What `lcp` finds; z and w are not numbers in samples that are not solved."""

    z: np.ndarray  # (..., n)
    w: np.ndarray  # (..., n) M z + q
    between: np.ndarray  # (..., n) rows in which z is free to make w zero; in all others it is at a bound
    solved: np.ndarray  # (...)


def lcp(M, q, lo=0.0, hi=np.inf) -> Complementary:
    """Solve w = M z + q, lo ≤ z ≤ hi, with w ≥ 0 where z = lo, w ≤ 0 where z = hi, and w = 0 in between.

    M (..., n, n), q, lo and hi (..., n) or numbers; leading axes are a batch, each sample of which depends on itself alone.
    Lemke's method, with ties broken lexicographically: where the symmetric part of M has no negative eigenvalue, a sample that
    is not `solved` has no solution. Other M may have solutions that are not found. A row with lo = -inf and hi = inf has
    w = 0; one with lo = hi has any w.
    """
    M, q, lo, hi = _checked(M, q, lo, hi)
    kind = working_dtype(M, q)
    batch, n = q.shape[:-1], q.shape[-1]
    count = int(np.prod(batch))
    M, q, lo, hi = M.reshape(count, n, n).astype(float), *(x.reshape(count, n).astype(float) for x in (q, lo, hi))
    good = np.isfinite(M).all((-2, -1)) & np.isfinite(q).all(-1)
    z, between, solved = np.full_like(q, np.nan), np.zeros(q.shape, bool), np.zeros(len(q), bool)
    with np.errstate(all="ignore"):
        if n and good.any():
            z[good], between[good], solved[good] = _solved(M[good], q[good], lo[good], hi[good])
        elif not n:
            solved = good
        z[~solved] = np.nan
        w = np.where(between, 0.0, times(M, z) + q)
        w[~solved], between[~solved] = np.nan, False
    z, w = (x.astype(kind).reshape(*batch, n) for x in (z, w))
    return Complementary(z, w, between.reshape(*batch, n), solved.reshape(batch))


def _checked(M, q, lo, hi):
    """The arrays, broadcast to one batch."""
    M, q, lo, hi = (np.asarray(x) for x in (M, q, lo, hi))
    n = q.shape[-1] if q.ndim else -1
    if M.shape[-2:] != (n, n) or any(x.ndim and x.shape[-1] != n for x in (lo, hi)):
        raise ShapeError(
            "lcp takes M (..., n, n), q (..., n), lo and hi (..., n) or numbers; "
            f"they have shapes {M.shape}, {q.shape}, {lo.shape}, {hi.shape}."
        )
    batch = np.broadcast_shapes(M.shape[:-2], *(x.shape[:-1] for x in (q, lo, hi) if x.ndim))
    if not (lo <= hi).all() or np.isposinf(lo).any() or np.isneginf(hi).any():
        raise ShapeError("lcp: each bound lo must be at most hi, and neither may be at the wrong infinity or NaN.")
    return np.broadcast_to(M, (*batch, n, n)), *(np.broadcast_to(x, (*batch, n)) for x in (q, lo, hi))


def _solved(M, q, lo, hi):
    """z, which rows are between their bounds, and which samples are solved.

    Rows without bounds are eliminated, those with one value are known; the others become 0 ≤ z ≤ width by a shift and a change
    of sign, and are scaled so that the diagonal is one: pivots can then be compared with each other.
    """
    free, fixed = np.isneginf(lo) & np.isposinf(hi), lo == hi
    start = np.where(free, 0.0, np.where(np.isfinite(lo), lo, hi))
    there = q + times(M, start)
    inverse = np.zeros_like(M)
    for i in np.flatnonzero(free.any(-1)):  # rare
        rows = np.ix_([i], free[i], free[i])
        inverse[rows] = np.linalg.pinv(M[rows], rcond=ZERO)
    reduced, rest = M - M @ inverse @ M, there - times(M @ inverse, there)
    plays = ~(free | fixed)
    reduced, rest = np.where(plays[:, :, None] & plays[:, None, :], reduced, 0.0), np.where(plays, rest, 0.0)
    diagonal = np.einsum("bii->bi", reduced)
    moves = diagonal > ZERO * np.abs(np.einsum("bii->bi", M))  # what elimination leaves of zero is rounding
    side = np.where(np.isfinite(lo), 1.0, -1.0) / np.sqrt(np.where(moves, diagonal, 1.0))
    width = np.where(plays, (hi - lo) / np.abs(side), np.inf)
    y, above, between, done = _lemke(side[:, :, None] * reduced * side[:, None, :], side * rest, width)
    z = np.where(between, start + side * y, np.where(above, np.where(side > 0, hi, lo), start))
    z = np.clip(np.where(free, -times(inverse, q + times(M, np.where(free, 0.0, z))), z), lo, hi)
    between |= free
    z, residual = _polished(M, q, lo, hi, z, between)
    scale = GOOD * times(np.abs(M), np.abs(z) + np.abs(start)) + GOOD * np.abs(q).max(-1, keepdims=True)
    wrong = np.where(between, np.abs(residual), np.where(z == lo, -residual, residual))
    return z, between, done & (fixed | (wrong <= scale)).all(-1) & np.isfinite(z).all(-1)


def _polished(M, q, lo, hi, z, between):
    """z between the bounds computed once more, from M itself, and w; the better of the two is taken."""
    w = times(M, z) + q
    both = between[:, :, None] & between[:, None, :]
    try:
        change = np.linalg.solve(np.where(both, M, np.eye(z.shape[-1])), np.where(between, -w, 0.0)[..., None])[..., 0]
    except np.linalg.LinAlgError:
        change = np.zeros_like(z)
    better = np.clip(z + change, lo, hi)
    after = times(M, better) + q
    take = (np.where(between, np.abs(after), 0.0).max(-1) <= np.where(between, np.abs(w), 0.0).max(-1))[:, None]
    return np.where(take, better, z), np.where(take, after, w)


class _Tableau:
    """The equations w − M z − t = q of several samples, solved for the basic variables.

    Columns are z, w, t. The variable of a row that is not basic is at a bound; `above` says which z are at their upper one.
    """

    def __init__(self, M, q, width):
        batch, n = q.shape
        self.n, self.width = n, width
        self.T = np.concatenate([-M, np.broadcast_to(np.eye(n), M.shape), np.full((batch, n, 1), -1.0)], -1)
        self.basic = np.broadcast_to(n + np.arange(n), (batch, n)).copy()
        self.x = q.copy()
        self.above = np.zeros((batch, n), bool)
        self.each = np.arange(batch)

    def pivot(self, some, row, column):
        """Make the variable of a column basic in a row, one of each for each of some samples."""
        T, row, column = self.T[some], row[some], column[some]
        each = np.arange(len(some))
        line = T[each, row] / T[each, row, column][:, None]
        T -= T[each, :, column][:, :, None] * line[:, None, :]
        T[each, row] = line
        T[each, :, column] = 0.0
        T[each, row, column] = 1.0
        self.T[some] = T
        self.basic[some, row] = column

    def bounds(self):
        """Lower and upper bounds of the basic variables: w is positive where its z is at its lower bound, else negative."""
        n, z = self.n, self.basic % self.n
        above = np.take_along_axis(self.above, z, -1)
        is_z, is_w = self.basic < n, (self.basic >= n) & (self.basic < 2 * n)
        low = np.where(is_w & above, -np.inf, 0.0)
        high = np.where(is_z, np.take_along_axis(self.width, z, -1), np.where(is_w & above, 0.0, np.inf))
        return low, high

    def leaving(self, entering, direction):
        """Which row's variable comes first to a bound as another enters: the row, how far, and is its upper bound reached?

        Ties are broken as if q were q + (ε, ε², ...) with a small ε: rows are compared by the columns of w, one after another.
        """
        n, each = self.n, self.each
        rate = -direction[:, None] * self.T[each, :, entering]
        rate = np.where(np.abs(rate) > ZERO * np.maximum(1.0, np.abs(rate).max(-1, keepdims=True)), rate, 0.0)
        low, high = self.bounds()
        room = np.maximum(np.where(rate < 0, self.x - low, high - self.x), 0.0)
        ratio = np.where(rate != 0, room / np.abs(rate), np.inf)
        least = ratio.min(-1, keepdims=True)
        near = (ratio <= least + TIE * np.maximum(1.0, np.abs(self.x).max(-1, keepdims=True))) & np.isfinite(ratio)
        is_t = near & (self.basic == 2 * n)
        near = np.where(is_t.any(-1, keepdims=True), is_t, near)
        for k in range(n):
            if (near.sum(-1) <= 1).all():
                break
            value = np.where(near, np.where(rate < 0, 1.0, -1.0) * self.T[:, :, n + k] / np.abs(rate), np.inf)
            near &= value <= value.min(-1, keepdims=True) + TIE
        row = near.argmax(-1)
        return row, np.where(near.any(-1), ratio[each, row], np.inf), rate[each, row] > 0

    def begin(self):
        """t enters and makes all of w positive; the z of the row where w is zero then enters in its turn."""
        n, each = self.n, self.each
        row = n - 1 - self.x[:, ::-1].argmin(-1)  # the last of equal ones: the perturbation of it is least
        t = -self.x[each, row]
        self.x += t[:, None]
        self.pivot(each, row, np.full(len(each), 2 * n))
        self.x[each, row] = t
        self.entering, self.direction = row, np.ones(len(each))

    def advance(self):
        """One pivot; returns where it was the last: t has left, or nothing bounds what enters."""
        n, each, entering, direction = self.n, self.each, self.entering, self.direction
        row, step, upper = self.leaving(entering, direction)
        width = np.where(entering < n, self.width[each, entering % n], np.inf)
        flips = width < step  # what enters comes to its other bound before anything else happens
        step = np.minimum(step, width)
        endless = np.isinf(step)
        step = np.where(endless, 0.0, step)
        start = np.where((entering < n) & self.above[each, entering % n], width, 0.0)
        gone = np.where(flips, entering, self.basic[each, row])
        self.x -= (direction * step)[:, None] * self.T[each, :, entering]
        swap = np.flatnonzero(~flips & ~endless)
        self.pivot(swap, row, entering)
        self.x[swap, row[swap]] = (start + direction * step)[swap]
        i, is_z = gone % n, gone < n
        self.above[each, i] = np.where(is_z & ~endless, np.where(flips, direction > 0, upper), self.above[each, i])
        self.entering, self.direction = np.where(is_z, n + i, i), np.where(self.above[each, i], -1.0, 1.0)
        return endless | (gone == 2 * n)

    @property
    def t(self):
        """What is still added to all of w; zero when the problem is solved."""
        return np.where(self.basic == 2 * self.n, self.x, 0.0).max(-1)

    def keep(self, which):
        """Only some of the samples."""
        for name in ("T", "basic", "x", "above", "width", "entering", "direction"):
            setattr(self, name, getattr(self, name)[which])
        self.each = np.arange(len(self.x))


def _lemke(M, q, width):
    """z, which are at their upper bounds, which are between, and which samples are solved, for 0 ≤ z ≤ width."""
    n = q.shape[-1]
    z, above, between = np.zeros_like(q), np.zeros(q.shape, bool), np.zeros(q.shape, bool)
    size = np.abs(q).max(-1)
    done = q.min(-1) >= -SMALL * size
    left = np.flatnonzero(~done)
    s = _Tableau(M[left], q[left], width[left])
    s.begin()
    for _ in range(100 + 50 * n):
        if not len(left):
            break
        ended = s.advance()
        if not ended.any():
            continue
        for k in np.flatnonzero(ended & (s.t <= TIE * size[left])):
            rows = s.basic[k] < n
            done[left[k]] = between[left[k], s.basic[k][rows]] = True
            z[left[k], s.basic[k][rows]] = s.x[k][rows]
            above[left[k]] = s.above[k] & ~between[left[k]]
        s.keep(~ended)
        left = left[~ended]
    return z, above, between, done
