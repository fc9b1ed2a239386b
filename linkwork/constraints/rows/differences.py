"""Derivatives of functions: by tracing, and of those that only give numbers by central differences of sixth order."""

from collections.abc import Callable

import numpy as np

from ...engine.differentiation.derivatives import along, rate
from ...engine.tracing.operations import meanings
from ...engine.tracing.program import Input, evaluate, record

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


def with_rates(f: Callable, count: int) -> Callable:
    """t -> f, and as many of its derivatives as asked for, three at most."""

    def traced(t):
        found = [t.like(f(t)).reshape(())]
        for _ in range(count):
            found.append(rate(found[-1], along(t, 1.0)))
        return tuple(found)

    try:
        program, scalars = record("rates", traced, (Input("t", ()),)), meanings("value")
    except Exception:  # whatever it does with what is no number
        return lambda t: tuple(_differences(f, t)[: count + 1])
    return lambda t: tuple(float(x) for (x,) in evaluate(program, {"t": [np.float64(t)]}, scalars, np.float64))


def _differences(f: Callable, t: float):
    ahead = lambda s: f(t + s)
    return f(t), first(ahead), second(ahead), first(lambda s: second(lambda r: f(t + s + r)))
