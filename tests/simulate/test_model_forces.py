"""Springs and pushes that a model carries between its points act in a simulation."""

import numpy as np
import pytest

import linkwork as lw


def weight_on_a_spring():
    builder = lw.Builder("weight", gravity=(0, 0, 0))
    builder.body("weight", joint=lw.Prismatic(axis=(0, 0, 1)), mass=2.0)
    return builder.model().with_forces(lw.Spring("spring", None, "weight", at=(0, 0, -3.0), stiffness=8.0, length=3.0))


def test_a_weight_on_a_spring_swings_at_the_root_of_k_over_m():
    robot = lw.Dynamics(weight_on_a_spring())
    run = lw.simulate(robot, (np.array([0.1]), np.zeros(1)), until=np.pi, method="dop853", rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(run.q[-1], 0.1 * np.cos(2.0 * np.pi), atol=1e-8)
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    np.testing.assert_allclose(energy, 0.5 * 8.0 * 0.1**2, rtol=1e-7)


@pytest.mark.parametrize("rolled", [False, True])
def test_a_rollout_has_them_too(rolled):
    """q(t) = q(0) cos 2t, of straight-line and of rolled kernels."""
    robot = lw.Dynamics(weight_on_a_spring(), rolled=rolled)
    start = np.array([[0.1], [-0.2]])
    run = lw.rollout(robot, start, np.zeros((2, 1)), dt=1e-3, steps=1000, method="rk4")
    np.testing.assert_allclose(run.q[:, -1], start * np.cos(2.0), atol=1e-10)
