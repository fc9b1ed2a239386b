"""Whole strokes and turns by closed forms: Peaucellier's straight line, a slider-crank through its dead centres."""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints

from .gallery import assembled, slider_crank

# --- Peaucellier


def test_a_peaucellier_tip_stays_on_its_line_over_its_whole_stroke():
    """x = (long² − short²) / (2 arm) to 1e-10, up to where the rhombus is flat: cos(angle/2) = (long − short) / (2 arm)."""
    robot, held, q = assembled("peaucellier")
    line, end = (1.0 - 0.4**2) / 0.7, 2 * np.arccos(0.6 / 0.7)
    arm, found = robot.q_index("arm_joint").start, []
    for way in (-1, 1):
        there = q.copy()
        for angle in np.linspace(q[arm], way * 0.9999 * end, 60):
            there[arm] = angle
            there = held.assemble(there, hold=["arm_joint"])
            x, y = robot.pose(there, "tip")[:2, 3]
            assert abs(x - line) < 1e-10
            assert abs(y - line * np.tan(angle / 2)) < 1e-9
            found.append(y)
    assert np.ptp(found) > 0.999 * 2 * line * np.tan(end / 2)


def test_a_peaucellier_tip_goes_straight_when_it_is_let_go():
    """Without forces, at rest but for a push: over 1.5 of its length the tip leaves its line by rounding. On its way the
    rhombus is flat and could go on otherwise; a run that does not pass there says so, and none goes another way."""
    plain, _, q = assembled("peaucellier")
    robot = lw.Dynamics(plain.model)
    held = robot.constraints
    q = held.assemble(np.where(np.arange(7) == robot.q_index("arm_joint").start, -0.9, q), hold=["arm_joint"])
    v = held.project(q, np.eye(7)[robot.v_index("arm_joint").start])[1]
    passed = 0
    for rtol in np.logspace(-5, -10, 16):
        run = lw.simulate(robot, (q, 2 * v / np.abs(v).max()), until=3.0, method="dop853", rtol=rtol)
        tip = run.pose("tip")[:, :2, 3]
        np.testing.assert_allclose(tip[:, 0], 1.2, rtol=0, atol=1e-10)
        assert (run.status == "finished") == (run.t[-1] == 3.0) and (run.status == "finished" or run.message)
        passed += run.status == "finished" and np.ptp(tip[:, 1]) > 1.0
    assert passed >= 12


# --- slider-crank

CRANK, ROD, SLIDER = 1.0, 2.0, 3.0  # masses; rods are uniform


def rate(f, a, h=1e-30):
    return np.imag(f(a + 1j * h)) / h


def angle(a, r, l):
    """The rod's own, β = −asin(r sin a / l)."""
    return -np.arcsin(r * np.sin(a) / l)


def place(a, r, l):
    """s = r cos a + √(l² − r² sin² a), from the dead centre at r + l."""
    return r * np.cos(a) + np.sqrt(l**2 - (r * np.sin(a)) ** 2) - (r + l)


def slopes(a, r, l):
    """β', β'', s', s''."""
    k = np.sqrt(l**2 - (r * np.sin(a)) ** 2)
    turn = -r * np.cos(a) / k
    turn2 = r * np.sin(a) / k - r**3 * np.sin(a) * np.cos(a) ** 2 / k**3
    slide = -r * np.sin(a) - r**2 * np.sin(a) * np.cos(a) / k
    slide2 = -r * np.cos(a) - r**2 * (np.cos(2 * a) / k + (r * np.sin(a) * np.cos(a)) ** 2 / k**3)
    return turn, turn2, slide, slide2


def moment(a, r, l):
    """I(a), complex a allowed: the crank about its foot, the rod's middle and turn, the slider."""
    turn, _, slide, _ = slopes(a, r, l)
    b = angle(a, r, l)
    x, y = -r * np.sin(a) - l / 2 * turn * np.sin(b), r * np.cos(a) + l / 2 * turn * np.cos(b)
    return CRANK * r**2 / 3 + ROD * (x * x + y * y + l**2 / 12 * turn * turn) + SLIDER * slide * slide


def expected(a, w, tau, r, l):
    """(q, v, v̇) of crank, rod and slider from Lagrange's equation in the crank's angle alone: I ẇ + ½ I' w² = Q."""
    turn, turn2, slide, slide2 = slopes(a, r, l)
    height = rate(lambda a: CRANK * r / 2 * np.sin(a) + ROD * (r * np.sin(a) + l / 2 * np.sin(angle(a, r, l))), a)
    accel = (tau @ [1.0, turn - 1, slide] - 9.81 * height - rate(lambda a: moment(a, r, l), a) * w**2 / 2) / moment(a, r, l)
    q = np.array([a, angle(a, r, l) - a, place(a, r, l)])
    return q, w * np.array([1, turn - 1, slide]), np.array([accel, turn * accel + turn2 * w**2 - accel, slide * accel + slide2 * w**2])


@pytest.mark.parametrize("r", [1.0, 1.999])
def test_a_slider_crank_agrees_with_its_closed_form_all_around(r):
    """Dead centres included, whatever the way to solve it, and never the answer of the mechanism without its loop."""
    l, tau, model = 2.0, np.array([0.7, -0.4, 1.1]), slider_crank(r)
    plain, fast = (constraints.of(lw.Dynamics(model, compiled=x)) for x in (False, True))
    free = lw.Dynamics(replace(model, loops=()), compiled=False)
    angles = np.concatenate([np.linspace(0, 2 * np.pi, 49), np.pi * np.array([0, 1, 2]) + 1e-7])
    states = [expected(a, 3.0, tau, r, l) for a in angles]
    for q, v, vdot in states:
        np.testing.assert_allclose(plain.residual(q), 0, rtol=0, atol=1e-14)
        size = np.abs(vdot).max()
        for method in ("augmented", "projected", "embedded"):
            np.testing.assert_allclose(plain.forward_dynamics(q, v, tau, method=method), vdot, rtol=1e-9, atol=1e-9 * size)
        assert np.abs(free.forward_dynamics(q, v, tau) - vdot).max() > 1e-3
    Q, V, A = (np.array(x) for x in zip(*states))
    np.testing.assert_allclose(fast.forward_dynamics(Q, V, tau), A, rtol=1e-9, atol=1e-9 * np.abs(A).max())


def test_a_slider_crank_runs_through_its_dead_centres():
    """From just before one, at a speed: energy stays, the slider is where the closed form says, many times around."""
    q, v, _ = expected(-0.1, 8.0, np.zeros(3), 1.0, 2.0)
    path = lw.simulate(lw.Dynamics(slider_crank()), (q, v), until=4.0, method="dop853", rtol=1e-9)
    assert path.q[-1, 0] > 4 * np.pi
    np.testing.assert_allclose(path.energy, path.energy[0], rtol=1e-7)
    np.testing.assert_allclose(path.q[:, 2], place(path.q[:, 0], 1.0, 2.0), rtol=0, atol=1e-12)
