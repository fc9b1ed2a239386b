"""Constraints that move in time: a joint that is driven, and functions of one's own."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..sweeps.quantities import integrate
from .couplings import one_coordinate
from .differences import STEP, first, second, step
from .motion import Motion
from .rows import Constraint, Rows


@dataclass(frozen=True, eq=False)
class Driven(Constraint):
    """A joint follows a function of time:  c = q − f(t),   U = ḟ,   γ = −f̈.

    Without `rate` and `acceleration` they come from differences of sixth order.
    """

    name: str
    joint: str
    function: Callable[[float], float]
    rate: Callable[[float], float] | None = None
    acceleration: Callable[[float], float] | None = None
    at: Any = field(default=None, repr=False)

    def bound(self, robot):
        return replace(self, at=one_coordinate(robot, self.joint, self.name))

    @property
    def labels(self):
        return (f"{self.joint} driven",)

    def rows(self, motion: Motion) -> Rows:
        i, j = self.at
        t, f = motion.t, self.function
        G = np.zeros((1, motion.width))
        G[0, motion.column(j)] = 1.0
        rate = first(lambda s: f(t + s)) if self.rate is None else self.rate(t)
        bend = second(lambda s: f(t + s)) if self.acceleration is None else self.acceleration(t)
        batch = motion.q.shape[:-1]
        gamma = None if motion.v is None else np.full((*batch, 1), -float(bend))
        return Rows((motion.q[..., i] - f(t))[..., None], np.broadcast_to(G, (*batch, *G.shape)), np.array([float(rate)]), gamma)


@dataclass(frozen=True, eq=False)
class Holonomic(Constraint):
    """A function of one's own, function(q, t) (m,) = 0. Its derivatives come from differences of sixth order:

        G e = ∂c along e,   U = −∂c/∂t,   γ = d²c/ds² along (v, 1)
    """

    name: str
    function: Callable
    count: int = 1

    @property
    def labels(self):
        return tuple(f"row {i + 1}" for i in range(self.count))

    def rows(self, motion: Motion) -> Rows:
        batch, nv = motion.batch, motion.width
        c, G, U = np.zeros((*batch, self.count)), np.zeros((*batch, self.count, nv)), np.zeros((*batch, self.count))
        gamma = None if motion.v is None else np.zeros((*batch, self.count))
        q = np.broadcast_to(motion.q, batch + motion.q.shape[-1:])
        for i in np.ndindex(*batch):
            v = None if motion.v is None else np.broadcast_to(motion.v, batch + motion.v.shape[-1:])[i]
            c[i], G[i], U[i], bend = self._rows(motion.nodes, q[i], v, motion.t)
            if gamma is not None:
                gamma[i] = bend
        return Rows(c, G, U, gamma)

    def _rows(self, nodes, q, v, t):
        def at(dv, s):
            return np.atleast_1d(np.asarray(self.function(integrate(nodes, q, dv), t + s), float))

        n = nodes.tree.nv
        G = np.stack([first(lambda s, e=e: at(s * e, 0.0)) for e in np.eye(n)], -1)
        U = -first(lambda s: at(np.zeros(n), s), STEP)
        if v is None:
            return at(np.zeros(n), 0.0), G, U, None
        return at(np.zeros(n), 0.0), G, U, second(lambda s: at(s * v, s), step(v))
