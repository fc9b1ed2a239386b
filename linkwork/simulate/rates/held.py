"""Motion under constraints: rates, one kernel from (q, ξ, v, τ) to ξ̇ and v̇ as for a tree, and how a run stays on them.

Accelerations keep the constraints (the index-1 form, Müller and Terze, 63 to 66); what integration makes of them drifts.

    "project"   the state is put back after each step, positions, then velocities, in the metric of the mass matrix (67, 68)
    "embed"     only independent velocities are integrated: wherever rates are asked for, the others follow from them
    (ω, ζ)      accelerations ask for c̈ + 2ζω ċ + ω² c = 0 in place of c̈ = 0 (Baumgarte), nothing is put back
    None        nothing is
"""

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ConstraintError, ModelError, SimulationError
from ...motion import equations
from ..state import Embedding, Part

if TYPE_CHECKING:
    from ...constraints import Constrained
    from ...constraints.systems.choice_kernels import Pick

WAYS = "project", "embed"
UNSEEN = 1e-3  # of an error that projection takes away, how much counts
WORSE = 0.3  # of the pivots where a choice of dependent velocities was made: below it another may be better


class Keeper(Part):
    """How a run stays on its constraints; `held` are those it is put back on.

    When loops are embedded, the run owns the choice of dependent velocities: the one it starts with, until its pivots have
    become much worse.
    """

    def __init__(self, robot, how, keep: "Constrained | None", tolerance: float | None = None):
        self.robot, self.how = robot, how
        self.held = robot.constraints if keep is None else keep
        if tolerance is not None and self.held is not None:
            self.held = self.held.tolerating(tolerance)
        self.timed = self.held is not None and bool(self.held.set.moving)
        self.embeds = self.held is not None and how == "embed" and self.held.rolled is None and self.held.compiled
        self.pick: Pick | None = None
        self.floor = WORSE

    @property
    def state(self) -> Embedding | None:
        if self.pick is None:
            return None
        choices, pivots = self.pick.written
        return Embedding(choices, pivots, self.floor)

    @state.setter
    def state(self, state: Embedding | None) -> None:
        self.pick, self.floor = None, WORSE
        if state is not None:
            from ...constraints.systems.choice_kernels import Pick  # only embedded runs have one

            self.pick, self.floor = Pick.read((state.choices, state.pivots)), state.floor

    def takes(self, state) -> bool:
        if not self.embeds or not isinstance(state, Embedding):
            return False
        self.state = state
        if not (fits := self._fits()):
            self.state = None
        return fits

    def _fits(self) -> bool:
        """Is the choice of dependent velocities, which may come from a file, one of these constraints?"""
        assert self.pick is not None and self.held is not None
        loops, choices = self.held.choices.loops, self.pick.choices
        ranges = zip(choices, (range(len(x)) for x in loops.binding), (list(range(len(x))) for x in loops.columns))
        each = all(
            len(x.rows) == len(x.dependent) == len(set(x.rows) & set(rows)) and sorted(x.dependent + x.independent) == columns
            for x, rows, columns in ranges
        )
        return each and len(choices) == len(loops.columns) and len(self.pick.pivots) == sum(len(x.rows) for x in choices)

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
    def check(robot, how, keep, tolerance: float | None = None) -> None:
        """These make sense, or it is said which does not."""
        pair = isinstance(how, (tuple, list)) and len(how) == 2 and all(x >= 0 for x in how)
        if how is not None and not (isinstance(how, str) and how in WAYS) and not pair:
            raise SimulationError(f'constraints is {how!r}; it may be "project", "embed", (omega, zeta) for Baumgarte\'s way, or None.')
        if keep is not None:
            from ...constraints import Constrained  # only those who ask for it wait for it

            if not isinstance(keep, Constrained):
                raise SimulationError(f"keep is {keep!r}; it takes constraints: linkwork.constraints.of(robot, ...).")
            if how != "project":
                raise SimulationError(f'keep says what to project on, but constraints is {how!r}; leave it "project".')
        if tolerance is not None:
            if robot.constraints is None and keep is None:
                raise SimulationError(f"tolerance is {tolerance}, but {robot.model.name} has no constraints to meet.")
            (keep or robot.constraints).tolerating(tolerance)

    def check_state(self, t, q, v) -> None:
        """A state to start from satisfies the constraints, but for rounding; or it is said which it breaks."""
        if self.held is not None:
            self.held.check(q, v, t)

    def note(self, t, q) -> str:
        """What is to be said of constraints that are met in the least-squares sense only."""
        return "" if self.held is None else self.held.contradiction(q, t)

    def start(self, t, q, v, goes_on: bool = False):
        """A state to start from, put on the constraints; one that `goes_on` from a run is there already."""
        if self.held is None:
            return q, v
        if not goes_on:
            self.check_state(t, q, v)
            q, v = self.held.put_back(q, v, t)
        if self.embeds and self.pick is None:
            self.pick = self.held.choices.first(q, t)
        return q, v

    def why(self, q, error: ConstraintError) -> ConstraintError:
        """Why a run cannot start at q: because that is singular, where the constraints have a lower rank than elsewhere, or the error."""
        if self.held is None or self.held is not self.robot.constraints or not self.held.compiled:
            return error
        try:
            usual, here = sum(x.rank for x in self.held.choices.ranked), self.robot.constraint_report(q).rank
        except (ConstraintError, ModelError):
            return error
        if not here < usual:
            return error
        return ConstraintError(
            f"{self.robot.model.name} starts in a singular configuration: its constraints have rank {here} there, {usual} elsewhere, "
            "and do not say which possible motion goes on. Start from another one; robot.constraint_report(q) has the rank."
        )

    def back(self, t, q, v, hold=()):
        """The state at t, or states at several times, on the constraints; velocities in `hold` stay as they are."""
        if self.held is None or self.how not in WAYS:
            return q, v
        if len(hold):
            return self.held.put_back(q, v, t, hold)
        if not np.ndim(t):
            return self._end_of_step(t, q, v) if self.embeds else self._put(q, v, t)
        if not self.timed:
            return self._put(q, v, 0.0)
        rows = [self._put(a, b, time) for time, a, b in zip(t, q, v)]
        return np.array([q for q, _ in rows]), np.array([v for _, v in rows])

    def _put(self, q, v, t):
        return self.lift(q, v, t)[0] if self.how == "embed" else self.held.put_back(q, v, t)

    def lift(self, q, v, t):
        """The state by its dependent velocities alone, and how good their choice still is."""
        return self.held.lifted(q, v, t, self.pick)

    def _end_of_step(self, t, q, v):
        """Before the next step, another choice is made if that of the run has become much worse than it was."""
        (q, v), quality = self.lift(q, v, t)
        if quality < self.floor:
            other = self.held.choices.at(q, t)
            same = self.pick is not None and other.choices == self.pick.choices
            self.pick, self.floor = other, WORSE * (quality if same else 1.0)
        elif quality > self.floor / WORSE:
            self.floor = WORSE
        return q, v


class ConstrainedRates:
    """`equations.local_rates` under the robot's constraints; samples that no kernel serves are evaluated by `plain`, in NumPy.

    A state on the way of a step may be no state of the mechanism: its rates are not numbers, the step is too long, and
    `trouble` says what was wrong.
    """

    def __init__(self, robot, options: tuple[str, ...], friction: bool, plain: Callable, velocity: Callable):
        self.robot, self.plain, self.velocity = robot, plain, velocity
        self.trouble = ""
        self.keeper: Keeper | None = None
        self.pull: np.ndarray | None = None
        self.options, self.friction = options, friction
        self.kernels = self._kernels()

    def _kernels(self):
        """The kernels, one for each choice of dependent velocities; None where there are none."""
        held, friction = self.robot.constraints, self.friction
        if held.rolled is not None or not held.compiled:  # of a long mechanism from its own kernels, one after the other
            return None

        def function(system, *state):
            return equations.local_rates(system if friction else system.without_friction(), *state)

        options = *self.options, *(() if self.pull is None else ("pull",))
        name = "_".join(["constrained_local_rates", *options, *([] if friction else ["smooth"])])
        return held.function(name, function, "q", "xi", "v", "tau", *options)

    def keeping(self, keeper: Keeper) -> "ConstrainedRates":
        """These rates for one run."""
        made, how = copy(self), keeper.how
        made.keeper, made.pull = keeper, None if how is None or isinstance(how, str) else np.array(how, float)
        made.kernels = made._kernels()
        return made

    def __call__(self, *arrays, out=None, t=None):
        keeper = self.keeper
        if keeper is None or keeper.how != "embed":
            return self._rates(*arrays, out=out, t=t)
        q, xi, v, *forces = arrays
        try:
            (q, v), _ = keeper.lift(self.robot.integrate(q, xi), v, t or 0.0)
        except ConstraintError as error:
            self.trouble = f". {error}"
            q = np.full_like(q, np.nan)
        results = self._rates(q, np.zeros_like(xi), v, *forces, out=out, t=t)
        results[0][...] = self.velocity(xi, v)
        return results

    def _rates(self, *arrays, out, t):
        if self.kernels is None:
            batch = np.broadcast_shapes(*(np.shape(x)[:-1] for x in arrays[:4]))
            results = out or tuple(np.empty((*batch, np.shape(arrays[1])[-1])) for _ in range(2))
            bad = np.ones(batch, bool)
        else:
            pull = () if self.pull is None else (self.pull,)
            results, bad = self.kernels(*arrays, *pull, out=out, t=t or 0.0, first=None if self.keeper is None else self.keeper.pick)
        if bad is not None:
            for i in zip(*np.nonzero(bad)) if bad.ndim else [()]:
                results[0][i], results[1][i] = self._in_numpy(t, *(x[i] if np.ndim(x) > 1 else x for x in arrays))
        return tuple(results)

    def _in_numpy(self, t, *state):
        try:
            return self.plain(*state, t=t, stabilization=self.pull)
        except (ConstraintError, ModelError) as error:
            self.trouble = f". {error}"
        except np.linalg.LinAlgError:
            self.trouble = ". The constraints are not numbers there"
        return np.nan, np.nan
