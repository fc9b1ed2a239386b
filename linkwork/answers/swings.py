"""A mode as a motion that can be seen: slow, large enough, with loops closed."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ShapeError


@dataclass(frozen=True, eq=False)
class Swings:
    """States over time, as `lw.record`, `lw.view` and `lw.plot` take them."""

    robot: Any
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray


def swings(modes, shape, omega: float, amplitude, period: float, cycles: float, samples: int) -> Swings:
    """A motion of `modes` along a shape, which swings with omega."""
    robot = modes.robot
    for name, x in (("period", period), ("cycles", cycles), ("samples", samples)):
        if not (np.isfinite(x) and x > 0):
            raise ShapeError(f"a mode is shown with {name} = {x!r}; it takes a finite positive number.")
    size = np.abs(shape) / modes.reach
    if amplitude is None:
        scale = 0.3 / max(float(size.max(initial=0.0)), 1e-300)
        scale *= min(1.0, 0.15 * extent(robot, modes.q) / max(displacement(robot, modes.q, scale * shape), 1e-300))
    else:
        scale = amplitude / max(float(np.abs(shape).max(initial=0.0)), 1e-300)
    n = max(int(np.ceil(cycles * samples)), 1) + 1
    t = np.linspace(0.0, cycles * period, n)
    turn = np.exp(2j * np.pi * t / period)[:, None] * -1j
    away, rate = (scale * (x * shape).real for x in (turn, 2j * np.pi / period * turn))
    pace = (2 * np.pi / omega if omega else 1.0) / period  # seconds of the motion per second that is shown
    steady = np.asarray(modes.v, float) * pace
    base = robot.integrate(np.broadcast_to(np.asarray(modes.q, float), (n, robot.nq)), t[:, None] * steady)
    q = robot.integrate(base, away)
    if robot.constraints is not None:
        times = [None] * n if modes.t is None else modes.t + pace * t
        q = np.stack([robot.assemble(x, t=when) for x, when in zip(q, times)])
    return Swings(robot, t, q, rate + steady)


def extent(robot, q) -> float:
    """How large the mechanism is as it stands."""
    p = robot.poses(q)[:, :3, 3]
    return max(float(np.linalg.norm(np.ptp(p, axis=0))) if len(p) else 0.0, robot.model.size)


def displacement(robot, q, shape) -> float:
    """How far the origin of a body moves at most."""
    q = np.asarray(q, float)
    a, b = robot.poses(q)[:, :3, 3], robot.poses(robot.integrate(q, np.abs(shape) * np.sign(shape.real)))[:, :3, 3]
    return float(np.linalg.norm(b - a, axis=-1).max(initial=0.0))
