"""Derivatives of functions that only give numbers, by central differences of sixth order."""

import numpy as np

STEP = 1e-2
FIRST = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
SECOND = ((1, 3 / 2), (2, -3 / 20), (3, 1 / 90))


def first(f, h: float = STEP):
    """f'(0); its error is of the sixth power of h."""
    return sum(w * (f(i * h) - f(-i * h)) for i, w in FIRST) / h


def second(f, h: float = STEP):
    """f''(0)."""
    return (sum(w * (f(i * h) + f(-i * h)) for i, w in SECOND) - 49 / 18 * f(0.0)) / h**2


def step(v) -> float:
    """A step of time in which a motion at v goes about a hundredth of a radian or metre."""
    return STEP / max(1.0, float(np.max(np.abs(v), initial=0.0)))
