"""The built-in mechanisms with loops, gears or wheels: closed where they stand, of known mobility, and what each is known for."""

from functools import cache

import numpy as np
import pytest
from constraints.dense_equations import kkt

import linkwork as lw
from linkwork.constraints import of
from linkwork.model import mechanism
from linkwork.model.mechanisms import four_bar

MOBILITY = {"slider_crank": 1, "four_bar": 1, "peaucellier": 1, "strandbeest": 1, "squeezer": 1, "bricard": 1,
            "governor": 2, "differential": 2, "intelsat": 8, "rolling_disk": 3, "snakeboard": 4}  # fmt: skip
START = {"beta": -0.0617138900142764496, "theta": 0, "gamma": 0.455279819163070380, "phi": 0.222668390165885885,
         "delta": 0.487364979543842550, "omega": -0.222668390165885885, "epsilon": 1.23054744454982119}  # fmt: skip
every_one = pytest.mark.parametrize("name", MOBILITY)


@cache
def closed(name):
    """The robot and its configuration at the start."""
    robot = lw.Dynamics(mechanism(name), compiled=False)
    q = robot.neutral()
    for joint, angle in START.items() if name == "squeezer" else ():
        q[robot.q_index(joint)] = angle
    return robot, q


def moving(name):
    robot, q = closed(name)
    rng = np.random.default_rng(0)
    return robot, q, robot.constraints.project(q, rng.standard_normal(robot.nv))[1], rng.standard_normal(robot.nv)


def turned(name, joint, angles):
    """Configurations with one joint led through these angles."""
    robot, q = closed(name)
    out = []
    for angle in angles:
        q = q.copy()
        q[robot.q_index(joint)] = angle
        q = robot.assemble(q, hold=[joint])
        out.append(q)
    return robot, np.array(out)


@every_one
def test_its_loops_are_closed_and_it_moves_as_freely_as_it_should(name):
    robot, q = closed(name)
    report = robot.constraint_report(q)
    assert report.closed and report.worst < 1e-15
    assert (report.mobility, report.singular) == (MOBILITY[name], False)


@every_one
def test_four_ways_to_its_acceleration_agree(name):
    robot, q, v, tau = moving(name)
    vdot, _ = kkt(robot.constraints.set, q, v, tau)
    for method in ("augmented", "projected", "embedded"):
        found = robot.constraints.forward_dynamics(q, v, tau, method=method)
        np.testing.assert_allclose(found, vdot, rtol=1e-9, atol=1e-9 * np.abs(vdot).max())


@every_one
def test_its_bodies_can_be_seen_and_could_be_real(name):
    for body in mechanism(name).bodies:
        assert body.visuals and body.complaint is None


def test_two_cuts_of_the_four_bar_are_one_mechanism():
    robots = [lw.Dynamics(four_bar(cut), compiled=False) for cut in ("pin", "foot")]
    rates = []
    for robot in robots:
        q, crank = robot.neutral(), robot.v_index("crank_joint")
        v = robot.constraints.project(q, np.eye(3)[crank.start])[1]
        v *= 3.0 / v[crank]
        tau = np.zeros(3)
        tau[crank] = 7.0
        vdot = robot.forward_dynamics(q, v, tau)
        end = robot.jacobian(q, "end", "world")
        rates.append([*vdot[crank], *(end @ v)[3:], robot.kinetic_energy(q, v)])
    np.testing.assert_allclose(*rates, rtol=1e-11, atol=1e-12)


def test_chebyshevs_end_goes_almost_straight_for_half_of_a_turn():
    """Four cranks long, within a hundredth of that."""
    robot, Q = turned("four_bar", "crank_joint", np.linspace(0, np.pi, 37))
    x, y = robot.pose(Q, "end")[:, :2, 3].T
    assert abs(np.ptp(x) - 0.4) < 1e-12 and np.ptp(y) < 0.004


def test_peaucelliers_tip_stays_on_its_line():
    robot, Q = turned("peaucellier", "arm_joint", np.linspace(0, 0.9, 10))
    x, y = robot.pose(Q, "tip")[:, :2, 3].T
    np.testing.assert_allclose(x, (1.0 - 0.16) / 0.7, atol=1e-12)
    np.testing.assert_allclose(y / x, np.tan(np.linspace(0, 0.9, 10) / 2), atol=1e-12)


def test_jansens_foot_stays_on_the_ground_for_half_of_a_turn():
    """As he wanted it: flat below, lifted on the way back."""
    robot, Q = turned("strandbeest", "crank_joint", np.linspace(0, -2 * np.pi, 73))
    x, y = robot.pose(Q, "foot")[:, :2, 3].T
    low = y < y.min() + 0.03
    assert 0.4 < low.mean() < 0.7
    assert 0.4 < np.ptp(x[low]) < 0.8 and 0.15 < np.ptp(y) < 0.35


def test_the_squeezer_starts_as_published():
    robot, q = closed("squeezer")
    tau = robot.passive_force(q, np.zeros(7))
    tau[robot.v_index("beta")] += 0.033
    vdot = robot.forward_dynamics(q, np.zeros(7), tau)
    rates = [vdot[robot.v_index(joint)][0] for joint in START]
    np.testing.assert_allclose(rates, [14222.4439199541, -10666.8329399656, 0, 0, 0, 0, 0], rtol=1e-11, atol=1e-5)


def test_a_piston_passes_dead_centre():
    """x = r cos θ + √(l² − r² sin² θ), and its acceleration for a steady crank."""
    robot, Q = turned("slider_crank", "crank_joint", np.linspace(0, 2 * np.pi, 25))
    r, l, theta, rate = 0.0345, 0.137, np.linspace(0, 2 * np.pi, 25), 100.0
    s, c = np.sin(theta), np.cos(theta)
    w = np.sqrt(l * l - r * r * s * s)
    piston, crank = robot.v_index("piston_joint").start, robot.v_index("crank_joint").start
    np.testing.assert_allclose(Q[:, robot.q_index("piston_joint")][:, 0], r * c + w - r - l, atol=1e-14)
    steady = of(robot, lw.constraints.Driven("steady", "crank_joint", lambda t: rate * t))
    expected = -rate**2 * (r * c + r * r * (c * c - s * s) / w + r**4 * s * s * c * c / w**3)
    for q, x, angle in zip(Q, expected, theta):
        v = steady.project(q, np.zeros(3), t=angle / rate)[1]
        assert abs(v[crank] - rate) < 1e-9
        assert abs(steady.forward_dynamics(q, v, np.zeros(3), t=angle / rate)[piston] - x) < 1e-6 * np.abs(expected).max()


def test_a_governor_in_balance_neither_lifts_nor_drops():
    """At ω² = −a(0) / (a(1) − a(0)), a the slider's acceleration; there V − ω² T₁ is stationary, T₁ at unit spin."""
    robot, q = closed("governor")
    shaft, slider = (np.eye(robot.nv)[robot.v_index(joint).start] for joint in ("shaft_joint", "slider_joint"))
    lift = [slider @ robot.forward_dynamics(q, rate * shaft, np.zeros(robot.nv)) for rate in (0.0, 1.0)]
    square = -lift[0] / (lift[1] - lift[0])
    ends = []
    for angle in (-1e-4, 1e-4):
        there = q.copy()
        there[robot.q_index("left_arm_joint")] = angle
        there = robot.assemble(there, hold=["left_arm_joint", "shaft_joint"])
        ends.append([robot.potential_energy(there), square * robot.kinetic_energy(there, shaft)])
    (low, spin_low), (high, spin_high) = ends
    assert 5.0 < np.sqrt(square) < 7.0 and abs(high - low) > 1e-3
    np.testing.assert_allclose(high - low, spin_high - spin_low, rtol=1e-7)


def test_one_wheel_turns_as_much_more_as_the_other_less():
    """Left and right about the axle: their mean is the cage's."""
    robot, q, v, _ = moving("differential")
    left, right, cage = (robot.jacobian(q, body, "world")[0] @ v for body in ("left_wheel", "right_wheel", "cage"))
    assert abs(left + right - 2 * cage) < 1e-12
    assert abs(left - right) > 0.1


def test_teeth_do_not_slide():
    """Where bevel and pinions touch, both go the same way."""
    robot, q, v, _ = moving("differential")
    for x in (-0.07, 0.07):
        wheel = "left_wheel" if x < 0 else "right_wheel"
        speeds = []
        for body in ("bevel", wheel):
            T = robot.pose(q, body)
            J = robot.jacobian(q, body, "world") @ v
            speeds.append(J[3:] + np.cross(J[:3], np.array([x, 0, 0.07]) - T[:3, 3]))
        np.testing.assert_allclose(*speeds, atol=1e-12)


def test_a_craft_that_unfolds_keeps_its_momentum_and_goes_flat():
    robot, q = closed("intelsat")
    for side in ("north", "south"):
        for part, angle in (("yoke", 90), ("panel1", -180), ("panel2", 180), ("panel3", -180)):
            q = q.copy()
            q[robot.q_index(f"{side}_{part}_joint")] = np.radians(angle)
    assert robot.constraint_report(q).closed
    tips = robot.pose(np.stack([q, robot.neutral()]), "north_panel3")[:, 1, 3]
    assert tips[0] < 1.1 and tips[1] > 6.0
    vdot = robot.forward_dynamics(q, np.zeros(robot.nv), robot.passive_force(q, np.zeros(robot.nv)))
    assert np.abs(robot.centroidal_momentum(q, vdot)).max() < 1e-10
    assert vdot[robot.v_index("north_yoke_joint")] < 0


def test_an_upright_disk_rolls_straight_on():
    """v = ω r, and nothing changes it: in body axes v̇ = v × ω."""
    robot, q = closed("rolling_disk")
    assert np.allclose(robot.pose(q, "disk")[:3, 3], (0, 0, 0.0375))
    v = robot.constraints.project(q, np.array([0.0, 0.0, 10.0, 0, 0, 0]), hold=[0, 1, 2])[1]
    np.testing.assert_allclose(v[3:], [-0.375, 0, 0], atol=1e-15)
    np.testing.assert_allclose(robot.forward_dynamics(q, v, np.zeros(6)), [0, 0, 0, *np.cross(v[3:], v[:3])], atol=1e-12)
    assert not robot.constraints.integrable(q)


def test_a_snakeboard_that_nobody_pushes_goes_forwards():
    """The rider turns, and the wheels make speed of it, one way or the other as they are steered; none if they are not."""
    robot, q = closed("snakeboard")
    tau = np.eye(robot.nv)[robot.v_index("rider_joint").start]
    ahead = []
    for steer in (-0.3, 0.0, 0.3):
        q = q.copy()
        q[robot.q_index("front_joint")], q[robot.q_index("back_joint")] = steer, -steer
        vdot = robot.forward_dynamics(q, np.zeros(robot.nv), tau)
        ahead.append((robot.jacobian(q, "board", "world") @ vdot)[3])
    assert ahead[0] > 0.1 and abs(ahead[0] + ahead[2]) < 1e-12 and abs(ahead[1]) < 1e-12
    assert not robot.constraints.integrable(q)
