"""Rollouts of robots with loops, gears, wheels and drives: the motion of `simulate`, on the constraints, each sample by itself."""

import sys
from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints
from linkwork.constraints.systems.loop_binding import ByChoice
from linkwork.errors import SimulationError
from linkwork.model.mechanisms.linkages import four_bar

FOUR_BAR = lw.Dynamics(lw.load("four_bar"))


def states(robot, count=3, reach=0.3):
    return map(np.array, zip(*(robot.constraints.random_state(seed=i, reach=reach) for i in range(count))))


def off(robot, run, t=None):
    """How far states are from the constraints, in q and in v."""
    rows = robot.constraints.rows(run.q, run.v) if t is None else robot.constraints.rows(run.q, run.v, t)
    return np.abs(rows.c).max(initial=0.0), np.abs(np.matvec(rows.Jc, run.v) - rows.U).max(initial=0.0)


@pytest.mark.parametrize("name", ["four_bar", "rolling_disk", "differential"])
def test_a_rollout_is_the_motion_and_stays_on_the_constraints(name):
    """Errors shrink as h and h⁴; what is left of the constraints is rounding."""
    robot = lw.Dynamics(lw.load(name))
    q, v = states(robot)
    end = np.array([lw.simulate(robot, x, until=0.1, rtol=1e-10, atol=1e-12).q[-1] for x in zip(q, v)])
    for method, order in (("euler", 1), ("rk4", 4)):
        runs = [lw.rollout(robot, q, v, dt=0.1 / n, steps=n, method=method) for n in (40, 80)]
        errors = [np.abs(run.q[:, -1] - end).max() for run in runs]
        assert errors[1] < 1e-9 or errors[0] / errors[1] == pytest.approx(2**order, rel=0.3)
        in_q, in_v = off(robot, runs[0])
        assert in_q < 1e-12 and in_v < 1e-11


def test_large_steps_are_put_back_too():
    q, v = states(FOUR_BAR)
    run = lw.rollout(FOUR_BAR, q, v, dt=0.03, steps=30)
    in_q, in_v = off(FOUR_BAR, run)
    assert np.isfinite(run.q).all() and in_q < 1e-12 and in_v < 1e-10


def test_samples_that_one_choice_does_not_serve_are_made_again(monkeypatch):
    """A choice that is singular somewhere on the way: its samples have the motion of choices of their own."""
    q, v = states(FOUR_BAR, 4)
    rollout = sys.modules["linkwork.simulate.rollouts.steps"]
    with monkeypatch.context() as m:
        m.setattr(rollout, "one_choice", lambda *_: None)
        expected = lw.rollout(FOUR_BAR, q, v, dt=0.01, steps=20)
    robot = lw.Dynamics(FOUR_BAR.model)
    poor = robot.constraints.choices[0]
    with monkeypatch.context() as m:  # as if pivots had been large where it was made: it serves two of the samples at most
        m.setattr(rollout, "one_choice", lambda *_: ByChoice(robot.constraints, replace(poor, pivots=1.3e3 * poor.pivots)))
        found = lw.rollout(robot, q, v, dt=0.01, steps=20)
    np.testing.assert_allclose(found.q, expected.q, atol=1e-11)
    np.testing.assert_allclose(lw.rollout(robot, q, v, dt=0.01, steps=20).q, expected.q, atol=1e-11)


def test_a_sample_has_the_same_bits_in_any_batch():
    q, v = states(FOUR_BAR, 5)
    whole = lw.rollout(FOUR_BAR, q, v, dt=0.01, steps=20)
    one = lw.rollout(FOUR_BAR, q[3], v[3], dt=0.01, steps=20)
    np.testing.assert_array_equal(whole.q[3], one.q)
    np.testing.assert_array_equal(whole.v[3], one.v)


def test_plain_numpy_and_functions_of_the_batch_lead_to_the_same():
    plain = lw.Dynamics(FOUR_BAR.model, compiled=False)
    q, v = states(FOUR_BAR, 2)

    @FOUR_BAR.kernel
    def damped(q, v):
        return -0.1 * v

    expected = lw.rollout(FOUR_BAR, q, v, damped, dt=0.01, steps=10)
    for robot in (FOUR_BAR, plain):
        found = lw.rollout(robot, q, v, lambda t, Q, V: -0.1 * V, dt=0.01, steps=10)
        np.testing.assert_allclose(found.q, expected.q, atol=1e-12)
    single = lw.rollout(FOUR_BAR, q.astype(np.float32), v.astype(np.float32), damped, dt=0.01, steps=10)
    assert single.q.dtype == np.float32
    np.testing.assert_allclose(single.q, expected.q, atol=1e-3)


def test_a_driven_joint_follows_its_drive():
    drive = constraints.Driven("drive", "crank_joint", lambda t: 0.3 * np.sin(5 * t))
    robot = lw.Dynamics(replace(lw.load("four_bar"), constraints=(drive,)))
    q, v = robot.constraints.project(robot.assemble(robot.neutral(), t=0.0), np.zeros(3), t=0.0)
    crank = robot.v_index("crank_joint").start
    reference = lw.simulate(robot, (q, v), until=0.2, rtol=1e-10, atol=1e-12)
    for method in ("euler", "rk4"):
        run = lw.rollout(robot, q, v, dt=0.005, steps=40, method=method)
        np.testing.assert_allclose(run.q[:, crank], 0.3 * np.sin(5 * run.t), atol=1e-13)
        np.testing.assert_allclose(run.v[:, crank], 1.5 * np.cos(5 * run.t), atol=1e-11)
        np.testing.assert_allclose(run.q[-1], reference.q[-1], atol=1e-9)  # all of it is given
    stepwise = lw.rollout(robot, q, v, lambda t, Q, V: 0 * V, dt=0.005, steps=40, method="rk4")
    np.testing.assert_allclose(stepwise.q, run.q, atol=1e-12)


def test_each_robot_of_a_batch_has_lengths_of_its_own():
    names = "at", "loop_at", "loop_on", "mass", "center", "tensor"
    robots = [lw.Dynamics(four_bar(crank=a, ground=b)) for a, b in ((0.1, 0.2), (0.08, 0.22), (0.05, 0.21))]
    q, v = map(np.array, zip(*(robot.constraints.random_state(seed=i) for i, robot in enumerate(robots))))
    own = [robot.varying(*names).own for robot in robots]
    given = {name: np.array([x[name] for x in own]) for name in names}
    run = lw.rollout(FOUR_BAR.varying(*names), q, v, dt=0.01, steps=20, given=given)
    each = [lw.rollout(robot, *x, dt=0.01, steps=20) for robot, *x in zip(robots, q, v)]
    np.testing.assert_allclose(run.q, [x.q for x in each], atol=1e-10)


def test_a_robot_that_cannot_be_put_back_goes_on_as_nan():
    q, v = states(FOUR_BAR, 2)
    free = FOUR_BAR.varying("loop_on")
    ends = np.stack([free.value("loop_on") + 10.0, free.value("loop_on")])  # a rocker that reaches no coupler
    run = lw.rollout(free, q, v, dt=0.01, steps=3, given={"loop_on": ends})
    assert np.isnan(run.q[0, 1:]).all() and np.isfinite(run.q[1]).all()


def test_a_start_that_breaks_the_constraints_is_named():
    q, v = states(FOUR_BAR, 2)
    with pytest.raises(lw.LinkworkError, match='open are "pin"'):
        lw.rollout(FOUR_BAR, q + 0.3 * np.eye(3)[0], v, dt=0.01, steps=1)
    with pytest.raises(lw.LinkworkError, match="velocities break"):
        lw.rollout(FOUR_BAR, q, v + 0.3 * np.eye(3)[0], dt=0.01, steps=1)
    q[0] = np.nan
    run = lw.rollout(FOUR_BAR, q, v, dt=0.01, steps=1)
    assert np.isnan(run.v[0, 1]).all() and np.isfinite(run.q[1]).all()


def test_the_gradient_is_that_of_the_steps():
    """λ by differences along motions that keep the loops"""
    (q,), (v,) = states(FOUR_BAR, 1)
    rng = np.random.default_rng(0)
    controls, weights = 0.1 * rng.standard_normal((6, 3)), tuple(rng.standard_normal((7, 3)) for _ in range(2))

    def cost(q, v, tau):
        run = lw.rollout(FOUR_BAR, q, v, tau, dt=0.01, steps=6)
        return np.sum(weights[0] * run.q) + np.sum(weights[1] * run.v)

    found = lw.rollout_gradient(FOUR_BAR, q, v, controls, weights=weights, dt=0.01, steps=6)
    turned = rng.standard_normal(controls.shape)
    slope = (cost(q, v, controls + 1e-4 * turned) - cost(q, v, controls - 1e-4 * turned)) / 2e-4
    assert np.sum(found.controls * turned) == pytest.approx(slope, rel=1e-6)
    dv = FOUR_BAR.constraints.tangent(q, rng.standard_normal((1, 3)))[0]
    slope = (cost(q, v + 1e-4 * dv, controls) - cost(q, v - 1e-4 * dv, controls)) / 2e-4
    assert found.v @ dv == pytest.approx(slope, rel=1e-6)


@pytest.mark.slow
def test_many_linkages_of_more_than_eighty_velocities_move_as_each_does():
    """27 four-bars side by side, 81 velocities: straight-line code as that of one."""
    whole = one = lw.load("four_bar")
    for i in range(26):
        whole = whole.with_model(None, one, (0, 0.5 * (i + 1), 0), prefix=f"{i}_")
    q, v = states(FOUR_BAR, 27)
    run = lw.rollout(lw.Dynamics(whole), q.ravel(), v.ravel(), dt=1e-3, steps=5)
    each = lw.rollout(FOUR_BAR, q, v, dt=1e-3, steps=5)
    assert np.abs(each.q[:, -1] - q).max() > 1e-3
    np.testing.assert_allclose(run.q.reshape(6, 27, 3), each.q.swapaxes(0, 1), rtol=0, atol=1e-12)


def test_long_mechanisms_say_what_to_do():
    with pytest.raises(SimulationError, match=r"Dynamics\(model, rolled=False\)"):
        robot = lw.Dynamics(FOUR_BAR.model, rolled=True)
        lw.rollout(robot, np.zeros(3), np.zeros(3), dt=0.1, steps=1)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_constraint_that_cannot_be_traced_is_refused_by_a_rollout_with_the_reason(compiled):
    """Rollouts are one formula; no other method is told that they do not have."""
    tie = constraints.Holonomic("tie", lambda q: [float(q[0] + q[1])])
    robot = lw.Dynamics(lw.load("double_pendulum").with_constraints(tie), compiled=compiled)
    with pytest.raises(lw.LinkworkError, match=r'"tie" .* cannot be traced'):
        lw.rollout(robot, np.array([[0.3, -0.3]]), np.zeros((1, 2)), dt=0.01, steps=2)
