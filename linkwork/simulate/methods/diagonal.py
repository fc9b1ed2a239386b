"""Runs in velocities whose mass matrix is the identity: η in place of v within each step (Jain, chapter 19)."""

from dataclasses import replace

import numpy as np

from ...motion import equations
from ..rates.kernels import kernel
from .flow import Flow
from .interpolate import Polynomial, through
from .step import Integrator, Interpolant

VELOCITIES = "v", "eta"


class DiagonalFlow:
    """ξ̇ and η̇ at q ∘ exp ξ, as integrators ask for them, with the forces of a run."""

    stops = None
    blocks = 2

    def __init__(self, flow: Flow):
        self.own, self.robot, self.keeper, self.integrate, self.zero = flow, flow.robot, flow.keeper, flow.integrate, flow.zero
        self.local_velocity = kernel(flow.robot, equations.local_velocity)
        self.diagonal = flow.robot.diagonal()

    @property
    def tau(self):
        return self.own.tau

    @property
    def rejected(self) -> int:
        return self.own.rejected

    @rejected.setter
    def rejected(self, count: int) -> None:
        self.own.rejected = count

    def velocity(self, q, eta):
        """v, which is ξ̇ at the start of a step."""
        return self.diagonal.v(q, eta)

    def __call__(self, t: float, q, xi, eta, out) -> None:
        self.own.evaluations += 1
        q = self.integrate(q, xi)
        v = self.velocity(q, eta)
        tau, *wrenches = self.own.forces(t, q, v)
        out[0][...] = self.local_velocity(xi, v)
        out[1][...] = self.diagonal.forward_dynamics(q, eta, tau + self.robot.passive_force(q, v), *wrenches)


class InDiagonalVelocities(Integrator):
    """Steps of another method in η: v becomes η at the start of each, and v again at its end."""

    def __init__(self, flow: DiagonalFlow, method: Integrator):
        super().__init__(flow)  # type: ignore[arg-type]
        self.method = method

    def step(self, s, h):
        flow, q, eta, rates = self.flow, s.q, self.robot.diagonal().eta(s.q, s.v), np.empty((2, self.n))
        flow(s.t, q, flow.zero, eta, tuple(rates))
        made = self.method.step(s._replace(v=eta, vdot=rates[1]), h)
        v1, inner = flow.velocity(made.q, made.v), made.interpolant
        within: Interpolant = Polynomial(lambda: self.in_v(q, inner))  # type: ignore[arg-type]
        if not isinstance(inner, Polynomial):
            within = through(self.robot, made.h, q, made.q, s.v, s.vdot, v1)
        return replace(made, base=q, v=v1, interpolant=within, rates=None)

    def in_v(self, q, interpolant: Polynomial) -> np.ndarray:
        """The coefficients of a polynomial of (ξ, v) from one of (ξ, η): of the same degree, through points that include both ends."""
        c = interpolant.coefficients.copy()
        x = (1 - np.cos(np.pi * np.linspace(0, 1, len(c)))) / 2
        xi, eta = interpolant(x[:, None])
        c[:, self.n :] = np.linalg.solve(x[:, None] ** np.arange(len(c)), self.flow.velocity(self.flow.integrate(q, xi), eta))
        return c
