"""What a user may ask wrongly, or twice, of contacts: it acts, or it is refused by name."""

import numpy as np
import pytest
from scenes import ball, placed

import linkwork as lw
from linkwork.model import solids

SOLID = solids.sphere(1.0, 0.1)


def made(**solid):
    return lw.Builder("thing").body("ball", joint=lw.Free(), **(solid or SOLID))


def test_a_contact_named_again_with_a_material_has_that_material():
    twice = made().ground().contact("ball").contact("ball", friction=0.1).model()
    assert lw.Dynamics(twice).contacts.friction == [0.1]
    again = twice.with_contacts(["ball"], material=lw.Material(friction=0.2))
    assert lw.Dynamics(again).contacts.friction == [0.2]
    assert lw.Dynamics(again.with_contacts("ground")).contacts.friction == [0.2]  # without a material it keeps its own


def test_contacts_of_a_model_without_shapes_are_refused():
    with pytest.raises(lw.ModelError, match="no collision shapes"):
        lw.Builder("bare").body("point", joint=lw.Free(), mass=1.0, tensor=(1, 1, 1)).model().with_contacts("ground")


def test_method_contact_without_contacts_is_refused():
    """Also where joints have dry friction, which is no contact; the error says what could touch, as notes and print do."""
    shape, rough = lw.Shape("sphere", (0.1,)), lw.Prismatic(axis=(0, 0, 1), friction=0.5)
    off = lw.Builder("thing").body("ball", joint=rough, mass=1.0, tensor=(1, 1, 1), collisions=[shape]).model()
    robot = lw.Dynamics(off)
    said = r"thing has no contacts.*contacts are off: thing has collision shapes \(1 sphere\) of ball\. Let them touch with load"
    for call in (
        lambda: lw.simulate(robot, ([1.0], [0.0]), until=0.1, method="contact", dt=0.01),
        lambda: lw.rollout(robot, np.ones((1, 1)), np.zeros((1, 1)), dt=0.01, steps=1, method="contact"),
        lambda: lw.contact_kernel(robot, dt=0.01),
    ):
        with pytest.raises(lw.SimulationError, match=said):
            call()
    assert "contacts are off" in str(off) and "contacts are off" in str(robot) and "contacts are off" in off._repr_html_()
    assert "contacts are off" not in str(off.with_contacts("ground"))
    robot = lw.Dynamics(made().model(), compiled=False)
    with pytest.raises(lw.SimulationError, match="thing has no contacts"):
        lw.simulate(robot, (robot.neutral(), np.zeros(6)), until=0.1, method="contact", dt=0.01)


def test_grounds_have_names():
    """name= is that of the shape too; two grounds of one name are told to take others."""
    step = lw.Builder("b").ground(shape=lw.Shape("box", (1.0, 1.0, 0.1)), name="step").model()
    assert step.ground[0].name == "step"
    with pytest.raises(lw.ModelError, match="shape of ground \"floor\" is 'box'; it takes a Shape"):
        made().ground(shape="box", name="floor")
    with pytest.raises(lw.ModelError, match=r'two grounds called "ground"; give each its own name, as in ground.*name="step"'):
        made().ground().ground(1.0).contact("ball").model()


def test_a_body_without_mass_is_named_by_method_contact():
    robot = lw.Dynamics(made(**solids.sphere(0.0, 0.1)).ground().contact("ball").model())
    with pytest.raises(lw.ModelError, match='joint "ball_joint" moves nothing that has inertia'):
        lw.simulate(robot, (robot.neutral(), np.zeros(6)), until=0.1, method="contact", dt=0.01)


def test_a_rollout_that_leaves_out_contacts_names_the_method_that_knows_them():
    robot = ball()
    Q, V = placed(robot, z=1.0)[None], np.zeros((1, 6))
    with pytest.raises(lw.SimulationError, match='Use method="contact"'):
        lw.rollout(robot, Q, V, dt=0.01, steps=1)
    with pytest.raises(lw.SimulationError, match="it takes euler, rk4, contact"):
        lw.rollout(robot, Q, V, dt=0.01, steps=1, method="contakt")


@pytest.mark.parametrize("friction", [-1.0, np.nan])
def test_friction_of_samples_that_is_negative_or_no_number_is_refused(friction):
    robot = ball()
    Q, V = placed(robot, z=1.0)[None], np.zeros((1, 6))
    with pytest.raises(lw.SimulationError, match=f"is {friction:g} in some sample"):
        lw.rollout(robot, Q, V, dt=0.01, steps=1, method="contact", given={"contact_friction": [[friction]]})


def test_accelerations_that_are_no_numbers_have_not_converged():
    robot = ball()
    found = robot.contact_dynamics(placed(robot, z=1.0), np.full(6, np.nan), np.zeros(6))
    assert not found.converged and np.isnan(found.force).all()


def test_contact_dynamics_of_a_compliant_contact_is_refused():
    """At gap 0 the force of its spring is 0, not the weight."""
    robot = lw.Dynamics(made().ground().contact("ball", compliance=1e-4).model(), compiled=False)
    with pytest.raises(lw.ModelError, match="is compliant"):
        robot.contact_dynamics(placed(robot, z=0.1), np.zeros(6), np.zeros(6))


def test_a_run_event_by_event_does_not_start_with_shapes_in_each_other():
    robot = ball()
    state = placed(robot, z=0.05), np.zeros(6)
    with pytest.raises(lw.SimulationError, match=r"in each other by 0\.05 m"):
        lw.simulate(robot, state, until=0.1)
    run = lw.simulate(robot, state, until=1.0, method="contact", dt=0.005)
    assert abs(run.q[-1, 6] - 0.1) < 1e-9 and run.v.max() <= 0.1 + 1e-12


def test_a_saved_run_has_its_contacts(tmp_path):
    robot = ball()
    run = lw.simulate(robot, (placed(robot, z=0.11), np.zeros(6)), until=0.1, method="contact", dt=0.01)
    run.save(tmp_path / "run.npz")
    for one, other in zip(run.contact, lw.Trajectory.load(tmp_path / "run.npz").contact):
        assert np.array_equal(one, other)


def test_the_contacts_of_a_run_are_drawn_as_they_are():
    """The arrow of a ball at rest is its weight, half as long as the mechanism."""
    from linkwork.view.contacts import at_times

    robot = ball()
    run = lw.simulate(robot, (placed(robot, z=0.1), np.zeros(6)), until=0.1, method="contact", dt=0.01, save=lw.Save(every=3))
    assert np.allclose(at_times(run, run.contact, run.t), [9.81, 0, 0])
    with pytest.raises(lw.ShapeError, match=r"contacts=run\.contact"):
        at_times(run, run.contact.force[:-1], run.t)


def test_linearize_does_not_forget_contacts():
    robot = ball()
    with pytest.raises(lw.ModelError, match="has contacts, which linearize leaves out"):
        robot.linearize(placed(robot, z=0.1), np.zeros(6), np.zeros(6))


def test_too_many_points_for_a_kernel_are_refused_before_it_is_compiled():
    many = lw.Builder("many")
    shapes = tuple(lw.Shape("box", (0.1, 0.1, 0.1), lw.Pose.of((i, 0, 0))) for i in range(76))
    model = many.body("rail", joint=lw.Free(), mass=1.0, tensor=(1, 1, 1), collisions=shapes).ground().contact("rail").model()
    with pytest.raises(lw.SimulationError, match="608 contact points"):
        lw.simulate(lw.Dynamics(model), (placed(lw.Dynamics(model), z=1.0), np.zeros(6)), until=0.1, method="contact", dt=0.01)


def test_two_shapes_of_one_name_are_told_apart_by_nothing():
    shapes = tuple(lw.Shape("sphere", (0.1,), lw.Pose.of((x, 0, 0)), name="s") for x in (0, 1))
    with pytest.raises(lw.ModelError, match="Give each its own name"):
        lw.Builder("twins").body("a", joint=lw.Free(), mass=1.0, tensor=(1, 1, 1), collisions=shapes).ground().contact("s").model()


def test_gaps_of_two_boxes_in_symbols_are_refused():
    cube = solids.box(1.0, (1, 1, 1))
    boxes = lw.Builder("boxes").body("a", joint=lw.Free(), **cube).body("b", joint=lw.Free(), **cube)
    with pytest.raises(lw.OptionError, match=r"contact_gaps of boxes has [0-9,]+ branches"):
        lw.Dynamics(boxes.contact("a", "b").model()).symbolic("contact_gaps")


def test_accelerations_at_a_place_that_is_no_number_are_none():
    """Free fall of a point does not depend on where it is; whether it touches does."""
    made = lw.Builder("slider").body("ball", joint=lw.Translation(), **SOLID).ground().contact("ball")
    robot = lw.Dynamics(made.model(), compiled=False)
    found = robot.contact_dynamics(np.full(3, np.nan), np.zeros(3), np.zeros(3))
    assert not found.converged and np.isnan(found.vdot).all()
    assert robot.contact_dynamics(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3))).force.shape == (0, 1, 3)


def test_a_step_of_no_length_is_no_kernel():
    for dt in (0.0, -0.1, np.nan):
        with pytest.raises(lw.SimulationError, match="positive number of seconds"):
            lw.contact_kernel(ball(), dt=dt)


def test_names_of_bodies_are_no_numbers_of_flags():
    with pytest.raises(lw.ModelError, match=r'robot.bodies.index\("foot"\)'):
        ball().contacts.flags(np.ones(3), ["foot"])


def test_functions_of_a_batch_are_checked_beside_contacts():
    robot = ball()
    Q, V = np.tile(placed(robot, z=1.0), (2, 1)), np.zeros((2, 6))
    how = {"dt": 0.01, "steps": 2, "method": "contact"}
    with pytest.raises(lw.ShapeError, match=r"controls returned an array of shape \(4,\); it must have shape \(2, 6\)"):
        lw.rollout(robot, Q, V, lambda t, q, v: np.zeros(4), **how)
    with pytest.raises(lw.ShapeError, match=r"reset returned an array of shape \(2, 7\); it must have shape \(2, 7\) and \(2, 6\)"):
        lw.rollout(robot, Q, V, reset=lambda t, q, v: q, **how)

    def lift(t, q, v):
        q[:, 6] = 2.0  # arrays of a reset are copies
        return q, v

    assert (lw.rollout(robot, Q, V, reset=lift, **how).q[:, 1:, 6] == 2.0).all()


def test_pictures_say_what_forces_and_times_they_take():
    robot = ball()
    run = lw.simulate(robot, (placed(robot, z=1.0), np.zeros(6)), until=0.02, method="contact", dt=0.01)
    with pytest.raises(lw.ShapeError, match=r"contacts=run\.contact"):
        lw.snapshot(run, contacts=True)
    with pytest.raises(lw.OptionError, match=r"path=.ball\.png."):
        lw.snapshot(run, "ball.png")
