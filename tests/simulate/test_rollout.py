"""Rollouts: what simulate does to one robot, done to thousands."""

import signal
import threading

import numpy as np
import pytest

import linkwork as lw
from linkwork.engine.running import repeat

ARM = lw.Dynamics(lw.load("arm_6r"))
BLOCK = lw.Dynamics(lw.load("free_body"))
every_method = pytest.mark.parametrize("method", ["euler", "rk4"])
every_robot = pytest.mark.parametrize("robot", [ARM, BLOCK], ids=["arm", "block"])


@every_method
@every_robot
def test_a_rollout_is_a_simulation_of_each(robot, method):
    """With a force for each step, held during it."""
    rng = np.random.default_rng(0)
    Q, V = robot.random_state((3,), seed=0)
    tau = rng.standard_normal((3, 20, robot.nv))
    out = lw.rollout(robot, Q, V, tau, dt=0.01, steps=20, method=method)
    assert out.q.shape == (3, 21, robot.nq) and out.v.shape == (3, 21, robot.nv) and out.t.shape == (21,)
    for i in range(3):
        hold = lw.hold(lambda t, q, v, i=i: tau[i, round(100 * t)], rate=100.0)
        run = lw.simulate(robot, (Q[i], V[i]), until=0.2, method=method, dt=0.01, control=hold)
        np.testing.assert_allclose(out.q[i], run.q, rtol=0, atol=1e-11)
        np.testing.assert_allclose(out.v[i], run.v, rtol=0, atol=1e-10)
        np.testing.assert_allclose(out.t, run.t, atol=1e-15)


@every_method
def test_a_batch_does_not_matter(method):
    """Each robot of a batch moves as it does alone, to the bit."""
    Q, V = ARM.random_state((2, 9), seed=1)
    out = lw.rollout(ARM, Q, V, dt=0.01, steps=10, method=method)
    assert out.q.shape == (2, 9, 11, ARM.nq)
    for at in np.ndindex(2, 9):
        alone = lw.rollout(ARM, Q[at], V[at], dt=0.01, steps=10, method=method)
        np.testing.assert_array_equal(out.q[at], alone.q)
        np.testing.assert_array_equal(out.v[at], alone.v)


def test_every_keeps_fewer_states():
    Q, V = ARM.random_state((4,), seed=2)
    full, few = (lw.rollout(ARM, Q, V, dt=0.01, steps=12, every=n) for n in (1, 5))
    np.testing.assert_array_equal(few.q, full.q[:, ::5])
    np.testing.assert_array_equal(few.v, full.v[:, ::5])
    np.testing.assert_allclose(few.t, [0, 0.05, 0.1])


def test_a_rollout_may_write_into_another():
    Q, V = ARM.random_state((2, 4), seed=2)
    once = lw.rollout(ARM, Q, V, dt=0.01, steps=6, every=2)
    q, v = np.full((2, 4, 4, 6), np.nan), np.full((2, 4, 4, 6), np.nan)
    again = lw.rollout(ARM, Q, V, dt=0.01, steps=6, every=2, out=(q, v))
    assert np.shares_memory(again.q, q) and np.shares_memory(again.v, v)
    np.testing.assert_array_equal(q, once.q)
    np.testing.assert_array_equal(v, once.v)
    with pytest.raises(lw.ShapeError, match=r"q of out is float64 of shape \(2, 4, 4, 6\); this rollout needs"):
        lw.rollout(ARM, Q, V, dt=0.01, steps=6, out=(q, v))


def test_controls_broadcast_over_batch_and_steps():
    Q, V = ARM.random_state((4,), seed=3)
    tau = np.arange(6.0)
    one = lw.rollout(ARM, Q, V, tau, dt=0.01, steps=5).q
    for same in (np.tile(tau, (5, 1)), np.tile(tau, (4, 1, 1)), np.tile(tau, (4, 5, 1)), lambda t, q, v: np.tile(tau, (4, 1))):
        np.testing.assert_array_equal(lw.rollout(ARM, Q, V, same, dt=0.01, steps=5).q, one)
    assert not np.array_equal(lw.rollout(ARM, Q, V, dt=0.01, steps=5).q, one)


def test_a_state_broadcasts():
    Q, V = ARM.random_state((4,), seed=3)
    np.testing.assert_array_equal(lw.rollout(ARM, Q[0], V, dt=0.01, steps=3).q[2], lw.rollout(ARM, Q[0], V[2], dt=0.01, steps=3).q)


def test_feedback_sees_time_and_the_whole_batch():
    seen = []

    def control(t, Q, V):
        seen.append((t, Q.shape))
        return -3 * V

    Q, V = ARM.random_state((4,), seed=4)
    lw.rollout(ARM, Q, V, control, dt=0.01, steps=3)
    assert [shape for _, shape in seen] == [(4, 6)] * 3
    np.testing.assert_allclose([t for t, _ in seen], [0, 0.01, 0.02])


@every_robot
def test_single_precision_stays_single(robot):
    Q, V = (x.astype(np.float32) for x in robot.random_state((8,), seed=5))
    single = lw.rollout(robot, Q, V, dt=0.01, steps=10)
    assert single.q.dtype == single.v.dtype == np.float32
    double = lw.rollout(robot, Q.astype(float), V.astype(float), dt=0.01, steps=10)
    np.testing.assert_allclose(single.q, double.q, atol=1e-3)


def test_the_steps_of_rk4_are_of_fourth_order():
    Q, V = BLOCK.random_state((3,), seed=6)
    exact = lw.rollout(BLOCK, Q, V, dt=0.001, steps=1000, method="rk4", every=1000).q[:, -1]
    errors = [np.abs(BLOCK.difference(exact, lw.rollout(BLOCK, Q, V, dt=1 / n, steps=n, method="rk4").q[:, -1])).max() for n in (20, 40)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4, abs=0.3)


def test_nothing_moves_in_no_steps():
    Q, V = ARM.random_state((4,), seed=7)
    out = lw.rollout(ARM, Q, V, dt=0.01, steps=0)
    np.testing.assert_array_equal(out.q[:, 0], Q)
    assert lw.rollout(ARM, Q[:0], V[:0], dt=0.01, steps=3).q.shape == (0, 4, 6)


WRONG = {
    "Q0 has shape (4, 5), but arm_6r has nq = 6": {"Q0": np.zeros((4, 5))},
    "V0 has shape (), but arm_6r has nv = 6": {"V0": 1.0},
    "the batch axes do not go together: Q0 (4,), V0 (3,)": {"V0": np.zeros((3, 6))},
    "controls has shape (4, 6); it must broadcast to (4, 10, 6): batch, steps, and its own axes. One": {"controls": np.zeros((4, 6))},
    "controls returned an array of shape (6,); it must have shape (4, 6)": {"controls": lambda t, q, v: np.zeros(6)},
    'arm_6r: a rollout takes no method "rk45"': {"method": "rk45"},
    "steps is -1; it must be a whole number, at least 0": {"steps": -1},
    "every is 1.5; it must be a whole number, at least 1": {"every": 1.5},
    "dt is nan; it must be a finite number of seconds": {"dt": np.nan},
    "dt is [0.0, 0.1]; it must be a finite number of seconds": {"dt": [0.0, 0.1]},
    "steps is None; it must be a whole number": {"steps": None},
    "controls has dtype <U1; it takes numbers": {"controls": "x"},
    "what controls returned has dtype object; it takes numbers": {"controls": lambda t, q, v: [[None] * 6] * 4},
    "rollout takes a Dynamics, not a Constrained": {"robot": lw.constraints.of(lw.Dynamics(lw.load("four_bar"), compiled=False))},
    "Q0 has dtype complex128": {"Q0": np.zeros((4, 6), complex)},
}


@pytest.mark.parametrize("text", WRONG)
def test_what_does_not_fit_is_told(text):
    how = {"Q0": np.zeros((4, 6)), "V0": np.zeros((4, 6)), "dt": 0.01, "steps": 10} | WRONG[text]
    with pytest.raises((lw.ShapeError, lw.SimulationError)) as error:
        lw.rollout(how.pop("robot", ARM), **how)
    assert str(error.value).startswith(text)


def test_functions_of_the_batch_cannot_write_to_the_states():
    """Controls get views that are read only; a reset gets arrays of its own, and what it returns counts."""
    robot = lw.Dynamics(lw.load("double_pendulum"))
    Q, V = robot.random_state((3,), seed=0)
    how = {"dt": 0.01, "steps": 4}
    with pytest.raises(ValueError, match="read-only"):
        lw.rollout(robot, Q, V, lambda t, q, v: q.fill(0) or np.zeros(2), **how)
    plain = lw.rollout(robot, Q, V, **how)

    def reset(t, q, v):
        same = q.copy(), v.copy()
        q[:], v[:] = 7.0, 7.0
        return same

    np.testing.assert_array_equal(lw.rollout(robot, Q, V, reset=reset, **how).q, plain.q)


@pytest.mark.parametrize("every", [1, 7, 40])
def test_a_rollout_in_parts_has_the_same_bits(every, monkeypatch):
    """Parts of a few samples and steps, within and across the rows that are kept; backwards too, for gradients."""
    (Q, V), controls = BLOCK.random_state((5,), seed=0), np.random.default_rng(1).standard_normal((5, 45, BLOCK.nv))
    how = {"dt": 0.01, "steps": 45, "every": every}

    def made():
        gradient = lw.rollout_gradient(BLOCK, Q, V, controls, weights=(None, 1.0), **how)
        return *lw.rollout(BLOCK, Q, V, controls, **how), gradient.q, gradient.v, gradient.controls

    whole = made()
    for part in (1, 3, 11):
        monkeypatch.setattr(repeat, "FIRST_PART", part)
        monkeypatch.setattr(repeat, "SECONDS", 0.0)
        for x, y in zip(made(), whole):
            np.testing.assert_array_equal(x, y)


def test_ctrl_c_reaches_a_rollout():
    """Within a second or so, of one that would take hours."""
    Q, V = BLOCK.random_state((2,), seed=0)
    lw.rollout(BLOCK, Q, V, dt=1e-9, steps=10, every=10)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        lw.rollout(BLOCK, Q, V, dt=1e-9, steps=10**10, every=10**10)


def swung(t, Q, V):
    return np.sin(5 * t) - 0.1 * V


@pytest.mark.parametrize("control", ["kernel", "Python"])
@pytest.mark.parametrize("method", ["euler", "rk4"])
def test_a_rollout_in_two_parts_is_that_in_one(method, control):
    """The second part begins at the time, and in the state, at which the first ended: the same bits, with forces of t."""
    robot = lw.Dynamics(lw.load("double_pendulum"))
    Q, V = robot.random_state((3,), seed=0)
    function = robot.kernel(t=())(lambda t, q, v: np.sin(5 * t) - 0.1 * v) if control == "kernel" else swung
    how = {"dt": 0.0625, "method": method}  # whose multiples are exact
    whole = lw.rollout(robot, Q, V, function, steps=8, start=1.0, **how)
    first = lw.rollout(robot, Q, V, function, steps=4, start=1.0, **how)
    then = lw.rollout(robot, first.end.q, first.end.v, function, steps=4, start=first.end.t, **how)
    np.testing.assert_array_equal(np.concatenate([first.q, then.q[:, 1:]], 1), whole.q)
    np.testing.assert_array_equal(np.concatenate([first.t, then.t[1:]]), whole.t)
    assert whole.end.t == 1.5 and not np.array_equal(whole.q, lw.rollout(robot, Q, V, function, steps=8, **how).q)


def test_drives_of_a_rollout_begin_at_its_start():
    made = lw.Builder("led", (0, -9.81, 0)).body("one", joint=lw.Revolute(), mass=1.0, center=(0.5, 0, 0), tensor=(0.1, 0.1, 0.1))
    robot = lw.Dynamics(made.drive("one_joint", lambda t: np.sin(3 * t)).model())
    run = lw.rollout(robot, [[np.sin(1.5)]], [[3 * np.cos(1.5)]], dt=0.01, steps=10, start=0.5)
    np.testing.assert_allclose(run.q[0, :, 0], np.sin(3 * run.t), atol=1e-12)


def test_a_start_that_is_no_time_is_refused():
    robot = lw.Dynamics(lw.load("pendulum"))
    with pytest.raises(lw.SimulationError, match="start is nan; it must be a finite number"):
        lw.rollout(robot, [0.1], [0.0], dt=0.1, steps=1, start=np.nan)
