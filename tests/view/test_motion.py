"""A motion between its samples, and what can be looked at."""

import numpy as np
import pytest

import linkwork as lw


def test_between_samples_a_motion_follows_its_velocities(swing):
    t = np.linspace(0.0, 2.0, 301)
    between = swing.at(t)
    assert np.abs(between.q - np.stack([np.sin(t), np.cos(2 * t)], -1)).max() < 1e-5


def test_at_its_samples_a_motion_is_what_it_was_given(swing, tumble):
    for motion in (swing, tumble):
        assert np.allclose(motion.at(motion.t).q, motion.q, rtol=0, atol=1e-15)


def test_between_samples_attitudes_stay_on_the_group(tumble):
    q = tumble.at(np.linspace(0.0, 3.0, 200)).q
    assert np.abs(np.linalg.norm(q[:, :4], axis=1) - 1).max() < 1e-14


def test_between_samples_a_free_body_turns_evenly(tumble):
    """q = [sin t n; cos t] for a turn of 2t about n."""
    t = np.linspace(0.0, 3.0, 200)
    assert np.abs(tumble.at(t).q[:, 3] - np.cos(t)).max() < 1e-4


def test_between_samples_velocity_is_the_rate_of_the_way(swing):
    t = np.linspace(0.0, 2.0, 301)
    assert np.abs(swing.at(t).v - np.stack([np.cos(t), -2 * np.sin(2 * t)], -1)).max() < 1e-3


def test_a_time_that_comes_twice_is_a_jump():
    robot = lw.Dynamics(lw.load("pendulum"))
    motion = lw.Motion(robot, [0, 1, 1, 2], [[0.0], [1.0], [5.0], [6.0]], [[1.0], [1.0], [1.0], [1.0]])
    assert np.allclose(motion.at([0.999, 1.0, 1.5]).q[:, 0], [0.999, 5.0, 5.5])
    fine = motion.refined(11)
    assert np.array_equal(fine.q[fine.t == 1.0][:2, 0], [1.0, 5.0])
    assert (np.diff(fine.q[:, 0]) >= 0).all()


def test_a_model_and_a_robot_stand_still_in_the_neutral_configuration():
    model = lw.load("humanoid")
    for x in (model, lw.Dynamics(model)):
        motion = lw.Motion.of(x)
        assert motion.q.shape == (1, 26)
        assert np.array_equal(motion.q[0], lw.Dynamics(model).neutral())


def test_frames_are_even_and_end_with_the_motion(swing):
    frames = swing.frames(fps=10, speed=2.0)
    assert len(frames.t) == 11
    assert np.allclose(np.diff(frames.t), 0.2)
    assert frames.t[-1] == swing.t[-1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": np.zeros((3, 2))}, r"q has shape \(3, 2\); over 23 times of double_pendulum it has shape \(23, 2\)"),
        ({"v": np.zeros(23)}, r"v has shape \(23,\)"),
        ({"tau": np.zeros((23, 1))}, r"tau has shape \(23, 1\)"),
        ({"t": np.linspace(0, 1, 23)[::-1]}, "may not decrease"),
    ],
)
def test_numbers_that_are_no_motion_are_refused(swing, change, message):
    parts = {name: getattr(swing, name) for name in ("t", "q", "v", "tau")}
    with pytest.raises(lw.ShapeError, match=message):
        lw.Motion(swing.robot, **(parts | change))


def test_something_else_cannot_be_looked_at():
    with pytest.raises(lw.LinkworkError, match="a str cannot be shown"):
        lw.plot("panda.urdf")


def test_a_motion_without_velocities_says_that_it_needs_them():
    with pytest.raises(lw.ShapeError, match=r"v is None; a motion of planar_2r needs it, of shape \(3, 2\)"):
        lw.Motion(lw.Dynamics(lw.load("planar_2r")), np.arange(3.0), np.zeros((3, 2)), None)
