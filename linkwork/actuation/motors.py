"""The actuators of a model as a controller: commands in, forces of the joints out."""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from ..errors import ModelError, ShapeError, UnknownNameError, did_you_mean
from ..lie.scalars import like
from ..model.actuators import scalar_joints


class Actuators:
    """Motors and servos of a robot; they act only where this is used, as the control of `simulate` or of `rollout`, or by hand.

        tau = robot.actuators.force(q, v, u)                              # u (..., count), tau (..., nv)
        lw.simulate(robot, state, until=1.0, control=robot.actuators.control(lambda t, q, v: u))
        lw.rollout(robot, Q0, V0, robot.actuators.kernel, dt=0.002, steps=500, each_step={"u": U})

    `force` is written with NumPy, so that it runs on floats, in any batch, and inside a `robot.kernel`; `kernel` is it compiled.
    """

    def __init__(self, robot):
        self.robot, self.each = robot, robot.model.actuators
        if not self.each:
            raise ModelError(
                f'{robot.model.name} has no actuators. Give it some: model.with_actuators("motor"), or Actuator(...) in Model.actuators.'
            )
        self.names = tuple(x.name for x in self.each)

    @property
    def count(self) -> int:
        """The number of commands."""
        return len(self.each)

    def __len__(self) -> int:
        return len(self.each)

    @cached_property
    def gears(self) -> np.ndarray:
        """(count, nv): lengths of the actuators by velocities; forces act as gears* force."""
        return self._ratios(1, self.robot.nv)

    def _ratios(self, which: int, count: int) -> np.ndarray:
        """Ratios of the gears at the places of their joints in q (0) or in v (1)."""
        ratios = np.zeros((self.count, count))
        for i, x in enumerate(self.each):
            for joint, ratio in x.gears:
                ratios[i, self._joints[joint][which]] += ratio
        return ratios

    @cached_property
    def _joints(self):
        return scalar_joints(self.robot.model)

    @cached_property
    def _effort(self) -> np.ndarray:
        """The largest force of each velocity, from the limits of the joints."""
        effort = np.full(self.robot.nv, np.inf)
        for _, place, largest in self._joints.values():
            effort[place] = largest
        return effort

    def column(self, what: str) -> np.ndarray:
        """A property of all actuators: gain, offset, stiffness, damping, lower, upper, least_force, largest_force."""
        return np.array([getattr(x, what) for x in self.each])

    @property
    def lower(self) -> np.ndarray:
        """The least commands."""
        return self.column("lower")

    @property
    def upper(self) -> np.ndarray:
        """The largest commands."""
        return self.column("upper")

    def index(self, name: str) -> int:
        """The number of an actuator."""
        if name not in self.names:
            raise UnknownNameError(f'{self.robot.model.name} has no actuator "{name}".{did_you_mean(str(name), self.names)}')
        return self.names.index(name)

    def length(self, q):
        """Σ gear q (..., count)."""
        return (like(self._ratios(0, self.robot.nq), q) @ q[..., None])[..., 0]

    def force(self, q, v, u):
        """Forces of the joints (..., nv):  gears* clip(gain clip(u) + offset − stiffness length − damping rate), within the efforts."""
        if np.shape(u)[-1:] != (self.count,):
            raise ShapeError(f"u has shape {np.shape(u)}, but {self.robot.model.name} has {self.count} actuators ({self.names[0]} ...).")
        if not hasattr(q, "trace"):
            q, v, u = (np.asarray(x, float if getattr(x, "dtype", None) != np.float32 else np.float32) for x in (q, v, u))
        gears = like(self.gears, q)
        rate = (gears @ v[..., None])[..., 0]
        command = bounded(u, self.lower, self.upper)
        force = command * like(self.column("gain"), q) + like(self.column("offset"), q)
        force = force - like(self.column("stiffness"), q) * self.length(q) - like(self.column("damping"), q) * rate
        force = bounded(force, self.column("least_force"), self.column("largest_force"))
        tau = (gears.mT @ force[..., None])[..., 0]
        return bounded(tau, -self._effort, self._effort)

    def control(self, command) -> Callable:
        """A control (t, q, v) -> tau for `simulate`: `command` a function (t, q, v) -> u, or u itself."""
        if callable(command):
            return lambda t, q, v: self.force(q, v, command(t, q, v))
        u = np.asarray(command, float)
        if u.shape != (self.count,):
            raise ShapeError(f"u has shape {u.shape}, but {self.robot.model.name} has {self.count} actuators ({self.names[0]} ...).")
        return lambda t, q, v: self.force(q, v, u)

    @cached_property
    def kernel(self):
        """`force` as a kernel of (t, q, v, u): a policy of `rollout`, with each_step={"u": ...} or given={"u": ...}."""

        def actuated(t, q, v, u):
            return self.force(q, v, u)

        return self.robot.kernel(actuated, t=(), u=self.count)

    def __str__(self) -> str:
        width = max(map(len, self.names))
        head = f"{self.count} actuators\n{'actuator'.ljust(width)}  kind      joints"
        rows = [f"{x.name.ljust(width)}  {x.kind.ljust(8)}  {', '.join(f'{g:g} {joint}' for joint, g in x.gears)}" for x in self.each]
        return "\n".join([head, *rows])


def bounded(x, low, high):
    """x within bounds, those that are infinite left out."""
    x = np.maximum(x, like(low, x)) if np.isfinite(low).all() else _where_finite(np.maximum, x, low)
    return np.minimum(x, like(high, x)) if np.isfinite(high).all() else _where_finite(np.minimum, x, high)


def _where_finite(bound, x, at):
    finite = np.isfinite(at)
    return x if not finite.any() else np.where(finite, bound(x, like(np.where(finite, at, 0.0), x)), x)
