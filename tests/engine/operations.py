"""A function of two numbers that uses every operation a program can have, and constants of every kind."""

import numpy as np

from linkwork.engine.tracing.program import Input, record
from linkwork.lie.scalars import opaque


def everything(x, y):
    below = (x < y) & ~(x <= -0.5) | (y == 0.25)
    return (
        np.where(below, x - y * -2.0, -(x + y) * (x - y)),
        np.stack([np.sin(x), np.cos(x), np.sqrt(np.abs(x)), np.exp(-x), np.log(y * y), np.arctan2(y, -x)]),
        np.stack([np.arccos(np.clip(x, -1, 1)), np.arcsin(np.sin(y)), np.floor(x * 3), 1 / y, x / (y * (x + 3)), -x]),
        np.stack([x * 1e-30, x + 1e22, x * 0.1, 1 - (x + (y + (x * (y * x)))), np.minimum(x, np.pi), -(-y * 0.3) + x]),
        x * (y > 0) - (x > 0) + opaque(x),
    )


def program():
    return record("everything", everything, [Input("x", ()), Input("y", ())])


def samples(rng, count=50):
    """x anywhere, y among a few numbers so that each comparison goes either way."""
    return {"x": rng.standard_normal(count), "y": rng.choice([0.25, -1.5, 0.7, 2.0], count)}
