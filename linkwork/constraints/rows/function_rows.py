"""Constraints given by functions of the user. A function that can be traced is part of kernels, and its derivatives are exact;
one that cannot is called in NumPy, sample by sample, and differentiated by differences of sixth order."""

import inspect
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...engine.differentiation.derivatives import along, directional, rate, used
from ...engine.loading.interpreter import run
from ...engine.tracing.array import Traced
from ...engine.tracing.program import Input, Program, record
from ...errors import ModelError, ShapeError, TraceError
from ...model import Holonomic, Pfaffian
from ...quantities import coordinate_rates, integrate
from .coordinate_rows import moved
from .differences import STEP, first, second, step
from .kinematics import Kinematics
from .rows import Constraint, Rows

LONGEST = 50_000  # operations of rows and their rates: what takes more is evaluated in NumPy

TRIES = 3  # configurations at which the unit of a function is looked for


@dataclass(frozen=True, eq=False)
class FunctionRows(Constraint):
    """Rows that a function of all coordinates gives."""

    name: str
    function: Callable
    count: int
    lowered: Any

    @property
    def labels(self):
        return tuple(f"row {i + 1}" for i in range(self.count))

    @property
    def functions(self) -> tuple:  # type: ignore[override]
        return (self.function,)

    @property
    def traceable(self) -> bool:  # type: ignore[override]
        return self.program is not None

    @property
    def embeddable(self):
        return self.traceable

    @cached_property
    def time(self) -> str | None:
        """How the function takes time: "by place", "by name", or not at all (None)."""
        return time_of(self.function, self.name)

    @property
    def moves(self) -> bool:  # type: ignore[override]
        return self.time is not None

    def called(self, q, t):
        """What the function gives."""
        if self.time is None:
            return self.function(q)
        return self.function(q, t) if self.time == "by place" else self.function(q, t=t)

    @property
    def program(self) -> Program | None:
        """(q, v, t) -> c, Jc, U, γ; None where the function cannot be traced, or is too long for a kernel."""
        return self._recorded[0]

    @property
    def why_plain(self) -> str:  # type: ignore[override]
        return self._recorded[1]

    @cached_property
    def _recorded(self) -> tuple[Program | None, str]:
        """The program, or why there is none."""
        inputs = self.lowered.input("q", ("nq",)), self.lowered.input("v", ("nv",)), Input("t", ())
        nodes = self.lowered.plain()
        try:
            made = record(self.name, lambda q, v, t: self.traced(nodes, q, v, t), inputs)
        except ShapeError:
            raise
        except Exception as error:  # whatever the function does with what is no array of numbers
            return None, f"cannot be traced: {error}"
        return (made, "") if len(made.live) <= LONGEST else (None, f"takes {len(made.live)} operations, and kernels {LONGEST} at most")

    @abstractmethod
    def traced(self, nodes, q: Traced, v: Traced | None, t: Traced) -> tuple:
        """c, Jc, U and γ of one sample, over traced scalars."""

    @abstractmethod
    def by_differences(self, nodes, q, v, t) -> tuple:
        """The same over floats: v, and with it γ, may be None."""

    def rows(self, motion: Kinematics) -> Rows:
        if self.program is None:
            return self._sample_by_sample(motion)
        if isinstance(motion.q, Traced):
            c, Jc, U, gamma = self.traced(motion.nodes, motion.q, motion.v, motion.q.like(motion.t))
        else:
            v = np.zeros(motion.nodes.tree.nv) if motion.v is None else motion.v
            c, Jc, U, gamma = run(self.program, {"q": motion.q, "v": v, "t": np.asarray(motion.t, float)})
        return Rows(c if self.holonomic else None, motion.over(Jc), U, None if motion.v is None else gamma)

    def _sample_by_sample(self, motion: Kinematics) -> Rows:
        batch, count = motion.batch, self.count
        c, Jc, U, gamma = (np.zeros((*batch, *size)) for size in ((count,), (count, motion.nodes.tree.nv), (count,), (count,)))
        q = np.broadcast_to(motion.q, batch + motion.q.shape[-1:])
        v = None if motion.v is None else np.broadcast_to(motion.v, batch + motion.v.shape[-1:])
        for i in np.ndindex(*batch):
            c[i], Jc[i], U[i], gamma[i] = self.by_differences(motion.nodes, q[i], None if v is None else v[i], motion.t)
        return Rows(c if self.holonomic else None, motion.over(Jc), U, None if v is None else gamma)

    def scale(self, size, reach):
        """The largest change of each row by a radian, or by the size of the mechanism, at a few configurations: it says what unit the
        function is in."""
        nodes, away = self.lowered.plain(), reach * np.random.default_rng(0).uniform(-1, 1, (TRIES, len(reach)))
        try:
            with np.errstate(all="ignore"):
                q = integrate(nodes, np.concatenate([np.zeros(0), *(group.identity for group in nodes.groups)]), away)
                found = np.abs(self.rows(Kinematics(nodes, q, None, 0.0)).Jc * reach)
        except (ArithmeticError, ValueError):  # it may not be defined there
            return np.ones(self.count)
        largest = np.where(np.isfinite(found), found, 0.0).max((0, 2), initial=0.0)
        return np.where(largest > 0, largest, 1.0)

    # --- which velocities it binds

    def touched(self, nodes):
        if self.program is None:
            return super().touched(nodes)
        return moved(nodes, self._bound)

    @cached_property
    def _bound(self) -> list[int]:
        """The velocities of coordinates that it depends on, and those that it has a row over; all, if there are none."""
        nodes, program = self.lowered.plain(), self.program
        assert program is not None
        c, Jc, U, gamma = (Traced(program.trace, np.reshape(x.refs, x.shape)) for x in program.outputs)
        at = {i for y in (c, Jc, U, gamma) for name, i in used(y) if name == "q"}
        own = [rows for k, rows in enumerate(nodes.tree.rows) if at & set(range(*nodes.q_rows[k].indices(nodes.nq)))]
        found = {j for rows in own for j in range(rows.start, rows.stop)} | set(np.flatnonzero(Jc.refs.any(0)).tolist())
        return sorted(found) or list(range(nodes.tree.nv))

    def _shaped(self, x, shape):
        """What the function gave, as an array of a known shape."""
        found = x if isinstance(x, Traced) else _together(x)
        found = found.reshape((1,) * (len(shape) - found.ndim) + found.shape) if found.ndim < len(shape) else found
        if not isinstance(found, Traced) and found.dtype.kind not in "fiub":
            raise ShapeError(f'the function of "{self.name}" gives {x!r}, which are no numbers.')
        if found.shape != shape:
            raise ShapeError(f'the rows of "{self.name}" have shape {found.shape}; with count = {self.count} they take {shape}.')
        return found


@dataclass(frozen=True, eq=False)
class HolonomicRows(FunctionRows):
    """A function c(q, t) = 0, or c(q) = 0:

        Jc e = ∂c along e,   U = −∂c/∂t,   γ = d²c/ds² along (v, 1)
    """

    @staticmethod
    def of(x: Holonomic, robot) -> "HolonomicRows":
        return HolonomicRows(x.name, x.function, x.count, robot.lowered)

    def value(self, q, t):
        """c (count,)."""
        return self._shaped(self.called(q, t), (self.count,))

    def traced(self, nodes, q, v, t):
        c = q.like(self.value(q, t))
        time = {} if not self.moves else along(t, 1.0)
        velocities = coordinate_rates(nodes, q)
        Jc = directional(c, [along(q, column) for column in velocities.T])
        U = -rate(c, along(q, 0.0) | time)  # q and v stand still, also where they are themselves made from t
        gamma = None
        if v is not None:
            motion = along(v, 0.0) | along(q, velocities @ v) | time
            gamma = rate(rate(c, motion), motion)
        return c, Jc, U, gamma

    def by_differences(self, nodes, q, v, t):
        def at(dv, s):
            return np.asarray(self.value(integrate(nodes, q, dv), t + s), float)

        n = nodes.tree.nv
        Jc = np.stack([first(lambda s, e=e: at(s * e, 0.0)) for e in np.eye(n)], -1)
        U = -first(lambda s: at(np.zeros(n), s), STEP) if self.moves else np.zeros(self.count)
        return at(np.zeros(n), 0.0), Jc, U, np.zeros(self.count) if v is None else second(lambda s: at(s * v, s), step(v))


@dataclass(frozen=True, eq=False)
class PfaffianRows(FunctionRows):
    """Rows Jc(q, t) v = U(t):  γ = J̇c v − U̇                                                           Jain (11.4), (11.6)."""

    values: Any = 0.0  # numbers, or a function of t
    holonomic = False

    @staticmethod
    def of(x: Pfaffian, robot) -> "PfaffianRows":
        return PfaffianRows(x.name, x.matrix, x.count, robot.lowered, x.value)

    @property
    def functions(self) -> tuple:  # type: ignore[override]
        return (self.function, self.values) if callable(self.values) else (self.function,)

    @property
    def moves(self) -> bool:  # type: ignore[override]
        return self.time is not None or callable(self.values)

    def U(self, t):
        """U (count,) at a time."""
        values = self.values(t) if callable(self.values) else self.values
        found = values if isinstance(values, Traced) else _together(values)
        return self._shaped(found if found.ndim else np.broadcast_to(found, (self.count,)), (self.count,))

    def matrix(self, q, t, nv):
        return self._shaped(self.called(q, t), (self.count, nv))

    def traced(self, nodes, q, v, t):
        Jc, U, time = q.like(self.matrix(q, t, nodes.tree.nv)), q.like(self.U(t)), along(t, 1.0) if self.moves else {}
        gamma = None
        if v is not None:
            gamma = np.matvec(rate(Jc, along(q, coordinate_rates(nodes, q) @ v) | time), v) - rate(U, time)
        return q.like(np.zeros(self.count)), Jc, U, gamma

    def by_differences(self, nodes, q, v, t):
        def at(s):
            return np.asarray(self.matrix(q if v is None else integrate(nodes, q, s * v), t + s, nodes.tree.nv), float)

        zero, U = np.zeros(self.count), lambda s: np.asarray(self.U(t + s), float)
        gamma = zero if v is None else first(at, step(v)) @ v - (first(U, STEP) if callable(self.values) else 0.0)
        return zero, at(0.0), U(0.0), gamma


def time_of(function: Callable, name: str) -> str | None:
    """How a function takes time: "by place", as a second argument that must be given or is called t, "by name", as an argument t that
    has no place, or not at all."""
    try:
        arguments = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a function that does not say
        return "by place"
    places = [x for x in arguments if x.kind in (x.POSITIONAL_ONLY, x.POSITIONAL_OR_KEYWORD)]
    named = [x for x in arguments if x.kind == x.KEYWORD_ONLY]
    must = [x.name for x in (*places[2:], *(x for x in named if x.name != "t")) if x.default is x.empty]
    if must or not (places or any(x.kind == x.VAR_POSITIONAL for x in arguments)):
        takes = f"must be given {', '.join(must)} too" if must else "takes none"
        raise ModelError(f'constraint "{name}": its function is called with q, or with q and t, but {takes}.')
    if any(x.name == "t" for x in named):
        return "by name"
    if len(places) < 2:
        return "by place" if any(x.kind == x.VAR_POSITIONAL for x in arguments) else None
    return "by place" if places[1].default is places[1].empty or places[1].name == "t" else None


def _together(x):
    """Nested lists of numbers, traced or not, as an array."""
    if not isinstance(x, (list, tuple)):
        return x if isinstance(x, Traced) else np.asarray(x)
    parts = [_together(e) for e in x]
    if len({p.shape for p in parts}) > 1:
        raise TraceError("rows of different lengths")
    return np.stack(parts) if parts else np.zeros(0)
