"""Event by event, errors of the steps in closed points are no impacts and no lifting off."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import solids


def rolling(restitution=0.0):
    made = lw.Builder("ball").body("ball", joint=lw.Free(), **solids.sphere(1.0, 0.1)).ground()
    robot = lw.Dynamics(made.contact("ball", friction=0.2, restitution=restitution).model(), compiled=False)
    q, v = robot.neutral(), np.zeros(6)
    q[6], v[3] = 0.1, 1.0
    return robot, (q, v)


def test_a_ball_that_slides_rolls_on_after_one_event():
    """t = 2 v / (7 μ g), then 5/7 of v."""
    robot, state = rolling(restitution=0.5)
    run = lw.simulate(robot, state, until=0.25)
    assert [x.name for x in run.events] == ["ball.0/ground.ground stops sliding"]
    assert run.events[0].t == pytest.approx(2 / (7 * 0.2 * 9.81), rel=1e-6)
    assert np.linalg.norm(run.v[-1, 3:]) == pytest.approx(5 / 7, rel=1e-6)


def test_a_reset_and_a_held_controller_leave_a_rolling_ball_on_the_ground():
    """A spin about the normal is no impact, and zero forces sampled anew are none either."""
    robot, state = rolling(restitution=0.5)

    def spin(t, q, v):
        R = robot.pose(q, "ball")[:3, :3]
        return q, v + np.concatenate([R.T @ [0, 0, 0.1], np.zeros(3)])

    event = lw.Event(lambda t, q, v: t - 0.2, name="spin", reset=spin)
    idle = lw.hold(lambda t, q, v: np.zeros(6), rate=37.0)
    run = lw.simulate(robot, state, until=0.25, events=[event], control=idle)
    assert [x.name for x in run.events] == ["ball.0/ground.ground stops sliding", "spin"]
    assert max(abs(robot.contact_gaps(x)[0]) for x in run.q) < 1e-7
