"""Motions with known results, and residuals that stay."""

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints

from .gallery import assembled, motion


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "bricard"])
def test_energy_and_residual_stay(name):
    plain, _, q = assembled(name)
    robot = lw.Dynamics(plain.model)
    held = robot.constraints
    path = motion(robot, held.project(q, np.ones(robot.nv)), np.linspace(0.1, 1, 10))
    np.testing.assert_allclose(path.energy, path.energy[0], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(held.residual(path.q), 0, atol=1e-12)
    rate = np.matvec(held.jacobian(path.q), path.v)
    np.testing.assert_allclose(rate, 0, atol=1e-11 * max(1, np.abs(path.v).max()))


def test_baumgarte_pulls_open_loops_back():
    """c̈ + 2ζω ċ + ω² c = 0."""
    _, held, q = assembled("four_bar")
    q, v, omega, zeta = q + np.array([0.0, 1e-3, 0.0]), np.array([0.3, -0.2, 0.5]), 30.0, 0.7
    c, G = held.residual(q), held.jacobian(q)
    vdot = held.forward_dynamics(q, v, np.zeros(3), stabilization=(omega, zeta))
    np.testing.assert_allclose(G @ vdot + held.bias(q, v), -2 * zeta * omega * G @ v - omega**2 * c, rtol=0, atol=1e-10)
    assert omega**2 * np.abs(c).max() > 0.1


def test_many_four_bars_on_each_other_are_one_small_group_each():
    """Hung on each other's couplers: as many groups as loops, each of three nodes."""
    m = lw.Builder("hung", (0, -9.81, 0))
    from .gallery import ABOUT_Z, rod

    carrier, n = None, 12
    for i in range(n):
        m.body(f"a{i}", carrier, (0.1, 0, 0), ABOUT_Z, **rod(1.0))
        m.body(f"b{i}", f"a{i}", (1, 0, 0), ABOUT_Z, **rod(2.0))
        m.body(f"c{i}", carrier, (2.1, 0, 0), ABOUT_Z, **rod(1.0))
        m.loop(f"pin{i}", f"b{i}", f"c{i}", ABOUT_Z, at=(2, 0, 0), on=(1, 0, 0))
        carrier = f"b{i}"
    robot = lw.Dynamics(m.model(), compiled=False)
    held = constraints.of(robot)
    q = robot.neutral()
    for i in range(n):
        q[robot.q_index(f"a{i}_joint")] = q[robot.q_index(f"c{i}_joint")] = -1.2
        q[robot.q_index(f"b{i}_joint")] = 1.2
    np.testing.assert_allclose(held.residual(q), 0, atol=1e-14)
    assert [len(group) for group in held.loops.groups] == [3] * n
    rng = np.random.default_rng(0)
    v, tau = held.project(q, rng.standard_normal(robot.nv))[1], rng.standard_normal(robot.nv)
    one, other = (held.forward_dynamics(q, v, tau, method=x) for x in ("embedded", "augmented"))
    np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8 * np.abs(other).max())


def test_the_optimal_partition_steps_a_thousand_times_better_than_a_bad_one():
    """Müller and Terze, 5.3: near the rocker's dead centre the rocker is a bad coordinate to hold while projecting."""
    from linkwork.constraints.choice.partition import independent_velocities

    robot, held, q = assembled("four_bar, other cut")
    q = held.assemble([0.499062266, 0.0, 1.2772027], hold=["crank_joint"])
    way = np.linalg.svd(held.jacobian(q))[2][-1]
    v, h = 3 * way / np.abs(way).max(), 1e-3
    exact = motion(robot, (q, v), [h], rtol=1e-12)
    vdot = held.forward_dynamics(q, v, np.zeros(3))
    there = robot.integrate(q, h * v + h * h / 2 * vdot), v + h * vdot
    best = independent_velocities(robot.mass_matrix(q), held.jacobian(q), 1e-9)
    assert best == robot.v_index("crank_joint").start
    errors = [np.abs(held.project(*there, hold=x)[0] - exact.q[-1]).max() for x in (best, [robot.v_index("rocker_joint").start])]
    assert 1000 * errors[0] < errors[1]
