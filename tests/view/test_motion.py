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


def test_an_ensemble_or_a_rollout_is_many_motions_and_one_of_them_can_be_shown():
    """Samples are not rows in time: they are refused with the words that show one of them."""
    robot = lw.Dynamics(lw.load("double_pendulum"))
    Q, V = np.zeros((3, 2)), np.ones((3, 2))
    many = lw.simulate(robot, (Q, V), until=0.1, dt=0.05)
    with pytest.raises(lw.LinkworkError, match=r"of 3 samples: show one of them, lw.Motion\(ensemble.robot, \*ensemble.rows\(0\)\)"):
        lw.plot(many, "q")
    assert len(lw.plot(lw.Motion(many.robot, *many.rows(1)), "q").axes) == 1
    run = lw.rollout(robot, Q, V, dt=0.01, steps=4)
    with pytest.raises(lw.LinkworkError, match="show one of them"):
        lw.snapshot(run)
    assert lw.Motion(robot, run.t, run.q[0], run.v[0]).duration > 0


@pytest.mark.parametrize("show", ["snapshot", "record", "movie", "view"])
def test_states_that_are_no_numbers_are_not_drawn(show, swing, tmp_path):
    q = swing.q.copy()
    q[5] = np.nan
    broken = lw.Motion(swing.robot, swing.t, q, swing.v)
    more = {"record": {"path": tmp_path / "x.html"}, "movie": {"path": tmp_path / "x.gif"}, "view": {"port": 0, "block": False}}
    with pytest.raises(lw.LinkworkError, match=r"not finite at t = 0.45\d* s \(row 5\)"):
        getattr(lw, show)(broken, **more.get(show, {}))
    assert len(lw.plot(broken, "q", "energy").axes) == 2  # a gap in the lines


def test_a_motion_is_that_of_a_robot_and_made_of_numbers(swing):
    with pytest.raises(lw.LinkworkError, match="a Motion is that of a robot"):
        lw.Motion(None, [0.0], np.zeros((1, 2)), np.zeros((1, 2)))
    with pytest.raises(lw.ShapeError, match="t of a Motion of double_pendulum is no array of numbers"):
        lw.Motion(swing.robot, ["a"], np.zeros((1, 2)), np.zeros((1, 2)))


def test_times_of_a_motion_are_finite(swing):
    with pytest.raises(lw.ShapeError, match=r"t of a Motion .* not finite"):
        lw.Motion(swing.robot, [0.0, np.nan], np.zeros((2, 2)), np.zeros((2, 2)))


WRONG = [
    ("snapshot", {"size": (0, 1)}), ("snapshot", {"size": 3}), ("snapshot", {"dpi": 0}), ("snapshot", {"dpi": 1e9}),
    ("snapshot", {"azimuth": np.nan}), ("snapshot", {"trace": 3}), ("snapshot", {"t": []}), ("movie", {"fps": 0}), ("movie", {"speed": -1}),
    ("movie", {"speed": 1e-9}), ("record", {"fps": np.nan}), ("plot", {"joints": 3}), ("plot", {"path": 3}),
    ("plot", {"path": "no/such/folder.png"}), ("record", {"path": "no/such/page.html"}), ("movie", {"path": "no/such/film.gif"}),
]  # fmt: skip


@pytest.mark.parametrize(("show", "option"), WRONG)
def test_options_of_pictures_that_make_no_picture_are_refused_by_name(show, option, swing, tmp_path):
    options = {"movie": {"path": tmp_path / "x.gif"}, "record": {"path": tmp_path / "x.html"}}.get(show, {}) | option
    with pytest.raises(lw.OptionError, match=rf"{next(iter(option))}|speed"):
        getattr(lw, show)(swing, **options)
    assert not list(tmp_path.iterdir())


def test_what_has_no_body_is_not_drawn_and_what_does_not_move_is(tmp_path):
    with pytest.raises(lw.LinkworkError, match="nothing has no body"):
        lw.snapshot(lw.Builder("nothing").model())
    rock = lw.Dynamics(lw.Builder("rock").body("b", mass=1.0, tensor=(1, 1, 1)).model(), compiled=False)
    lw.record(lw.Motion(rock, [1.0, 1.0], np.zeros((2, 0)), np.zeros((2, 0))), tmp_path / "rock.html")


def test_long_names_and_many_lines_leave_room_for_the_plot(recwarn):
    b = lw.Builder("m" * 300).body("b", joint=lw.Revolute(), joint_name="$_j^{" * 60, mass=1.0, center=(1, 0, 0), tensor=(1, 1, 1))
    for figure in (lw.plot(b.model(), "q"), lw.plot(lw.load("chain:120"), "q"), lw.plot_tree(b.model())):
        figure.canvas.draw()
    assert not recwarn.list
    assert lw.plot(lw.load("chain:120"), "q").axes[0].get_legend().get_title().get_text() == "42 of 120"
    assert lw.plot_tree(lw.load("humanoid")).axes[0].get_title(loc="left").endswith(" degrees of freedom, 72 kg")
    with pytest.raises(lw.LinkworkError, match="a list cannot be shown"):
        lw.plot_tree([1])
