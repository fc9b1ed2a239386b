"""The derivatives of the steps of a run, all steps at once: what a step makes of small changes, exactly as its method does.

A change of the state at the start of a step is (η, δv), the configuration being q ∘ exp η. Within a step that is q ∘ exp ξ, stage by stage:

    ηᵢ = Ad(exp −ξᵢ) η + S(ξᵢ) δξᵢ           δv̇ᵢ = ∂v̇/∂q ηᵢ + ∂v̇/∂v δvᵢ + 𝓜⁻¹ δτᵢ + ∂v̇/∂p δp
    δξ̇ᵢ = ∂(S⁻¹(ξ) v)/∂ξ δξᵢ + S⁻¹(ξᵢ) δvᵢ    δyᵢ = δy₀ + h Σ aᵢⱼ δẏⱼ,   y = (ξ, v)

The lengths of the steps stand still. Columns are (η, δv, δτ, δp): δτ is a force that is constant during the step.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from ...dynamics import Dynamics
from ...errors import SimulationError
from ...motion.linearize import accelerations, chart, euler_matrix, explicit_matrix, stacked
from ...motion.runge_kutta import RK4, RungeKutta
from ...quantities import coordinate_rates
from ..requests.settings import PAIRS
from ..storage.dense import Dense, Polynomials
from .contact_slopes import ContactSlopes

ROOT = np.sqrt(6.0)
RADAU = (  # Radau IIA of order 5
    np.array([
        [(88 - 7 * ROOT) / 360, (296 - 169 * ROOT) / 1800, (-2 + 3 * ROOT) / 225],
        [(296 + 169 * ROOT) / 1800, (88 + 7 * ROOT) / 360, (-2 - 3 * ROOT) / 225],
        [(16 - ROOT) / 36, (16 + ROOT) / 36, 1 / 9],
    ]),
    np.array([(16 - ROOT) / 36, (16 + ROOT) / 36, 1 / 9]),
    np.array([(4 - ROOT) / 10, (4 + ROOT) / 10, 1.0]),
)  # fmt: skip


@dataclass(frozen=True)
class Steps:
    """The steps of a run: where each begins, from t over h at base ∘ exp ξ with v, and the polynomials within implicit ones."""

    t: np.ndarray
    h: np.ndarray
    base: np.ndarray
    xi: np.ndarray
    v: np.ndarray
    coefficients: np.ndarray | None = None

    @staticmethod
    def of(robot: Dynamics, dense: Dense, end: float) -> "Steps":
        """The steps of a run of one method, which ends at a time."""
        if len(dense.parts) != 1:
            raise SimulationError("a run that was resumed by another method has no derivatives; derive each part by itself.")
        part, n = dense.parts[0], robot.nv
        if isinstance(part, Polynomials):
            h = np.diff([*part.t, end]) + np.diff([*part.late, 0.0])
            h = np.where(np.abs(h - part.h) <= 1e-9 * part.h, part.h, h)
            c = part.coefficients
            steps = Steps(part.t, h, part.base, c[:, 0, :n], c[:, 0, n:], shorter(c, h / part.h))
        else:
            t, q, v, *_ = part.rows
            steps = Steps(t[:-1], np.diff(t), q[:-1], np.zeros((len(t) - 1, n)), v[:-1])
        return steps.selected(steps.h > 0)

    def selected(self, which) -> "Steps":
        """The steps that a mask or numbers say."""
        c = self.coefficients
        c = None if c is None else c[which]
        return Steps(self.t[which], self.h[which], self.base[which], self.xi[which], self.v[which], c)

    def parts(self, which, x) -> "Steps":
        """The fractions x of these steps."""
        steps = self.selected(which)
        return replace(steps, h=x * steps.h, coefficients=None if steps.coefficients is None else shorter(steps.coefficients, x))


def shorter(c, x):
    """Polynomials in a fraction of a step as those in a fraction of a part x of it."""
    return c * x[:, None, None] ** np.arange(c.shape[1])[:, None]


@dataclass(frozen=True)
class Stage:
    """One stage of all steps: the state there, and its changes by the columns (N, nv, columns)."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    weight: np.ndarray  # of its rates in the step (N,)
    by_q: np.ndarray
    by_v: np.ndarray
    by_tau: np.ndarray


class Derivatives:
    """Exact derivatives of the rates of a robot with its controls, called with a batch of states; under constraints along them."""

    def __init__(self, robot: Dynamics, functions: list, names: tuple[str, ...], contact: ContactSlopes | None = None):
        """`functions` are controls (t, q, v) -> τ as kernels, `names` constants that `varying` knows; `contact` of a run with contacts."""
        self.robot, self.functions, self.names, self.contact = robot, functions, names, contact
        self.varying = robot.made.once(lambda: robot.varying(*names), names) if names and contact is None else None
        self.own = contact.own if contact is not None else {} if self.varying is None else self.varying.own

    def by_constants(self, q, v, vdot) -> np.ndarray:
        """∂(τ passive − τ needed)/∂p (N, nv, size of all constants)."""
        total = np.zeros((*v.shape, sum(x.size for x in self.own.values())))
        if self.varying is None:
            return total
        for what, sign, arrays in (("passive_force", 1.0, (q, v)), ("inverse_dynamics", -1.0, (q, v, vdot))):
            slopes = self.varying.as_kernel(what).jacobian(by=self.names)(*arrays, *self.own.values())
            total += sign * np.concatenate([x.reshape(*v.shape, -1) for x in (slopes if isinstance(slopes, tuple) else (slopes,))], -1)
        return total

    def control(self, t, q, v):
        """τ of the functions, and ∂τ/∂q, ∂τ/∂v."""
        n = self.robot.nv
        tau, by_q, by_v = np.zeros((len(t), n)), np.zeros((len(t), n, n)), np.zeros((len(t), n, n))
        for function in self.functions:
            one, two = function.jacobian(by=("q", "v"))(t, q, v)
            tau, by_q, by_v = tau + function(t, q, v), by_q + one, by_v + two
        return tau, by_q, by_v

    def vdot(self, q, v, tau):
        return self.robot.forward_dynamics(q, v, tau + self.robot.passive_force(q, v))

    def accelerations(self, q, v, tau):
        """∂v̇ by q, v, τ and constants."""
        if self.robot.constraints is not None:
            q, v = self.robot.constraints.put_back(q, v)
        by_q, by_v, by_tau = accelerations(self.robot, q, v, tau)
        return by_q, by_v, by_tau, by_tau @ self.by_constants(q, v, self.vdot(q, v, tau))

    def put_back(self, q, v):
        """What remains of changes of states (N, 2 nv, 2 nv): all, or what constraints allow, as a run is put back on them."""
        if (constraints := self.robot.constraints) is None:
            return np.eye(2 * self.robot.nv)
        at = constraints.derivatives(*constraints.put_back(q, v), np.zeros_like(v)).slopes
        return stacked([[at.placed.P, np.zeros_like(at.placed.P)], [at.v_q @ at.placed.P, at.allowed.P]])

    def tangent(self, q, rates):
        """Rates of coordinates (..., nq, n) as velocities (..., nv, n)."""
        return np.linalg.pinv(coordinate_rates(self.robot.lowered.plain(), q)) @ rates


@dataclass
class StepDerivatives:
    """`matrix` (N, 2 nv, columns): what each step makes of the columns; `stages`, for what is integrated along."""

    of: Derivatives
    steps: Steps
    method: str
    held: np.ndarray  # τ of held controllers in each step (N, nv)
    impulse: np.ndarray | None = None  # where the solution of contacts starts in each step (N, 3 blocks)
    stages: list[Stage] = field(default_factory=list)

    def __post_init__(self):
        n, self.columns = self.of.robot.nv, 3 * self.of.robot.nv + sum(x.size for x in self.of.own.values())
        columns = np.broadcast_to(np.eye(self.columns), (len(self.steps.t), self.columns, self.columns))
        self.eta, self.dv, self.dtau = (columns[:, i * n : i * n + n] for i in range(3))
        self.q = self.of.robot.integrate(self.steps.base, self.steps.xi)
        if self.method == "euler":
            self.matrix = euler_matrix(self.of.robot, self._stage, self.q, self.steps.v, self.steps.h)
            self._note(1.0, self.eta, self.dv)
        elif self.method == "contact":
            self.matrix = self._contact()
        elif self.method in ("stiff", "radau"):
            self.matrix = self._implicit(*RADAU)
        else:
            self.matrix = self._explicit(RK4 if self.method == "rk4" else PAIRS[self.method]())

    def _stage(self, c: float, q, v):
        """v̇ at a stage, and its derivatives by q, v and all else that changes, the control being a function of q and v."""
        of, t = self.of, self.steps.t + c * self.steps.h
        u, u_q, u_v = of.control(t, q, v)
        tau = u + self.held
        a_q, a_v, a_tau, a_p = of.accelerations(q, v, tau)
        self.there = t, q, v, tau, u_q, u_v
        return of.vdot(q, v, tau), a_q + a_tau @ u_q, a_v + a_tau @ u_v, np.concatenate([a_tau, a_p], -1)

    def _note(self, weight: float, dq, dv, there=None):
        """Keep a stage, the last one if it is not said, with its weight in the step and its changes."""
        t, q, v, tau, u_q, u_v = there or self.there
        self.stages.append(Stage(t, q, v, tau, weight * self.steps.h, dq, dv, u_q @ dq + u_v @ dv + self.dtau))

    def _explicit(self, method: RungeKutta):
        robot, s, weights = self.of.robot, self.steps, iter(method.B)
        seen = lambda dq, dv: self._note(next(weights), dq, dv)
        xi, v, matrix = explicit_matrix(robot, method, self._stage, self.q, s.v, s.h, self.columns, seen)
        return self.of.put_back(robot.integrate(self.q, xi), v) @ matrix

    def _implicit(self, A, B, C):
        """Stages that depend on one another: a linear system, (1 − h A F) δẏ = F δy₀ + G. The base stands still, ξ₀ moves."""
        robot, s, n = self.of.robot, self.steps, self.of.robot.nv
        N, stages, h = len(s.t), len(B), s.h[:, None, None]
        assert s.coefficients is not None
        dy0 = np.concatenate([chart(robot, s.xi, s.v)[1] @ self.eta, self.dv], -2)
        whole, right, notes = np.broadcast_to(np.eye(stages * 2 * n), (N, stages * 2 * n, stages * 2 * n)).copy(), [], []
        for i in range(stages):
            Y = np.einsum("k,nka->na", C[i] ** np.arange(s.coefficients.shape[1]), s.coefficients)
            xi, v = Y[:, :n], Y[:, n:]
            S, inverse, _, bend = chart(robot, xi, v)
            _, by_q, by_v, by_u = self._stage(C[i], robot.integrate(s.base, xi), v)
            F = stacked([[bend, inverse], [by_q @ S, by_v]])
            for j in range(stages):
                whole[:, 2 * n * i : 2 * n * (i + 1), 2 * n * j : 2 * n * (j + 1)] -= h * A[i, j] * F
            G = F @ dy0
            G[:, n:, 2 * n :] += by_u
            right.append(G)
            notes.append((S, self.there))
        dK = np.linalg.solve(whole, np.concatenate(right, -2)).reshape(N, stages, 2 * n, -1)
        for i, (S, there) in enumerate(notes):
            dy = dy0 + h * np.einsum("j,njab->nab", A[i], dK)
            self._note(B[i], S @ dy[:, :n], dy[:, n:], there)
        end = dy0 + h * np.einsum("j,njab->nab", B, dK)
        S = chart(robot, s.coefficients.sum(1)[:, :n], s.v)[0]
        return np.concatenate([S @ end[:, :n], end[:, n:]], -2)

    def _contact(self):
        of, s, n = self.of, self.steps, self.of.robot.nv
        assert of.contact is not None
        t = s.t + s.h / 2
        (q_mid, v_mid), (qq, qv, vq, vv) = of.contact.half(self.q, s.v, s.h)
        u, u_q, u_v = of.control(t, q_mid, v_mid)
        tau = u + self.held
        self._note(1.0, qq @ self.eta + qv @ self.dv, vq @ self.eta + vv @ self.dv, (t, q_mid, v_mid, tau, u_q, u_v))
        ends = []
        for slopes_q, slopes_v, slopes_tau, by in of.contact.at(self.q, s.v, tau, s.h, self.impulse):
            end = slopes_q @ self.eta + slopes_v @ self.dv + slopes_tau @ self.stages[-1].by_tau
            end[..., 3 * n :] += by
            ends.append(end)
        return np.concatenate(ends, -2)
