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
    assert all(tuple(h.joint.axis) == (0, 1, 0) for h in model.joints if h.joint.nv)


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
    joint = robot.model.joint("knee").joint
    np.testing.assert_allclose(robot.pose(np.zeros(1), "b")[:3, 3], [1, 3, 3], atol=1e-12)
    np.testing.assert_allclose(robot.jacobian(np.zeros(1), "b", "world")[:3, 0], [1, 0, 0], atol=1e-12)
    assert (joint.stiffness, joint.rest, joint.damping, joint.lower, joint.upper) == (3, 0.2, 0.1, -1, 2)


@pytest.mark.parametrize("name", ["iiwa14", "simple_humanoid"])
def test_one_robot_from_two_formats_moves_alike(name):
    """𝓜, τ and v̇ of the URDF and of the SDF, joint by joint."""
    one, other = (lw.Dynamics(lw.load(MODELS / name / f"{name}.{end}"), compiled=False) for end in ("urdf", "sdf"))
    moving = [placed.name for placed in one.model.joints if placed.joint.nv]
    order = [other.v_index(joint).start for joint in moving]
    q, v = one.random_state(seed=0)
    vdot = np.linspace(-1, 1, one.nv)
    there = [np.zeros(one.nv) for _ in range(3)]
    for x, y in zip((q, v, vdot), there):
        y[order] = x
    assert sorted(order) == list(range(one.nv)) and abs(one.model.mass - other.model.mass) < 1e-12
    np.testing.assert_allclose(other.mass_matrix(there[0])[np.ix_(order, order)], one.mass_matrix(q), rtol=1e-12, atol=1e-13)
    tau = one.inverse_dynamics(q, v, vdot)
    np.testing.assert_allclose(other.inverse_dynamics(*there)[order], tau, rtol=1e-12, atol=1e-11)
    back = np.zeros(one.nv)
    back[order] = tau
    np.testing.assert_allclose(other.forward_dynamics(*there[:2], back)[order], vdot, atol=1e-11)
    body = one.model.joints[-1].child if name == "simple_humanoid" else "iiwa_link_7"
    np.testing.assert_allclose(other.pose(there[0], body), one.pose(q, body), atol=1e-13)


@pytest.mark.parametrize("file", sorted(MODELS.glob("*/*.sdf")), ids=lambda file: file.stem)
def test_every_file_there_is_loads(file):
    model = lw.load(file)
    assert model.mass > 1 and lw.Dynamics(model, compiled=False).nv > 0


def test_frames_stand_on_joints_and_on_each_other():
    """Composed by hand: the way from the model through link, joint and frames."""
    text = sdf(f"""
      <pose>0 0 10 0 0 0</pose>
      <link name="a"><pose>1 0 0 0 0 1.5707963267948966</pose>{LINK}</link>
      <link name="b"><pose relative_to="j">0 0 1 0 0 0</pose>{LINK}</link>
      <joint name="j" type="revolute"><pose relative_to="a">2 0 0 0 0 0</pose><parent>a</parent><child>f</child><axis/></joint>
      <frame name="f" attached_to="b"><pose relative_to="j">5 0 0 0 0 0</pose></frame>
      <frame name="g" attached_to="f"><pose>1 0 0 0 0 0</pose></frame>
      <frame name="h" attached_to="j"/><frame name="m"/>""")
    robot = lw.Dynamics(lw.load(text), compiled=False)
    place = lambda x, q=0.0: robot.pose(np.array([q]), x)[:3, 3]
    np.testing.assert_allclose([place("b"), place("f"), place("g"), place("h"), place("m")],
                               [[1, 2, 11], [1, 7, 10], [1, 8, 10], [1, 2, 10], [0, 0, 10]], atol=1e-15)  # fmt: skip
    np.testing.assert_allclose([place("b", 1.0), place("h", 1.0)], [[1, 2, 11], [1, 2, 10]], atol=1e-15)
    np.testing.assert_allclose(place("f", np.pi / 2), [1 - 5, 2, 10], atol=1e-14)
    assert {frame.name: frame.body for frame in robot.model.frames} == {"f": "b", "g": "b", "h": "b", "m": "a"}


def test_a_joint_on_its_parent_keeps_the_numbers_of_the_file():
    """No rounding by way of the world."""
    text = sdf(f"""
      <link name="a"><pose>0.1 0.2 0.3 0.4 0.5 0.6</pose>{LINK}</link><link name="b"><pose relative_to="j"/>{LINK}</link>
      <joint name="j" type="revolute"><pose relative_to="a">0.7 0 0 0 0 0</pose><parent>a</parent><child>b</child><axis/></joint>""")
    placed = lw.load(text).joint("j")
    assert (placed.at, placed.on) == (lw.Pose.of((0.7, 0, 0)), lw.Pose())


def test_models_in_a_model_are_read_with_their_names():
    arm = f"""
      <link name="hand"><pose>0 0 1 0 0 0</pose>{LINK}</link>
      <link name="thumb"><pose relative_to="hand">0 1 0 0 0 0</pose>{LINK}</link>
      <joint name="grip" type="prismatic"><parent>hand</parent><child>thumb</child>
        <axis><xyz expressed_in="__model__">0 1 0</xyz></axis></joint>"""
    text = sdf(f"""<link name="base">{LINK}</link><model name="arm"><pose>1 0 0 0 0 1.5707963267948966</pose>{arm}</model>
      <joint name="mount" type="fixed"><parent>base</parent><child>arm::hand</child></joint>
      <frame name="tip" attached_to="arm::thumb"/>""")
    robot = lw.Dynamics(lw.load(text), compiled=False)
    assert [*robot.bodies] == ["base", "arm::hand", "arm::thumb"] and robot.nv == 1
    np.testing.assert_allclose(robot.pose(np.array([0.5]), "tip")[:3, 3], [1 - 1.5, 0, 1], atol=1e-15)


def test_an_axis_of_an_old_file_is_seen_from_the_model():
    inside = f"""<link name="a"><pose>0 0 0 0 0 1.5707963267948966</pose>{LINK}</link>
      <joint name="j" type="revolute"><parent>world</parent><child>a</child><axis><xyz>1 0 0</xyz></axis></joint>"""
    for version, axis in (("1.4", (1, 0, 0)), ("1.6", (0, 1, 0))):
        robot = lw.Dynamics(lw.load(sdf(inside).replace('version="1.7"', f'version="{version}"')), compiled=False)
        np.testing.assert_allclose(robot.jacobian(np.zeros(1), "a", "world")[:3, 0], axis, atol=1e-15)


def test_what_follows_another_joint_is_coupled():
    link = lambda name: f'<link name="{name}">{LINK}</link>'
    mimic = '<mimic joint="j" axis="axis"><multiplier>2</multiplier><offset>.5</offset><reference>.1</reference></mimic>'
    text = sdf(f"""{link("a")}{link("b")}
      <joint name="j" type="continuous"><parent>world</parent><child>a</child><axis/></joint>
      <joint name="k" type="continuous"><parent>a</parent><child>b</child><axis>{mimic}</axis></joint>""")
    held = constraints.of(lw.Dynamics(lw.load(text), compiled=False))
    np.testing.assert_allclose(held.residual([0.3, 0.9]), 0, atol=1e-15)
    np.testing.assert_allclose(held.jacobian([0.3, 0.9]), [[-2, 1]])


def test_meshes_are_looked_for_beside_the_file_and_in_the_folder_of_packages(tmp_path):
    visual = lambda uri: f"<visual><geometry><mesh><uri>{uri}</uri></mesh></geometry></visual>"
    (tmp_path / "arm").mkdir()
    for file in ("near.stl", "arm/far.stl"):
        (tmp_path / file).write_text("solid")
    (tmp_path / "arm.sdf").write_text(sdf(f'<link name="a">{visual("near.stl")}{visual("model://arm/far.stl")}{visual("gone.stl")}</link>'))
    shapes = lw.load(tmp_path / "arm.sdf", package_root=tmp_path).bodies[0].visuals
    assert [shape.path and shape.path.rpartition("/")[2] for shape in shapes] == ["near.stl", "far.stl", None]


def test_an_inertia_that_no_body_has_is_said():
    text = sdf(f'<link name="a">{LINK.replace("<izz>1", "<izz>9")}</link>')
    with pytest.warns(lw.ModelWarning, match='"a" has principal moments 9, 1, 1'):
        lw.load(text)
    with pytest.raises(lw.ModelError, match="principal moments"):
        lw.load(text, strict=True)


JOINT = '<link name="a"/><joint name="j" type="{}"><parent>world</parent><child>{}</child><axis>{}</axis></joint>'


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("", "has no <link>"),
        (JOINT.format("gearbox", "a", ""), 'type "gearbox"'),
        (JOINT.format("ball", "b", ""), 'has child "b", which is not there'),
        (JOINT.format("revolute", "a", '<xyz expressed_in="q">1 0 0</xyz>'), 'joint "j" has an axis expressed in "q"'),
        (JOINT.format("revolute", "a", '<mimic joint="i"/>'), 'joint "j" follows "i"'),
        ('<link name="shin"/>\n<link name="b"><pose relative_to="chin"/></link>', 'link "b" has a pose relative to "chin".* mean "shin"'),
        ('<link name="a"/><frame name="f" attached_to="b"/>', 'frame "f" is attached to "b"'),
        ('<link name="a"><pose relative_to="b"/></link><link name="b"><pose relative_to="a"/></link>', 'cycle: "a" on "b" on "a"'),
        (JOINT.format("fixed", "j", ""), 'cycle: "j" on "j"'),
        ('<link name="a"/><model name="m"/><frame name="f" attached_to="m"/>', 'model "m" has no link'),
        ('<link name="a"><pose>1 2</pose></link>', "it takes 6 finite numbers"),
        ('<link name="a"/><link name="a"/>', "is there twice"),
        ("<include><uri>x</uri></include>", "is not read"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(inside, said):
    with pytest.raises(lw.ModelError, match=said) as caught:
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
