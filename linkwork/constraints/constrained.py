"""A robot with its constraints: the state stays the tree's (q, v), and every motion keeps the loops closed."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..quantities import SIZES
from ..quantities.bound import Bound
from ..quantities.options import some_bodies
from . import minimal
from . import prescribed as prescribed_joints
from .choice.loops import Loops
from .derivatives import Derivatives, MotionSlopes
from .report import Report, report
from .rows.rows import Constraint, Rows
from .rows.set import ConstraintSet
from .solution import move_squeeze
from .solution.arguments import check_no_kernel, each, finite_arrays, one_batch, one_configuration, one_time, some, with_arrays
from .solution.at_state import AtState
from .solution.integrability import integrable
from .solution.reduced import Reduced
from .states import states
from .states.returns import RETURNS
from .states.rolled_returns import RolledReturns
from .systems import accelerations, forces, under_constraints
from .systems.choice_kernels import ChoiceKernels, Choices
from .systems.embedded_view import Embedded
from .systems.loop_binding import ByNumbers, Formula
from .systems.rolled_loops import RolledLoops


class Constrained:
    """Loops, couplings and other constraints of a robot (a Dynamics), and its dynamics under them.

        held = lw.constraints.of(robot)                          the active loops and couplings of its model
        held = lw.constraints.of(robot, Distance(...), ...)      and more

    It owns the rows, the choice of dependent velocities, what happens to samples that no choice serves, and the return to
    the constraints. No call changes what a later call gives. Times t may be left out where no constraint moves in time.
    """

    def __init__(self, robot, *more: Constraint):
        self.robot: Any = robot
        self.tolerance: float | None = None  # see `tolerating`
        self.set = ConstraintSet.of(robot, *more)
        self._functions: dict[tuple, Any] = {}  # kernels and formulas

    @property
    def nv(self) -> int:
        return self.robot.nv

    @property
    def names(self) -> list[str]:
        return [x.name for x in self.set.constraints]

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.set)

    def tolerating(self, tolerance: float) -> "Constrained":
        """These constraints where they may contradict each other by a tolerance, of a radian or of the mechanism's size: what
        cannot be closed is met in the least-squares sense, up to that."""
        made = object.__new__(Constrained)
        vars(made).update(vars(self), tolerance=states.checked_tolerance(tolerance))
        return made

    def __getstate__(self):
        return {"set": self.set, "tolerance": self.tolerance}

    def __setstate__(self, state):
        self.robot, self.set, self.tolerance, self._functions = state["set"].robot, state["set"], state["tolerance"], {}

    def may_be_open(self, closed: float) -> float:
        """How open constraints may be, where `closed` is what rounding leaves."""
        return closed if self.tolerance is None else max(closed, self.tolerance)

    def time(self, t) -> float:
        """A time that was given; None will do where no constraint moves in time."""
        return one_time(self.set, t)

    # --- the constraints themselves

    @with_arrays
    def residual(self, q, t=None):
        """c(q, t) (..., m), zero where the constraints are kept."""
        if self.rolled is not None and q.ndim == 1:
            return self.rolled.local.along(q, np.zeros(self.nv))[0]
        return self.set.residual(q, self.time(t))

    @with_arrays
    def jacobian(self, q, t=None):
        """Jc (..., m, nv)."""
        return self.set.rows(q, t=self.time(t)).Jc

    @with_arrays
    def bias(self, q, v, t=None):
        """γ (..., m) of Jc v̇ + γ = 0."""
        return self.set.rows(q, v, self.time(t)).gamma

    @with_arrays
    def rows(self, q, v, t=None) -> Rows:
        """All rows at a state: c, Jc, U and γ of Jc v̇ + γ = 0."""
        return self.set.rows(q, v, self.time(t))

    @with_arrays
    def check_acceleration(self, q, v, vdot, t=None) -> None:
        """v̇ keeps the constraints at a state that does, but for rounding; or it is said by how much it does not."""
        AtState.of(self.set, q, v, self.time(t)).check_possible(vdot)

    def enough(self, rows: Rows) -> np.ndarray:
        """The numbers of rows at one state from which the others follow, by pivoting."""
        from scipy.linalg import qr

        factored = AtState(self.set, None, None, rows).factored
        order = qr((factored.W / factored.scale[:, None]).T, mode="r", pivoting=True)[1] if len(self) else np.zeros(0, int)
        return np.sort(order[: int(factored.rank)])

    def report(self, q, t=None) -> Report:
        """Rows, rank, mobility, redundant rows, open loops at q; print it."""
        return report(self.set, one_configuration(self.set, "constraint_report", q), self.time(t))

    # --- kernels and the choice of dependent velocities

    @cached_property
    def compiled(self) -> bool:
        """Do functions run as kernels?"""
        return self.set.traced

    @cached_property
    def rolled(self) -> RolledLoops | None:
        """The loops of a long mechanism as units that kernels loop over; None where it is short, or they are not small or alike."""
        return RolledLoops.of(self.set)

    @cached_property
    def loops(self) -> Loops:
        """The loops over the nodes of plain runs."""
        return Loops(self.set, self.set.nodes)

    @cached_property
    def choices(self) -> Choices:
        return Choices(self.set, self.loops, partial(self.assemble, t=0.0))

    def function(self, name: str, function: Callable, *inputs: str, bound: Bound | None = None) -> ChoiceKernels:
        """A function of (system, inputs...) as kernels, kept by its name and the quantity that it evaluates, if it does. Inputs
        that the robot does not know have one entry per velocity; one called pull is Baumgarte's (ω, ζ)."""
        key = (name,) if bound is None else (name, bound.quantity, bound.options, bound.extra)
        if key not in self._functions:
            lowered, sizes = self.robot.lowered, {**SIZES, "pull": (2,)}
            arrays = tuple(lowered.input(x, sizes.get(x, ("nv",))) for x in inputs)
            loops, content = Loops(self.set, lowered.joint_space), name if bound is None else bound
            self._functions[key] = ChoiceKernels(self.choices, loops, name, function, arrays, content, pulled="pull" in inputs)
        return self._functions[key]

    @cached_property
    def by_numbers(self) -> ByNumbers:
        """Systems in which each sample chooses its dependent velocities."""
        return ByNumbers(self)

    def driven(self, t=None) -> np.ndarray:
        """Where the drives are at time t (drives, 3): position, rate and acceleration of each, the input `drive` of formulas."""
        return np.array([x.given(self.time(t)) for x in self.set.drives], float).reshape(-1, 3)

    def formula(self, bound: Bound) -> Formula:
        """A quantity that honours constraints as one formula."""
        key = "formula", bound.quantity, bound.options, bound.extra
        if key not in self._functions:
            self._functions[key] = Formula(self.by_numbers, bound)
        return self._functions[key]

    def returns(self, name: str) -> Callable | None:
        """The kernel of a return to the constraints (`states.returns.RETURNS`); None where it is made in NumPy."""
        if self._rolled_returns is not None:
            return getattr(self._rolled_returns, name)
        return self.function(name, RETURNS[name], "q", "v") if self.compiled else None

    @cached_property
    def _rolled_returns(self) -> RolledReturns | None:
        return None if self.rolled is None else RolledReturns(self.rolled)

    acceleration_kernels = cached_property(accelerations.kernels)

    # --- states that keep the constraints

    assemble, check, project, put_back = states.assemble, states.check, states.project, states.put_back
    lift, lifted, tangent = states.lift, states.lifted, states.tangent
    random_state, contradiction = states.random_state, states.contradiction

    # --- accelerations

    picked = property(accelerations.picked)
    forward_dynamics, in_numpy, solution = accelerations.forward_dynamics, accelerations.in_numpy, accelerations.solution

    def possible(self, q, v, vdot, t=None, out=None):
        """The acceleration nearest to v̇ (..., nv) that keeps the constraints; lengths count against the size of the mechanism."""
        return each(self.set, "possible", _nearest_possible, {"q": q, "v": v, "vdot": vdot}, t, out)

    ask = under_constraints.ask

    def derivatives(self, q, v, tau, external=None, *, t=None) -> Derivatives:
        """How accelerations and forces of constraints change with q, v, τ and t, along the constraints: `.vdot_by`, `.force_by`,
        `.multipliers_by`, each with q, v, tau and t."""
        arrays, kind = finite_arrays(self.set, "derivatives", {"q": q, "v": v, "tau": tau, **some(external=external)})
        return Derivatives(MotionSlopes.of(self.set, **arrays, t=self.time(t)), kind)

    @with_arrays
    def linearization(self, q, v, tau, brackets, passive, external=None, *, t=None, which=None) -> minimal.Minimal:
        """A and B in minimal coordinates, as `Dynamics.linearize` says; `brackets` are ad(v), and `passive` the slopes by q and v of
        forces that are part of τ, each (..., nv, nv); `which` are the numbers of independent positions and velocities, if they are
        not to be chosen here."""
        return minimal.linearization(self.set, q, v, tau, brackets, passive, external, self.time(t), which)

    def batch(self, name: str, q, v, tau, external=None) -> list[np.ndarray]:
        """States and forces as finite arrays of one batch, for what is called `name`."""
        return one_batch(self.set, name, {"q": q, "v": v, "tau": tau, **some(external=external)})

    # --- forces

    @with_arrays(finite=True)
    def constraint_forces(self, q, v, tau, external=None, *, t=None) -> forces.Forces:
        """Multipliers, the wrenches of constraints on bodies, and those in the joints of the tree."""
        vdot = self.forward_dynamics(q, v, tau, external, t=t)
        return forces.constraint_forces(self.set, q, v, tau, vdot, external, self.time(t))

    def joint_wrenches(self, q, v, vdot, *bodies: str, tau=None, external=None, t=None, out=None):
        """What the joints of bodies carry (..., n, 6), as `Dynamics.joint_wrenches` says."""
        (numbers,) = some_bodies(self.robot.model, *bodies)
        given = {"q": q, "v": v, "vdot": vdot, **some(tau=tau, external=external)}
        return each(self.set, "joint_wrenches", forces.wrenches_in_joints, given, t, out, bodies=numbers)

    def hybrid_dynamics(self, q, v, given, prescribed, external=None, *, t=None, out=None):
        """Forces where `given` is an acceleration (prescribed = 1), accelerations where it is a force (0), constraints kept."""
        arrays = {"q": q, "v": v, "given": given, "prescribed": prescribed, **some(external=external)}
        return each(self.set, "hybrid_dynamics", prescribed_joints.hybrid_dynamics, arrays, t, out)

    def motor_forces(self, q, v, vdot, motors=None, external=None, W=None, t=None, out=None):
        """Forces (..., nv) of the named motors alone that make v̇, of least norm where there are more than it takes, as
        `Dynamics.motor_forces` says; with W of least W-norm."""
        given = {"q": q, "v": v, "vdot": vdot, **some(external=external)}
        return each(self.set, "motor_forces", move_squeeze.motor_forces, given, t, out, motors=motors, W=W)

    def actuation(self, q, motors=None, t=None) -> move_squeeze.Actuation:
        """What motors (names of joints; None: all) can do at one configuration: print it."""
        return move_squeeze.actuation(self.set, one_configuration(self.set, "actuation", q), motors, self.time(t))

    @with_arrays(finite=True)
    def move_squeeze(self, q, tau, W=None, t=None):
        """(move, squeeze): the part of τ that moves it, and the part that the constraints carry."""
        return move_squeeze.move_squeeze(self.set, q, tau, W, self.time(t))

    @with_arrays(finite=True)
    def compliance(self, q, t=None) -> np.ndarray:
        """v̇ for each unit of τ under the constraints (..., nv, nv), what 𝓜⁻¹ is without: Y = Y*, Jc Y = 0, Y 𝓜 X = X."""
        root = self.compliance_root(q, t)
        return root @ root.mT

    def compliance_root(self, q, t=None) -> np.ndarray:
        """R (..., nv, nv) with Y = R R*: of J Y J* = (J R) (J R)* it keeps the rank, and every digit of what hardly moves."""
        check_no_kernel(self.set, "a task", [q])
        return AtState.of(self.set, q, t=self.time(t)).compliance_root()

    # --- other views

    def reduced(self, q, t=None) -> Reduced:
        """The minimal view, its velocities chosen at q."""
        return Reduced.of(self.set, one_configuration(self.set, "reduced", q), self.time(t))

    def embedded(self, q, v=None, external=None, *, t=None) -> Embedded:
        """The SKO model in minimal velocities at a state: every operator and sweep of chapter 9 runs on it."""
        arrays, _ = finite_arrays(self.set, "embedded", {"q": q, **some(v=v, external=external)})
        q, v = arrays["q"], arrays.get("v", np.zeros((*np.shape(arrays["q"])[:-1], self.nv)))
        return Embedded.of(self.set, self.loops, q, v, arrays.get("external"), self.time(t))

    def integrable(self, q, t=None) -> bool:
        """Do the constraints bind positions, or only velocities?"""
        return integrable(self.set, one_configuration(self.set, "integrable", q), self.time(t))

    def __repr__(self) -> str:
        plain = [f'"{x.name}" {x.why_plain or "has no kernel"}' for x in self.set.constraints if not x.traceable]
        said = f"; no kernels: {'; '.join(plain)}" if plain else ""
        return f"<{self.robot.model.name} with {len(self.names)} constraints, {len(self)} rows{said}>"


def _nearest_possible(set_: ConstraintSet, q, v, vdot, t, kind):
    return AtState.of(set_, q, v, t).nearest(vdot)
