"""The derivatives of the steps of a run, all steps at once: what a step makes of small changes, exactly as its method does.

A change of the state at the start of a step is (η, δv), the configuration being q ∘ exp η. Within a step that is q ∘ exp ξ, stage by stage:

    ηᵢ = Ad(exp −ξᵢ) η + S(ξᵢ) δξᵢ           δv̇ᵢ = ∂v̇/∂q ηᵢ + ∂v̇/∂v δvᵢ + 𝓜⁻¹ δτᵢ + ∂v̇/∂p δp
    δξ̇ᵢ = ∂(S⁻¹(ξ) v)/∂ξ δξᵢ + S⁻¹(ξᵢ) δvᵢ    δyᵢ = δy₀ + h Σ aᵢⱼ δẏⱼ,   y = (ξ, v)

The lengths of the steps stand still. Columns are (η, δv, δτ, δp): δτ is a force that is constant during the step.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ...dynamics import Dynamics
from ...errors import SimulationError
from ...motion.linearize import chart, explicit_step, kernels, of_tree, stacked
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
        if len(dense.parts) != 1:
            raise SimulationError("a run that was resumed by another method has no derivatives; derive each part by itself.")
        return _steps(robot, dense.parts[0], end)


def _steps(robot, part, end) -> Steps:
    if isinstance(part, Polynomials):
        h = np.diff([*part.t, end]) + np.diff([*part.late, 0.0])
        h = np.where(np.abs(h - part.h) <= 1e-9 * part.h, part.h, h)
        made, c, n = h > 0, part.coefficients, robot.nv
        return Steps(part.t[made], h[made], part.base[made], c[made, 0, :n], c[made, 0, n:], c[made] * _shorter(h / part.h, c)[made])
    h = np.diff(part.t)
    made = h > 0
    return Steps(part.t[:-1][made], h[made], part.q[:-1][made], np.zeros((int(made.sum()), robot.nv)), part.v[:-1][made])


def _shorter(x, c):
    """The powers that make polynomials in a fraction of the step those in a fraction of a part of it."""
    return x[:, None, None] ** np.arange(c.shape[1])[:, None]


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
        if contact is not None:
            self.own = contact.own
        else:
            self.own = {} if not names else self._kept("varying", lambda: robot.varying(*names)).own

    def _kept(self, what: str, make: Callable):
        """What is made once for a robot."""
        return self.robot.made.once(lambda: make(), what, self.names)

    def _slopes(self, what: str):
        """∂/∂p of a force, a kernel of its arguments and the constants."""
        return self._kept(what, lambda: self.robot.varying(*self.names).as_kernel(what).jacobian(by=self.names))

    def by_constants(self, q, v, vdot) -> np.ndarray:
        """∂(τ passive − τ needed)/∂p (N, nv, size of all constants)."""
        total = np.zeros((*v.shape, sum(x.size for x in self.own.values())))
        for what, sign, arrays in (("passive_force", 1.0, (q, v)), ("inverse_dynamics", -1.0, (q, v, vdot))):
            if self.names:
                found = self._slopes(what)(*arrays, *self.own.values())
                total += sign * np.concatenate([x.reshape(*v.shape, -1) for x in (found if isinstance(found, tuple) else (found,))], -1)
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
        if (constraints := self.robot.constraints) is None:
            by_q, by_v, by_tau = of_tree(self.robot, q, v, tau)
        else:
            q, v = constraints.put_back(q, v)
            at = constraints.derivatives(q, v, tau + self.robot.passive_force(q, v)).slopes
            pull, damping = self.robot.passive_force_derivatives(q, v)
            by_q, by_v, by_tau = at.by_q + at.allowed.Y @ pull, at.by_v + at.allowed.Y @ damping, at.allowed.Y
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
        if self.method == "euler":
            self.matrix = self._euler()
        elif self.method == "contact":
            self.matrix = self._contact()
        elif self.method in ("stiff", "radau"):
            self.matrix = self._implicit(*RADAU)
        else:
            self.matrix = self._explicit(RK4 if self.method == "rk4" else PAIRS[self.method]())

    def _rates(self, c: float, xi, v, weight: float, moved_base: bool = True):
        """ẏ of a stage, and δẏ as (matrix times δy, the rest): the stage is noted once its δy is known, by `_note`."""
        of, s, n = self.of, self.steps, self.of.robot.nv
        q, t = of.robot.integrate(s.base, xi), s.t + c * s.h
        u, u_q, u_v = of.control(t, q, v)
        tau = u + self.held
        a_q, a_v, a_tau, a_p = of.accelerations(q, v, tau)
        S, S_inverse, carried, bend = chart(of.robot, xi, v)
        along = carried @ self.eta if moved_base else 0 * self.eta
        F = stacked([[bend, S_inverse], [(a_q + a_tau @ u_q) @ S, a_v + a_tau @ u_v]])
        rest = (a_q + a_tau @ u_q) @ along + a_tau @ self.dtau
        rest[..., 3 * n :] += a_p
        G = np.concatenate([np.zeros_like(rest), rest], -2)
        rates = np.concatenate([(S_inverse @ v[..., None])[..., 0], of.vdot(q, v, tau)], -1)

        def note(dy):
            eta = along + S @ dy[:, :n]
            self.stages.append(Stage(t, q, v, tau, weight * s.h, eta, dy[:, n:], u_q @ eta + u_v @ dy[:, n:] + self.dtau))

        return rates, F, G, note

    def _explicit(self, method: RungeKutta):
        s, n, weights = self.steps, self.of.robot.nv, iter(method.B)

        def slopes(c, xi, v, dxi, dv):
            dy = np.concatenate([dxi, dv], -2)
            rates, F, G, note = self._rates(c, xi, v, next(weights))
            note(dy)
            change = F @ dy + G
            return rates[:, :n], rates[:, n:], change[:, :n], change[:, n:]

        xi, v, dxi, dv = explicit_step(method, slopes, s.xi, s.v, 0 * self.dv, self.dv, s.h)
        S, _, carried, _ = chart(self.of.robot, xi, v)
        return self.of.put_back(self.of.robot.integrate(s.base, xi), v) @ stacked([[carried @ self.eta + S @ dxi], [dv]])

    def _implicit(self, A, B, C):
        """Stages that depend on one another: a linear system, (1 − h A F) δẏ = F δy₀ + G. The base stands still, ξ₀ moves."""
        s, n = self.steps, self.of.robot.nv
        N, stages, h = len(s.t), len(B), s.h[:, None, None]
        assert s.coefficients is not None
        dy0 = np.concatenate([chart(self.of.robot, s.xi, s.v)[1] @ self.eta, self.dv], -2)
        whole, right, notes = np.broadcast_to(np.eye(stages * 2 * n), (N, stages * 2 * n, stages * 2 * n)).copy(), [], []
        for i in range(stages):
            Y = np.einsum("k,nka->na", C[i] ** np.arange(s.coefficients.shape[1]), s.coefficients)
            _, F, G, note = self._rates(C[i], Y[:, :n], Y[:, n:], B[i], moved_base=False)
            for j in range(stages):
                whole[:, 2 * n * i : 2 * n * (i + 1), 2 * n * j : 2 * n * (j + 1)] -= h * A[i, j] * F
            right.append(F @ dy0 + G)
            notes.append(note)
        dK = np.linalg.solve(whole, np.concatenate(right, -2)).reshape(N, stages, 2 * n, -1)
        for i, note in enumerate(notes):
            note(dy0 + h * np.einsum("j,njab->nab", A[i], dK))
        end = dy0 + h * np.einsum("j,njab->nab", B, dK)
        S = chart(self.of.robot, s.coefficients.sum(1)[:, :n], s.v)[0]
        return np.concatenate([S @ end[:, :n], end[:, n:]], -2)

    def _contact(self):
        of, s, n = self.of, self.steps, self.of.robot.nv
        assert of.contact is not None
        q, t = of.robot.integrate(s.base, s.xi), s.t + s.h / 2
        (q_mid, v_mid), (qq, qv, vq, vv) = of.contact.half(q, s.v, s.h)
        by_q = qq @ self.eta + qv @ self.dv
        by_v = vq @ self.eta + vv @ self.dv
        u, u_q, u_v = of.control(t, q_mid, v_mid)
        by_tau, tau = u_q @ by_q + u_v @ by_v + self.dtau, u + self.held
        self.stages.append(Stage(t, q_mid, v_mid, tau, s.h, by_q, by_v, by_tau))
        of_q, of_v = of.contact.at(q, s.v, tau, s.h, self.impulse)
        ends = []
        for slopes_q, slopes_v, slopes_tau, by in (of_q, of_v):
            end = slopes_q @ self.eta + slopes_v @ self.dv + slopes_tau @ by_tau
            end[..., 3 * n :] += by
            ends.append(end)
        return np.concatenate(ends, -2)

    def _euler(self):
        s, n = self.steps, self.of.robot.nv
        rates, F, G, note = self._rates(0.0, s.xi, s.v, 1.0)
        dy = np.concatenate([0 * self.dv, self.dv], -2)
        note(dy)
        da = (F @ dy + G)[:, n:]
        state, group = (s.base, s.v, rates[:, n:], s.h), kernels(self.of.robot)
        qq, qv, qa, vq, vv, va = group["euler slopes"](*state, group["euler"](*state)[0])
        return np.concatenate([qq @ self.eta + qv @ self.dv + qa @ da, vq @ self.eta + vv @ self.dv + va @ da], -2)
