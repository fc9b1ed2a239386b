"""Jain, (4.24) to (4.32), (4.42), (4.43): Lagrange's and Hamilton's forms, on joints of any group."""

import numpy as np
import pytest
from zoo import MECHANISMS, close, plain

import linkwork as lw

ROBOTS = {name: plain(MECHANISMS[name]) for name in ("tree", "floating", "forest", "geared", "massless")}
every_robot = pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS)


@every_robot
def test_momentum_is_the_slope_of_the_lagrangian_along_v(robot):
    """p = ∂L/∂v = 𝓜 v, and back."""
    q, v = robot.random_state((3,), seed=0)
    p = robot.generalized_momentum(q, v)
    close(p, np.matvec(robot.mass_matrix(q), v), 1e-11)
    close(robot.velocity_of_momentum(q, p), v, 1e-9)
    h = 1e-4  # L is quadratic in v: differences are exact
    slope = [(robot.lagrangian(q, v + h * e) - robot.lagrangian(q, v - h * e)) / (2 * h) for e in np.eye(robot.nv)]
    close(np.stack(slope, -1), p, 1e-6)


@every_robot
def test_legendre(robot):
    """H(q, p) = p · v − L(q, v), the sum of energies."""
    q, v = robot.random_state((3,), seed=1)
    p = robot.generalized_momentum(q, v)
    H = robot.hamiltonian(q, p)
    close(H, np.sum(p * v, -1) - robot.lagrangian(q, v), 1e-9)
    close(H, robot.kinetic_energy(q, v) + robot.potential_energy(q), 1e-9)


@every_robot
def test_hamiltons_equations_are_those_of_newton(robot):
    """ṗ = 𝓜 v̇ + 𝓜̇ v with v̇ of the articulated bodies."""
    q, v = robot.random_state((3,), seed=2)
    tau = np.random.default_rng(2).standard_normal(v.shape)
    found, pdot = robot.hamiltonian_dynamics(q, robot.generalized_momentum(q, v), tau)
    close(found, v, 1e-9)
    springs = robot.potential_energy_gradient(q) - robot.gravity_force(q)
    vdot = robot.forward_dynamics(q, v, tau - springs)
    close(pdot, np.matvec(robot.mass_matrix(q), vdot) + np.matvec(robot.mass_matrix_rate(q, v), v), 1e-9)


@every_robot
def test_the_energy_changes_by_the_power_of_the_forces(robot):
    """dH/dt = τ · v along Hamilton's equations, by differences; damping is a force τ, springs are in H."""
    q, v = robot.random_state(seed=3)
    p = robot.generalized_momentum(q, v)
    tau = np.random.default_rng(3).standard_normal(robot.nv)
    v, pdot = robot.hamiltonian_dynamics(q, p, tau)
    h = 1e-6
    rate = np.diff([robot.hamiltonian(robot.integrate(q, s * v), p + s * pdot) for s in (-h, h)])[0] / (2 * h)
    close(rate, tau @ v, 1e-6)


def test_an_oscillator():
    """p = m v, H = p²/2m + k q²/2; q̇ = p/m, ṗ = −k q."""
    builder = lw.Builder("oscillator", gravity=(0, 0, 0))
    builder.body("mass", joint=lw.Prismatic(axis=(1, 0, 0), stiffness=8.0), mass=2.0)
    robot = lw.Dynamics(builder.model())
    q, p = np.array([0.5]), np.array([3.0])
    assert np.isclose(robot.hamiltonian(q, p), 9 / 4 + 1)
    v, pdot = robot.hamiltonian_dynamics(q, p, np.zeros(1))
    assert np.allclose((v, pdot), [[1.5], [-4.0]])


@pytest.mark.parametrize("road", [{"compiled": False}, {}, {"rolled": True}], ids=str)
def test_the_forces_of_hamiltons_equations_are_the_slope_of_the_hamiltonian(road):
    """ṗ = τ − ∂H/∂q, with springs of joints and between points, and pushes that are constant in the world; dampers are not in H."""
    builder = lw.Builder("arm")
    builder.body("a", joint=lw.Revolute(stiffness=3.0, damping=2.0), mass=1.0, center=(0.5, 0, 0), tensor=(1, 1, 1))
    builder.body("b", "a", (1, 0, 0), lw.Revolute(axis=(0, 1, 0)), mass=2.0, center=(0.5, 0.1, 0), tensor=(1, 2, 1.5))
    spring = lw.Spring("s", None, "b", (0, 0, 2), (1, 0, 0), stiffness=30.0, length=0.2, damping=5.0)
    robot = lw.Dynamics(builder.model().with_forces(spring, lw.Push("p", "b", force=(1.0, 2.0, 3.0), at=(1, 0, 0))), **road)
    q, p, tau, h = np.array([0.3, 0.8]), np.array([0.5, -0.4]), np.array([0.1, 0.2]), 1e-6
    slope = [(robot.hamiltonian(q + h * e, p) - robot.hamiltonian(q - h * e, p)) / (2 * h) for e in np.eye(2)]
    close(robot.hamiltonian_dynamics(q, p, tau)[1], tau - np.array(slope), 1e-6)


def test_loops_are_refused():
    robot = lw.Dynamics(lw.load("four_bar"), compiled=False)
    q, v = robot.neutral(), np.zeros(robot.nv)
    with pytest.raises(lw.ModelError, match="forward_dynamics"):
        robot.hamiltonian_dynamics(q, v, v)
