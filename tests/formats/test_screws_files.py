"""Files in one world frame: what they hold, what they refuse, and that frames make no difference."""

import json
from dataclasses import replace
from math import pi

import numpy as np
import pytest
from zoo import MECHANISMS, close, plain, state

import linkwork as lw
from linkwork.formats import screws_writer

ARM_6R = """
screws: 1
name: arm
gravity: [0, 0, -9.81]
bodies:
  - {name: link1, mass: 4.0, center: [0, 0.02, 0.2], tensor: [0.04, 0.05, 0.03]}
  - {name: link2, mass: 3.0, center: [0.2, 0.1, 0.4], tensor: [0.01, 0.06, 0.06, 0.001, -0.002, 0.003]}
  - {name: link3, mass: 2.0, center: [0.4, 0.0, 0.3], tensor: [0.03, 0.04, 0.01]}
  - {name: link4, mass: 1.0, center: [0.4, 0.0, 0.1], tensor: [0.003, 0.004, 0.001]}
  - {name: link5, mass: 0.5, center: [0.4, 0.0, 0.0], tensor: [0.001, 0.001, 0.001]}
  - {name: link6, mass: 0.2, center: [0.4, 0.0, -0.1], tensor: [1e-3, 1e-3, 5e-4]}
joints:
  - {name: joint1, child: link1, axis: [0, 0, 1], point: [0, 0, 0]}
  - {name: joint2, parent: link1, child: link2, axis: [0, 1, 0], point: [0, 0, 0.4], armature: 0.1, damping: 0.2}
  - {name: joint3, parent: link2, child: link3, axis: [0, 1, 0], point: [0.4, 0, 0.4]}
  - {name: joint4, parent: link3, child: link4, axis: [0, 0, -1], point: [0.4, 0, 0.2]}
  - {name: joint5, parent: link4, child: link5, axis: [0, 1, 0], point: [0.4, 0, 0]}
  - {name: joint6, parent: link5, child: link6, axis: [0, 0, -1], point: [0.4, 0, -0.05], lower: -2, upper: 2}
frames:
  - {name: tool, body: link6, point: [0.4, 0, -0.2]}
"""
STANFORD = """
screws: 1
name: stanford
bodies:
  - {name: link1, mass: 9.29, center: [0, 0.0175, -0.1105], tensor: [0.276, 0.255, 0.071]}
  - {name: link2, mass: 5.01, center: [0, -1.054, 0], tensor: [0.108, 0.018, 0.1]}
  - {name: link3, mass: 4.25, center: [0, 0.154, -6.447], tensor: [2.51, 2.51, 0.006]}
  - {name: link4, mass: 1.08, center: [0, 0.154, 0.01], tensor: [0.002, 0.001, 0.001]}
  - {name: link5, mass: 0.63, center: [0, 0.154, 0.1], tensor: [0.003, 0.003, 0.0004]}
  - {name: link6, mass: 0.51, center: [0, 0.154, 0.2], tensor: [0.013, 0.013, 0.0003]}
joints:
  - {name: joint1, child: link1, axis: [0, 0, 1]}
  - {name: joint2, parent: link1, child: link2, axis: [0, 1, 0], point: [0, 0.154, 0]}
  - {name: joint3, parent: link2, child: link3, kind: prismatic, axis: [0, 0, 1]}
  - {name: joint4, parent: link3, child: link4, axis: [0, 0, 1], point: [0, 0.154, 0]}
  - {name: joint5, parent: link4, child: link5, axis: [0, 1, 0], point: [0, 0.154, 0]}
  - {name: joint6, parent: link5, child: link6, axis: [0, 0, 1], point: [0, 0.154, 0]}
"""
BRANCHED = {
    "screws": 1,
    "name": "branched",
    "gravity": [1, 0, -9],
    "bodies": [
        {"name": "trunk", "mass": 5, "center": [0.1, 0, 1], "tensor": [0.3, 0.4, 0.5]},
        {"name": "left", "mass": 1, "center": [0.1, 0.5, 1], "tensor": [[0.01, 0, 0], [0, 0.02, 0], [0, 0, 0.015]]},
        {"name": "right", "mass": 2, "center": [0.1, -0.5, 1], "tensor": [0.01, 0.02, 0.015]},
        {"name": "nut", "mass": 0.3, "center": [0.1, -0.9, 1.2], "tensor": [1e-3, 2e-3, 1.5e-3]},
    ],
    "joints": [
        {"name": "base", "child": "trunk", "kind": "free", "point": [0, 0, 1]},
        {"name": "ball", "parent": "trunk", "child": "left", "kind": "spherical", "point": [0, 0.2, 1]},
        {"name": "pin", "parent": "trunk", "child": "right", "axis": [0.6, 0, 0.8], "point": [0, -0.2, 1]},
        {"name": "thread", "parent": "right", "child": "nut", "axis": [0, -1, 0], "point": [0, -0.6, 1.1], "pitch": 0.02},
    ],
}


def framed_6r():
    """The same arm as one would build it, frames at the joints and turned."""
    arm = lw.Builder("arm")
    turned = lw.Pose.rpy((0, 0, 0), (0, pi / 2, 0))
    arm.body("link1", None, None, lw.Revolute(), joint_name="joint1", mass=4.0, center=(0, 0.02, 0.2), tensor=(0.04, 0.05, 0.03))
    tensor = np.array([[0.01, 0.001, -0.002], [0.001, 0.06, 0.003], [-0.002, 0.003, 0.06]])
    elbow = lw.Revolute(axis=(0, 1, 0), armature=0.1, damping=0.2)
    arm.body("link2", "link1", (0, 0, 0.4), elbow, joint_name="joint2", mass=3.0, center=(0.2, 0.1, 0), tensor=tensor)
    at = lw.Pose.rpy((0.4, 0, 0), (0, pi / 2, 0))  # z of the forearm points along x of the world, x down
    y, x = lw.Revolute(axis=(0, 1, 0)), lw.Revolute(axis=(1, 0, 0))
    arm.body("link3", "link2", at, y, joint_name="joint3", mass=2.0, center=(0.1, 0, 0), tensor=(0.01, 0.04, 0.03))
    arm.body("link4", "link3", (0.2, 0, 0), x, joint_name="joint4", mass=1.0, center=(0.1, 0, 0), tensor=(0.001, 0.004, 0.003))
    arm.body("link5", "link4", (0.2, 0, 0), y, joint_name="joint5", mass=0.5, tensor=(0.001, 0.001, 0.001))
    wrist = lw.Revolute(axis=(1, 0, 0), lower=-2, upper=2)
    arm.body("link6", "link5", (0.05, 0, 0), wrist, joint_name="joint6", mass=0.2, center=(0.05, 0, 0), tensor=(5e-4, 1e-3, 1e-3))
    arm.frame("tool", "link6", lw.Pose(translation=(0.15, 0, 0)) @ turned.inverse())
    return arm.model()


def framed_stanford():
    """Denavit-Hartenberg rows of the Stanford arm (theta, d, a, alpha), inertias moved into those frames."""
    table = [(0, 0, 0, -pi / 2), (0, 0.154, 0, pi / 2), (0, 0, 0, 0), (0, 0, 0, -pi / 2), (0, 0, 0, pi / 2), (0, 0, 0, 0)]
    joints = [lw.Revolute(), lw.Revolute(), lw.Prismatic(), lw.Revolute(), lw.Revolute(), lw.Revolute()]
    world = lw.load(STANFORD)
    bare = lw.from_dh(table, joints=joints)
    poses = plain(bare).poses(np.zeros(6))
    bodies = []
    for body, T in zip(world.bodies, poses):
        R, p = T[:3, :3], T[:3, 3]
        bodies.append((body.mass, R.T @ (np.array(body.center) - p), R.T @ np.array(body.tensor) @ R))
    return lw.from_dh(table, name="stanford", joints=joints, bodies=bodies)


def framed_branched():
    b = lw.Builder("branched", (1, 0, -9))
    b.body("trunk", None, (0, 0, 1), lw.Free(), joint_name="base", mass=5, center=(0.1, 0, 0), tensor=(0.3, 0.4, 0.5))
    left = {"mass": 1, "center": (0.1, 0.3, 0), "tensor": (0.01, 0.02, 0.015)}
    b.body("left", "trunk", (0, 0.2, 0), lw.Spherical(), joint_name="ball", **left)
    pin = lw.Revolute(axis=(0, -0.6, 0.8))  # in a frame turned by a quarter
    frame = lw.Pose.rpy((0, -0.2, 0), (0, 0, pi / 2))
    b.body("right", "trunk", frame, pin, joint_name="pin", mass=2, center=(-0.3, -0.1, 0), tensor=(0.02, 0.01, 0.015))
    thread = lw.Helical(axis=(-1, 0, 0), pitch=0.02)
    nut = {"mass": 0.3, "center": (-0.3, -0.1, 0.1), "tensor": (2e-3, 1e-3, 1.5e-3)}
    b.body("nut", "right", (-0.4, 0, 0.1), thread, joint_name="thread", **nut)
    return b.model()


CASES = {
    "6R": (ARM_6R, framed_6r),
    "Stanford": (STANFORD, framed_stanford),
    "branched": (json.dumps(BRANCHED, indent=1), framed_branched),
}


def same(one, other):
    s = state(one, (4,))
    close(other.mass_matrix(s.q), one.mass_matrix(s.q))
    close(other.bias(s.q, s.v), one.bias(s.q, s.v))
    close(other.passive_force(s.q, s.v), one.passive_force(s.q, s.v))
    close(other.forward_dynamics(s.q, s.v, s.tau), one.forward_dynamics(s.q, s.v, s.tau), 1e-11)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_file_in_the_world_frame_is_the_mechanism_with_frames(case):
    text, framed = case
    same(plain(framed()), plain(lw.load(text)))


AS_PUBLISHED = pytest.mark.filterwarnings("ignore:.*has inertias that no rigid body can have")  # those of the Puma 560


@AS_PUBLISHED
@pytest.mark.parametrize("name", [*MECHANISMS, "joint_zoo", "puma560", "humanoid"])
def test_any_model_goes_through_the_format_and_back(name):
    model = MECHANISMS[name] if name in MECHANISMS else lw.load(name)
    back = lw.load(screws_writer.written(model))
    same(plain(model), plain(back))
    assert back.gravity == model.gravity and [h.joint.kind for h in back.joints] == [h.joint.kind for h in model.joints]
    assert [(h.joint.lower, h.joint.upper) for h in back.joints] == [(h.joint.lower, h.joint.upper) for h in model.joints]


@AS_PUBLISHED
def test_frames_stay_where_they_are():
    model = lw.load("puma560").with_frame("eye", "link3", lw.Pose.rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)))
    one, other = plain(model), plain(lw.load(screws_writer.written(model)))
    q = one.random_state(seed=1)[0]
    for frame in ("eye", "tool"):
        close(other.pose(q, frame), one.pose(q, frame))
        close(other.jacobian(q, frame), one.jacobian(q, frame))


def test_loops_and_couplings_go_with_it():
    builder = lw.Builder("four bar")
    for name, on in (("a", None), ("b", "a"), ("c", "b")):
        builder.body(name, on, (1, 0, 0) if on else None, lw.Revolute(axis=(0, 1, 0)), mass=1.0, tensor=(1, 1, 1))
    builder.loop("close", None, "c", lw.Revolute(axis=(0, 1, 0)), at=(3, 0, 0), on=(1, 0, 0))
    builder.couple("b_joint", "a_joint", (0.1, -2.0))
    model = builder.model()
    back = lw.load(screws_writer.written(model))
    assert back.couplings == model.couplings
    one, other = plain(model).constraints, plain(back).constraints
    close(other.residual([0.1, 0.2, 0.3]), one.residual([0.1, 0.2, 0.3]))


def test_a_loop_that_is_open_in_the_reference_pose_is_refused_by_name():
    """The format has one place for a joint, in the reference pose; where a loop is open there, it has two."""
    model = replace(lw.load("four_bar"), loops=(replace(lw.load("four_bar").loops[0], on=lw.Pose.of((0, 0.2, 0))),))
    with pytest.raises(lw.ModelError, match=r'loop "pin" is open in the reference pose\. Without world_frame=True a file holds it'):
        screws_writer.written(model)


def test_springs_and_pushes_go_with_it():
    spring = lw.Spring("line", None, "body1", (0.1, 0.2, 0.3), (0.2, -0.1, 0.3), stiffness=7.0, length=0.4, damping=0.3)
    push = lw.Push("thruster", "body4", force=(0.0, 0.5, 1.0), torque=(0.1, 0.0, 0.2), at=(0.1, 0, 0), axes="body")
    model = MECHANISMS["floating"].with_forces(spring, push)
    text = screws_writer.written(model)
    one, other = (lw.VirtualWork(plain(x)) for x in (model, lw.load(text)))
    s = state(one.robot, (3,))
    close(other.force(s.q, s.v), one.force(s.q, s.v))
    close(other.energy(s.q), one.energy(s.q))
    with pytest.raises(lw.ModelError, match=r'line \d+: spring "line" has no "other"'):
        lw.load(text.replace('"other": "body1", ', ""))


@AS_PUBLISHED
def test_save_by_the_ending_of_the_path(tmp_path):
    model = lw.load("puma560")
    lw.save(model, tmp_path / "puma.json", world_frame=True)
    same(plain(model), plain(lw.load(tmp_path / "puma.json")))
    assert lw.load(tmp_path / "puma.json").name == "puma560"


WRONG = {
    "a child that is not there": (("child: link2", "child: link_2"), r'line 14: joint "joint2" has child "link_2".*mean "link2"'),
    "an entry that is not known": (("mass: 2.0", "weight: 2.0"), r'line 8: body "link3" has an entry "weight", which is not known'),
    "a mass that is none": (("mass: 2.0", "mass: heavy"), r"line 8: mass of body \"link3\" is 'heavy'; it takes a number"),
    "a negative mass": (("mass: 2.0", "mass: -2.0"), r"line 8: .*may not be negative"),
    "too few numbers": (("point: [0, 0, 0.4]", "point: [0, 0.4]"), r'line 14: the point of joint "joint2" has 2 entries; it takes 3'),
    "a kind that is none": (("axis: [0, 0, 1]", "kind: revolut"), r'line 13: joint "joint1" has kind "revolut".*"revolute"'),
    "an axis of no length": (("axis: [0, 0, 1]", "axis: [0, 0, 0]"), r"line 13: Revolute needs an axis"),
    "another version": (("screws: 1", "screws: 2"), r"line 2: this is version 2 of the format; version 1 can be read"),
    "a thing twice": (("name: joint3", "name: joint2"), r'two of the name "joint2"'),
    "a key twice": (("mass: 2.0", "name: x"), r'line 8: "name" is given twice'),
    "a bad frame": (("body: link6", "body: link7"), r'line 20: frame "tool" is on body "link7"'),
    "no YAML": (("bodies:", "bodies: ]"), r"line \d+: this is not YAML"),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_errors_say_the_line(case):
    (old, new), message = case
    with pytest.raises(lw.ModelError, match=message):
        lw.load(ARM_6R.replace(old, new, 1))


def test_errors_say_the_line_in_json_too():
    text = json.dumps(BRANCHED, indent=1)
    line = 1 + text[: text.index('"free"')].count("\n")
    with pytest.raises(lw.ModelError, match=rf'line {line}: joint "base" has kind "fre"'):
        lw.load(text.replace('"free"', '"fre"'))
    with pytest.raises(lw.ModelError, match=r"line 3: this is not JSON"):
        lw.load('{"screws": 1,\n"bodies": [],\n"joints": [}')
    with pytest.raises(lw.ModelError, match=r'it has no entry "screws"'):
        lw.load('{"bodies": []}')


def test_the_schema_knows_every_entry():
    schema = screws_writer.schema()
    lists = {"bodies", "joints", "frames", "loops", "couplings", "springs", "pushes", "constraints"}
    lists |= {"ground", "contacts", "excluded", "actuators", "flexible"}
    assert set(schema["properties"]) == {"screws", "name", "gravity"} | lists
    assert set(BRANCHED["joints"][3]) <= set(schema["$defs"]["joint"]["properties"])
    assert schema["$defs"]["joint"]["required"] == ["name", "child"]
    json.dumps(schema)
