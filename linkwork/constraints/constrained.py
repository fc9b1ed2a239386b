"""A robot with its constraints: the state stays the tree's (q, v), and every motion keeps the loops closed."""

from collections.abc import Callable, Iterable
from copy import copy
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..engine.array import Traced
from ..engine.checks import array_of, run_into
from ..engine.device import on_device
from ..engine.gufunc import put_into
from ..errors import ConstraintError, LinkworkError, ModelError, OptionError, ShapeError, TraceError, deprecated
from ..lie.scalars import numbers, working_dtype
from ..quantities import ARRAYS, SIZES
from ..quantities import forward_dynamics as dynamics
from ..quantities.bound import Bound
from ..quantities.options import some_bodies
from . import assembly, projection
from . import prescribed as prescribed_joints
from .augmented import OPEN, Solution, augmented, check_closed, rank_tolerance
from .embedded import Embedded, by_choice, embedded_dynamics, residual, system_at
from .forces import Forces, constraint_forces, wrenches_in_joints
from .integrability import integrable
from .kernels import ChoiceKernels, Choices, Pick
from .loops import Loops
from .move_squeeze import Actuation, actuation, free_directions, motor_forces, move_squeeze
from .possible import check_possible, possible
from .precision import in_given_precision
from .projected import projected
from .rank import Factored
from .reduced import Reduced
from .report import Report, report
from .returning import dependent_step, nearest_step
from .rows import Constraint, Rows
from .set import ConstraintSet

PUT_BACK = 100 * assembly.CLOSED  # what may be left of c where a state was put back on the constraints
CLOSE_ENOUGH = 1e-6  # of the mechanism's size, or of its speed: what a state may be off where one is given
METHODS = ("augmented", "projected", "embedded")
ROUNDING = 1e-15
RETURNS = 20


class Constrained:
    """Loops, couplings and other constraints of a robot (a Dynamics), and its dynamics under them.

        held = lw.constraints.of(robot)                          the active loops and couplings of its model
        held = lw.constraints.of(robot, Distance(...), ...)      and more

    It owns the rows, the choice of dependent velocities, what happens to samples that no choice serves, and the return to
    the constraints. No call changes what a later call gives.
    """

    def __init__(self, robot, *more: Constraint):
        self.robot: Any = robot
        self.tolerance: float | None = None  # see `tolerating`
        self.set = ConstraintSet.of(robot, *more)
        self._functions: dict[tuple[str, object], ChoiceKernels] = {}

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
        if not 0 <= tolerance <= OPEN:
            raise ModelError(f"tolerance is {tolerance}; it must be a number from 0 to {OPEN}, of a radian or of the mechanism's size.")
        made = copy(self)
        made.tolerance = float(tolerance)
        return made

    def _open(self, closed: float) -> float:
        """How open constraints may be, where `closed` is what rounding leaves."""
        return closed if self.tolerance is None else max(closed, self.tolerance)

    # --- the constraints themselves

    @in_given_precision
    def residual(self, q, t=0.0):
        """c(q, t) (..., m), zero where the constraints are kept."""
        return self.set.residual(q, t)

    @in_given_precision
    def jacobian(self, q, t=0.0):
        """Jc (..., m, nv)."""
        return self.set.rows(q, t=t).Jc

    @in_given_precision
    def bias(self, q, v, t=0.0):
        """γ (..., m) of Jc v̇ + γ = 0."""
        return self.set.rows(q, v, t).gamma

    def rows(self, q, v, t=None) -> Rows:
        """All rows at a state: c, Jc, U and γ of Jc v̇ + γ = 0."""
        return self.set.rows(np.asarray(q, float), np.asarray(v, float), self._time(t))

    def check_acceleration(self, q, v, vdot, t=None) -> None:
        """v̇ keeps the constraints at a state that does, but for rounding; or it is said by how much it does not."""
        rows = self.rows(q, v, t)
        check_closed(self.set, rows)
        check_possible(self.set, rows, np.asarray(v, float), np.asarray(vdot, float))

    def enough(self, rows: Rows) -> np.ndarray:
        """The numbers of rows at one state from which the others follow, by pivoting."""
        from scipy.linalg import qr

        factored = Factored(self.set.without_units(rows.Jc), rank_tolerance(self.set, rows))
        order = qr((factored.W / factored.scale[:, None]).T, mode="r", pivoting=True)[1] if len(self) else np.zeros(0, int)
        return np.sort(order[: int(factored.rank)])

    def report(self, q, t=0.0) -> Report:
        self._check_state(q)
        return report(self.set, q, self._time(t))

    def _time(self, t) -> float:
        """A time; None will do where nothing depends on it."""
        if t is None and self.set.moving:
            raise ConstraintError(
                f'{self.robot.model.name} has constraints that move in time ("{", ".join(self.set.moving)}"): say when, t=0.5.'
            )
        if t is not None and ((not np.isscalar(t) and np.shape(t) != ()) or not np.isfinite(numbers(t)).all()):
            raise ShapeError(f"t is {t!r}; it is one finite time for all samples. Call once for each time.")
        return 0.0 if t is None else float(t)

    # --- kernels and the choice of dependent velocities

    @cached_property
    def compiled(self) -> bool:
        """Do functions run as kernels?"""
        return self.set.traced

    @cached_property
    def loops(self) -> Loops:
        """The loops over the nodes of plain runs."""
        return Loops(self.set, self.set.nodes)

    @cached_property
    def choices(self) -> Choices:
        return Choices(self.set, self.loops, self.assemble)

    def function(self, name: str, function: Callable, *inputs: str, bound: Bound | None = None) -> ChoiceKernels:
        """A function of (system, inputs...) as kernels, kept by its name and the quantity that it evaluates, if it does. Inputs
        that the robot does not know have one entry per velocity; one called pull is Baumgarte's (ω, ζ)."""
        key = None if bound is None else (bound.quantity, bound.options, bound.extra)
        if (name, key) not in self._functions:
            lowered = self.robot.lowered
            sizes = {**SIZES, "pull": (2,)}
            made = tuple(lowered.input(x, sizes.get(x, ("nv",))) for x in inputs)
            loops = Loops(self.set, lowered.joint_space)
            content = name if bound is None else bound.content
            self._functions[name, key] = ChoiceKernels(self.choices, loops, name, function, made, content, pulled="pull" in inputs)
        return self._functions[name, key]

    # --- states that keep the constraints

    @in_given_precision
    def assemble(self, q, hold: Iterable[str | int] = (), t=0.0, tolerance: float | None = None) -> np.ndarray:
        """The q nearest to a guess in which every loop is closed; `hold` names joints that stay as they are. With a tolerance,
        constraints that contradict each other are met in the least-squares sense, up to that."""
        self._check_state(q)
        tolerance = self._open(assembly.CLOSED) if tolerance is None else tolerance
        return assembly.assemble(self.set, q, hold=_listed(hold), t=self._time(t), tolerance=tolerance)

    def check(self, q, v, t=0.0) -> None:
        """(q, v) keeps the constraints, but for rounding; or it is said which it breaks, and what to do."""
        rows, v = self.set.rows(q, t=t), np.asarray(v, float)
        close = self._open(CLOSE_ENOUGH)
        check_closed(self.set, rows, close)
        off = np.matvec(rows.Jc, v) - rows.U
        size = (np.abs(rows.Jc) @ np.abs(v)[..., None])[..., 0].max(-1, keepdims=True, initial=0.0)
        rounding = 1e-13 * np.abs(rows.Jc).max((-2, -1), initial=0.0)[..., None] * np.abs(v).max(-1, keepdims=True, initial=0.0)
        if (np.abs(off) > close * (size + np.abs(rows.U)) + rounding).any():
            worst = int(np.argmax(np.abs(off).reshape(-1, len(self)).max(0)))
            raise ConstraintError(
                f'the velocities break "{self.set.labels[worst][0]}" of {self.robot.model.name} by {np.abs(off).max():.3g} '
                f"({self.set.labels[worst][1]}). robot.constraints.project(q, v) gives the nearest that keep the constraints."
            )

    @in_given_precision
    def project(self, q, v, t=0.0, hold: Iterable[str | int] = (), fixed=None):
        """(q, v) put back on the constraints, nearest in the metric of the mass matrix; where a joint moves nothing with
        inertia, so that there is no such metric, by `lift`.

        `hold` names joints (or numbers velocities) that stay as they are: the others alone take the correction.
        """
        if fixed is not None:
            if len(hold):  # type: ignore[arg-type]
                raise OptionError("project was given hold= and fixed=, the old and the new name of one thing; give hold= alone.")
            deprecated("project(fixed=...)", "project(hold=...)")
            hold = fixed
        if held := _listed(hold):
            self._check_state(q, v)
            return projection.project(self.set, q, v, t, held, self._open(PUT_BACK))
        return self._returned(q, v, t, dependent=self.set.massless)[0]

    @in_given_precision
    def lift(self, q, v, t=0.0):
        """(q, v) put back on the constraints by its dependent velocities alone, the independent ones as they are."""
        return self._returned(q, v, t, dependent=True)[0]

    def lifted(self, q, v, t, first: Pick | None):
        """The same with one choice of dependent velocities first, and how good that choice still is, 1 where it was made."""
        return self._returned(q, v, t, dependent=True, first=first)

    @in_given_precision
    def tangent(self, q, w, t=0.0):
        """Of velocities w (m, nv) at one q the part that `project` would leave of them, drives at rest."""
        if self.set.massless:
            return w
        if self.compiled:
            both = np.concatenate([w, np.zeros_like(w[:1])])  # what drives ask for comes out of zero
            (_, allowed, _), bad = self._nearest(np.broadcast_to(q, (len(both), len(q))), both, t=t)
            if bad is None:
                return allowed[:-1] - allowed[-1]
        return projection.tangent(self.set, q, w, t)

    def _returned(self, q, v, t, dependent: bool, first: Pick | None = None):
        """The state on the constraints and the quality of the choice. Steps run as kernels until c is rounding; samples that
        no choice serves, or that do not get there, are put back in NumPy, by singular values."""
        q, v = (np.asarray(x, float) for x in (q, v))
        plain = partial(projection.lift if dependent else projection.project, tolerance=self._open(PUT_BACK))
        if not self.compiled or not np.size(q):
            return plain(self.set, q, v, t), 1.0
        step = self._dependent if dependent else self._nearest
        try:
            (there, slow, size, *quality), bad = step(q, v, t=t, first=first)
        except ValueError:
            self._check_state(q, v)
            raise
        here, unserved, batch = q, np.zeros(size.shape, bool) if bad is None else bad, size.shape
        going = size > ROUNDING  # each sample goes on by itself, whatever the others do
        for _ in range(RETURNS):
            if not going.any():
                break
            (further, slower, less, *better_quality), worse = step(there, v, t=t, first=first)
            going = going & (less < 0.5 * size)
            if not batch:
                if going:
                    here, there, slow, size, quality = there, further, slower, less, better_quality
                    unserved = unserved if worse is None else worse
            else:
                take = going[..., None]
                here, there, slow = np.where(take, there, here), np.where(take, further, there), np.where(take, slower, slow)
                size, quality = np.where(going, less, size), [np.where(going, new, old) for new, old in zip(better_quality, quality)]
                unserved = unserved if worse is None else np.where(going, worse, unserved)
            going = going & (less > ROUNDING)
        open_ = unserved | (size > PUT_BACK)
        if open_.any():
            here, slow, start, fast = (np.broadcast_to(x, (*batch, x.shape[-1])) for x in (here, slow, q, v))
            here, slow = here.copy(), slow.copy()
            here[open_], slow[open_] = plain(self.set, start[open_], fast[open_], t)
        return (here, slow), float(np.min(quality)) if quality else 1.0

    @cached_property
    def _nearest(self) -> ChoiceKernels:
        return self.function("nearest_step", nearest_step, "q", "v")

    @cached_property
    def _dependent(self) -> ChoiceKernels:
        return self.function("dependent_step", dependent_step, "q", "v")

    def _check_state(self, q, v=None) -> None:
        lowered, arrays = self.robot.lowered, [np.asarray(array_of(*x)) for x in (("q", q), ("v", v)) if x[0] == "q" or x[1] is not None]
        lowered.check([lowered.input(name, SIZES[name]) for name, _ in zip(("q", "v"), arrays)], arrays)

    def random_state(self, seed=None, reach=1.0):
        """A state that keeps the constraints, near the assembly closest to neutral."""
        rng = np.random.default_rng(seed)
        start = self.assemble(self.robot.neutral())
        for scale in (reach, reach / 2, reach / 4, reach / 8, reach / 16, 0.0):
            guess = self.robot.integrate(start, scale * rng.uniform(-1, 1, self.nv))
            try:
                q = self.assemble(guess)
                break
            except ValueError:
                continue
        return self.project(q, rng.standard_normal(self.nv))

    # --- dynamics

    def forward_dynamics(self, q, v, tau, external=None, *, t=0.0, method=None, stabilization=None, out=None):
        """v̇ (..., nv) that forces τ make under the constraints; `method` as in `solution`, None for `picked`.

        Where there are kernels (`picked` is "embedded kernel") they run by default.
        """
        quick = method is None and self.compiled and stabilization is None
        try:
            if quick and q.dtype.char == "d" and q.size:
                return self._by_kernels(q, v, tau, external, self._time(t), out)
        except (AttributeError, TypeError, ValueError) as error:
            if isinstance(error, LinkworkError) and not isinstance(error, TraceError):
                raise
        q, v, tau, external, kind = self._checked(q, v, tau, external)
        if quick:
            vdot = self._by_kernels(q, v, tau, external, self._time(t))
        else:
            vdot = self.in_numpy(q, v, tau, external, t=t, method=method, stabilization=stabilization)
        vdot = vdot.astype(kind, copy=False)
        return run_into(lambda x, out=None: x if out is None else put_into(out, x), (vdot,), out, "forward_dynamics")

    def _by_kernels(self, q, v, tau, external, t, out=None):
        arrays = (q, v, tau) if external is None else (q, v, tau, external)
        run = self._dynamics[external is not None]
        if not np.size(q):
            return np.zeros((*np.broadcast_shapes(*(x.shape[: x.ndim - len(i.shape)] for x, i in zip(arrays, run.inputs))), self.nv))
        if out is not None and any(np.may_share_memory(out, x) for x in arrays):  # which are needed to the end
            return put_into(out, self._by_kernels(q, v, tau, external, t))
        (vdot,), bad = run(*arrays, out=None if out is None else (out,), t=t)
        if bad is not None:
            one, two, force, *push = (np.broadcast_to(x, bad.shape + i.shape)[bad] for x, i in zip(arrays, run.inputs))
            vdot[bad] = self.in_numpy(one, two, force, push[0] if push else None, t=t)
        return vdot

    @cached_property
    def _dynamics(self) -> tuple[ChoiceKernels, ChoiceKernels]:
        def function(system, *state):
            return (dynamics(system, *state),)

        state = "q", "v", "tau"
        return (
            self.function("constrained_forward_dynamics", function, *state),
            self.function("constrained_forward_dynamics_external", function, *state, "external"),
        )

    def ask(self, bound: Bound, arrays, out=None, t=None):
        """A quantity that honours constraints, such as the compliance of a task; `forward_dynamics` has a way of its own."""
        if any(isinstance(x, Traced) for x in arrays):
            raise self._no_kernel_inside(bound.name)
        if bound.name == "hybrid_dynamics":
            return self.hybrid_dynamics(*arrays, t=t, out=out)
        if bound.name == "joint_wrenches":
            return self._joint_wrenches(bound.options[0], dict(zip((x.name for x in bound.inputs), arrays)), t, out)
        arrays, kind = self._arrays(bound.name, {x.name: a for x, a in zip(bound.inputs, arrays)})
        t, several = self._time(t), bound.quantity.several

        def function(system, *state):
            results = bound.of_system(system, state)
            system.check_pivots()
            return results if several else (results,)

        def in_numpy(choices, *state):
            system = system_at(self.loops, choices, t)
            results = bound.of_system(system, state)
            check_closed(self.set, Rows(residual(self.loops, system.rows, state[0]), None, None, None))
            return results if several else (results,)

        cores = [len(x.shape) for x in bound.inputs]
        if self.compiled and self.nv:
            name = f"constrained_{bound.name}"
            results, bad = self.function(name, function, *(x.name for x in bound.inputs), bound=bound)(*arrays, t=t)
            if bad is not None:
                some = [np.broadcast_to(x, bad.shape + i.shape)[bad] for x, i in zip(arrays, bound.inputs)]
                for whole, x in zip(results, by_choice(self.loops, some, cores, t, in_numpy)):
                    whole[bad] = x
        else:
            results = by_choice(self.loops, arrays, cores, t, in_numpy)
        results = [np.asarray(x).astype(kind, copy=False) for x in results]
        if out is not None:
            return put_into(out, *results)
        return tuple(results) if several else results[0]

    def in_numpy(self, q, v, tau, external=None, *, t=0.0, method=None, stabilization=None):
        """v̇ without kernels: by correction of the tree's accelerations and singular values, or, where the tree alone has none
        or is large, by embedding."""
        if method is None:
            large = self.set.massless or (self.robot.rolled and not self.compiled)
            method = "embedded" if self.set.embeddable and large and stabilization is None else "augmented"
        if method == "embedded" and stabilization is None:  # no multipliers: linear in the number of loops
            return embedded_dynamics(self.loops, q, v, tau, external, self._time(t))
        return self.solution(q, v, tau, external, t=self._time(t), method=method, stabilization=stabilization).vdot

    def _checked(self, q, v, tau, external):
        """Arrays of the right shapes, or it is said which is not."""
        given = {"q": q, "v": v, "tau": tau} | ({} if external is None else {"external": external})
        arrays, kind = self._arrays("forward_dynamics", given)
        return *arrays, *(() if external is not None else (None,)), kind

    def _arrays(self, name: str, given: dict[str, Any]) -> tuple[list[np.ndarray], np.dtype]:
        """What was given as float64 arrays of the right shapes, and the dtype of the result."""
        if any(isinstance(x, Traced) for x in given.values()):
            raise self._no_kernel_inside(name)
        if any(on_device(x) for x in given.values()):
            raise ModelError(
                f"{name} of {self.robot.model.name}, which has loops, couplings or constraints, runs on the CPU: "
                "give it NumPy arrays, such as x.cpu().numpy()."
            )
        arrays = [np.asarray(array_of(x, array)) for x, array in given.items()]
        self.robot.lowered.check([self.robot.lowered.input(x, ARRAYS[x]) for x in given], arrays)
        return [x.astype(float, copy=False) for x in arrays], working_dtype(*arrays)

    def _each(self, name: str, given: dict[str, Any], out, function):
        """function(kind, arrays by name...), in NumPy, over a batch: a sample that is not finite gets NaN, and the others their results.
        tau and external may be None."""
        given = {x: array for x, array in given.items() if array is not None or x not in ("tau", "external")}
        arrays, kind = self._arrays(name, given)
        names = list(given)
        cores = [len(ARRAYS[x]) for x in names]
        batch = np.broadcast_shapes(*(x.shape[: x.ndim - n] for x, n in zip(arrays, cores)))
        finite = np.ones(batch, bool)
        for x, n in zip(arrays, cores):
            finite &= np.isfinite(x).all(tuple(range(x.ndim - n, x.ndim)))
        if finite.all():
            result = function(kind, **dict(zip(names, arrays)))
            result = np.broadcast_to(result, batch + result.shape[len(batch) :])
        else:
            some = [np.broadcast_to(x, batch + x.shape[x.ndim - n :])[finite] for x, n in zip(arrays, cores)]
            found = function(kind, **dict(zip(names, some)))
            result = np.full((*batch, *found.shape[1:]), np.nan)
            result[finite] = found
        result = result.astype(kind)
        if out is not None and np.shape(out) != result.shape:
            raise ShapeError(f"out has shape {np.shape(out)}, but {name} of these arrays has {result.shape}.")
        return result if out is None else put_into(out, result)

    def _no_kernel_inside(self, name: str) -> TraceError:
        return TraceError(
            f"{name} of {self.robot.model.name}, which has loops, couplings or constraints, cannot be part of another kernel: which "
            f"velocities depend on which is decided from numbers. Call robot.{name}(...) outside, and give the kernel its result."
        )

    @in_given_precision
    def solution(self, q, v, tau, external=None, *, t=0.0, method="augmented", stabilization=None) -> Solution:
        """v̇ and multipliers."""
        if method not in METHODS:
            raise ModelError(f'there is no method "{method}"; there are {", ".join(METHODS)}.')
        if method == "augmented":
            return augmented(self.set, q, v, tau, external, t, stabilization)
        if stabilization is not None:
            raise ModelError(f'method "{method}" takes no stabilization; "augmented" does.')
        if method == "embedded":
            vdot = embedded_dynamics(self.loops, q, v, tau, external, t)
            return self._with_multipliers(q, v, tau, vdot, external, t)
        vdot, lam = projected(self.set, q, v, tau, external, t)
        rows = self.set.rows(q, t=t)
        rank = np.linalg.matrix_rank(self.set.without_units(rows.Jc), rtol=1e-9)
        return Solution(vdot, lam, rank, rows.Jc)

    def _with_multipliers(self, q, v, tau, vdot, external, t) -> Solution:
        """The multipliers of accelerations that are known: 𝓜 v̇ + 𝓒 − τ = Jc* λ."""
        rows, robot = self.set.rows(q, v, t), self.robot
        needed = robot.inverse_dynamics(q, v, vdot) if external is None else robot.inverse_dynamics(q, v, vdot, external)
        lam = np.matvec(np.linalg.pinv(rows.Jc.mT, rcond=np.max(rank_tolerance(self.set, rows))), needed - tau)
        return Solution(vdot, lam, np.linalg.matrix_rank(self.set.without_units(rows.Jc), rtol=1e-9), rows.Jc)

    @in_given_precision
    def constraint_forces(self, q, v, tau, external=None, *, t=0.0) -> Forces:
        """Multipliers, the wrenches of constraints on bodies, and those in the joints of the tree."""
        q, v, tau, external, kind = self._checked(q, v, tau, external)
        vdot = self.forward_dynamics(q, v, tau, external, t=t)
        return constraint_forces(self.set, q, v, tau, vdot, external, self._time(t), kind)

    def joint_wrenches(self, q, v, vdot, *bodies: str, tau=None, external=None, t=None, out=None):
        """What the joints of bodies carry (..., n, 6), as `Dynamics.joint_wrenches` says."""
        (numbers,) = some_bodies(self.robot.model, *bodies)
        return self._joint_wrenches(numbers, {"q": q, "v": v, "vdot": vdot, "tau": tau, "external": external}, t, out)

    def _joint_wrenches(self, bodies, given, t, out):
        t = self._time(t)

        def found(kind, q, v, vdot, tau=None, external=None):
            return wrenches_in_joints(self.set, q, v, vdot, tau, bodies, external, t, kind)

        return self._each("joint_wrenches", given, out, found)

    def hybrid_dynamics(self, q, v, given, prescribed, external=None, *, t=None, out=None):
        """Forces where `given` is an acceleration (prescribed = 1), accelerations where it is a force (0), constraints kept."""
        t = self._time(t)

        def found(kind, **arrays):
            return prescribed_joints.hybrid_dynamics(self.set, **arrays, t=t, kind=kind)

        arrays = {"q": q, "v": v, "given": given, "prescribed": prescribed, "external": external}
        return self._each("hybrid_dynamics", arrays, out, found)

    def possible(self, q, v, vdot, t=None, out=None):
        """The acceleration nearest to v̇ (..., nv) that keeps the constraints; lengths count against the size of the mechanism."""
        t = self._time(t)

        def found(kind, q, v, vdot):
            return possible(self.set, self.set.rows(q, v, t), vdot)

        return self._each("possible", {"q": q, "v": v, "vdot": vdot}, out, found)

    @in_given_precision
    def compliance(self, q, t=0.0) -> np.ndarray:
        """v̇ for each unit of τ under the constraints (..., nv, nv), what 𝓜⁻¹ is without: Y = Y*, Jc Y = 0, Y 𝓜 X = X."""
        root = self.compliance_root(q, t)
        return root @ root.mT

    def compliance_root(self, q, t=0.0) -> np.ndarray:
        """R (..., nv, nv) with Y = R R*: of J Y J* = (J R) (J R)* it keeps the rank, and every digit of what hardly moves.

            R = F L⁻*,   F 𝓜 F + s B = L L*        B and F = I − B project on what Jc binds, and what it leaves free; s any mass
        """
        rows, reach = self.set.rows(q, t=self._time(t)), self.set.reach
        check_closed(self.set, rows)
        M = self.robot.mass_matrix(q) * reach[:, None] * reach
        free, s = free_directions(self.set, rows), np.trace(M, axis1=-2, axis2=-1)[..., None, None] / max(self.nv, 1)
        L = np.linalg.cholesky(free @ M @ free + s * (np.eye(self.nv) - free))
        return reach[:, None] * np.linalg.solve(L, free).mT

    @in_given_precision
    def move_squeeze(self, q, tau, W=None, t=0.0):
        """(move, squeeze): the part of τ that moves it, and the part that the constraints carry."""
        return move_squeeze(self.set, q, tau, W, t)

    def motor_forces(self, q, v, vdot, motors=None, external=None, W=None, t=None, out=None):
        """Forces (..., nv) of the named motors alone that make v̇, of least norm where there are more than it takes, as
        `Dynamics.motor_forces` says; with W of least W-norm."""
        t = self._time(t)

        def found(kind, **arrays):
            return motor_forces(self.set, **arrays, motors=motors, W=W, t=t, kind=kind)

        return self._each("motor_forces", {"q": q, "v": v, "vdot": vdot, "external": external}, out, found)

    def actuation(self, q, motors=None, t=None) -> Actuation:
        """What motors (names of joints; None: all) can do at one configuration: print it."""
        return actuation(self.set, np.asarray(q, float), motors, self._time(t))

    def contradiction(self, q, t=0.0) -> str:
        """What to say of constraints that contradict each other at q by less than the tolerance, if there is one; else nothing."""
        if self.tolerance is None:
            return ""
        rows = self.set.rows(q, t=t)
        if not self.set.misfit(rows.c) > PUT_BACK:
            return ""
        return (
            "the constraints contradict each other and are met in the least-squares sense: "
            f"open are {', '.join(self.set.bad(rows.c, PUT_BACK))}"
        )

    # --- other views

    def reduced(self, q, t=0.0) -> Reduced:
        """The minimal view, its velocities chosen at q."""
        return Reduced.of(self.set, q, t)

    def embedded(self, q, v=None, external=None, *, t=None) -> Embedded:
        """The SKO model in minimal velocities at a state: every operator and sweep of chapter 9 runs on it."""
        q = np.asarray(q, float)
        v = np.zeros((*q.shape[:-1], self.nv)) if v is None else np.asarray(v, float)
        return Embedded.of(self.set, self.loops, q, v, external, self._time(t))

    def integrable(self, q, t=0.0) -> bool:
        """Do the constraints bind positions, or only velocities?"""
        return integrable(self.set, q, t)

    @property
    def picked(self) -> str:
        """How forward dynamics runs by default: without kernels, large robots and those with joints that move nothing with
        inertia by embedding in plain NumPy, others by correction of the tree's."""
        if self.compiled:
            return "embedded kernel"
        return "embedded" if self.set.embeddable and (self.robot.rolled or self.set.massless) else "augmented"

    def __repr__(self) -> str:
        plain = [f'"{x.name}"' for x in self.set.constraints if not x.traceable]
        said = f"; no kernels, because {', '.join(plain)} cannot be traced, or would be too long" if plain else ""
        return f"<{self.robot.model.name} with {len(self.names)} constraints, {len(self)} rows{said}>"


def _listed(hold) -> tuple:
    """Joints or velocities to hold, one or several."""
    if hold is None:
        return ()
    return (hold,) if isinstance(hold, (str, int)) and not isinstance(hold, bool) else tuple(hold)
