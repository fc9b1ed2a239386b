"""Events: found, placed to rounding, noted, ending a run, or making the state jump."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import solids

g = 9.81
BALL = lw.Dynamics(lw.Builder("ball").body("ball", joint=lw.Prismatic(axis=(0, 0, 1)), **solids.point(1.0)).model())
PENDULUM = lw.Dynamics(lw.load("pendulum"))
METHODS = {"rk45": {}, "dop853": {}, "stiff": {}, "rk4": {"dt": 0.01}, "midpoint": {"dt": 0.01}}
every_method = pytest.mark.parametrize("method", METHODS)


def height(t, q, v):
    return q[0]


def bounce(e):
    return lw.Event(height, "floor", direction=-1, reset=lambda t, q, v: (q, -e * v))


@every_method
def test_a_falling_ball_meets_the_floor_on_time(method):
    """t = √(2 h / g), and the run ends there."""
    floor = lw.Event(height, "floor", terminal=True)
    run = lw.simulate(BALL, ([2.0], [0.0]), until=5.0, method=method, events=[floor], **METHODS[method])
    assert (run.status, run.message) == ("event", f't = {run.t[-1]:.9g} s: event "floor"')
    assert run.t[-1] == pytest.approx(np.sqrt(4 / g), abs=1e-9)
    assert run.q[-1] == pytest.approx(0, abs=1e-12)
    assert run.v[-1] == pytest.approx(-np.sqrt(4 * g), abs=1e-8)
    assert [event.name for event in run.events] == ["floor"]


@every_method
def test_a_bouncing_ball(method):
    """Bounce n comes after t₁ (1 + 2 e + ... + 2 eⁿ⁻¹), at e times the speed of the one before."""
    e, first = 0.7, np.sqrt(4 / g)
    run = lw.simulate(BALL, ([2.0], [0.0]), until=3.0, method=method, events=[bounce(e)], **METHODS[method])
    times = first * (1 + 2 * np.cumsum(np.concatenate([[0], e ** np.arange(1, 20)])))
    times = times[times < 3.0]
    assert run.status == "finished" and len(run.events) == len(times) >= 5
    np.testing.assert_allclose([event.t for event in run.events], times, atol=1e-7)
    np.testing.assert_allclose([event.v[0] for event in run.events], -first * g * e ** np.arange(len(times)), atol=1e-6)
    assert run.q.min() > -1e-9


@pytest.mark.parametrize("scale", [1e-250, 1.0, 1e250])
@pytest.mark.parametrize("power", [1, 3, 5])
@pytest.mark.parametrize("method", ["rk45", "dop853"])
def test_the_time_of_an_event_does_not_depend_on_the_size_of_its_function_nor_on_how_flat_it_is(scale, power, method):
    """s (z − 1/2)ᵖ as z falls from 2."""
    passes = lw.Event(lambda t, q, v: scale * (q[0] - 0.5) ** power, terminal=True)
    run = lw.simulate(BALL, ([2.0], [0.0]), until=1.0, method=method, events=[passes])
    assert run.status == "event" and run.t[-1] == pytest.approx(np.sqrt(3 / g), abs=1e-12)


def test_a_jump_has_a_row_before_and_a_row_after():
    run = lw.simulate(BALL, ([2.0], [0.0]), until=1.0, events=[bounce(0.5)])
    (i,) = np.flatnonzero(np.diff(run.t) == 0)
    assert run.v[i + 1] == -0.5 * run.v[i] and run.q[i + 1] == run.q[i]
    _, v = run(run.t[i])
    assert v == run.v[i + 1]
    before, _ = run(run.t[i] - 1e-9)
    assert before == pytest.approx(run.q[i], abs=1e-7)


def test_a_ball_that_bounces_for_ever_in_a_finite_time_is_told_so():
    """Bounces pile up at t₁ (1 + e)/(1 − e): the run ends there, says why, and keeps what came before."""
    run = lw.simulate(BALL, ([2.0], [0.0]), until=5.0, events=[bounce(0.5)])
    assert run.status == "failed" and "floor repeats at the same time" in run.message and "limits=True" in run.message
    assert run.t[-1] == pytest.approx(3 * np.sqrt(4 / g), abs=1e-6)
    assert np.isfinite(run.q).all()


def test_what_the_message_advises_holds_the_ball():
    """The joint has a limit where the event was: bounces end in rest, and the ball stays there."""
    joint = lw.Prismatic(axis=(0, 0, 1), lower=0.0)
    robot = lw.Dynamics(lw.Builder("ball").body("ball", joint=joint, **solids.point(1.0)).model())
    run = lw.simulate(robot, ([2.0], [0.0]), until=5.0, contact=lw.ContactLaw(limits=True, restitution=0.5))
    assert run.status == "finished" and run.q[-1] == 0 and run.v[-1] == 0 and run.q.min() >= -1e-12


def test_a_reset_to_rest_does_not_let_the_ball_fall_through_the_floor():
    """Nothing holds it there: the run says so, and what to do."""
    stop = lw.Event(height, "floor", direction=-1, reset=lambda t, q, v: (q, -0.5 * v if abs(v[0]) > 0.1 else 0 * v))
    run = lw.simulate(BALL, ([2.0], [0.0]), until=5.0, events=[stop])
    assert run.status == "failed" and "floor repeats at the same time" in run.message and "limits=True" in run.message
    assert run.q.min() > -1e-9


def test_a_reset_beyond_a_limit_is_a_failure_that_says_so():
    joint = lw.Prismatic(axis=(0, 0, 1), lower=0.0)
    robot = lw.Dynamics(lw.Builder("ball").body("ball", joint=joint, joint_name="rail", **solids.point(1.0)).model())
    event = lw.Event(lambda t, q, v: t - 0.1, "drop", reset=lambda t, q, v: (q - 5.0, v))
    run = lw.simulate(robot, ([2.0], [0.0]), until=1.0, limits=True, events=[event])
    assert run.status == "failed" and 'joint "rail" is set by the reset of event "drop" to -3.049' in run.message


@pytest.mark.parametrize("rate", [200.0, 1234.5])
@every_method
def test_events_much_faster_than_the_motion_are_all_found(method, rate):
    """sin(ω t) = 0 at t = k π/ω."""
    run = lw.simulate(PENDULUM, ([0.3], [0.0]), until=0.5, method=method, events=[lambda t, q, v: np.sin(rate * t)], **METHODS[method])
    times = np.arange(1, int(0.5 * rate / np.pi) + 1) * np.pi / rate
    assert run.message == ""
    np.testing.assert_allclose([event.t for event in run.events], times, atol=1e-12)


def test_events_that_may_be_missing_are_told():
    """One that is faster than all looks, unless it says how often to look."""

    def function(t, q, v):
        return np.sin(2e5 * t)

    run = lw.simulate(PENDULUM, ([0.3], [0.0]), until=0.3, rtol=1e-2, events=[lw.Event(function, "buzz")], method=lw.RK45(first_step=0.3))
    assert run.status == "finished" and 'events may be missing: "buzz" (from t = 0 s on)' in run.message
    run = lw.simulate(PENDULUM, ([0.3], [0.0]), until=0.01, events=[lw.Event(function, "buzz", resolution=1e-5)])
    assert run.message == "" and len(run.events) == int(0.01 * 2e5 / np.pi)


def test_a_visit_as_long_as_the_resolution_is_seen():
    """A pulse of 0.4 ms in a run whose steps are long, and one that jumps."""
    for pulse in (lambda t: 0.5 - np.exp(-(((t - 0.3) / 2.4e-4) ** 2)), lambda t: -1.0 if 0.3 < t < 0.3004 else 1.0):
        event = lw.Event(lambda t, q, v, pulse=pulse: pulse(t), "pulse", resolution=4e-4)
        run = lw.simulate(PENDULUM, ([0.3], [0.0]), until=0.5, events=[event])
        assert run.message == "" and len(run.events) == 2 and abs(run.events[0].t - 0.3) < 5e-4


def test_a_function_that_only_just_reaches_zero_is_seen():
    """(t − 0.2)² − 1e-6 within one step: two crossings 2 ms apart."""
    graze = lw.Event(lambda t, q, v: (t - 0.2) ** 2 - 1e-6, "graze")
    run = lw.simulate(BALL, ([2.0], [0.0]), until=0.5, method="rk4", dt=0.5, events=[graze])
    np.testing.assert_allclose([event.t for event in run.events], [0.199, 0.201], atol=1e-9)


def test_a_function_with_a_jump_is_an_event_and_nothing_is_missing():
    jump = lw.Event(lambda t, q, v: -1.0 if q[0] > 0.1 else 1.0, "jump")
    run = lw.simulate(PENDULUM, ([0.3], [0.0]), until=3.0, events=[jump])
    assert len(run.events) >= 2 and run.message == ""


def test_a_reset_need_not_turn_back():
    """A ball that dips into water loses half its speed there, once, and sinks on."""
    dip = lw.Event(height, "water", direction=-1, reset=lambda t, q, v: (q, v / 2))
    run = lw.simulate(BALL, ([2.0], [0.0]), until=2.0, events=[dip])
    t = 2.0 - np.sqrt(4 / g)
    assert run.status == "finished" and len(run.events) == 1
    np.testing.assert_allclose(run.q[-1], -np.sqrt(4 * g) / 2 * t - g * t * t / 2, atol=1e-9)


def test_an_event_that_is_only_noted_changes_nothing():
    """The lowest points of a pendulum, in both directions or in one."""
    start = [1.0], [0.0]
    plain = lw.simulate(PENDULUM, start, until=5.0)
    for direction in (-1, 0, 1):
        run = lw.simulate(PENDULUM, start, until=5.0, events=[lw.Event(height, "lowest", direction=direction)])
        np.testing.assert_array_equal(run.q[-1], plain.q[-1])
        signs = np.sign([event.v[0] for event in run.events])
        assert len(signs) > 2 and (signs == direction).all() if direction else len(set(signs)) == 2
        assert np.abs([event.q[0] for event in run.events]).max() < 1e-14
        assert set(run.t) > set(plain.t)


def test_rows_stay_in_order_whatever_is_noted():
    """Rows apart from the steps, and events among them."""
    run = lw.simulate(PENDULUM, ([1.0], [0.0]), until=5.0, dt=0.02, method="dop853", events=[lw.Event(height, "lowest")])
    assert len(run) == 251 + len(run.events) and (np.diff(run.t) > 0).all()
    np.testing.assert_allclose(run.energy, run.energy[0], atol=1e-4)


def test_two_events_in_one_step_come_in_order():
    marks = [lw.Event(lambda t, q, v, x=x: q[0] - x, f"at {x}") for x in (0.2, 1.4, 0.9)]
    run = lw.simulate(BALL, ([2.0], [0.0]), until=0.63, method="rk4", dt=0.63, events=marks)
    assert [event.name for event in run.events] == ["at 1.4", "at 0.9", "at 0.2"]
    np.testing.assert_allclose([event.t for event in run.events], np.sqrt(2 * (2 - np.array([1.4, 0.9, 0.2])) / g), atol=1e-12)


def test_a_short_visit_within_a_step_is_seen():
    """A ball thrown up passes a mark on its way up and on its way down, in a single step."""
    mark = lw.Event(lambda t, q, v: q[0] - 0.4, "mark")
    run = lw.simulate(BALL, ([0.0], [3.0]), until=0.6, method="rk4", dt=0.6, events=[mark])
    roots = np.roots([-g / 2, 3.0, -0.4])
    np.testing.assert_allclose([event.t for event in run.events], np.sort(roots), atol=1e-12)


def test_an_event_may_depend_on_time_alone():
    run = lw.simulate(PENDULUM, ([1.0], [0.0]), until=5.0, events=[lw.Event(lambda t, q, v: t - 1.25, "bell", terminal=True)])
    assert run.t[-1] == pytest.approx(1.25, abs=1e-14)


def test_a_plain_function_is_an_event():
    run = lw.simulate(PENDULUM, ([1.0], [0.0]), until=2.0, events=[height])
    assert {event.name for event in run.events} == {"height"}


def test_a_reset_may_move_the_attitude():
    """A satellite that is turned upside down at t = 1 goes on from there."""
    robot = lw.Dynamics(lw.load("free_body"))
    flip = lw.Event(lambda t, q, v: t - 1, "flip", reset=lambda t, q, v: (np.array([1.0, 0, 0, 0, 0, 0, 0]), 0 * v))
    run = lw.simulate(robot, (robot.neutral(), np.ones(6)), until=2.0, events=[flip])
    assert run.status == "finished"
    np.testing.assert_allclose(run.q[-1], [1, 0, 0, 0, 0, 0, -g / 2], atol=1e-9)


def test_a_reset_of_the_wrong_shape_is_a_failure_that_says_so():
    event = lw.Event(height, "floor", reset=lambda t, q, v: (q, 3.0))
    run = lw.simulate(BALL, ([2.0], [0.0]), until=5.0, events=[event])
    assert run.status == "failed"
    assert 'the reset of event "floor" returned q of shape (1,) and v of shape ()' in run.message


@pytest.mark.parametrize("wrong", [None, 3.0, lambda: 0])
def test_a_reset_that_returns_no_state_is_a_failure_that_says_so(wrong):
    run = lw.simulate(BALL, ([2.0], [0.0]), until=5.0, events=[lw.Event(height, "floor", reset=lambda t, q, v: wrong)])
    assert run.status == "failed" and 'the reset of event "floor" returned' in run.message and "a pair (q, v)" in run.message


NO_NUMBERS = {
    "None": None, "'up'": "up", "an array of shape (2,)": np.zeros(2), "True, which has no sign": True, "False, which": np.array([False])
}  # fmt: skip


@pytest.mark.parametrize("said", NO_NUMBERS)
def test_an_event_that_returns_no_number_is_refused(said):
    """Nor a truth, as of q > 0: from 0 to 1 nothing passes through zero."""
    with pytest.raises(lw.ShapeError) as error:
        lw.simulate(BALL, ([2.0], [0.0]), until=1.0, events=[lw.Event(lambda t, q, v: NO_NUMBERS[said], "odd")])
    assert str(error.value).startswith('event "odd" returned ') and said.strip() in str(error.value).replace("[", "").replace("]", "")


def test_an_event_may_return_an_array_of_one_number():
    run = lw.simulate(BALL, ([2.0], [0.0]), until=1.0, events=[lw.Event(lambda t, q, v: q, "floor", terminal=True)])
    assert run.status == "event" and run.t[-1] == pytest.approx(np.sqrt(4 / g), abs=1e-9)


def test_an_event_that_is_not_a_number_is_told_and_costs_no_more_than_others():
    """It has no sign, so that it does not occur where it is not a number."""
    calls = []

    def function(t, q, v):
        calls.append(t)
        return np.log(q[0]) if q[0] > 0 else np.nan

    run = lw.simulate(PENDULUM, ([1.2], [0.0]), until=1.0, events=[lw.Event(function, "log")])
    assert run.status == "finished" and '"log" (first at t = ' in run.message and "is not a number" in run.message
    assert not run.events or abs(run.events[0].q[0] - 1) < 1e-9
    assert len(calls) < 1000


ROUNDING = {
    "one": lambda t, q, v: np.sin(q[0]) ** 2 + np.cos(q[0]) ** 2 - 1,
    "saw": lambda t, q, v: (q[0] + 1e8) - 1e8 - q[0],
    "random": lambda t, q, v: np.sin(1e15 * t + 1e14 * q[0]),
}


@pytest.mark.parametrize("name", ROUNDING)
def test_an_event_that_is_rounding_ends_no_run_and_takes_no_hour(name):
    calls = []
    function = ROUNDING[name]
    event = lw.Event(lambda t, q, v: (calls.append(t), function(t, q, v))[1], name)
    run = lw.simulate(PENDULUM, ([1.2], [0.0]), until=1.0, events=[event])
    assert run.status == "finished" and len(calls) < 60_000 and (not run.events or "events may be missing" in run.message)


def test_no_fast_event_is_taken_for_a_slow_one():
    """sin(ω t + 0.1) with up to thousands of zeros in a step: samples that agree with a quartic by chance lose none."""
    for rate in (1533.3333333333335, 2007.6923076923078):
        event = lw.Event(lambda t, q, v, rate=rate: np.sin(rate * t + 0.1), "wave")
        run = lw.simulate(PENDULUM, ([1.2], [0.0]), until=1.0, events=[event])
        assert run.message == "" and len(run.events) == int((rate + 0.1) / np.pi)


@pytest.mark.parametrize("wrong", [{"resolution": "a"}, {"resolution": [1.0]}, {"resolution": -1.0}])
def test_a_resolution_that_is_no_time_is_refused(wrong):
    with pytest.raises(lw.SimulationError, match="it must be a positive number of seconds"):
        lw.Event(height, **wrong)


@pytest.mark.parametrize("name", ["dt", "rtol", "atol", "restitution", "every", "first_step", "max_step", "tolerance", "until", "start"])
def test_a_setting_that_is_no_number_is_refused(name):
    for wrong in ("a", [1.0]):
        with pytest.raises(lw.SimulationError, match=f"{name}|a run cannot go"):
            lw.simulate(BALL, ([2.0], [0.0]), **({"until": 1.0} | {name: wrong}))


@pytest.mark.parametrize("wrong", [{"function": 3}, {"function": height, "direction": 2}])
def test_an_event_that_is_none_is_refused(wrong):
    with pytest.raises(lw.SimulationError, match="it needs a function of"):
        lw.Event(**wrong)
    with pytest.raises(lw.SimulationError, match="events contains 3"):
        lw.simulate(BALL, ([2.0], [0.0]), until=5.0, events=[3])


def test_an_error_of_an_events_function_is_no_crossing():
    """Raised where its root is looked for, it ends the run with its own words."""

    def function(t, q, v):
        if abs(t - 0.5) < 1e-3:
            raise ValueError("no table for this time")
        return t - 0.5

    robot = lw.Dynamics(lw.load("pendulum"))
    run = lw.simulate(robot, (np.ones(1), np.zeros(1)), until=1.0, events=[lw.Event(function, "half", terminal=True)])
    assert run.status == "failed" and "no table for this time" in run.message and not run.events


@every_method
def test_resume_goes_on_past_a_terminal_event_to_the_next(method):
    """A pendulum stopped at each zero of its angle has the zeros of one that is only watched; each is told once."""
    of = METHODS[method]
    stop, watch = (lw.Event(lambda t, q, v: q[0], "zero", terminal=terminal) for terminal in (True, False))
    watched = lw.simulate(PENDULUM, ([1.0], [0.0]), until=2.0, method=method, events=[watch], **of)
    run, ends = lw.simulate(PENDULUM, ([1.0], [0.0]), until=2.0, method=method, events=[stop], **of), []
    while run.status == "event" and len(ends) < 9:
        ends.append(run.t[-1])
        run = run.resume(until=2.0, events=[stop])  # the same as without saying so
    assert run.status == "finished" and [event.t for event in run.events] == ends
    np.testing.assert_allclose(ends, [event.t for event in watched.events], atol=1e-3 if of else 1e-5)


def test_a_run_from_a_file_goes_on_past_its_terminal_event(tmp_path):
    """What the file does not hold is passed again."""
    stop = lw.Event(lambda t, q, v: q[0], "zero", terminal=True)
    run = lw.simulate(PENDULUM, ([1.0], [0.0]), until=2.0, events=[stop])
    run.save(tmp_path / "run.npz")
    again = lw.Trajectory.load(tmp_path / "run.npz").resume(until=2.0, events=[stop])
    np.testing.assert_array_equal(again.t, run.resume(until=2.0).t)
    assert again.t[-1] > run.t[-1] + 0.5


def test_one_event_and_an_unknown_option_of_resume_are_refused_in_words():
    """In place of the errors of Python."""
    with pytest.raises(lw.SimulationError, match=r"events is one Event; .* events=\[...\]"):
        lw.simulate(PENDULUM, ([1.0], [0.0]), until=0.1, events=lw.Event(height))
    with pytest.raises(lw.SimulationError, match=r'no option "metod"\. Did you mean "method"'):
        lw.simulate(PENDULUM, ([1.0], [0.0]), until=0.1).resume(until=0.2, metod="rk4")
