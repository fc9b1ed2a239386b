"""Motion under constraints: rates, one kernel from (q, ξ, v, τ) to ξ̇ and v̇ as for a tree, and how a run stays on them.

Accelerations keep the constraints (the index-1 form, Müller and Terze 63 to 66); what integration makes of them drifts.

    "project"   the state is put back after each step, positions, then velocities, in the metric of the mass matrix (67, 68)
    "embed"     only independent velocities are integrated: wherever rates are asked for, the others follow from them
    (ω, ζ)      accelerations ask for c̈ + 2ζω ċ + ω² c = 0 in place of c̈ = 0 (Baumgarte), nothing is put back
    None        nothing is
"""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .. import quantities
from ..errors import ConstraintError, ModelError, SimulationError
from . import equations

if TYPE_CHECKING:
    from ..constraints import Constrained

WAYS = "project", "embed"
UNSEEN = 1e-3  # of an error that projection takes away, how much counts


class Keeper:
    """What a run does about its constraints; `held` are those it is put back on."""

    def __init__(self, robot, how, keep: "Constrained | None"):
        self.robot, self.how = robot, how
        self.held = robot.constraints if keep is None else keep
        self.timed = self.held is not None and bool(self.held.set.moving)

    @property
    def projects(self) -> bool:
        return self.held is not None and self.how == "project"

    def left(self, t, q, w):
        """Of errors w (m, nv) in a state at q, what is left when it is put back, and a little of the rest.

        Near a rank loss accelerations are noise where the constraints hardly hold, and no step would be short enough: but
        that is just what projection takes away.
        """
        return (1 - UNSEEN) * self.held.tangent(q, w, t) + UNSEEN * w

    @staticmethod
    def check(robot, how, keep, method: str) -> None:
        """These make sense, or it is said which does not."""
        pair = isinstance(how, (tuple, list)) and len(how) == 2 and all(x >= 0 for x in how)
        if how is not None and how not in WAYS and not pair:
            raise SimulationError(f'constraints is {how!r}; it may be "project", "embed", (omega, zeta) for Baumgarte\'s way, or None.')
        if keep is not None:
            from ..constraints import Constrained  # only those who ask for it wait for it

            if not isinstance(keep, Constrained):
                raise SimulationError(f"keep is {keep!r}; it takes constraints: linkwork.constraints.of(robot, ...).")
            if how != "project":
                raise SimulationError(f'keep says what to project on, but constraints is {how!r}; leave it "project".')
        if robot.constraints is not None and method == "midpoint":
            raise SimulationError(
                f'{robot.model.name} has loops, couplings or constraints, of which method "midpoint" knows nothing. Use rk45, dop853, rk4 '
                'or stiff; for long runs method="rk4" with constraints="embed".'
            )

    def start(self, t, q, v):
        if self.held is None:
            return q, v
        self.held.check(q, v, t)
        return self.held.project(q, v, t)

    def back(self, t, q, v, rest=()):
        """The state at t, or states at several times, on the constraints; velocities in `rest` stay as they are."""
        if self.held is None or self.how not in WAYS:
            return q, v
        if len(rest):
            return self.held.project(q, v, t, fixed=rest)
        put = self.held.lift if self.how == "embed" else self.held.project
        if not np.ndim(t):
            q, v = put(q, v, t)
            if self.how == "embed" and self.held.compiled is not None:
                self.held.compiled.settle(q, t)
            return q, v
        if not self.timed:
            return put(q, v)
        rows = [put(a, b, time) for time, a, b in zip(t, q, v)]
        return np.array([q for q, _ in rows]), np.array([v for _, v in rows])


class HeldRates:
    """`equations.local_rates` under the robot's constraints; samples that no kernel serves go the `plain` way.

    A state on the way of a step may be no state of the mechanism: its rates are not numbers, the step is too long, and
    `trouble` says what was wrong.
    """

    def __init__(self, robot, options: tuple[str, ...], friction: bool, plain: Callable, velocity: Callable):
        self.robot, self.plain, self.velocity = robot, plain, velocity
        self.trouble, self.embeds = "", False
        self.pull: np.ndarray | None = None
        self.options, self.friction = options, friction
        self.family = self._family()

    def _family(self):
        """The kernels, one for each choice of dependent velocities; None where there are none."""
        compiled = None if self.robot.model.forces else self.robot.constraints.compiled
        more = *self.options, *(() if self.pull is None else ("pull",))
        return None if compiled is None else family(compiled, more, self.friction)

    def keeping(self, how) -> "HeldRates":
        """These rates for one of the ways to stay on the constraints."""
        made = copy(self)
        made.embeds, made.pull = how == "embed", None if how is None or isinstance(how, str) else np.array(how, float)
        made.family = made._family()
        return made

    def __call__(self, *arrays, out=None, t=None):
        if not self.embeds:
            return self._rates(*arrays, out=out, t=t)
        q, xi, v, *forces = arrays
        try:
            q, v = self.robot.constraints.lift(self.robot.integrate(q, xi), v, t or 0.0)
        except ConstraintError as error:
            self.trouble = f". {error}"
            q = np.full_like(q, np.nan)
        results = self._rates(q, np.zeros_like(xi), v, *forces, out=out, t=t)
        results[0][...] = self.velocity(xi, v)
        return results

    def _rates(self, *arrays, out, t):
        if self.family is None:
            batch = np.broadcast_shapes(*(np.shape(x)[:-1] for x in arrays[:4]))
            results = out or tuple(np.empty((*batch, np.shape(arrays[1])[-1])) for _ in range(2))
            bad = np.ones(batch, bool)
        else:
            results, bad = self.family(*arrays, *(() if self.pull is None else (self.pull,)), out=out, t=t or 0.0)
        if bad is not None:
            for i in zip(*np.nonzero(bad)) if bad.ndim else [()]:
                results[0][i], results[1][i] = self._plain(t, *(x[i] if np.ndim(x) > 1 else x for x in arrays))
        return tuple(results)

    def _plain(self, t, *state):
        try:
            method = "augmented" if self.family is not None and not self.robot.constraints.set.massless else None  # not kernels again
            return self.plain(*state, t=t, stabilization=self.pull, method=method)
        except (ConstraintError, ModelError) as error:
            self.trouble = f". {error}"
            return np.nan, np.nan


def family(compiled, options, friction):
    """Kernels of `equations.local_rates` under constraints."""

    def function(nodes, chosen, q, xi, v, tau, *more):
        if not friction:
            nodes = replace(nodes, friction=tuple(np.zeros_like(x) for x in nodes.friction))
        there = quantities.integrate(nodes, q, xi)
        passive = quantities.passive_force(nodes, there, v)
        vdot = chosen.forward_dynamics(nodes, there, v, tau + passive, **dict(zip(options, more)))
        return equations.local_velocity(nodes, xi, v), vdot

    name = "_".join(["constrained_local_rates", *options, *([] if friction else ["smooth"])])
    return compiled.family(name, function, "q", "xi", "v", "tau", *options, pull=(2,))
