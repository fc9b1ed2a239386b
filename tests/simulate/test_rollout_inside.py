"""Rollouts whose control, reset and constants are part of the compiled loop: the same motion as a loop in Python."""

import numpy as np
import pytest

import linkwork as lw

ARM = lw.Dynamics(lw.load("arm_6r"))
BLOCK = lw.Dynamics(lw.load("free_body"))
PLAIN = lw.Dynamics(lw.load("arm_6r"), compiled=False)


@ARM.kernel
def holds(t, q, v, gain, target):
    return gain * (target - q) - np.sqrt(gain) * v + np.sin(t)


def state(robot=ARM, count=5, seed=0):
    return robot.random_state((count,), seed=seed)


def test_a_policy_inside_the_loop_is_the_policy_outside():
    Q, V = state()
    gain, target = np.linspace(1, 9, 5)[:, None] * np.ones(6), np.random.default_rng(1).standard_normal((5, 6))
    how = {"dt": 0.01, "steps": 30}
    inside = lw.rollout(ARM, Q, V, holds, given={"gain": gain, "target": target}, **how)
    outside = lw.rollout(ARM, Q, V, lambda t, Q, V: holds(t, Q, V, gain, target), **how)
    np.testing.assert_allclose(inside.q, outside.q, atol=1e-12)
    plain = lw.rollout(PLAIN, Q, V, holds, given={"gain": gain, "target": target}, **how)
    np.testing.assert_allclose(inside.q, plain.q, atol=1e-11)


def test_a_policy_may_use_the_robot():
    """Gravity held exactly: nothing moves."""
    hover = ARM.kernel(lambda q, v: ARM.gravity_force(q))
    Q, _ = state()
    run = lw.rollout(ARM, Q, np.zeros((5, 6)), hover, dt=0.01, steps=20)
    np.testing.assert_allclose(run.q, np.broadcast_to(Q[:, None], run.q.shape), atol=1e-12)


def test_what_comes_anew_for_each_step_is_seen_at_its_step():
    Q, V = state()
    push = np.random.default_rng(2).standard_normal((5, 12, 6))
    same = ARM.kernel(lambda v, push: push - 0.1 * v)
    inside = lw.rollout(ARM, Q, V, same, each_step={"push": push}, dt=0.01, steps=12)
    outside = lw.rollout(ARM, Q, V, lambda t, Q, V: push[:, round(100 * t)] - 0.1 * V, dt=0.01, steps=12)
    np.testing.assert_allclose(inside.q, outside.q, atol=1e-13)


def test_what_is_given_once_is_the_same_at_each_step():
    """Also right after the same name came anew for each."""
    Q, V = state()
    same = ARM.kernel(lambda v, push: push - 0.1 * v)
    push = np.random.default_rng(2).standard_normal((5, 6))
    each = lw.rollout(ARM, Q, V, same, each_step={"push": np.repeat(push[:, None], 8, 1)}, dt=0.01, steps=8)
    np.testing.assert_array_equal(lw.rollout(ARM, Q, V, same, given={"push": push}, dt=0.01, steps=8).q, each.q)


@ARM.kernel(again=(), q_new=6, v_new=6)
def restarted(q, v, again, q_new, v_new):
    return np.where(again > 0, q_new, q), np.where(again > 0, v_new, v)


@pytest.mark.parametrize("robot", [ARM, PLAIN], ids=["compiled", "plain"])
def test_a_reset_by_mask_starts_again_from_the_state_given(robot):
    """The rest of a run after a reset is a run from there."""
    Q, V = state()
    Q1, V1 = state(seed=3)
    again = np.zeros((5, 20), bool)
    again[:, 7] = [1, 0, 1, 1, 0]
    given = {"q_new": Q1, "v_new": V1}
    run = lw.rollout(robot, Q, V, dt=0.01, steps=20, reset=restarted, given=given, each_step={"again": again})
    free, anew = (lw.rollout(robot, *x, dt=0.01, steps=20) for x in ((Q, V), (Q1, V1)))
    np.testing.assert_array_equal(run.q[:, :8], free.q[:, :8])
    np.testing.assert_array_equal(run.q[[1, 4]], free.q[[1, 4]])
    np.testing.assert_array_equal(run.v[[0, 2, 3], 8:], anew.v[[0, 2, 3], :13])


def test_a_reset_by_condition_keeps_everybody_inside():
    inside = ARM.kernel(lambda t, q, v: (np.where(abs(q[0]) < 1.5, q, 0 * q), np.where(abs(q[0]) < 1.5, v, 0 * v)))
    Q, V = state()
    Q[:, 0], V[:, 0] = 0, 8.0
    run = lw.rollout(ARM, Q, V, dt=0.01, steps=60, reset=inside)
    assert abs(run.q[..., 0]).max() < 1.5 and (run.q == 0).all(-1).any(1).all()
    by_hand = lw.rollout(ARM, Q, V, dt=0.01, steps=60, reset=lambda t, Q, V: inside(t, Q, V))
    np.testing.assert_allclose(run.q, by_hand.q, atol=1e-12)


def test_a_reset_is_told_the_time_after_the_step():
    clock = ARM.kernel(lambda t, q, v: (0 * q + t, 0 * v))
    run = lw.rollout(ARM, *state(), dt=0.25, steps=4, reset=clock)
    np.testing.assert_array_equal(run.q[:, 1:, 0], np.tile([0.25, 0.5, 0.75, 1.0], (5, 1)))


@pytest.mark.parametrize("controls", [None, lambda t, Q, V: 0.0 * V], ids=["inside", "by hand"])
def test_each_robot_may_have_constants_of_its_own(controls):
    """A batch with three masses is three robots, each of its mass."""
    varying = ARM.varying("mass", "gravity")
    Q, V = state(count=3)
    factor = np.array([0.5, 1.0, 2.0])
    masses = factor[:, None] * varying.value("mass")
    run = lw.rollout(varying, Q, V, controls, dt=0.01, steps=10, given={"mass": masses})
    np.testing.assert_allclose(run.q[1], lw.rollout(ARM, Q[1], V[1], dt=0.01, steps=10).q, atol=1e-12)
    vdot = varying.forward_dynamics(Q, V, ARM.passive_force(Q, V), mass=masses)
    np.testing.assert_allclose(run.v[:, 1], V + 0.01 * vdot, atol=1e-12)
    assert abs(run.q[0] - lw.rollout(ARM, Q[0], V[0], dt=0.01, steps=10).q).max() > 1e-6


def test_single_precision_stays_single_with_a_policy():
    Q, V = (x.astype(np.float32) for x in state())
    given = {"gain": np.ones((5, 6)), "target": np.zeros((5, 6))}
    run = lw.rollout(ARM, Q, V, holds, given=given, dt=0.01, steps=5)
    assert run.q.dtype == np.float32
    by_hand = lw.rollout(ARM, Q, V, lambda t, Q, V: holds(np.float32(t), Q, V, *map(np.float32, given.values())), dt=0.01, steps=5)
    np.testing.assert_allclose(run.q, by_hand.q, atol=1e-5)


def test_a_state_with_nan_disturbs_nobody():
    Q, V = state(count=9)
    Q[4, 2] = np.nan
    run = lw.rollout(ARM, Q, V, dt=0.01, steps=5)
    others = [i for i in range(9) if i != 4]
    np.testing.assert_array_equal(run.q[others], lw.rollout(ARM, Q[others], V[others], dt=0.01, steps=5).q)
    assert np.isnan(run.q[4, -1]).all()


WRONG = {
    'holds needs "gain": pass given={"gain": ...} or each_step': {"controls": holds},
    'nothing in this rollout has the input "gian". Did you mean "gain"?': {
        "controls": holds, "given": {"gain": np.ones((4, 6)), "target": np.ones((4, 6)), "gian": 1.0}},
    "mass has shape (3, 6); it must broadcast to (4, 6): batch, and its own axes": {
        "robot": ARM.varying("mass"), "given": {"mass": np.ones((3, 6))}},
    "short returns shapes ((3,),) for one robot; in a rollout it must return ((6,),)": {"controls": "short"},
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_what_does_not_fit_is_told(text):
    @ARM.kernel
    def short(q):
        return q[:3]

    how = {"robot": ARM, "Q0": np.zeros((4, 6)), "V0": np.zeros((4, 6)), "dt": 0.01, "steps": 10} | WRONG[text]
    how["controls"] = short if how.get("controls") == "short" else how.get("controls")
    with pytest.raises((lw.ShapeError, lw.SimulationError, lw.UnknownNameError)) as error:
        lw.rollout(**how)
    assert str(error.value).startswith(text)


def test_one_policy_serves_two_robots():
    """Each robot moves by its own dynamics, though the kernel that drives them is the same."""
    light, heavy = (lw.Dynamics(lw.mechanisms.double_pendulum(mass=m)) for m in (1.0, 5.0))

    @light.kernel
    def push(t, q, v):
        return 1.0 - v

    start = np.zeros((3, 2)), np.zeros((3, 2))
    found = [lw.rollout(robot, *start, push, dt=1e-3, steps=20).q for robot in (light, heavy)]
    plain = [lw.rollout(robot, *start, lambda t, Q, V: 1.0 - V, dt=1e-3, steps=20).q for robot in (light, heavy)]
    for one, other in zip(found, plain):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)
    assert np.abs(found[0] - found[1]).max() > 1e-6
