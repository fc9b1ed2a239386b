"""Balance of forces at a configuration, along what constraints allow.

    r(q) = g(q) − τ − Q(q) − J* w,      r = Jc* λ at rest,      Q the forces of springs and pushes, w wrenches from outside

Motions are y = δq / reach, without units: X are orthonormal columns of those that rows allow, X̲ of those that rows on positions
allow. What is left of r along them, and how it changes, are moments:

    g = X* reach r,      K = X* reach (∂r/∂q − ∂(Jc* λ)/∂q) reach X̲
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..constraints.rows.rank import Factored
from ..constraints.rows.rows import Rows
from ..constraints.rows.set import ConstraintSet
from ..constraints.solution.at_state import rank_tolerance
from ..errors import ConstraintError
from ..lie.group import Additive
from ..model.check import part_rows
from ..motion.joint_limits import Limit, limits_of
from ..quantities.points import conservative
from ..systems.fluid import FluidForces

INDIFFERENT = 1e-11  # of the largest stiffness before terms cancel: what is below is none


@dataclass(frozen=True, eq=False)
class Problem:
    """A robot, what pushes it and what binds it, at one time."""

    robot: Any
    held: Any  # its constraints
    tau: np.ndarray
    external: np.ndarray | None
    t: float
    stops: bool  # do limits of joints stop them?

    @property
    def set(self) -> ConstraintSet:
        return self.held.set

    @cached_property
    def limits(self) -> list[Limit]:
        return limits_of(self.robot)

    @cached_property
    def additive(self) -> tuple[np.ndarray, np.ndarray]:
        """Where coordinates that add are in q and in v."""
        parts = [(q, v) for _, _, part, q, v in part_rows(self.robot.model.joints) if isinstance(part.group, Additive)]
        in_q, in_v = ([i for part in parts for i in range(part[k].start, part[k].stop)] for k in (0, 1))
        return np.array(in_q, int), np.array(in_v, int)

    @cached_property
    def without_energy(self) -> str:
        """Why no potential energy says where it rests; nothing where one does."""
        system = self.robot.lowered.plain()
        odd = [x.name for x, _ in system.forces if not any(x is y for y, _ in conservative(system.forces))]
        if odd:
            return f"{', '.join(odd)} has no potential energy: a push that turns with its body, or a torque"
        fluid = self.robot.model.fluid
        if fluid is not None and any(fluid.current):
            return "the current of the fluid has no potential energy"
        if producers := [x for x in self.robot.lowered.producers if not isinstance(x, FluidForces)]:
            return f"it is not known whether {', '.join(type(x).__name__ for x in producers)} has a potential energy"
        others = np.delete(self.tau, self.additive[1])
        if others.any():
            return "tau acts on a joint whose coordinates do not add, so that its work depends on the way"
        if self.external is not None and self.external.any():
            return "wrenches in the axes of bodies have no potential energy"
        if not self.set.holonomic.all():
            names = dict.fromkeys(name for (name, _), x in zip(self.set.labels, self.set.holonomic) if not x)
            return f"{', '.join(names)} binds velocities, not positions"
        return ""

    @cached_property
    def force_scale(self) -> float:
        """A moment that this mechanism knows: its weight at a distance of its size, springs aside."""
        model = self.robot.model
        weight = sum(body.mass for body in model.bodies) * float(np.linalg.norm(model.gravity)) * self.set.size
        return max(weight, float(np.abs(self.set.reach * self.tau).max(initial=0.0)))

    def energy(self, q) -> float:
        """Potential energy of gravity and springs, less the work of τ."""
        rows, rates = self.additive
        return float(self.robot.potential_energy(q) - self.tau[rates] @ q[rows])

    def closed(self, q, active=()) -> np.ndarray:
        """q on the constraints, limits in `active` reached."""
        q = np.array(q)
        for limit in active:
            q[limit.row] = limit.bound
        if len(self.set):
            return self.held.assemble(q, [limit.rate for limit in active], self.t)
        return self.robot.integrate(q, np.zeros(self.robot.nv))

    def at(self, q, active: tuple[Limit, ...] = ()) -> "Place":
        return Place(self, q, active)


@dataclass(frozen=True, eq=False)
class Place:
    """The balance at one configuration that keeps the constraints, some joints against their limits."""

    problem: Problem
    q: np.ndarray
    active: tuple[Limit, ...] = ()

    @cached_property
    def _still(self) -> np.ndarray:
        return np.zeros(self.problem.robot.nv)

    @cached_property
    def rows(self) -> Rows:
        return self.problem.set.rows(self.q, t=self.problem.t)

    @cached_property
    def _parts(self) -> list[np.ndarray]:
        """Moments that add up to reach r."""
        p, robot, zero = self.problem, self.problem.robot, self._still
        push = () if p.external is None else (p.external,)
        return [p.set.reach * x for x in (robot.inverse_dynamics(self.q, zero, zero, *push), -p.tau, -robot.passive_force(self.q, zero))]

    @cached_property
    def missing(self) -> np.ndarray:
        """reach r (nv,)."""
        return sum(self._parts, self._still)

    @cached_property
    def _bound(self) -> np.ndarray:
        """All rows without units (m, nv), those of limits last."""
        stops = np.zeros((len(self.active), len(self._still)))
        stops[np.arange(len(self.active)), [limit.rate for limit in self.active]] = 1.0
        return np.concatenate([self.problem.set.without_units(self.rows.Jc), stops])

    def _factored(self, which) -> Factored:
        return Factored(self._bound[which], rank_tolerance(self.problem.set, self.rows))

    @cached_property
    def _holonomic(self) -> np.ndarray:
        return np.append(self.problem.set.holonomic, np.ones(len(self.active), bool))

    @cached_property
    def X(self) -> np.ndarray:
        """Motions that all rows allow (nv, n)."""
        return _null(self._factored(slice(None)), len(self._still))

    @cached_property
    def X_position(self) -> np.ndarray:
        """Motions that rows on positions allow."""
        return self.X if self._holonomic.all() else _null(self._factored(self._holonomic), len(self._still))

    @cached_property
    def _lam(self) -> np.ndarray:
        """λ of all rows, of least length, without units."""
        return self._factored(slice(None)).combination(self.missing) if len(self._bound) else np.zeros(0)

    @property
    def lam(self) -> np.ndarray:
        """λ of the constraints (m,)."""
        return self._lam[: len(self.problem.set)] / self.problem.set.scale

    @property
    def stop_forces(self) -> np.ndarray:
        """What limits exert along the joints that they stop."""
        reach = self.problem.set.reach
        return self._lam[len(self.problem.set) :] / np.array([reach[limit.rate] for limit in self.active])

    @cached_property
    def g(self) -> np.ndarray:
        return self.X.T @ self.missing

    @cached_property
    def _slopes(self) -> list[np.ndarray]:
        """Matrices that add up to reach (∂r/∂q − ∂(Jc* λ)/∂q) reach."""
        p, robot, zero = self.problem, self.problem.robot, self._still
        if p.external is not None:
            weight = robot.inverse_dynamics_derivatives(self.q, zero, zero, p.external)[0]
        else:
            weight = robot.gravity_force_derivative(self.q)
        found = [weight, -robot.passive_force_derivatives(self.q, zero)[0]]
        if len(p.set):
            found.append(-p.set.slopes.pull(self.q, self.lam, p.t))
        return [x * p.set.reach[:, None] * p.set.reach for x in found]

    @cached_property
    def whole_damping(self) -> np.ndarray:
        """reach ∂(C v + g − Q)/∂v reach (nv, nv), of a mechanism at rest."""
        p, robot, zero = self.problem, self.problem.robot, self._still
        found = -robot.passive_force_derivatives(self.q, zero)[1]
        if robot.lowered.producers:  # a fluid damps
            found = found + robot.inverse_dynamics_derivatives(self.q, zero, zero)[1]
        return found * p.set.reach[:, None] * p.set.reach

    @cached_property
    def whole_stiffness(self) -> np.ndarray:
        """reach (∂r/∂q − ∂(Jc* λ)/∂q) reach (nv, nv)."""
        return sum(self._slopes, np.zeros((len(self._still),) * 2))

    @cached_property
    def K(self) -> np.ndarray:
        return self.X.T @ self.whole_stiffness @ self.X_position

    @cached_property
    def stiffness_scale(self) -> float:
        """The largest stiffness of which K is the sum."""
        return max((float(np.abs(x).max(initial=0.0)) for x in self._slopes), default=0.0)

    @cached_property
    def force_scale(self) -> float:
        """The largest moment that is balanced here, or that the mechanism knows."""
        parts = [*self._parts, self._bound.T @ self._lam] if len(self._lam) else self._parts
        return max(self.problem.force_scale, *(float(np.abs(x).max(initial=0.0)) for x in parts))

    @cached_property
    def energy(self) -> float:
        return self.problem.energy(self.q)

    @cached_property
    def newton(self) -> np.ndarray:
        """The step that balances the forces to first order, of least length (n,)."""
        U, s, Vh = np.linalg.svd(self.K, full_matrices=False)
        counts = s > INDIFFERENT * self.stiffness_scale
        return -Vh[counts].T @ ((U.T @ self.g)[counts] / s[counts])

    @cached_property
    def unbalanced(self) -> float:
        """The part of g that no step changes to first order, of the force scale."""
        left = np.linalg.norm(self.g + self.K @ self.newton)
        return float(left / self.force_scale) if self.force_scale else float(left)

    @cached_property
    def far(self) -> float:
        """How far away balance is to first order: radians, or sizes of the mechanism."""
        return float(np.linalg.norm(self.newton))

    def moved(self, s) -> "Place | None":
        """Where a step s of the motions X̲ leads, stopped at the first limit; None where the constraints cannot be closed there."""
        p, dq = self.problem, self.problem.set.reach * (self.X_position @ s)
        part, hit = 1.0, None
        for limit in p.limits if p.stops else ():
            if not any(limit is x for x in self.active):
                gap = limit.side * (self.q[limit.row] - limit.bound)
                way = -limit.side * dq[limit.rate]
                if way > 0 and gap < part * way:
                    part, hit = max(gap, 0.0) / way, limit
        active = self.active if hit is None else (*self.active, hit)
        try:
            there = p.closed(p.robot.integrate(self.q, part * dq), active)
        except ConstraintError:
            return None
        if p.stops:
            beyond = [x for x in p.limits if x not in active and x.side * (there[x.row] - x.bound) < -1e-12 * p.set.reach[x.rate]]
            if beyond:
                return None  # where loops bent the way across a limit: a shorter step sees it
        return p.at(there, active)

    def without(self, i: int) -> "Place":
        """The same configuration with one limit let go."""
        return self.problem.at(self.q, self.active[:i] + self.active[i + 1 :])


def _null(factored: Factored, nv: int) -> np.ndarray:
    return factored.null() if len(factored.W) else np.eye(nv)
