"""All constraints of a robot together."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...engine.loading.kernel import Kernel
from ...engine.tracing.program import Input
from ...errors import ConstraintError, ModelError, PlainWarning, UnknownNameError
from ...model import Distance, Driven, Holonomic, KnifeEdge, Linear, Pfaffian, Rolling, Touching
from ...systems.singular import singular
from .compound_loop_rows import CompoundLoopRows
from .coordinate_rows import CouplingRows, LinearRows
from .distance_rows import DistanceRows
from .driven_rows import DrivenRows
from .function_rows import HolonomicRows, PfaffianRows
from .kinematics import Kinematics
from .loop_rows import LoopRows
from .rank import without_small_rows
from .rolling_rows import KnifeEdgeRows, RollingRows, TouchingRows
from .rows import Constraint, Rows, stacked
from .slopes import RowSlopes

DRIVE = "drive"  # the name of the input that says where drives are
SPREAD = 0.01  # of its size: what the spread of a modal coordinate deforms a body by


@dataclass(frozen=True, eq=False)
class ConstraintSet:
    """The active loops and couplings of a model, and what else is given."""

    robot: Any
    constraints: tuple[Constraint, ...]
    more: tuple = ()  # what was given besides the model, as it was given

    @staticmethod
    def of(robot, *more: Constraint) -> "ConstraintSet":
        model = robot.model
        loops = [closed(loop, model) for loop in model.loops if loop.active and loop.joint.nv < 6]
        couplings = [CouplingRows.of(coupling, robot) for coupling in model.couplings if coupling.active]
        all_of_them = (*loops, *couplings, *(bound(x, robot) for x in (*model.constraints, *more)))
        names = [x.name for x in all_of_them]
        for name in names:
            if names.count(name) > 1:
                raise ModelError(f'{model.name} has two constraints of the name "{name}"; each needs a name of its own.')
        return ConstraintSet(robot, all_of_them, more)

    def __reduce__(self):
        return ConstraintSet.of, (self.robot, *self.more)

    @cached_property
    def nodes(self):
        return self.robot.lowered.plain()

    @property
    def system(self):
        """The tree without the constraints."""
        return self.robot.lowered.system(self.nodes)

    @cached_property
    def slices(self) -> dict[str, slice]:
        """The rows of each constraint."""
        ends = np.cumsum([0, *map(len, self.constraints)])
        return {x.name: slice(int(a), int(b)) for x, a, b in zip(self.constraints, ends, ends[1:])}

    @cached_property
    def labels(self) -> tuple[tuple[str, str], ...]:
        """(constraint, what the row forbids) of each row."""
        return tuple((x.name, label) for x in self.constraints for label in x.labels)

    @cached_property
    def holonomic(self) -> np.ndarray:
        """Which rows bind positions."""
        return np.array([x.holonomic for x in self.constraints for _ in x.labels], bool)

    @cached_property
    def moving(self) -> tuple[str, ...]:
        """The names of constraints that depend on time."""
        return tuple(x.name for x in self.constraints if x.moves)

    @cached_property
    def size(self) -> float:
        """A length of the mechanism: the longest way between two of its joints."""
        return self.robot.model.size

    @cached_property
    def scale(self) -> np.ndarray:
        """What residuals are measured against, row by row: a radian, or the size of the mechanism; of functions what these change."""
        return np.concatenate([np.zeros(0), *(x.scale(self.size, self.reach) for x in self.constraints)])

    @cached_property
    def reach(self) -> np.ndarray:
        """What velocities are measured against, one by one: a radian a second, or the size of the mechanism; of modal coordinates what
        deforms their body by its own size."""
        out = np.where(self.turns, 1.0, self.size)
        model = self.robot.model
        out[self.modal] = [x / SPREAD for name in model.flexible_bodies for x in model.joint(name).joint.spread]
        return out

    @cached_property
    def modal(self) -> np.ndarray:
        """The numbers of velocities that are rates of modal coordinates."""
        return np.array([i for name in self.robot.model.flexible_bodies for i in np.arange(self.robot.nv)[self.robot.v_index(name)]], int)

    @cached_property
    def turns(self) -> np.ndarray:
        """Which velocities turn something."""
        return np.concatenate([np.zeros(0, bool), *(group.basis[:, :3].any(-1) for group in self.nodes.groups)])

    def without_units(self, Jc):
        """Jc without units: rows against their scale, velocities against their reach."""
        return Jc * self.reach / self.scale[:, None]

    @cached_property
    def yielding(self) -> np.ndarray:
        """How readily each velocity (nv,) closes loops: a radian or the mechanism's size of joints, and of modal coordinates what deforms
        their body by a percent."""
        out = self.reach.copy()
        out[self.modal] *= SPREAD
        return out

    def not_held(self, hold) -> np.ndarray:
        """Which velocities may change (nv,) when these joints, by name, or velocities, by number, stay as they are."""
        free = np.ones(self.robot.nv, bool)
        for x in hold:
            if isinstance(x, str):
                free[self.robot.v_index(x)] = False
            elif isinstance(x, bool) or not isinstance(x, (int, np.integer)) or not 0 <= x < self.robot.nv:
                raise UnknownNameError(f"hold has {x!r}; it takes names of joints, or numbers of velocities below {self.robot.nv}.")
            else:
                free[x] = False
        return free

    def __len__(self) -> int:
        return len(self.labels)

    def motion(self, q, v=None, t=0.0) -> Kinematics:
        return Kinematics(self.nodes, np.asarray(q, float), None if v is None else np.asarray(v, float), t)

    def rows(self, q, v=None, t=0.0) -> Rows:
        """All rows, one below the other; a constraint that gives no numbers at a state that is made of numbers raises."""
        found = self.rows_on_trial(q, v, t)
        self.check_numbers(found, q, v)
        return found

    def rows_on_trial(self, q, v=None, t=0.0) -> Rows:
        """The same where a search may have gone too far: what is no number stays so. By kernels where every constraint has one."""
        if self.traced and np.size(q):
            state = [q] if v is None else [q, v]
            run = self._position_rows if v is None else self._rows
            c, Jc, U, *gamma = run(*state, *self.driven(t))
            return Rows(c, without_small_rows(Jc, self.scale, self.reach), U, gamma[0] if gamma else None)
        rows = self.stacked(self.motion(q, v, t))
        return replace(rows, Jc=without_small_rows(rows.Jc, self.scale, self.reach))

    def stacked(self, motion: Kinematics) -> Rows:
        """The rows of all constraints in a motion, one below the other."""
        return stacked([x.rows(motion) for x in self.constraints], motion)

    def moved(self, nodes, q, v=None, drive=()) -> Kinematics:
        """The motion of nodes over any scalar; `drive` has f, ḟ and f̈ (n, 3) of what is driven, if anything is."""
        by_name = self.by_name(drive)
        return Kinematics(nodes, q, v, self.time(by_name), by_name)

    def check_numbers(self, rows: Rows, q, v=None) -> None:
        """Rows at states that are made of numbers are numbers; or it is said whose are not."""
        parts = [x for x in (rows.c, rows.Jc, rows.U, rows.gamma) if x is not None]
        if all(np.isfinite(x).all() for x in parts):
            return
        given = np.isfinite(q).all(-1) & (True if v is None else np.isfinite(v).all(-1))
        wrong = False
        for x in parts:
            wrong = wrong | ~(np.isfinite(x) if x is not rows.Jc else np.isfinite(x).all(-1))
        self.refuse(wrong & given[..., None])

    def refuse(self, wrong) -> None:
        """Raises where some rows (..., m) are no numbers."""
        if wrong.any():
            raise ConstraintError(
                f"{self.robot.model.name}: {self.names_of(wrong)} is not a number in this state, or changes by none (NaN or infinity). "
                "Take a state where it is defined, or write its function so that it and its derivatives are."
            )

    def names_of(self, wrong) -> str:
        """The constraints that some rows (..., m) belong to."""
        return ", ".join(dict.fromkeys(f'"{self.labels[i][0]}"' for i in np.flatnonzero(wrong.reshape(-1, len(self)).any(0))))

    @cached_property
    def embeddable(self) -> bool:
        """Does each constraint hold on to known nodes, so that loops can be nodes of their own?"""
        return all(x.embeddable for x in self.constraints)

    @cached_property
    def massless(self) -> bool:
        """Does some joint move nothing with inertia, so that the tree by itself has no accelerations?"""
        tips_only = self.robot.rolled and self.robot.lowered.is_rigid
        return singular(self.system, None if tips_only else self.robot.random_state(seed=0)[0]) is not None

    @cached_property
    def traced(self) -> bool:
        """Are there kernels for these constraints?"""
        robot = self.robot
        if not (robot.compiled and robot.nv and len(self) and all(x.traceable for x in self.constraints)):
            return False
        if robot.rolled:
            warnings.warn(
                f"{robot.model.name} has {robot.nv} velocities and constraints, which run in plain NumPy here, slower: kernels that loop "
                "over small loops give forward dynamics and the way back to the constraints. Dynamics(model, rolled=False) compiles "
                "straight code, compiled=False means this run.",
                PlainWarning, stacklevel=4,
            )  # fmt: skip
        return not robot.rolled

    _position_rows = cached_property(lambda self: self._kernel(1))
    _rows = cached_property(lambda self: self._kernel(2))

    def _kernel(self, n: int):
        """Of n arrays of the state: (q) -> c, Jc, U, or (q, v) -> c, Jc, U, γ. Where something is driven, its f, ḟ and f̈ come last."""
        robot = self.robot
        state = robot.lowered.input("q", ("nq",)), robot.lowered.input("v", ("nv",))

        def function(q, *rest):
            rows = self.stacked(self.moved(robot.lowered.nodes.over(q), q, rest[0] if n == 2 else None, rest[n - 1 :]))
            return rows.c, rows.Jc, rows.U, *([] if n == 1 else [rows.gamma])

        return Kernel("constraint_rows", function, (*state[:n], *self.inputs), content=self).gufunc("d")

    @cached_property
    def slopes(self) -> RowSlopes:
        """How the rows change with the state."""
        return RowSlopes(self)

    @cached_property
    def drives(self) -> tuple[Constraint, ...]:
        """The constraints that depend on time."""
        return tuple(x for x in self.constraints if x.moves)

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """The input of kernels that says where drives are, if there are any: f, ḟ and f̈ of each."""
        return (Input(DRIVE, (len(self.drives), 3)),) if self.drives else ()

    def driven(self, t) -> list[np.ndarray]:
        """The value of that input at time t, if there is one."""
        return [np.array([x.given(t) for x in self.drives])] if self.drives else []

    def by_name(self, drive) -> dict[str, Any] | None:
        """f, ḟ and f̈ of each drive by its name."""
        return {x.name: drive[0][..., i, :] for i, x in enumerate(self.drives)} if drive else None

    def driven_by_name(self, t) -> dict[str, Any] | None:
        """The same at time t."""
        return self.by_name(self.driven(t))

    def time(self, drive: dict[str, Any] | None):
        """The time among what drives constraints by name; 0 where none of them asks for it."""
        return next((drive[x.name][..., 0] for x in self.drives if not isinstance(x, DrivenRows)), 0.0) if drive else 0.0

    @property
    def decided_by(self) -> tuple:
        """What tells it from others, but for what drives do, which kernels are given: see engine/loading/identity.py."""
        rows = [(x.name, x.places) if isinstance(x, DrivenRows) else (type(x), x) for x in self.constraints]
        return self.robot.lowered, self.size, rows

    def written_out(self, nodes, q, v, drive):
        """closure, Jc, U and γ of all rows over any scalar, for programs and symbols; `drive` is f, ḟ and f̈ (n, 3) of the drives."""
        for x in self.constraints:
            if not x.traceable:
                raise ModelError(
                    f'constraint "{x.name}" of {self.robot.model.name} is a function that cannot be written out in symbols. '
                    "robot.constraints.jacobian(q) and robot.constraints.bias(q, v) have its numbers."
                )
        motion = self.moved(nodes, q, v, [drive] if self.drives else [])
        rows = stacked([replace(x.rows(motion), c=x.closure(motion)) for x in self.constraints], motion)
        return rows.c, rows.Jc, rows.U, rows.gamma

    def residual(self, q, t=0.0):
        """c(q, t) (..., m)."""
        return self.rows(q, t=t).c

    def misfit(self, c):
        """The largest entry of a residual (...), each against its scale."""
        return (np.abs(c) / self.scale).max(-1, initial=0.0)

    def bad(self, c, tolerance: float) -> list[str]:
        """The constraints that a residual breaks, worst first, in words."""
        c = np.abs(c).max(tuple(range(np.ndim(c) - 1)), initial=0.0)
        worst = {name: float(c[rows].max(initial=0.0)) for name, rows in self.slices.items()}
        ratio = {name: float((c[rows] / self.scale[rows]).max(initial=0.0)) for name, rows in self.slices.items()}
        order = sorted((name for name in ratio if not ratio[name] <= tolerance), key=lambda name: -ratio[name])
        return [f'"{name}" by {worst[name]:.3g} ({self.labels[self.slices[name].start + int(np.argmax(c[self.slices[name]]))][1]})'
                for name in order]  # fmt: skip


ROWS: dict[type, Any] = {
    Distance: DistanceRows,
    Driven: DrivenRows,
    Holonomic: HolonomicRows,
    KnifeEdge: KnifeEdgeRows,
    Linear: LinearRows,
    Pfaffian: PfaffianRows,
    Rolling: RollingRows,
    Touching: TouchingRows,
}  # what each constraint of a model demands of velocities


def rows_of(kind: type) -> Callable[[type], type]:
    """Registers the rows that a kind of constraint of models stands for: a decorator of a `Constraint` with a method `of(x, robot)`."""

    def registered(rows: type) -> type:
        ROWS[kind] = rows
        return rows

    return registered


def bound(x, robot) -> Constraint:
    """A constraint on a robot: names of bodies and joints become numbers."""
    if type(x) in ROWS:
        return ROWS[type(x)].of(x, robot)
    if isinstance(x, Constraint):
        return x.bound(robot)
    raise ModelError(f"{robot.model.name}: {x!r} is no constraint; it takes those of linkwork.constraints, or a Constraint of your own.")


def closed(loop, model) -> LoopRows:
    return (LoopRows if len(loop.joint.parts) == 1 else CompoundLoopRows).of(loop, model)
