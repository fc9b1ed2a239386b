"""SDF files, and loops in a YAML beside a URDF."""

from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork import constraints

MODELS = Path(__file__).parents[1] / "models"
LINK = "<inertial><mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"


def sdf(inside):
    return f'<sdf version="1.7"><model name="m">{inside}</model></sdf>'


def test_cassie_has_its_loops_and_mass():
    model = lw.load(MODELS / "cassie_sdf" / "cassie_v2.sdf", floating=True)
    robot = lw.Dynamics(model, compiled=False)
    assert len(model.bodies) == 23 and len(model.loops) == 4 and robot.nv == 28
    assert abs(model.mass - 32.94) < 1e-9
    assert {type(loop.joint) for loop in model.loops} == {lw.Spherical}
    np.testing.assert_allclose(constraints.of(robot).residual(robot.neutral()), 0, atol=1e-12)


def test_poses_in_the_file_are_poses_in_the_model():
    model = lw.load(MODELS / "four_bar" / "four_bar.sdf")
    robot = lw.Dynamics(model, compiled=False)
    q = robot.neutral()
    np.testing.assert_allclose(robot.pose(q, "B")[:3, 3], [4, 0.1, 0], atol=1e-12)
    np.testing.assert_allclose(robot.pose(q, "C")[:3, 3], [-2, 0.2, 0], atol=1e-12)
    np.testing.assert_allclose(robot.pose(q, "Bc_bushing")[:3, 2], [0, 1, 0], atol=1e-9)
    assert (robot.nv, model.mass) == (3, 60)
    assert all(tuple(h.joint.axis) == (0, 1, 0) for h in model.hinges if h.joint.nv)


def test_axes_poses_and_springs_are_read():
    text = sdf(f"""
      <link name="a"><pose>1 2 3 0 0 1.5707963267948966</pose>{LINK}</link>
      <link name="b"><pose relative_to="a">1 0 0 0 0 0</pose>{LINK}</link>
      <joint name="foot" type="fixed"><parent>world</parent><child>a</child></joint>
      <joint name="knee" type="revolute"><pose>0 0 .5 0 0 0</pose><parent>a</parent><child>b</child>
        <axis><xyz expressed_in="__model__">1 0 0</xyz><limit><lower>-1</lower><upper>2</upper></limit>
        <dynamics><damping>.1</damping><spring_stiffness>3</spring_stiffness><spring_reference>.2</spring_reference></dynamics></axis>
      </joint>""")
    robot = lw.Dynamics(lw.load(text), compiled=False)
    joint = robot.model.hinge("knee").joint
    np.testing.assert_allclose(robot.pose(np.zeros(1), "b")[:3, 3], [1, 3, 3], atol=1e-12)
    np.testing.assert_allclose(robot.jacobian(np.zeros(1), "b", "world")[:3, 0], [1, 0, 0], atol=1e-12)
    assert (joint.stiffness, joint.rest, joint.damping, joint.lower, joint.upper) == (3, 0.2, 0.1, -1, 2)


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("", "has no <link>"),
        (f'<link name="a">{LINK}</link><joint name="j" type="gearbox"><parent>world</parent><child>a</child></joint>', 'type "gearbox"'),
        (f'<link name="a">{LINK}</link><joint name="j" type="ball"><parent>world</parent><child>b</child></joint>', 'child "b", which no'),
        (f'<link name="a"><pose>1 2</pose>{LINK}</link>', "it takes 6 finite numbers"),
        ('<link name="a"/><link name="a"/>', "is there twice"),
        ('<include><uri>x</uri></include>', "is not read"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(inside, said):
    with pytest.raises(lw.ModelError, match=said.replace("<", "<")) as caught:
        lw.load(sdf(inside))
    assert "line" in str(caught.value)


@pytest.mark.parametrize(("name", "nv", "loops"), [("delta_robot", 14, 3), ("digit_like", 48, 6)])
def test_loops_beside_a_urdf(name, nv, loops):
    model = lw.load(MODELS / name / "robot.urdf", loops=MODELS / name / "robot.yaml")
    assert len(model.loops) == loops and lw.Dynamics(model, compiled=False).nv == nv
    assert any("motors" in note for note in model.notes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("closed_loops: []", 'has a key "closed_loops".* Did you mean "closed_loop"'),
        ("closed_loop: [[a, b]]", "1 closed loops, but 0 types"),
        ("closed_loop: [[closedloop1_A, nobody]]\ntype: [6d]", 'closes a loop at "nobody"'),
        ("closed_loop: [[closedloop1_A, closedloop1_B]]\ntype: [5d]", 'has type "5d"'),
        ("joint_name: [mot1_rod1]\njoint_type: [GIMBAL]", 'the type "GIMBAL"'),
        ("closed_loop: [[a, b", "has no end"),
        ("just words", 'line 1: "just words"'),
        ("type: 6d", "is not a list"),
    ],
)
def test_a_wrong_loops_file_is_named(tmp_path, text, said):
    (tmp_path / "robot.yaml").write_text(text)
    with pytest.raises(lw.ModelError, match=said):
        lw.load(MODELS / "delta_robot" / "robot.urdf", loops=tmp_path / "robot.yaml")


def test_mimic_joints_may_be_coupled():
    text = """<robot name="m"><link name="a"/><link name="b"/><link name="c"/>
      <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>
      <joint name="k" type="continuous"><parent link="a"/><child link="c"/><mimic joint="j" multiplier="2" offset=".5"/></joint>
    </robot>"""
    robot = lw.Dynamics(lw.load(text, mimic="couple"), compiled=False)
    held = constraints.of(robot)
    np.testing.assert_allclose(held.residual([0.3, 1.1]), 0, atol=1e-15)
    np.testing.assert_allclose(held.jacobian([0.3, 1.1]), [[-2, 1]])
