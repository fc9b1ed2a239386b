"""Python functions as control and external are called between the parts of compiled steps: as they were by steps made in Python."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import solids
from linkwork.simulate.methods import explicit
from linkwork.simulate.runs import run
from linkwork.simulate.runs.compiled_steps import AdaptiveSteps


def limited():
    """Two joints, of which one has limits and dry friction."""
    builder = lw.Builder("limited")
    builder.body("a", joint=lw.Revolute(axis=(0, 1, 0), lower=-1.0, upper=1.2, friction=0.3), **solids.cylinder(1.0, 0.02, 1.0))
    builder.body("b", "a", at=(0, 0, -1.0), joint=lw.Revolute(axis=(0, 1, 0)), **solids.cylinder(1.0, 0.02, 1.0))
    return builder.model()


def wrenches(t, q, v):
    return np.stack([[0, 0.1 * np.sin(t), 0, 0.2, 0, 0.1 * q[0]]] * 2)


def damp(t, q, v):
    return -0.3 * v + 0.4 * np.sin(3 * t)


WAYS = {
    "control": ("double_pendulum", {"control": damp}),
    "in a chart": ("satellite", {"control": damp}),
    "external": ("double_pendulum", {"control": damp, "external": wrenches}),
    "external alone": ("double_pendulum", {"external": wrenches}),
    "with held ones": ("double_pendulum", {"control": [damp, lw.hold(lambda t, q, v: -q, rate=20.0), lambda t, q, v: 0.1 * q]}),
    "at multiples of dt": ("double_pendulum", {"control": damp, "dt": 0.07}),
    "on a loop": ("four_bar", {"control": damp}),
    "with limits and friction": (limited(), {"control": damp, "contact": lw.ContactLaw(limits=True, restitution=0.4)}),
    "with events": ("double_pendulum", {"control": damp, "events": [lambda t, q, v: q[0], lw.Event(lambda t, q, v: v[1])]}),
}


def start(robot):
    if robot.constraints is not None:
        return robot.constraints.put_back(robot.neutral(), np.full(robot.nv, 1.5))
    q, v = robot.random_state(seed=4)
    return q, 0.7 * v


def both(robot, monkeypatch, method, options):
    """The run with the functions between compiled parts, and by steps in Python; and the times of all calls of the first control."""
    first, *rest = options["control"] if isinstance(options.get("control"), list) else [options.get("control")]

    def made(patched, name, x):
        times = []
        controls = [] if first is None else [lambda t, q, v: times.append(float(t)) or first(t, q, v)]
        how = options | {"control": controls + rest, "first_step": 0.01, "max_step": 0.01}
        with monkeypatch.context() as patch:
            patch.setattr(patched, name, x)
            return lw.simulate(robot, start(robot), until=1.5, method=method, **how), times

    return made(explicit.Adaptive, "step", None), made(AdaptiveSteps, "of", lambda *_: None)


@pytest.mark.parametrize("method", ["rk45", "dop853"])
@pytest.mark.parametrize("way", WAYS)
def test_python_functions_are_called_between_compiled_parts(way, method, monkeypatch):
    """Times, states and forces are those of steps made in Python to 1e-12, also within steps; functions see the same times. Error control,
    which is off here, makes more of rounding."""
    model, options = WAYS[way]
    robot = lw.Dynamics(lw.load(model) if isinstance(model, str) else model)
    (a, seen), (b, before) = both(robot, monkeypatch, method, options)
    assert a.status == b.status == "finished" and (a.steps, a.rejected) == (b.steps, b.rejected) and len(a.events) == len(b.events)
    for name in ("t", "q", "v", "vdot", "tau"):
        x, y = getattr(a, name), getattr(b, name)
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-12 * max(1.0, np.abs(y).max()), err_msg=name)
    np.testing.assert_allclose(a(0.777)[0], b(0.777)[0], atol=1e-12)
    if way in ("control", "in a chart", "external", "with held ones", "on a loop"):
        np.testing.assert_allclose(seen, before, rtol=1e-11)


def test_an_error_of_a_function_leaves_the_last_step():
    """The steps before it are made, as many as there are."""
    robot, calls = lw.Dynamics(lw.load("double_pendulum")), []

    def control(t, q, v):
        calls.append(t)
        if len(calls) == 200:
            raise RuntimeError("out of order")
        return -0.1 * v

    made = lw.simulate(robot, ([1.0, 0.2], [0.0, 0.0]), until=9.0, control=control)
    assert made.status == "failed" and "out of order" in made.message and 10 < made.steps < 40 and made.t[-1] <= calls[-1]
    whole = lw.simulate(robot, ([1.0, 0.2], [0.0, 0.0]), until=9.0, control=lambda t, q, v: -0.1 * v)
    np.testing.assert_array_equal(made.q, whole.q[: len(made.q)])


def test_a_function_may_simulate_the_robot_itself():
    """A prediction inside of a controller does not disturb the run around it."""
    robot = lw.Dynamics(lw.load("double_pendulum"))
    begin, damped = ([1.0, 0.2], [0.0, 0.0]), lambda t, q, v: -0.1 * v

    def predicting(t, q, v):
        ahead = lw.simulate(robot, (q, v), until=0.05, control=damped)
        assert ahead.status == "finished"
        return -0.1 * v

    a, b = (lw.simulate(robot, begin, until=0.3, control=x) for x in (predicting, damped))
    np.testing.assert_array_equal(a.q, b.q)


def test_a_function_that_keeps_what_it_was_given_has_its_own_arrays():
    """The arrays of one call are not those of another."""
    robot, seen = lw.Dynamics(lw.load("double_pendulum")), []
    lw.simulate(robot, ([1.0, 0.2], [0.0, 0.0]), until=0.5, control=lambda t, q, v: seen.append((t, q, v, q.copy(), v.copy())) or -v)
    assert all(np.array_equal(q, a) and np.array_equal(v, b) for _, q, v, a, b in seen)


def test_a_slow_function_is_stopped_by_a_timeout_within_a_call(monkeypatch):
    """Compiled steps come back when the time is over."""
    monkeypatch.setattr(run, "MAX_STEPS", 10**9)
    robot = lw.Dynamics(lw.load("double_pendulum"))
    made = lw.simulate(robot, ([1.0, 0.2], [0.0, 0.0]), until=1e5, control=lambda t, q, v: -0.1 * np.sin(v + t), timeout=0.2)
    assert made.status == "stopped" and "timeout" in made.message
