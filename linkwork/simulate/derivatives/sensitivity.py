"""How a run depends on where it started and on constants of its robot: forwards, and backwards from a cost.

Both go over the same derivatives of the run's own steps (step_derivatives.py). Where an event of the user makes the state jump,
x⁺ = r(t, x⁻) when g(t, x) = 0, a change of the state changes the time of the jump as well (the saltation matrix):

    δx⁺ = (R + (f⁺ − R f⁻ − ∂r/∂t) ∇g / (∂g/∂t + ∇g · f⁻)) δx⁻,      R = ∂r/∂x,  f the rates before and after
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...dynamics import Dynamics
from ...errors import SimulationError, did_you_mean
from ...systems import VARIABLE
from ..methods.fixed_step import FRICTION
from ..rates.control import Hold
from ..rates.traced_functions import traced
from ..requests.capabilities import SLOPE, refuse
from ..requests.features import Asked
from ..requests.settings import Settings, is_missing
from .contact_slopes import ContactSlopes
from .step_derivatives import Derivatives, StepDerivatives, Steps

if TYPE_CHECKING:
    from ..trajectory import Trajectory

STATE = "state"
SAME = 1e-9  # of a step: as near as that, a time is its end
AGREE = 1e-6  # relative, between the forces of a run and those of its controls as they were traced


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Derivatives of the state (q along the group, v) at times t by the first state and by constants: run.sensitivity["mass"].

    ["state"]   (n, 2 nv, 2 nv), by the first state
    ["mass"]    (n, 2 nv, nb) and so on, by each constant: (n, 2 nv, *shape)
    """

    t: np.ndarray
    by: dict[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.by:
            raise SimulationError(f'this run has no sensitivity to "{name}", only to {", ".join(self.by)}: run.sensitivity(by=...).')
        return self.by[name]

    def __repr__(self) -> str:
        return f"<Sensitivity to {', '.join(self.by)} at {len(self.t)} times>"


@dataclass(frozen=True, eq=False)
class CostGradient:
    """A cost of a run and its derivatives: by the first state, q (nv,) along the group and v (nv,); by a force tau (steps, nv) added during
    each of the steps, which begin at t; by constants."""

    cost: float
    q: np.ndarray
    v: np.ndarray
    t: np.ndarray
    tau: np.ndarray
    by: dict[str, np.ndarray]


def named(sensitivity) -> tuple[str, ...]:
    """The names in `sensitivity` as it is given to simulate."""
    return (STATE,) if sensitivity is True else (sensitivity,) if isinstance(sensitivity, str) else tuple(sensitivity or ())


def check(robot: Dynamics, settings: Settings, names: tuple[str, ...] = ()) -> None:
    """Raise where there are no derivatives of such a run, by the constants that `names` or the settings say."""
    names = names or settings.sensitivity
    for name in names:
        if name != STATE and name not in VARIABLE and not (name == FRICTION and settings.method == "contact"):
            near = did_you_mean(str(name), [STATE, *VARIABLE, FRICTION])
            raise SimulationError(f'sensitivity to "{name}": there is no such constant.{near}')
    refuse(Asked.of(robot, settings, by=names), SLOPE)


class RunSensitivity:
    """`run.sensitivity(by="mass")`: derivatives of the states of a run, made when they are asked for.

    Of a run that was made by simulate(sensitivity=...), as earlier versions had it, it is the Sensitivity by those names, too.
    """

    def __init__(self, run: "Trajectory"):
        self.run = run

    def __call__(self, by: str | Sequence[str] = STATE) -> Sensitivity:
        """Derivatives of the states of all rows by the first state ("state") and by constants that `robot.varying` knows.

        They are exact for the steps that the run made, whose lengths stand still, and no part of the error control.
        """
        names = named(by)
        check(self.run.robot, self.run.settings, names)
        return _Walk(self.run, names).forwards(names)

    @cached_property
    def asked(self) -> Sensitivity:
        """By the names that `simulate` was given."""
        if not self.run.settings.sensitivity:
            raise SimulationError('this run was made without sensitivities: run.sensitivity(by=("state", "mass")).')
        return self(self.run.settings.sensitivity)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.asked[name]

    @property
    def t(self) -> np.ndarray:
        return self.asked.t


def gradient(run: "Trajectory", final: Callable | None = None, running: Callable | None = None, by=()) -> CostGradient:
    """The gradient of a cost of a run, final(q, v) at its end and the integral of running(t, q, v, tau): exact for the steps as they were
    made, their lengths standing still. The cost takes one pass backwards, however many constants there are.

        run = lw.simulate(robot, start, until=2.0, method="rk4", dt=0.01, control=control)
        lw.gradient(run, final=lambda q, v: q @ q + v @ v, running=lambda t, q, v, tau: 0.01 * tau @ tau, by=["mass"])

    The functions are written with NumPy and traced, as those of `robot.kernel`; so are the control of the run, its events and resets.
    The integral is summed with the weights of the method's own stages. `by` are constants that `robot.varying` knows.
    """
    if not hasattr(run, "settings"):
        raise SimulationError(f"gradient takes a run of lw.simulate, not a {type(run).__name__}; that of a rollout is lw.rollout_gradient.")
    names = (by,) if isinstance(by, str) else tuple(by)
    check(run.robot, run.settings, names)
    return _Walk(run, tuple(x for x in names if x != STATE)).backwards(final, running)


class Jump(NamedTuple):
    """A reset before step n: what it makes of changes (2 nv, 2 nv), and the change of its time (2 nv,)."""

    n: int
    matrix: np.ndarray
    time: np.ndarray
    t: float
    before: tuple
    after: tuple


class _Walk:
    """The steps of a run with their derivatives, the samples of its held controllers and its jumps."""

    def __init__(self, run: "Trajectory", names: tuple[str, ...]):
        self.run, self.robot, self.names = run, run.robot, tuple(x for x in names if x != STATE)
        if run.dense is None or not run.dense.parts or not len(run.t):
            raise SimulationError("derivatives of a run need the motion within its steps: simulate with dense=True.")
        if any(is_missing(getattr(run.settings, name)) for name in ("control", "events")):
            raise SimulationError("a file does not hold functions, which derivatives of this run need: simulate it again.")
        control: Any = run.settings.control
        parts = [] if control is None else list(control) if isinstance(control, Sequence) else [control]
        kernels = [traced(self.robot, x.function if isinstance(x, Hold) else x, "control", "tqv") for x in parts]
        self.holds = [(x, k) for x, k in zip(parts, kernels) if isinstance(x, Hold)]
        contact = ContactSlopes(self.robot, run.settings, self.names) if run.settings.method == "contact" else None
        self.of = Derivatives(self.robot, [k for x, k in zip(parts, kernels) if not isinstance(x, Hold)], self.names, contact)
        self.steps = Steps.of(self.robot, run.dense, float(run.t[-1]))
        self.q = self.robot.integrate(self.steps.base, self.steps.xi)
        self.samples = [self._samples(*each) for each in self.holds]
        self.held = sum((tau for _, tau, _ in self.samples), np.zeros_like(self.steps.v))
        self._compare()
        impulse = None if contact is None else contact.impulses(run, self.steps.t, self.steps.h)
        self.made = StepDerivatives(self.of, self.steps, run.settings.method, self.held, impulse)
        self.jumps = self._jumps()

    def _samples(self, hold: Hold, kernel):
        """Of a held controller: in which steps it is asked, its τ in each, and (n, by q, by v) where it was asked."""
        s = self.steps
        index = np.array([hold.index(t) for t in s.t])
        due = np.flatnonzero(np.diff(index, prepend=index[:1] - 1))
        tau = np.atleast_2d(kernel(s.t[due], self.q[due], s.v[due]))
        slopes = kernel.jacobian(by=("q", "v"))(s.t[due], self.q[due], s.v[due])
        return due, tau[np.searchsorted(due, np.arange(len(s.t)), side="right") - 1], dict(zip(due.tolist(), np.concatenate(slopes, -1)))

    def _compare(self) -> None:
        """Raise if a control is not the function of (t, q, v) that was traced."""
        run, s = self.run, self.steps
        t, state, asked, held = s.t, (self.q, s.v), s.t, self.held
        if self.of.contact is not None:
            if len(run.t) != len(s.t) + 1 or not len(s.t):
                return  # rows of another grid, whose forces are interpolated
            # forces are those within the step before, but held controllers have been asked again
            t, state, asked = run.t[1:], self.of.contact.half(self.q, s.v, s.h)[0], s.t + s.h / 2
            held = np.concatenate([held[1:], np.full_like(held[-1:], np.nan if self.holds else 0.0)])
        rows = np.searchsorted(run.t, t, side="right") - 1
        same = run.t[rows] == t
        tau = (self.of.control(asked, *state)[0] + held)[same]
        off = np.abs(tau - run.tau[rows[same]]) > AGREE * (1 + np.abs(tau).max(initial=0))
        if off.any():
            t = s.t[same][off.any(-1)][0]
            raise SimulationError(
                f"t = {t:.6g} s: control, traced as a function of (t, q, v), returns other forces than in the run. It may depend on "
                "nothing else that changes; branches are np.where."
            )

    # --- jumps

    def _jumps(self) -> list[Jump]:
        out, events = [], {event.name: event for event in self.run.settings.events if getattr(event, "reset", None)}
        for seen in self.run.events:
            if seen.name in events and self.run.t[0] < seen.t < self.run.t[-1]:
                n = int(np.searchsorted(self.steps.t + (1 - SAME) * self.steps.h, seen.t))
                n = n + 1 if n < len(self.steps.t) and self.steps.t[n] < seen.t else n
                out.append(self._jump(n, events[seen.name], seen))
        return out

    def _jump(self, n: int, event, seen) -> Jump:
        robot, t, q, v = self.robot, np.array(seen.t), seen.q, seen.v
        g = traced(robot, event.function, f'event "{event.name}"', "tqv", ())
        r = traced(robot, event.reset, f'the reset of event "{event.name}"', "tqv", None)
        after = tuple(r(t, q, v))
        tau = self.held[max(n - 1, 0)]
        f0, f1 = (self._rate(seen.t, at[0], at[1], tau) for at in ((q, v), after))
        g_t, *g_x = g.jacobian()(t, q, v)
        slope = np.concatenate(g_x)
        qt, qq, qv, vt, vq, vv = r.jacobian()(t, q, v)
        to = lambda x: self.of.tangent(after[0], x)
        R = np.block([[to(qq), to(qv)], [vq, vv]])
        r_t = np.concatenate([to(qt[:, None])[:, 0], vt])
        when = -slope / (g_t + slope @ f0)  # by how much later the jump is
        return Jump(n, R + np.outer(R @ f0 + r_t - f1, when), when, seen.t, (q, v), after)

    def _rate(self, t: float, q, v, tau):
        u, _, _ = self.of.control(np.array([t]), q[None], v[None])
        return np.concatenate([v, self.of.vdot(q, v, u[0] + tau)])

    @property
    def _first(self):
        """What remains of changes of the first state."""
        found = self.of.put_back(self.run.q[:1], self.run.v[:1])
        return found.reshape(found.shape[-2:])

    # --- forwards

    def forwards(self, names) -> Sensitivity:
        n, J, N = self.robot.nv, self.made.matrix, len(self.steps.t)
        size = J.shape[-1] - n  # columns of the result: first state, constants
        S, Ts = self._first @ np.eye(2 * n, size), [np.zeros((n, size)) for _ in self.holds]
        starts, ends, held = np.empty((N + 1, 2 * n, size)), np.empty((N, 2 * n, size)), np.empty((N, n, size))
        constants = np.eye(size)[2 * n :]
        jumps = {k: [x.matrix for x in self.jumps if x.n == k] for k in {x.n for x in self.jumps}}
        for k in range(N + 1):
            for matrix in jumps.get(k, ()):
                S = matrix @ S
            starts[k] = S
            if k == N:
                break
            Ts = [slopes[k] @ S if k in slopes else T for T, (_, _, slopes) in zip(Ts, self.samples)]
            held[k] = sum(Ts, np.zeros((n, size)))
            S = ends[k] = J[k] @ np.concatenate([S, held[k], constants])
        rows = self._at_rows(starts, ends, held, constants)
        parts = np.split(rows, np.cumsum([2 * n, *(x.size for x in self.of.own.values())])[:-1], -1)
        by = {STATE: parts[0], **{k: p.reshape(*p.shape[:2], *x.shape) for (k, x), p in zip(self.of.own.items(), parts[1:])}}
        return Sensitivity(self.run.t, {name: by[name] for name in names})

    def _at_rows(self, starts, ends, held, constants):
        """At the rows of the run, which may lie within steps; of two at one time the second is after a jump."""
        t, s = self.run.t, self.steps
        if not len(s.t):
            return np.broadcast_to(starts[0], (len(t), *starts[0].shape)).copy()
        i = np.clip(np.searchsorted(s.t, t, side="left") - 1, 0, None)
        x = (t - s.t[i]) / s.h[i]
        out = np.where((x <= SAME)[:, None, None], starts[i], ends[i])
        again = np.flatnonzero(np.diff(t, prepend=np.nan) == 0)
        out[again] = starts[i[again] + 1]
        inside = np.flatnonzero((x > SAME) & (x < 1 - SAME))
        if len(inside):
            if self.of.contact is not None:
                raise SimulationError(
                    f't = {t[inside[0]]:.6g} s lies within a step of method "contact", where a run is interpolated; sensitivities are '
                    "those of the ends of steps, at multiples of dt."
                )
            k = i[inside]
            J = StepDerivatives(self.of, s.parts(k, x[inside]), self.run.settings.method, self.held[k]).matrix
            given = np.concatenate([starts[k], held[k], np.broadcast_to(constants, (len(k), *constants.shape))], -2)
            out[inside] = J @ given
        return out

    # --- backwards

    def backwards(self, final, running) -> CostGradient:
        n, J, N = self.robot.nv, self.made.matrix, len(self.steps.t)
        weight, along, cost = np.zeros(2 * n), np.zeros((N, J.shape[-1])), 0.0
        rate = None if running is None else traced(self.robot, running, "running", ("t", "q", "v", "tau"), ())
        if final is not None:
            end = traced(self.robot, final, "final", "qv", ())
            q, v = self.run.q[-1], self.run.v[-1]
            weight, cost = np.concatenate(end.jacobian()(q, v)), float(end(q, v))
        if rate is not None:
            for x in self.made.stages:
                at = x.t, x.q, x.v, x.tau
                slopes = rate.jacobian(by=("q", "v", "tau"))(*at)
                cost += float(x.weight @ rate(*at))
                along += x.weight[:, None] * sum((g[:, None] @ d)[:, 0] for g, d in zip(slopes, (x.by_q, x.by_v, x.by_tau)))
        by, by_tau, forces = np.zeros(J.shape[-1] - 3 * n), np.empty((N, n)), [np.zeros(n) for _ in self.holds]
        for k in reversed(range(N + 1)):
            if k < N:
                found = weight @ J[k] + along[k]
                weight, by_tau[k], by = found[: 2 * n], found[2 * n : 3 * n], by + found[3 * n :]
                for i, (_, _, slopes) in enumerate(self.samples):
                    forces[i] = forces[i] + by_tau[k]
                    if k in slopes:
                        weight, forces[i] = weight + forces[i] @ slopes[k], np.zeros(n)
            for jump in reversed([x for x in self.jumps if x.n == k]):
                weight = weight @ jump.matrix + self._lost(rate, jump) * jump.time
        weight = weight @ self._first
        parts = np.split(by, np.cumsum([x.size for x in self.of.own.values()])[:-1]) if self.names else []
        named = {name: part.reshape(x.shape) for (name, x), part in zip(self.of.own.items(), parts)}
        return CostGradient(cost, weight[:n], weight[n:], self.steps.t, by_tau, named)

    def _lost(self, rate, jump: Jump) -> float:
        """The running cost before a jump less that after it."""
        if rate is None:
            return 0.0
        tau, t = self.held[max(jump.n - 1, 0)], np.array([jump.t])
        ends = [rate(t, q[None], v[None], self.of.control(t, q[None], v[None])[0] + tau)[0] for q, v in (jump.before, jump.after)]
        return float(ends[0] - ends[1])
