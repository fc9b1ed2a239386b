"""What a URDF file says is what the Model has."""

from math import pi
from pathlib import Path

import numpy as np
import pytest

from linkwork.errors import ModelError, ModelWarning
from linkwork.formats import load
from linkwork.joints import Fixed, Free, Planar, Prismatic, Revolute
from linkwork.spatial import Pose

MODELS = Path(__file__).parents[1] / "models"


def robot(inside="", joint="", kind="revolute", link=""):
    return f"""<robot name="r"><link name="a"/><link name="b">{link}</link>
      <joint name="j" type="{kind}"><parent link="a"/><child link="b"/>{joint}</joint>{inside}</robot>"""


def joint_of(text, **options):
    return load(text, **options).joint("j").joint


@pytest.mark.parametrize(
    ("kind", "type_"),
    [
        ("fixed", Fixed),
        ("revolute", Revolute),
        ("continuous", Revolute),
        ("prismatic", Prismatic),
        ("floating", Free),
        ("planar", Planar),
    ],
)
def test_every_joint_type_of_urdf_is_read(kind, type_):
    assert type(joint_of(robot(kind=kind))) is type_


def test_every_link_is_a_body_and_the_root_is_welded_to_the_world():
    model = load(robot(kind="fixed"))
    assert [body.name for body in model.bodies] == ["a", "b"]
    root = model.joint("a_to_world")
    assert (root.parent, root.child, root.joint) == (None, "a", Fixed())


def test_the_weld_of_the_root_takes_no_name_that_is_in_use():
    assert [h.name for h in load(robot().replace('"j"', '"a_to_world"')).joints] == ["a_to_world_", "a_to_world"]


def test_an_axis_that_is_not_given_is_x():
    assert joint_of(robot()).axis == (1.0, 0.0, 0.0)


def test_the_axis_of_a_planar_joint_is_its_normal():
    assert joint_of(robot(kind="planar", joint='<axis xyz="0 1 0"/>')).axis == (0.0, 1.0, 0.0)


@pytest.mark.parametrize("kind", ["fixed", "floating"])
def test_an_axis_of_zeros_does_no_harm_where_none_is_needed(kind):
    load(robot(kind=kind, joint='<axis xyz="0 0 0"/>'))


def test_limits_damping_and_friction_are_kept():
    limits = '<limit lower="-1" upper="2" effort="3" velocity="4"/><dynamics damping="5" friction="6"/>'
    joint = joint_of(robot(joint=limits))
    assert (joint.lower, joint.upper, joint.effort, joint.speed) == (-1, 2, 3, 4)
    assert (joint.damping, joint.friction) == (5, 6)


@pytest.mark.parametrize(
    "limit",
    [
        "",
        '<limit effort="1" velocity="1"/>',
        '<limit lower="-inf" upper="inf"/>',
        '<limit lower="-1e308" upper="1e308"/>',
    ],
)
def test_a_joint_without_a_range_has_no_limits(limit):
    """±inf for the type "revolute", whose coordinate counts turns, None for "continuous"."""
    joint = joint_of(robot(joint=limit))
    assert (joint.lower, joint.upper) == (-np.inf, np.inf)
    joint = joint_of(robot(joint=limit).replace("revolute", "continuous"))
    assert joint.lower is None and joint.upper is None


def test_one_limit_alone_makes_the_other_zero():
    """As URDF says: lower and upper default to 0."""
    joint = joint_of(robot(joint='<limit upper="1"/>'))
    assert (joint.lower, joint.upper) == (0.0, 1.0)


def test_a_continuous_joint_has_no_range():
    joint = joint_of(robot(kind="continuous", joint='<limit lower="-1" upper="1" effort="3" velocity="4"/>'))
    assert joint.lower is None and joint.effort == 3.0


def test_limits_the_wrong_way_round_mean_no_limit_and_are_noted():
    model = load(robot(joint='<limit lower="1" upper="-1"/>'))
    assert model.joint("j").joint.lower == -np.inf
    assert model.notes == ('joint "j": lower limit 1 is above upper limit -1: read as no limit',)


def test_the_origin_of_the_inertia_turns_the_tensor():
    """J = R J' R*, about the centre of mass."""
    tensor = '<inertia ixx="0.2" ixy="0.01" ixz="0.02" iyy="0.3" iyz="0.03" izz="0.4"/>'
    link = f'<inertial><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><mass value="2"/>{tensor}</inertial>'
    body = load(robot(link=link)).body("b")
    R = Pose.rpy((0, 0, 0), (0.1, 0.2, 0.3)).rotation
    J = np.array([[0.2, 0.01, 0.02], [0.01, 0.3, 0.03], [0.02, 0.03, 0.4]])
    assert body.mass == 2.0 and body.center == (1.0, 2.0, 3.0)
    assert np.allclose(body.tensor, R @ J @ R.T, rtol=0, atol=1e-16)


def test_elements_that_are_not_urdf_are_passed_over():
    model = load(
        robot(
            '<gazebo reference="a"><link name="x"/><joint name="y"/></gazebo><ros2_control name="z"/>'
            '<sensor:camera name="undeclared prefix"/><transmission name="t"><joint name="j"/></transmission>'
        )
    )
    assert len(model.bodies) == 2


def test_shapes_and_colours_are_kept():
    def visual(solid, paint):
        return f'<visual name="v"><origin xyz="0 0 1"/><geometry>{solid}</geometry>{paint}</visual>'

    link = (
        visual('<cylinder radius="0.1" length="2"/>', '<material name="red"/>')
        + visual('<box size="1 2 3"/>', '<material name="own"><color rgba="0 1 0 0.5"/></material>')
        + visual('<mesh filename="hand.stl" scale="2 2 2"/>', '<material name="own"/>')
        + visual('<torus radius="1"/>', "")
        + '<collision><geometry><sphere radius="3"/></geometry></collision>'
    )
    model = load(robot('<material name="red"><color rgba="1 0 0 1"/></material>', link=link))
    body = model.body("b")
    assert [(s.kind, s.size, s.color) for s in body.visuals] == [
        ("cylinder", (0.1, 2.0), (1.0, 0.0, 0.0, 1.0)),
        ("box", (1.0, 2.0, 3.0), (0.0, 1.0, 0.0, 0.5)),
        ("mesh", (2.0, 2.0, 2.0), (0.0, 1.0, 0.0, 0.5)),
    ]
    assert body.visuals[0].pose == Pose(translation=(0.0, 0.0, 1.0)) and body.visuals[0].name == "v"
    assert [s.kind for s in body.collisions] == ["sphere"]
    assert model.notes[:-1] == ('link "b", <visual>: <torus> is left out', "meshes that are not there: hand.stl")
    assert model.notes[-1].startswith("contacts are off: r has collision shapes (1 sphere) of b.")


# --- snapping


def origin(rpy):
    return f'<origin rpy="{rpy}"/>'


def test_an_angle_that_misses_a_quarter_turn_by_its_print_is_snapped_and_noted():
    model = load(robot(joint=origin("1.57079632679 0 -3.14159265359")))
    assert model.notes == (
        'joint "j": angle 1.57079632679 snapped to a quarter turn',
        'joint "j": angle -3.14159265359 snapped to a half turn',
    )
    assert np.array_equal(np.abs(model.joint("j").at.rotation), [[1, 0, 0], [0, 0, 1], [0, 1, 0]])


def test_an_exact_quarter_turn_is_not_noted():
    assert load(robot(joint=origin(f"{pi / 2!r} 0 {-pi!r}"))).notes == ()


def test_an_angle_further_off_is_left_alone():
    model = load(robot(joint=origin("1.5707963 0 0")))
    R = model.joint("j").at.rotation
    assert model.notes == () and not np.array_equal(R, np.round(R))


def test_snapping_can_be_turned_off():
    model = load(robot(joint=origin("1.57079632679 0 0") + '<axis xyz="1e-12 0 1"/>'), snap=False)
    assert model.notes == () and model.joint("j").joint.axis == (1e-12, 0.0, 1.0)
    R = model.joint("j").at.rotation
    assert R[1, 1] == pytest.approx(np.cos(1.57079632679), rel=1e-4) and R[1, 1] != 0


def test_without_snapping_the_joint_turns_about_the_axis_that_was_written():
    """z of the joint's frame is the axis, also a hair beside a coordinate axis."""
    for axis in ((1e-12, 0.0, 1.0), (0.0, 1e-11, -1.0), (1.0, -1e-10, 0.0)):
        frame = joint_of(robot(joint=f'<axis xyz="{axis[0]} {axis[1]} {axis[2]}"/>'), snap=False).frame
        assert np.allclose(frame.rotation[:, 2], axis, rtol=0, atol=1e-16)


def test_an_axis_that_misses_a_coordinate_axis_by_its_print_is_snapped_and_noted():
    model = load(robot(joint='<axis xyz="1e-12 0 -0.5"/>'))
    assert model.joint("j").joint.axis == (0.0, 0.0, -1.0)
    assert model.notes == ('joint "j": axis 1e-12 0.0 -0.5 snapped to a coordinate axis',)


# --- what is probably not meant


def test_impossible_inertias_are_used_with_one_warning_that_names_them():
    with pytest.warns(ModelWarning, match='"link_9.0" has principal moments') as caught:
        model = load(MODELS / "allegro_hand/allegro_left_hand.urdf")
    assert len(caught) == 1 and caught[0].filename == __file__
    assert any(note.startswith('"link_9.0"') for note in model.notes)


def test_impossible_inertias_are_refused_if_asked():
    with pytest.raises(ModelError, match=r'allegro_left_hand\.urdf: "link_9\.0" has principal moments .* exceed'):
        load(MODELS / "allegro_hand/allegro_left_hand.urdf", strict=True)


def test_mimic_joints_are_independent_with_one_warning_that_names_them():
    with pytest.warns(ModelWarning, match="panda_finger_joint2") as caught:
        model = load(MODELS / "panda/panda.urdf")
    assert len(caught) == 1 and caught[0].filename == __file__
    (coupling,) = model.couplings
    assert (coupling.joint, coupling.of) == ("panda_finger_joint2", "panda_finger_joint1")
    assert coupling.coefficients == (0.0, 1.0) and not coupling.active
    assert sum(placed.joint.nv for placed in model.joints) == 9


def test_mimic_free_asks_for_independent_joints_without_a_warning():
    assert len(load(MODELS / "panda/panda.urdf", mimic="free").couplings) == 1


def test_a_fixed_joint_mimics_nothing():
    assert load(robot(kind="fixed", joint='<mimic joint="none"/>')).couplings == ()


def test_to_mimic_a_fixed_joint_is_to_stand_still():
    other = '<link name="c"/><joint name="k" type="fixed"><parent link="a"/><child link="c"/></joint>'
    (coupling,) = load(robot(other, joint='<mimic joint="k" multiplier="2" offset="0.5"/>'), mimic="free").couplings
    assert (coupling.of, coupling.coefficients) == (None, (0.5,))
