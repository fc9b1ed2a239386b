"""The motion of a constrained robot in time: steps on the group, and after each the way back onto the constraints.

Within a step q ∘ exp ξ is the configuration, ξ̇ = S⁻¹(ξ) v and v̇ keeps the constraints' accelerations (the index-1
form, Müller and Terze 63 to 66). After the step positions, then velocities, are projected (their 67, 68), so that the
residual at every point that is kept is rounding. `lw.simulate` is for robots without constraints in time.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import SimulationError
from .constrained import Constrained

FIXED = ("euler", "rk4")
STEPS = 1_000_000
TURN = 2.0  # radians that a joint of several velocities may turn in one step: S⁻¹(ξ) ends at 2π


@dataclass(frozen=True, eq=False)
class Path:
    """Times (n,), coordinates (n, nq), velocities (n, nv), and how many rates it took."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    evaluations: int


def simulate(
    held: Constrained,
    state,
    *,
    until: float,
    start: float = 0.0,
    method: str = "dop853",
    dt: float | None = None,
    rtol: float = 1e-9,
    atol: float = 1e-12,
    control: Callable | None = None,
    stabilization=None,
    project: bool = True,
    keep: Constrained | None = None,
    fixed=None,
    at=None,
) -> Path:
    """From (q, v) until a time.

    method         "dop853", adaptive, of order 8; "rk4" and "euler" (explicit) of fixed steps dt
    control        (t, q, v) -> tau; springs, damping and friction of the joints act besides
    stabilization  (ω, ζ): Baumgarte's, in place of projection or with it
    project        put the state back on the constraints after each step
    keep           other constraints to project on, such as these and a momentum that is conserved
    fixed          (q, v) -> velocities that projection leaves as they are
    at             times to stop at exactly, besides the end; otherwise every step is kept
    """
    if method not in ("dop853", *FIXED):
        raise SimulationError(f'there is no method "{method}" for constrained robots; there are dop853, rk4 and euler.')
    if method in FIXED and not (dt or 0) > 0:
        raise SimulationError(f'method "{method}" has fixed steps: say how long, dt=0.001.')
    return _Run(held, control, stabilization, project, held if keep is None else keep, fixed).go(
        state, start, until, method, dt, rtol, atol, None if at is None else sorted(at)
    )


class _Run:
    def __init__(self, held, control, stabilization, project, keep, fixed):
        self.held, self.robot, self.control = held, held.robot, control
        self.stabilization, self.projects, self.keep, self.fixed = stabilization, project, keep, fixed
        self.groups = held.set.nodes.groups
        self.rows = held.set.nodes.tree.rows
        self.n, self.evaluations = held.nv, 0

    def vdot(self, t, q, v):
        self.evaluations += 1
        tau = self.robot.passive_force(q, v)
        if self.control is not None:
            tau = tau + self.control(t, q, v)
        return self.held.forward_dynamics(q, v, tau, t=t, stabilization=self.stabilization)

    def rates(self, q):
        """(ξ, v) -> (ξ̇, v̇) around q."""

        def f(t, y):
            xi, v = y[: self.n], y[self.n :]
            rate = v.copy()
            for group, rows in zip(self.groups, self.rows):
                if group.nv > 1:
                    rate[rows] = group.dexp_inverse(xi[rows], side="right") @ v[rows]
            return np.concatenate([rate, self.vdot(t, self.robot.integrate(q, xi), v)])

        return f

    def back(self, t, q, v):
        if not self.projects:
            return q, v
        return self.keep.project(q, v, t, None if self.fixed is None else self.fixed(q, v))

    def go(self, state, t, until, method, dt, rtol, atol, at):
        q, v = self.back(t, *(np.array(x, float) for x in state))
        stops = [x for x in (at or []) if t < x < until] + [until]
        kept = [(t, q, v)]
        step = None
        for stop in stops:
            while t < stop:
                if len(kept) > STEPS:
                    raise SimulationError(f"more than {STEPS} steps by t = {t}; ask for less.")
                h = stop - t
                if method == "dop853":
                    t, q, v, step = self._adaptive(t, q, v, stop, step, rtol, atol)
                else:
                    count = max(1, round(h / dt)) if abs(h / dt - round(h / dt)) < 1e-9 else int(np.ceil(h / dt))
                    t, q, v = self._fixed(method, t, q, v, min(dt, h) if count > 1 else h, stop if count == 1 else None)
                t = stop if stop - t <= 16 * np.spacing(abs(stop)) else t
                q, v = self.back(t, q, v)
                if at is None or t == stop:
                    kept.append((t, q, v))
        ts, qs, vs = zip(*kept)
        return Path(np.array(ts), np.array(qs), np.array(vs), self.evaluations)

    def _adaptive(self, t, q, v, stop, step, rtol, atol):
        from scipy.integrate import DOP853

        y = np.concatenate([np.zeros(self.n), v])
        fastest = max((float(np.abs(v[rows]).max()) for g, rows in zip(self.groups, self.rows) if g.nv > 1), default=0.0)
        longest = TURN / fastest if fastest else np.inf
        first = None if step is None else min(step, stop - t, longest)
        solver = DOP853(self.rates(q), t, y, stop, rtol=rtol, atol=atol, first_step=first, max_step=longest)
        said = solver.step()
        if solver.status == "failed":
            raise SimulationError(f"t = {t:.9g} s: {said}")
        cut = solver.status == "finished" and step is not None and solver.step_size < step
        return solver.t, self.robot.integrate(q, solver.y[: self.n]), solver.y[self.n :], step if cut else solver.h_abs

    def _fixed(self, method, t, q, v, h, end):
        f, y, n = self.rates(q), np.concatenate([np.zeros(self.n), v]), self.n
        k1 = f(t, y)
        if method == "euler":
            y = y + h * k1
        else:
            k2 = f(t + h / 2, y + h / 2 * k1)
            k3 = f(t + h / 2, y + h / 2 * k2)
            k4 = f(t + h, y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return (t + h if end is None else end), self.robot.integrate(q, y[:n]), y[n:]
