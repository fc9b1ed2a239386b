"""Joint limits, dry friction, resets and kernels as events in compiled steps: the events and the motion of steps made one by one."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import solids
from linkwork.simulate.events.events import EventDetector
from linkwork.simulate.runs import compiled_steps
from linkwork.simulate.runs.segments import Segments

ROWS = "t", "q", "v", "vdot", "tau"


def arm(friction=0.0, name="arm", **limits):
    """Two rods in a plane; the elbow has limits."""
    builder = lw.Builder(name)
    builder.body("upper", joint=lw.Revolute(axis=(0, 1, 0), friction=friction), joint_name="shoulder", **solids.rod(1.0, (0, 0, -1)))
    elbow = lw.Revolute(axis=(0, 1, 0), friction=friction / 3, **limits)
    builder.body("fore", "upper", (0, 0, -1), elbow, joint_name="elbow", **solids.rod(1.0, (0, 0, -1)))
    return lw.Dynamics(builder.model())


@pytest.fixture(scope="module")
def stopping():
    return arm(lower=-0.3, upper=0.4)


@pytest.fixture(scope="module")
def rough():
    return arm(friction=4.0)


@pytest.fixture(scope="module")
def smooth():
    return arm()


START = np.array([1.0, 0.3]), np.array([0.0, 0.5])


def nothing(t, q, v):
    """A function of Python, so that steps are made one by one."""
    return 0.0 * v


def counted(monkeypatch):
    """The calls of compiled steps, and the steps in which events were sought."""
    calls, looks, run, find = [], [], Segments.run, EventDetector.find
    monkeypatch.setattr(Segments, "run", lambda *x: calls.append(x) or run(*x))
    monkeypatch.setattr(EventDetector, "find", lambda *x: looks.append(x) or find(*x))
    return calls, looks


def same(a, b):
    for name in ROWS:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert [(x.t, x.name) for x in a.events] == [(x.t, x.name) for x in b.events]


def agree(made, plain, atol=1e-7):
    """The same events, and the same motion to tolerance."""
    assert made.status == plain.status and [x.name for x in made.events] == [x.name for x in plain.events]
    np.testing.assert_allclose([x.t for x in made.events], [x.t for x in plain.events], atol=atol)
    np.testing.assert_allclose(made.q[-1], plain.q[-1], atol=10 * atol)
    assert abs(made.steps - plain.steps) <= 2 + plain.steps / 50


@pytest.mark.parametrize("method", ["rk45", "dop853"])
def test_limits_are_struck_where_steps_of_python_strike_them(stopping, method, monkeypatch):
    """Bounces of an elbow: the same times, and Python is not asked."""
    how = {"until": 3.0, "contact": lw.ContactLaw(limits=True, restitution=0.7), "rtol": 1e-8, "method": method}
    plain = lw.simulate(stopping, START, control=nothing, **how)
    calls, looks = counted(monkeypatch)
    made = lw.simulate(stopping, START, **how)
    agree(made, plain)
    assert len(made.events) > 3 and not looks and len(calls) <= 1 + made.steps / 16 + 2 * len(made.events)


def test_a_limit_that_is_passed_twice_within_a_step_is_struck():
    """A throw whose top lies 1e-5 m beyond the limit, or before it, in one step that is much longer than that takes."""
    up = lw.Dynamics(lw.Builder("ball").body("ball", joint=lw.Prismatic(axis=(0, 0, 1), upper=1.0), **solids.point(1.0)).model())
    for beyond, count in ((1e-5, 1), (-1e-5, 0)):
        v = np.sqrt(2 * 9.81 * (1.0 + beyond))
        run = lw.simulate(up, ([0.0], [v]), until=0.8, limits=True, method=lw.RK45(first_step=0.3))
        assert len(run.events) == count and run.steps < 15
        if count:
            assert run.events[0].t == pytest.approx((v - np.sqrt(v * v - 2 * 9.81)) / 9.81, abs=1e-9)


@pytest.mark.parametrize("method", ["rk45", "dop853"])
def test_joints_stick_and_slip_as_in_steps_of_python(rough, method, monkeypatch):
    """An arm that swings until friction holds it, in part and then as a whole."""
    how = {"until": 5.0, "rtol": 1e-8, "method": method}
    plain = lw.simulate(rough, START, control=nothing, **how)
    calls, looks = counted(monkeypatch)
    made = lw.simulate(rough, START, **how)
    agree(made, plain)
    assert (made.v[-1] == 0).all() and (made.vdot[-1] == 0).all()
    np.testing.assert_array_equal(made.q[made.t > made.t[-1] - 1e-3][0], made.q[-1])
    assert not looks and len(calls) < made.steps / 3
    late = made.t > 0.9 * made.t[-1]
    np.testing.assert_allclose(made.tau[late], 0.0)


def test_joints_at_rest_let_go_when_a_force_that_grows_exceeds_friction():
    """τ = t sin 20 t as a kernel: what holds the block changes much faster than the block moves, and steps must see that."""
    joint = lw.Prismatic(axis=(1, 0, 0), friction=2.0)
    block = lw.Dynamics(lw.Builder("block").body("block", joint=joint, **solids.point(1.0)).model())
    force = block.kernel(t=())(lambda t, q, v: t * np.sin(20 * t) + 0.0 * q)
    how = {"until": 3.0, "rtol": 1e-8}
    plain = lw.simulate(block, ([0.0], [0.0]), control=lambda t, q, v: np.array([t * np.sin(20 * t)]), **how)
    made = lw.simulate(block, ([0.0], [0.0]), control=force, **how)
    agree(made, plain)
    moved = made.t[np.flatnonzero(made.v[:, 0])[0]]
    exact = 2.12
    for _ in range(30):
        exact -= (exact * np.sin(20 * exact) + 2.0) / (np.sin(20 * exact) + 20 * exact * np.cos(20 * exact))
    assert abs(moved - exact) < 0.01
    on_grid = lw.simulate(block, ([0.0], [0.0]), control=force, dt=0.05, **how)
    np.testing.assert_allclose(on_grid.q, made(on_grid.t)[0], atol=1e-9)
    still = on_grid.t < exact - 1e-3
    assert (on_grid.vdot[still] == 0).all() and (on_grid.v[still] == 0).all()
    np.testing.assert_allclose(on_grid.tau[:, 0], on_grid.t * np.sin(20 * on_grid.t), atol=1e-12)


def test_kernels_as_events_are_found_where_functions_are(smooth, monkeypatch):
    """Recorded, terminal and with resets, rising, falling and both; Python looks at few steps."""
    kernel = smooth.kernel()
    functions = lambda t, q, v: q[0], lambda t, q, v: v[1] - 0.2, lambda t, q, v: q[0] + 0.4
    kernels = kernel(lambda q: q[0]), kernel(lambda v: v[1] - 0.2), kernel(lambda q: q[0] + 0.4)
    reset = lambda t, q, v: (q, -0.8 * v)
    a, b = (
        [lw.Event(x, "middle"), lw.Event(y, "fast", direction=1), lw.Event(z, "wall", direction=-1, reset=reset)]
        for x, y, z in (functions, kernels)
    )
    plain = lw.simulate(smooth, START, until=3.0, rtol=1e-8, events=a)
    _, looks = counted(monkeypatch)
    made = lw.simulate(smooth, START, until=3.0, rtol=1e-8, events=b)
    agree(made, plain)
    assert len(made.events) > 4 and len(looks) < 5 * len(made.events) < made.steps
    ended = lw.simulate(smooth, START, until=3.0, rtol=1e-8, events=[lw.Event(kernels[0], "middle", terminal=True)])
    assert ended.status == "event" and ended.t[-1] == pytest.approx(next(x.t for x in plain.events if x.name == "middle"), abs=1e-9)


def test_an_event_that_does_not_occur_changes_no_bit(smooth):
    far = smooth.kernel()(lambda q: q[0] + 50.0)
    same(lw.simulate(smooth, START, until=2.0), lw.simulate(smooth, START, until=2.0, events=[far]))


def test_fast_and_short_and_undefined_functions_are_seen(smooth):
    """sin 200 t has 63 zeros in a second; a pulse is seen by its resolution; what is no number is told."""
    t = smooth.kernel(t=())
    fast = lw.simulate(smooth, START, until=1.0, events=[t(lambda t, q: np.sin(200 * t) + 0.0 * q[0])], method=lw.RK45(first_step=0.1))
    assert len(fast.events) in (63, 64)
    pulse = lw.Event(t(lambda t, q: 0.5 - np.exp(-(((t - 0.3) / 3e-4) ** 2)) + 0.0 * q[0]), "pulse", resolution=2e-4)
    assert len(lw.simulate(smooth, START, until=1.0, events=[pulse]).events) == 2
    none = lw.simulate(smooth, START, until=1.0, events=[lw.Event(t(lambda t, q: np.sqrt(0.5 - t) + 1.0 + 0.0 * q[0]), "root")])
    assert '"root"' in none.message and "not a number" in none.message


@pytest.mark.parametrize("case", ["limits", "friction", "reset"])
def test_runs_with_events_are_stopped_and_go_on_to_the_bit(case, stopping, rough, smooth, monkeypatch, tmp_path):
    """By on_step, through a file, and by Ctrl-C between two calls: the run that was not stopped."""
    monkeypatch.setattr(compiled_steps, "MOST", 16)
    wall = smooth.kernel()(lambda q: q[0] + 0.4)
    events = [lw.Event(wall, "wall", direction=-1, reset=lambda t, q, v: (q, -0.8 * v))]
    robot, how = {
        "limits": (stopping, {"contact": lw.ContactLaw(limits=True, restitution=0.7)}),
        "friction": (rough, {}), "reset": (smooth, {"events": events}),
    }[case]  # fmt: skip
    how = how | {"until": 2.0, "rtol": 1e-7}
    whole = lw.simulate(robot, START, **how)
    same(whole, lw.simulate(robot, START, on_step=lambda t, q, v: None, **how))
    for n in (3, 20, 40):
        count = []
        part = lw.simulate(robot, START, on_step=lambda t, q, v, n=n, count=count: len(count) >= n or count.append(t), **how)
        assert part.status == "stopped"
        part.save(tmp_path / "run.npz")
        again = lw.Trajectory.load(tmp_path / "run.npz") if case != "reset" else part
        same(again.resume(2.0, on_step=None), whole)
    calls, run = [], Segments.run

    def interrupted(*x):
        calls.append(x)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return run(*x)

    monkeypatch.setattr(Segments, "run", interrupted)
    part = lw.simulate(robot, START, **how)
    assert part.status == "stopped" and 1 < len(part) < len(whole)
    same(part.resume(2.0), whole)


def test_loops_have_limits_and_friction_in_compiled_steps(monkeypatch):
    """A four-bar whose joints rub: steps are compiled as long as nothing rests."""
    from dataclasses import replace

    model = lw.load("four_bar")
    first = model.joints[0]
    joints = (replace(first, joint=replace(first.joint, friction=0.05)), *model.joints[1:])
    robot = lw.Dynamics(replace(model, joints=joints))
    state = robot.constraints.random_state(seed=1, reach=0.3)
    plain = lw.simulate(robot, state, until=1.0, rtol=1e-8, control=nothing)
    calls, looks = counted(monkeypatch)
    made = lw.simulate(robot, state, until=1.0, rtol=1e-8)
    agree(made, plain)
    assert len(calls) > 0 and len(looks) < made.steps / 3


def test_linearly_implicit_steps_have_limits_and_friction(stopping, rough):
    """Against steps of rk45 with a small tolerance."""
    for robot, how in ((stopping, {"contact": lw.ContactLaw(limits=True, restitution=0.7)}), (rough, {})):
        made, exact = (lw.simulate(robot, START, until=2.0, method=method, rtol=1e-9, **how) for method in ("rosenbrock", "dop853"))
        assert made.status == "finished" and len(made.events) == len(exact.events)
        np.testing.assert_allclose([x.t for x in made.events], [x.t for x in exact.events], atol=1e-5)
        np.testing.assert_allclose(made.q[-1], exact.q[-1], atol=1e-4)
