"""A model that was saved loads back to the same dynamics."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics import Dynamics
from linkwork.errors import ModelError
from linkwork.formats import load, save
from linkwork.formats.urdf_writer import roll_pitch_yaw
from linkwork.joints import (
    Compound,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Planar,
    PlanarTranslation,
    Prismatic,
    Revolute,
    Schoenflies,
    Spherical,
    Translation,
    Universal,
)
from linkwork.model import Builder
from linkwork.spatial import Pose

MODELS = Path(__file__).parents[1] / "models"
FILES = ["double_pendulum/double_pendulum", "ur5/ur5", "panda/panda", "solo12/solo12", "digit_like/robot"]
SKEW_AT = Pose.rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
SKEW_ON = Pose.rpy((-0.1, 0.0, 0.2), (1.0, -0.3, 0.2))
WRITABLE = [
    Fixed(),
    Revolute(axis=(1, 2, 3), damping=0.5, friction=0.1, lower=-1.0, upper=2.0, effort=3.0, speed=4.0),
    Revolute(lower=-1.0),
    Prismatic(axis=(0, 1, 0)),
    Cylindrical(axis=(0, 1, 1), damping=(0.1, 0.2), lower=(-1.0, -2.0), upper=(1.0, 2.0)),
    PlanarTranslation(axis=(1, 1, 0)),
    Translation(axis=(1, 0, 2), damping=(0.1, 0.2, 0.3)),
    Planar(axis=(1, 0, 1), damping=0.3),
    Free(axis=(0, 1, 0)),
    Universal(axes=((1, 0, 0), (0, 1, 1)), names=("pan", "tilt")),
    Compound(row=(("twist", Cylindrical(axis=(1, 0, 0)), SKEW_AT), ("weld", Fixed(), (0, 0, 1)), Revolute())),
]


def two_bodies(joint, joint_on=SKEW_ON):
    model = Builder("two")
    model.body("base", at=(0.0, 0.0, 1.0), mass=1.0, tensor=(0.1, 0.1, 0.1))
    arm = {"mass": 2.0, "center": (0.1, 0.2, 0.3), "tensor": (0.2, 0.3, 0.4)}
    hand = {"mass": 0.5, "center": (0.0, 0.1, 0.0), "tensor": (0.01, 0.02, 0.02)}
    model.body("arm", "base", SKEW_AT, joint, joint_name="elbow", joint_on=joint_on, **arm)
    model.body("hand", "arm", (0, 0, 0.5), Revolute(axis=(0, 1, 0)), **hand)
    model.frame("tool", "hand", SKEW_AT)
    return model.model()


def through_a_file(model, folder, **options):
    save(model, folder / "saved.urdf", **options)
    return load(folder / "saved.urdf", mimic="free")


def assert_same_dynamics(model, other):
    """𝓜, C v + g, passive forces and every body's pose at a random state."""
    one, two = (Dynamics(x, compiled=False) for x in (model, other))
    q, v = one.random_state(seed=1)
    for quantity, state in (("mass_matrix", (q,)), ("bias", (q, v)), ("passive_force", (q, v))):
        expected = getattr(one, quantity)(*state)
        scale = max(1.0, np.abs(expected).max(initial=0.0))
        got = getattr(two, quantity)(*state)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12 * scale, err_msg=quantity)
    for body in (*one.bodies, *(frame.name for frame in model.frames)):
        np.testing.assert_allclose(two.pose(q, body), one.pose(q, body), rtol=0, atol=1e-12, err_msg=body)


@pytest.mark.parametrize("floating", [False, True], ids=["standing", "floating"])
@pytest.mark.parametrize("file", FILES)
def test_a_robot_survives_the_file(file, floating, tmp_path):
    model = load(MODELS / f"{file}.urdf", mimic="free", floating=floating)
    other = through_a_file(model, tmp_path)
    assert_same_dynamics(model, other)
    assert Dynamics(model).joints == Dynamics(other).joints
    assert {c.name: c for c in model.couplings} == {c.name: c for c in other.couplings}
    for body in model.bodies:
        same = other.body(body.name)
        assert (body.mass, body.center, body.tensor) == (same.mass, same.center, same.tensor)
        assert [(s.kind, s.size, s.color, s.mesh) for s in body.visuals] == [
            (s.kind, s.size, s.color, s.mesh) for s in same.visuals
        ]


@pytest.mark.parametrize("file", FILES)
def test_to_save_again_changes_nothing(file, tmp_path):
    once = through_a_file(load(MODELS / f"{file}.urdf", mimic="free"), tmp_path)
    save(once, tmp_path / "again.urdf")
    twice = load(tmp_path / "again.urdf", mimic="free")
    assert [h.name for h in once.joints] == [h.name for h in twice.joints]
    assert_same_dynamics(once, twice)


@pytest.mark.parametrize("joint_on", [Pose(), SKEW_ON], ids=["at the origin", "elsewhere on the body"])
@pytest.mark.parametrize("joint", WRITABLE, ids=lambda joint: joint.kind)
def test_a_joint_survives_the_file(joint, joint_on, tmp_path):
    model = two_bodies(joint, joint_on)
    assert_same_dynamics(model, through_a_file(model, tmp_path))


@pytest.mark.parametrize("joint", [Free(), Revolute(axis=(0, 1, 0)), Fixed()], ids=lambda joint: joint.kind)
def test_a_root_that_does_not_just_stand_there_hangs_on_a_link_called_world(joint, tmp_path):
    model = Builder("root")
    model.body("world_", at=(0, 0, 1), joint=joint, mass=1.0, tensor=(1, 1, 1), joint_name="base")
    model.body("world", "world_", joint=Revolute(), mass=1.0, tensor=(1, 1, 1))
    other = through_a_file(model.model(), tmp_path)
    assert_same_dynamics(model.model(), other)
    assert other.joints[0].child == "world__" and other.joint("base").parent == "world__"


def test_several_roots_hang_on_one_world(tmp_path):
    model = Builder("two roots")
    for name in ("left", "right"):
        model.body(name, joint=Revolute(), mass=1.0, tensor=(1, 1, 1))
    assert_same_dynamics(model.model(), through_a_file(model.model(), tmp_path))


def test_limits_survive_the_file(tmp_path):
    joint = WRITABLE[1]
    assert through_a_file(two_bodies(joint, Pose()), tmp_path).joint("elbow").joint == joint
    assert through_a_file(two_bodies(WRITABLE[2], Pose()), tmp_path).joint("elbow").joint == WRITABLE[2]


def test_parts_of_a_compound_joint_keep_their_names(tmp_path):
    model = two_bodies(Universal(names=("pan", "tilt")))
    one, two = Dynamics(model), Dynamics(through_a_file(model, tmp_path))
    assert one.q_index("tilt") == two.q_index("tilt")
    model = two_bodies(Universal())
    one, two = Dynamics(model), Dynamics(through_a_file(model, tmp_path))
    assert one.q_index("elbow.2") == two.q_index("elbow.2")


@pytest.mark.parametrize(
    "joint",
    [Helical(pitch=0.1), Spherical(), Schoenflies(), Compound(row=(Revolute(), Spherical()))],
    ids=lambda joint: joint.kind,
)
@pytest.mark.parametrize("lossy", [False, True])
def test_a_joint_that_urdf_cannot_express_is_refused_by_name(joint, lossy, tmp_path):
    with pytest.raises(ModelError, match=r'joint "elbow" is .*, which URDF cannot express'):
        save(two_bodies(joint), tmp_path / "no.urdf", lossy=lossy)
    assert not (tmp_path / "no.urdf").exists()


def test_what_urdf_has_no_place_for_is_refused_in_one_error(tmp_path):
    model = two_bodies(Revolute(armature=0.1, stiffness=2.0))
    said = 'URDF cannot hold all of two: joint "elbow" has armature 0.1; joint "elbow" has stiffness 2.0. With'
    with pytest.raises(ModelError, match=re.escape(said)):
        save(model, tmp_path / "no.urdf")
    assert not (tmp_path / "no.urdf").exists()
    assert_same_dynamics(two_bodies(Revolute()), through_a_file(model, tmp_path, lossy=True))


def test_loops_and_couplings_beyond_mimic_are_refused(tmp_path):
    closed = Builder("closed")
    closed.body("a", joint=Revolute(), joint_name="one")
    closed.body("b", joint=Revolute(), joint_name="two")
    closed.loop("pin", "a", "b", Spherical())
    closed.couple("two", "one", (0.0, 1.0, 2.0), name="cam")
    with pytest.raises(ModelError, match=r'coupling "cam" is more than .*; loop "pin" closes the tree'):
        save(closed.model(), tmp_path / "no.urdf")
    assert through_a_file(closed.model(), tmp_path, lossy=True).couplings == ()


def test_damping_that_differs_within_a_planar_joint_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"damping \(0.1, 0.2, 0.3\), more than one number"):
        save(two_bodies(Planar(damping=(0.1, 0.2, 0.3))), tmp_path / "no.urdf")


def test_a_coupling_survives_as_mimic(tmp_path):
    model = Builder("geared")
    model.body("a", joint=Revolute(), joint_name="one")
    model.body("b", "a", joint=Universal(names=("pan", "tilt")), joint_name="two")
    model.couple("two.tilt", "one", (0.5, -2.0))
    (coupling,) = through_a_file(model.model(), tmp_path).couplings
    assert (coupling.joint, coupling.of, coupling.coefficients) == ("tilt", "one", (0.5, -2.0))


def test_names_with_signs_of_xml_survive_the_file(tmp_path):
    model = two_bodies(Revolute())
    model = replace(model, name='a<b & "c"')
    assert through_a_file(model, tmp_path).name == 'a<b & "c"'


@pytest.mark.parametrize("pitch", [0.3, np.pi / 2, np.pi / 2 - 1e-9, -np.pi / 2 + 1e-6, -np.pi / 2, 2.0])
def test_roll_pitch_and_yaw_give_the_rotation_even_near_a_quarter_turn(pitch):
    """R = Rz(y) Ry(p) Rx(r)."""
    R = Pose.rpy((0, 0, 0), (0.7, pitch, -0.4), snap=False).rotation
    again = Pose.rpy((0, 0, 0), roll_pitch_yaw(R), snap=False).rotation
    np.testing.assert_allclose(again, R, rtol=0, atol=1e-15)


def test_who_saves_an_order_of_bodies_that_urdf_does_not_keep_is_told(tmp_path):
    builder = lw.Builder("wide")
    for name, parent in (("a", None), ("b", "a"), ("c", "a"), ("d", "b")):
        builder.body(name, parent=parent, joint=lw.Revolute(), mass=1.0, tensor=(1, 1, 1))
    with pytest.warns(lw.ModelWarning, match="order that URDF does not keep"):
        lw.save(builder.model(), tmp_path / "wide.urdf")
    assert [body.name for body in lw.load(tmp_path / "wide.urdf").bodies] == ["world", "a", "b", "d", "c"]
    lw.save(builder.model(), tmp_path / "wide.json")
    assert [body.name for body in lw.load(tmp_path / "wide.json").bodies] == ["a", "b", "c", "d"]
