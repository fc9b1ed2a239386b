"""The derivatives of the steps of a run, all steps at once: what a step makes of small changes, exactly as its method does.

A change of the state at the start of a step is (η, δv), the configuration being q ∘ exp η. Within a step that is q ∘ exp ξ, stage by stage:

    ηᵢ = Ad(exp −ξᵢ) η + S(ξᵢ) δξᵢ           δv̇ᵢ = ∂v̇/∂q ηᵢ + ∂v̇/∂v δvᵢ + 𝓜⁻¹ δτᵢ + ∂v̇/∂p δp
    δξ̇ᵢ = ∂(S⁻¹(ξ) v)/∂ξ δξᵢ + S⁻¹(ξᵢ) δvᵢ    δyᵢ = δy₀ + h Σ aᵢⱼ δẏⱼ,   y = (ξ, v)

The lengths of the steps stand still. Columns are (η, δv, δτ, δp): δτ is a force that is constant during the step.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..dynamics import Dynamics
from ..engine.kernel import Kernel
from ..engine.program import Input
from ..errors import SimulationError
from ..kernels import DerivativeKernel, QuantityKernel, UserKernel
from ..lie.group import Additive
from ..motion import equations
from ..motion.linearize import nodes_like
from ..quantities import coordinate_rates, difference
from . import tableau
from .dense import Dense, Polynomials
from .explicit import RK4

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
    """Exact derivatives of the rates of a robot with its controls, called with a batch of states."""

    def __init__(self, robot: Dynamics, functions: list, names: tuple[str, ...]):
        """`functions` are controls (t, q, v) -> τ as kernels, `names` constants that `varying` knows."""
        self.robot, self.functions, self.names = robot, functions, names
        self.varying = self._kept(("varying", names), lambda: robot.varying(*names))
        self.adds = all(isinstance(group, Additive) for group in robot.lowered.nodes.groups)

    def _kept(self, key, make: Callable):
        """What is made once for a robot."""
        key = "derivatives of steps", *key
        if key not in self.robot.made:
            self.robot.made[key] = make()
        return self.robot.made[key]

    def _acceleration(self) -> DerivativeKernel:
        """(q, v, τ, constants...) -> ∂v̇/∂constants."""
        robot, varying, own = self.robot, self.varying, self.varying.own
        inputs = *(robot.lowered.input(name, (size,)) for name, size in (("q", "nq"), ("v", "nv"), ("tau", "nv"))), *(
            Input(name, x.shape) for name, x in own.items()
        )

        def function(q, v, tau, *constants):
            nodes = robot.lowered.system(varying.nodes_like(q, dict(zip(own, constants))))
            return equations.acceleration(nodes, q, v, tau)

        return QuantityKernel(robot, Kernel("acceleration", function, inputs)).jacobian(by=self.names)

    def by_constants(self, q, v, tau) -> np.ndarray:
        """∂v̇/∂p (N, nv, size of all constants)."""
        if not self.names:
            return np.zeros((*v.shape, 0))
        found = self._kept(("acceleration", self.names), self._acceleration)(q, v, tau, *self.varying.own.values())
        return np.concatenate([x.reshape(*v.shape, -1) for x in (found if isinstance(found, tuple) else (found,))], -1)

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

    # --- on the group, joint by joint: (N, nv, nv)

    def _blocks(self, function, xi):
        nodes = self.robot.lowered.plain()
        parts = nodes.tree.split(xi)
        return nodes.tree.matrix({(k, k): function(nodes.groups[k], parts[k][..., 0]) for k in nodes.tree.base_to_tips()})

    def carried(self, xi):
        """Ad(exp −ξ)."""
        return self._blocks(lambda group, x: group.Ad(group.exp(-x)), xi)

    def S(self, xi):
        return self._blocks(lambda group, x: group.dexp(x, side="right"), xi)

    def S_inverse(self, xi):
        return self._blocks(lambda group, x: group.dexp_inverse(x, side="right"), xi)

    def _velocity(self) -> DerivativeKernel:
        function = lambda xi, v: equations.local_velocity(nodes_like(self.robot, xi), xi, v)
        return UserKernel(self.robot, function, {"xi": (self.robot.nv,)}).jacobian(by="xi")

    def velocity_by_xi(self, xi, v):
        """∂(S⁻¹(ξ) v)/∂ξ."""
        return np.zeros((*xi.shape, xi.shape[-1])) if self.adds else self._kept(("velocity",), self._velocity)(xi, v)

    def _euler_end(self) -> DerivativeKernel:
        """(q, v, v̇, h, q') -> ∂(change of q', v')/∂(q, v, v̇)."""
        robot = self.robot

        def end(q, v, vdot, h, q1):
            nodes = nodes_like(robot, q)
            there, v = equations.euler_end(nodes, q, v, vdot, h)
            return difference(nodes, q1, there), v

        return UserKernel(robot, end, {"h": ()}).jacobian(by=("q", "v", "vdot"))

    def euler_end(self, q, v, vdot, h):
        """∂(q', v')/∂(q, v, v̇) of semi-implicit Euler steps."""
        q1, _ = equations.euler_end(self.robot.lowered.plain(), q, v, vdot, h)
        return self._kept(("euler",), self._euler_end)(q, v, vdot, h, q1)

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
    stages: list[Stage] = field(default_factory=list)

    def __post_init__(self):
        n, self.columns = self.of.robot.nv, 3 * self.of.robot.nv + sum(x.size for x in self.of.varying.own.values())
        columns = np.broadcast_to(np.eye(self.columns), (len(self.steps.t), self.columns, self.columns))
        self.eta, self.dv, self.dtau = (columns[:, i * n : i * n + n] for i in range(3))
        if self.method == "euler":
            self.matrix = self._euler()
        elif self.method == "stiff":
            self.matrix = self._implicit(*RADAU)
        else:
            self.matrix = self._explicit(*tableaus(self.method))

    def _rates(self, c: float, xi, v, weight: float, moved_base: bool = True):
        """ẏ of a stage, and δẏ as (matrix times δy, the rest): the stage is noted once its δy is known, by `_note`."""
        of, s, n = self.of, self.steps, self.of.robot.nv
        q, t = of.robot.integrate(s.base, xi), s.t + c * s.h
        u, u_q, u_v = of.control(t, q, v)
        tau = u + self.held
        A, B = of.robot.linearize(q, v, tau)
        a_q, a_v, a_tau = A[:, n:, :n], A[:, n:, n:], B[:, n:]
        S, S_inverse = of.S(xi), of.S_inverse(xi)
        along = of.carried(xi) @ self.eta if moved_base else 0 * self.eta
        F = np.concatenate([
            np.concatenate([of.velocity_by_xi(xi, v), S_inverse], -1),
            np.concatenate([(a_q + a_tau @ u_q) @ S, a_v + a_tau @ u_v], -1),
        ], -2)  # fmt: skip
        rest = (a_q + a_tau @ u_q) @ along + a_tau @ self.dtau
        rest[..., 3 * n :] += of.by_constants(q, v, tau)
        G = np.concatenate([np.zeros_like(rest), rest], -2)
        rates = np.concatenate([(S_inverse @ v[..., None])[..., 0], of.vdot(q, v, tau)], -1)

        def note(dy):
            eta = along + S @ dy[:, :n]
            self.stages.append(Stage(t, q, v, tau, weight * s.h, eta, dy[:, n:], u_q @ eta + u_v @ dy[:, n:] + self.dtau))

        return rates, F, G, note

    def _explicit(self, A, B, C):
        s, n = self.steps, self.of.robot.nv
        h = s.h[:, None]
        y, dy0 = np.concatenate([s.xi, s.v], -1), np.concatenate([0 * self.dv, self.dv], -2)
        K: list[np.ndarray] = []
        dK: list[np.ndarray] = []
        for i in range(len(B)):
            Y = y + h * sum((A[i, j] * K[j] for j in range(i)), 0 * y)
            dY = dy0 + h[..., None] * sum((A[i, j] * dK[j] for j in range(i)), 0 * dy0)
            rates, F, G, note = self._rates(C[i], Y[:, :n], Y[:, n:], B[i])
            note(dY)
            K.append(rates)
            dK.append(F @ dY + G)
        xi = s.xi + h * sum(b * k[:, :n] for b, k in zip(B, K))
        end = dy0 + h[..., None] * sum(b * k for b, k in zip(B, dK))
        return np.concatenate([self.of.carried(xi) @ self.eta + self.of.S(xi) @ end[:, :n], end[:, n:]], -2)

    def _implicit(self, A, B, C):
        """Stages that depend on one another: a linear system, (1 − h A F) δẏ = F δy₀ + G. The base stands still, ξ₀ moves."""
        s, n = self.steps, self.of.robot.nv
        N, stages, h = len(s.t), len(B), s.h[:, None, None]
        assert s.coefficients is not None
        dy0 = np.concatenate([self.of.S_inverse(s.xi) @ self.eta, self.dv], -2)
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
        xi = s.coefficients.sum(1)[:, :n]
        return np.concatenate([self.of.S(xi) @ end[:, :n], end[:, n:]], -2)

    def _euler(self):
        s, n = self.steps, self.of.robot.nv
        rates, F, G, note = self._rates(0.0, s.xi, s.v, 1.0)
        dy = np.concatenate([0 * self.dv, self.dv], -2)
        note(dy)
        da = (F @ dy + G)[:, n:]
        qq, qv, qa, vq, vv, va = self.of.euler_end(s.base, s.v, rates[:, n:], s.h)
        return np.concatenate([qq @ self.eta + qv @ self.dv + qa @ da, vq @ self.eta + vv @ self.dv + va @ da], -2)


def tableaus(method: str):
    """A, B, C of an explicit method."""
    if method == "rk4":
        return RK4.A, RK4.B, RK4.C
    if method == "rk45":
        return tableau.A, tableau.B, tableau.C
    from scipy.integrate import DOP853

    return DOP853.A, DOP853.B, DOP853.C
