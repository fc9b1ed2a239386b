"""Plots are labelled, and show the numbers they were given."""

import numpy as np
import pytest

import linkwork as lw


def lines(axes):
    return {line.get_label(): line.get_data() for line in axes.get_lines()}


def test_a_plot_shows_coordinates_over_time_with_joint_names_and_units(swing):
    (axes,) = lw.plot(swing, "q").axes
    assert axes.get_ylabel() == "q [rad]"
    assert axes.get_xlabel() == "t [s]"
    shown = lines(axes)
    assert list(shown) == ["joint1", "joint2"]
    t, q = shown["joint2"]
    assert np.allclose(q, np.cos(2 * t), atol=1e-4)
    assert np.isin(swing.t, t).all()


def test_what_turns_and_what_slides_get_frames_of_their_own():
    robot = lw.Dynamics(lw.load("cartpole"))
    motion = lw.Motion(robot, [0, 1], np.zeros((2, 2)), np.ones((2, 2)))
    assert [axes.get_ylabel() for axes in lw.plot(motion, "v").axes] == ["v [m/s]", "v [rad/s]"]


def test_total_energy_is_the_sum_of_kinetic_and_potential(swing):
    (axes,) = lw.plot(swing, "energy").axes
    shown = lines(axes)
    assert np.allclose(shown["total"][1], shown["kinetic"][1] + shown["potential"][1])
    assert np.allclose(shown["kinetic"][1], swing.robot.kinetic_energy(swing.q, swing.v))


def test_a_phase_portrait_is_velocity_against_coordinate(swing):
    (axes,) = lw.plot_phase(swing, "joint2").axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("q [rad]", "v [rad/s]")
    q, v = lines(axes)["joint2"]
    assert np.allclose(4 * q**2 + v**2, 4, atol=0.01)


def test_all_panels_go_in_one_figure_that_can_be_written(swing, tmp_path):
    figure = lw.plot(swing, "q", "v", "tau", "energy", "drift", "momentum", "com", "phase", path=tmp_path / "all.png")
    assert len(figure.axes) == 9
    assert (tmp_path / "all.png").stat().st_size > 10_000


def test_joints_can_be_picked_and_a_compound_one_stands_for_its_parts():
    model = lw.load("humanoid")
    (axes,) = lw.plot(model, "v", joints=["left_hip"]).axes
    assert list(lines(axes)) == ["left_hip_yaw", "left_hip_roll", "left_hip_pitch"]


@pytest.mark.parametrize(
    ("what", "options", "message"),
    [
        ("enrgy", {}, 'no plot "enrgy". Did you mean "energy"?'),
        ("q", {"joints": ["joint3"]}, 'no joint "joint3"'),
    ],
)
def test_an_unknown_name_is_said(swing, what, options, message):
    with pytest.raises(lw.UnknownNameError, match=message.replace("?", r"\?")):
        lw.plot(swing, what, **options)


def test_forces_that_are_not_known_cannot_be_plotted(tumble):
    with pytest.raises(lw.LinkworkError, match="has no tau"):
        lw.plot(tumble, "tau")


def test_a_picture_of_a_tree_names_every_body_and_moving_joint(tmp_path):
    model = lw.load("humanoid")
    figure = lw.plot_tree(model, path=tmp_path / "tree.png")
    said = {text.get_text() for text in figure.axes[0].texts}
    assert {body.name for body in model.bodies} <= said
    assert {f"{h.name}: {h.joint.kind}" for h in model.joints if h.joint.nv} <= said
    assert (tmp_path / "tree.png").exists()


def test_a_tree_that_is_too_large_to_read_is_refused():
    with pytest.raises(lw.LinkworkError, match="chain_300 has 300 bodies"):
        lw.plot_tree(lw.load("chain:300"))


def test_a_simulated_run_can_be_plotted(tmp_path):
    robot = lw.Dynamics(lw.load("pendulum"))
    run = lw.simulate(robot, (np.array([1.0]), np.zeros(1)), until=1.0)
    assert len(lw.plot(run, "q", "v", "tau", "energy").axes) == 4
