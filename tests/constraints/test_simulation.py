"""Motions with known results, and residuals that stay."""

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints
from linkwork.constraints import simulate

from .benchmarks import NAMES, START, andrews, andrews_force, car_axis, ordered
from .gallery import assembled, n_four_bar, spatial_slider_crank


def windows(n, compiled=True):
    robot = lw.Dynamics(n_four_bar(n), compiled=compiled)
    q, v = np.zeros(robot.nq), np.zeros(robot.nv)
    for i in range(n + 1):
        q[robot.q_index(f"crank{i}_joint")], v[robot.v_index(f"crank{i}_joint")] = np.pi / 2, -1
    for i in range(n):
        q[robot.q_index(f"coupler{i}_joint")], v[robot.v_index(f"coupler{i}_joint")] = -np.pi / 2, 1
    return robot, constraints.of(robot), q, v


def corner(robot, q, v):
    return [*robot.pose(q, "coupler0")[:2, 3], *(robot.jacobian(q, "coupler0", "world") @ v)[3:5]]


def test_one_window_swings_as_published():
    """S2, N = 1."""
    robot, held, q, v = windows(1)
    path = simulate(held, (q, v), until=1.0, rtol=1e-10, at=[1.0])
    found = corner(robot, path.q[-1], path.v[-1])
    np.testing.assert_allclose(found, [-0.2607126752, -0.9654164392, -6.637809496, 1.792553970], rtol=1e-6)
    np.testing.assert_allclose(held.residual(path.q), 0, atol=1e-13)


@pytest.mark.slow
def test_two_windows_pass_through_their_singular_configurations():
    """S2, N = 2: dof jumps from 1 to 3 each time the cranks are level."""
    robot, held, q, v = windows(2)
    path = simulate(held, (q, v), until=5.0, method="rk4", dt=2e-3, at=[1.0])
    found = [corner(robot, x, y) for x, y in zip(path.q[1:], path.v[1:])]
    np.testing.assert_allclose(found[0], [-0.1950203019, -0.9807992057, -6.676678037, 1.327578325], rtol=1e-6)
    np.testing.assert_allclose(found[1], [-0.8113104610, -0.5846155454, -3.569117397, 4.953105171], rtol=1e-6)


def squeezer():
    robot = lw.Dynamics(andrews())
    q = np.zeros(7)
    for name, x in zip(NAMES, START):
        q[robot.q_index(name)] = x
    return robot, constraints.of(robot), q


def test_the_squeezer_starts_as_published():
    """S3: q̈(0)."""
    robot, held, q = squeezer()
    np.testing.assert_allclose(held.residual(q), 0, atol=1e-15)
    vdot = held.forward_dynamics(q, np.zeros(7), andrews_force(robot)(0.0, q, np.zeros(7)))
    np.testing.assert_allclose(ordered(robot, vdot, "v_index")[:2], [14222.4439199541, -10666.8329399656], rtol=1e-9)
    np.testing.assert_allclose(ordered(robot, vdot, "v_index")[2:], 0, atol=1e-5)


def test_the_squeezer_moves_as_published():
    """S3: a third of the way, ten digits."""
    robot, held, q = squeezer()
    path = simulate(held, (q, np.zeros(7)), until=0.01, rtol=1e-10, control=andrews_force(robot), at=[0.01])
    expected = [2.160113131, -1.883364231, 0.158516758, -0.328641075, 0.525154775, 0.328641075, 1.068427205]
    np.testing.assert_allclose(ordered(robot, path.q[-1], "q_index"), expected, atol=2e-8)


@pytest.mark.slow
def test_the_squeezer_ends_as_published():
    robot, held, q = squeezer()
    path = simulate(held, (q, np.zeros(7)), until=0.03, rtol=1e-11, control=andrews_force(robot), at=[0.03])
    expected = [15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948,
                0.5244099658805304, 0.5347301163226948, 1.048080741042263]  # fmt: skip
    np.testing.assert_allclose(ordered(robot, path.q[-1], "q_index"), expected, rtol=1e-6)
    np.testing.assert_allclose(ordered(robot, path.v[-1], "v_index")[:2], [1139.920302151208, -1424.379294994111], rtol=1e-6)


def test_the_spatial_slider_crank_moves_as_published():
    """S5."""
    robot = lw.Dynamics(spatial_slider_crank())
    held = constraints.of(robot)
    q = np.zeros(4)
    q[robot.q_index("slider_joint")] = 0.2
    np.testing.assert_allclose(held.residual(q), 0, atol=1e-15)
    G, i = held.jacobian(q), robot.v_index("crank_joint").start
    others = [j for j in range(4) if j != i]
    v = np.zeros(4)
    v[i], v[others] = 6.0, np.linalg.solve(G[:, others], -6.0 * G[:, i])
    assert abs(v[robot.v_index("slider_joint").start] - 0.24) < 1e-12
    path = simulate(held, (q, v), until=0.5, rtol=1e-11, at=[0.1, 0.2])
    crank, slider = robot.q_index("crank_joint").start, robot.q_index("slider_joint").start
    np.testing.assert_allclose(path.q[1:, crank], [0.56003148209, 1.28724232688, 5.58376255331], rtol=1e-9)
    np.testing.assert_allclose(path.v[1:, i], [5.8288881347, 9.7828904658, 14.4081608102], rtol=1e-9)
    np.testing.assert_allclose(path.q[1:, slider], [0.22678718855, 0.26303897258, 0.18495262978], rtol=1e-9)


@pytest.mark.slow
def test_the_car_axis_moves_as_published():
    """S10."""
    held, control = car_axis()
    q, v = np.array([0.0, 0.5, 1.0, 0.5]), np.array([-0.5, 0.0, -0.5, 0.0])
    path = simulate(held, (q, v), until=3.0, rtol=1e-9, atol=1e-11, control=control, at=[3.0])
    np.testing.assert_allclose(path.q[-1], [0.0493455784275, 0.49698946023, 1.04174252488542, 0.37391102726536], rtol=1e-6)
    np.testing.assert_allclose(path.v[-1], [-0.0770583684, 0.00744686658, 0.01755681575, 0.77034104377], rtol=2e-6)


def test_a_peaucellier_tip_stays_on_its_line():
    """To 1e-10 of its length, over a whole stroke."""
    robot, held, q = assembled("peaucellier")
    start = robot.pose(q, "tip")[0, 3]
    arm = robot.v_index("arm_joint").start
    for angle in np.linspace(-0.9, 0.9, 19):
        there = q.copy()
        for part in np.linspace(0, 1, 8)[1:]:
            there[arm] = q[arm] + part * (angle - q[arm])
            there = held.assemble(there, hold=["arm_joint"])
        x, y = robot.pose(there, "tip")[:2, 3]
        assert abs(x - start) < 1e-10
        np.testing.assert_allclose(y / x, np.tan(angle / 2), rtol=1e-9, atol=1e-12)
    assert abs(start - (1.0 - 0.16) / 0.7) < 1e-12


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "bricard"])
def test_energy_and_residual_stay(name):
    robot, _, q = assembled(name)
    held = constraints.of(lw.Dynamics(robot.model))
    v = held.project(q, np.ones(robot.nv))[1]
    path = simulate(held, (q, v), until=1.0, rtol=1e-9, at=np.linspace(0.1, 1, 10))
    energy = robot.kinetic_energy(path.q, path.v) + robot.potential_energy(path.q)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(held.residual(path.q), 0, atol=1e-12)
    rate = np.matvec(held.jacobian(path.q), path.v)
    np.testing.assert_allclose(rate, 0, atol=1e-11 * max(1, np.abs(path.v).max()))


def test_without_projection_loops_drift_and_baumgarte_pulls_them_back():
    _, held, q = assembled("four_bar")
    v = held.project(q, np.ones(3))[1]
    open_ = q + np.array([0.0, 1e-3, 0.0])
    run = lambda **how: simulate(held, (open_, v), until=0.6, method="rk4", dt=0.02, at=[0.6], **how)
    free, pulled, kept = run(project=False), run(project=False, stabilization=(30.0, 1.0)), run()
    drift = [np.abs(held.residual(p.q[-1])).max() for p in (free, pulled, kept)]
    assert drift[2] < 1e-13 < drift[1] < 1e-4 < drift[0]


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
    assert len(held.embedding.groups) == n and held.embedding.largest == 3
    rng = np.random.default_rng(0)
    v, tau = held.project(q, rng.standard_normal(robot.nv))[1], rng.standard_normal(robot.nv)
    one, other = (held.forward_dynamics(q, v, tau, method=x) for x in ("embedded", "augmented"))
    np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8 * np.abs(other).max())


def test_the_optimal_partition_steps_a_thousand_times_better_than_a_bad_one():
    """Müller and Terze, 5.3: near the rocker's dead centre the rocker is a bad coordinate to hold while projecting."""
    from linkwork.constraints.projected import partition

    robot, held, q = assembled("four_bar, other cut")
    q = held.assemble([0.499062266, 0.0, 1.2772027], hold=["crank_joint"])
    way = np.linalg.svd(held.jacobian(q))[2][-1]
    v, h = 3 * way / np.abs(way).max(), 1e-3
    exact = simulate(held, (q, v), until=h, rtol=1e-12, at=[h])
    vdot = held.forward_dynamics(q, v, np.zeros(3))
    there = robot.integrate(q, h * v + h * h / 2 * vdot), v + h * vdot
    best = partition(robot.mass_matrix(q), held.jacobian(q), 1e-9).independent
    assert best == robot.v_index("crank_joint").start
    errors = [np.abs(held.project(*there, fixed=x)[0] - exact.q[-1]).max() for x in (best, [robot.v_index("rocker_joint").start])]
    assert 1000 * errors[0] < errors[1]
