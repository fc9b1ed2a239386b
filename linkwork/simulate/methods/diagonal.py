"""Runs in velocities whose mass matrix is the identity: η in place of v within each step (Jain, chapter 19)."""

import numpy as np

from ...motion import equations
from ..rates.kernels import kernel
from .flow import Flow
from .interpolate import Polynomial, Quartic
from .step import Integrator, Step

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

    rejected = property(lambda self: self.method.rejected)
    next_step = property(lambda self: self.method.next_step)

    def restart(self, *, jump):
        self.method.restart(jump=jump)

    def snapshot(self):
        return InDiagonalVelocities(self.flow, self.method.snapshot())  # type: ignore[arg-type]

    def step(self, t, q, v, vdot, h):
        flow, eta, rates = self.flow, self.robot.diagonal().eta(q, v), np.empty((2, self.n))
        flow(t, q, flow.zero, eta, tuple(rates))
        made = self.method.step(t, q, eta, rates[1], h)
        v1 = flow.velocity(made.q, made.v)
        if isinstance(made.interpolant, Polynomial):
            inner = made.interpolant
            return Step(made.h, q, made.q, v1, Polynomial(lambda: self.in_v(q, inner)))
        return Step(made.h, q, made.q, v1, Quartic(self.robot, made.h, self.robot.difference(q, made.q), v, vdot, v1))

    def in_v(self, q, interpolant: Polynomial) -> np.ndarray:
        """The coefficients of a polynomial of (ξ, v) from one of (ξ, η): of the same degree, through points that include both ends."""
        c = interpolant.coefficients.copy()
        x = (1 - np.cos(np.pi * np.linspace(0, 1, len(c)))) / 2
        xi, eta = interpolant(x[:, None])
        c[:, self.n :] = np.linalg.solve(x[:, None] ** np.arange(len(c)), self.flow.velocity(self.flow.integrate(q, xi), eta))
        return c
