"""Ensembles whose joints strike limits, stick and slip, or whose events change the state: each sample is its single run, to the bit."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import solids


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
        np.testing.assert_array_equal(ends.q[i], alone.q[-1])
        np.testing.assert_array_equal(ends.v[i], alone.v[-1])
        assert (ends.steps[i], ends.status[i]) == (alone.steps, alone.status)
        for x, y in zip(steps.rows(i), (alone.t, alone.q, alone.v), strict=True):
            np.testing.assert_array_equal(x, y)
        for event, found in ends.events.items():
            times = [x.t for x in alone.events if x.name == event]
            assert found.count[i] == len(times) and (not times or found.first[i] == times[0])
        np.testing.assert_array_equal(grid.Q[i][-1], lw.simulate(robot, (Q[i], V[i]), until=1.5, dt=0.5, **how).q[-1])
    assert grid.Q.shape == (2, 2, 4, 1) and not np.isnan(grid.Q).any()
    assert name == "dry friction" or ends.events


def test_a_sample_that_cannot_start_fails_alone():
    """One beyond its limit, one that is no number; a batch of none; and what does not go on says so."""
    robot, how = CASES["limits"]
    made = lw.simulate(robot, (np.array([[-2.0], [0.0], [np.nan]]), np.zeros((3, 1))), until=0.3, save="last", **how)
    assert made.status.tolist() == ["failed", "finished", "failed"] and "limit" in made.message(0) and "not finite" in made.message(2)
    assert lw.simulate(robot, (np.zeros((0, 1)), np.zeros((0, 1))), until=0.3, **how).q.shape == (0, 1)
    with pytest.raises(lw.LinkworkError, match="limit"):
        lw.simulate(robot, (np.array([[-2.0]]), np.zeros((1, 1))), until=0.3, **how)
    with pytest.raises(lw.SimulationError, match="does not go on"):
        made.resume(1.0)
    with pytest.raises(lw.SimulationError, match="constants that vary"):
        lw.simulate(robot.varying("mass"), (np.zeros((2, 1)), np.zeros((2, 1))), until=0.3, **how)
    for more, said in (({"save": lw.Save(statistics={"a": 1})}, "statistics"), ({"given": {"a": 1.0}}, "given=")):
        with pytest.raises(lw.SimulationError, match=f"an ensemble of single runs .* takes no {said}"):
            lw.simulate(robot, (np.zeros((2, 1)), np.zeros((2, 1))), until=0.3, **how, **more)


def test_friction_that_varies_is_refused():
    """A joint that sticks makes steps of a discontinuous force ever shorter: an ensemble with such a constant would not end."""
    free = rail().varying("friction")
    with pytest.raises(lw.SimulationError, match='"friction" that varies'):
        lw.simulate(free, (np.zeros((2, 1)), np.ones((2, 1))), until=1.0, given={"friction": np.array([[12.0], [5.0]])})


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
