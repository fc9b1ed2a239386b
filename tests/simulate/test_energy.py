"""What must be kept is kept: energy, momentum, the norm of quaternions, for a long time."""

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson

import linkwork as lw
from linkwork.model import solids

PENDULUM = lw.Dynamics(lw.load("double_pendulum"))
SWING = np.array([2.0, 1.0]), np.zeros(2)
FINE = {"method": "dop853", "rtol": 1e-12, "atol": 1e-12}


def trend(t, x):
    """The slope of the straight line through x, over the length of the run, against the scatter about it."""
    slope, offset = np.polyfit(t, x, 1)
    return abs(slope) * np.ptp(t), np.std(x - slope * t - offset)


def no_trend(steps, every):
    """The energy error of the midpoint rule stays within the same bounds from beginning to end."""
    run = lw.simulate(PENDULUM, SWING, until=0.01 * steps, method="midpoint", dt=0.01, save=lw.Save(every=every))
    assert run.status == "finished" and run.steps == steps
    error = run.energy - run.energy[0]
    tenths = np.array_split(error, 10)
    assert np.abs(tenths[-1]).max() < 2 * max(np.abs(each).max() for each in tenths[:3])
    drift, scatter = trend(run.t, error)
    assert drift < scatter
    return run


def test_the_midpoint_rule_keeps_energy_without_a_trend():
    """Double pendulum, chaotic, 2e4 steps."""
    no_trend(20_000, 1)


@pytest.mark.slow
def test_the_midpoint_rule_keeps_energy_for_a_quarter_of_a_million_steps():
    no_trend(250_000, 10)


def test_euler_and_rk4_are_no_match_for_it():
    """Runge and Kutta's energy error grows all the time: that is what the midpoint rule is for."""
    run = lw.simulate(PENDULUM, SWING, until=200.0, method="rk4", dt=0.01)
    drift, scatter = trend(run.t, run.energy)
    assert drift > 2 * scatter


def test_the_midpoint_rule_keeps_momentum_exactly():
    """A satellite with flexible wings: neither the push of a panel nor the tumbling changes the momentum of the whole."""
    model = lw.Builder("craft", (0, 0, 0))
    model.body("bus", joint=lw.Free(), **solids.box(10.0, (1, 2, 3)))
    model.body("panel", "bus", (0, 1, 0), lw.Revolute(axis=(1, 0, 0), stiffness=5.0), **solids.box(1.0, (1, 2, 0.1), (0, 1, 0)))
    model.body("ball", "bus", (0, -1, 0), lw.Spherical(), **solids.box(1.0, (0.3, 0.2, 0.1), (0.3, 0, 0)))
    robot = lw.Dynamics(model.model())
    q, v = robot.random_state(seed=0)
    run = lw.simulate(robot, (q, v), until=5.0, method="midpoint", dt=0.01)
    n, f = run.momentum[:, :3], run.momentum[:, 3:]
    about_origin = np.concatenate([n + np.cross(run.center_of_mass, f), f], -1)
    np.testing.assert_allclose(about_origin - about_origin[0], 0, atol=1e-11 * np.abs(about_origin).max())


def test_the_midpoint_rule_is_symmetric():
    """A step and a step back with the velocity reversed lead home."""
    robot = lw.Dynamics(lw.load("free_body"))
    q, v = robot.random_state(seed=1)
    there = lw.simulate(robot, (q, v), until=0.5, method="midpoint", dt=0.05)
    back = lw.simulate(robot, (there.q[-1], -there.v[-1]), until=0.5, method="midpoint", dt=0.05)
    np.testing.assert_allclose(robot.difference(q, back.q[-1]), 0, atol=1e-11)
    np.testing.assert_allclose(-back.v[-1], v, atol=1e-11)


@pytest.mark.slow
def test_an_adaptive_method_keeps_energy_to_its_tolerance():
    """At 1e-12 over 100 s: relative drift below 1e-8."""
    run = lw.simulate(PENDULUM, SWING, until=100.0, **FINE)
    scale = np.abs(run.kinetic_energy).max()
    assert np.abs(run.energy - run.energy[0]).max() / scale < 1e-8


@pytest.mark.parametrize("name", ["satellite", "cable:5"])
def test_energy_is_lost_only_to_dampers(name):
    """dE/dt = −Σ d v²: what is lost is the integral of the damping power."""
    robot = lw.Dynamics(lw.load(name))
    q, v = robot.random_state(seed=2)
    run = lw.simulate(robot, (q, 0.3 * v), until=0.5, dt=0.0005, rtol=1e-10, atol=1e-10)
    damping = np.concatenate([part.each("damping") for placed in robot.model.joints for _, part, _ in placed.joint.parts])
    power = (damping * run.v**2).sum(-1)
    lost = cumulative_simpson(power, x=run.t, initial=0)
    np.testing.assert_allclose(run.energy + lost, run.energy[0], rtol=0, atol=1e-5 * (run.energy[0] - run.energy[-1]))


# --- attitudes


def norms(q):
    return np.abs(np.linalg.norm(q, axis=-1) - 1)


@pytest.mark.parametrize("method", ["rk45", "dop853", "stiff", "rk4", "euler", "midpoint"])
def test_quaternions_stay_unit(method):
    robot = lw.Dynamics(lw.load("free_body"))
    run = lw.simulate(robot, (robot.neutral(), [3, 1, 0.2, 0, 0, 0]), until=2.0, method=method, dt=0.002)
    assert norms(run.q[:, :4]).max() < 4e-16


@pytest.mark.parametrize("steps", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", ["euler", "rk4"])
def test_quaternions_stay_unit_for_a_million_steps(method, steps):
    """1e6 steps of a tumbling body: below 1e-12."""
    robot = lw.Dynamics(lw.load("free_body"))
    run = lw.rollout(robot, robot.neutral(), np.array([3, 1, 0.2, 0, 0, 0]), dt=1e-3, steps=steps, every=100, method=method)
    assert np.isfinite(run.q).all() and norms(run.q[:, :4]).max() < 1e-12


def lengths(run):
    """The steps of a run, without the first ones and the last, which is cut."""
    return np.diff(run.t)[5:-1]


def test_no_attitude_is_special_to_a_tumbling_satellite():
    """It turns over all attitudes, and no step is much shorter than the others."""
    robot = lw.Dynamics(lw.load("free_body").with_gravity((0, 0, 0)))
    run = lw.simulate(robot, (robot.neutral(), [0.02, 2.0, 0.01, 0, 0, 0]), until=60.0, rtol=1e-8, atol=1e-10)
    z = run.pose("block")[:, :3, 2]
    assert z.min() < -0.95 and z.max() > 0.95
    assert lengths(run).min() > 0.3 * np.median(lengths(run))
    assert run.rejected < 0.05 * run.steps


def test_no_attitude_is_special_to_a_chain_of_ball_joints():
    """The same satellite turned by anything at the start makes the same steps: there is no preferred frame."""
    link = solids.rod(1.0, (0, 0, -0.5))
    link["tensor"] = tuple(tuple(row) for row in np.array(link["tensor"]) + 1e-3 * np.eye(3))
    builder = lw.Builder("chain", (0, 0, 0)).body("link0", joint=lw.Free(), **link)
    for i in range(1, 4):
        builder.body(f"link{i}", f"link{i - 1}", (0, 0, -0.5), lw.Spherical(), **link)
    robot = lw.Dynamics(builder.model())
    q, v = robot.random_state(seed=3)
    runs = []
    for seed in range(4):
        q[:4] = np.linalg.qr(np.random.default_rng(seed).standard_normal((4, 4)))[0][0]
        runs.append(lw.simulate(robot, (q, v), until=3.0, rtol=1e-8, atol=1e-8))
    assert len({run.steps for run in runs}) == 1 and len({run.rejected for run in runs}) == 1
    assert lengths(runs[0]).min() > 0.1 * np.median(lengths(runs[0]))
