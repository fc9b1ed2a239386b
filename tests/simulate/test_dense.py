"""Dense output: between rows the motion is that of the integrator, whatever rows are stored."""

import json

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulate.storage import dense

PENDULUM = lw.Dynamics(lw.load("double_pendulum"))
BLOCK = lw.Dynamics(lw.load("free_body"))
FOUR_BAR = lw.Dynamics(lw.load("four_bar"))
START = np.array([2.0, 0.5]), np.zeros(2)
TUMBLING = BLOCK.neutral(), np.array([3.0, 1.0, 0.2, 1.0, 2.0, 3.0])
METHODS = {
    "rk45": ({"rtol": 1e-9, "atol": 1e-9, "dt": 0.5}, 1e-6),
    "dop853": ({"rtol": 1e-11, "atol": 1e-12, "dt": 0.5}, 1e-8),
    "stiff": ({"rtol": 1e-7, "atol": 1e-9, "dt": 0.5}, 1e-3),
    "rk4": ({"dt": 1e-3, "save": lw.Save(every=500)}, 1e-7),
    "midpoint": ({"dt": 1e-3, "save": lw.Save(every=500)}, 1e-3),
    "euler": ({"dt": 1e-4, "save": lw.Save(every=5000)}, 3e-2),
}


def far(robot, one, other):
    return max(np.abs(robot.difference(one[0], other[0])).max(), np.abs(one[1] - other[1]).max())


@pytest.fixture(scope="module")
def exact():
    t = np.linspace(0.01, 1.99, 100)
    runs = {}
    for robot, state in ((PENDULUM, START), (BLOCK, TUMBLING)):
        runs[robot] = t, lw.simulate(robot, state, until=2.0, method="dop853", rtol=1e-13, atol=1e-14, max_step=0.02)(t)
    return runs


@pytest.mark.parametrize("method", [pytest.param(x, marks=[pytest.mark.slow] if x in ("euler", "midpoint") else []) for x in METHODS])
@pytest.mark.parametrize("robot", [PENDULUM, BLOCK], ids=["double_pendulum", "free_body"])
def test_few_rows_do_not_make_the_motion_between_them_worse(exact, robot, method):
    how, error = METHODS[method]
    t, there = exact[robot]
    run = lw.simulate(robot, START if robot is PENDULUM else TUMBLING, until=2.0, method=method, **how)
    assert len(run) == 5
    assert far(robot, run(t), there) < error


def test_the_motion_is_the_same_whatever_rows_are_stored():
    runs = [lw.simulate(PENDULUM, START, until=2.0, dt=dt) for dt in (None, 0.25, 2.0)]
    t = np.linspace(0.1234, 1.987, 50)
    for run in runs[1:]:
        np.testing.assert_array_equal(run(t), runs[0](t))


@pytest.mark.parametrize("how", ["project", "embed"])
def test_loops_are_closed_between_rows(how):
    q = FOUR_BAR.assemble(FOUR_BAR.neutral() + 0.3, hold=[FOUR_BAR.joints[0]])
    run = lw.simulate(FOUR_BAR, (q, np.zeros(FOUR_BAR.nv)), until=1.0, dt=0.25, loops=how)
    q, _ = run(np.linspace(0, 1, 41))
    assert max(np.abs(FOUR_BAR.constraints.residual(x)).max() for x in q) < 1e-10
    fine = lw.simulate(FOUR_BAR, run[0], until=1.0, method="dop853", rtol=1e-12, atol=1e-12, dt=0.025)
    assert np.abs(q - fine.q).max() < 1e-4


def test_given_motion_is_that_of_its_own_time_between_rows():
    b = lw.Builder("driven")
    b.body("wheel", joint=lw.Revolute(axis=(0, 1, 0)), mass=1.0, tensor=(1, 1, 1))
    b.body("arm", "wheel", (1, 0, 0), lw.Revolute(axis=(0, 1, 0)), mass=1.0, center=(0.3, 0, 0), tensor=(1, 1, 1))
    b.drive("wheel_joint", lambda t: 0.5 * t * t)
    run = lw.simulate(lw.Dynamics(b.model()), (np.zeros(2), np.zeros(2)), until=1.0, dt=0.5)
    t = np.linspace(0, 1, 21)
    q, v = run(t)
    np.testing.assert_allclose(q[:, 0], 0.5 * t * t, atol=1e-12)
    np.testing.assert_allclose(v[:, 0], t, atol=1e-12)


def test_between_rows_a_quaternion_has_norm_one():
    run = lw.simulate(BLOCK, TUMBLING, until=2.0, dt=1.0)
    np.testing.assert_allclose(np.linalg.norm(run(np.linspace(0, 2, 201))[0][:, :4], axis=-1), 1, atol=1e-15)


def test_acceleration_and_force_are_those_within_the_step():
    """v̇ is the slope of v, and τ is linear in each step, not between rows."""
    run = lw.simulate(PENDULUM, START, until=2.0, dt=1.0, rtol=1e-9, atol=1e-9, control=lambda t, q, v: [np.sin(5 * t), 0.0])
    there = run.at(np.linspace(0.05, 1.95, 20))
    np.testing.assert_allclose(there.tau[:, 0], np.sin(5 * there.t), atol=2e-3)
    vdot = PENDULUM.forward_dynamics(there.q, there.v, np.stack([np.sin(5 * there.t), 0 * there.t], -1))
    np.testing.assert_allclose(there.vdot, vdot, atol=1e-4)


def test_a_jump_is_between_the_states_before_and_after():
    fall = lw.Dynamics(lw.Builder("ball").body("ball", joint=lw.Prismatic(axis=(0, 0, 1)), mass=1.0).model())
    bounce = lw.Event(lambda t, q, v: q[0], "floor", -1, reset=lambda t, q, v: (q, -v))
    run = lw.simulate(fall, ([1.0], [0.0]), until=1.0, events=[bounce], dt=1.0, rtol=1e-10, atol=1e-10)
    down = np.sqrt(2 / 9.81)
    for t, height in ((0.3, 1 - 9.81 / 2 * 0.09), (down + 0.1, np.sqrt(2 * 9.81) * 0.1 - 9.81 / 2 * 0.01)):
        np.testing.assert_allclose(run(t)[0], height, atol=1e-9)
    np.testing.assert_allclose([run(down - 1e-9)[1][0], run(down + 1e-9)[1][0]], [-np.sqrt(2 * 9.81), np.sqrt(2 * 9.81)], atol=1e-6)


def test_slices_and_other_times_keep_it():
    run = lw.simulate(PENDULUM, START, until=2.0, dt=0.5)
    t = np.array([0.6, 0.77, 1.4])
    for part in (run[1:4], run[1::2], run.at([0.5, 1.5])):
        np.testing.assert_array_equal(part(t), run(t))
        assert len(part.dense.parts[0].t) < len(run.dense.parts[0].t)


@pytest.mark.parametrize(("first", "second"), [("rk45", "rk45"), ("rk45", "rk4"), ("rk4", "rk4"), ("dop853", "rk45")])
def test_a_run_that_goes_on_keeps_it(first, second):
    run = lw.simulate(PENDULUM, START, until=1.0, method=first, dt=0.002, save=lw.Save(every=10))
    longer = run.resume(until=2.0, method=second)
    t = np.linspace(0.01, 0.99, 30)
    np.testing.assert_array_equal(longer(t), run(t))
    exact = lw.simulate(PENDULUM, START, until=2.0, method="dop853", rtol=1e-12, atol=1e-12)
    assert far(PENDULUM, longer(t + 1), exact(t + 1)) < 1e-3


@pytest.mark.parametrize("how", [{"dt": 0.5}, {"method": "rk4", "dt": 0.01}, {"method": "rk4", "dt": 0.01, "save": lw.Save(every=50)}])
def test_a_file_keeps_it(tmp_path, how):
    run = lw.simulate(PENDULUM, START, until=2.0, **how)
    t = np.linspace(0, 2, 77)
    for each in (run, run[1:4]):
        each.save(tmp_path / "run.npz")
        back, t = lw.Trajectory.load(tmp_path / "run.npz"), np.linspace(each.t[0], each.t[-1], 77)
        for a, b in zip((*back(t), back.at(t).vdot), (*each(t), each.at(t).vdot)):
            np.testing.assert_array_equal(a, b)


def test_a_file_without_it_says_so(tmp_path):
    """Files of format 2 have rows alone: where those are all steps, nothing is missing."""
    path = tmp_path / "old.npz"
    for dt in (0.5, None):
        run = lw.simulate(PENDULUM, START, until=2.0, dt=dt)
        run.save(path)
        with np.load(path) as file:
            arrays = {name: x for name, x in file.items() if not name.startswith("dense")}
        header = json.loads(arrays.pop("header").tobytes()) | {"version": 2}
        del header["dense"], header["settings"]["dense"], header["state"]
        header["carry"] = {"grid": 0.0, "next_step": None, "embedding": None, "held": None}
        arrays |= {"event_t": np.zeros(0), "event_q": np.zeros((0, 2)), "event_v": np.zeros((0, 2))}
        np.savez(path, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)
        old = lw.Trajectory.load(path)
        np.testing.assert_array_equal(old(run.t)[0], run.q)
        if dt is None:
            assert far(PENDULUM, old([0.777]), run([0.777])) < 1e-3
        else:
            with pytest.warns(UserWarning, match=r"quartic through the rows.*older format"):
                old(0.777)


def test_without_it_times_between_rows_are_refused(monkeypatch):
    run = lw.simulate(PENDULUM, START, until=2.0, dt=0.5, save=lw.Save(dense=False))
    np.testing.assert_array_equal(run(0.5)[0], run.q[1])
    with pytest.raises(lw.SimulationError, match=r"no dense output \(it was made with dense=False\).*dense=True"):
        run(0.6)
    assert lw.simulate(PENDULUM, START, until=2.0, method="rk4", dt=0.01, save=lw.Save(dense=False))(0.005)[0].shape == (2,)
    monkeypatch.setattr(dense, "LIMIT", 1 << 16)
    long = {"until": 2.0, "method": "rk4", "dt": 1e-3}
    with pytest.raises(lw.SimulationError, match=r"more than 0 MB; simulate with dense=True keeps it"):
        lw.simulate(PENDULUM, START, save=lw.Save(every=100), **long)(0.0005)
    assert lw.simulate(PENDULUM, START, save=lw.Save(dense=True, every=100), **long)(0.0005)[0].shape == (2,)
    with pytest.raises(lw.SimulationError, match="dense is 'yes'"):
        lw.simulate(PENDULUM, START, until=1.0, save=lw.Save(dense="yes"))


# --- late starts

UNIX = 1.7e9


@pytest.mark.parametrize("method", ["rk4", "euler", "midpoint", "rk45", "dop853", "stiff"])
def test_a_start_at_unix_time_changes_nothing(method):
    """Times near 1.7e9 s differ by 2.4e-7 s at least; the motion does not notice."""
    how = {"method": method} | ({"dt": 1e-3} if method in ("rk4", "euler", "midpoint") else {"dt": 0.01, "rtol": 1e-8})
    runs = [lw.simulate(PENDULUM, START, start=start, until=start + 0.5, **how) for start in (0.0, UNIX)]
    assert len(runs[0]) == len(runs[1])
    np.testing.assert_allclose(runs[1].t - UNIX, runs[0].t, atol=2.4e-7)
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-6)
    assert np.abs(runs[1].q[-1] - runs[0].q[-1]).max() < (1e-12 if method in ("rk4", "euler", "midpoint") else 2e-7)


@pytest.mark.parametrize("start", [20000.0, UNIX, -UNIX])
@pytest.mark.parametrize("dt", [1e-3, 1 / 3000, 0.1])
def test_fixed_steps_are_counted(start, dt):
    """As many rows as steps fit, each dt after the one before; cut short, resumed, and with a held controller."""
    n = 50
    how = {"method": "rk4", "control": lw.hold(lambda t, q, v: -0.1 * v, rate=10.0), "dt": dt}
    run = lw.simulate(PENDULUM, START, start=start, until=start + n * dt, **how)
    grid = run.t[np.abs((run.t - start) / dt - np.round((run.t - start) / dt)) * dt < 1e-6]
    assert len(np.unique(grid)) == n + 1 and run.steps <= n + 1 + 10 * n * dt
    assert (np.diff(run.t) > 0).all()
    half = lw.simulate(PENDULUM, START, start=start, until=start + 20 * dt, **how).resume(until=start + n * dt)
    np.testing.assert_array_equal(half.q[-1], run.q[-1])


def test_a_step_below_the_resolution_of_time_is_refused():
    with pytest.raises(lw.SimulationError, match=r"dt is 1e-07 s, but times near 1.7e\+09 s differ by 2e-07 s"):
        lw.simulate(PENDULUM, START, start=UNIX, until=UNIX + 1, method="rk4", dt=1e-7)


def test_events_at_a_late_time():
    runs = []
    down = lw.Event(lambda t, q, v: q[0], "down")
    for start in (0.0, UNIX):
        run = lw.simulate(PENDULUM, START, start=start, until=start + 2, events=[down], method="rk4", dt=1e-3)
        runs.append([event.t - start for event in run.events])
    np.testing.assert_allclose(runs[1], runs[0], atol=5e-7)


def test_no_times_give_no_rows():
    run = lw.simulate(lw.Dynamics(lw.load("double_pendulum")), (np.array([2.0, 0.5]), np.zeros(2)), until=0.5)
    q, v = run([])
    assert q.shape == v.shape == (0, 2) and run(np.zeros((0, 3)))[0].shape == (0, 3, 2)
    assert len(run.at([])) == 0 and "0 rows" in str(run.at([]))


def test_without_dense_output_the_motion_is_known_between_rows_that_are_all_steps():
    """rk45 with a row for each step: a quartic through the rows."""
    robot, start = lw.Dynamics(lw.load("double_pendulum")), (np.array([2.0, 0.5]), np.zeros(2))
    run, dense = (lw.simulate(robot, start, until=1.0, rtol=1e-8, save=lw.Save(dense=how)) for how in (False, True))
    np.testing.assert_allclose(run(0.123)[0], dense(0.123)[0], atol=1e-5)
    for save, method in ((lw.Save(dense=False, every=2), "rk45"), (lw.Save(dense=False, dt=0.1), "rk45"), (lw.Save(dense=False), "dop853")):
        with pytest.raises(lw.SimulationError, match="made with dense=False"):
            lw.simulate(robot, start, until=1.0, save=save, method=method)(0.1234)
