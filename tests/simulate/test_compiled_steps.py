"""Adaptive steps made by compiled code, many at a time: the motion, the rows, the stops and the bits of steps made one by one."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulate.runs import compiled_steps
from linkwork.simulate.runs.segments import Segments

ROWS = "t", "q", "v", "vdot", "tau"
METHODS = "rk45", "dop853"


@pytest.fixture(scope="module", params=["double_pendulum", "satellite", "cartpole"])
def robot(request):
    return lw.Dynamics(lw.load(request.param))


def start(robot, seed=3):
    q, v = robot.random_state(seed=seed)
    return q, 0.5 * v


def same(a, b, names=ROWS):
    for name in names:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@pytest.mark.parametrize("method", METHODS)
def test_compiled_steps_are_those_of_plain_numpy(robot, method):
    """The same steps, but for rounding, and the same motion within them."""
    plain = lw.Dynamics(robot.model, compiled=False)
    a, b = (lw.simulate(x, start(robot), until=1.0, method=method) for x in (robot, plain))
    assert a.status == b.status == "finished" and (a.steps, a.rejected) == (b.steps, b.rejected) and a.steps > 3
    np.testing.assert_allclose(a.t, b.t, rtol=1e-4)
    for x, y in zip(a(np.linspace(0, 1, 57)), b(np.linspace(0, 1, 57))):
        np.testing.assert_allclose(x, y, atol=1e-6)


def test_a_run_is_made_by_few_calls(robot, monkeypatch):
    """Where nothing looks at steps, one call makes hundreds of them."""
    calls, run = [], Segments.run
    monkeypatch.setattr(Segments, "run", lambda *x: calls.append(x) or run(*x))
    made = lw.simulate(robot, start(robot), until=3.0, rtol=1e-9)
    assert made.steps > 100 and len(calls) < 3 + made.steps / 15


def test_looking_at_steps_does_not_change_them(robot):
    """on_step, an event that does not occur, rows in other numbers: the bits are the same."""
    seen, run = [], lw.simulate(robot, start(robot), until=1.0)
    looked = lw.simulate(robot, start(robot), until=1.0, on_step=lambda t, q, v: seen.append(t))
    same(run, looked)
    assert seen == run.t[1:].tolist()
    same(run, lw.simulate(robot, start(robot), until=1.0, events=[lambda t, q, v: t + 1.0]))
    same(run, lw.simulate(robot, start(robot), until=1.0, save=lw.Save(dense=False)))
    third = lw.simulate(robot, start(robot), until=1.0, save=lw.Save(every=3))
    np.testing.assert_array_equal(third.q[:-1], run.q[::3][: len(third) - 1])
    assert third.t[-1] == 1.0


@pytest.mark.parametrize("method", METHODS)
def test_a_stopped_run_goes_on_to_the_bit(robot, method, tmp_path, monkeypatch):
    """Stopped by on_step, or by Ctrl-C between two calls of compiled code: resumed, it is the run that was not stopped."""
    monkeypatch.setattr(compiled_steps, "MOST", 16)
    whole = lw.simulate(robot, start(robot), until=2.0, method=method, rtol=1e-9)
    count = []
    part = lw.simulate(robot, start(robot), until=2.0, method=method, rtol=1e-9, on_step=lambda t, q, v: len(count) > 12 or count.append(t))
    assert part.status == "stopped"
    part.save(tmp_path / "run.npz")
    same(lw.Trajectory.load(tmp_path / "run.npz").resume(2.0, on_step=None), whole)
    calls, run = [], Segments.run

    def interrupted(*x):
        calls.append(x)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return run(*x)

    monkeypatch.setattr(Segments, "run", interrupted)
    part = lw.simulate(robot, start(robot), until=2.0, method=method, rtol=1e-9)
    assert part.status == "stopped" and 1 < len(part) < len(whole)
    same(part.resume(2.0), whole)


def test_rows_at_multiples_of_dt_are_the_motion_there(robot):
    """vdot is that of the equations of motion, q and v are the dense output."""
    run, rows = (lw.simulate(robot, start(robot), until=1.0, **more) for more in ({}, {"dt": 0.01}))
    assert len(rows) == 101
    np.testing.assert_allclose(rows.t, np.linspace(0, 1, 101), atol=1e-15)
    for x, y in zip(run(rows.t), (rows.q, rows.v)):
        np.testing.assert_allclose(x, y, atol=1e-12)
    expected = robot.forward_dynamics(rows.q, rows.v, robot.passive_force(rows.q, rows.v))
    np.testing.assert_allclose(rows.vdot, expected, rtol=1e-9, atol=1e-9)


def test_a_kernel_as_control_is_part_of_the_step(monkeypatch):
    """τ = −k q − d v + a sin t as a kernel and as a function: the same motion, the same τ in the rows, few calls."""
    robot = lw.Dynamics(lw.load("double_pendulum"))
    kernel = robot.kernel(t=())(lambda t, q, v: -2.0 * q - 0.3 * v + np.stack([np.sin(3 * t), 0.0 * t]))
    state = np.array([1.0, -0.5]), np.zeros(2)
    function = lw.simulate(robot, state, until=2.0, control=lambda t, q, v: -2.0 * q - 0.3 * v + [np.sin(3 * t), 0.0])
    calls, run = [], Segments.run
    monkeypatch.setattr(Segments, "run", lambda *x: calls.append(x) or run(*x))
    made = lw.simulate(robot, state, until=2.0, control=kernel)
    assert len(calls) == 1 and made.steps == function.steps
    for name in ("q", "v", "vdot", "tau"):
        np.testing.assert_allclose(getattr(made, name), getattr(function, name), atol=1e-7)
    np.testing.assert_allclose(made.at(1.23).tau, function.at(1.23).tau, atol=1e-7)
    on_grid = lw.simulate(robot, state, until=2.0, control=kernel, dt=0.1)
    np.testing.assert_allclose(on_grid.tau[7], kernel(0.7, on_grid.q[7], on_grid.v[7]), atol=1e-12)


def test_held_controllers_are_asked_between_segments():
    """A digital controller as a kernel and as a function of Python: the same bits at its rate."""
    robot = lw.Dynamics(lw.load("double_pendulum"))
    kernel = robot.kernel(t=())(lambda t, q, v: -2.0 * q - 0.3 * v)
    state = np.array([1.0, -0.5]), np.zeros(2)
    a, b = (
        lw.simulate(robot, state, until=1.0, control=[lw.hold(x, rate=20.0), lw.hold(lambda t, q, v: 0 * q + t, rate=7.0)])
        for x in (kernel, lambda t, q, v: -2.0 * q - 0.3 * v)
    )
    np.testing.assert_allclose(a.q[-1], b.q[-1], atol=1e-12)
    assert len(np.unique(a.tau[:, 0])) == 26  # 20 + 7 samples, the first of both at once


def test_a_kernel_takes_what_it_names_of_the_state():
    """As control, held control and event, with the bits of the kernel that names all."""
    robot = lw.Dynamics(lw.load("double_pendulum"))
    start, names, allof = (np.array([1.0, 0.3]), np.zeros(2)), robot.kernel(), robot.kernel(t=())
    some = names(lambda v: -0.5 * v), names(lambda q: -q), names(lambda q: q[0])
    whole = allof(lambda t, q, v: -0.5 * v), allof(lambda t, q, v: -q), allof(lambda t, q, v: q[0])
    few, many = (
        lw.simulate(robot, start, until=1.0, control=[a, lw.hold(b, rate=20.0)], events=[c], dt=0.3) for a, b, c in (some, whole)
    )
    np.testing.assert_array_equal(few.q, many.q)
    np.testing.assert_array_equal(few.tau, many.tau)
    assert [x.t for x in few.events] == [x.t for x in many.events] != []
    changes = [lw.simulate(robot, start, until=0.2, control=x[0]).sensitivity()["state"][-1] for x in (some, whole)]
    np.testing.assert_allclose(*changes, atol=1e-13)
    with pytest.raises(lw.SimulationError, match='needs "gain" besides'):
        lw.simulate(robot, start, until=1.0, control=robot.kernel(gain=())(lambda v, gain: -gain * v))


def test_a_kernel_of_the_wrong_shape_is_refused():
    robot = lw.Dynamics(lw.load("double_pendulum"))
    kernel = robot.kernel(t=())(lambda t, q, v: q[0])
    with pytest.raises(lw.ShapeError, match="of shape \\(\\), but"):
        lw.simulate(robot, (np.zeros(2), np.zeros(2)), until=1.0, control=kernel)


def test_what_compiled_code_cannot_step_over_ends_the_run_with_its_reason():
    """A force that grows without bound: the run fails as the plain one does, and says the same."""
    robot = lw.Dynamics(lw.load("pendulum"))
    kernel = robot.kernel(t=())(lambda t, q, v: 1.0 / (0.5 - t) ** 3 + 0.0 * q)
    state = np.zeros(1), np.zeros(1)
    a = lw.simulate(robot, state, until=1.0, control=kernel)
    b = lw.simulate(robot, state, until=1.0, control=lambda t, q, v: np.array([1.0 / (0.5 - t) ** 3]))
    assert a.status == b.status == "failed" and abs(a.t[-1] - 0.5) < 1e-3
    assert a.message.split(":")[1][:25] == b.message.split(":")[1][:25]
    gone = lw.simulate(robot, state, until=100.0, control=robot.kernel(t=())(lambda t, q, v: 1e3 * (v + 1.0)))
    assert gone.status == "failed" and "diverges" in gone.message


def test_late_times_are_kept_with_what_their_rounding_leaves_out():
    """At Unix time, where two times differ by 2e-7 s at least, a run is the one that starts at zero."""
    robot, state = lw.Dynamics(lw.load("double_pendulum")), (np.array([2.0, 0.5]), np.zeros(2))
    early, late = (lw.simulate(robot, state, start=t, until=t + 2.0, rtol=1e-9) for t in (0.0, 1.7e9))
    np.testing.assert_allclose(early.q[-1], late.q[-1], atol=1e-7)


CLOSED = "four_bar", pytest.param("rolling_disk", marks=pytest.mark.slow), pytest.param("governor", marks=pytest.mark.slow)


@pytest.mark.parametrize("name", CLOSED)
def test_mechanisms_with_loops_wheels_and_drives_step_in_compiled_code(name, monkeypatch, tmp_path):
    """The same steps as with a function of Python beside it, loops closed at every row and between rows, stopped and resumed to the bit."""
    robot = lw.Dynamics(lw.load(name))
    held, state = robot.constraints, robot.constraints.random_state(seed=1, reach=0.3)
    plain = lw.simulate(robot, state, until=1.0, rtol=1e-8, control=lambda t, q, v: 0.0 * v)
    calls, run = [], Segments.run
    monkeypatch.setattr(Segments, "run", lambda *x: calls.append(x) or run(*x))
    made = lw.simulate(robot, state, until=1.0, rtol=1e-8)
    assert len(calls) <= 1 + made.steps / 16 and (made.steps, made.rejected) == (plain.steps, plain.rejected)
    np.testing.assert_allclose(made.q[-1], plain.q[-1], atol=1e-9)
    np.testing.assert_allclose(made.vdot, plain.vdot, atol=1e-4 * np.abs(plain.vdot).max())
    for t in (*made.t[::7], 0.123, 0.456):
        q, v = made(t)
        rows = held.set.rows(q, t=t)
        assert np.abs(rows.c).max(initial=0.0) < 1e-12 and np.abs(rows.Jc @ v - rows.U).max() < 1e-9 * (1 + np.abs(v).max())
    count = []
    part = lw.simulate(robot, state, until=1.0, rtol=1e-8, on_step=lambda t, q, v: len(count) > 5 or count.append(t))
    part.save(tmp_path / "run.npz")
    same(lw.Trajectory.load(tmp_path / "run.npz").resume(1.0, on_step=None), made)
    on_grid = lw.simulate(robot, state, until=1.0, rtol=1e-8, dt=0.1)
    np.testing.assert_allclose(on_grid.q, made(on_grid.t)[0], atol=1e-12)
    expected = robot.forward_dynamics(*on_grid[3], robot.passive_force(*on_grid[3]), t=on_grid.t[3])
    np.testing.assert_allclose(on_grid.vdot[3], expected, rtol=1e-6)


def test_a_stage_that_is_no_state_makes_the_step_shorter_on_all_roads():
    """The first steps of this disk leave the plane so far that its constraints are not numbers."""
    robot = lw.Dynamics(lw.load("rolling_disk"))
    state = robot.constraints.random_state(seed=0)
    compiled, plain = (lw.simulate(lw.Dynamics(robot.model, compiled=how), state, until=0.05, rtol=1e-4) for how in (True, False))
    assert plain.status == "finished" and plain.steps == compiled.steps
    np.testing.assert_allclose(plain.q[-1], compiled.q[-1], atol=1e-12)


def test_tolerances_of_rounding_are_refused():
    """Errors that are rounding do not fall with the step, so that steps would be ever shorter."""
    robot = lw.Dynamics(lw.load("double_pendulum"))
    with pytest.raises(lw.SimulationError, match="rounding"):
        lw.simulate(robot, (np.ones(2), np.zeros(2)), until=1.0, rtol=1e-16, atol=0.0)


@pytest.mark.parametrize("method", ["rk45", "dop853", "stiff", "radau"])
def test_a_start_at_rest_asks_for_an_absolute_tolerance(method):
    """v = 0 has no error relative to v: atol = 0 is refused, the least that is taken gives the motion of a usual one."""
    robot, start = lw.Dynamics(lw.load("pendulum")), (np.ones(1), np.zeros(1))
    with pytest.raises(lw.SimulationError, match=r"atol is 0\.0; what is at rest"):
        lw.simulate(robot, start, until=0.1, method=method, atol=0.0)
    least, usual = (lw.simulate(robot, start, until=0.1, method=method, rtol=1e-8, atol=x) for x in (1e-30, 1e-12))
    np.testing.assert_allclose(least.q[-1], usual.q[-1], atol=1e-8)


def test_a_time_that_is_no_number_is_refused():
    """until="soon" has no value to compare with the start; "1" is one, as an array of floats takes it."""
    robot, start = lw.Dynamics(lw.load("pendulum")), (np.ones(1), np.zeros(1))
    with pytest.raises(lw.SimulationError, match="soon"):
        lw.simulate(robot, start, until="soon")
    assert lw.simulate(robot, start, until="0.1").t[-1] == 0.1


def test_a_drive_that_only_gives_numbers_is_asked_in_python():
    """Its function calls math.sin: the steps are made one by one, with the motion of the one that is written with NumPy."""
    import math

    runs = []
    for function in (lambda t: 0.3 * math.sin(2 * t), lambda t: 0.3 * np.sin(2 * t)):
        builder = lw.Builder("driven")
        builder.body("upper", joint=lw.Revolute(axis=(0, 1, 0)), mass=1.0, center=(0, 0, -0.5), tensor=np.full(3, 0.01))
        builder.body("lower", "upper", lw.Pose(translation=(0, 0, -1)), lw.Revolute(axis=(0, 1, 0)), mass=1.0, center=(0, 0, -0.5),
                     tensor=np.full(3, 0.01))  # fmt: skip
        builder.drive("upper_joint", function)
        robot = lw.Dynamics(builder.model())
        q, v = robot.constraints.project(np.zeros(2), np.zeros(2), t=0.0)
        runs.append(lw.simulate(robot, (q, v), until=1.0, rtol=1e-8))
    assert runs[0].status == runs[1].status == "finished"
    np.testing.assert_allclose(runs[0].q[-1], runs[1].q[-1], atol=1e-7)
    np.testing.assert_allclose(runs[1].q[-1, 0], 0.3 * np.sin(2.0), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rk45", "rosenbrock"])
def test_flexible_bodies_step_in_compiled_code(method, monkeypatch):
    """A link of steel that bends: the motion with a function of Python beside it, and few calls."""
    section = lw.sections.rectangle(0.004, 0.03, lw.sections.STEEL)
    link = lw.FlexibleBody.beam(1.0, section, elements=20, directions="y", count=2, damping=0.01)
    robot = lw.Dynamics(lw.Builder("arm", gravity=(0, -9.81, 0)).flexible("link", link, joint=lw.Revolute()).model())
    state = robot.neutral(), np.zeros(robot.nv)
    plain = lw.simulate(robot, state, until=0.1, control=lambda t, q, v: 0 * v)
    calls, run = [], Segments.run
    monkeypatch.setattr(Segments, "run", lambda *x: calls.append(x) or run(*x))
    made = lw.simulate(robot, state, until=0.1, method=method)
    assert made.status == "finished" and 0 < len(calls) < 4
    np.testing.assert_allclose(made.q[-1], plain.q[-1], atol=1e-6)
