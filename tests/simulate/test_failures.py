"""A run that ends early keeps what it has, says when, where and why, and can go on."""

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import solids

ARM = lw.Dynamics(lw.load("planar_2r"))
START = np.array([0.3, 0.5]), np.zeros(2)
METHODS = {"rk45": {}, "dop853": {}, "stiff": {}, "rk4": {"dt": 0.01}, "euler": {"dt": 0.01}, "midpoint": {"dt": 0.01}}
every_method = pytest.mark.parametrize("method", METHODS)


@every_method
def test_a_force_that_is_no_number_ends_the_run(method):
    """The second joint's motor gives NaN from t = 1 on."""

    def control(t, q, v):
        return np.array([0.0, np.nan if t >= 1 else 0.1])

    run = lw.simulate(ARM, START, until=3.0, method=method, control=control, **METHODS[method])
    assert run.status == "failed" and run.message.startswith(f"t = {run.t[-1]:.9g} s: ")
    assert 0.8 < run.t[-1] <= 1.0 and np.isfinite(run.q).all() and np.isfinite(run.vdot).all() and len(run) > 2
    if method != "stiff" and method != "midpoint":
        assert 'the acceleration is not finite (joint "' in run.message


def test_a_motion_that_runs_away_is_stopped_where_it_does():
    """q̈ = q̇² has no solution after t = 1/q̇(0)."""
    robot = lw.Dynamics(lw.Builder("cart").body("cart", joint=lw.Prismatic(axis=(1, 0, 0)), **solids.point(1.0)).model())
    run = lw.simulate(robot, ([0.0], [1.0]), until=3.0, control=lambda t, q, v: v**2)
    assert run.status == "failed" and "no step is short enough" in run.message and 'joint "cart_joint"' in run.message
    assert run.t[-1] == pytest.approx(1.0, abs=1e-3)


def test_an_error_in_a_controller_keeps_what_came_before():
    def control(t, q, v):
        return np.zeros(2) if t < 1 else np.zeros(2) / [][0]

    run = lw.simulate(ARM, START, until=3.0, control=control)
    assert run.status == "failed" and "IndexError: list index out of range" in run.message
    assert isinstance(run.error, IndexError) and run.error.__traceback__ is not None
    assert 0.5 < run.t[-1] <= 1.0


def test_an_error_at_the_very_start_is_raised():
    """Nothing would be lost: it is a mistake in the program."""
    with pytest.raises(NameError):
        lw.simulate(ARM, START, until=3.0, control=lambda t, q, v: undefined)  # noqa: F821


@every_method
def test_ctrl_c_keeps_what_was_computed_and_resume_goes_on_as_if_nothing_had_happened(method, tmp_path):
    how = {"method": method, "control": lambda t, q, v: -0.1 * v, **METHODS[method]}

    def interrupt(t, q, v):
        if t > 0.5:
            raise KeyboardInterrupt

    whole = lw.simulate(ARM, START, until=1.0, **how)
    part = lw.simulate(ARM, START, until=1.0, on_step=interrupt, **how)
    assert part.status == "stopped" and "Ctrl-C" in part.message
    assert 0.5 < part.t[-1] < 1.0
    rest = part.resume(until=1.0, on_step=None)
    assert rest.status == "finished" and rest.message == ""
    part.save(tmp_path / "part.npz")
    again = lw.Trajectory.load(tmp_path / "part.npz").resume(until=1.0, on_step=None, control=how["control"])
    for later in (rest, again):
        np.testing.assert_array_equal(later.t, whole.t)
        np.testing.assert_array_equal(later.q, whole.q)
        np.testing.assert_array_equal(later.v, whole.v)
        np.testing.assert_array_equal(later.tau, whole.tau)


def test_on_step_may_stop_a_run():
    seen = []

    def watch(t, q, v):
        seen.append(t)
        return len(seen) == 5

    run = lw.simulate(ARM, START, until=10.0, on_step=watch)
    assert run.status == "stopped" and run.steps == 5 and "on_step" in run.message
    np.testing.assert_array_equal(run.t[1:], seen)


@pytest.mark.parametrize("method", ["rk4", "euler", "midpoint"])
def test_resume_of_fixed_steps_is_the_same_run(method):
    """Bit for bit: the steps are counted from where the first run began."""
    control = lw.hold(lambda t, q, v: -0.3 * v, rate=30.0)
    how = {"method": method, "dt": 0.01, "control": control}
    whole = lw.simulate(ARM, START, until=1.0, **how)
    parts = lw.simulate(ARM, START, until=0.37, **how).resume(until=0.5).resume(until=1.0)
    for name in ("t", "q", "v", "tau", "vdot"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    assert parts.steps == whole.steps


def test_resume_keeps_the_step_that_was_reached():
    """Only the step that was cut at the seam differs."""
    whole = lw.simulate(ARM, START, until=2.0)
    parts = lw.simulate(ARM, START, until=1.0).resume(until=2.0)
    assert abs(parts.steps - whole.steps) <= 2
    np.testing.assert_allclose(parts.q[-1], whole.q[-1], atol=1e-5)
    assert parts.t[0] == 0 and parts.t[-1] == 2 and (np.diff(parts.t) > 0).all()


def test_resume_may_change_how():
    run = lw.simulate(ARM, START, until=0.5).resume(until=1.0, method="rk4", dt=0.1)
    np.testing.assert_allclose(run.t[-5:], [0.6, 0.7, 0.8, 0.9, 1.0])


@pytest.mark.parametrize("method", ["midpoint", "stiff"])
def test_resume_of_methods_with_a_memory_is_the_same_run_from_any_step(method):
    """Stopped after each of the first steps; stiff ones with forces for which the memory of the method matters."""
    how = {"method": method, "control": lambda t, q, v: -50.0 * v - 1e3 * q * np.cos(t), **METHODS[method]}
    whole = lw.simulate(ARM, START, until=0.2, **how)
    for count in (1, 2, 3, 7, 12):
        seen = []
        part = lw.simulate(ARM, START, until=0.2, on_step=lambda t, q, v, seen=seen, n=count: seen.append(t) or len(seen) == n, **how)
        assert part.status == "stopped"
        for name in ("t", "q", "v", "vdot"):
            np.testing.assert_array_equal(getattr(part.resume(until=0.2, on_step=None), name), getattr(whole, name))


def test_a_saved_run_goes_on_with_the_output_that_a_held_controller_had(tmp_path):
    """The file ends between two calls of the controller: the next one is when it is due, not at once."""
    how = {"control": lw.hold(lambda t, q, v: -0.3 * v + 0.1 * np.cos(t), rate=3.0), "method": "rk4", "dt": 0.01}
    lw.simulate(ARM, START, until=0.5, **how).save(tmp_path / "half.npz")
    rest = lw.Trajectory.load(tmp_path / "half.npz").resume(until=1.0, control=how["control"])
    np.testing.assert_array_equal(rest.q, lw.simulate(ARM, START, until=1.0, **how).q)


def test_a_memory_that_does_not_fit_is_forgotten():
    for method in ("midpoint", "radau"):
        half = lw.simulate(ARM, START, until=0.3, method=method, on_step=lambda t, q, v: t > 0.1, **METHODS.get(method, {}))
        here = half.state.memory
        for wrong in (None, {}, {"h": "x"}, [1, [2]], here._replace(**{here._fields[8 if method == "radau" else 2]: np.zeros((1, 1))})):
            run = replace(half, state=half.state._replace(memory=wrong)).resume(until=0.3, on_step=None)
            assert run.status == "finished"


def test_a_force_that_is_no_number_from_the_start_leaves_a_run_that_can_be_printed_saved_and_resumed(tmp_path):
    run = lw.simulate(ARM, START, until=1.0, control=lambda t, q, v: np.full(2, np.nan))
    assert run.status == "failed" and "t = 0 s: the acceleration is not finite" in run.message
    assert len(run) == 1 and (run.q[0] == START[0]).all() and "failed" in str(run)
    run.save(tmp_path / "run.npz")
    assert len(lw.Trajectory.load(tmp_path / "run.npz")) == 1
    rest = run.resume(until=1.0, control=None)
    np.testing.assert_array_equal(rest.q, lw.simulate(ARM, START, until=1.0).q)
    again = run.resume(until=1.0)
    assert again.status == "failed" and len(again) == 1


@pytest.mark.parametrize("method", ["rk4", "rk45"])
def test_a_state_that_has_left_is_no_result(method):
    """Steps far too long for a damper, and q̈ = 1000 q̇: numbers up to 1e257, all finite."""
    if method == "rk4":
        cart = lw.Builder("cart").body("cart", joint=lw.Prismatic(axis=(1, 0, 0), damping=1e3), **solids.point(1.0))
        run = lw.simulate(lw.Dynamics(cart.model()), ([0.0], [1.0]), until=4.0, method="rk4", dt=0.1)
    else:
        cart = lw.Builder("cart").body("cart", joint=lw.Prismatic(axis=(1, 0, 0)), **solids.point(1.0))
        run = lw.simulate(lw.Dynamics(cart.model()), ([0.0], [1.0]), until=0.6, control=lambda t, q, v: 1e3 * v)
    assert run.status == "failed" and "the motion diverges" in run.message and 'joint "cart_joint"' in run.message
    assert len(run) > 1 and np.abs(run.v).max() <= 1e18


WRITES = {
    "control": {"control": lambda t, q, v: q.fill(0) or np.zeros(2)},
    "held control": {"control": lw.hold(lambda t, q, v: v.fill(9) or np.zeros(2), rate=10.0)},
    "external": {"external": lambda t, q, v: q.fill(0) or np.zeros((len(ARM.bodies), 6))},
    "event": {"events": [lambda t, q, v: v.fill(9) or 1.0]},
}


@pytest.mark.parametrize("what", WRITES)
def test_functions_of_the_user_cannot_write_to_the_state(what):
    with pytest.raises(ValueError, match="read-only"):
        lw.simulate(ARM, START, until=1.0, **WRITES[what])


def test_on_step_and_reset_get_states_of_their_own():
    def ruin(t, q, v):
        q[:], v[:] = 7.0, 7.0

    def reset(t, q, v):
        ruin(t, q, v)
        return START

    plain = lw.simulate(ARM, START, until=0.5)
    np.testing.assert_array_equal(lw.simulate(ARM, START, until=0.5, on_step=ruin).q, plain.q)
    run = lw.simulate(ARM, START, until=0.5, events=[lw.Event(lambda t, q, v: t - 0.2, "again", reset=reset)])
    (event,) = run.events
    assert np.abs(event.q).max() < 2 and (run.q[np.flatnonzero(run.t == event.t)[-1]] == START[0]).all()


# --- what is refused

WRONG = {
    'there is no method "rk54". Did you mean "rk4"?': {"method": "rk54"},
    'method "rk4" has fixed steps: give their length': {"method": "rk4"},
    "dt is 0; it must be a positive number of seconds": {"dt": 0},
    "rtol is -1 and atol 1e-09; they may not be negative": {"rtol": -1},
    "restitution is 2; it must be a number from 0 to 1": {"contact": lw.ContactLaw(limits=True, restitution=2)},
    "restitution is 0.5, but joint limits are off: limits=True": {"restitution": 0.5},
    "every is 0; it must be a whole number, at least 1": {"every": 0},
    "a run cannot go from 0.0 s until -1 s": {"until": -1},
    "a run cannot go from 0.0 s until nan s": {"until": np.nan},
    "a run cannot go from 0.0 s until [0.   0.01 0.02 ": {"until": np.linspace(0, 4, 401)},
    "first_step is -1; it must be a positive": {"first_step": -1},
    "q has shape (3,), but planar_2r has nq = 2": {"state": (np.zeros(3), np.zeros(2))},
    "v has shape (1, 3), but planar_2r has nv = 2": {"state": (np.zeros(2), np.zeros((1, 3)))},
    "q of the state has entries that are not finite": {"state": ([np.nan, 0], np.zeros(2))},
    "state is not a pair (q, v)": {"state": 3},
    'there is no method "[1. 1.]"': {"method": np.ones(2)},
    "constraints is array([": {"constraints": np.ones((9, 2))},
}


@pytest.mark.parametrize("text", WRONG)
def test_what_makes_no_sense_is_refused(text):
    how = {"state": START, "until": 1.0} | WRONG[text]
    with pytest.raises((lw.SimulationError, lw.ShapeError)) as error:
        lw.simulate(ARM, **how)
    assert str(error.value).startswith(text) and len(str(error.value)) < 300


def test_a_model_is_not_a_robot():
    with pytest.raises(lw.SimulationError, match=r"lw.Dynamics\(model\)"):
        lw.simulate(ARM.model, START, until=1.0)


def test_a_quaternion_that_is_none_is_refused():
    robot = lw.Dynamics(lw.load("free_body"))
    with pytest.raises(lw.SimulationError, match='the quaternion of joint "free" has norm 0; it must be 1'):
        lw.simulate(robot, (np.zeros(7), np.zeros(6)), until=1.0)


def test_nothing_to_do_is_one_row():
    run = lw.simulate(ARM, START, until=0.0)
    assert len(run) == 1 and run.status == "finished" and run.steps == 0


def test_a_start_in_a_singular_configuration_is_told():
    """The arms of a governor folded on its rods, where the collar may stay while they swing: rank 3 in place of 4."""
    robot = lw.Dynamics(lw.load("governor"))
    q, v = robot.constraints.random_state(seed=0)
    assert robot.constraint_report(q).rank == 3
    run = lw.simulate(robot, (q, v), until=0.1)
    assert run.status == "failed" and "singular configuration" in run.message and "rank 3 there, 4 elsewhere" in run.message


# --- steps that lead nowhere, are too many, or take too long

CART = lw.Dynamics(lw.Builder("cart").body("cart", joint=lw.Prismatic(axis=(1, 0, 0)), **solids.point(1.0)).model())
SHAKEN = {"rk45": 2e9, "dop853": 2e8, "stiff": 3e6, "rosenbrock": 3e6, "radau": 3e7}  # forces with which steps are 1e-14 to 1e-13 s


def shaking(force: float):
    return lambda t, q, v: np.where(t > 1, force * np.sin(1e14 * t), 0.0) * np.ones(1)


ROADS = [*((x, "kernel") for x in SHAKEN), ("rk45", "function"), ("radau", "function"), ("rk45", "ensemble"), ("stiff", "ensemble")]


@pytest.mark.parametrize("method, road", ROADS)
def test_steps_that_creep_end_a_run_with_its_place_and_reason(method, road):
    """From t = 1 on a force shakes the cart so fast that two seconds would take 1e14 steps."""
    force = shaking(SHAKEN[method])
    control = force if road == "function" else CART.kernel()(force)
    if road == "ensemble":
        run = lw.simulate(CART, (np.zeros((2, 1)), np.ones((2, 1))), until=3.0, control=control, method=method)
        assert run.status.tolist() == ["failed", "failed"] and "singular" in run.message(0) and run.end.t == pytest.approx(1.0)
    else:
        run = lw.simulate(CART, ([0.0], [1.0]), until=3.0, control=control, method=method)
        assert run.status == "failed" and run.t[-1] == pytest.approx(1.0) and len(run) < 200
        assert "singular" in run.message and 'joint "cart_joint"' in run.message


def test_short_steps_that_are_asked_for_do_not_creep():
    """By max_step, and by a controller that is sampled every 5e-14 s."""
    run = lw.simulate(CART, ([0.0], [1.0]), until=1.0)
    for how in ({"max_step": 1e-14}, {"control": lw.hold(lambda t, q, v: np.ones(1), rate=2e13)}):
        later = run.resume(until=1.0 + 2e-12, **how)
        assert later.status == "finished" and later.steps > run.steps + 39


@pytest.mark.parametrize("control", [None, lambda t, q, v: -0.1 * v], ids=["compiled", "Python"])
def test_a_run_ends_after_max_steps_and_may_go_on(control):
    whole = lw.simulate(ARM, START, until=3.0, control=control)
    part = lw.simulate(ARM, START, until=3.0, control=control, method=lw.RK45(max_steps=7))
    assert part.status == "failed" and part.steps == 7 and "max_steps" in part.message and "t = " in part.message
    rest = part.resume(until=3.0, method=lw.RK45())
    np.testing.assert_array_equal(rest.q, whole.q)
    fixed = lw.simulate(ARM, START, until=3.0, method=lw.RK4(0.01, max_steps=5))
    assert fixed.status == "failed" and fixed.steps == 5
    assert "tolerances" not in fixed.message and "tolerances" in part.message
    for wrong, says in ((0, "at least 1"), (2.5, "whole"), ("many", "a number"), (10**30, "64 bits, or inf")):
        with pytest.raises(lw.SimulationError, match=f"max_steps is .*{says}"):
            lw.simulate(ARM, START, until=1.0, method=lw.RK45(max_steps=wrong))


@every_method
def test_a_timeout_stops_a_run_that_resume_finishes(method, tmp_path):
    """The rows are those of the run that was not stopped, also with a file in between."""
    how = {"method": method, "control": lambda t, q, v: -0.1 * v, **METHODS[method]}
    whole = lw.simulate(ARM, START, until=1.0, **how)
    part = lw.simulate(ARM, START, until=1.0, timeout=1e-6, **how)
    assert part.status == "stopped" and "timeout" in part.message and 0 < part.t[-1] < 1.0
    part.save(tmp_path / "part.npz")
    for run, functions in ((part, {}), (lw.Trajectory.load(tmp_path / "part.npz"), {"control": how["control"]})):
        rest = run.resume(until=1.0, timeout=None, **functions)
        assert rest.status == "finished"
        np.testing.assert_array_equal(rest.q, whole.q)
    with pytest.raises(lw.SimulationError, match="timeout is 0"):
        lw.simulate(ARM, START, until=1.0, timeout=0)
