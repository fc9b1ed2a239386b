"""The equations that integrators run on, over the zoo: each by another road."""

import numpy as np
import pytest
from zoo import MECHANISMS, close, differences, every_mechanism, physics, robots, state

import linkwork as lw
from linkwork.motion import equations
from linkwork.simulate.methods import variational
from linkwork.simulate.rates.kernels import kernel
from linkwork.sweeps import kinetic_energy_gradient


def slopes(robot, q, v):
    nodes = robot.lowered.plain()
    slope, p = kinetic_energy_gradient(nodes.blocks(q), nodes.tree.split(v), nodes.still)
    return nodes.tree.join(p), nodes.tree.join(slope)


@every_mechanism
def test_momentum_is_the_slope_of_kinetic_energy_along_v(robot):
    """∂T/∂v = 𝓜 v."""
    s = state(robot, (3,))
    close(slopes(robot, s.q, s.v)[0], (robot.mass_matrix(s.q) @ s.v[..., None])[..., 0], 1e-11)


@every_mechanism
def test_the_slope_of_kinetic_energy_along_q(robot):
    """∂T/∂q at fixed v, against differences of T."""
    s = state(robot)
    numeric = differences(robot, lambda q: robot.kinetic_energy(q, s.v), s.q)
    close(slopes(robot, s.q, s.v)[1], numeric, 1e-8)


@every_mechanism
def test_lagrange_is_newton_and_euler(robot):
    """d/dt ∂T/∂v − ad* ∂T/∂v − ∂T/∂q = C v, with Mdot = C + C*:  C* v = ad* p + ∂T/∂q, rotors apart."""
    s = state(robot, (3,))
    nodes = robot.lowered.plain()
    p, slope = slopes(robot, s.q, s.v)
    C = robot.coriolis_matrix(s.q, s.v)
    rotors = physics(robot.model, "armature") * s.v
    pieces = {"p": nodes.tree.split(p - rotors), "v": nodes.tree.split(s.v)}
    turned = {k: g.ad(pieces["v"][k][..., 0]).mT @ pieces["p"][k] for k, g in enumerate(nodes.groups)}
    close((C.mT @ s.v[..., None])[..., 0], nodes.tree.join(turned) + slope, 1e-11)


@every_mechanism
def test_local_rates_are_the_rates_of_local_coordinates(robot):
    """d/dt (q ∘ exp ξ) has velocity v:  v = S(ξ) ξ̇."""
    s = state(robot)
    xi = 0.3 * s.tau
    rate, vdot = kernel(robot, equations.local_rates)(s.q, xi, s.v, s.tau)
    close(kernel(robot, equations.body_velocity)(xi, rate), s.v)
    q = robot.integrate(s.q, xi)
    close(vdot, robot.forward_dynamics(q, s.v, s.tau + robot.passive_force(q, s.v)), 1e-10)
    h = 1e-6
    moved = robot.difference(robot.integrate(s.q, xi - h * rate), robot.integrate(s.q, xi + h * rate)) / (2 * h)
    close(moved, s.v, 1e-6)


@every_mechanism
def test_a_step_of_euler_is_first_order(robot):
    """(q' − q)/h → v and (v' − v)/h → v̇."""
    s = state(robot)
    h = 1e-6
    q, v = kernel(robot, equations.euler_end)(s.q, s.v, s.vdot, np.array(h))
    close(robot.difference(s.q, q) / h, s.v, 100 * h)
    close((v - s.v) / h, s.vdot, 100 * h)


@every_mechanism
def test_the_discrete_momenta_become_the_momentum(robot):
    """As h goes to zero, p₀ and p₁ of ξ = h v go to 𝓜 v."""
    s = state(robot)
    h = np.array(1e-7)
    p = kernel(robot, variational.momentum)(s.q, s.v)
    residual = kernel(robot, variational.midpoint_residual)(s.q, p, h * s.v, s.tau, h)
    close(residual, 0 * p, 1e-3)


@pytest.mark.parametrize("name", ["universal", "free", "planar", "schoenflies", "helical"])
@pytest.mark.parametrize("function", [equations.local_rates, equations.euler_step, equations.rk4_step, variational.midpoint_residual])
def test_a_kernel_is_its_equation(name, function):
    """Traced and compiled, or run in plain NumPy."""
    fast, slow = (lw.Dynamics(MECHANISMS[name], compiled=compiled) for compiled in (True, False))
    s = state(fast, (5,))
    h = np.full(5, 0.01)
    arguments = {
        equations.local_rates: (s.q, 0.1 * s.vdot, s.v, s.tau),
        variational.midpoint_residual: (s.q, s.vdot, 0.1 * s.v, s.tau, h),
    }.get(function, (s.q, s.v, s.tau, h))
    one, other = (kernel(robot, function)(*arguments) for robot in (fast, slow))
    for a, b in zip(one if isinstance(one, tuple) else (one,), other if isinstance(other, tuple) else (other,)):
        close(a, b, 1e-11)


@pytest.mark.slow
@robots("tree", "geared", "floating")
def test_the_midpoint_rule_is_of_second_order_on_every_joint(robot):
    """All types of joints, rotors and springs; without dry friction, which has corners."""
    s = state(robot)
    momentum, correction, end = (
        kernel(robot, function, friction=False)
        for function in (variational.momentum, variational.midpoint_correction, variational.midpoint_end)
    )

    def ended(n, h=0.01):
        q, v, h = s.q, s.v, np.array(h / n)
        for _ in range(n):
            p, xi = momentum(q, v), h * v
            for _ in range(8):
                xi = correction(q, p, xi, s.tau, h)
            q, v = end(q, xi, s.tau, h)
        return q, v

    exact, *others = ended(8), ended(1), ended(2)
    errors = [np.linalg.norm(robot.difference(exact[0], q)) + np.linalg.norm(v - exact[1]) for q, v in others]
    assert errors[0] / errors[1] == pytest.approx((1 - 1 / 64) / (1 / 4 - 1 / 64), rel=0.1)


@pytest.mark.slow
def test_a_large_robot_runs_on_its_own_rolled_kernels():
    """The same motion, straight-line or rolled."""
    model = lw.load("chain:6")
    straight, rolled = lw.Dynamics(model, rolled=False), lw.Dynamics(model, rolled=True)
    q, v = straight.random_state(seed=0)
    for method in ("rk45", "rk4", "euler", "stiff", "midpoint"):
        one, other = (lw.simulate(robot, (q, v), until=0.05, method=method, dt=0.01) for robot in (straight, rolled))
        np.testing.assert_allclose(one.q, other.q, atol=1e-7)
