"""simulate: from a state to a later time."""

from collections.abc import Callable, Iterable
from math import inf, isfinite
from typing import TYPE_CHECKING

import numpy as np

from ..dynamics import Dynamics
from ..errors import ShapeError, SimulationError, did_you_mean, listed
from .control import Control
from .held import Keeper
from .run import ADAPTIVE, FIXED, Carry, Run, Settings
from .trajectory import Trajectory

if TYPE_CHECKING:
    from ..constraints import Constrained

METHODS = (*ADAPTIVE, *FIXED)
UNIT = 1e-6  # how far the norm of a quaternion may be from one


def simulate(
    robot: Dynamics,
    state,
    *,
    until: float,
    start: float = 0.0,
    method: str = "rk45",
    dt: float | None = None,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    control: Control = None,
    external: Callable | None = None,
    events: Iterable = (),
    limits: float | None = None,
    on_step: Callable | None = None,
    every: int = 1,
    first_step: float | None = None,
    max_step: float = inf,
    progress: bool | None = None,
    constraints="project",
    keep: "Constrained | None" = None,
) -> Trajectory:
    """The motion of a robot from state (q, v) until a time, with the springs, damping and friction of its joints.

    method     adaptive, on the group: "rk45" (order 5), "dop853" (order 8, for many digits), "stiff" (Radau, order 5)
               of fixed steps dt: "rk4", "euler" (semi-implicit), "midpoint" (variational: energy has no trend)
    dt         the step of a fixed-step method; of an adaptive one, the spacing of the rows that are kept
    rtol, atol errors that a step of an adaptive method may make: angles against a radian, the rest against itself
    control    (t, q, v) -> tau; lw.hold(function, rate=100.0) for one that is asked at its own rate; or several
    external   (t, q, v) -> wrenches (nb, 6), one for each body, in its axes, at its origin
    events     functions of (t, q, v) or lw.Event: noted, or the end of the run, or a jump of the state
    limits     restitution, 0 to 1, with which joints bounce off their limits; None: as if there were no limits
    on_step    (t, q, v) is called after each step; the run stops if it returns something true
    every      keep only each n-th step
    progress   True: a bar; None: a bar if it takes long and somebody looks
    constraints  how they are kept: "project" after each step, "embed" (only independent velocities are integrated, the
               others follow), (omega, zeta) by Baumgarte's pull, None by accelerations alone
    keep       what to project on in place of the robot's own: lw.constraints.of(robot, ...) with a momentum, say

    A run that fails, or is stopped with Ctrl-C, returns what it has: see `status` and `message`, and `resume`.
    """
    if not isinstance(robot, Dynamics):
        raise SimulationError(f"simulate takes a Dynamics, not a {type(robot).__name__}: lw.Dynamics(model).")
    settings = Settings(
        method, dt, rtol, atol, control, external, tuple(events), limits, on_step, every, first_step, max_step, progress,
        constraints, keep,
    )  # fmt: skip
    checked(robot, settings)
    q, v = _state(robot, state)
    run = Run(robot, settings, float(start), q, v, checked_until(until, start), Carry(grid=float(start)))
    run.go()
    return Trajectory.of(run)


def checked(robot: Dynamics, s: Settings) -> None:
    """The settings make sense, or it is said which does not."""
    if s.method not in METHODS:
        raise SimulationError(f'there is no method "{s.method}".{did_you_mean(str(s.method), METHODS)}')
    if s.method in FIXED and s.dt is None:
        raise SimulationError(f'method "{s.method}" has fixed steps: say how long, dt=0.001.')
    Keeper.check(robot, s.constraints, s.keep, s.method)
    for name in ("dt", "first_step", "max_step"):
        value = getattr(s, name)
        if value is not None and not value > 0:
            raise SimulationError(f"{name} is {value}; it takes a positive number of seconds.")
    if not (0 <= s.rtol < 1e6 and s.atol >= 0 and s.rtol + s.atol > 0):
        raise SimulationError(f"rtol is {s.rtol} and atol {s.atol}; they may not be negative, nor both zero.")
    if s.limits is not None and not 0 <= s.limits <= 1:
        raise SimulationError(f"limits is {s.limits}; it takes a restitution from 0 to 1, or None for no limits.")
    if s.every < 1 or int(s.every) != s.every:
        raise SimulationError(f"every is {s.every}; it takes a whole number from 1.")


def checked_until(until: float, start: float) -> float:
    if not (isfinite(until) and isfinite(start) and until >= start):
        raise SimulationError(f"a run cannot go from {start} s until {until} s; it takes a later time.")
    return float(until)


def _state(robot: Dynamics, state) -> tuple[np.ndarray, np.ndarray]:
    try:
        q, v = state
    except (TypeError, ValueError):
        raise ShapeError("state is not a pair (q, v).") from None
    q, v = np.array(q, float), np.array(v, float)
    for name, x, size, count in (("q", q, "nq", robot.nq), ("v", v, "nv", robot.nv)):
        if x.shape != (count,):
            more = " For a batch of states use lw.rollout." if x.ndim > 1 else ""
            raise ShapeError(
                f"{name} has shape {x.shape}, but {robot.model.name} has {size} = {count} ({listed(robot.joints, 2)}).{more}"
            )
        if not np.isfinite(x).all():
            raise SimulationError(f"{name} of the state has entries that are not finite: {x}.")
    for joint, rows in _quaternions(robot):
        norm = float(np.linalg.norm(q[rows]))
        if abs(norm - 1) > UNIT:
            raise SimulationError(f'the quaternion of joint "{joint}" has norm {norm:.6g}; it must be 1. robot.neutral() has one.')
        q[rows] /= norm
    return q, v


def _quaternions(robot: Dynamics):
    """The joint and the rows of q of each quaternion."""
    start = 0
    for placed in robot.model.joints:
        for _, joint, _ in placed.joint.parts:
            for rows in joint.group.units:
                yield placed.name, slice(start + rows.start, start + rows.stop)
            start += joint.nq
