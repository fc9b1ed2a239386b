"""Dense output: the motion within each step, as the integrator has it, kept whatever rows are stored.

    rk45                    a polynomial of order 4 for each step
    dop853                  of order 7
    radau                   the collocation polynomial, of order 3
    stiff, rosenbrock       of order 3
    rk4, euler, midpoint    a quartic through the ends of each step (order 4, or that of the method if it is lower)

All are in local coordinates, so that between rows a quaternion has norm one.
"""

from typing import Annotated, NamedTuple

import numpy as np

from ...dynamics import Dynamics
from ..methods.interpolate import Polynomial, quartic
from ..methods.record import Growing, Record, Rows
from ..methods.step import Step
from ..state import State, entry_shapes, sizes_of

LIMIT = 1 << 29  # bytes: without dense=True, dense output that takes more than this is given up


class Polynomials(NamedTuple):
    """Polynomials in x = (t − t₀)/h for (ξ, v): one for each step, from its start t₀ = t + late to that of the next.

    `late` is what the rounding of the time t leaves out; tau is linear, with the slope `tau_slope` in x.
    """

    t: Annotated[np.ndarray, "steps"]
    late: Annotated[np.ndarray, "steps"]
    h: Annotated[np.ndarray, "steps"]
    base: Annotated[np.ndarray, "steps", "nq"]
    coefficients: Annotated[np.ndarray, "steps", "powers", "2 nv"]
    tau: Annotated[np.ndarray, "steps", "nv"]
    tau_slope: Annotated[np.ndarray, "steps", "nv"]

    def at(self, robot: Dynamics, t):
        """q, v, vdot and tau at times t (m,)."""
        i = np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, None)
        x = np.clip(((t - self.t[i]) - self.late[i]) / self.h[i], 0.0, 1.0)[:, None]
        c, n = self.coefficients[i], robot.nv
        k = np.arange(c.shape[1])
        y = ((x**k)[:, None] @ c)[:, 0]
        rate = ((k[1:] * x ** k[:-1])[:, None] @ c[:, 1:, n:])[:, 0] / self.h[i, None]
        return robot.integrate(self.base[i], y[:, :n]), y[:, n:], rate, self.tau[i] + x * self.tau_slope[i]

    def between(self, first: float, last: float) -> "Polynomials":
        """Those that are needed from one time to another."""
        begin = max(int(np.searchsorted(self.t, first, side="right")) - 1, 0)
        end = max(int(np.searchsorted(self.t, last, side="right")), begin + 1)
        return Polynomials(*(x[begin:end] for x in self))

    def joined(self, later) -> "Polynomials | None":
        """One part from two, or None if they are of different kinds."""
        if not isinstance(later, Polynomials) or later.coefficients.shape[1:] != self.coefficients.shape[1:]:
            return None
        return Polynomials(*map(np.concatenate, zip(self, later)))


class Ends(NamedTuple):
    """The states at the ends of all steps; between two, a quartic. vdot and tau are linear, tau is constant if it is `held`."""

    rows: Rows
    held: bool = False

    @property
    def t(self) -> np.ndarray:
        return self.rows.t

    def at(self, robot: Dynamics, t):
        """q, v, vdot and tau at times t (m,)."""
        times, at_q, at_v, at_vdot, at_tau = self.rows
        i = np.clip(np.searchsorted(times, t, side="right") - 1, 0, max(len(times) - 2, 0))
        j = np.minimum(i + 1, len(times) - 1)
        h = (times[j] - times[i])[:, None]
        x = np.where(h > 0, (t - times[i])[:, None] / np.where(h > 0, h, 1.0), 1.0)
        xi = robot.difference(at_q[i], at_q[j])
        local, v = quartic(robot, np.where(h > 0, h, 1.0), xi, at_v[i], at_vdot[i], at_v[j], x)
        vdot = (1 - x) * at_vdot[i] + x * at_vdot[j]
        tau = at_tau[i] if self.held else (1 - x) * at_tau[i] + x * at_tau[j]
        return robot.integrate(at_q[i], local), v, vdot, tau

    def between(self, first: float, last: float) -> "Ends":
        begin = max(int(np.searchsorted(self.t, first, side="right")) - 1, 0)
        end = int(np.searchsorted(self.t, last, side="left")) + 1
        return Ends(Rows(*(x[begin:end] for x in self.rows)), self.held)

    def joined(self, later) -> "Ends | None":
        if not isinstance(later, Ends) or later.held != self.held:
            return None
        return Ends(Rows(*(np.concatenate([a[:-1], b]) for a, b in zip(self.rows, later.rows))), self.held)


class Dense(NamedTuple):
    """The dense output of a run: parts in order of time, one for each method used. Without parts, `missing` says why."""

    parts: tuple[Polynomials | Ends, ...] = ()
    missing: str = ""

    def at(self, robot: Dynamics, t) -> list[np.ndarray]:
        """q, v, vdot and tau at times t (m,)."""
        starts = np.array([part.t[0] for part in self.parts])
        which = np.clip(np.searchsorted(starts, t, side="right") - 1, 0, None)
        widths = robot.nq, robot.nv, robot.nv, robot.nv
        out = [np.empty((len(t), width)) for width in widths]
        for k, part in enumerate(self.parts):
            if (here := which == k).any():
                for x, values in zip(out, part.at(robot, t[here])):
                    x[here] = values
        return out

    def between(self, first: float, last: float) -> "Dense":
        starts = [part.t[0] for part in self.parts]
        ends = [*starts[1:], np.inf]
        kept = [part for part, a, b in zip(self.parts, starts, ends) if a <= last and (b > first or len(starts) == 1)]
        return self._replace(parts=tuple(part.between(first, last) for part in kept))

    def joined(self, later: "Dense") -> "Dense":
        """This dense output followed by a later one."""
        if not self.parts or not later.parts:
            return Dense(missing=self.missing or later.missing)
        one = self.parts[-1].joined(later.parts[0])
        return Dense((*self.parts[:-1], one, *later.parts[1:]) if one else (*self.parts, *later.parts))


class DenseRecord:
    """Collects the dense output of a run whose rows are not the ends of all its steps, up to LIMIT bytes unless it is `wanted`."""

    def __init__(self, robot: Dynamics, wanted: bool | None, rows: Record | None, held: bool):
        """`rows` are the stored rows if they are the ends of all steps of a method without polynomials."""
        self.robot, self.wanted, self.held, self.ends = robot, wanted, held, rows
        self.steps: Growing | None = None
        self.given_up = "it was made with dense=False" if wanted is False and rows is None else ""

    def step(self, s: State, step: Step, x: float, tau) -> None:
        """Keep the polynomial of a step from a state, of which the fraction x was made; tau is that there."""
        if self.given_up or self.wanted is False or not x > 0:
            return
        assert isinstance(step.interpolant, Polynomial)
        c = step.interpolant.coefficients
        if self.steps is None:
            self.steps = self._polynomials(len(c))
        self.steps.add(s.t, s.late, step.h, step.base, c, s.tau, 0.0 if tau is s.tau else (tau - s.tau) / x)
        self._limit(self.steps)

    def many(self, steps) -> None:
        """Keep the polynomials of compiled steps."""
        c = steps.coefficients
        if self.given_up or self.wanted is False or c is None:
            return
        if self.steps is None:
            self.steps = self._polynomials(c.shape[1])
        slope = np.diff(steps.tau, axis=0) if steps.steers else 0.0
        self.steps.extend(steps.t[:-1], steps.late[:-1], steps.h, steps.q[:-1], c, steps.tau[:-1], slope)
        self._limit(self.steps)

    def _polynomials(self, powers: int) -> Growing:
        return Growing(entry_shapes(Polynomials, sizes_of(self.robot) | {"powers": powers}))

    def end(self, *row) -> None:
        """Keep the end of a step: t, q, v, vdot, tau."""
        if self.given_up:
            return
        if self.ends is None:
            self.ends = Record(self.robot)
        self.ends.add(*row)
        self._limit(self.ends)

    def amend(self, t: float, vdot, tau) -> None:
        if self.ends is not None:
            self.ends.amend(t, vdot, tau)

    def _limit(self, kept: Growing) -> None:
        if self.wanted is None and kept.bytes > LIMIT:
            self.given_up = f"it would take more than {LIMIT >> 20} MB; simulate with dense=True keeps it"
            self.steps = self.ends = None

    def result(self, rows: Rows, stored: Record) -> Dense:
        """The dense output; `rows` are those that are stored."""
        if self.given_up:
            return Dense(missing=self.given_up)
        if not len(rows.t):
            return Dense(missing="no step was made")
        if self.steps is not None:
            return Dense((Polynomials(**self.steps.columns()),))
        ends = rows if self.ends is None or self.ends is stored else Rows(**self.ends.columns())
        return Dense((Ends(ends, self.held),))
