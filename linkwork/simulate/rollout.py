"""rollout: thousands of robots at once, all steps of all of them in one call."""

from math import isfinite
from typing import NamedTuple

import numpy as np

from ..dynamics import Dynamics
from ..errors import ShapeError, SimulationError, listed
from . import equations
from .kernels import kernel, march, more_than_a_tree

STEPS = {"euler": equations.euler_step, "rk4": equations.rk4_step}


class Rollout(NamedTuple):
    """Times t (n,), coordinates q (..., n, nq), velocities v (..., n, nv); the first row is the start."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray


def rollout(
    robot: Dynamics, Q0, V0, controls=None, *, dt: float, steps: int, method: str = "euler", every: int = 1, out=None
) -> Rollout:
    """The motion of a batch of robots from Q0 (..., nq), V0 (..., nv) over `steps` steps of length dt.

    controls   None; τ that broadcasts to (..., steps, nv), one for each step, held during it; or a function
               (t, Q, V) -> τ (..., nv) of the whole batch, asked before each step
    method     "euler" (semi-implicit) or "rk4"
    every      keep only each n-th state, and the first
    out        (q, v) to write into, such as those of an earlier rollout: new memory may cost more than the motion

    Springs, damping and friction of the joints act; limits do not. float32 in, float32 out.
    """
    Q, V = _states(robot, Q0, V0)
    _check(dt, steps, method, every)
    batch, dtype, rows = Q.shape[:-1], Q.dtype, steps // every + 1
    tau = _Controls(robot, controls, (*batch, steps, robot.nv), dtype)
    q, v = _room(out, (rows, *Q.shape), (rows, *V.shape), dtype)
    q[0], v[0] = Q, V
    if left := more_than_a_tree(robot):
        raise SimulationError(f"{robot.model.name} has {left}, which rollout leaves out. Use lw.simulate.")
    whole = None if callable(controls) or not Q.size else march(robot, STEPS[method], dtype)
    if whole is None:
        _march(kernel(robot, STEPS[method], dtype=dtype), tau, dt, steps, every, q, v)
    else:
        count = len(Q.reshape(-1, robot.nq))
        given = tau.values.reshape(count, steps, robot.nv)
        h = np.broadcast_to(np.asarray(dt, dtype), (count,))
        kept = [x if x.ndim == 3 else x.reshape(len(x), count, x.shape[-1], copy=False) for x in (q, v)]
        whole([Q.reshape(count, -1), V.reshape(count, -1), given, h], kept, steps, every)
    return Rollout(dt * every * np.arange(rows), np.moveaxis(q, 0, -2), np.moveaxis(v, 0, -2))


def _march(step, tau, dt, steps, every, q, v):
    """The loop over time where the control is a function: one kernel call per step for the whole batch."""
    h, Q, V = q.dtype.type(dt), q[0], v[0]
    between = [(np.empty_like(Q), np.empty_like(V)) for _ in range(2 if every > 1 else 0)]
    for i in range(1, steps + 1):
        row, rest = divmod(i, every)
        Q, V = step(Q, V, tau(i - 1, dt, Q, V), h, out=between[i % 2] if rest else (q[row], v[row]))


def _room(out, *shapes_and_dtype):
    """Arrays for what is kept, time first: those of `out`, or new ones."""
    *shapes, dtype = shapes_and_dtype
    if out is None:
        return [np.empty(shape, dtype) for shape in shapes]
    arrays = [np.moveaxis(np.asarray(x), -2, 0) for x in out]
    for name, x, shape in zip("qv", arrays, shapes):
        if x.shape != shape or x.dtype != dtype:
            told, wanted = (s[1:-1] + s[:1] + s[-1:] for s in (x.shape, shape))
            raise ShapeError(f"{name} of out is {x.dtype} of shape {told}; this rollout fills {dtype} of shape {wanted}.")
    return arrays


class _Controls:
    """τ of each step."""

    def __init__(self, robot, controls, shape, dtype):
        self.function = controls if callable(controls) else None
        self.shape = shape[:-2] + shape[-1:]
        self.dtype = dtype
        if self.function is None:
            values = np.zeros(shape[-1], dtype) if controls is None else np.asarray(controls, dtype)
            try:
                self.values = np.broadcast_to(values, shape)
            except ValueError:
                raise ShapeError(
                    f"controls has shape {values.shape}; it must broadcast to {shape}: batch, steps, nv of {robot.model.name}. "
                    "One force for all steps is controls[..., None, :]."
                ) from None

    def __call__(self, i, dt, Q, V):
        if self.function is None:
            return self.values[..., i, :]
        tau = np.asarray(self.function(i * dt, Q, V), self.dtype)
        if tau.shape != self.shape:
            raise ShapeError(f"controls returned an array of shape {tau.shape}; it must have shape {self.shape}.")
        return tau


def _states(robot, Q0, V0):
    Q, V = np.asarray(Q0), np.asarray(V0)
    dtype = np.result_type(Q, V, np.float32)
    for name, x, size, count in (("Q0", Q, "nq", robot.nq), ("V0", V, "nv", robot.nv)):
        if not x.ndim or x.shape[-1] != count:
            has = f"{robot.model.name} has {size} = {count} ({listed(robot.joints, 2)})"
            raise ShapeError(f"{name} has shape {x.shape}, but {has}.")
    if dtype not in (np.float32, np.float64):
        raise ShapeError(f"Q0 and V0 have dtypes {Q.dtype} and {V.dtype}; {robot.model.name} takes float64 or float32.")
    try:
        batch = np.broadcast_shapes(Q.shape[:-1], V.shape[:-1])
    except ValueError:
        raise ShapeError(f"the batch axes do not go together: Q0 {Q.shape[:-1]}, V0 {V.shape[:-1]}.") from None
    return (np.ascontiguousarray(np.broadcast_to(x, batch + x.shape[-1:]), dtype) for x in (Q, V))


def _check(dt, steps, method, every):
    if method not in STEPS:
        raise SimulationError(f'rollout has no method "{method}"; it takes {", ".join(STEPS)}.')
    if not (isfinite(dt) and dt != 0):
        raise SimulationError(f"dt is {dt}; it takes a number of seconds.")
    for name, value, least in (("steps", steps, 0), ("every", every, 1)):
        if int(value) != value or value < least:
            raise SimulationError(f"{name} is {value}; it takes a whole number from {least}.")
