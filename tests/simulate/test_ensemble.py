"""Ensembles: many motions at once, each with the steps and the bits it has alone; statistics and events while they run."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ConstraintError
from linkwork.simulate.ensembles import ensemble_run
from linkwork.simulate.ensembles.places import Lanes
from linkwork.simulate.runs.segments import ATTEMPTS, Segments


@pytest.fixture(scope="module")
def robot():
    return lw.Dynamics(lw.load("double_pendulum"))


def states(robot, *batch, seed=0):
    Q, V = robot.random_state(batch, seed=seed)
    return Q, 0.5 * V


@pytest.mark.parametrize(
    "name, method",
    [
        ("double_pendulum", "rk45"),
        pytest.param("double_pendulum", "dop853", marks=pytest.mark.slow),
        ("spherical_pendulum", "rk45"),
        pytest.param("satellite", "rk45", marks=pytest.mark.slow),
    ],
)
def test_each_sample_is_its_single_run_to_the_bit(name, method):
    """The end, all rows, and rows at multiples of dt; 37 samples, more than there are lanes."""
    robot = lw.Dynamics(lw.load(name))
    Q, V = states(robot, 37)
    ends, steps, grid = (lw.simulate(robot, (Q, V), until=0.7, method=method, **how) for how in ({"save": "last"}, {}, {"dt": 0.05}))
    assert (ends.status == "finished").all() and ends.ragged is None and grid.q.shape == (37, 15, robot.nq)
    for i in (0, 5, 36):
        alone = lw.simulate(robot, (Q[i], V[i]), until=0.7, method=method)
        assert (ends.steps[i], ends.rejected[i], ends.end.t[i]) == (alone.steps, alone.rejected, 0.7)
        np.testing.assert_array_equal(ends.end.q[i], alone.q[-1])
        np.testing.assert_array_equal(ends.end.v[i], alone.v[-1])
        for x, y in zip(steps.rows(i), (alone.t, alone.q, alone.v)):
            np.testing.assert_array_equal(x, y)
        alone = lw.simulate(robot, (Q[i], V[i]), until=0.7, method=method, dt=0.05)
        for x, y in zip(grid.rows(i), (alone.t, alone.q, alone.v)):
            np.testing.assert_array_equal(x, y)


def test_blocks_and_room_change_no_bits(robot, monkeypatch):
    """Blocks of a few samples, calls with room for a few rows."""
    Q, V = states(robot, 5, 7)
    whole = lw.simulate(robot, (Q, V), until=1.0)
    monkeypatch.setattr(ensemble_run, "FIRST_BLOCK", 1)
    monkeypatch.setattr(ensemble_run, "SECONDS", 0.0)
    monkeypatch.setattr(Lanes, "CAPACITY", 3)
    parts = lw.simulate(robot, (Q, V), until=1.0)
    assert whole.end.q.shape == (5, 7, 2) and len(whole) == 35
    np.testing.assert_array_equal(whole.end.q, parts.end.q)
    for x, y in zip(whole.rows((3, 2)), parts.rows((3, 2))):
        np.testing.assert_array_equal(x, y)


def test_varied_constants_are_those_of_other_models():
    """A pendulum with its mass and its gravity as inputs, beside models that have them; and its single runs to the bit."""
    robot = lw.Dynamics(lw.load("double_pendulum"))
    varying = robot.varying("mass", "gravity")
    rng = np.random.default_rng(1)
    mass, gravity = varying.value("mass") * rng.uniform(0.5, 2.0, (9, len(robot.bodies))), np.array([0.0, 0.0, -3.7])
    state = np.array([1.0, -0.5]), np.array([0.2, 0.1])
    made = lw.simulate(varying, state, until=1.0, given={"mass": mass, "gravity": gravity}, rtol=1e-9, save="last")
    assert made.end.q.shape == (9, 2)
    alone = lw.simulate(varying, state, until=1.0, given={"mass": mass[4], "gravity": gravity}, rtol=1e-9, save="last")
    np.testing.assert_array_equal(alone.end.q, made.end.q[4])
    fixed = lw.rollout(varying, *state, dt=1e-3, steps=1000, method="rk4", given={"mass": mass[4], "gravity": gravity})
    np.testing.assert_allclose(fixed.q[-1], made.end.q[4], atol=1e-8)


def test_controls_are_kernels_with_inputs_of_their_own(robot, rng):
    """τ = −k (q − goal), each sample with its own goal, at each stage or held; beside single runs with functions."""
    pull = robot.kernel(goal=2)(lambda q, v, goal: 3.0 * (goal - q) - v)
    goals, (Q, V) = rng.standard_normal((6, 2)), states(robot, 6)
    for wrap in (lambda x: x, lambda x: lw.hold(x, rate=15.0)):
        made = lw.simulate(robot, (Q, V), until=1.0, control=wrap(pull), given={"goal": goals}, rtol=1e-9, save="last")
        alone = lw.simulate(robot, (Q[2], V[2]), until=1.0, control=wrap(lambda t, q, v: 3.0 * (goals[2] - q) - v), rtol=1e-9)
        np.testing.assert_allclose(made.end.q[2], alone.q[-1], atol=1e-7)
        assert made.steps[2] == alone.steps


@pytest.mark.parametrize("name", ["double_pendulum", pytest.param("four_bar", marks=pytest.mark.slow)])
def test_wrenches_from_outside_are_kernels(name):
    """A wind on the last body: the bits of single runs with the same kernel; the motion of a function of Python."""
    robot = lw.Dynamics(lw.load(name))
    shape, body = (len(robot.bodies), 6), len(robot.bodies) - 1
    blows = np.zeros(shape)
    blows[body] = 0.1, 0.1, 0.1, 1.0, 1.0, 1.0
    wind = robot.kernel(t=())(lambda t, q, v: (np.sin(3 * t) - 0.1 * v[0]) * blows)
    if robot.constraints is None:
        Q, V = states(robot, 4)
    else:
        Q, V = (np.array(x) for x in zip(*(robot.constraints.random_state(seed=k, reach=0.3) for k in range(4))))
    made, grid = (lw.simulate(robot, (Q, V), until=0.6, external=wind, **how) for how in ({"save": "last"}, {"dt": 0.2}))
    alone, rows = (lw.simulate(robot, (Q[2], V[2]), until=0.6, external=wind, **how) for how in ({}, {"dt": 0.2}))
    np.testing.assert_array_equal(made.end.q[2], alone.q[-1])
    np.testing.assert_array_equal(made.end.v[2], alone.v[-1])
    np.testing.assert_array_equal(grid.q[2], rows.q)
    python = lw.simulate(robot, (Q[2], V[2]), until=0.6, external=lambda t, q, v: (np.sin(3 * t) - 0.1 * v[0]) * blows)
    np.testing.assert_allclose(made.end.q[2], python.q[-1], atol=1e-9)
    assert made.steps[2] == python.steps and np.abs(made.end.q[2] - lw.simulate(robot, (Q[2], V[2]), until=0.6).q[-1]).max() > 1e-3
    strength = np.array([0.0, 1.0, 2.0, 3.0])
    scaled = robot.kernel(t=(), strength=())(lambda t, q, v, strength: strength * (np.sin(3 * t) - 0.1 * v[0]) * blows)
    varied = lw.simulate(robot.varying("mass"), (Q, V), until=0.6, external=scaled, given={"strength": strength}, save="last")
    np.testing.assert_allclose(varied.end.q[1], lw.simulate(robot, (Q[1], V[1]), until=0.6, external=wind).q[-1], atol=1e-9)
    with pytest.raises(lw.ShapeError, match="as external it must return"):
        lw.simulate(robot, (Q, V), until=0.6, external=robot.kernel()(lambda q: q))


def test_statistics_are_those_of_dense_output(robot):
    """Least and greatest, the mean over time, the last value, of numbers and of arrays."""
    tip = robot.kernel()(lambda q: robot.pose(q, "link2")[:3, 3])
    angle = robot.kernel()(lambda t, q, v: q[0] * np.cos(t))
    Q, V = states(robot, 11)
    made = lw.simulate(robot, (Q, V), until=2.0, rtol=1e-8, save=lw.Save(statistics={"tip": tip, "angle": angle}))
    assert made.ragged is None and made.statistics["tip"].least.shape == (11, 3) and made.statistics["angle"].mean.shape == (11,)
    t = np.linspace(0, 2, 4001)
    for i in (0, 7):
        q, _ = lw.simulate(robot, (Q[i], V[i]), until=2.0, rtol=1e-8)(t)
        for name, values in (("tip", robot.pose(q, "link2")[:, :3, 3]), ("angle", q[:, 0] * np.cos(t))):
            found = made.statistics[name]
            np.testing.assert_allclose(found.last[i], values[-1], atol=1e-12)
            np.testing.assert_allclose(found.mean[i], np.trapezoid(values, t, axis=0) / 2, atol=2e-6)
            for x, y in ((found.least[i], values.min(0)), (found.greatest[i], values.max(0))):
                np.testing.assert_allclose(x, y, atol=1e-6)


@pytest.mark.parametrize("method, rtol", [("rk45", 1e-6), ("dop853", 1e-9), ("dop853", 1e-5), ("stiff", 1e-6)])
def test_the_least_and_the_greatest_value_lie_between_steps(robot, method, rtol):
    """Where the velocity of an angle is zero, its extreme values are, also those of its exponential. All are values of the functions."""
    functions = {"angle": lambda q: q[0], "growth": lambda q: np.exp(0.3 * q), "size": lambda q: np.abs(q)}
    how, (Q, V) = {"method": method, "rtol": rtol, "atol": rtol}, states(robot, 6)
    found = lw.simulate(
        robot, (Q, V), until=3.0, save=lw.Save(statistics={name: robot.kernel()(f) for name, f in functions.items()}), **how
    ).statistics
    for i in range(6):
        run = lw.simulate(robot, (Q[i], V[i]), until=3.0, events=[lambda t, q, v: v[0], lambda t, q, v: v[1]], **how)
        places = np.array([Q[i], run.q[-1], *(x.q for x in run.events)])
        for name, f in functions.items():
            values = np.array([f(q) for q in places])
            np.testing.assert_allclose(found[name].greatest[i], values.max(0), atol=3 * rtol)
            if name != "size":
                np.testing.assert_allclose(found[name].least[i], values.min(0), atol=3 * rtol)
    assert (found["size"].least >= 0).all()


def test_a_conserved_quantity_stays(robot):
    """The energy of each sample."""
    energy = robot.kernel()(lambda q, v: robot.kinetic_energy(q, v) + robot.potential_energy(q))
    found = lw.simulate(
        robot, states(robot, 50), until=5.0, rtol=1e-10, atol=1e-12, save=lw.Save(statistics={"energy": energy})
    ).statistics["energy"]
    assert np.max(found.greatest - found.least) < 1e-6
    np.testing.assert_allclose(found.mean, found.last, atol=1e-6)


@pytest.mark.parametrize("direction", [-1, 0, 1])
def test_events_occur_when_they_do_in_single_runs(robot, direction):
    """First times and counts; a terminal one ends each motion at its own time."""
    crossing, Q = robot.kernel()(lambda q: q[0] - 0.1), states(robot, 25)
    made = lw.simulate(robot, Q, until=2.0, events=[lw.Event(crossing, "crossing", direction=direction)], rtol=1e-9).events["crossing"]
    ended = lw.simulate(robot, Q, until=2.0, events=[lw.Event(crossing, "crossing", direction=direction, terminal=True)], rtol=1e-9)
    assert (made.count > 0).any()
    np.testing.assert_array_equal(ended.status == "event", made.count > 0)
    for i in range(4):
        alone = lw.simulate(
            robot, (Q[0][i], Q[1][i]), until=2.0, events=[lw.Event(lambda t, q, v: q[0] - 0.1, direction=direction)], rtol=1e-9
        )
        assert made.count[i] == len(alone.events)
        first = alone.events[0].t if alone.events else np.nan
        np.testing.assert_allclose(made.first[i], first, atol=1e-9)
        if alone.events:
            np.testing.assert_allclose(ended.end.t[i], first, atol=1e-9)
            np.testing.assert_allclose(ended.end.q[i, 0], 0.1, atol=1e-9)
            assert ended.steps[i] <= alone.steps


def test_statistics_stop_at_a_terminal_event(robot):
    """The greatest angle of a motion that ends when the angle reaches a value is that value."""
    angle = robot.kernel()(lambda q: q[0])
    limit = robot.kernel(limit=())(lambda q, limit: q[0] - limit)
    state, limits = (np.array([-1.0, 0.0]), np.zeros(2)), np.linspace(-0.8, 0.4, 9)
    events = [lw.Event(limit, terminal=True)]
    made = lw.simulate(robot, state, until=3.0, events=events, given={"limit": limits}, save=lw.Save(statistics={"angle": angle}))
    assert (made.status == "event").all()
    np.testing.assert_allclose(made.statistics["angle"].greatest, limits, atol=1e-9)
    np.testing.assert_allclose(made.statistics["angle"].last, made.end.q[:, 0], atol=1e-12)


def test_a_sample_that_fails_leaves_the_others_alone():
    """A force that becomes infinite for one sample."""
    robot = lw.Dynamics(lw.load("pendulum"))
    force = robot.kernel(at=())(lambda t, q, at: 1.0 / (at - t) ** 3 + 0.0 * q)
    start, times = (np.zeros((5, 1)), np.zeros((5, 1))), [3.0, 4.0, 0.5, 5.0, 6.0]
    made = lw.simulate(robot, start, until=1.0, control=force, given={"at": times}, dt=0.1)
    assert made.status.tolist() == ["finished", "finished", "failed", "finished", "finished"] and abs(made.end.t[2] - 0.5) < 1e-3
    assert np.isnan(made.q[2, 6:]).all() and not np.isnan(made.q[[0, 1, 3, 4]]).any() and "1 failed" in str(made)


def test_a_sample_without_accelerations_fails_at_once():
    """A force that is not a number from the start: the others go on."""
    robot = lw.Dynamics(lw.load("pendulum"))
    force = robot.kernel(scale=())(lambda q, scale: np.sqrt(scale) * q)
    state, given = (np.ones((3, 1)), np.zeros((3, 1))), {"scale": [1.0, -1.0, 2.0]}
    made = lw.simulate(robot, state, until=1.0, control=force, given=given, save="last")
    assert made.status.tolist() == ["finished", "failed", "finished"] and made.end.t[1] == 0.0


def test_ctrl_c_returns_what_is_done(robot, monkeypatch):
    """Samples that were not reached are stopped, and have their start."""
    monkeypatch.setattr(ensemble_run, "FIRST_BLOCK", 4)
    calls, run = [], Segments.run

    def interrupted(*x):
        calls.append(x)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return run(*x)

    monkeypatch.setattr(Segments, "run", interrupted)
    Q, V = states(robot, 400)
    made = lw.simulate(robot, (Q, V), until=1.0, save="last")
    stopped = made.status == "stopped"
    assert 0 < stopped.sum() < 400
    np.testing.assert_array_equal(made.end.q[stopped], Q[stopped])


@pytest.mark.parametrize("how", [{"save": "last"}, {"save": "steps"}, {"dt": 0.5}])
def test_samples_that_ctrl_c_stops_within_their_motion_have_their_start(robot, how, monkeypatch):
    """t, q, v and counts are those of the start; there are no rows, statistics and events, whatever was made of them."""
    monkeypatch.setattr(Lanes, "CAPACITY", 4)
    calls, run = [], Segments.run

    def interrupted(*x):
        calls.append(x)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return run(*x)

    monkeypatch.setattr(Segments, "run", interrupted)
    Q, V = states(robot, 5)
    made = lw.simulate(robot, (Q, V), until=1000.0, **how)
    assert (made.status == "stopped").all() and not made.end.t.any() and not made.steps.any() and "5 stopped" in str(made)
    np.testing.assert_array_equal(made.end.q, Q)
    if how == {"save": "last"}:
        calls.clear()
        seen = robot.kernel()(lambda q: q[0])
        made = lw.simulate(
            robot, (Q, V), until=1000.0, rtol=1e-9, events=[lw.Event(seen, "zero")], save=lw.Save(statistics={"angle": seen})
        )
        angle = made.statistics["angle"]
        assert np.isnan([angle.mean, angle.least, made.events["zero"].first]).all() and "angle" not in str(made)
    else:
        assert [x.shape for x in made.rows(2)] == [(0,), (0, 2), (0, 2)]


@pytest.mark.parametrize("how", [{"save": "last"}, {"save": "steps"}, {"dt": 0.5}])
def test_max_steps_ends_a_sample_and_no_other(robot, how):
    """One that turns at 1e7 rad/s has a status, a reason and whole counts; the others have the bits they have without it."""
    Q, V = states(robot, 6)
    event = lw.Event(robot.kernel()(lambda q: q[0]), "zero")
    tame = lw.simulate(robot, (Q, V), until=1.0, events=[event], **how)
    V[2] = 1e7
    wild = lw.simulate(robot, (Q, V), until=1.0, events=[event], method=lw.RK45(max_steps=2000), **how)
    assert wild.status.tolist() == ["finished"] * 2 + ["failed"] + ["finished"] * 3
    assert "max_steps" in wild.message(2) and wild.steps[2] == 2000 and 0 <= wild.events["zero"].count[2] <= 4 * 2000
    others = np.arange(6) != 2
    for x, y in zip((*wild.end, wild.steps, wild.rejected), (*tame.end, tame.steps, tame.rejected)):
        np.testing.assert_array_equal(x[others], y[others])


def test_samples_that_never_start_have_no_events(robot):
    """Counts are whole numbers, 0 where the state is no number."""
    Q, V = states(robot, 3)
    Q[1] = np.nan, np.inf
    made = lw.simulate(robot, (Q, V), until=0.5, events=[lw.Event(robot.kernel()(lambda q, v: q[0] * v[0]), "zero")])
    assert made.status[1] == "failed" and made.events["zero"].count[1] == 0


@pytest.mark.parametrize("limits", [False, True], ids=["compiled", "single runs"])
def test_a_timeout_stops_an_ensemble(robot, limits):
    """What is not done is stopped, and resume finishes it with the bits of an ensemble that was not stopped."""
    Q, V = states(robot, 5)
    whole = lw.simulate(robot, (Q, V), until=1.0, limits=limits, save="last")
    part = lw.simulate(robot, (Q, V), until=2000.0, limits=limits, timeout=1e-6, save="last")
    assert "stopped" in part.status
    np.testing.assert_array_equal(part.end.q[part.status == "stopped"], Q[part.status == "stopped"])
    if not limits:
        part = lw.simulate(robot, (Q, V), until=1.0, timeout=1e-6, save="steps")
        np.testing.assert_array_equal(part.resume().end.q, whole.end.q)


@pytest.mark.parametrize("how", [{"save": "last"}, {"save": "steps"}, {"dt": 0.1}])
def test_ctrl_c_keeps_samples_that_are_done_beside_those_that_are_not(robot, how, monkeypatch):
    """Of a vector of samples, or a block, of which one turns at 1e5 rad/s."""
    monkeypatch.setattr(Lanes, "CAPACITY", 64)
    Q, V = states(robot, 4)
    whole = lw.simulate(robot, (Q, V), until=0.5, **how)
    V[1], calls, run = 1e5, [], Segments.run

    def interrupted(*x):
        calls.append(x)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return run(*x)

    monkeypatch.setattr(Segments, "run", interrupted)
    made = lw.simulate(robot, (Q, V), until=0.5, **how)
    assert made.status.tolist() == ["finished", "stopped", "finished", "finished"] and made.end.t[1] == 0.0
    for k in (0, 2, 3):
        np.testing.assert_array_equal(made.end.q[k], whole.end.q[k])
        for x, y in zip(made.rows(k), whole.rows(k)) if how != {"save": "last"} else ():
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("how", [{"save": "last"}, {"save": "steps"}, {"dt": 0.1}])
@pytest.mark.parametrize("until", [0.5, 0.55])
def test_an_ensemble_goes_on_as_its_single_runs_do(robot, how, until):
    """Ends, rows and counts of resume, to the bit, with a control at each stage and a held one."""
    pull = robot.kernel()(lambda q, v: -q - 0.1 * v)
    controls, (Q, V) = [pull, lw.hold(pull, rate=7.0)], states(robot, 5)
    made = lw.simulate(robot, (Q, V), until=until, control=controls, **how).resume(1.2)
    for i in (0, 4):
        alone = lw.simulate(robot, (Q[i], V[i]), until=until, control=controls, dt=how.get("dt")).resume(until=1.2)
        assert made.steps[i] == alone.steps and made.end.t[i] == 1.2
        if "dt" not in how:
            np.testing.assert_array_equal(made.end.q[i], alone.q[-1])
        elif until == 0.5:  # else single runs have a row where they ended, and go on from there, too
            np.testing.assert_array_equal(made.q[i], alone.q)
        if how == {"save": "steps"}:
            for x, y in zip(made.rows(i), (alone.t, alone.q, alone.v)):
                np.testing.assert_array_equal(x, y)


def test_statistics_and_events_go_on(robot):
    """The greatest value, the mean and the number of crossings are those of one run with a stop on the way, which max_step brings about."""
    angle, (Q, V) = robot.kernel()(lambda q: q[0]), states(robot, 6)
    how = {"statistics": {"angle": angle}, "events": [lw.Event(angle, "zero")], "rtol": 1e-10, "atol": 1e-12}
    parts = lw.simulate(robot, (Q, V), until=1.0, **how).resume(2.5)
    whole = lw.simulate(robot, (Q, V), until=2.5, **how)
    assert (parts.events["zero"].count == whole.events["zero"].count).all() and (parts.status == "finished").all()
    np.testing.assert_allclose(parts.events["zero"].first, whole.events["zero"].first, atol=1e-8)
    for name in ("greatest", "mean", "last"):
        np.testing.assert_allclose(getattr(parts.statistics["angle"], name), getattr(whole.statistics["angle"], name), atol=2e-3)


@pytest.mark.parametrize("how", [{"save": "last"}, {"save": "steps"}, {"dt": 0.1}])
def test_what_ctrl_c_has_stopped_is_finished_by_resume(robot, how, monkeypatch):
    """Stopped in the first part, and again in the second: the bits of an ensemble that was never stopped."""
    monkeypatch.setattr(Lanes, "CAPACITY", 4)
    for name, value in (("FIRST_BLOCK", 3), ("SECONDS", 0.0), ("get_threads", lambda: 2)):  # blocks are of six samples
        monkeypatch.setattr(ensemble_run, name, value)
    (Q, V), some = states(robot, 20), 4 if how == {"save": "last"} else 16
    first = lw.simulate(robot, (Q, V), until=0.6, **how)
    second, calls, run = first.resume(1.3), [], Segments.run

    def interrupted(*x):
        calls.append(x)
        if len(calls) in stops:
            raise KeyboardInterrupt
        return run(*x)

    monkeypatch.setattr(Segments, "run", interrupted)
    stops = {some}
    stopped = lw.simulate(robot, (Q, V), until=0.6, **how)
    assert 0 < (stopped.status == "stopped").sum() < 20
    stops = {len(calls) + 2}
    done = stopped.resume().resume()
    stops = {len(calls) + some}
    again = done.resume(1.3)
    assert (done.status == "finished").all() and 0 < (again.status == "stopped").sum() < 20
    late = again.resume()
    for found, expected in ((done, first), (late, second)):
        for name in ("t", "q", "v", "steps", "rejected", "status"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        for k in range(20) if how != {"save": "last"} else ():
            for x, y in zip(found.rows(k), expected.rows(k), strict=True):
                np.testing.assert_array_equal(x, y)


def test_a_run_cannot_go_on_backwards(robot):
    with pytest.raises(lw.SimulationError, match="cannot go from"):
        lw.simulate(robot, states(robot, 2), until=1.0, save="last").resume(0.5)


def test_ctrl_c_stops_a_sample_whose_steps_do_not_end(robot, monkeypatch):
    """A call makes a bounded number of attempts, however many steps a sample needs; the others have the bits they have alone."""
    Q, V = states(robot, 3)
    calls, run = [], Segments.run
    monkeypatch.setattr(Segments, "run", lambda *x: (calls.append(x), run(*x))[1])
    many = lw.simulate(robot, (Q, V), until=1.0, max_step=1e-5, save="last")
    assert len(calls) == 1 + 100_000 // ATTEMPTS and (many.status == "finished").all() and (many.steps >= 100_000).all()
    alone = lw.simulate(robot, (Q[0], V[0]), until=1.0, max_step=1e-5, save=lw.Save(every=10_000, dense=False))
    np.testing.assert_array_equal(many.end.q[0], alone.q[-1])


def test_states_that_do_not_fit_are_named(robot):
    Q, V = states(robot, 4)
    with pytest.raises(lw.ShapeError, match=r"q \(3,\), v \(4,\)"):
        lw.simulate(robot, (Q[:3], V), until=1.0)
    with pytest.raises(lw.ShapeError, match="gain"):
        lw.simulate(robot, (Q, V), until=1.0, control=robot.kernel(gain=())(lambda q, gain: -gain * q), given={"gain": np.ones(3)})
    for function in (lambda q: q[0], lambda q: q[:1]):  # of two samples, an array (2,) would broadcast to their velocities
        with pytest.raises(lw.ShapeError, match="as control it must return"):
            lw.simulate(robot, (Q[:2], V[:2]), until=1.0, control=lw.hold(robot.kernel()(function), rate=10.0))
    with pytest.raises(lw.SimulationError, match="v of 4 states"):
        lw.simulate(robot, (Q, np.nan * V), until=1.0)


def test_states_that_are_no_numbers_fail_alone(robot):
    """Of a state or of an input of a kernel; the others have the bits they have alone."""
    (Q, V), gain = states(robot, 4), np.array([1.0, 1.0, np.inf, 1.0])
    V[1] = np.nan
    pull = robot.kernel(gain=())(lambda q, gain: -gain * q)
    made = lw.simulate(robot, (Q, V), until=1.0, control=pull, given={"gain": gain}, save="last")
    assert made.status.tolist() == ["finished", "failed", "failed", "finished"] and "not finite" in made.message(2)
    alone = lw.simulate(robot, (Q[3], V[3]), until=1.0, control=pull, given={"gain": 1.0}, save="last")
    np.testing.assert_array_equal(alone.end.q, made.end.q[3])


def test_odd_batches(robot):
    """None, one, several axes, states that broadcast; and no time at all."""
    Q, V = states(robot, 3)
    assert lw.simulate(robot, (Q[:0], V[:0]), until=1.0).end.q.shape == (0, 2)
    assert lw.simulate(robot, (Q[None], V[:, None]), until=0.1, save="last").end.q.shape == (3, 3, 2)
    still = lw.simulate(robot, (Q, V), until=0.0, dt=0.1)
    np.testing.assert_array_equal(still.q, Q[:, None])
    assert still.steps.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "more, said",
    [
        ({"method": "rk4", "dt": 0.1}, "lw.rollout"),
        ({"on_step": print}, "on_step is for one state"),
        ({"statistics": {"a": 1}}, "robot.kernel"),
        ({"sensitivity": "state"}, "sensitivity is for one state"),
        ({"control": lambda t, q, v: v, "method": "stiff"}, "robot.kernel"),
        ({"statistics": {"a": lambda q: q}}, "robot.kernel"),
        ({"given": {"masss": 1.0}}, "masss"),
        ({"save": "all"}, "store"),
        ({"dense": True}, "dense is for one state"),
        ({"save": "steps", "dt": 0.1}, "give one"),
    ],
)
def test_what_an_ensemble_has_not_is_refused_by_name(robot, more, said):
    with pytest.raises((lw.SimulationError, lw.UnknownNameError), match=said):
        lw.simulate(robot, states(robot, 3), until=1.0, **more)


def test_mechanisms_with_loops_have_the_bits_of_single_runs():
    """Four-bars from many states: ends, rows at multiples of dt; loops are closed."""
    robot = lw.Dynamics(lw.load("four_bar"))
    Q, V = (np.array(x) for x in zip(*(robot.constraints.random_state(seed=k, reach=0.3) for k in range(11))))
    made, grid = (lw.simulate(robot, (Q, V), until=0.7, **how) for how in ({"save": "last"}, {"dt": 0.1}))
    assert (made.status == "finished").all() and np.abs(robot.constraints.set.rows(made.end.q).c).max() < 1e-12
    for i in (0, 10):
        alone = lw.simulate(robot, (Q[i], V[i]), until=0.7)
        np.testing.assert_array_equal(made.end.q[i], alone.q[-1])
        np.testing.assert_array_equal(made.end.v[i], alone.v[-1])
        np.testing.assert_array_equal(grid.q[i], lw.simulate(robot, (Q[i], V[i]), until=0.7, dt=0.1).q)
    with pytest.raises(ConstraintError, match="no state of four_bar"):
        lw.simulate(robot, (Q + 0.1, V), until=0.7)
    Q[4] += 0.1
    some = lw.simulate(robot, (Q, V), until=0.7, save="last")
    assert np.flatnonzero(some.status == "failed").tolist() == [4] and "constraints" in some.message(4)
    np.testing.assert_array_equal(np.delete(some.end.q, 4, 0), np.delete(made.end.q, 4, 0))


def test_constraints_that_are_no_formula_are_kept_sample_by_sample():
    """To the bit; but constants do not vary there."""
    robot = lw.Dynamics(lw.load("bricard"))
    q, v = robot.constraints.random_state(seed=0)
    np.testing.assert_array_equal(lw.simulate(robot, (q[None], v[None]), until=0.2).end.q[0], lw.simulate(robot, (q, v), until=0.2).q[-1])
    with pytest.raises(lw.SimulationError, match="constants that vary"):
        lw.simulate(robot.varying("mass"), (q[None], v[None]), until=0.2)
