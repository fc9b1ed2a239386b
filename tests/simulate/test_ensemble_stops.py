"""Ensembles whose joints strike limits, stick and slip, or whose events change the state: each sample is its single run, to the bit."""

import sys
from dataclasses import replace
from pathlib import Path

import grid
import numpy as np
import pytest
from test_guarded_steps import arm

import linkwork as lw
from linkwork.model import solids

sys.path.append(str(Path(__file__).parents[1] / "engine"))
import stand_in


def rail(**more):
    joint = lw.Prismatic(axis=(0, 0, 1), **more)
    return lw.Dynamics(lw.Builder("ball").body("ball", joint=joint, joint_name="rail", **solids.point(1.0)).model())


CASES = {
    "limits": (rail(lower=-1.0), {"contact": lw.ContactLaw(limits=True, restitution=0.6)}),
    "dry friction": (rail(friction=12.0), {}),
    "reset": (rail(), {"events": [lw.Event(lambda t, q, v: q[0] + 0.5, "floor", direction=-1, reset=lambda t, q, v: (q, -0.5 * v))]}),
}


@pytest.mark.parametrize("name", CASES)
def test_each_sample_is_its_single_run(name):
    """Ends, rows at all steps and at multiples of dt, events; a batch (2, 2)."""
    robot, how = CASES[name]
    Q, V = np.zeros((2, 2, 1)), np.array([0.0, 0.5, 1.0, -1.0]).reshape(2, 2, 1)
    stored = {"save": "last"}, {"save": "steps"}, {"dt": 0.5}
    ends, steps, grid = (lw.simulate(robot, (Q, V), until=1.5, **how, **more) for more in stored)
    for i in np.ndindex(2, 2):
        alone = lw.simulate(robot, (Q[i], V[i]), until=1.5, **how)
        np.testing.assert_array_equal(ends.end.q[i], alone.q[-1])
        np.testing.assert_array_equal(ends.end.v[i], alone.v[-1])
        assert (ends.steps[i], ends.status[i]) == (alone.steps, alone.status)
        for x, y in zip(steps.rows(i), (alone.t, alone.q, alone.v), strict=True):
            np.testing.assert_array_equal(x, y)
        for event, found in ends.events.items():
            times = [x.t for x in alone.events if x.name == event]
            assert found.count[i] == len(times) and (not times or found.first[i] == times[0])
        np.testing.assert_array_equal(grid.q[i][-1], lw.simulate(robot, (Q[i], V[i]), until=1.5, dt=0.5, **how).q[-1])
    assert grid.q.shape == (2, 2, 4, 1) and not np.isnan(grid.q).any()
    assert name == "dry friction" or ends.events


def test_a_sample_that_cannot_start_fails_alone():
    """One beyond its limit, one that is no number; a batch of none; and what does not go on says so."""
    robot, how = CASES["limits"]
    made = lw.simulate(robot, (np.array([[-2.0], [0.0], [np.nan]]), np.zeros((3, 1))), until=0.3, save="last", **how)
    assert made.status.tolist() == ["failed", "finished", "failed"] and "limit" in made.message(0) and "not finite" in made.message(2)
    assert lw.simulate(robot, (np.zeros((0, 1)), np.zeros((0, 1))), until=0.3, **how).end.q.shape == (0, 1)
    with pytest.raises(lw.LinkworkError, match="limit"):
        lw.simulate(robot, (np.array([[-2.0]]), np.zeros((1, 1))), until=0.3, **how)


ARM = arm(friction=0.5, lower=-0.3, upper=0.4)
LAW = {"contact": lw.ContactLaw(limits=True, restitution=0.7)}
BOUNCE = {"direction": -1, "reset": lambda t, q, v: (q, -0.8 * v), "resolution": 0.05}
WALL = {"events": [lw.Event(ARM.kernel()(lambda q: q[0] + 0.1), "wall", **BOUNCE)]}
ASKED = {
    "all that happens": LAW | WALL,
    "a held control": LAW | {"control": lw.hold(lambda t, q, v: -0.3 * q, rate=20.0)},
    "a control in Python": LAW | {"control": lambda t, q, v: -0.3 * q},
    "a wrench in Python": LAW | {"external": lambda t, q, v: np.zeros((*q.shape[:-1], 2, 6)) + 0.1 * q[..., :1, None]},
    "an event in Python": {"events": [lw.Event(lambda t, q, v: q[1] - 0.2, "high")]},
    "dop853": LAW | {"method": "dop853"},
    "stiff": LAW | {"method": "stiff"},
    "radau": LAW | {"method": "radau"},
}
Q = np.random.default_rng(0).uniform(-0.25, 0.35, (5, 2))
V = np.random.default_rng(1).uniform(-1.5, 1.5, (5, 2))


@pytest.mark.parametrize("name", ASKED)
def test_samples_that_leave_their_steps_are_their_single_runs(name):
    """An arm with limits and dry friction: to the bit, rows too; also when the ensemble goes on."""
    how = ASKED[name]
    many, part = lw.simulate(ARM, (Q, V), until=1.0, save="steps", **how), lw.simulate(ARM, (Q, V), until=0.4, **how)
    later = part.resume(1.0)
    for i in range(0, 5, 2):
        alone = lw.simulate(ARM, (Q[i], V[i]), until=1.0, **how)
        assert (many.steps[i], many.rejected[i], many.status[i]) == (alone.steps, alone.rejected, alone.status)
        for x, y in zip(many.rows(i), (alone.t, alone.q, alone.v), strict=True):
            np.testing.assert_array_equal(x, y)
        again = lw.simulate(ARM, (Q[i], V[i]), until=0.4, **how).resume(1.0)
        np.testing.assert_array_equal(later.end.q[i], again.q[-1])
        for event, times in later.events.items():
            assert times.count[i] == sum(x.name == event for x in again.events)
    np.testing.assert_array_equal(part.resume(1.0).end.v, later.end.v)


def test_constants_and_friction_vary_where_joints_stick():
    """Each sample with its own masses and friction is the motion of the model that has them; those of the model give its motion."""
    varying = ARM.varying("mass", "friction")
    factors = np.array([1.0, 2.0, 0.5, 1.3, 1.0])
    rub = np.array([1.0, 0.0, 3.0, 0.5, 1.0])
    constants = {name: x[:, None] * varying.value(name) for name, x in (("mass", factors), ("friction", rub))}
    many = lw.simulate(varying, (Q, V), until=1.0, given=constants, rtol=1e-9, save="last", **LAW)
    for i in (0, 2):
        model = arm(friction=0.5 * rub[i], name=f"arm{i}", lower=-0.3, upper=0.4).model
        model = replace(model, bodies=tuple(replace(x, mass=factors[i] * x.mass) for x in model.bodies))
        alone = lw.simulate(lw.Dynamics(model), (Q[i], V[i]), until=1.0, rtol=1e-9, **LAW)
        np.testing.assert_allclose(many.end.q[i], alone.q[-1], atol=1e-7)
    free, friction = rail().varying("friction"), np.array([[12.0], [5.0]])
    slides = lw.simulate(free, (np.zeros((2, 1)), np.ones((2, 1))), until=1.0, given={"friction": friction}, save="last")
    assert slides.end.v[0] == 0.0 and slides.end.q[0] == pytest.approx(1 / (2 * (9.81 + 12.0))) and slides.end.v[1] < -1.0


def test_statistics_know_what_happens_between_steps():
    """Extreme values and means of the speed of a ball that bounces: before and after each impact."""
    ball, how = CASES["limits"]
    speed = ball.kernel()(lambda v: v[0])
    many = lw.simulate(ball, (np.zeros((2, 1)), np.array([[0.0], [1.0]])), until=1.5, save=lw.Save(statistics={"speed": speed}), **how)
    for i, v in enumerate((0.0, 1.0)):
        run, found = lw.simulate(ball, ([0.0], [v]), until=1.5, **how), many.statistics["speed"]
        assert (found.least[i], found.greatest[i], found.last[i]) == pytest.approx((run.v.min(), run.v.max(), run.v[-1, 0]), abs=1e-12)
        assert found.mean[i] == pytest.approx((run.q[-1, 0] - run.q[0, 0]) / 1.5, abs=1e-9)


def test_kernels_of_what_is_given_are_controls_and_events():
    """A gain and a place of the wall for each sample."""
    gain = ARM.kernel(gain=())(lambda v, gain: -gain * v)
    wall = lw.Event(ARM.kernel(place=())(lambda q, place: q[0] - place), "wall", reset=lambda t, q, v: (q, -v))
    constants = {"gain": np.linspace(0.1, 0.5, 5), "place": np.linspace(-0.1, 0.1, 5)}
    many = lw.simulate(ARM, (Q, V), until=1.0, control=gain, events=[wall], given=constants, save="last")
    alone = {"control": ARM.kernel()(lambda v: -0.5 * v), "events": [replace(wall, function=ARM.kernel()(lambda q: q[0] - 0.1))]}
    run = lw.simulate(ARM, (Q[4], V[4]), until=1.0, **alone)
    np.testing.assert_allclose(many.end.q[4], run.q[-1], atol=1e-12)
    assert many.events["wall"].count[4] == len(run.events)


def test_contacts_event_by_event_go_in_batches():
    """Balls that bounce on the ground are their single runs."""
    case = grid.case("ball")
    heights = case.q + np.array([[0.0], [0.1], [0.3]]) * np.eye(len(case.q))[1]
    many = lw.simulate(case.robot, (heights, np.stack([case.v] * 3)), until=0.5)
    for i, q in enumerate(heights):
        alone = lw.simulate(case.robot, (q, case.v), until=0.5)
        for x, y in zip(many.rows(i), (alone.t, alone.q, alone.v), strict=True):
            np.testing.assert_array_equal(x, y)
    assert sum(x.count.sum() for x in many.events.values()) > 3


def test_a_timeout_leaves_samples_that_go_on():
    """Those that are not done are as they began, and go on to the motion that was not stopped."""
    calls = []

    def slow(t, q, v):
        calls.append(t)
        return -0.1 * v

    part = lw.simulate(ARM, (Q, V), until=1.0, control=slow, timeout=0.05, save="last", **LAW)
    assert (part.status == "stopped").any() and (part.end.t[part.status == "stopped"] == 0).all()
    np.testing.assert_array_equal(part.resume().end.q, lw.simulate(ARM, (Q, V), until=1.0, control=slow, save="last", **LAW).end.q)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_samples_on_a_gpu_are_settled_on_the_host(dtype, monkeypatch):
    """Limits, friction and resets there are those of the CPU; in float32 to its rounding."""
    cupy = stand_in.install(monkeypatch)
    near = {"rtol": 1e-5, "atol": 1e-6} if dtype is np.float32 else {}
    here = lw.simulate(ARM, (Q, V), until=0.6, dt=0.2, **LAW, **WALL, **near)
    there = lw.simulate(ARM, (cupy.asarray(Q, dtype), cupy.asarray(V, dtype)), until=0.6, dt=0.2, **LAW, **WALL, **near)
    assert there.end.q.dtype == dtype and there.status.tolist() == here.status.tolist()
    np.testing.assert_allclose(np.asarray(there.q), here.q, atol=1e-4 if near else 0.0)
    assert {name: x.count.tolist() for name, x in there.events.items()} == {name: x.count.tolist() for name, x in here.events.items()}


@pytest.mark.parametrize("stored", [{}, {"dt": 0.05}, {"limits": True}])
def test_an_index_that_is_no_sample_is_refused(stored):
    """A batch (2, 3) has samples (i, j): no 0, no (5, 5), no text."""
    many = lw.simulate(rail(lower=-9.0), (np.zeros((2, 3, 1)), np.zeros((2, 3, 1))), until=0.1, **stored)
    assert many.rows((1, 2))[1].shape[1] == 1 and many.message((1, 2)).startswith("finished")
    for ask in (many.rows, many.message):
        for index in (0, (5, 5), "a"):
            with pytest.raises(lw.ShapeError, match=r"no index of one sample of a batch of shape \(2, 3\)"):
                ask(index)


def test_a_batch_of_what_cannot_move_is_refused():
    still = lw.Dynamics(lw.Builder("still").body("base", mass=1.0).model())
    with pytest.raises(lw.SimulationError, match="nothing to simulate"):
        lw.simulate(still, (np.zeros((3, 0)), np.zeros((3, 0))), until=1.0)
