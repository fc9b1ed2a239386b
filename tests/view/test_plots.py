"""Plots are labelled, and show the numbers they were given."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.view.labels import labels


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


def test_modal_coordinates_have_names_and_units_of_their_own(bending_cart):
    """Mass-orthonormal: ½ η̇² is an energy, so that η is in m √kg and its force in N/√kg."""
    titles = [axes.get_ylabel() for axes in lw.plot(bending_cart, "q", "v", "tau").axes]
    assert titles[:3] == ["q [m]", "q [rad]", "q [m √kg]"]
    assert titles[3:] == ["v [m/s]", "v [rad/s]", "v [m √kg/s]", "tau [N]", "tau [N m]", "tau [N/√kg]"]
    (axes,) = lw.plot(bending_cart, "q", joints=["bar_modes"]).axes
    assert list(lines(axes)) == ["bar_modes η1", "bar_modes η2"]


def test_modes_of_your_own_have_a_unit_of_their_own():
    """Shapes that are not mass-orthonormal: only the user knows what a coordinate of one means."""
    mesh = lw.flexible.BeamElements(np.linspace(0, 1, 5), lw.sections.rectangle(0.02, 0.01, lw.sections.STEEL))
    normal = lw.FlexibleBody.of_matrices(mesh.M, mesh.K, mesh.positions, root=0, count=1)
    shape = np.zeros((mesh.M.shape[0], 1))
    shape[1::6, 0], shape[4::6, 0] = 2 * mesh.positions[:, 0], mesh.positions[:, 0] ** 2
    own = lw.FlexibleBody.of_matrices(mesh.M, mesh.K, mesh.positions, root=0, modes=shape)
    unit = lambda body: [x.unit for x in labels(lw.Builder("b").flexible("bar", body).model(), "tau")]
    assert (unit(normal), unit(own)) == (["N/√kg"], ["J/modal"])


def test_a_phase_portrait_has_modes_and_all_whose_velocities_are_rates(bending_cart):
    titles = [(axes.get_xlabel(), axes.get_ylabel()) for axes in lw.plot_phase(bending_cart).axes]
    assert titles == [("q [m]", "v [m/s]"), ("q [rad]", "v [rad/s]"), ("q [m √kg]", "v [m √kg/s]")]
    with pytest.raises(lw.LinkworkError, match="rates of its coordinates"):
        lw.plot_phase(lw.load("free_body"))


def test_figures_are_not_in_pyplot_and_a_notebook_shows_the_result_by_itself(swing):
    """Fifty plots, no warning of open figures; a figure has the picture that IPython asks for."""
    import matplotlib.pyplot as plt

    for _ in range(25):
        figures = lw.plot(swing, "energy"), lw.plot_tree(swing.robot)
    assert not plt.get_fignums()
    assert all(figure._repr_png_().startswith(b"\x89PNG") for figure in figures)
