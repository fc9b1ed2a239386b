"""Ensembles of arrays on a GPU, for which something stands in: rows, float32, loops whose lengths vary, Ctrl-C and what goes on."""

import numpy as np
import pytest
import stand_in
from emulated import emulated

import linkwork as lw
from linkwork.engine.loading.cuda import DeviceError
from linkwork.engine.loading.kernel import Kernel
from linkwork.engine.running import ptx_repeat
from linkwork.engine.running.device import DeviceRepeat
from linkwork.engine.running.repeat import Form
from linkwork.engine.tracing.program import Input
from linkwork.simulate.ensembles.ensemble_device import Threads


@pytest.fixture
def cupy(monkeypatch):
    return stand_in.install(monkeypatch)


@pytest.fixture(scope="module")
def pendulum():
    return lw.Dynamics(lw.load("double_pendulum"))


def there(cupy, *arrays, dtype=None):
    return tuple(cupy.asarray(x, dtype) for x in arrays)


def close(found, expected, atol=1e-12):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=0, atol=atol)


def collatz(x, count, limit):
    """x ← x/2, or 3x + 1 on odd numbers, until 1; odd numbers are kept, with their square."""
    odd = np.floor(x / 2) * 2 < x
    new = np.where(odd, 3 * x + 1, x / 2)
    return new, count + 1, np.stack([x, x * x]), np.where(odd, 1.0, 0.0), np.where((new <= 1) | (count + 1 >= limit), 1.0, 0.0)


@pytest.mark.parametrize("dtype", ["double", "float"])
def test_a_segment_is_that_of_the_cpu(dtype):
    """Rounds, rows and the room for them; a sample that does not go stays."""
    kernel, kind = Kernel("collatz", collatz, tuple(Input(x, ()) for x in ("x", "count", "limit"))), {"double": "d", "float": "f"}[dtype]
    run, n = emulated(ptx_repeat.text(kernel.program, dtype, ("rows",) * 7, Form(2, keeps=True, leaves=True))), 70
    x, count, limit, goes = np.arange(1, n + 1).astype(kind), np.zeros(n, kind), np.full(n, 40, kind), np.ones(n, kind)
    goes[5] = 0
    new, after, rows, counts = np.zeros(n, kind), np.zeros(n, kind), np.full((n, 3, 2), np.nan, kind), np.zeros(n, kind)
    arrays = [(x, 1), (count, 1), (limit, 1), (new, 1), (after, 1), (rows, 6), (counts, 1)]
    run(n, n, 30, 3, goes.ctypes.data, *(y for x, step in arrays for y in (x.ctypes.data, step)), 2)
    for i in range(n):
        value, kept, rounds = float(x[i]), [], 0
        while goes[i]:
            value, _, row, keep, done = map(np.asarray, collatz(np.float64(value), rounds, 40.0))
            kept, rounds = kept + [row] * bool(keep), rounds + 1
            if done or len(kept) == 3 or rounds == 30:
                break
        assert (new[i], after[i], counts[i]) == (value, rounds, len(kept))
        np.testing.assert_array_equal(rows[i, : len(kept)], np.reshape(kept, (-1, 2)))


@pytest.mark.parametrize("how", [{"save": "steps"}, {"dt": 0.1}], ids=["all steps", "multiples of dt"])
def test_rows_are_those_of_the_cpu(cupy, pendulum, how, monkeypatch):
    """In launches with room for a few rows, of a batch (2, 3) that events end at times of their own."""
    monkeypatch.setattr(Threads, "CAPACITY", 5)
    q, v = pendulum.random_state((2, 3), seed=0)
    robots = pendulum, lw.Dynamics(pendulum.model)

    def run(robot, state):
        end = lw.Event(robot.kernel()(lambda t, q: t - 0.25 - 0.1 * np.abs(q[0])), "end", terminal=True)
        return lw.simulate(robot, state, until=0.5, events=[end], **how)

    here, made = run(robots[0], (q, v)), run(robots[1], there(cupy, q, v))
    assert made.status.tolist() == here.status.tolist() and "event" in here.status
    for i in np.ndindex(2, 3):
        for x, y in zip(made.rows(i), here.rows(i), strict=True):
            assert type(x) is stand_in.ndarray
            close(x, y)


@pytest.mark.slow
def test_linkages_of_other_lengths_have_rows_there(cupy):
    """Rows on the constraints of each sample, as on the CPU."""
    robot, other = (lw.Dynamics(lw.load("four_bar")) for _ in range(2))
    varying, rng = robot.varying("at", "loop_on"), np.random.default_rng(0)
    given = {name: x * rng.uniform(0.9, 1.1, (4, len(x), 1)) for name, x in varying.own.items()}
    q, v = varying.project(varying.assemble(robot.assemble(robot.neutral()), **given), np.ones(3), **given)
    v[2] = np.nan
    here = lw.simulate(varying, (q, v), until=0.2, dt=0.05, given=given)
    on_gpu = {name: cupy.asarray(x) for name, x in given.items()}
    made = lw.simulate(other.varying("at", "loop_on"), there(cupy, q, v), until=0.2, dt=0.05, given=on_gpu)
    assert made.status.tolist() == here.status.tolist() == ["finished", "finished", "failed", "finished"]
    assert made.message(2) == here.message(2)
    close(made.q, here.q, 1e-11)
    close(made.v, here.v, 1e-10)


@pytest.mark.parametrize("name", ["double_pendulum", "four_bar"])
def test_in_single_precision_motions_are_near_those_in_double(cupy, name):
    """To a few of its tolerances; times at multiples of dt are none less, though 0.7 is rounded down in float32."""
    robot, other = (lw.Dynamics(lw.load(name)) for _ in range(2))
    if robot.constraints is None:
        q, v = robot.random_state((3,), seed=0)
    else:
        q, v = map(np.array, zip(*(robot.constraints.random_state(seed=i, reach=0.3) for i in range(3))))
    v *= 0.3
    here = lw.simulate(robot, (q, v), until=0.7, dt=0.1, rtol=1e-5, atol=1e-6)
    made = lw.simulate(other, there(cupy, q, v, dtype=np.float32), until=0.7, dt=0.1, rtol=1e-5, atol=1e-6)
    assert made.end.q.dtype == np.float32 and made.status.tolist() == ["finished"] * 3 and made.q.shape == here.q.shape
    close(made.q, here.q, 1e-3)
    close(made.t, here.t, 1e-6)
    assert np.abs(made.steps - here.steps).max() < 10 + 0.5 * here.steps.max()


def test_what_single_precision_cannot_meet_is_refused(cupy, pendulum):
    q, v = pendulum.random_state((3,), seed=0)
    with pytest.raises(lw.SimulationError, match="in float32 errors below"):
        lw.simulate(pendulum, there(cupy, q, v, dtype=np.float32), until=0.3, rtol=1e-9, atol=1e-12)
    with pytest.raises(DeviceError, match="mix double and float"):
        lw.simulate(pendulum, (cupy.asarray(q), cupy.asarray(v, np.float32)), until=0.3)


@pytest.mark.parametrize("how", [{"save": "last"}, {"save": "steps"}, {"dt": 0.1}])
def test_ensembles_go_on_as_on_the_cpu(cupy, pendulum, how, monkeypatch):
    """From 0.25 s to 0.6 s with a held controller; and what Ctrl-C has stopped is made to the end, with the bits of what it has not."""
    q, v = pendulum.random_state((4,), seed=0)
    robots = pendulum, lw.Dynamics(pendulum.model)
    controls = [lw.hold(robot.kernel()(lambda q, v: -q - 0.1 * v), rate=7.0) for robot in robots]
    here = lw.simulate(robots[0], (q, v), until=0.25, control=controls[0], **how).resume(0.6)
    state = there(cupy, q, v)
    made = lw.simulate(robots[1], state, until=0.25, control=controls[1], **how)
    kept, made = np.array(made.end.q), made.resume(0.6)
    for x, y in ((made.end.q, here.end.q), (made.end.v, here.end.v), (made.steps, here.steps)):
        close(x, y)
    for x, y in zip(made.rows(1), here.rows(1), strict=True) if how != {"save": "last"} else ():
        close(x, y)
    calls, run = [], DeviceRepeat.rounds

    def interrupted(*x):
        calls.append(x)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return run(*x)

    monkeypatch.setattr(DeviceRepeat, "rounds", interrupted)
    stopped = lw.simulate(robots[1], state, until=0.25, control=controls[1], **how)
    assert stopped.status.tolist() == ["stopped"] * 4 and not np.asarray(stopped.end.t).any()
    close(stopped.end.q, q, 0)
    done = stopped.resume()
    assert done.status.tolist() == ["finished"] * 4
    np.testing.assert_array_equal(np.asarray(done.end.q), kept)
    calls.clear()
    np.testing.assert_array_equal(np.asarray(done.resume(0.6).end.q), np.asarray(done.end.q))  # stopped again: where it was
    np.testing.assert_array_equal(np.asarray(done.resume(0.6).end.q), np.asarray(made.end.q))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_max_steps_and_timeout_are_those_of_the_cpu(cupy, pendulum, dtype):
    """A sample that turns at 1e7 rad/s ends after max_steps, the others as without it; a timeout stops all, and resume goes on."""
    q, v = pendulum.random_state((3,), seed=0)
    how, state = {"until": 0.2, "rtol": 1e-4, "atol": 1e-4, "save": "last"}, there(cupy, q, v, dtype=dtype)
    tame = lw.simulate(pendulum, state, **how)
    v[1] = 1e7
    wild = lw.simulate(pendulum, there(cupy, q, v, dtype=dtype), method=lw.RK45(max_steps=50), **how)
    assert wild.status.tolist() == ["finished", "failed", "finished"] and wild.steps[1] == 50 and "max_steps" in wild.message(1)
    np.testing.assert_array_equal(np.asarray(wild.end.q)[[0, 2]], np.asarray(tame.end.q)[[0, 2]])
    stopped = lw.simulate(pendulum, state, timeout=1e-9, **how)
    assert stopped.status.tolist() == ["stopped"] * 3
    np.testing.assert_array_equal(np.asarray(stopped.resume().end.q), np.asarray(tame.end.q))
